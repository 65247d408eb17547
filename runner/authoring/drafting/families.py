"""Methods and who overrides them: what the heads of classes say of each other."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from runner.authoring.drafting.ancestry import all_above, heads, last_part
from runner.authoring.drafting.syntax import Parsed
from runner.authoring.drafting.tree import ASIDE_FOLDERS, TEST_PATH, Tree
from runner.grounding.outlines import Definition

FEWEST, MOST = 3, 12
"""Classes of a family, its base among them."""
_INHERITING = frozenset(
    "python ruby java kotlin c_sharp typescript tsx javascript php scala".split()
)


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
            if not _may_lack(tree, base, {base, *all_above(base, below)}, owners, name):
                found.append(_family(name, base, under, owners))
    return spread(found)


def spread(found: Iterable[Family]) -> list[Family]:
    """Those over most files first."""
    return sorted(found, key=lambda it: (-_files(it), it.base, it.name))


def _may_lack(
    tree: Tree, base: str, known: set[str], owners: Mapping[str, ClassMember], name: str
) -> bool:
    """Is there one that inherits without a name, under a name that several classes have, or by
    what is mixed in beside the base?

    The list would lack it.
    """
    if tree.may_lose(name):
        return True
    others = owners.keys() - known
    if any(tree.ancestry.may_override(it, base) for it in others):
        return True
    return has_nameless_heir(tree, known, name)


def has_nameless_heir(tree: Tree, known: Iterable[str], name: str) -> bool:
    """Of one of the classes, in a file that holds the name."""
    names = "|".join(map(re.escape, sorted(known)))
    nameless = rf"\bobject\s*:\s*(?:{names})\b|\bclass\s*(?:\([^()]*\)\s*)?extends\s+(?:{names})\b"
    # Elsewhere `if (new Till().fits()) {` looks like Java's `new Till() { … }`.
    of_java = re.compile(rf"{nameless}|\bnew\s+(?:{names})\b[^;{{}}]*\{{".encode())
    of_others = re.compile(nameless.encode())
    return any(
        name.encode() in parsed.source
        and (of_java if parsed.language == "java" else of_others).search(parsed.source)
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
    return {
        name: set(map(last_part, heads(*place))) & once.keys() - {name}
        for name, place in once.items()
    }


def _asked_about(tree: Tree) -> Iterator[tuple[str, Parsed]]:
    for path, parsed in tree.code.items():
        aside = TEST_PATH.search(path) or ASIDE_FOLDERS.search(path)
        if parsed.language in _INHERITING and not aside:
            yield path, parsed
