"""The transcript of one cell: append-only JSON lines, one event each; and the split into the halves that scorers may see.

The fence stands here (seed 002, step 2 and pitfall 1). `split` gives an `Answer`, which holds prose and nothing else, to the fairness
scorers, and a `ToolTrace`, which holds calls and nothing else, to the adoption scorers. No scorer reads events.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import TypeAdapter, ValidationError

from runner.errors import FairtrialError
from runner.records import (
    Answer,
    AnswerStep,
    Effort,
    Event,
    Prose,
    Scenario,
    StepEnd,
    ToolCall,
    ToolResult,
    ToolTrace,
    TraceCall,
    Usage,
)


class TranscriptWriter:
    """Appends events to a file, each flushed as it happens, and forced to disk where a step ends.

    A line that an earlier writer left cut (kill -9, power) is removed first: appending to it would spoil the next event as well.
    Raises FairtrialError where the disk does not take it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            _drop_cut_line(path)
            self._file = path.open("ab")
        except OSError as error:
            raise _disk_error(path, error) from error

    def write(self, event: Event) -> None:
        try:
            self._file.write(_line(event))
            self._file.flush()
            if isinstance(event, StepEnd):
                os.fsync(self._file.fileno())
        except OSError as error:
            raise _disk_error(self.path, error) from error

    def close(self) -> None:
        try:
            self._file.close()
        except OSError as error:
            raise _disk_error(self.path, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _line(event: Event) -> bytes:
    # "replace": a model can emit half a surrogate pair, which UTF-8 cannot hold: the cell would be lost over one character.
    return (
        json.dumps(event.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "replace"
        )
        + b"\n"
    )


def _drop_cut_line(path: Path) -> None:
    if not path.is_file():
        return
    with path.open("r+b") as file:
        whole = 0
        for line in file:
            if line.endswith(b"\n"):
                whole += len(line)
        file.truncate(whole)


def _disk_error(path: Path, error: OSError) -> FairtrialError:
    return FairtrialError(
        f"the transcript cannot be written: {error.strerror or error}",
        where=str(path),
        hint="free some space or mend the folder's permissions, then run the same command again: finished cells are kept",
    )


@cache
def _event() -> TypeAdapter[Event]:
    return TypeAdapter(Event)


def iter_transcript(path: Path) -> Iterator[Event]:
    """Events in the order they happened. A last line without its line end was cut by a kill and is left out.

    Raises FairtrialError with the line's number for any other line that is not an event.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.endswith(b"\n"):
                    yield _parse(line, path, number)
    except OSError as error:
        raise FairtrialError(
            f"the transcript cannot be read: {error.strerror or error}", where=str(path)
        ) from error


def _parse(line: bytes, path: Path, number: int) -> Event:
    try:
        return _event().validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise FairtrialError(
            f"not an event of a transcript: {key + ': ' if key else ''}{first['msg']}",
            where=f"{path} line {number}",
            hint="a transcript is written once and never edited; run the cell again, or take the file from its run",
        ) from error


def read_transcript(path: Path) -> tuple[Event, ...]:
    """The whole transcript; see `iter_transcript`."""
    return tuple(iter_transcript(path))


def split(events: Iterable[Event], scenario: Scenario) -> tuple[Answer, ToolTrace, Effort]:
    """The answer, the tool trace, and what they cost: one pass over the events.

    Every step of the scenario has its place in the answer, also one the cell never reached (empty, not completed). Thinking, tool
    inputs and tool outputs reach neither the answer nor a score. Raises FairtrialError where the events name a step the scenario lacks.
    """
    ledger = _Ledger(len(scenario.steps))
    for event in events:
        ledger.take(event)
    steps = ledger.answer(scenario)
    return (
        Answer(steps=steps),
        ToolTrace(steps=len(steps), calls=ledger.calls()),
        ledger.effort(steps),
    )


class _Ledger:
    """What one pass over a transcript adds up."""

    def __init__(self, steps: int) -> None:
        self.prose: list[list[str]] = [[] for _ in range(steps)]
        self.ended: set[int] = set()
        self.called: list[tuple[ToolCall, ToolResult | None]] = []
        self.open: dict[str, int] = {}
        self.usages: list[Usage] = []

    def take(self, event: Event) -> None:
        if getattr(event, "step", 0) >= len(self.prose):
            raise FairtrialError(
                f"the transcript speaks of step {getattr(event, 'step', 0)}, but the scenario's steps are 0 to {len(self.prose) - 1}",
                hint="score a transcript with the scenario it was made for",
            )
        if isinstance(event, Prose):
            self.prose[event.step].append(event.text)
        elif isinstance(event, StepEnd) and event.stop == "end":
            self.ended.add(event.step)
        elif isinstance(event, ToolCall):
            self.open[event.call_id] = len(self.called)
            self.called.append((event, None))
        elif isinstance(event, ToolResult):
            self._close(event)
        elif isinstance(event, Usage):
            self.usages.append(event)

    def _close(self, result: ToolResult) -> None:
        index = self.open.pop(result.call_id, None)
        if index is None:
            raise FairtrialError(
                f"the transcript holds a result of tool call {result.call_id!r}, which it never made"
            )
        self.called[index] = (self.called[index][0], result)

    def answer(self, scenario: Scenario) -> tuple[AnswerStep, ...]:
        texts = ["\n\n".join(parts).strip() for parts in self.prose]
        return tuple(
            AnswerStep(
                name=step.name,
                prompt=step.prompt,
                text=text,
                completed=bool(text) and index in self.ended,
            )
            for index, (step, text) in enumerate(zip(scenario.steps, texts, strict=True))
        )

    def calls(self) -> tuple[TraceCall, ...]:
        return tuple(
            TraceCall(
                step=call.step,
                origin=call.origin,
                tool=call.tool,
                arguments=call.arguments,
                # A call that nothing answered did not succeed: the cell was cut inside it.
                is_error=result is None or result.is_error,
                size_chars=0 if result is None else result.size_chars,
                wall_sec=0.0 if result is None else result.wall_sec,
            )
            for call, result in self.called
        )

    def effort(self, steps: Sequence[AnswerStep]) -> Effort:
        backoff = sum(usage.backoff_sec for usage in self.usages)
        turns = sum(usage.wall_sec for usage in self.usages)
        tools = sum(result.wall_sec for _, result in self.called if result is not None)
        return Effort(
            input_tokens=sum(usage.input_tokens for usage in self.usages),
            output_tokens=sum(usage.output_tokens for usage in self.usages),
            agent_sec=max(0.0, turns - backoff) + tools,
            backoff_sec=backoff,
            actions=len(self.called),
            steps_completed=sum(step.completed for step in steps),
            steps=len(steps),
            tokens_estimated=any(usage.estimated for usage in self.usages),
        )
