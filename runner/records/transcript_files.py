"""The transcript of one cell: append-only JSON lines, one event each; and its two halves.

The fence stands here (DESIGN.md, Flow). `split` gives an `Answer`, which holds prose and
nothing else, to the fairness scorers, and a `ToolTrace`, which holds calls and nothing else, to the
adoption scorers. No scorer reads events.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic import TypeAdapter, ValidationError

from runner.records import (
    Answer,
    AnswerStep,
    Effort,
    Event,
    Malformed,
    NewTokens,
    Prose,
    Scenario,
    StepEnd,
    TokenBreakdown,
    ToolCall,
    ToolResult,
    ToolTrace,
    TraceCall,
    Usage,
)
from runner.support.errors import FairtrialError

# --- writing --------------------------------------------------------------------------------


class TranscriptWriter:
    """Appends events to a file, each flushed as it happens, and forced to disk as a step ends.

    Raises FairtrialError if the disk does not take it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.events = 0
        """In the file."""
        self._digest = hashlib.sha256()
        try:
            _drop_cut_line(path)
            self._count_earlier()
            self._file = path.open("ab")
        except OSError as error:
            raise _disk_error(path, error) from error

    def _count_earlier(self) -> None:
        if self.path.is_file():
            with self.path.open("rb") as file:
                for line in file:
                    self._count(line)

    def _count(self, line: bytes) -> None:
        self.events += 1
        self._digest.update(line)

    @property
    def digest(self) -> str:
        """SHA256 of what was written: read back, a disk that lost half of it would vouch for it."""
        return self._digest.hexdigest()

    def write(self, event: Event) -> None:
        line = _line(event)
        try:
            self._file.write(line)
            self._file.flush()
            self._count(line)
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
    text = json.dumps(event.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))
    # A model can emit half a surrogate pair, which UTF-8 cannot hold: one character, lost cell.
    return text.encode("utf-8", "replace") + b"\n"


def _drop_cut_line(path: Path) -> None:
    """Remove a last line that an earlier writer left cut (kill -9, power)."""
    if not path.is_file():
        return
    # Appending to `{"type":"pro` would spoil the next event as well.
    with path.open("r+b") as file:
        whole_bytes = 0
        for line in file:
            if line.endswith(b"\n"):
                whole_bytes += len(line)
        file.truncate(whole_bytes)


def _disk_error(path: Path, error: OSError) -> FairtrialError:
    return FairtrialError(
        f"the transcript cannot be written: {error.strerror or error}",
        where=str(path),
        hint=(
            "free some space or mend the folder's permissions, then run the same command again: "
            "finished cells are kept"
        ),
    )


# --- reading --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Extent:
    """What a transcript's file holds now."""

    digest: str
    """SHA256 of its bytes; empty if it is gone."""
    events: int


def extent_of(path: Path) -> Extent:
    """To be held against what its result says. Raises FairtrialError if it cannot be read."""
    digest, events = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            for line in file:
                digest.update(line)
                events += 1
    except FileNotFoundError:
        return Extent(digest="", events=0)
    except OSError as error:
        raise _unreadable(path, error) from error
    return Extent(digest=digest.hexdigest(), events=events)


def is_transcript(path: Path, events: Iterable[Event]) -> bool:
    """Are these the transcript's events? Raises FairtrialError if it is none.

    Compared by their bytes, a field that a later version adds would make every one look edited.
    """
    there = (_parse(_line(event), path, 0) for event in events)
    return tuple(iter_transcript(path)) == tuple(there)


def _unreadable(path: Path, error: OSError) -> FairtrialError:
    return FairtrialError(
        f"the transcript cannot be read: {error.strerror or error}", where=str(path)
    )


@cache
def _event() -> TypeAdapter[Event]:
    return TypeAdapter(Event)


def iter_transcript(path: Path) -> Iterator[Event]:
    """Events in the order they happened.

    Raises FairtrialError with the line's number for a line that is not an event.
    """
    yield from _events(path, with_word=b"")


def _events(path: Path, *, with_word: bytes) -> Iterator[Event]:
    """Of the lines that hold the word: a tool's result may be long, and is parsed for nothing."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                # A last line without its line end was cut by a kill: half an event is none.
                if with_word in line and line.endswith(b"\n"):
                    yield _parse(line, path, number)
    except OSError as error:
        raise _unreadable(path, error) from error


def _parse(line: bytes, path: Path, number: int) -> Event:
    try:
        return _event().validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        message = first["msg"]
        if key := ".".join(str(part) for part in first["loc"]):
            message = f"{key}: {message}"
        raise FairtrialError(
            f"not an event of a transcript: {message}",
            where=f"{path} line {number}",
            hint=(
                "a transcript is written once and never edited; run the cell again, "
                "or take the file from its run"
            ),
        ) from error


def usage_in(path: Path) -> Iterator[Usage]:
    """What its turns took; see `iter_transcript`. Lines that cannot be a turn's are not parsed."""
    for event in _events(path, with_word=b'"usage"'):
        if isinstance(event, Usage):
            yield event


def read_transcript(path: Path) -> tuple[Event, ...]:
    """The whole transcript; see `iter_transcript`."""
    return tuple(iter_transcript(path))


# --- the two halves -------------------------------------------------------------------------


def split(events: Iterable[Event], scenario: Scenario) -> tuple[Answer, ToolTrace, Effort]:
    """The answer, the tool trace, and what they cost: one pass over the events.

    Every step of the scenario has its place in the answer, also one the cell never reached (empty,
    not completed). Thinking, tool inputs and tool outputs reach neither the answer nor a score.
    Raises FairtrialError if the events name a step that the scenario lacks.
    """
    ledger = _Ledger(len(scenario.steps))
    for event in events:
        ledger.take(event)
    steps = ledger.answer(scenario)
    trace = ToolTrace(steps=len(steps), calls=ledger.calls())
    return Answer(steps=steps), trace, ledger.effort(steps)


@dataclass(kw_only=True)
class _LedgerCall:
    """A tool call, and its result once there is one."""

    call: ToolCall
    result: ToolResult | None = None


_TOTALS = (
    *("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"),
    *("backoff_sec", "queued_sec", "retries"),
)
"""What an effort and each of its turns call the same."""


class _Ledger:
    """What one pass over a transcript adds up."""

    def __init__(self, steps: int) -> None:
        self._prose: list[list[str]] = [[] for _ in range(steps)]
        self._ended: set[int] = set()
        self._calls: list[_LedgerCall] = []
        self._unanswered: dict[str, _LedgerCall] = {}
        self._turns: list[Usage] = []
        self._malformed = 0
        self._elapsed_secs: list[float] = []

    def take(self, event: Event) -> None:
        self._check_step(event)
        if isinstance(event, Prose):
            self._prose[event.step].append(event.text)
        elif isinstance(event, StepEnd):
            self._end(event)
        elif isinstance(event, ToolCall):
            self._open(event)
        elif isinstance(event, ToolResult):
            self._close(event)
        elif isinstance(event, Usage):
            self._turns.append(event)
        elif isinstance(event, Malformed):
            self._malformed += 1

    def _end(self, event: StepEnd) -> None:
        if event.stop == "end":
            self._ended.add(event.step)
        if event.elapsed_sec is not None:
            self._elapsed_secs.append(event.elapsed_sec)

    def _check_step(self, event: Event) -> None:
        step = getattr(event, "step", 0)
        last = len(self._prose) - 1
        if step > last:
            raise FairtrialError(
                f"the transcript speaks of step {step}, but the scenario's steps are 0 to {last}",
                hint="score a transcript with the scenario it was made for",
            )

    def _open(self, call: ToolCall) -> None:
        entry = _LedgerCall(call=call)
        self._calls.append(entry)
        # Ids are used again: a provider may number the calls of each step from 0.
        self._unanswered[call.call_id] = entry

    def _close(self, result: ToolResult) -> None:
        entry = self._unanswered.pop(result.call_id, None)
        if entry is None:
            raise FairtrialError(
                f"the transcript holds a result of tool call {result.call_id!r}, "
                "which it never made"
            )
        entry.result = result

    def answer(self, scenario: Scenario) -> tuple[AnswerStep, ...]:
        steps = []
        for index, step in enumerate(scenario.steps):
            text = "\n\n".join(self._prose[index]).strip()
            # Silence that the model ended itself is no answer either.
            completed = bool(text) and index in self._ended
            steps.append(
                AnswerStep(name=step.name, prompt=step.prompt, text=text, completed=completed)
            )
        return tuple(steps)

    def calls(self) -> tuple[TraceCall, ...]:
        return tuple(map(_traced, self._calls))

    def effort(self, steps: Sequence[AnswerStep]) -> Effort:
        return Effort(
            **{name: sum(self._each(name)) for name in _TOTALS},
            agent_sec=self._agent_sec(),
            actions=len(self._calls),
            steps_completed=sum(step.completed for step in steps),
            steps=len(steps),
            tokens_estimated=any(self._each("estimated")),
            new_tokens=NewTokens.of(self._turns),
            context_tokens=sum(map(_length, self._turns[-1:])),
            malformed=self._malformed,
            phases=_summed(list(filter(None, self._each("phases")))),
        )

    def _each(self, name: str) -> list[Any]:
        return [getattr(turn, name) for turn in self._turns]

    def _agent_sec(self) -> float | None:
        timed_secs: list[float] = [sec for sec in self._each("wall_sec") if sec is not None]
        if len(timed_secs) < len(self._turns):
            # Taken for 0, turns that nobody timed would be the quickest of all.
            return sum(self._elapsed_secs) if self._elapsed_secs else None
        # A provider that makes us wait is not the arm's slowness.
        turns_sec: float = max(0.0, sum(timed_secs) - sum(self._each("backoff_sec")))
        return turns_sec + sum(map(_waited_sec, self._calls))


def _length(turn: Usage) -> int:
    return turn.input_tokens + turn.cache_read_tokens + turn.output_tokens


def _summed(parts: Sequence[TokenBreakdown]) -> TokenBreakdown | None:
    if not parts:
        return None
    totals: dict[str, int] = {}
    for part in parts:
        for name, tokens in part.model_dump(exclude={"estimated"}).items():
            totals[name] = totals.get(name, 0) + tokens
    return TokenBreakdown(**totals, estimated=any(part.estimated for part in parts))


def _waited_sec(entry: _LedgerCall) -> float:
    if entry.result is None:
        return 0.0
    if entry.result.waited_sec is None:
        return entry.result.wall_sec or 0.0
    return entry.result.waited_sec


def _traced(entry: _LedgerCall) -> TraceCall:
    is_error, size_chars = True, 0
    wall_sec: float | None = 0.0
    # A call that nothing answered did not succeed: the cell was cut inside it.
    if entry.result:
        is_error = entry.result.is_error
        size_chars = entry.result.size_chars
        wall_sec = entry.result.wall_sec
    return TraceCall(
        step=entry.call.step,
        origin=entry.call.origin,
        tool=entry.call.tool,
        arguments=entry.call.arguments,
        is_error=is_error,
        size_chars=size_chars,
        wall_sec=wall_sec,
    )
