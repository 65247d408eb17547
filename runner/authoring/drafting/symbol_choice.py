"""Which symbol is worth a question: a middling answer, over several files, all of it proven."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import islice

from runner.authoring.drafting.doubts import is_compound
from runner.authoring.drafting.families import Family
from runner.authoring.drafting.questions import (
    StepDraft,
    callers,
    file_count,
    grouped,
    overrides,
    parameter,
    tests,
)
from runner.authoring.drafting.tree import (
    ASIDE_FOLDERS,
    TEST_PATH,
    FunctionWithCalls,
    Spot,
    Tree,
    is_telling_name,
)
from runner.grounding.pointing import TOLERANCE
from runner.records import MustCite
from runner.support.errors import FairtrialError

FEWEST, MOST = 3, 12
"""Places of an answer: fewer are luck, more are a list that nobody reads."""
_MOST_FILES = 30
"""That may hold a name: one in all files of a tree is a word, not a symbol."""

_SMALL_FILES = 40
"""Of code: in a larger tree every name's calls would be looked for, for minutes."""


def candidates(tree: Tree) -> list[FunctionWithCalls]:
    """Symbols worth a question, the best first; equal trees give an equal order."""
    found = []
    for name, holders in tree.holders.items():
        code = [path for path in holders if not TEST_PATH.search(path)]
        if len(code) >= 2 and len(holders) <= _MOST_FILES and is_telling_name(name):
            symbol = tree.symbol(name)
            if isinstance(symbol, FunctionWithCalls) and not TEST_PATH.search(symbol.path):
                found.append(symbol)
    return sorted(found, key=lambda it: (-_worth(it), _lot(tree, it)))


def _worth(symbol: FunctionWithCalls) -> float:
    places = grouped(symbol.own_calls)
    body = symbol.definition.end - symbol.definition.start + 1
    worth = 2.0 * min(file_count(symbol.own_calls), 5) - abs(len(places) - 6) / 2
    worth += 2 * is_compound(symbol.name) + (4 <= body <= 120)
    worth += bool(symbol.test_calls) and not symbol.doubtful_tests
    worth -= 6 * bool(ASIDE_FOLDERS.search(symbol.path)) + 2 * bool(symbol.written)
    return worth


def _lot(tree: Tree, symbol: FunctionWithCalls) -> str:
    """Draws between equals, by the commit: else one letter of the alphabet would always win."""
    return hashlib.sha256(f"{tree.files.commit} {symbol.name}".encode()).hexdigest()


def _fits(spots: Sequence[Spot], *, files: int) -> bool:
    return FEWEST <= len(grouped(spots)) <= MOST and file_count(spots) >= files


def propose(tree: Tree, families: Sequence[Family], count: int) -> list[StepDraft]:
    """Up to `count` questions of different kinds, each about the best symbol that is left.

    Raises FairtrialError if the tree proves none.
    """
    known = candidates(tree)
    asked_about: set[str] = set()
    proposals: list[StepDraft] = []
    for make in (_callers_of_best, _tests_of_best, _overrides_of_best, _parameter_of_best):
        if len(proposals) < count and (made := make(tree, known, families, asked_about)):
            proposals.append(made)
    proposals = proposals or _of_few_places(tree, count)
    if not proposals:
        raise FairtrialError(
            "no question here has an answer that the tree alone proves",
            hint="`--symbol NAME` says why one is not taken; or `--from-history`, or copy a folder"
            " of scenarios/core and write the places by hand",
        )
    return proposals


def _of_few_places(tree: Tree, count: int) -> list[StepDraft]:
    """Of a tree too small for better ones. Each says that luck finds so few places."""
    if len(tree.code) > _SMALL_FILES:
        return []
    found = map(tree.symbol, filter(is_telling_name, tree.definitions))
    symbols = [it for it in found if isinstance(it, FunctionWithCalls) and it.own_calls]
    symbols = [it for it in symbols if not TEST_PATH.search(it.path)]
    symbols.sort(key=lambda it: (-len(grouped(it.own_calls)), _lot(tree, it)))
    fitting = [it for it in symbols if len(grouped(it.own_calls)) <= MOST]
    made = (callers(it, "a small tree: so few places are found by luck, too") for it in fitting)
    return list(islice((it for it in made if not list(unproven(tree, it))), count))


def propose_about(tree: Tree, name: str, count: int) -> list[StepDraft]:
    """Up to `count` questions about one symbol. Raises FairtrialError with why there is none."""
    if name not in tree.definitions:
        raise FairtrialError(f"nothing in the code is called {name!r}", where="--symbol")
    symbol = tree.symbol(name)
    if isinstance(symbol, str):
        hint = "choose another, or leave --symbol out"
        raise FairtrialError(f"nothing is proven of {name}: {symbol}", where="--symbol", hint=hint)
    made = []
    if symbol.own_calls:
        made.append(callers(symbol, "as asked"))
    if symbol.test_calls and _are_tests(symbol):
        made.append(tests(symbol, "as asked"))
    if symbol.calls and not symbol.doubtful_tests:
        made.append(parameter(symbol, "as asked"))
    proven = [it for it in made if not list(unproven(tree, it))]
    if not proven:
        raise FairtrialError("no call of it is surely its own", where="--symbol")
    return proven[:count]


def _first(
    tree: Tree, made: Iterator[tuple[FunctionWithCalls, StepDraft]], asked_about: set[str]
) -> StepDraft | None:
    for symbol, proposal in made:
        if not list(unproven(tree, proposal)):
            asked_about.add(symbol.name)
            return proposal
    return None


def _callers_of_best(
    tree: Tree, known: Sequence[FunctionWithCalls], _: Sequence[Family], asked: set[str]
) -> StepDraft | None:
    for files in (3, 2):
        fitting = [it for it in known if _fits(it.own_calls, files=files)]
        made = ((it, callers(it, _why(it, fitting))) for it in fitting)
        if proposal := _first(tree, made, asked):
            return proposal
    return None


def _tests_of_best(
    tree: Tree, known: Sequence[FunctionWithCalls], _: Sequence[Family], asked: set[str]
) -> StepDraft | None:
    fitting = [it for it in known if _fits(it.test_calls, files=1) and _are_tests(it)]
    # Of what was asked about before, if it has such tests: the steps are one conversation.
    fitting.sort(key=lambda it: it.name not in asked)
    return _first(tree, ((it, tests(it, _why(it, fitting))) for it in fitting), asked)


def _are_tests(symbol: FunctionWithCalls) -> bool:
    """What tests share would be no right answer to which of them call it."""
    return not symbol.doubtful_tests and all(it.is_case for it in symbol.test_calls)


def _overrides_of_best(
    tree: Tree, _: Sequence[FunctionWithCalls], families: Sequence[Family], __: set[str]
) -> StepDraft | None:
    for family in families:
        proposal = overrides(family, f"of {len(families)} methods that are overridden")
        if not list(unproven(tree, proposal)):
            return proposal
    return None


def _parameter_of_best(
    tree: Tree, known: Sequence[FunctionWithCalls], _: Sequence[Family], asked: set[str]
) -> StepDraft | None:
    fitting = [
        it
        for it in known
        if it.name not in asked and not it.doubtful_tests and _fits(it.calls, files=2)
    ]
    return _first(tree, ((it, parameter(it, _why(it, fitting))) for it in fitting), asked)


def _why(symbol: FunctionWithCalls, fitting: Sequence[FunctionWithCalls]) -> str:
    rivals = [it.name for it in fitting if it is not symbol][:3]
    others = f"; next: {', '.join(rivals)}" if rivals else ""
    return f"of {len(fitting)} that fit{others}"


# --- proven by what verifies citations ----------------------------------------------------------


def unproven(tree: Tree, proposal: StepDraft) -> Iterator[MustCite]:
    """Places that the resolver of citations does not find; a proposal with one is not made."""
    for place in proposal.step.must_cite:
        parsed = tree.code.get(place.path)
        last = place.end or place.line
        if parsed is None or last > parsed.file.line_count:
            yield place
        elif place.symbol is not None:
            lines = [it.line for it in parsed.file.places(place.symbol).definitions]
            if not any(place.line - TOLERANCE <= line <= last + TOLERANCE for line in lines):
                yield place
