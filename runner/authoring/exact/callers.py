"""Who calls it, outside of the tests?"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from runner.authoring.drafting.doubts import is_compound
from runner.authoring.exact.kind import (
    MOST,
    Ground,
    Kind,
    anchor,
    beside,
    near_misses,
    other_lines,
    place_of,
    question,
)
from runner.records import MustCite
from runner.records.exact import ExactQuestion

_FEWEST = 2
_TRIED = 400
"""Pairs of names that an invented one is made of."""


def prompt(shown: str) -> str:
    return (
        f"Where is `{shown}` called, outside of the tests? Only direct calls by that name count,"
        " wherever in this repository they are: no imports, no comments, not its definition."
    )


def _subjects(ground: Ground) -> Sequence[str]:
    return ground.names


def _ask(ground: Ground, name: str) -> ExactQuestion | None:
    symbol = ground.symbol(name)
    if symbol is None:
        return None
    lines = {(it.path, it.line) for it in symbol.own_calls}
    if not _FEWEST <= len(lines) <= MOST:
        return None
    return question(
        "callers",
        name,
        prompt(symbol.shown),
        places=[place_of(it, name) for it in symbol.own_calls],
        optional=beside(ground, symbol),
        wrong=near_misses(ground, name),
    )


def _ask_of_none(ground: Ground, name: str) -> ExactQuestion | None:
    """Defined, perhaps tested, and called by nobody."""
    symbol = ground.symbol(name)
    if symbol is None or symbol.own_calls:
        return None
    imports = itertools.chain.from_iterable(
        other_lines(ground, path, name) for path in ground.tree.holders[name]
    )
    return question(
        "callers",
        name,
        prompt(symbol.shown),
        optional=[anchor(symbol), *imports],
        wrong=[*(place_of(it, name) for it in symbol.test_calls), *near_misses(ground, name)],
    )


def _invented(ground: Ground) -> Sequence[str]:
    """Two names, joined by `+`: the first half of one and the second of the other."""
    split = [name for name in ground.names if _is_of_words(ground, name)]
    pairs = zip(split, split[len(split) // 2 :], strict=False)
    return [f"{one}+{other}" for one, other in itertools.islice(pairs, _TRIED)]


def _ask_of_nothing(ground: Ground, pair: str) -> ExactQuestion | None:
    """About a name that is nowhere; whoever knows where it is called invents."""
    one, other = pair.split("+")
    name = "".join([*_words(one)[:-1], _words(other)[-1]])
    if ("_" in one) != ("_" in other) or ground.is_written(name):
        return None
    misses = [*_defined(ground, one), *_defined(ground, other)]
    return question("callers", name, prompt(name), wrong=misses)


def _is_of_words(ground: Ground, name: str) -> bool:
    """A function's name, of two words or more."""
    kinds = {ground.tree.code[path].kind(it) for path, it in ground.tree.definitions[name][:1]}
    return kinds == {"function"} and is_compound(name) and len(_words(name)) > 1


def _words(name: str) -> list[str]:
    """`parse_`, `config` of `parse_config`; `parse`, `Config` of `parseConfig`."""
    return re.findall(r"[A-Z]+(?![a-z])_?|[A-Z]?[a-z0-9]+_?|[A-Z_]", name)


def _defined(ground: Ground, name: str) -> Iterator[MustCite]:
    for path, it in ground.tree.definitions[name]:
        yield MustCite(path=path, line=it.line, symbol=name)


KIND = Kind(kind="callers", subjects=_subjects, ask=_ask)
NONE = Kind(kind="callers", subjects=_subjects, ask=_ask_of_none, share=0.5)
NOTHING = Kind(kind="callers", subjects=_invented, ask=_ask_of_nothing, share=0.3)
