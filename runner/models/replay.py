"""`replay:<path>`: plays a recorded transcript's model turns against real tools, and tells where a tool's answer now differs.

A regression test for a server, with no language model.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

from runner.errors import FairtrialError, ProviderError
from runner.protocols import Call, Message, ToolMessage, ToolSpec, Turn, UserMessage
from runner.records import (
    Event,
    Prompt,
    Prose,
    Record,
    StepEnd,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    digest_of,
    parse_json,
)
from runner.transcript import read_transcript


class Difference(Record):
    """A tool call whose result is not what it was."""

    step: int
    turn: int
    tool: str
    recorded: str
    """First line that differs, cut to 200 characters; empty where the recording has no such line."""
    now: str
    recorded_is_error: bool
    now_is_error: bool


class Differences(Record):
    """differences.json, beside the transcript of a replay."""

    compared: int
    """Tool results that the recording has too."""
    differences: tuple[Difference, ...]


def read_differences(folder: Path) -> Differences | None:
    """Of an attempt; None where it replayed nothing."""
    path = folder / "differences.json"
    return parse_json(path.read_bytes(), Differences, where=str(path)) if path.is_file() else None


class Replay:
    """protocols.Model. Stateful: one instance serves one cell."""

    def __init__(self, path: str) -> None:
        """`path` is a transcript.jsonl, or the folder of an attempt. Raises FairtrialError where there is none."""
        file = Path(path) / "transcript.jsonl" if Path(path).is_dir() else Path(path)
        if not file.is_file():
            raise FairtrialError(
                "there is no recording",
                where=str(file),
                hint="give the transcript.jsonl of a finished attempt",
            )
        self.name = f"replay:{path}"
        self.identity = digest_of(
            {"model": "replay", "recording": hashlib.sha256(file.read_bytes()).hexdigest()}
        )
        self.differences: list[Difference] = []
        self.compared = 0
        self._where = str(file)
        events = read_transcript(file)
        self._prompts, self._turns = _by_turn(events)
        self._ended = {event.step for event in events if isinstance(event, StepEnd)}
        self._at: tuple[int, int] = (-1, 0)

    async def turn(
        self,
        system: str,
        conversation: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        timeout_sec: float,
    ) -> Turn:  # noqa: ARG002
        """The recorded turn. Raises ProviderError where the recording is of another scenario, or ends before the scenario does."""
        last = conversation[-1]
        step, number = self._at
        if isinstance(last, UserMessage):
            step, number = step + 1, 0
            if self._prompts.get(step) != last.text:
                what = f"the recording has another prompt at step {step + 1}"
                raise ProviderError(what, where=self._where, hint="replay its own scenario")
        elif isinstance(last, ToolMessage):
            self._compare(step, number, last)
            number += 1
        self._at = step, number
        turn = _as_turn(self._turns.get((step, number), []))
        # A turn cut between its prose and its calls would pass for the model's own end of the step.
        if not turn.calls and step not in self._ended:
            raise ProviderError(
                f"the recording ends at step {step + 1}, turn {number}",
                where=self._where,
                hint="it was cut off",
            )
        return turn

    def _compare(self, step: int, number: int, now: ToolMessage) -> None:
        events = self._turns[step, number]
        calls = [event for event in events if isinstance(event, ToolCall)]
        then = {event.call_id: event for event in events if isinstance(event, ToolResult)}
        for call, result in zip(calls, now.results, strict=True):
            recorded = then.get(call.call_id)
            self.compared += 1
            if recorded is not None and (recorded.text, recorded.is_error) != (
                result.text,
                result.is_error,
            ):
                before, after = _first_difference(recorded.text, result.text)
                self.differences.append(
                    Difference(
                        step=step,
                        turn=number,
                        tool=call.tool,
                        recorded=before,
                        now=after,
                        recorded_is_error=recorded.is_error,
                        now_is_error=result.is_error,
                    )
                )


def _by_turn(events: Sequence[Event]) -> tuple[dict[int, str], dict[tuple[int, int], list[Event]]]:
    prompts = {event.step: event.text for event in events if isinstance(event, Prompt)}
    turns: dict[tuple[int, int], list[Event]] = defaultdict(list)
    for event in events:
        if isinstance(event, Prose | Thinking | ToolCall | ToolResult | Usage):
            turns[event.step, event.turn].append(event)
    return prompts, dict(turns)


def _as_turn(events: Sequence[Event]) -> Turn:
    calls = tuple(
        Call(id=e.call_id, tool=e.tool, arguments=e.arguments)
        for e in events
        if isinstance(e, ToolCall)
    )
    usage = next((e for e in events if isinstance(e, Usage)), None)
    return Turn(
        text="\n".join(e.text for e in events if isinstance(e, Prose)),
        thinking="\n".join(e.text for e in events if isinstance(e, Thinking)),
        calls=calls,
        stop="tool_use" if calls else "end",
        input_tokens=usage.input_tokens if usage else 0,
        output_tokens=usage.output_tokens if usage else 0,
        cache_read_tokens=usage.cache_read_tokens if usage else 0,
        cache_write_tokens=usage.cache_write_tokens if usage else 0,
        estimated=usage.estimated if usage else True,
    )


def _first_difference(before: str, after: str) -> tuple[str, str]:
    pairs = zip_longest(before.splitlines(), after.splitlines(), fillvalue="")
    return next(((a[:200], b[:200]) for a, b in pairs if a != b), ("", ""))
