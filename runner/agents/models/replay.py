"""`replay:<path>`: a recorded transcript's model turns against real tools.

It tells where a tool's answer now differs: a regression test for a server, with no language model.
A recording is of one arm, and is played in that arm alone: a server's turns, played to the shell,
call tools that are not there. `<path>` is a transcript, an attempt's folder, or a run's, in which
each cell has a recording of its own.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Any

from runner.protocols import Call, Message, Result, Stop, ToolMessage, ToolSpec, Turn, UserMessage
from runner.records import (
    Cell,
    Event,
    Malformed,
    Prompt,
    Prose,
    Record,
    RecordedResult,
    StepEnd,
    SystemPrompt,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    digest_of,
    parse_json,
)
from runner.records.run_store import RunStore, require_as_written, write_record
from runner.records.transcript_files import read_transcript
from runner.support.errors import FairtrialError, ProviderError

ARTIFACT = "differences.json"
EXCERPT_CHARS = 200
SHOWN_DIFFERENCES = 5
SHELL = "shell"
RECORDINGS_LISTED = 8


class ResultDifference(Record):
    """A tool call whose result is not what it was."""

    step: int
    turn: int
    tool: str
    recorded: str
    """First line that differs, cut to 200 characters; empty if the recording has no such line."""
    now: str
    recorded_is_error: bool
    now_is_error: bool


class ReplayDifferences(Record):
    """differences.json, beside the transcript of a replay."""

    compared: int
    """Tool results that the recording has too."""
    differences: tuple[ResultDifference, ...]


def remarks(folder: Path) -> Iterator[str]:
    """What a replay's attempt has to tell: how many of its tool results differ, and the first."""
    path = folder / ARTIFACT
    if not path.is_file():
        return
    artifact = parse_json(path.read_bytes(), ReplayDifferences, where=str(path))
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
    malformed: Malformed | None = None
    usage: Usage | None = None

    def take(self, event: _OfTurn) -> None:
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
                self.usage = event
            case Malformed():
                self.malformed = event

    def play(self, stop: Stop) -> Turn:
        """The turn as the model returned it then. `stop`: of one without calls."""
        turn = Turn(
            text="\n".join(self.texts),
            thinking="\n".join(self.thoughts),
            calls=tuple(map(_call, self.calls)),
            stop="tool_use" if self.calls else stop,
            **_spent(self.usage),
        )
        if self.malformed is None:
            return turn
        return replace(
            turn, text=self.malformed.text, stop="malformed", problem=self.malformed.problem
        )


_OfTurn = Prose | Thinking | ToolCall | ToolResult | Usage | Malformed


def _call(event: ToolCall) -> Call:
    # Whatever a packaged agent calls its shell, the arm's takes the command.
    is_shells = event.origin == SHELL and "command" in event.arguments
    tool = SHELL if is_shells else event.tool
    return Call(id=event.call_id, tool=tool, arguments=event.arguments)


def _spent(usage: Usage | None) -> dict[str, Any]:
    """What the recording says of a turn's tokens."""
    if usage is None:
        return {"input_tokens": 0, "output_tokens": 0, "estimated": True}
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "dropped_tokens": usage.dropped_tokens,
        "estimated": usage.estimated,
        "phases": usage.phases,
        "served_by": usage.served_by,
    }


class Replay:
    """protocols.Model. Stateful: one instance serves one cell."""

    language_model = False

    def __init__(self, path: str) -> None:
        """`path` is a transcript.jsonl, or the folder of an attempt or of a run.

        Raises FairtrialError if there is none.
        """
        self.name = f"replay:{path}"
        self._where = path
        self._tapes = _tapes(Path(path))
        digests = [tape.digest for tape in self._tapes]
        recording = digests[0] if len(digests) == 1 else digests
        self.identity = digest_of({"model": "replay", "recording": recording})
        first = _recording(self._tapes[0].file)
        self.recorded_system = first.system
        # Of a run's many, the cell decides.
        self._recording = first if len(self._tapes) == 1 else None
        self._step = -1
        self._turn = 0
        self.compared = 0
        self.differences: list[ResultDifference] = []

    def take_cell(self, cell: Cell) -> None:
        """protocols.OfCells. Raises ProviderError if no recording is of the cell's arm."""
        tape = _tape_of(cell, self._tapes, self._where)
        require_as_written(tape.file)
        self._where = str(tape.file)
        self._recording = _recording(tape.file)

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
        self._turn += 1
        recording = self._chosen()
        for message in _since_last_turn(conversation):
            if isinstance(message, ToolMessage):
                self._compare(message.results)
            elif isinstance(message, UserMessage) and not message.notice:
                self._begin_step(message.text)
        recorded = recording.turns.get((self._step, self._turn), _RecordedTurn())
        stop = recording.stop_of(self._step, self._turn)
        # A turn cut between its prose and its calls would pass for the model's own end of the step.
        if stop is None and not recorded.calls and recorded.malformed is None:
            what = f"the recording ends at step {self._step + 1}, turn {self._turn}"
            raise ProviderError(what, where=self._where, hint="it was cut off")
        return recorded.play(stop or "end")

    def _chosen(self) -> _Recording:
        if self._recording is None:
            raise ProviderError(
                "a run's folder has a recording for each cell, and nothing says which to play",
                where=self._where,
                hint="give the folder of one attempt",
            )
        return self._recording

    def _begin_step(self, prompt: str) -> None:
        self._step += 1
        self._turn = 0
        if self._chosen().prompts.get(self._step) != prompt:
            message = f"the recording has another prompt at step {self._step + 1}"
            raise ProviderError(message, where=self._where, hint="replay its own scenario")

    def _compare(self, results: Sequence[Result]) -> None:
        turn = self._chosen().turns[self._step, self._turn - 1]
        for call, result in zip(turn.calls, results, strict=True):
            self.compared += 1
            recorded = turn.results.get(call.call_id)
            if recorded is not None and not _same(recorded, result):
                self.differences.append(self._difference(call.tool, recorded, result))

    def _difference(self, tool: str, recorded: ToolResult, result: Result) -> ResultDifference:
        before, after = _first_differing_lines(recorded.text, result.text)
        return ResultDifference(
            step=self._step,
            turn=self._turn - 1,
            tool=tool,
            recorded=before,
            now=after,
            recorded_is_error=recorded.is_error,
            now_is_error=result.is_error,
        )

    def write_artifacts(self, folder: Path) -> None:
        """differences.json."""
        artifact = ReplayDifferences(compared=self.compared, differences=tuple(self.differences))
        write_record(folder / ARTIFACT, artifact)

    async def close(self) -> None:
        """It holds nothing open."""


def _since_last_turn(conversation: Sequence[Message]) -> list[Message]:
    """A prompt, or results, and notices after them."""
    newest = list(takewhile(lambda message: not isinstance(message, Turn), reversed(conversation)))
    return newest[::-1]


_STOPS: dict[str, Stop] = {"end": "end", "max_tokens": "max_tokens", "refusal": "refusal"}
"""Of a step, but for one that was cut: what cut it is done again, or was never recorded."""


class _Recording:
    """A transcript, by step and turn."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.prompts: dict[int, str] = {}
        self.stops: dict[int, Stop] = {}
        """How each step ended that its model ended."""
        self.system = ""
        self.calls_a_server = False
        self.turns: dict[tuple[int, int], _RecordedTurn] = defaultdict(_RecordedTurn)
        for event in events:
            match event:
                case Prompt():
                    self.prompts[event.step] = event.text
                case SystemPrompt():
                    self.system = event.text
                case StepEnd() if event.stop in _STOPS:
                    self.stops[event.step] = _STOPS[event.stop]
                case Prose() | Thinking() | ToolCall() | ToolResult() | Usage() | Malformed():
                    self.turns[event.step, event.turn].take(event)
                    self.calls_a_server |= isinstance(event, ToolCall) and event.origin == "server"
                case _:
                    pass

    def stop_of(self, step: int, turn: int) -> Stop | None:
        """Of a turn without calls; None if the recording does not know how it ended."""
        if (step, turn + 1) in self.turns:
            return "pause"
        return self.stops.get(step)


def _same(recorded: ToolResult, result: Result) -> bool:
    # A packaged agent may write words of its own around what a server said; the digest is of that.
    whole = hashlib.sha256(result.text.encode("utf-8", "replace")).hexdigest()
    is_same = recorded.text == result.text or recorded.digest == whole
    return is_same and recorded.is_error == result.is_error


def _first_differing_lines(before: str, after: str) -> tuple[str, str]:
    """Empty texts if only the error flag differs."""
    for old, new in zip_longest(before.splitlines(), after.splitlines(), fillvalue=""):
        if old != new:
            return old[:EXCERPT_CHARS], new[:EXCERPT_CHARS]
    return "", ""


# --- whose recording it is --------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Tape:
    """A recording on disk."""

    file: Path
    cell: Cell | None
    """Whose it is; None of a transcript that stands alone."""
    digest: str
    """SHA256 of the transcript."""
    calls_a_server: bool = False
    """Of a transcript that stands alone: it is of no shell's arm."""


def require_recordings(cells: Iterable[Cell]) -> None:
    """Raises FairtrialError if a cell that asks for a recording has none of its own arm."""
    tapes: dict[str, list[_Tape]] = {}
    for cell in cells:
        kind, _, path = cell.model.partition(":")
        if kind != "replay":
            continue
        if path not in tapes:
            tapes[path] = _tapes(Path(path))
        _tape_of(cell, tapes[path], path)


def arms_to_play(servers: Sequence[str], asked: Sequence[str], models: Iterable[str]) -> list[str]:
    """`servers`, less a shell that nobody asked for by name and no recording is of."""
    if SHELL in asked or not all(map(_lacks_the_shell, models)):
        return list(servers)
    return [server for server in servers if server != SHELL]


def _lacks_the_shell(model: str) -> bool:
    """True of recordings that are none of the shell's."""
    kind, _, path = model.partition(":")
    return kind == "replay" and not any(map(_may_be_the_shells, _tapes(Path(path))))


def _may_be_the_shells(tape: _Tape) -> bool:
    if tape.cell is None:
        return not tape.calls_a_server
    return tape.cell.server == SHELL


def _tapes(path: Path) -> list[_Tape]:
    """At least one."""
    store = RunStore(path)
    if store.has_plan():
        return _tapes_of_run(store)
    file = path / "transcript.jsonl" if path.is_dir() else path
    if not file.is_file():
        hint = "give the transcript.jsonl of a finished attempt, or the folder of a run"
        raise FairtrialError("there is no recording", where=str(file), hint=hint)
    require_as_written(file)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    cell = _cell_beside(file)
    calls = cell is None and _recording(file).calls_a_server
    return [_Tape(file=file, cell=cell, digest=digest, calls_a_server=calls)]


def _recording(file: Path) -> _Recording:
    return _Recording(read_transcript(file))


def _cell_beside(transcript: Path) -> Cell | None:
    path = transcript.with_name("result.json")
    if not path.is_file():
        return None
    return parse_json(path.read_bytes(), RecordedResult, where=str(path)).cell


def _tapes_of_run(store: RunStore) -> list[_Tape]:
    tapes = []
    for cell in store.plan().cells:
        attempt = store.counted_attempt(cell.id)
        if attempt is not None and attempt.result.outcome.is_measurement:
            digest = attempt.result.transcript
            tapes.append(_Tape(file=attempt.transcript, cell=cell, digest=digest))
    if not tapes:
        hint = "give a run with measured cells"
        raise FairtrialError("there is no recording", where=str(store.folder), hint=hint)
    return tapes


def _tape_of(cell: Cell, tapes: Sequence[_Tape], where: str) -> _Tape:
    """The cell's own. Raises ProviderError if there is none, or more than one."""
    found = [tape for tape in tapes if _is_of(tape, cell, alone=len(tapes) == 1)]
    if len(found) == 1:
        return found[0]
    wanted = f"of {_place(cell)}"
    if found:
        models = ", ".join(tape.cell.model for tape in found if tape.cell)
        hint = f"give the folder of one attempt: there are those of {models}"
        raise ProviderError(f"there are several recordings {wanted}", where=where, hint=hint)
    raise ProviderError(
        f"there is no recording {wanted}",
        where=where,
        hint=f"there is one of {_listed(tapes)}; a run's folder gives each arm its own",
    )


def _is_of(tape: _Tape, cell: Cell, *, alone: bool) -> bool:
    """`alone`: given by itself, it may be played in any trial; its prompts tell the scenario."""
    if tape.cell is None:
        return cell.server != SHELL or _may_be_the_shells(tape)
    if alone:
        return tape.cell.server == cell.server
    theirs = (tape.cell.scenario, tape.cell.server, tape.cell.trial)
    return theirs == (cell.scenario, cell.server, cell.trial)


def _listed(tapes: Sequence[_Tape]) -> str:
    places = [_place(tape.cell) for tape in tapes]
    shown = "; ".join(places[:RECORDINGS_LISTED])
    more = len(places) - RECORDINGS_LISTED
    return f"{shown}; and {more} more" if more > 0 else shown


def _place(cell: Cell | None) -> str:
    if cell is None:
        return "a server that nothing names"
    return f"{cell.server} on {cell.scenario}, trial {cell.trial}"
