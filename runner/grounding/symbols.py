"""Where a symbol is in one file: its definitions and its uses in code.

Uses are found by searching the source for the name and dropping what lies in comments and strings,
so that an outline need not list every word of a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from typing import NamedTuple

from runner.grounding.naming import SEPARATOR
from runner.grounding.outlines import Definition, Outline, TextOnly

_WORD_BYTE = rb"A-Za-z0-9_\x80-\xff"
_SELVES = frozenset({"self", "this", "super", "Self", "cls", "static", "parent"})

_CONSTRUCTORS = frozenset({"__init__", "__new__", "constructor", "initialize", "new", "init"})
_MARKS = frozenset("!?=")
"""At the end of a name: a Rust macro's `!`, a Ruby setter's `=`."""
_MARKING = (".rb", ".rake", ".ru", ".gemspec", ".ex", ".exs", ".cr", ".jl", ".scm", ".clj", ".rkt")
"""Where such a mark belongs to the name."""


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
        for first, last in self.outline.broken:
            if first - reach <= end and start <= last + reach:
                return True
        return False

    def _find(self, symbol: str) -> Places:
        *qualifiers, name = SEPARATOR.split(symbol)
        words = list(self._words(name))
        if name[-1:] in _MARKS and not (words and self.path.endswith(_MARKING)):
            return self._find(symbol[:-1])
        lines = tuple(dict.fromkeys(word.line for word in words))
        outline = self.outline
        if isinstance(outline, TextOnly):
            return Places((), (), lines)
        named = outline.named(name)
        if qualifiers and name in _CONSTRUCTORS:
            # Whoever makes a Shop calls Shop.__init__.
            words += self._words(qualifiers[-1])
        uses = sorted(set(_lines_of_uses(words, named, outline)))
        if qualifiers:
            named = self._qualified(named, outline, qualifiers[-1])
        return Places(tuple(named), tuple(uses), lines)

    def _words(self, name: str) -> Iterator[_Word]:
        line, counted_to = 1, 0
        for hit in _word(name).finditer(self.source):
            # Counted from the top for each hit, a large file would take quadratic time.
            line += self.source.count(b"\n", counted_to, hit.start())
            counted_to = hit.start()
            yield _Word(hit.start(), line)

    # qualifiers

    def _qualified(
        self, named: list[Definition], outline: Outline, qualifier: str
    ) -> list[Definition]:
        """Definitions that the qualifier owns.

        One that names nothing here (an instance, a module, a subclass elsewhere) filters nothing;
        one that is a type of this file, or that no word of this file and its path bears out, does.
        """
        if not qualifier or qualifier in _SELVES:
            return named
        owned = [definition for definition in named if qualifier in definition.owners]
        if owned:
            return owned
        types = [kind for kind in outline.named(qualifier) if kind.end > kind.start]
        if types or outline.has_owner(qualifier):
            return self._inherited(named, types)
        if self._knows(qualifier):
            return named
        return []

    def _knows(self, qualifier: str) -> bool:
        """`app.run` and, in shop.py, `Shop.run`; but nobody has heard of `Invented.run`."""
        if qualifier[:1].islower() or _word(qualifier).search(self.source):
            return True
        return qualifier.lower() in re.split(r"[/.]", self.path.lower())

    def _inherited(self, named: list[Definition], types: list[Definition]) -> list[Definition]:
        """Members whose owner the head of a type names: `class B(A)`."""
        members: list[Definition] = []
        for member in named:
            if any(_names_owner(self._head(kind), member, kind.name) for kind in types):
                members.append(member)
        return members

    def _head(self, kind: Definition) -> bytes:
        head = self.source[kind.at : kind.at + 400]
        if self.path.endswith(".go"):  # Go embeds in the body
            return head
        return head.partition(b"{")[0].split(b"\n    ")[0]


def _names_owner(head: bytes, member: Definition, kind: str) -> bool:
    owners = [owner for owner in member.owners if owner != kind]
    return any(_word(owner).search(head) for owner in owners)


def _lines_of_uses(words: list[_Word], named: list[Definition], outline: Outline) -> Iterator[int]:
    """Lines where the word is code, and no definition's name."""
    names = {definition.at for definition in named}
    for word in words:
        if word.at not in names and not outline.is_mute(word.at):
            yield word.line


@lru_cache(maxsize=4096)
def _word(name: str) -> re.Pattern[bytes]:
    before = b""
    if name[:1].isalnum() or name[:1] == "_":  # `&name` may follow a letter
        before = rb"(?<![" + _WORD_BYTE + rb"])"
    return re.compile(before + re.escape(name.encode()) + rb"(?![" + _WORD_BYTE + rb"])")
