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
_SIGN_BYTE = rb"[-+*/%^&|~!=<>?:$@.\\]"
_SELVES = frozenset({"self", "this", "super", "Self", "cls", "static", "parent"})

_GIVEN = _SELVES | {"crate", "std", "core", "alloc", "java", "javax", "kotlin", "base", "window"}
"""Known in every file of their languages."""
_MADE_UP = re.compile(
    r"(?:my|your|some|this|a|an|the)(?:[A-Z_]|$)|(?:obj|object|inst|instance|foo|bar|baz|example)$"
)
"""Instances that an answer makes up: `myApp.run`."""
_CONSTRUCTORS = frozenset({"__init__", "__new__", "constructor", "initialize", "new", "init"})
_MARKING = (".rb", ".rake", ".ru", ".gemspec", ".ex", ".exs", ".cr", ".jl", ".scm", ".clj", ".rkt")
"""Where the mark at the end belongs to the name: `save!`; not so a Rust macro's."""


class Places(NamedTuple):
    """Where a symbol is in one file, in lines."""

    definitions: tuple[Definition, ...]
    uses: tuple[int, ...]
    words: tuple[int, ...]
    """Every line that has the name as a word, comments and strings included."""
    unheard: str = ""
    """A qualifier that names nothing in the tree: whatever else the symbol says, it is invented."""


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
    ) -> None:
        """`heard_of` tells whether anything in the tree has a name; without a tree to ask, any
        small word may be an instance.
        """
        self.path = path
        self.source = source
        self._make_outline = make_outline
        self._heard_of = heard_of
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
        *qualifiers, name = parts_of(symbol)
        for qualifier in qualifiers:
            if not self._knows(qualifier):
                return Places((), (), (), unheard=qualifier)
        words = self._spelled(name)
        lines = tuple(dict.fromkeys(word.line for word in words))
        outline = self.outline
        if isinstance(outline, TextOnly):
            return Places((), (), lines)
        named = _named(outline, symbol, name)
        if qualifiers and name in _CONSTRUCTORS:
            # Whoever makes a Shop calls Shop.__init__.
            words += self._words(qualifiers[-1])
        uses = sorted(set(_lines_of_uses(words, named, outline)))
        if qualifiers:
            named = self._qualified(named, outline, qualifiers[-1])
        return Places(tuple(named), tuple(uses), lines)

    def _spelled(self, name: str) -> list[_Word]:
        """Where the name stands as it is written or, where no file spells it so, without a mark."""
        words = list(self._words(name.strip("[]") or name))
        if words and self.path.endswith(_MARKING):
            return words
        unmarked = _MARK.sub("", name)
        return words if unmarked == name else list(self._words(unmarked))

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
        one that is a type of this file does.
        """
        if not qualifier or qualifier in _SELVES:
            return named
        owned = [definition for definition in named if qualifier in definition.owners]
        # `session.get` may be of any session, whatever function of the file is called so.
        if owned or qualifier[:1].islower():
            return owned or named
        types = [kind for kind in outline.named(qualifier) if kind.end > kind.start]
        if types or outline.has_owner(qualifier):
            return self._inherited(named, types)
        return named

    def _knows(self, qualifier: str) -> bool:
        """`app.run` and, in shop.py, `Shop.run`; but nobody has heard of `Invented.run`.

        A word of the file, of its path or, in some spelling, of the tree. `c.Next` and `myApp.run`
        are instances of the answer's own.
        """
        if len(qualifier) < 3 or qualifier in _GIVEN or _MADE_UP.match(qualifier):
            return True
        if _word(qualifier).search(self.source) or _plain_name(qualifier) in self._path_names:
            return True
        return self._heard_of(qualifier)

    @cached_property
    def _path_names(self) -> frozenset[str]:
        """`shop/base-server.ts` is known as `shop` and `baseserver`."""
        return frozenset(map(_plain_name, re.split(r"[/.]", self.path)))

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


def _named(outline: Outline, symbol: str, name: str) -> list[Definition]:
    """JavaScript's `#count` is not its `count`, `Shop#count` may be either; Rust's `order!` is
    defined as `order`, Ruby's as `order!`, Swift's `init?` as `init`, the `total=` of an attribute
    as `total`.
    """
    private = outline.named(f"#{name}")
    if symbol.startswith("#") and private:
        return private
    return outline.named(name) or private or outline.named(_MARK.sub("", name))


def _plain_name(name: str) -> str:
    """Without case and what joins words: `BaseServer`, `base_server` and `base-server` alike."""
    return re.sub(r"[-_]", "", name).lower()


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
    spelled = re.escape(name.encode())
    if not re.search(r"\w", name):  # `<` is no part of `<=>`
        return re.compile(rb"(?<!" + _SIGN_BYTE + rb")" + spelled + rb"(?!" + _SIGN_BYTE + rb")")
    before = b""
    if name[:1].isalnum() or name[:1] == "_":  # `&name` may follow a letter
        before = rb"(?<![" + _WORD_BYTE + rb"])"
    return re.compile(before + spelled + rb"(?![" + _WORD_BYTE + rb"])")
