"""A health probe: a call whose answer holds what only the repository could give."""

from __future__ import annotations

import json
import re
import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import mcp_types

from runner.authoring.onboarding.evidence import CanaryEvidence, evidence_in
from runner.authoring.onboarding.programs import Ran
from runner.authoring.onboarding.targets import TargetSymbol
from runner.authoring.onboarding.tool_roles import for_looking
from runner.records import Canary, McpCall
from runner.sandbox.cell_layout import STATE, WORKSPACE
from runner.sandbox.session import McpResult, ServerSession
from runner.servers.example_arguments import (
    Target,
    arguments_for,
    handle_for,
    handles_in,
    said_of_itself,
)
from runner.servers.tool_answers import ToolAnswers

CALL_SEC = 30
PASSES_NEEDED = 3
MOST_CALLS = 90
"""Of one search."""
SEARCH_SEC = 90
_SHORT_CHARS, _KEPT_CHARS = 1000, 2000
ERRORS = 3
"""Of one tool, before the others have their turn: of forty, most may be asked in vain."""


@dataclass(frozen=True, kw_only=True)
class FoundCanary:
    call: McpCall
    symbol: TargetSymbol
    evidence: CanaryEvidence
    wall_sec: float
    waited_sec: float = 0.0
    """For an index, before it answered."""

    def as_canary(self, repository: str) -> Canary:
        return Canary(
            repository=repository,
            call=self.call,
            contains=self.evidence.contains,
            line=self.symbol.line if self.evidence.kind == "line" else None,
            timeout_sec=max(60, min(600, int(max(self.wall_sec * 10, self.waited_sec * 2)))),
        )


@dataclass
class CanarySearch:
    """What was called, and what came: for the person, if nothing is found."""

    calls: int = 0
    errors: int = 0
    errors_of: dict[str, str] = field(default_factory=dict)
    """Tool -> its last error."""
    ran: dict[str, Ran] = field(default_factory=dict)
    """Programs of its own, as each ended last."""
    seen: list[str] = field(default_factory=list)
    """Texts of errors and answers, for paths that could not be written."""
    answered: list[tuple[tuple[str, str], str]] = field(default_factory=list)
    """Of every call, tool and arguments as JSON, and what came."""
    handles: dict[str, str | int] = field(default_factory=dict)
    """What the project is called by, as what opened or indexed it answered: key -> value."""

    asking: str = ""
    """The tool whose answer is waited for: of a server that ended, the one that ended it."""
    deadly: set[str] = field(default_factory=set)
    """Tools that ended it before, which are asked no more."""
    unasked: frozenset[str] = frozenset()
    """Tools whose health probe failed, which may be told something all the same."""

    @property
    def failed(self) -> dict[str, str]:
        """Those that ended badly, and may have left what it needs all the same: how, in words."""
        return {command: ran.failed for command, ran in self.ran.items() if ran.failed}

    @property
    def shut_out(self) -> list[str]:
        """Those of them that could not open what the running server holds."""
        return [command for command, ran in self.ran.items() if ran.is_shut_out]

    @property
    def requests(self) -> list[str]:
        """Arguments of every call, as JSON."""
        return [asked for (_, asked), _ in self.answered]

    @property
    def short(self) -> list[tuple[str, str]]:
        """Tool and answer, of answers so short that they may say what is to be called first."""
        return [(tool, text) for (tool, _), text in self.answered if len(text) <= _SHORT_CHARS]

    def learn(self, answers: ToolAnswers) -> None:
        self.handles.update(handles_in(answers))

    def told_before(self, tool: str, arguments: Mapping[str, Any], symbol: TargetSymbol) -> str:
        """What the session has heard already, for a call that asks about nothing.

        A log or a history shows what was asked, and what was answered: in another session neither.
        What the same call has answered, it answers there too.
        """
        asked = json.dumps(arguments, ensure_ascii=False)
        if symbol.name in asked or symbol.path in asked:
            return ""
        others = (text for call, text in self.answered if call != (tool, asked))
        return "\n".join((*self.requests, *others))

    def note(self, tool: str, result: McpResult, arguments: Mapping[str, Any]) -> None:
        self.calls += 1
        self.asking = ""
        text = result.text[:_KEPT_CHARS]
        self.answered.append(((tool, json.dumps(arguments, ensure_ascii=False)), text))
        self.seen.append(text)
        if result.is_error:
            self.errors += 1
            self.errors_of[tool] = result.text[:300]


# --- the search ---------------------------------------------------------------------------------


async def find_canary(  # noqa: PLR0913 - where, about what, and how long
    session: ServerSession,
    symbols: Sequence[TargetSymbol],
    paths: Collection[str],
    search: CanarySearch,
    *,
    most: int = MOST_CALLS,
    most_sec: float = SEARCH_SEC,
) -> FoundCanary | None:
    """The call that three times out of three answers with the most telling text.

    Raises ServerError if the server ends.
    """
    give_up = time.monotonic() + most_sec
    first_call = search.calls
    best: FoundCanary | None = None
    turns = deque(
        (tool, _calls_of(tool, symbols, search), ERRORS)
        for tool in for_looking(session.tools)
        if tool.name not in search.deadly | search.unasked
    )
    while turns:
        tool, calls_of_it, patience = turns.popleft()
        for symbol, arguments in calls_of_it:
            calls = search.calls - first_call
            # What is good enough ends it sooner than what is poor.
            enough = most // (1 + (best is not None and best.evidence.kind == "code"))
            if calls >= enough or time.monotonic() > give_up:
                return best
            errors = search.errors
            found = await _try_call(
                session, McpCall(tool=tool.name, arguments=arguments), symbol, paths, search
            )
            if found is None:
                patience -= search.errors - errors
                if not patience:
                    # It has its other turn behind those that may answer.
                    turns.append((tool, calls_of_it, most))
                    break
                continue
            if best is None or found.evidence.strength > best.evidence.strength:
                best = found
            if found.evidence.kind == "line":
                return found
            if found.evidence.kind == "code":
                break
    return best


def _calls_of(
    tool: mcp_types.Tool, symbols: Sequence[TargetSymbol], search: CanarySearch
) -> Iterator[tuple[TargetSymbol, dict[str, Any]]]:
    """Every way to ask for the first symbol, then the first way for the others."""
    for place, symbol in enumerate(symbols):
        target = Target(
            name=symbol.name,
            path=symbol.path,
            line=symbol.line,
            root=WORKSPACE,
            handles=search.handles,
        )
        described = said_of_itself(tool.name, tool.description)
        for arguments in arguments_for(tool.input_schema, target, described=described):
            if arguments or not place:
                yield symbol, arguments
            if place:
                break


async def _try_call(
    session: ServerSession,
    call: McpCall,
    symbol: TargetSymbol,
    paths: Collection[str],
    search: CanarySearch,
) -> FoundCanary | None:
    wanted: CanaryEvidence | None = None
    wall_sec = 0.0
    for _ in range(PASSES_NEEDED):
        before = search.told_before(call.tool, call.arguments, symbol)
        search.asking = call.tool
        result = await session.call(call.tool, call.arguments, timeout_sec=CALL_SEC)
        search.note(call.tool, result, call.arguments)
        wall_sec = max(wall_sec, result.wall_sec)
        if result.is_error:
            return None
        if wanted is None:
            requests = "\n".join(search.requests)
            wanted = evidence_in(
                result.text, call.arguments, symbol, paths, before=before, requests=requests
            )
        if wanted is None or wanted.contains not in result.text:
            return None
    assert wanted is not None  # noqa: S101 - the loop ran
    placed = McpCall(tool=call.tool, arguments=with_places(call.arguments, search.handles))
    return FoundCanary(call=placed, symbol=symbol, evidence=wanted, wall_sec=wall_sec)


def with_places(arguments: Any, handles: ToolAnswers, key: str = "") -> Any:
    """As somebody would have written it: `{workspace}` for its path, `{answer.KEY}` for a handle.

    `key`: under which the arguments stand.
    """
    if isinstance(arguments, dict):
        return {name: with_places(value, handles, name) for name, value in arguments.items()}
    if isinstance(arguments, list):
        return [with_places(value, handles, key) for value in arguments]
    handle = handle_for(key, handles) if key else ""
    if handle and handles[handle] == arguments and arguments != WORKSPACE:
        # Of this session; the next one gives another.
        return f"{{answer.{handle}}}"
    if isinstance(arguments, str):
        arguments = re.sub(rf"^{STATE}(?=/)", "{state}", arguments)
        return re.sub(rf"(?<![\w.-]){WORKSPACE}(?=/|$)", "{workspace}", arguments)
    return arguments
