"""What the offline navigator does in one step: what it looks for, sees, and follows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from runner.models.findings import Finding, findings_in
from runner.models.lookups import BODY_LINES, Lookup, grep, grep_definition, grep_tests, read_body
from runner.models.prompt_names import uncommon
from runner.models.tool_use import ROLES, Learned, server_lookup, server_read
from runner.protocols import Result, ToolSpec
from runner.tool_arguments import language_of_path

TURNS = 7
CALLS_PER_TURN = 3
FOLLOWED = 6
"""Names that are followed out of the bodies of those of the prompt."""
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
    language: str = ""
    """Of the code that was seen in the step before."""

    def remember(self, earlier: Search) -> None:
        """How the tools wanted to be asked in the step before."""
        self.ways, self.worked = earlier.ways, earlier.worked
        self.language = earlier._learned().language

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
        language = max(seen, key=lambda one: seen[one], default=self.language)
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
        return [name for name in uncommon(called) if name not in followed]


def _distance(hit: Finding, name: str) -> tuple[bool, bool, bool]:
    """How far a line is from what a reader of the name wants to see."""
    return (not hit.defines(name), hit.in_prose, hit.in_tests)


def _is_in_one(bodies: Iterable[Finding], finding: Finding) -> bool:
    for body in bodies:
        last = body.line + BODY_LINES
        if finding.path == body.path and body.line < finding.line <= last:
            return True
    return False
