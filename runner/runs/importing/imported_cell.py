"""One transcript of Claude Code as a cell: its events over a scenario's steps, and how it ended.

The same bytes always give the same events, so that whoever doubts a cell can make it again from the
file that lies beside its transcript.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path

from runner.records import (
    Cell,
    Event,
    Imported,
    Note,
    Outcome,
    OutcomeKind,
    Prompt,
    Prose,
    Scenario,
    StepEnd,
    ToolCall,
    digest_of,
)
from runner.runs.importing import claude_code
from runner.runs.importing.claude_code import (
    ClaudeCodeReader,
    TranscriptLine,
    is_claude_code,
    json_objects,
    roots_of,
)
from runner.support.code_digest import code_digest
from runner.support.errors import FairtrialError

HARNESS = "claude-code"
KIND = "imported"
"""Before the model's name: no cell that was measured here goes by it."""
SHELL = "shell"
MAX_BYTES = 64 * 1024 * 1024
REASON_CHARS = 300
_DOES_NOT_WORK = frozenset({"failed", "needs-auth", "disabled"})
_LIMITS: dict[str, OutcomeKind] = {
    "error_max_turns": "out_of_actions",
    "error_max_budget_usd": "out_of_budget",
}


@dataclass(frozen=True, kw_only=True)
class ImportedTranscript:
    """A transcript's file, and whose cell it is to be."""

    data: bytes
    file: str
    """Its name, without folders."""
    server: str
    mounted: str
    """What Claude Code called the server: `mcp__<mounted>__<tool>`."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """What a source gives for a scenario."""

    events: tuple[Event, ...]
    outcome: Outcome
    imported: Imported


def read_session(recording: ImportedTranscript, scenario: Scenario) -> Session:
    """Raises FairtrialError if it is no transcript of Claude Code, or not of this arm."""
    facts = _facts(recording)
    _require_arm(recording, facts)
    events, degraded, notes = _events(recording, facts, scenario)
    said = [Note(text=text) for text in (*degraded, *notes)]
    return Session(
        events=(*events, *said),
        outcome=facts.outcome(recording),
        imported=Imported(
            harness=HARNESS,
            harness_version=facts.said("claude_code_version", "version"),
            model=facts.model,
            permissions=facts.said("permissionMode"),
            prompts=_prompts_digest(events),
            file=recording.file,
            source=source_digest(recording.data),
            usd=facts.usd,
            importer=importer_digest(),
            degraded=degraded,
        ),
    )


Notices = tuple[str, ...]


def _events(
    recording: ImportedTranscript, facts: _Facts, scenario: Scenario
) -> tuple[tuple[Event, ...], Notices, Notices]:
    """The events; what is lost or otherwise than it was; and what was only written otherwise."""
    reader, arm = ClaudeCodeReader(), _arm(recording)
    shown = _Relative(roots=roots_of(facts.lines))
    events = map(shown.event, map(arm.event, _read(reader, facts.lines)))
    placed = _StepEvents(events=tuple(events), scenario=scenario)
    over_steps = tuple(placed.over_steps())
    remarks = (reader.remarks(), placed.remarks(), facts.remarks(recording), arm.remarks())
    return over_steps, tuple(chain.from_iterable(remarks)), tuple(shown.remarks())


def _prompts_digest(events: Iterable[Event]) -> str | None:
    prompts = [event.text for event in events if isinstance(event, Prompt)]
    if not prompts:
        return None
    return digest_of(prompts)


@cache
def importer_digest() -> str:
    return code_digest([Path(__file__), Path(claude_code.__file__)])


def source_digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def model_name(imported: Imported) -> str:
    """As a cell calls it."""
    return f"{KIND}:{imported.model}"


def is_imported(cell: Cell) -> bool:
    """By its inputs: what it stands on is a file, and no sandbox of ours."""
    return "source" in cell.inputs


# --- the file -------------------------------------------------------------------------------


def _facts(recording: ImportedTranscript) -> _Facts:
    hint = "record one with `claude -p … --output-format stream-json --verbose`"
    if not recording.data.strip():
        raise FairtrialError("the file is empty", where=recording.file, hint=hint)
    if b"\0" in recording.data:
        raise FairtrialError("a binary file, not a transcript", where=recording.file, hint=hint)
    text = recording.data.decode("utf-8-sig", "replace")
    lines = tuple(json_objects(text))
    if not lines or not is_claude_code(lines[0]):
        raise FairtrialError("not a transcript of Claude Code", where=recording.file, hint=hint)
    return _Facts(lines=lines, unreadable=_unreadable(text, len(lines)))


def _unreadable(text: str, read: int) -> int:
    """Lines that hold no object; an array has objects, not lines."""
    if text.lstrip().startswith("["):
        return 0
    return sum(bool(line.strip()) for line in text.split("\n")) - read


def _read(reader: ClaudeCodeReader, lines: Iterable[TranscriptLine]) -> Iterator[Event]:
    for line in lines:
        yield from reader.read(line)
    yield from reader.close()


# --- what it says of itself -----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Facts:
    lines: tuple[TranscriptLine, ...]
    unreadable: int
    """Lines of the file that are none."""

    def said(self, *keys: str) -> str:
        """The first text under one of the keys; empty if there is none."""
        for line in self.lines:
            for key in keys:
                value = line.get(key)
                if isinstance(value, str) and value:
                    return value[:100]
        return ""

    @property
    def model(self) -> str:
        """As it was asked for, else as the first message names it."""
        named = self.said("model")
        if named:
            return named
        for line in self.lines:
            message = line.get("message")
            if isinstance(message, dict) and isinstance(message.get("model"), str):
                return str(message["model"])[:100]
        return "unknown"

    @property
    def result(self) -> TranscriptLine | None:
        """The last one."""
        return self._last("result")

    def _last(self, kind: str) -> TranscriptLine | None:
        for line in reversed(self.lines):
            if line.get("type") == kind:
                return line
        return None

    @property
    def usd(self) -> float | None:
        cost = (self.result or {}).get("total_cost_usd")
        if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost < 1e9:
            return None
        return float(cost)

    @property
    def mounted(self) -> dict[str, str] | None:
        """MCP server -> its status; None if the file does not say."""
        for line in self.lines:
            servers = line.get("mcp_servers")
            if isinstance(servers, list):
                named = [one for one in servers if isinstance(one, dict)]
                return {str(one.get("name")): str(one.get("status")) for one in named}
        return None

    def remarks(self, recording: ImportedTranscript) -> Iterator[str]:
        others = sorted((self.mounted or {}).keys() - {recording.mounted})
        if others:
            yield f"other MCP servers were mounted too: {', '.join(others)}"
        if self.result is not None and not self.result.get("duration_ms"):
            yield "it does not say how long it took"
        if self.unreadable:
            yield f"{self.unreadable} lines were no JSON objects and were passed over"

    def outcome(self, recording: ImportedTranscript) -> Outcome:
        status = (self.mounted or {}).get(recording.mounted, "")
        if recording.server != SHELL and status in _DOES_NOT_WORK:
            reason = f"Claude Code could not use {recording.mounted}: {status}"
            return Outcome(kind="server_not_ready", reason=reason)
        if self.result is None:
            return self._without_result()
        return _outcome_of(self.result)

    def _without_result(self) -> Outcome:
        last = (self._last("assistant") or {}).get("message")
        if isinstance(last, dict) and last.get("stop_reason") == "end_turn":
            return Outcome(kind="answered", reason="its last turn ended; the file has no result")
        reason = "the file ends without a result: nobody knows what it would still have said"
        return Outcome(kind="interrupted", reason=reason)


def _outcome_of(result: TranscriptLine) -> Outcome:
    subtype, said = str(result.get("subtype")), str(result.get("result") or "")[:REASON_CHARS]
    if subtype in _LIMITS:
        return Outcome(kind=_LIMITS[subtype], reason=f"Claude Code ended with {subtype}")
    if subtype == "success" and result.get("is_error"):
        return Outcome(kind="provider_failed", reason=said or "Claude Code names no reason")
    if subtype != "success":
        return Outcome(kind="interrupted", reason=f"Claude Code ended with {subtype}: {said}")
    if result.get("stop_reason") == "refusal":
        return Outcome(kind="refused", reason=said)
    return Outcome(kind="answered", reason="Claude Code ended with success")


# --- the arm --------------------------------------------------------------------------------


def _require_arm(recording: ImportedTranscript, facts: _Facts) -> None:
    mounted = facts.mounted
    if recording.server == SHELL or mounted is None or recording.mounted in mounted:
        return
    there = ", ".join(mounted) or "none"
    raise FairtrialError(
        f"no MCP server {recording.mounted!r} was mounted in it; there was: {there}",
        where=recording.file,
        hint="name the arm's server with --server, and what Claude Code called it with --mounted",
    )


@dataclass(frozen=True, kw_only=True)
class _ArmCalls:
    """Calls as the arm's server's, under the server's own names, or as the shell's."""

    mounted: str
    """Empty for the shell."""
    foreign: list[str] = field(default_factory=list)
    """Calls of other servers."""

    def event(self, event: Event) -> Event:
        if not isinstance(event, ToolCall) or event.origin != "server":
            return event
        tool = event.tool.removeprefix(f"mcp__{_as_mounted(self.mounted)}__")
        if self.mounted and tool != event.tool:
            return event.model_copy(update={"tool": tool})
        if not self.mounted:
            raise FairtrialError(
                f"it called {event.tool}: an arm with an MCP server is not the shell's",
                hint="name that server with --server",
            )
        self.foreign.append(event.tool)
        return event.model_copy(update={"origin": "shell"})

    def remarks(self) -> Iterator[str]:
        if self.foreign:
            yield f"{len(self.foreign)} calls were of other MCP servers, and count as the shell's"


def _arm(recording: ImportedTranscript) -> _ArmCalls:
    if recording.server == SHELL:
        return _ArmCalls(mounted="")
    return _ArmCalls(mounted=recording.mounted)


def _as_mounted(name: str) -> str:
    """What Claude Code makes of a name: `my server` -> `my_server`."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


# --- the steps ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _StepEvents:
    """Events over the steps of a scenario."""

    events: tuple[Event, ...]
    scenario: Scenario

    @property
    def prompts(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Prompt)]

    @property
    def is_one_for_all(self) -> bool:
        """One prompt asked for every step: so does the answer to it."""
        steps = [step.prompt for step in self.scenario.steps]
        if len(steps) == 1 or len(self.prompts) > 1:
            return False
        asked = "".join(self.prompts)
        alone = _holds(asked, steps[0]) and not any(_holds(asked, step) for step in steps[1:])
        return not alone

    def over_steps(self) -> Iterator[Event]:
        """Raises FairtrialError if it has more prompts than the scenario has steps."""
        steps = len(self.scenario.steps)
        if len(self.prompts) > steps:
            raise FairtrialError(
                f"it has {len(self.prompts)} prompts, and {self.scenario.id} has {steps} steps",
                hint="import it with the scenario it was made for",
            )
        for event in self.events:
            if self.is_one_for_all and isinstance(event, Prose | StepEnd):
                yield from _spread(event, steps)
            else:
                yield event

    def remarks(self) -> Iterator[str]:
        if self.is_one_for_all:
            yield (
                f"one prompt asked for all {len(self.scenario.steps)} steps: the whole answer "
                "stands in each, and all calls in the first, so that discoverability says little"
            )
        if not self.prompts:
            yield "it holds no prompt: that this scenario was asked is the importer's word"
            return
        for number, step in enumerate(self.scenario.steps, start=1):
            if not any(_holds(prompt, step.prompt) for prompt in self.prompts):
                yield f"no prompt of it is that of step {number}"


def _spread(event: Prose | StepEnd, steps: int) -> Iterator[Event]:
    for step in range(steps):
        changes: dict[str, object] = {"step": step}
        if isinstance(event, StepEnd) and step:
            # Counted in every step, its seconds would be as many times too long.
            changes["elapsed_sec"] = None
        yield event.model_copy(update=changes)


def _holds(text: str, prompt: str) -> bool:
    return " ".join(prompt.split()) in " ".join(text.split())


# --- paths ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Relative:
    """Prose in which a path below the agent's folder begins at the repository's top.

    The commit knows no folder of the machine it ran on.
    """

    roots: Sequence[str]
    changed: list[int] = field(default_factory=list)

    def event(self, event: Event) -> Event:
        if not isinstance(event, Prose):
            return event
        text = event.text
        for root in sorted(self.roots, key=len, reverse=True):
            # `other/repo/a.py` is not below `/repo`.
            below = rf"(?<![\w./-]){re.escape(root.rstrip('/'))}/"
            text, changed = re.subn(below, "", text)
            self.changed.append(changed)
        return event.model_copy(update={"text": text})

    def remarks(self) -> Iterator[str]:
        if any(self.changed):
            yield f"{sum(self.changed)} paths below its folder begin at the repository's top"
