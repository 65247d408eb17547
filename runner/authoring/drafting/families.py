"""Methods and who overrides them: what the heads of classes say of each other."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from runner.authoring.drafting.syntax import Parsed
from runner.authoring.drafting.tree import ASIDE_FOLDERS, TEST_PATH, Tree
from runner.grounding.outlines import Definition

FEWEST, MOST = 3, 12
"""Classes of a family, its base among them."""
_INHERITING = frozenset(
    "python ruby java kotlin c_sharp typescript tsx javascript php scala".split()
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_HEAD_BYTES = 2_000
_DEEPEST = 4
_IN_PARENS = re.compile(r"\([^()]*\)")
_IN_ANGLES = re.compile(r"<[^<>]*>")
_NEXT = re.compile(r"\n\s*(?:\w+\s+)*(?:class|interface|object|fun|val|var|typealias|enum)\b")
"""A Kotlin class may have no body."""


@dataclass(frozen=True, kw_only=True)
class ClassMember:
    owner: str
    path: str
    line: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Family:
    """A method of a class or trait, and of every one under it that has its own."""

    base: str
    name: str
    members: tuple[ClassMember, ...]
    """The base's first."""
    of: str = "classes"
    """What its language calls them."""
    joint: str = "."

    @property
    def shown(self) -> str:
        return f"{self.base}{self.joint}{self.name}"


def families(tree: Tree) -> list[Family]:
    """Of middling size, in few words of their own; the ones spread over most files first."""
    above = bases_of(tree)
    below = _reversed(above)
    methods = _methods(tree)
    found = []
    for name, owners in methods.items():
        for base in owners:
            under = [it for it in owners if it != base and base in all_above(it, above)]
            whole = FEWEST <= len(under) + 1 <= MOST
            # Of a base's base that has the method too, this one's family is a part.
            if not whole or all_above(base, above) & owners.keys():
                continue
            if not _may_lack(tree, {base, *all_above(base, below)}, owners, name):
                found.append(_family(name, base, under, owners))
    return spread(found)


def spread(found: Iterable[Family]) -> list[Family]:
    """Those over most files first."""
    return sorted(found, key=lambda it: (-_files(it), it.base, it.name))


def _may_lack(tree: Tree, known: set[str], owners: Mapping[str, ClassMember], name: str) -> bool:
    """Is there one that inherits without a name, or under a name that several classes have?

    The list would lack it.
    """
    for owner, member in owners.items():
        parsed = tree.code[member.path]
        same = [] if owner in known else parsed.outline.named(owner)
        if any(known & set(heads(parsed, it)) for it in same):
            return True
    names = "|".join(map(re.escape, sorted(known)))
    nameless = re.compile(rf"(?:\bobject\s*:\s*|\bnew\s+)(?:{names})\b[^;{{}}]*\{{".encode())
    return any(
        name.encode() in parsed.source and nameless.search(parsed.source)
        for _, parsed in _asked_about(tree)
    )


def _reversed(above: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Class -> those whose heads name it."""
    below: dict[str, set[str]] = defaultdict(set)
    for name, bases in above.items():
        for base in bases:
            below[base].add(name)
    return dict(below)


def _files(family: Family) -> int:
    return len({member.path for member in family.members})


def _family(
    name: str, base: str, under: Sequence[str], owners: Mapping[str, ClassMember]
) -> Family:
    members = (owners[base], *sorted((owners[it] for it in under), key=lambda it: it.path))
    return Family(base=base, name=name, members=members)


def _methods(tree: Tree) -> dict[str, dict[str, ClassMember]]:
    """Name -> class -> its method; none of a class that has several of that name."""
    found: dict[str, dict[str, list[ClassMember]]] = defaultdict(lambda: defaultdict(list))
    for path, parsed in _asked_about(tree):
        for it in parsed.functions:
            if it.owners and len(it.name) > 3 and not it.name.startswith("__"):
                member = ClassMember(owner=it.owners[-1], path=path, line=it.line, end=it.end)
                found[it.name][it.owners[-1]].append(member)
    return {
        name: {owner: some[0] for owner, some in owners.items() if len(some) == 1}
        for name, owners in found.items()
        if name not in ("constructor", "initialize")
        and all(len(some) == 1 for some in owners.values())
    }


def bases_of(tree: Tree) -> dict[str, set[str]]:
    """Class that is defined once -> the classes of the tree that its head names."""
    classes: dict[str, list[tuple[Parsed, Definition]]] = defaultdict(list)
    for parsed in tree.code.values():
        if parsed.language in _INHERITING:
            for it in parsed.outline.definitions:
                if parsed.kind(it) == "class":
                    classes[it.name].append((parsed, it))
    once = {name: some[0] for name, some in classes.items() if len(some) == 1}
    return {name: set(heads(*place)) & once.keys() - {name} for name, place in once.items()}


def heads(parsed: Parsed, definition: Definition) -> Iterator[str]:
    """The names of what a class extends or implements, those in type arguments left out."""
    head = _head(parsed, definition)
    if parsed.language == "python":
        head = head[1:].partition(")")[0] if head.startswith("(") else ""
    elif parsed.language == "ruby":
        head = head.partition("\n")[0].partition("<")[2]
    else:
        begins = re.search(r":|\b(?:extends|implements)\b", head)
        head = head[begins.end() :] if begins else ""
    yield from _WORD.findall(head)


def _head(parsed: Parsed, definition: Definition) -> str:
    """From behind a class's name to its body, or to what is declared next."""
    at = definition.at + len(definition.name.encode())
    head = parsed.source[at : at + _HEAD_BYTES].decode("utf-8", "replace")
    if parsed.language in ("python", "ruby"):
        return head
    # What a constructor takes is no base: class Shop(val till: Till) : Base(till)
    head = _without(_IN_PARENS, _without(_IN_ANGLES, head.partition("{")[0]))
    return _NEXT.split(head)[0]


def _without(pattern: re.Pattern[str], text: str) -> str:
    """Without what nests, from the inside out."""
    for _ in range(_DEEPEST):
        text = pattern.sub("", text)
    return text


def all_above(name: str, above: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(above.get(name, ()))
    while waiting:
        base = waiting.pop()
        if base not in found:
            found.add(base)
            waiting += above.get(base, ())
    return found


def _asked_about(tree: Tree) -> Iterator[tuple[str, Parsed]]:
    for path, parsed in tree.code.items():
        aside = TEST_PATH.search(path) or ASIDE_FOLDERS.search(path)
        if parsed.language in _INHERITING and not aside:
            yield path, parsed
