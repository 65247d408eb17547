"""What the offline navigator does in one step: what it looks for, sees, and follows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from runner.agents.models.offline.findings import Finding, findings_in
from runner.agents.models.offline.lookups import (
    BODY_LINES,
    Lookup,
    grep,
    grep_definition,
    grep_tests,
    read_body,
)
from runner.agents.models.offline.prompt_names import uncommon
from runner.agents.models.offline.server_side import ServerSide, is_refused
from runner.agents.models.offline.uses import ROLES
from runner.protocols import Result
from runner.records import ANSWER_FORM
from runner.servers.example_arguments import language_of_path

TURNS = 7
CALLS_PER_TURN = 3
BESIDE = 2
"""Calls of a turn that read or explore with the server, on top of those."""
EXPLORED = 3
"""Of a step, mended ones apart."""
AT_FIRST = 2
"""Of those, before anything has been seen."""
READS = 3
"""Files of a step that are read with the server."""
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
    words: frozenset[str] = frozenset()
    """Those of the names that are words of the prompt: a text to look for, and no symbol."""
    server: ServerSide = field(default_factory=ServerSide)
    queue: list[Lookup] = field(default_factory=list)
    beside: list[Lookup] = field(default_factory=list)
    """Calls that come on top of a turn's: none of the shell's work is left out for them."""
    found: list[Finding] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    """Keys of every lookup queued so far: none is made twice."""
    turns: int = 0
    trail: list[str] = field(default_factory=list)
    """Names followed from one body to the next, in order."""
    server_calls: ServerCalls = field(default_factory=ServerCalls)
    failed: list[Lookup] = field(default_factory=list)
    """Calls to make again, once it is known how."""
    explored: set[str] = field(default_factory=set)
    """The server's uses that are explored in this step."""
    reads: int = 0
    placeless: set[str] = field(default_factory=set)
    """Names that the server was not asked for, as its tools want a file that was not known yet."""

    @property
    def asks_for_places(self) -> bool:
        """And for nothing else, in so many words."""
        return ANSWER_FORM in self.prompt

    def begin(self) -> None:
        self._explore(AT_FIRST)
        for name in self.names:
            self._look_up(name)

    def next_batch(self) -> list[Lookup]:
        """The calls of the next turn; none if the search is over."""
        if not self.queue and not self.server_calls.made:
            self._read_a_file()
        self._renew()
        batch, self.queue = self.queue[:CALLS_PER_TURN], self.queue[CALLS_PER_TURN:]
        beside, self.beside = self.beside[:BESIDE], self.beside[BESIDE:]
        self.turns += 1
        return [*beside, *batch] if self.turns <= TURNS else []

    def absorb(self, results: Iterable[tuple[Lookup, Result]]) -> None:
        """Take in a turn's results, and queue what they lead to."""
        fresh: list[Finding] = []
        # The shell's first: a file that the server shows is placed by lines seen elsewhere.
        for lookup, result in sorted(results, key=lambda pair: pair[0].kind == "read"):
            if lookup.on_server:
                fresh += self._places_of_server(lookup, result, fresh)
            else:
                fresh += findings_in(result.text)
        self.found = list(dict.fromkeys(self.found + fresh))
        self.server.language = self._language()
        self._explore(EXPLORED)
        for name in [*self.names, *self.trail]:
            self._read_or_search(name)
        # Where places alone are asked for, nobody asks what its body calls.
        followed = 0 if self.asks_for_places else FOLLOWED - len(self.trail)
        for name in self._called()[:followed]:
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
            self.placeless.add(name)
            self._ask_shell(name)
        # In both arms: the server's arm would be spared work that the shell's is charged for.
        if self.is_about_tests():
            self._push(grep_tests(name))

    def is_about_tests(self) -> bool:
        return _ABOUT_TESTS.search(self.prompt.lower()) is not None

    def _server_lookups(self, name: str) -> list[Lookup]:
        roles = ("search",) if name in self.words else tuple(ROLES)
        return self.server.lookups(name, self.place_of(name), roles)

    def _language(self) -> str:
        """Of most lines seen; of the step before if none was code."""
        seen = Counter(language_of_path(finding.path) for finding in self.found)
        del seen[""]
        return max(seen, key=lambda one: seen[one], default=self.server.language)

    def _explore(self, most: int) -> None:
        """What a server's tools give, if none of them finds the names."""
        if self.server.finds_names():
            return
        for lookup in self.server.explorations():
            if len(self.explored) < most:
                self.explored.add(lookup.use)
                self._push(lookup)

    def _places_of_server(
        self, lookup: Lookup, result: Result, fresh: Sequence[Finding]
    ) -> list[Finding]:
        """What a server found. Where it found nothing the shell is asked, as an agent would."""
        handles = len(self.server.handles)
        places = self.server.take_in(lookup, result, [*self.found, *fresh])
        self.server_calls.add(is_error=result.is_error, places=len(places))
        if is_refused(lookup, result):
            self._mend(lookup, result.text)
        else:
            self._catch_up(lookup.use)
        if not places and lookup.kind == "find":
            self._ask_shell(lookup.name)
        if len(self.server.handles) > handles:
            # Before the shell has said all: what was opened is asked, as it was opened for that.
            for name in self.names:
                self._push(*self._server_lookups(name)[:1], beside=True)
        return places

    def _mend(self, failed: Lookup, error: str) -> None:
        if failed.kind == "find":
            if self.server.is_stale(failed):
                # Another call goes first, with other arguments: one error more is enough.
                self.failed.append(failed)
            self._push(*self.server.lists_of_projects())
        self._push(self.server.otherwise(failed, error, self.place_of(failed.name)))

    def _catch_up(self, use: str) -> None:
        """What failed before it was known how the tool wants to be asked."""
        for failed in self.failed:
            if failed.use == use:
                self._push(self.server.again(failed, self.place_of(failed.name)))

    def _ask_shell(self, name: str) -> None:
        self._push(grep_definition(name), grep(name))

    def _read_or_search(self, name: str) -> None:
        place = self.place_of(name)
        if place is not None and name in self.placeless:
            self._ask_at_place(name)
        if place is not None and place.defines(name):
            if self.reads < READS:
                self._push(self.server.reading(name, place))
            self._push(read_body(place.path, place.line))
        elif name in self.names:
            if name not in self.words:
                self._push(self.server.references(name, place))
            self._push(grep_definition(name))

    def _ask_at_place(self, name: str) -> None:
        """Of tools that want a name and a file: the shell has shown one by now."""
        lookups = self._server_lookups(name)[:2]
        if lookups:
            self.placeless.discard(name)
        self._push(*lookups, beside=True)

    def _renew(self) -> None:
        """Calls that wait, with what other calls' errors have taught since."""
        waiting, self.queue = self.queue, []
        for lookup in waiting:
            if lookup.kind != "find" or not self.server.is_stale(lookup):
                self.queue.append(lookup)
                continue
            renewed = self.server.again(lookup, self.place_of(lookup.name))
            self._push(renewed)
            if renewed is None:
                self._ask_shell(lookup.name)

    def _read_a_file(self) -> None:
        """With a server that was of no use so far: the first that names what was asked about."""
        for place in filter(None, map(self.place_of, self.names[:1])):
            self._push(self.server.reading(self.names[0], place))

    def _push(self, *lookups: Lookup | None, beside: bool = False) -> None:
        for lookup in filter(None, lookups):
            if lookup.key in self.asked:
                continue
            self.asked.add(lookup.key)
            self.reads += lookup.kind == "read"
            is_extra = beside or lookup.kind in ("read", "explore")
            (self.beside if is_extra else self.queue).append(lookup)

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
