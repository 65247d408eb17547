"""`replay:<path>`: a recorded transcript's model turns against real tools.

It tells where a tool's answer now differs: a regression test for a server, with no language model.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, zip_longest
from operator import itemgetter
from pathlib import Path

from runner.errors import FairtrialError, ProviderError
from runner.protocols import Call, Message, Result, ToolMessage, ToolSpec, Turn, UserMessage
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
from runner.store import require_as_written, write_record
from runner.transcript import read_transcript

ARTIFACT = "differences.json"
EXCERPT_CHARS = 200
SHOWN_DIFFERENCES = 5


class Difference(Record):
    """A tool call whose result is not what it was."""

    step: int
    turn: int
    tool: str
    recorded: str
    """First line that differs, cut to 200 characters; empty if the recording has no such line."""
    now: str
    recorded_is_error: bool
    now_is_error: bool


class Differences(Record):
    """differences.json, beside the transcript of a replay."""

    compared: int
    """Tool results that the recording has too."""
    differences: tuple[Difference, ...]


def remarks(folder: Path) -> Iterator[str]:
    """What a replay's attempt has to tell: how many of its tool results differ, and the first."""
    path = folder / ARTIFACT
    if not path.is_file():
        return
    artifact = parse_json(path.read_bytes(), Differences, where=str(path))
    differences = artifact.differences
    yield f"{len(differences)} of {artifact.compared} replayed tool results differ"
    for item in differences[:SHOWN_DIFFERENCES]:
        yield f"  step {item.step + 1}, {item.tool}"
        yield f"    recorded: {item.recorded}"
        yield f"    now:      {item.now}"


@dataclass
class _RecordedTurn:
    """The events of one recorded turn."""

    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    results: dict[str, ToolResult] = field(default_factory=dict)
    """By the call's id."""
    usage: Usage | None = None

    def take(self, event: Prose | Thinking | ToolCall | ToolResult | Usage) -> None:
        match event:
            case Prose():
                self.texts.append(event.text)
            case Thinking():
                self.thoughts.append(event.text)
            case ToolCall():
                self.calls.append(event)
            case ToolResult():
                self.results[event.call_id] = event
            case Usage():
                self.usage = self.usage or event

    def play(self) -> Turn:
        """The turn as the model returned it then."""
        calls = tuple(Call(id=c.call_id, tool=c.tool, arguments=c.arguments) for c in self.calls)
        usage = self.usage or _NO_USAGE
        return Turn(
            text="\n".join(self.texts),
            thinking="\n".join(self.thoughts),
            calls=calls,
            stop="tool_use" if calls else "end",
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            estimated=usage.estimated,
        )


_NO_USAGE = Usage(step=0, turn=0, input_tokens=0, output_tokens=0, wall_sec=0, estimated=True)


class Replay:
    """protocols.Model. Stateful: one instance serves one cell."""

    language_model = False

    def __init__(self, path: str) -> None:
        """`path` is a transcript.jsonl, or the folder of an attempt.

        Raises FairtrialError if there is none.
        """
        file = Path(path)
        if file.is_dir():
            file = file / "transcript.jsonl"
        if not file.is_file():
            hint = "give the transcript.jsonl of a finished attempt"
            raise FairtrialError("there is no recording", where=str(file), hint=hint)
        require_as_written(file)
        recording = hashlib.sha256(file.read_bytes()).hexdigest()
        self.name = f"replay:{path}"
        self.identity = digest_of({"model": "replay", "recording": recording})
        self._where = str(file)
        self._recording = _Recording(read_transcript(file))
        self._step = -1
        self._turn = 0
        self.compared = 0
        self.differences: list[Difference] = []

    async def turn(
        self,
        system: str,  # noqa: ARG002 - a recording has its own
        conversation: Sequence[Message],
        tools: Sequence[ToolSpec],  # noqa: ARG002 - it calls the tools that it called then
        *,
        timeout_sec: float,  # noqa: ARG002 - it never waits
    ) -> Turn:
        """The recorded turn.

        Raises ProviderError if the recording is of another scenario, or ends before it does.
        """
        newest = conversation[-1]
        if isinstance(newest, UserMessage):
            self._begin_step(newest.text)
        elif isinstance(newest, ToolMessage):
            self._compare(newest.results)
            self._turn += 1
        recorded = self._recording.turns.get((self._step, self._turn), _RecordedTurn())
        # A turn cut between its prose and its calls would pass for the model's own end of the step.
        if not recorded.calls and self._step not in self._recording.ended_steps:
            message = f"the recording ends at step {self._step + 1}, turn {self._turn}"
            raise ProviderError(message, where=self._where, hint="it was cut off")
        return recorded.play()

    def _begin_step(self, prompt: str) -> None:
        self._step += 1
        self._turn = 0
        if self._recording.prompts.get(self._step) != prompt:
            message = f"the recording has another prompt at step {self._step + 1}"
            raise ProviderError(message, where=self._where, hint="replay its own scenario")

    def _compare(self, results: Sequence[Result]) -> None:
        turn = self._recording.turns[self._step, self._turn]
        for call, result in zip(turn.calls, results, strict=True):
            self.compared += 1
            recorded = turn.results.get(call.call_id)
            if recorded is not None and not _same(recorded, result):
                self.differences.append(self._difference(call.tool, recorded, result))

    def _difference(self, tool: str, recorded: ToolResult, result: Result) -> Difference:
        before, after = _first_differing_lines(recorded.text, result.text)
        return Difference(
            step=self._step,
            turn=self._turn,
            tool=tool,
            recorded=before,
            now=after,
            recorded_is_error=recorded.is_error,
            now_is_error=result.is_error,
        )

    def write_artifacts(self, folder: Path) -> None:
        """differences.json."""
        artifact = Differences(compared=self.compared, differences=tuple(self.differences))
        write_record(folder / ARTIFACT, artifact)

    async def close(self) -> None:
        """It holds nothing open."""


class _Recording:
    """A transcript, by step and turn."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.prompts: dict[int, str] = {}
        self.ended_steps: set[int] = set()
        self.turns: dict[tuple[int, int], _RecordedTurn] = defaultdict(_RecordedTurn)
        for event in events:
            match event:
                case Prompt():
                    self.prompts[event.step] = event.text
                case StepEnd():
                    self.ended_steps.add(event.step)
                case Prose() | Thinking() | ToolCall() | ToolResult() | Usage():
                    self.turns[event.step, event.turn].take(event)
                case _:
                    pass
        self.turns = _played(self.turns)


def _played(
    turns: dict[tuple[int, int], _RecordedTurn],
) -> dict[tuple[int, int], _RecordedTurn]:
    """The turns as a replay needs them: what neither calls nor ends its step goes into the next.

    A turn that paused, or could not be read, would pass for the end of its step.
    """
    played: dict[tuple[int, int], _RecordedTurn] = {}
    for step, keys in groupby(sorted(turns), key=itemgetter(0)):
        numbers = [turn for _, turn in keys]
        waiting: list[_RecordedTurn] = []
        number = 0
        for recorded in numbers:
            waiting.append(turns[step, recorded])
            if waiting[-1].calls or recorded == numbers[-1]:
                played[step, number] = _joined(waiting)
                waiting = []
                number += 1
    return played


def _joined(turns: Sequence[_RecordedTurn]) -> _RecordedTurn:
    *before, last = turns
    for turn in reversed(before):
        last.texts = turn.texts + last.texts
        last.thoughts = turn.thoughts + last.thoughts
    return last


def _same(recorded: ToolResult, result: Result) -> bool:
    return (recorded.text, recorded.is_error) == (result.text, result.is_error)


def _first_differing_lines(before: str, after: str) -> tuple[str, str]:
    """Empty texts if only the error flag differs."""
    for old, new in zip_longest(before.splitlines(), after.splitlines(), fillvalue=""):
        if old != new:
            return old[:EXCERPT_CHARS], new[:EXCERPT_CHARS]
    return "", ""
