"""Where a symbol is in one file: its definitions and its uses in code.

Uses are found by searching the source for the name and dropping what lies in comments and strings,
so that an outline need not list every word of a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from runner.grounding.occurrences import Occurrences
from runner.grounding.outlines import Definition, Outline, TextOnly
from runner.grounding.spelling import MARK, parts_of

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


def _lines_of_uses(
    words: list[_Word], named: Iterable[Definition], outline: Outline
) -> Iterator[int]:
    """Lines where the word is code, and no definition's name."""
    names = {definition.at for definition in named}
    for word in words:
        if word.at not in names and not outline.is_mute(word.at):
            yield word.line
