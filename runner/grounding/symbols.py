"""Where a symbol is in one file: its definitions and its uses in code.

Uses are found by searching the source for the name and dropping what lies in comments and strings,
so that an outline need not list every word of a file.
"""

from __future__ import annotations

import codecs
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from runner.grounding.language import GIVING_APART, LANGUAGES, dotted, endings
from runner.grounding.line_ranges import LineRanges, points
from runner.grounding.near_words import NearWords
from runner.grounding.occurrences import Occurrences
from runner.grounding.outlines import Definition, Outline, TextOnly
from runner.grounding.spelling import MARK, parts_of
from runner.grounding.word_lists import BUILTINS

_WORD = re.compile(rb"[A-Za-z0-9_\x80-\xff]++")
_LAST_WORD = re.compile(r"\w+(?=\W*\Z)")
_MOST_STRINGS = 200
"""Places of a word that are looked at for strings. Without a bound, names of many owners would each
have all of them looked at."""
_QUOTES = (b'"', b"'", b"`")
_SELVES = frozenset({"self", "this", "super", "Self", "cls", "static", "parent"})

_GIVEN = frozenset(
    """
    crate std core alloc java javax kotlin base window global globalThis exports module prototype
    Companion Kernel Math JSON Int Integer Float Double Char Character Boolean Bool
    """.split()
)
_GIVEN |= _SELVES | BUILTINS
"""Known in every file of their languages."""
_MADE_UP = re.compile(
    r"(?:my|your|some|this|a|an|the)(?:[A-Z_]|$)|(?:obj|object|inst|instance|foo|bar|baz|example)$"
)
"""Instances that an answer makes up: `myApp.run`."""
_CONSTRUCTORS = frozenset({"__init__", "__new__", "constructor", "initialize", "new", "init"})
_NAMELESS = dotted(one.anonymous_types_in for one in LANGUAGES.values())
"""Where a type may be made without a name, inside of a function."""
_MARKING = (
    *endings(lambda one: one.marked_names),
    *(".cr", ".scm", ".clj", ".rkt"),  # searched as text
)
"""Where the mark at the end belongs to the name: `save!`; not so a Rust macro's."""
_CLOSED = endings(lambda one: one.closed_types)
_EMBEDDING = endings(lambda one: one.embeds_in_body)


def as_utf8(source: bytes) -> bytes:
    """A UTF-16 source, which its first two bytes tell, as all others are."""
    if source.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return source.decode("utf-16", "replace").encode()
    return source


class _LinesOfNames(NamedTuple):
    definitions: tuple[Definition, ...]
    uses: tuple[int, ...]
    words: tuple[int, ...]
    """Every line that has the name as a word, comments and strings included."""
    unheard: str = ""
    """A qualifier that names nothing in the tree: whatever else the symbol says, it is invented."""


class SymbolLines(_LinesOfNames):
    """Where a symbol is in one file, in lines."""

    @property
    def is_nowhere(self) -> bool:
        return not (self.definitions or self.uses or self.words)

    @cached_property
    def headers(self) -> LineRanges:
        """From each definition's header to its name."""
        return LineRanges((d.header, d.line) for d in self.definitions)

    @cached_property
    def bodies(self) -> LineRanges:
        return LineRanges((d.start, d.end) for d in self.definitions)

    @cached_property
    def used(self) -> LineRanges:
        return points(self.uses)

    @cached_property
    def written(self) -> LineRanges:
        return points(self.words)


_NOWHERE = SymbolLines((), (), ())
"""One for all that is invented: each of its own would sort its three empty sets of lines anew."""


class _Word(NamedTuple):
    at: int
    """Byte."""
    line: int


class SourceFile:
    """One file at the commit, and what its outline says."""

    def __init__(
        self,
        path: str,
        source: bytes,
        make_outline: Callable[[], Outline | TextOnly],
        heard_of: Callable[[str], bool] = lambda name: name[:1].islower(),
        may_own: Callable[[str, str | None], bool] = lambda owner, holder: True,  # noqa: ARG005 - no tree
    ) -> None:
        """`heard_of` tells whether anything in the tree has a name; without a tree to ask, any
        small word may be an instance. `may_own`: whether a type can have a method that stands in
        another, None for none.
        """
        self.path = path
        self.source = source
        self._make_outline = make_outline
        self._heard_of = heard_of
        self._may_own = may_own
        self._places: dict[str, SymbolLines] = {}
        self._literals: dict[str, LineRanges] = {}
        self._unqualified: dict[tuple[str, str], SymbolLines] = {}
        """By the name as written, and as its definition has it."""
        self._heads: dict[str, frozenset[str]] = {}
        self.line_count = source.count(b"\n")
        if source and not source.endswith(b"\n"):
            self.line_count += 1

    @cached_property
    def outline(self) -> Outline | TextOnly:
        return self._make_outline()

    def places(self, symbol: str) -> SymbolLines:
        """Definitions, uses and words of a symbol; a qualifier filters the definitions."""
        if symbol not in self._places:
            self._places[symbol] = self._find(symbol)
        return self._places[symbol]

    def literals(self, symbol: str) -> LineRanges:
        """Lines with a string that is the name, in any case, and nothing else: `"SSL_CERT_FILE"`.

        Of a dotted name of small words that nothing defines, the last part will do: of
        `scope.type`, `"type"`.
        """
        if symbol not in self._literals:
            self._literals[symbol] = points(sorted(self._lines_of_literals(symbol)))
        return self._literals[symbol]

    def _lines_of_literals(self, symbol: str) -> Iterator[int]:
        places = self.places(symbol)
        names = {symbol}
        if "." in symbol and symbol.islower() and not (places.definitions or places.unheard):
            names.add(symbol.rpartition(".")[2])
        for written in {form for name in names for form in (name, name.lower(), name.upper())}:
            last = _LAST_WORD.search(written)
            if last and len(self.occurrences.of(last[0])) <= _MOST_STRINGS:
                yield from self._quoted(written.encode(), last)

    def _quoted(self, name: bytes, last: re.Match[str]) -> Iterator[int]:
        for at, line in self.occurrences.lines_of(last[0]):
            begin = at - len(last.string[: last.start()].encode())
            end = begin + len(name)
            quotes = self.source[max(0, begin - 1) : begin], self.source[end : end + 1]
            if quotes[0] == quotes[1] in _QUOTES and self.source[begin:end] == name:
                yield line

    def has_word(self, symbol: str) -> bool:
        """False if not even the name of a symbol stands anywhere in the file."""
        name = parts_of(symbol)[-1].strip("[]")
        return not name or bool(self.occurrences.of(MARK.sub("", name)))

    def broken_near(self, start: int, end: int, reach: int) -> bool:
        """True if a parse error touches the lines, or `reach` lines around them."""
        if isinstance(self.outline, TextOnly):
            return False
        return self.outline.is_broken(start - reach, end + reach)

    @cached_property
    def occurrences(self) -> Occurrences:
        return Occurrences(self.source)

    @cached_property
    def near_words(self) -> NearWords:
        return NearWords(self.source)

    def _find(self, symbol: str) -> SymbolLines:
        *qualifiers, name = parts_of(symbol)
        for qualifier in qualifiers:
            if not self._knows(qualifier):
                return SymbolLines((), (), (), unheard=qualifier)
        outline = self.outline
        spelled = name
        if isinstance(outline, Outline):
            spelled = _spelled(outline, symbol, name)
            if name in _CONSTRUCTORS and qualifiers:  # `Shop.new` is Ruby's `Shop#initialize`
                spelled = _constructor(outline, qualifiers[-1], spelled)
        # Shared by every qualifier: `A.f`, `B.f`, … of an answer would each count all of f's uses.
        if (name, spelled) not in self._unqualified:
            self._unqualified[name, spelled] = self._find_unqualified(name, spelled)
        places = self._unqualified[name, spelled]
        if not qualifiers or isinstance(outline, TextOnly):
            return places
        if name in _CONSTRUCTORS:
            places = self._constructed(places, outline, qualifiers[-1])
        return self._qualified(places, outline, qualifiers[-1], spelled)

    def _constructed(self, places: SymbolLines, outline: Outline, owner: str) -> SymbolLines:
        """Whoever makes a Shop calls `Shop.__init__`."""
        made = _lines_of_uses(list(self._words(owner)), outline.named(owner), outline)
        return places._replace(uses=tuple(sorted({*places.uses, *made})))

    def _find_unqualified(self, name: str, spelled: str) -> SymbolLines:
        words = self._written(name)
        lines = tuple(dict.fromkeys(word.line for word in words))
        outline = self.outline
        if isinstance(outline, TextOnly):
            return SymbolLines((), (), lines)
        named = outline.named(spelled)
        if not words and not named:
            return _NOWHERE
        uses = dict.fromkeys(_lines_of_uses(words, named, outline))
        return SymbolLines(tuple(named), tuple(uses), lines)

    def _written(self, name: str) -> list[_Word]:
        """Where the name stands as it is written or, where no file spells it so, without a mark."""
        words = list(self._words(name.strip("[]") or name))
        if words and self.path.endswith(_MARKING):
            return words
        unmarked = MARK.sub("", name)
        return words if unmarked == name else list(self._words(unmarked))

    def _words(self, name: str) -> Iterator[_Word]:
        return itertools.starmap(_Word, self.occurrences.lines_of(name))

    # qualifiers

    def _qualified(
        self, places: SymbolLines, outline: Outline, qualifier: str, name: str
    ) -> SymbolLines:
        """Definitions that the qualifier owns.

        One that names nothing here (an instance, a module, a subclass elsewhere) filters nothing;
        one that is a type of this file does.
        """
        if not qualifier or qualifier in _SELVES:
            return places
        definitions = list(outline.owned(name, qualifier))
        # `session.get` may be of any session, whatever function of the file is called so.
        if not definitions and qualifier[:1].islower():
            return places
        if not definitions:
            types = [kind for kind in outline.named(qualifier) if kind.end > kind.start]
            if not types and not outline.has_owner(qualifier):
                return self._of_kin(places, qualifier)
            definitions = self._inherited(outline, qualifier, name)
            if not definitions and self._gives_apart:
                definitions = list(self._of_kin(places, qualifier).definitions)
        definitions += filter(self._is_of_nameless_type, places.definitions)
        distinct = {definition.at: definition for definition in definitions}
        return places._replace(definitions=tuple(distinct[at] for at in sorted(distinct)))

    def _of_kin(self, places: SymbolLines, owner: str) -> SymbolLines:
        """Of a type of another file: what stands here in a type that it may inherit from."""
        if not self.path.endswith(_CLOSED):
            return places
        kept = (
            it
            for it in places.definitions
            if any(self._may_own(owner, holder) for holder in self._holders(it))
        )
        return places._replace(definitions=tuple(kept))

    def _holders(self, definition: Definition) -> Sequence[str | None]:
        """Of a trait that a type is given, the type: that it is not named is no reason to believe
        it of every other type that has the trait.
        """
        owners = definition.owners or (None,)
        return owners[-1:] if self._gives_apart else owners

    @property
    def _gives_apart(self) -> bool:
        return self.path.endswith(GIVING_APART)

    def _is_of_nameless_type(self, definition: Definition) -> bool:
        """`new Shop() { void open() {} }` in a method: `Shop.open` may be this one."""
        owner = definition.owners[-1:]
        return self.path.endswith(_NAMELESS) and bool(owner) and owner[0][:1].islower()

    def _knows(self, qualifier: str) -> bool:
        """`app.run` and, in shop.py, `Shop.run`; but nobody has heard of `Invented.run`.

        A word of the file, of its path or, in some spelling, of the tree.
        """
        return self.is_at_home(qualifier) or self._heard_of(qualifier)

    def is_at_home(self, qualifier: str) -> bool:
        """A word of the file or of its path. `c.Next` and `myApp.run` are instances of the answer's
        own.
        """
        if len(qualifier) < 3 or qualifier in _GIVEN or _MADE_UP.match(qualifier):
            return True
        if self.occurrences.of(qualifier) or _plain_name(qualifier) in self._path_names:
            return True
        # Kotlin's Companion is written nowhere.
        return isinstance(self.outline, Outline) and self.outline.has_owner(qualifier)

    @cached_property
    def _path_names(self) -> frozenset[str]:
        """`shop/base-server.ts` is known as `shop` and `baseserver`."""
        return frozenset(map(_plain_name, re.split(r"[/.]", self.path)))

    def _inherited(self, outline: Outline, qualifier: str, name: str) -> list[Definition]:
        """Members whose owner the head of a type names: `class B(A)`."""
        if qualifier not in self._heads:
            self._heads[qualifier] = frozenset(self._words_of_heads(outline, qualifier))
        members: dict[int, Definition] = {}
        for owner in self._heads[qualifier] - {qualifier}:
            members |= {member.at: member for member in outline.owned(name, owner)}
        return [members[at] for at in sorted(members)]

    def _words_of_heads(self, outline: Outline, qualifier: str) -> Iterator[str]:
        for kind in outline.named(qualifier):
            if kind.end > kind.start:
                words = _WORD.findall(self._head(kind))
                yield from (word.decode("utf-8", "replace") for word in words)

    def _head(self, kind: Definition) -> bytes:
        head = self.source[kind.at : kind.at + 400]
        if self.path.endswith(_EMBEDDING):
            return head
        return head.partition(b"{")[0].split(b"\n    ")[0]


def _spelled(outline: Outline, symbol: str, name: str) -> str:
    """A name as its definition has it.

    JavaScript's `#count` is not its `count`, `Shop#count` may be either; Rust's `order!` is defined
    as `order`, Ruby's as `order!`, Swift's `init?` as `init`, the `total=` of an attribute as
    `total`.
    """
    private = f"#{name}"
    if re.search(r"(?:^|\.)#", symbol) and outline.named(private):
        return private
    for spelled in (name, private, MARK.sub("", name)):
        if outline.named(spelled):
            return spelled
    return name


def _constructor(outline: Outline, owner: str, spelled: str) -> str:
    """What the owner's constructor is called; as spelled if it has one of that name, or none."""
    names = (spelled, *sorted(_CONSTRUCTORS))
    return next((name for name in names if any(outline.owned(name, owner))), spelled)


def _plain_name(name: str) -> str:
    """Without case and what joins words: `BaseServer`, `base_server` and `base-server` alike."""
    return re.sub(r"[-_]", "", name).lower()


def _lines_of_uses(
    words: list[_Word], named: Iterable[Definition], outline: Outline
) -> Iterator[int]:
    """Lines where the word is code, and no definition's name."""
    names = {definition.at for definition in named}
    for word in words:
        if word.at not in names and not outline.is_mute(word.at):
            yield word.line
