"""Where a symbol is in one file: its definitions and its uses in code.

Uses are found by searching the source for the name and dropping what lies in comments and strings,
so that an outline need not list every word of a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from runner.grounding.naming import SEPARATOR
from runner.grounding.occurrences import Occurrences
from runner.grounding.outlines import Definition, Outline, TextOnly

_WORD = re.compile(rb"[A-Za-z0-9_\x80-\xff]++")
_SELVES = frozenset({"self", "this", "super", "Self", "cls", "static", "parent"})


class Places(NamedTuple):
    """Where a symbol is in one file, in lines."""

    definitions: tuple[Definition, ...]
    uses: tuple[int, ...]
    words: tuple[int, ...]
    """Every line that has the name as a word, comments and strings included."""


class _Word(NamedTuple):
    at: int
    """Byte."""
    line: int


class SourceFile:
    """One file at the commit, and what its outline says."""

    def __init__(
        self, path: str, source: bytes, make_outline: Callable[[], Outline | TextOnly]
    ) -> None:
        self.path = path
        self.source = source
        self._make_outline = make_outline
        self._places: dict[str, Places] = {}
        self._unqualified: dict[tuple[str, str], Places] = {}
        """By the name as written, and as its definition has it."""
        self._heads: dict[str, frozenset[str]] = {}
        self.line_count = source.count(b"\n")
        if source and not source.endswith(b"\n"):
            self.line_count += 1

    @cached_property
    def outline(self) -> Outline | TextOnly:
        return self._make_outline()

    def places(self, symbol: str) -> Places:
        """Definitions, uses and words of a symbol; a qualifier filters the definitions."""
        if symbol not in self._places:
            self._places[symbol] = self._find(symbol)
        return self._places[symbol]

    def broken_near(self, start: int, end: int, reach: int) -> bool:
        """True if a parse error touches the lines, or `reach` lines around them."""
        if isinstance(self.outline, TextOnly):
            return False
        return self.outline.is_broken(start - reach, end + reach)

    @cached_property
    def occurrences(self) -> Occurrences:
        return Occurrences(self.source)

    def _find(self, symbol: str) -> Places:
        *qualifiers, name = parts_of(symbol)
        outline = self.outline
        spelled = name
        if isinstance(outline, Outline):
            spelled = _spelled(outline, symbol, name)
        # Shared by every qualifier: `A.f`, `B.f`, … of an answer would each count all of f's uses.
        if (name, spelled) not in self._unqualified:
            self._unqualified[name, spelled] = self._find_unqualified(name, spelled)
        places = self._unqualified[name, spelled]
        if not qualifiers or isinstance(outline, TextOnly):
            return places
        return self._qualified(places, outline, qualifiers[-1], spelled)

    def _find_unqualified(self, name: str, spelled: str) -> Places:
        words = list(self._words(name.strip("[]") or name))
        lines = tuple(dict.fromkeys(word.line for word in words))
        outline = self.outline
        if isinstance(outline, TextOnly):
            return Places((), (), lines)
        named = outline.named(spelled)
        uses = dict.fromkeys(_lines_of_uses(words, named, outline))
        return Places(tuple(named), tuple(uses), lines)

    def _words(self, name: str) -> Iterator[_Word]:
        for at in self.occurrences.of(name):
            yield _Word(at, self.occurrences.line(at))

    # qualifiers

    def _qualified(self, places: Places, outline: Outline, qualifier: str, name: str) -> Places:
        """Definitions that the qualifier owns.

        One that names nothing here (an instance, a module, a subclass elsewhere) filters nothing;
        one that is a type of this file, or that no word of this file and its path bears out, does.
        """
        if not qualifier or qualifier in _SELVES:
            return places
        definitions = list(outline.owned(name, qualifier))
        if not definitions:
            types = [kind for kind in outline.named(qualifier) if kind.end > kind.start]
            if types or outline.has_owner(qualifier):
                definitions = self._inherited(outline, qualifier, name)
            elif self._knows(qualifier):
                return places
        return places._replace(definitions=tuple(definitions))

    def _knows(self, qualifier: str) -> bool:
        """`app.run` and, in shop.py, `Shop.run`; but nobody has heard of `Invented.run`."""
        if qualifier[:1].islower() or self.occurrences.of(qualifier):
            return True
        return qualifier.lower() in re.split(r"[/.]", self.path.lower())

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
        if self.path.endswith(".go"):  # Go embeds in the body
            return head
        return head.partition(b"{")[0].split(b"\n    ")[0]


_OPERATOR = re.compile(
    r"""
    (?:^|(?<=[.:\s])) (?:(?:im|ex)plicit\s)? operator (?P<sign>
        \s?\(\s?\) | \s?\[\s?\] | \s?""\s?\w{1,80}   # operator(), operator[], operator""_km
      | \s?[-+*/%^&|~!=<>,]{1,3}                      # operator==
      | \s[A-Za-z_][\w:]{0,80}(?:\s?[*&]|\[\])?      # operator bool, operator new[]
    )
    """,
    re.X,
)
_SIGNS = re.compile(r"(?:^\(?|(?<=\w)(?:::|[.#]))(?P<sign>[^\w\s()\"'`,;]{1,8}+)\)?$")
_MARK = re.compile(r"(?<=\w)[!?=]$")
_ARITY = re.compile(r"/\d{1,2}$")
_INDEXER = re.compile(r"(?:^|(?<=\.))this\s?\[[^\]]{0,200}\]?$")


def parts_of(symbol: str) -> list[str]:
    """The qualifiers of a symbol as it is written, and its name as an outline gives it.

    `Shop::operator ->` is Shop and `operator->`; `Shop.this[int at]` is Shop and `this[]`;
    `[Symbol.iterator]` is Symbol and iterator; `Shop.<init>` is Shop and Shop; `Shop#<=>` is Shop
    and `<=>`; `open/2` is `open`; `Shop::$stock` is Shop and stock.
    """
    operator = _OPERATOR.search(symbol)
    if operator:
        owners = SEPARATOR.split(symbol[: operator.start()].rstrip(".:"))
        return [*filter(None, owners), _operator(operator["sign"])]
    indexer = _INDEXER.search(symbol)
    if indexer:
        return [*filter(None, SEPARATOR.split(symbol[: indexer.start()])), "this[]"]
    signs = _SIGNS.search(symbol)
    if signs:
        return [*filter(None, SEPARATOR.split(symbol[: signs.start()])), signs["sign"]]
    *owners, name = map(_plain, SEPARATOR.split(symbol))
    parts = [*filter(None, owners), name]
    if parts[-1] == "<init>" and len(parts) > 1:
        return [*parts[:-1], parts[-2]]
    return parts


def _plain(part: str) -> str:
    """Without brackets, quotes, sigils and arity: `["open"]`, `@items`, `'label`, `open/2`."""
    return _ARITY.sub("", part.strip('[]`"').lstrip("'@:"))


def _operator(sign: str) -> str:
    """A word keeps its space: `operator bool`."""
    compact = "".join(sign.split())
    if compact[0].isalpha() or compact[0] == "_":
        return f"operator {compact}"
    return f"operator{compact}"


def _spelled(outline: Outline, symbol: str, name: str) -> str:
    """A name as its definition has it.

    JavaScript's `#count` is not its `count`, `Shop#count` may be either; Rust's `order!` is defined
    as `order`, Ruby's as `order!`, Swift's `init?` as `init`, the `total=` of an attribute as
    `total`.
    """
    private = f"#{name}"
    if symbol.startswith("#") and outline.named(private):
        return private
    for spelled in (name, private, _MARK.sub("", name)):
        if outline.named(spelled):
            return spelled
    return name


def _lines_of_uses(
    words: list[_Word], named: Iterable[Definition], outline: Outline
) -> Iterator[int]:
    """Lines where the word is code, and no definition's name."""
    names = {definition.at for definition in named}
    for word in words:
        if word.at not in names and not outline.is_mute(word.at):
            yield word.line
