"""What every kind of question shares: its words, its key, and what a text search would hit."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar, cast

from runner.authoring.drafting.questions import lines_of
from runner.authoring.drafting.tree import (
    ASIDE_FOLDERS,
    TEST_PATH,
    FunctionWithCalls,
    Spot,
    Tree,
    is_telling_name,
)
from runner.grounding.pointing import TOLERANCE
from runner.records import MustCite
from runner.records.exact import ExactKey, ExactKind, ExactQuestion

T = TypeVar("T")
LANGUAGES = frozenset(
    "python typescript tsx javascript go rust java c cpp ruby php kotlin c_sharp".split()
)
MOST = 15
"""Places of an answer: more are a list that nobody reads."""
_MOST_FILES = 30
"""That may hold a name: one in all files of a tree is a word, not a symbol."""
_MOST_WRONG = 8
_LONGEST_NAME = 40
"""With its folder's in front, it is a scenario's id of at most 64 characters."""
_LEAST_OWN_BYTES = 200_000
_PASTED_BEGIN = re.compile(rb"([A-Za-z_]\w*)\s*##")
_PASTED_END = re.compile(rb"##\s*([A-Za-z_]\w*)")
_APART = 2 * TOLERANCE
"""Lines between a near miss and a right place: nearer, one citation could mean both."""
HALF_TEST = re.compile(
    r"(?:^|/)(?:testing|testdata|fixtures?|specs?|androidTest|benches)/|conftest\.py$"
    r"|(?:^|/)(?:tests?|bench(?:es)?)\.rs$|(?:^|/)testing\.\w+$"
    r"|(?:^|/)\w*[a-z0-9]tests?\.\w+$|(?:^|/)(?:[\w.]+-)?test(?:ing|s|kit)?[_-]?(?:utils?|helpers?|support|kit|lib)/"
)
"""What some take for tests and others do not: a name that is called there is not asked about."""
_TESTS_BELOW = re.compile(rb"^[ \t]*#\[cfg\(test\)\]\s+(?:pub\s+)?mod\s", re.M)
"""Of Rust: tests in the file that they test, by custom at its end."""
BUILT = " What was built from the sources (dist, build, node_modules and the like) does not count."
NO_CODE = (
    " What stands in a file that is no code (a page of documentation, a notebook, a recorded"
    " listing) does not count."
)
"""README.md may call it in an example, and nothing could prove that this is the same function."""
_NO_CODE = re.compile(r"\.(?:ipynb|api|def|exports|sym|log)$|(?:^|/)\.\w+ignore$|(?:^|/)docs?/")
"""Of files that have no grammar here, those that the prompt leaves out; the others may be code."""
_OF_CODE = frozenset[ExactKind](("callers", "test_callers", "signature_edits", "uses"))
TAIL = " Cite path:line for each, and nothing else. If there is none, say that there is none."


@dataclass(frozen=True, kw_only=True)
class Kind:
    """How questions of one kind are made."""

    kind: ExactKind
    subjects: Callable[[Ground], Sequence[str]] = lambda ground: ground.names
    """What may be asked about, each by a name of its own; cheap, and nothing proven yet."""
    ask: Callable[[Ground, str], ExactQuestion | None]
    """The question about one of them; None if its answer is not proven, or not worth asking."""
    alone: Callable[[ExactQuestion], Iterable[str]] = lambda _: ()
    """What no other question of the kind may have too."""
    share: float = 1.0
    """Of the turns that the kinds take: an answer of no place is a kind beside another."""


class Ground:
    """A tree, and what is proven of its names, each looked up once."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree.of_sources()
        self.is_built = self.tree is not tree
        self._symbols: dict[str, FunctionWithCalls | None] = {}
        self._kept: dict[str, object] = {}

    @cached_property
    def names(self) -> list[str]:
        """Defined outside of the tests, telling, and in few enough files."""
        return [
            name
            for name, holders in self.tree.holders.items()
            if len(holders) <= _MOST_FILES and is_telling_name(name) and self._is_own(name)
        ]

    def _is_own(self, name: str) -> bool:
        paths = [path for path, _ in self.tree.definitions[name]]
        asked = all(self.tree.code[path].language in LANGUAGES for path in paths)
        return asked and any(map(self._is_asked_about, paths))

    def _is_asked_about(self, path: str) -> bool:
        return not TEST_PATH.search(path) and not (self._has_own and ASIDE_FOLDERS.search(path))

    @cached_property
    def _has_own(self) -> bool:
        """Is there enough beside what others wrote, examples and scripts?"""
        sizes = {path: len(it.source) for path, it in self.tree.code.items()}
        aside = sum(size for path, size in sizes.items() if ASIDE_FOLDERS.search(path))
        return sum(sizes.values()) - aside > _LEAST_OWN_BYTES

    @cached_property
    def test_files(self) -> int:
        return sum(bool(TEST_PATH.search(path)) for path in self.tree.code)

    def kept(self, what: str, made: Callable[[Ground], T]) -> T:
        """What several questions stand on, made once."""
        if what not in self._kept:
            self._kept[what] = made(self)
        return cast("T", self._kept[what])

    def is_in_tests(self, name: str) -> bool:
        """As a word, in code or not."""
        return any(TEST_PATH.search(path) for path in self.tree.holders.get(name, ()))

    def may_be_run_elsewhere(self, name: str) -> bool:
        """By a template, or by code in a language that is not read: nobody would know where."""
        return any(not _NO_CODE.search(path) for path in self.tree.written.get(name, ()))

    def is_written(self, name: str) -> bool:
        """Anywhere in what was read, as a word or in one."""
        sources = itertools.chain(
            (it.source for it in self.tree.code.values()), self.tree.texts.values()
        )
        return any(name.encode() in source for source in sources)

    def symbol(self, name: str) -> FunctionWithCalls | None:
        """A function outside of the tests, with every call of it; None if a place is in doubt."""
        if name not in self._symbols:
            self._symbols[name] = self._symbol(name)
        return self._symbols[name]

    @cached_property
    def _pasted(self) -> tuple[frozenset[str], frozenset[str]]:
        """`Safe` of `Safe##METHOD`, and `_init` of `NAME##_init`: C's macros make names of them."""
        begins, ends = set[str](), set[str]()
        for parsed in self.tree.code.values():
            if parsed.language in ("c", "cpp"):
                begins |= {it.decode() for it in _PASTED_BEGIN.findall(parsed.source)}
                ends |= {it.decode() for it in _PASTED_END.findall(parsed.source)}
        return frozenset(begins), frozenset(ends)

    def _may_be_pasted(self, name: str) -> bool:
        begins, ends = self._pasted
        split = range(1, len(name))
        return any(name[:at] in begins or name[at:] in ends for at in split)

    def _symbol(self, name: str) -> FunctionWithCalls | None:
        symbol = self.tree.symbol(name) if name in self.tree.holders else ""
        if isinstance(symbol, str) or TEST_PATH.search(symbol.path):
            return None
        if self._may_be_tests(symbol.path, symbol.definition.line):
            return None
        if self.may_be_run_elsewhere(name):
            return None
        if self.tree.code[symbol.path].language in ("c", "cpp") and self._may_be_pasted(name):
            return None
        inside = symbol.definition
        for call in symbol.calls:
            # A function that calls itself: its own lines would be right and beside the point.
            recursive = call.path == symbol.path and inside.start <= call.line <= inside.end
            if recursive or self._may_be_tests(call.path, call.line):
                return None
        return symbol

    def _may_be_tests(self, path: str, line: int) -> bool:
        """Some take it for a test: the key would have it as other code, or the other way round."""
        if HALF_TEST.search(path):
            return True
        source = self.tree.code[path].source if path.endswith(".rs") else b""
        below = _TESTS_BELOW.search(source)
        return below is not None and source.count(b"\n", 0, below.start()) < line


# --- the question ---------------------------------------------------------------------------------


def question(  # noqa: PLR0913 - what an answer is held against, each by its name
    kind: ExactKind,
    subject: str,
    prompt: str,
    *,
    places: Iterable[MustCite] = (),
    optional: Iterable[MustCite] = (),
    wrong: Iterable[MustCite] = (),
) -> ExactQuestion:
    """Each line once: what is asked for before what is optional, and that before what is wrong."""
    asked = _once(places)
    known = {(it.path, it.line) for it in asked}
    beside = [it for it in _once(optional) if (it.path, it.line) not in known]
    misses = [
        it for it in _once(wrong) if not any(is_near(it, other) for other in (*asked, *beside))
    ]
    key = ExactKey(
        kind=kind,
        places=asked,
        optional=tuple(beside),
        wrong=tuple(misses[:_MOST_WRONG]),
    )
    if kind in _OF_CODE:
        prompt += NO_CODE
    return ExactQuestion(name=_slug(f"{kind}-{subject}"), prompt=prompt + TAIL, key=key)


def _once(places: Iterable[MustCite]) -> tuple[MustCite, ...]:
    """One of each line, the first that is given, in order of path and line."""
    kept = {(it.path, it.line): it for it in reversed(list(places))}
    return tuple(kept[at] for at in sorted(kept))


def is_near(miss: MustCite, place: MustCite) -> bool:
    """So near that one citation could mean both."""
    begin, end = place.line - _APART, (place.end or place.line) + _APART
    return miss.path == place.path and begin <= miss.line <= end


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_LONGEST_NAME].strip("-")


# --- places -------------------------------------------------------------------------------------


def place_of(spot: Spot, symbol: str) -> MustCite:
    return MustCite(path=spot.path, line=spot.line, symbol=symbol)


def definitions_of(ground: Ground, name: str) -> Iterator[MustCite]:
    """Whatever bears the name."""
    for path, it in ground.tree.definitions[name]:
        yield MustCite(path=path, line=it.line, symbol=name)


def anchor(symbol: FunctionWithCalls) -> MustCite:
    """The definition, where another program is asked; named, so that it can be told."""
    inside = symbol.definition
    return lines_of(symbol.path, inside.line, inside.end, symbol.name)


def beside(ground: Ground, symbol: FunctionWithCalls, calls: Iterable[Spot]) -> Iterator[MustCite]:
    """What an honest answer may cite besides: the definition, imports, callers' heads, comments.

    `calls`: those that are asked for, or may be.
    """
    asked = list(calls)
    yield anchor(symbol)
    for spot in symbol.declared:
        yield MustCite(path=spot.path, line=spot.line)
    for spot in asked:
        if spot.start:
            yield MustCite(path=spot.path, line=spot.start)
    # A file that is not asked about: its import, so near, would excuse its calls.
    apart = {it.path for it in symbol.calls} - {symbol.path, *(it.path for it in asked)}
    for path in ground.tree.holders[symbol.name]:
        if path not in apart:
            yield from other_lines(ground, path, symbol.name)


def other_lines(ground: Ground, path: str, name: str) -> Iterator[MustCite]:
    """Imports; and comments and strings, in a file whose code holds the name too."""
    parsed = ground.tree.code[path]
    calls = {it.line for it in parsed.uses(name) if it.kind == "call"}
    hits = list(parsed.file.occurrences.lines_of(name))
    if not all(parsed.outline.is_mute(at) for at, _ in hits):
        yield from (MustCite(path=path, line=line) for _, line in hits if line not in calls)


def near_misses(ground: Ground, name: str) -> Iterator[MustCite]:
    """What a text search for the name also hits: comments elsewhere, and longer names."""
    for path in ground.tree.holders.get(name, ()):
        parsed = ground.tree.code[path]
        hits = list(parsed.file.occurrences.lines_of(name))
        if all(parsed.outline.is_mute(at) for at, _ in hits):
            yield from (MustCite(path=path, line=line) for _, line in hits)
    for longer, defined in ground.tree.definitions.items():
        if name in longer and name != longer:
            yield from (MustCite(path=path, line=it.line, symbol=longer) for path, it in defined)
