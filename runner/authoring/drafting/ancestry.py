"""What stands above a class: what its head names, and what is mixed into it.

Classes of one name count as one. So more may stand above a class here than does, and a name is
given up rather than told wrong.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from runner.authoring.drafting.doubts import SELVES
from runner.authoring.drafting.syntax import NameUse, Parsed
from runner.grounding.outlines import Definition

BARE_MAY_BE_METHODS = frozenset("java kotlin c_sharp cpp ruby".split())
"""Where a bare call may be one of the class around it."""
_SCRIPTS = frozenset("javascript typescript tsx".split())
_LATE = frozenset("python ruby php javascript".split())
"""Where what `self.open()` reaches is a matter of who inherits from the class around it."""
_OWNED = frozenset("ruby java kotlin javascript typescript tsx python".split())
"""Where what is called so with a capital before a `.` or `::` is what a class stands in."""
_NAME = re.compile(r"[A-Za-z_]\w*(?:(?:::|\.|\\)[A-Za-z_]\w*)*")
_CONSTANT = re.compile(r"[A-Z]\w*(?:::[A-Z]\w*)*")
_PARTS = re.compile(r"::|\.|\\")
_NO_CLASSES = frozenset(
    "public private protected virtual final extends implements object Object ABC Protocol".split()
)
_BEHIND = re.compile(r"\b(?:where|permits|by)\b[^,{]*|\w+\s*=[^=,]*")
"""`where T : Coin`, `by lazy`, Python's `metaclass=Meta`"""
_HEAD_BYTES = 2_000
_DEEPEST = 4
_IN_PARENS = re.compile(r"\([^()]*\)")
_IN_ANGLES = re.compile(r"<[^<>]*>")
_IN_BRACKETS = re.compile(r"\[[^\[\]]*\]")
_NEXT = re.compile(r"\n\s*(?:\w+\s+)*(?:class|interface|object|fun|val|var|typealias|enum)\b")
"""A Kotlin class may have no body."""
_OF_RUBY = re.compile(
    rb"(?:([\w:\])]+)\s*\.\s*)?"  # base. of base.extend(Coins)
    rb"(?:send[ (]\s*:)?\b(include|extend|prepend)\b[ (,]+"
    rb"((?:::)?[A-Z][\w:]*(?:\s*,\s*(?:::)?[A-Z][\w:]*)*)"
)
_HOOKS = frozenset("included extended inherited prepended".split())
_OF_PHP = re.compile(rb"^\s*use\s+([\w\\\s,]+)[;{]", re.M)
_OF_RUST = re.compile(rb"\bimpl\b([^{};]*?)\bfor\b([^{};]*)\{")


class _Class(NamedTuple):
    name: str
    outer: str = ""
    """What it stands in."""


class Ancestry:
    """Of all classes of a tree, by their names."""

    def __init__(self, code: Iterable[Parsed]) -> None:
        self._outer: dict[str, set[str]] = defaultdict(set)
        """Class -> what the classes of that name stand in."""
        self._over: dict[str, set[str]] = defaultdict(set)
        self._under: dict[str, set[str]] = defaultdict(set)
        self._from_elsewhere: dict[str, set[str]] = defaultdict(set)
        """Class with a base that the tree does not have -> what those classes stand in."""
        self._loose: set[str] = set()
        """Mixed into what has no name: `shop.extend(Coins)`."""
        read, written = list(code), Counter[str]()
        for parsed in read:
            for it in parsed.classes:
                self._outer[it.name].add(_outer(it))
                written[it.name] += 1
        for parsed in read:
            for heir, base in (*_derived(parsed), *_mixed_in(parsed)):
                self._put(heir, base, parsed.language)
        self._surely_over = {it: some for it, some in self._over.items() if written[it] == 1}
        """Without classes of one name: what stands above one need not stand above the other."""

    def _put(self, heir: _Class | None, base: str, language: str) -> None:
        if heir is None:
            self._loose.add(last_part(base))
        elif self._is_from_elsewhere(base, language):
            self._from_elsewhere[heir.name].add(heir.outer)
        else:
            self._over[heir.name].add(last_part(base))
            self._under[last_part(base)].add(heir.name)

    def _is_from_elsewhere(self, base: str, language: str) -> bool:
        *around, name = _PARTS.split(base)
        if name not in self._outer:
            return True
        named = around[-1] if around and language in _OWNED and around[-1][:1].isupper() else ""
        return bool(named) and named not in self._outer[name]

    def above(self, name: str) -> set[str]:
        return all_above(name, self._over)

    def below(self, name: str) -> set[str]:
        return all_above(name, self._under)

    def may_override(self, other: str, owner: str) -> bool:
        """May `self` be of a class that has a method from `other` in place of the owner's?"""
        if not other or other in self.above(owner):
            return False
        if self._loose & {other, owner}:
            return True
        # A class may have both above it, and the other first.
        return bool({owner, *self.below(owner)} & {other, *self.below(other)})

    def doubt_of(
        self, use: NameUse, uses: Sequence[NameUse], parsed: Parsed, definition: Definition
    ) -> str:
        """Why `open()` or `self.open()` may be what a class inherits from another repository."""
        if use.kind != "call" or self._outer.keys().isdisjoint(definition.owners[-1:]):
            return ""
        around = classes_around(parsed, use)
        if use.receiver:
            around = around[:1] if use.receiver in SELVES else []
        elif parsed.language not in BARE_MAY_BE_METHODS or any(it.kind == "import" for it in uses):
            return ""
        elif parsed.language == "ruby":
            around = around[:1]
        for it in around:
            if set(definition.owners[-2:]) & self._surely(it.name):
                return ""
            if self._may_inherit_else(it, parsed.language, definition.owners[-1]):
                return f"may be what {it.name} inherits from elsewhere"
        return ""

    def _may_inherit_else(self, around: _Class, language: str, owner: str) -> bool:
        if around.outer in self._from_elsewhere.get(around.name, ()):
            return True
        heirs = {around.name, *self.below(around.name)} if language in _LATE else {around.name}
        return any(self._has_elsewhere(it, around) for it in heirs if owner not in self._surely(it))

    def _surely(self, name: str) -> set[str]:
        return {name, *all_above(name, self._surely_over)}

    def _has_elsewhere(self, heir: str, around: _Class) -> bool:
        known = {heir, *self.above(heir)} - {around.name}
        return not known.isdisjoint(self._from_elsewhere)


def all_above(name: str, above: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(above.get(name, ()))
    while waiting:
        base = waiting.pop()
        if base not in found:
            found.add(base)
            waiting += above.get(base, ())
    return found


def classes_around(parsed: Parsed, use: NameUse) -> list[_Class]:
    """From the inside out; of what stands in a class and in no function of it, too."""
    around = parsed.class_at(use.line)
    names = use.inside.owners if use.inside else ()
    if around is not None:
        names = (*around.owners, around.name)
    return [_Class(name, before) for before, name in reversed([*pairwise(("", *names))])]


def _outer(definition: Definition) -> str:
    return definition.owners[-1] if definition.owners else ""


# --- reading --------------------------------------------------------------------------------------


def heads(parsed: Parsed, definition: Definition) -> Iterator[str]:
    """What a class extends or implements, as written: `Base`, `shop.Base`; no type argument."""
    head = _head(parsed, definition)
    if parsed.language == "ruby":
        written = re.split(r"[\n;#]", head, maxsplit=1)[0].partition("<")[2]
        yield from _CONSTANT.findall(written)
        return
    if parsed.language == "python":
        head = head.partition(":")[0] if head.startswith("(") else ""
    else:
        begins = re.search(r":|\b(?:extends|implements)\b", head)
        head = head[begins.end() :] if begins else ""
    yield from (it for it in _NAME.findall(_BEHIND.sub("", head)) if it not in _NO_CLASSES)


def _head(parsed: Parsed, definition: Definition) -> str:
    """From behind a class's name to its body, or to what is declared next."""
    at = parsed.name_at(definition) + len(definition.name.encode())
    head = parsed.source[at : at + _HEAD_BYTES].decode("utf-8", "replace")
    if parsed.language == "python":
        return _without(_IN_BRACKETS, head)
    if parsed.language == "ruby":
        return head
    head = _without(_IN_ANGLES, head.partition("{")[0])
    # What a constructor takes is no base: class Shop(val till: Till) : Base(till)
    # But in scripts: class Shop extends Mixed(Base)
    head = head if parsed.language in _SCRIPTS else _without(_IN_PARENS, head)
    return _NEXT.split(head)[0]


def _without(pattern: re.Pattern[str], text: str) -> str:
    """Without what nests, from the inside out."""
    for _ in range(_DEEPEST):
        text = pattern.sub("", text)
    return text


def _derived(parsed: Parsed) -> Iterator[tuple[_Class, str]]:
    for it in parsed.classes if parsed.language != "rust" else ():
        yield from ((_class(it), base) for base in heads(parsed, it))


def _mixed_in(parsed: Parsed) -> Iterator[tuple[_Class | None, str]]:
    """What gets a module or trait, and that module; None for what has no name."""
    if parsed.language == "ruby":
        yield from _mixed_in_ruby(parsed)
    elif parsed.language == "php":
        for hit in _OF_PHP.finditer(parsed.source):
            around = parsed.class_at(parsed.file.occurrences.line(hit.start(1)))
            if around is not None:
                yield from ((_class(around), it) for it in _NAME.findall(_text(hit[1])))
    elif parsed.language == "rust":
        for hit in _OF_RUST.finditer(parsed.source):
            trait, types = (_without(_IN_ANGLES, _text(it)) for it in hit.groups())
            for name in _NAME.findall(types.partition("where")[0]):
                yield from ((_Class(last_part(name)), base) for base in _NAME.findall(trait))


def _mixed_in_ruby(parsed: Parsed) -> Iterator[tuple[_Class | None, str]]:
    for hit in _OF_RUBY.finditer(parsed.source):
        if parsed.outline.is_mute(hit.start(2)):
            continue
        heir = _heir_in_ruby(
            parsed, parsed.file.occurrences.line(hit.start(2)), _text(hit[1] or b"")
        )
        for name in _CONSTANT.findall(_text(hit[3])):
            if hit[2] == b"prepend" and heir is not None:
                # It comes before the class's own methods, as an heir's do.
                yield _Class(last_part(name)), heir.name
            else:
                yield heir, name


def _heir_in_ruby(parsed: Parsed, line: int, receiver: str) -> _Class | None:
    if receiver[:1].isupper():
        return _Class(last_part(receiver))
    around, function = parsed.class_at(line), parsed.function_at(line)
    # `base` of `def self.included(base)` is whatever gets the module around it.
    handed = function is not None and function.name in _HOOKS
    if around is None or not (handed or receiver in ("", "self")):
        return None
    return _class(around)


def _class(definition: Definition) -> _Class:
    return _Class(definition.name, _outer(definition))


def _text(source: bytes) -> str:
    return source.decode("utf-8", "replace")


def last_part(name: str) -> str:
    return _PARTS.split(name)[-1]
