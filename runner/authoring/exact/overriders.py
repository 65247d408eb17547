"""Who overrides or implements it?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runner.authoring.drafting.families import Family, bases_of, families
from runner.authoring.drafting.questions import lines_of
from runner.authoring.drafting.traits import trait_families
from runner.authoring.drafting.tree import ASIDE_FOLDERS, TEST_PATH
from runner.authoring.exact.kind import Ground, Kind, anchor, definitions_of, place_of, question
from runner.authoring.exact.reach import may_be_overridden
from runner.records import MustCite
from runner.records.exact import ExactQuestion


def prompt(shown: str) -> str:
    return (
        f"What overrides or implements `{shown}`, directly or through another class, outside of"
        " tests, examples and documentation? The line of each definition counts that overrides"
        " it: not its own definition, and no calls."
    )


def _families(ground: Ground) -> dict[str, Family]:
    found = [*families(ground.tree), *trait_families(ground.tree)]
    return {it.shown: it for it in found}


def _subjects(ground: Ground) -> Sequence[str]:
    return list(ground.kept("families", _families))


def _ask(ground: Ground, shown: str) -> ExactQuestion | None:
    family = ground.kept("families", _families)[shown]
    if _is_value_somewhere(ground, family.name) or not _may_override(ground, family):
        return None
    base, *under = family.members
    places = [lines_of(it.path, it.line, it.end, family.name) for it in under]
    own = MustCite(path=base.path, line=base.line, symbol=family.name)
    heads = [*_heads(ground, {it.owner for it in family.members}), *_aside(ground, family.name)]
    return question(
        "overriders",
        shown,
        prompt(shown),
        places=places,
        optional=[own, *heads],
        wrong=definitions_of(ground, family.name),
    )


def _may_override(ground: Ground, family: Family) -> bool:
    """A static method of a class under it hides the base's, and a private one is another."""
    base = family.members[0]
    return all(
        may_be_overridden(ground.tree.code[path], it)
        for path, it in ground.tree.definitions[family.name]
        if (path, it.line) == (base.path, base.line)
    )


def _is_value_somewhere(ground: Ground, name: str) -> bool:
    """`key_size = 128` in a class: it implements a property too, and is no method to list."""
    return any(
        it.owners and ground.tree.code[path].kind(it) == "other"
        for path, it in ground.tree.definitions[name]
    )


def _heads(ground: Ground, owners: set[str]) -> Iterator[MustCite]:
    """Where the classes begin: a citation of one is about the right thing."""
    for owner in sorted(owners):
        for path, it in ground.tree.definitions.get(owner, ()):
            yield MustCite(path=path, line=it.line)


def _aside(ground: Ground, name: str) -> Iterator[MustCite]:
    for place in definitions_of(ground, name):
        if TEST_PATH.search(place.path) or ASIDE_FOLDERS.search(place.path):
            yield place.model_copy(update={"symbol": None})


def _methods_of_bases(ground: Ground) -> Sequence[str]:
    """Methods of classes that others derive from, of names that only one function has."""
    inherited = set().union(*ground.kept("bases", lambda it: bases_of(it.tree)).values(), set())
    found = []
    for name in ground.names:
        defined = ground.tree.definitions[name]
        if (
            len(defined) == 1
            and defined[0][1].owners[-1:]
            and defined[0][1].owners[-1] in inherited
        ):
            found.append(name)
    return found


def _ask_of_none(ground: Ground, name: str) -> ExactQuestion | None:
    symbol = ground.symbol(name)
    if symbol is None or ASIDE_FOLDERS.search(symbol.path):
        return None
    if not may_be_overridden(ground.tree.code[symbol.path], symbol.definition):
        return None
    calls = [place_of(it, name) for it in symbol.calls]
    return question(
        "overriders", symbol.shown, prompt(symbol.shown), optional=[anchor(symbol)], wrong=calls
    )


KIND = Kind(kind="overriders", subjects=_subjects, ask=_ask)
NONE = Kind(kind="overriders", subjects=_methods_of_bases, ask=_ask_of_none, share=0.5)
