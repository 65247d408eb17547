"""`offline`: a deterministic navigator that needs no key. It checks plumbing, and ranks nobody.

From a step's prompt it takes the names to look for; it looks them up with the tools of its arm,
follows what it finds for several turns, and writes an answer that cites what it saw. It gets what
every model gets, the prompts and the tools, and so cannot know a gold answer.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from runner.models.findings import Finding, findings_in
from runner.models.tool_use import (
    BODY_LINES,
    ROLES,
    Learned,
    Lookup,
    grep,
    grep_definition,
    grep_tests,
    read_body,
    server_lookup,
    server_read,
)
from runner.protocols import Call, Message, Result, ToolMessage, ToolSpec, Turn, UserMessage
from runner.records import digest_of
from runner.tokens import estimated_tokens
from runner.tool_arguments import language_of_path

VERSION = 5
"""Raise it if the same tools' results would give another answer: cells are told apart by it."""
TURNS = 7
CALLS_PER_TURN = 3
NAMES = 5
"""Names of a prompt that are looked up."""
FOLLOWED = 6
"""Names that are followed out of the bodies of those."""
SHOWN = 14
"""Uses of the names that an answer lists, in the code and again in the tests."""


# --- the names to look for ------------------------------------------------------------------

COMMON = frozenset(
    (
        "the and for with from that this what which when where into your you are not every each "
        "about before after only list next agent file line function method class test tests code "
        "change name names path paths call calls caller callers given hand map find show tell how "
        "why does step one two all any must should would could them they their then than have has "
        "been has will source repository if else return print len str int self super range "
        "isinstance type set dict tuple format append get join items keys values assert raise "
        "import def async await new"
    ).split()
)
"""Words that prompts and code are made of: a search for one finds everything."""
_QUOTED = re.compile(r"`([^`\n]{2,80})`")
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_SHAPED = re.compile(
    r"""
    \b(?:
        [A-Za-z]+_\w+ | _\w+       # dispatch_request, _hidden
        | [a-z]+[A-Z]\w+           # dispatchRequest
        | [A-Z][a-z0-9]+[A-Z]\w*   # RequestContext
        | \w+(?=\(\))              # dispatch()
    )
    """,
    re.VERBOSE,
)
_PLAIN = re.compile(r"\b[a-z]{5,}\b")


def names_in(prompt: str) -> list[str]:
    """The names a prompt asks about, most telling first.

    Quoted code comes before snake_case and CamelCase words; plain words, the most repeated first,
    only if there are too few of those.
    """
    names: list[str] = []
    for quoted in _QUOTED.findall(prompt):
        # `Flask.wsgi_app` is about wsgi_app first.
        names += reversed(_WORD.findall(quoted))
    names += _SHAPED.findall(prompt)
    names = _uncommon(names)
    if len(names) > 1:
        return names
    return list(dict.fromkeys(names + _telling_words(prompt)))


def _uncommon(names: Iterable[str]) -> list[str]:
    """The names without repeats and common words."""
    return [name for name in dict.fromkeys(names) if name.lower() not in COMMON]


def _telling_words(prompt: str) -> list[str]:
    """Plain words: the most repeated first, and of those the longest."""
    counts = Counter(_PLAIN.findall(prompt.lower()))
    return sorted(_uncommon(counts), key=lambda word: (-counts[word], -len(word), word))


# --- the search -----------------------------------------------------------------------------

_ABOUT_TESTS = re.compile(r"\btests?\b|\bcoverage\b")
_CALLED = re.compile(r"\b([A-Za-z_]\w{3,})\s*\(")


@dataclass
class ServerCalls:
    """How a step's calls of the server's tools went."""

    made: int = 0
    failed: int = 0
    """Answered with an error."""
    empty: int = 0
    """Answered without a place in a file."""

    def add(self, *, is_error: bool, places: int) -> None:
        self.made += 1
        if is_error:
            self.failed += 1
        elif not places:
            self.empty += 1


@dataclass
class Search:
    """What one step has looked for and seen."""

    prompt: str
    names: list[str]
    tools: Sequence[ToolSpec]
    queue: list[Lookup] = field(default_factory=list)
    found: list[Finding] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    """Keys of every lookup queued so far: none is made twice."""
    turns: int = 0
    trail: list[str] = field(default_factory=list)
    """Names followed from one body to the next, in order."""
    server_calls: ServerCalls = field(default_factory=ServerCalls)
    ways: dict[str, int] = field(default_factory=dict)
    """Tool -> the set of arguments it is called with: those before it were errors."""
    worked: set[str] = field(default_factory=set)
    """Tools that have answered."""

    def begin(self) -> None:
        for name in self.names:
            self._look_up(name)

    def next_batch(self) -> list[Lookup]:
        """The calls of the next turn; none if the search is over."""
        batch, self.queue = self.queue[:CALLS_PER_TURN], self.queue[CALLS_PER_TURN:]
        self.turns += 1
        return batch if self.turns <= TURNS else []

    def absorb(self, results: Iterable[tuple[Lookup, Result]]) -> None:
        """Take in a turn's results, and queue what they lead to."""
        fresh: list[Finding] = []
        for lookup, result in results:
            if lookup.on_server:
                fresh += self._places_of_server(lookup, result)
            else:
                fresh += findings_in(result.text)
        self.found = list(dict.fromkeys(self.found + fresh))
        for name in [*self.names, *self.trail]:
            self._read_or_search(name)
        for name in self._called()[: FOLLOWED - len(self.trail)]:
            self.trail.append(name)
            self._look_up(name)

    def place_of(self, name: str) -> Finding | None:
        """Where a name is best read: at its definition, in code, and not in the tests."""
        hits = [finding for finding in self.found if finding.names(name)]
        return min(hits, key=lambda hit: _distance(hit, name), default=None)

    def definitions(self, names: Iterable[str]) -> dict[str, Finding]:
        """The places of those names whose definitions were seen."""
        places: dict[str, Finding] = {}
        for name in names:
            place = self.place_of(name)
            if place is not None and place.defines(name):
                places[name] = place
        return places

    def _look_up(self, name: str) -> None:
        lookups = self._server_lookups(name)
        if lookups:
            self._push(*lookups[:2])
        else:
            self._ask_shell(name)
        # In both arms: the server's arm would be spared work that the shell's is charged for.
        if self._is_about_tests():
            self._push(grep_tests(name))

    def _is_about_tests(self) -> bool:
        return _ABOUT_TESTS.search(self.prompt.lower()) is not None

    def _server_lookups(self, name: str) -> list[Lookup]:
        place = self.place_of(name)
        learned = self._learned()
        lookups = [server_lookup(self.tools, role, name, place, learned) for role in ROLES]
        return list(filter(None, lookups))

    def _learned(self) -> Learned:
        """Its language is that of most lines seen; empty if none was code."""
        seen = Counter(language_of_path(finding.path) for finding in self.found)
        del seen[""]
        language = max(seen, key=lambda one: seen[one], default="")
        return Learned(ways=self.ways, language=language)

    def _places_of_server(self, lookup: Lookup, result: Result) -> list[Finding]:
        """What a server found. Where it found nothing the shell is asked, as an agent would."""
        places: list[Finding] = []
        # An error that quotes a line has found nothing: a server that fails every call would do as
        # well as one that works.
        if result.is_error and not lookup.reads:
            self._ask_otherwise(lookup)
        else:
            self.worked.add(lookup.tool)
            places = findings_in(result.text)
        self.server_calls.add(is_error=result.is_error, places=len(places))
        if not places and not lookup.reads:
            self._ask_shell(lookup.name)
        return places

    def _ask_otherwise(self, lookup: Lookup) -> None:
        """With other arguments, of a tool that has answered to none yet."""
        # One that has answered means its error: there is no such symbol.
        if lookup.tool in self.worked or self.ways.get(lookup.tool, 0) != lookup.way:
            return
        self.ways[lookup.tool] = lookup.way + 1
        self._push(*self._server_lookups(lookup.name)[:1])

    def _ask_shell(self, name: str) -> None:
        self._push(grep_definition(name), grep(name))

    def _read_or_search(self, name: str) -> None:
        place = self.place_of(name)
        if place is not None and place.defines(name):
            self._push(server_read(self.tools, name, place), read_body(place.path, place.line))
        elif name in self.names:
            learned = self._learned()
            references = server_lookup(self.tools, "references", name, place, learned)
            self._push(references, grep_definition(name))

    def _push(self, *lookups: Lookup | None) -> None:
        for lookup in filter(None, lookups):
            if lookup.key not in self.asked:
                self.asked.add(lookup.key)
                self.queue.append(lookup)

    def _called(self) -> list[str]:
        """Names called in the bodies read so far, in order, that nobody has followed yet."""
        bodies = list(self.definitions(self.names).values())
        called: list[str] = []
        for finding in self.found:
            if _is_in_one(bodies, finding):
                called += _CALLED.findall(finding.text)
        followed = {*self.names, *self.trail}
        return [name for name in _uncommon(called) if name not in followed]


def _distance(hit: Finding, name: str) -> tuple[bool, bool, bool]:
    """How far a line is from what a reader of the name wants to see."""
    return (not hit.defines(name), hit.in_prose, hit.in_tests)


def _is_in_one(bodies: Iterable[Finding], finding: Finding) -> bool:
    for body in bodies:
        last = body.line + BODY_LINES
        if finding.path == body.path and body.line < finding.line <= last:
            return True
    return False


# --- the model ------------------------------------------------------------------------------


class Offline:
    """protocols.Model. Stateful: one instance serves one cell."""

    name = "offline"
    language_model = False
    identity = digest_of({"model": "offline", "version": VERSION})

    def __init__(self) -> None:
        self._search: Search | None = None
        self._made: dict[str, Lookup] = {}
        """Id of a call -> what it looks up."""
        self._ids = 0

    async def turn(
        self,
        system: str,
        conversation: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        timeout_sec: float,  # noqa: ARG002 - it never waits
    ) -> Turn:
        """Looks at the newest message only; its tokens are estimated as characters / 4.

        The messages before it are taken as cached, and what every turn carries is not.
        """
        newest = conversation[-1]
        shown_chars = _carried(system, tools) + _length(newest)
        if isinstance(newest, UserMessage):
            names = names_in(newest.text)[:NAMES]
            self._search = Search(prompt=newest.text, names=names, tools=tools)
            self._search.begin()
        search = self._search
        assert search is not None  # noqa: S101 - a conversation starts with a user's message
        if isinstance(newest, ToolMessage):
            search.absorb((self._made[result.call_id], result) for result in newest.results)
        turn = self._answer_or_call(search, shown_chars)
        seen_chars = sum(map(_length, conversation[:-1]))
        return replace(turn, cache_read_tokens=estimated_tokens(seen_chars))

    def write_artifacts(self, folder: Path) -> None:
        """It keeps nothing of a cell."""

    async def close(self) -> None:
        """It holds nothing open."""

    def _answer_or_call(self, search: Search, shown_chars: int) -> Turn:
        calls = tuple(map(self._call, search.next_batch()))
        text = ""
        if not calls:
            text = write_answer(search)
        written_chars = len(text) + sum(map(_call_chars, calls))
        return Turn(
            text=text,
            calls=calls,
            stop="tool_use" if calls else "end",
            input_tokens=estimated_tokens(shown_chars),
            output_tokens=estimated_tokens(written_chars),
            estimated=True,
        )

    def _call(self, lookup: Lookup) -> Call:
        self._ids += 1
        call = Call(id=f"call_{self._ids}", tool=lookup.tool, arguments=lookup.arguments)
        self._made[call.id] = lookup
        return call


def _call_chars(call: Call) -> int:
    return len(call.tool) + len(json.dumps(call.arguments))


def _carried(system: str, tools: Sequence[ToolSpec]) -> int:
    """Characters of what a provider is sent with every turn: prompt, instructions and schemas."""
    # Left out, a server with large schemas would look cheaper than the shell.
    chars = len(system)
    for tool in tools:
        chars += len(tool.name) + len(tool.description) + len(json.dumps(tool.input_schema))
    return chars


def _length(message: Message) -> int:
    """Characters that a message shows to a model. Its own earlier turns are shown to it too."""
    if isinstance(message, UserMessage):
        return len(message.text)
    if isinstance(message, ToolMessage):
        return sum(len(result.text) for result in message.results)
    return len(message.text) + sum(map(_call_chars, message.calls))


# --- the answer -----------------------------------------------------------------------------


def write_answer(search: Search) -> str:
    """Markdown with a citation for every claim; what was not found is said."""
    defined = search.definitions([*search.names, *search.trail])
    lines = ["What I found, in the order I followed it.", ""]
    for name, place in defined.items():
        lines.append(f"- {_cite(place)} defines `{name}`: `{_code(place)}`")
    uses = _uses(search, defined)
    lines += _list_uses("Where these names are used", uses, in_tests=False)
    lines += _list_uses("In the tests", uses, in_tests=True)
    missing = [name for name in search.names if not search.place_of(name)]
    lines += ["", _doubt(missing, len(uses))]
    lines += _server_doubt(search.server_calls)
    return "\n".join(lines)


def _uses(search: Search, defined: dict[str, Finding]) -> list[Finding]:
    """The lines seen that use a name of the prompt, without the definitions listed."""
    listed = {(place.path, place.line) for place in defined.values()}
    uses = []
    for finding in search.found:
        is_new = (finding.path, finding.line) not in listed and finding.text.strip()
        if is_new and any(map(finding.names, search.names)):
            uses.append(finding)
    return uses


def _list_uses(title: str, uses: list[Finding], *, in_tests: bool) -> list[str]:
    wanted = [use for use in uses if use.in_tests == in_tests]
    if not wanted:
        return []
    lines = ["", f"{title}:", ""]
    for use in _spread(wanted):
        lines.append(f"- {_cite(use)} has `{_code(use)}`")
    return lines


def _spread(uses: list[Finding]) -> list[Finding]:
    """A few of each file rather than many of the first, code before prose."""
    of_file: Counter[str] = Counter()
    rank: dict[Finding, tuple[bool, int]] = {}
    for use in uses:
        of_file[use.path] += 1
        rank[use] = (use.in_prose, of_file[use.path])
    return sorted(uses, key=lambda use: rank[use])[:SHOWN]


def _doubt(missing: list[str], uses: int) -> str:
    not_found = ""
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        not_found = f"I did not find {names}. "
    return (
        f"{not_found}I saw {uses} further lines that use these names; "
        "dynamic calls and code outside this repository were not looked at."
    )


def _server_doubt(calls: ServerCalls) -> list[str]:
    """Nothing of a server whose calls all found something."""
    if not calls.failed + calls.empty:
        return []
    said = f"{calls.failed} failed and {calls.empty} named no place"
    return [
        "",
        f"Of my {calls.made} calls of the server's tools {said}; I asked the shell instead.",
    ]


def _cite(place: Finding) -> str:
    return f"`{place.path}:{place.line}`"


def _code(place: Finding) -> str:
    # A backtick of the code would end the code span it is shown in.
    return place.text.strip().replace("`", "'")[:100]
