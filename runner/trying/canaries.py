"""A canary out of the repository: a call whose answer holds what only the repository could give."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import mcp_types

from runner.answers import Answers
from runner.records import Canary, McpCall
from runner.sandbox.places import STATE, WORKSPACE
from runner.sandbox.session import McpResult, ServerSession
from runner.tool_arguments import Target, arguments_for, handle_for, handles_in
from runner.trying.targets import Symbol
from runner.trying.tools import for_looking

CALL_SEC = 30
PASSES_NEEDED = 3
MOST_CALLS = 60
"""Of one search."""
SEARCH_SEC = 90
_NAMES_NEEDED = 3
_ANYWHERE = re.compile(
    r"^\.|\.(?:toml|lock|ya?ml|json|ini|cfg)$|^[A-Z_]+(?:\.[a-z]+)?$|config|requirements|__"
    r"|^(?:index|main|setup|test)[.s]"
)
"""Names of files that are in any project: a server may have a list of them."""
_SHORTEST = 12
"""Characters of a line of code that no server says by chance."""


Kind = Literal["line", "code", "path", "listing"]
"""The symbol's line, a line of its code, its file's path, or names of the repository's files."""
_STRENGTH: dict[Kind, int] = {"line": 3, "code": 2, "path": 1, "listing": 0}


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What of an answer can only come from the repository."""

    contains: str
    kind: Kind
    line_base: int | None = None
    """Of a line."""

    @property
    def shows_line(self) -> bool:
        return self.kind == "line"


@dataclass(frozen=True, kw_only=True)
class FoundCanary:
    call: McpCall
    symbol: Symbol
    evidence: Evidence
    wall_sec: float

    @property
    def strength(self) -> int:
        return _STRENGTH[self.evidence.kind]

    def as_canary(self, repository: str) -> Canary:
        return Canary(
            repository=repository,
            call=self.call,
            contains=self.evidence.contains,
            line=self.symbol.line if self.evidence.shows_line else None,
            timeout_sec=max(60, min(600, int(self.wall_sec * 10))),
        )


@dataclass
class Search:
    """What was called, and what came: for the person, if nothing is found."""

    calls: int = 0
    errors: int = 0
    last_error: str = ""
    errors_of: dict[str, str] = field(default_factory=dict)
    """Tool -> its last error."""
    failed: list[str] = field(default_factory=list)
    """Programs of its own that ended badly, each with its last words."""
    seen: list[str] = field(default_factory=list)
    """Texts of errors and answers, for paths that could not be written."""
    handles: dict[str, str | int] = field(default_factory=dict)
    """What the project is called by, as what opened or indexed it answered: key -> value."""

    database: str = ""
    """Where the repository is a table, if it was made one."""

    requests: list[str] = field(default_factory=list)
    """Arguments of every call, as JSON."""

    def learn(self, answers: Answers) -> None:
        self.handles.update(handles_in(answers))

    def told_before(self, arguments: Mapping[str, Any], symbol: Symbol) -> str:
        """What the session has heard already, for a call that asks about nothing.

        A log or a history shows what was asked, and what was answered: in another session neither.
        """
        asked = json.dumps(arguments, ensure_ascii=False)
        if symbol.name in asked or symbol.path in asked:
            return ""
        return "\n".join((*self.requests, *self.seen))

    def note(self, tool: str, result: McpResult, arguments: Mapping[str, Any]) -> None:
        self.calls += 1
        self.requests.append(json.dumps(arguments, ensure_ascii=False))
        self.seen.append(result.text[:2000])
        if result.is_error:
            self.errors += 1
            self.last_error = result.text[:300]
            self.errors_of[tool] = result.text[:300]


# --- evidence -----------------------------------------------------------------------------------


def evidence_in(
    text: str,
    arguments: Mapping[str, Any],
    symbol: Symbol,
    paths: Collection[str] = (),
    *,
    before: str = "",
) -> Evidence | None:
    """What the answer holds of the repository that was not in the request; None if nothing.

    `paths`: of the repository's files. `before`: what else it may only repeat.
    """
    asked = json.dumps(arguments, ensure_ascii=False) + before
    numbered = [] if _asks_for_line(asked, symbol) else list(_numbered(text, symbol))
    bases = {base for base, _ in numbered}
    for base, shown in numbered:
        # Two bases in one answer: which of them is the symbol's line is unknown.
        if shown not in asked and len(bases) == 1 and _shows_code(text, symbol):
            return Evidence(contains=shown, kind="line", line_base=base)
    for shown in _codes(symbol):
        if shown in text and len(shown) >= _SHORTEST and shown not in asked:
            return Evidence(contains=shown, kind="code")
    if symbol.path in text and symbol.path not in asked:
        return Evidence(contains=symbol.path, kind="path")
    return _listing(text, asked, paths)


def _listing(text: str, asked: str, paths: Collection[str]) -> Evidence | None:
    """Several names of files, as no server without the repository would say them."""
    names = {path.rpartition("/")[2] for path in paths}
    names = {name for name in names if not _ANYWHERE.search(name)}
    shown = [name for name in names if len(name) >= _SHORTEST and name in text]
    new = sorted((name for name in shown if name not in asked), key=lambda name: (-len(name), name))
    if len(new) < _NAMES_NEEDED:
        return None
    return Evidence(contains=new[0], kind="listing")


def _asks_for_line(asked: str, symbol: Symbol) -> bool:
    """What was asked with a line may be answered with it, and with its neighbours."""
    numbers = {int(number) for number in re.findall(r"\b\d{1,7}\b", asked)}
    return not numbers.isdisjoint(range(symbol.line - 1, symbol.line + 2))


def _codes(symbol: Symbol) -> Iterator[str]:
    for line in (symbol.text, *symbol.below):
        yield line
        # Inside of JSON, a quote is written with a backslash.
        yield json.dumps(line, ensure_ascii=False)[1:-1]


def _shows_code(text: str, symbol: Symbol) -> bool:
    """A number alone may be luck: the name, the file or a line of code has to be there too."""
    known = (symbol.name, symbol.path.rpartition("/")[2], *_codes(symbol))
    return any(word in text for word in known)


_LINE_KEYS = "line|row|start_?[lL]ine|line_?[nN]umber|lineno|line_?[sS]tart|start_?[rR]ow"


def _numbered(text: str, symbol: Symbol) -> Iterator[tuple[int, str]]:
    """(base, the text that shows the symbol's line as that base counts), most telling first."""
    name = re.escape(symbol.path.rpartition("/")[2])
    code = re.escape(symbol.text[:60])
    for base in (1, 0):
        number = symbol.line - 1 + base
        patterns = (
            rf"{name}[\"']?(?::|#L|, ?line |\()0*{number}\b",
            rf"\b0*{number}[:\-|\t→ ]+ ?{code}",
            rf"\"(?:{_LINE_KEYS})\" ?: ?{number}\b",
            rf"\b[Ll]ines?:? {number}\b",
            rf"\bL{number}\b",
        )
        for pattern in patterns:
            found = re.search(pattern, text)
            if found:
                yield base, found[0]
                break


# --- the search ---------------------------------------------------------------------------------


async def find_canary(
    session: ServerSession,
    symbols: Sequence[Symbol],
    paths: Collection[str],
    search: Search,
    *,
    most: int = MOST_CALLS,
) -> FoundCanary | None:
    """The call that three times out of three answers with the most telling text.

    Raises ServerError if the server ends.
    """
    give_up = time.monotonic() + SEARCH_SEC
    first_call = search.calls
    best: FoundCanary | None = None
    for tool in for_looking(session.tools):
        for symbol, arguments in _calls_of(tool, symbols, search):
            calls = search.calls - first_call
            # What is good enough ends it sooner than what is poor.
            enough = most // (1 + (best is not None and best.evidence.kind == "code"))
            if calls >= enough or time.monotonic() > give_up:
                return best
            found = await _try_call(
                session, McpCall(tool=tool.name, arguments=arguments), symbol, paths, search
            )
            if found is None:
                continue
            if best is None or found.strength > best.strength:
                best = found
            if found.evidence.kind == "line":
                return found
            if found.evidence.kind == "code":
                break
    return best


def _calls_of(
    tool: mcp_types.Tool, symbols: Sequence[Symbol], search: Search
) -> Iterator[tuple[Symbol, dict[str, Any]]]:
    """Every way to ask for the first symbol, then the first way for the others."""
    for place, symbol in enumerate(symbols):
        target = Target(
            name=symbol.name,
            path=symbol.path,
            line=symbol.line,
            root=WORKSPACE,
            database=search.database,
            handles=search.handles,
        )
        described = tool.description or ""
        for arguments in arguments_for(tool.input_schema, target, described=described):
            if arguments or not place:
                yield symbol, arguments
            if place:
                break


async def _try_call(
    session: ServerSession,
    call: McpCall,
    symbol: Symbol,
    paths: Collection[str],
    search: Search,
) -> FoundCanary | None:
    wanted: Evidence | None = None
    wall_sec = 0.0
    for _ in range(PASSES_NEEDED):
        before = search.told_before(call.arguments, symbol)
        result = await session.call(call.tool, call.arguments, timeout_sec=CALL_SEC)
        search.note(call.tool, result, call.arguments)
        wall_sec = max(wall_sec, result.wall_sec)
        if result.is_error:
            return None
        if wanted is None:
            wanted = evidence_in(result.text, call.arguments, symbol, paths, before=before)
        if wanted is None or wanted.contains not in result.text:
            return None
    assert wanted is not None  # noqa: S101 - the loop ran
    placed = McpCall(tool=call.tool, arguments=with_places(call.arguments, search.handles))
    return FoundCanary(call=placed, symbol=symbol, evidence=wanted, wall_sec=wall_sec)


def with_places(arguments: Any, handles: Answers, key: str = "") -> Any:
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
