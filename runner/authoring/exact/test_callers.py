"""Which tests call it?"""

from __future__ import annotations

from collections.abc import Sequence

from runner.authoring.exact.kind import (
    MOST,
    Ground,
    Kind,
    anchor,
    beside,
    near_misses,
    place_of,
    question,
)
from runner.authoring.exact.reach import may_be_called_by_tests
from runner.records.exact import ExactQuestion

_FEWEST_TEST_FILES = 5
"""Of a tree that is said to lack a test."""


def prompt(shown: str) -> str:
    return (
        f"Which tests call `{shown}` themselves? Only direct calls by that name count, in files of"
        " tests: no imports, no comments, no calls in other code."
    )


def _subjects(ground: Ground) -> Sequence[str]:
    return ground.names


def _ask(ground: Ground, name: str) -> ExactQuestion | None:
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
        prompt(symbol.shown),
        places=[place_of(it, name) for it in cases],
        optional=beside(ground, symbol),
        wrong=near_misses(ground, name),
    )


def _ask_of_none(ground: Ground, name: str) -> ExactQuestion | None:
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
        prompt(symbol.shown),
        optional=[anchor(symbol)],
        wrong=[place_of(it, name) for it in symbol.own_calls],
    )


KIND = Kind(kind="test_callers", subjects=_subjects, ask=_ask)
NONE = Kind(kind="test_callers", subjects=_subjects, ask=_ask_of_none, share=0.5)
