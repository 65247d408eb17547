"""Who calls it: outside of the tests, or in them? And what if it takes one more argument?"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from runner.authoring.drafting.doubts import is_compound
from runner.authoring.drafting.tree import TEST_PATH, FunctionWithCalls
from runner.authoring.exact.kind import (
    MOST,
    Ground,
    Kind,
    anchor,
    beside,
    definitions_of,
    near_misses,
    other_lines,
    place_of,
    question,
)
from runner.authoring.exact.reach import may_be_called_by_tests
from runner.records import MustCite
from runner.records.exact import ExactQuestion

_FEWEST = 2
_TRIED = 400
"""Pairs of names that an invented one is made of."""
_FEWEST_TEST_FILES = 5
"""Of a tree that is said to lack a test."""


def _prompt(shown: str) -> str:
    return (
        f"Where is `{shown}` called, outside of the tests? Only direct calls by that name count,"
        " wherever in this repository they are: no imports, no comments, not its definition."
    )


def _ask(ground: Ground, name: str) -> ExactQuestion | None:
    symbol = ground.symbol(name)
    if symbol is None:
        return None
    lines = {(it.path, it.line) for it in symbol.own_calls}
    if not _FEWEST <= len(lines) <= MOST:
        return None
    doubtful = [it for it in symbol.test_calls if not it.is_case]
    return question(
        "callers",
        name,
        _prompt(symbol.shown),
        places=[place_of(it, name) for it in symbol.own_calls],
        optional=[
            *beside(ground, symbol, [*symbol.own_calls, *doubtful]),
            *_in_doubt(ground, symbol),
        ],
        wrong=[*_cases(symbol), *near_misses(ground, name)],
    )


def _cases(symbol: FunctionWithCalls) -> list[MustCite]:
    """Calls in tests, surely: whoever is asked for the others and names them did not look."""
    return [place_of(it, symbol.name) for it in symbol.test_calls if it.is_case]


def _in_doubt(ground: Ground, symbol: FunctionWithCalls) -> Iterator[MustCite]:
    """Calls in files of tests which may be no test's, or one on what has no written type."""
    sure = {(it.path, it.line) for it in _cases(symbol)}
    for path in filter(TEST_PATH.search, ground.tree.holders[symbol.name]):
        calls = (it for it in ground.tree.code[path].uses(symbol.name) if it.kind == "call")
        yield from (
            MustCite(path=path, line=it.line) for it in calls if (path, it.line) not in sure
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
        _prompt(symbol.shown),
        optional=[anchor(symbol), *imports, *_in_doubt(ground, symbol)],
        wrong=[*_cases(symbol), *near_misses(ground, name)],
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
    misses = [*definitions_of(ground, one), *definitions_of(ground, other)]
    # Without a class, where all others have one, the prompt would tell.
    *owner, _ = ground.tree.shown(*ground.tree.definitions[one][0]).split(".")
    return question("callers", name, _prompt(".".join([*owner, name])), wrong=misses)


def _is_of_words(ground: Ground, name: str) -> bool:
    """A function's name, of two words or more."""
    kinds = {ground.tree.code[path].kind(it) for path, it in ground.tree.definitions[name][:1]}
    return kinds == {"function"} and is_compound(name) and len(_words(name)) > 1


def _words(name: str) -> list[str]:
    """`parse_`, `config` of `parse_config`; `parse`, `Config` of `parseConfig`."""
    return re.findall(r"[A-Z]+(?![a-z])_?|[A-Z]?[a-z0-9]+_?|[A-Z_]", name)


# --- in the tests ---------------------------------------------------------------------------------


def _prompt_of_tests(shown: str) -> str:
    return (
        f"Which tests call `{shown}` themselves? Only direct calls by that name count, in files of"
        " tests: no imports, no comments, no calls in other code."
    )


def _ask_of_tests(ground: Ground, name: str) -> ExactQuestion | None:
    symbol = ground.symbol(name)
    if symbol is None or symbol.doubtful_tests:
        return None
    # What tests share would be no plain answer to which of them call it.
    cases = [it for it in symbol.test_calls if it.is_case]
    if not cases or len(cases) < len(symbol.test_calls) or len(cases) > MOST:
        return None
    return question(
        "test_callers",
        name,
        _prompt_of_tests(symbol.shown),
        places=[place_of(it, name) for it in cases],
        optional=beside(ground, symbol, cases),
        wrong=[*(place_of(it, name) for it in symbol.own_calls), *near_misses(ground, name)],
    )


def _ask_of_no_test(ground: Ground, name: str) -> ExactQuestion | None:
    symbol = ground.symbol(name)
    if symbol is None or symbol.doubtful_tests or not symbol.own_calls:
        return None
    if symbol.test_calls or ground.is_in_tests(name) or ground.test_files < _FEWEST_TEST_FILES:
        return None
    if not may_be_called_by_tests(ground, symbol):
        return None
    return question(
        "test_callers",
        name,
        _prompt_of_tests(symbol.shown),
        optional=[anchor(symbol)],
        wrong=[place_of(it, name) for it in symbol.own_calls],
    )


# --- where its signature stands -------------------------------------------------------------------


def _ask_of_edits(ground: Ground, name: str) -> ExactQuestion | None:
    symbol = ground.symbol(name)
    if symbol is None or symbol.doubtful_tests:
        return None
    spots = (*symbol.declared, *symbol.calls)
    if not _FEWEST <= len({(it.path, it.line) for it in spots}) < MOST:
        return None
    return question(
        "signature_edits",
        name,
        f"`{symbol.shown}` will take one more required argument. Which lines have to be edited?"
        " Count its definition, its declarations if it has any, and every direct call of it in"
        " this repository, tests included; no imports, no comments, nothing inside its body.",
        places=[
            anchor(symbol).model_copy(update={"end": None}),
            *(place_of(it, name) for it in spots),
        ],
        optional=beside(ground, symbol, symbol.calls),
        wrong=near_misses(ground, name),
    )


KIND = Kind(kind="callers", ask=_ask)
NONE = Kind(kind="callers", ask=_ask_of_none, share=0.5)
NOTHING = Kind(kind="callers", subjects=_invented, ask=_ask_of_nothing, share=0.3)
TESTS = Kind(kind="test_callers", ask=_ask_of_tests)
NO_TEST = Kind(kind="test_callers", ask=_ask_of_no_test, share=0.5)
EDITS = Kind(kind="signature_edits", ask=_ask_of_edits)
