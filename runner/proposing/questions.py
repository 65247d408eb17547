"""Questions whose answers the tree proves, each with its places, keywords and half a rubric.

What the tree cannot tell (why a caller needs it, what a test really asserts) is left to a person:
a criterion without facts, and a line that begins with TO_WRITE.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from runner.errors import FairtrialError
from runner.grounding.pointing import TOLERANCE
from runner.grounding.spelling import MARK
from runner.proposing.families import Family
from runner.proposing.tree import ASIDE, TEST_PATH, Spot, Symbol, Tree, is_compound, is_telling
from runner.records import Check, Criterion, Fact, MustCite, RubricStep, Step

TO_WRITE = "TO WRITE"
"""Begins what is left to a person; `fairtrial check` lists every line that holds it."""
FEWEST, MOST = 3, 12
"""Places of an answer: fewer are luck, more are a list that nobody reads."""
_MOST_FILES = 30
"""That may hold a name: one in all files of a tree is a word, not a symbol."""
_MOST_KEYWORDS = 6
_NEAR = 2 * TOLERANCE


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """One step of a scenario, to be finished by hand."""

    step: Step
    rubric: RubricStep
    reference: str
    """The half of a right answer that is proven, and what is left to write."""
    to_write: Mapping[str, str]
    """Criterion -> what its facts have to say."""
    about: str
    """For stderr: what was chosen, and why."""


# --- which symbols ------------------------------------------------------------------------------


def candidates(tree: Tree) -> list[Symbol]:
    """Symbols worth a question, the best first; equal trees give an equal order."""
    found = []
    for name, holders in tree.holders.items():
        code = [path for path in holders if not TEST_PATH.search(path)]
        if len(code) >= 2 and len(holders) <= _MOST_FILES and is_telling(name):
            symbol = tree.symbol(name)
            if isinstance(symbol, Symbol) and not TEST_PATH.search(symbol.path):
                found.append(symbol)
    return sorted(found, key=lambda it: (-_worth(it), _lot(tree, it)))


def _worth(symbol: Symbol) -> float:
    places = _grouped(symbol.own_calls)
    body = symbol.definition.end - symbol.definition.start + 1
    worth = 2.0 * min(_file_count(symbol.own_calls), 5) - abs(len(places) - 6) / 2
    worth += 2 * is_compound(symbol.name) + (4 <= body <= 120)
    worth += bool(symbol.test_calls) and not symbol.doubtful_tests
    worth -= 6 * bool(ASIDE.search(symbol.path)) + 2 * bool(symbol.written)
    return worth


def _lot(tree: Tree, symbol: Symbol) -> str:
    """Draws between equals, by the commit: else one letter of the alphabet would always win."""
    return hashlib.sha256(f"{tree.files.commit} {symbol.name}".encode()).hexdigest()


def _file_count(spots: Iterable[Spot]) -> int:
    return len({spot.path for spot in spots})


def _fits(spots: Sequence[Spot], *, files: int, fewest: int = FEWEST) -> bool:
    return fewest <= len(_grouped(spots)) <= MOST and _file_count(spots) >= files


def propose(tree: Tree, families: Sequence[Family], count: int) -> list[Proposal]:
    """Up to `count` questions of different kinds, each about the best symbol that is left.

    Raises FairtrialError if the tree proves none.
    """
    known = candidates(tree)
    asked_about: set[str] = set()
    proposals: list[Proposal] = []
    for make in (_callers_of_best, _tests_of_best, _overrides_of_best, _parameter_of_best):
        if len(proposals) < count and (made := make(tree, known, families, asked_about)):
            proposals.append(made)
    if not proposals:
        raise FairtrialError(
            "no question here has an answer that the tree alone proves",
            hint="`--symbol NAME` says why one is not taken; or `--from-history`, or copy a folder"
            " of scenarios/core and write the places by hand",
        )
    return proposals


def propose_about(tree: Tree, name: str, count: int) -> list[Proposal]:
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
    if symbol.test_calls and not symbol.doubtful_tests:
        made += [tests(symbol, "as asked"), parameter(symbol, "as asked")]
    return _all_proven(tree, made)[:count]


def _all_proven(tree: Tree, made: Iterable[Proposal]) -> list[Proposal]:
    proven = [it for it in made if not list(unproven(tree, it))]
    if not proven:
        raise FairtrialError("no call of it is surely its own", where="--symbol")
    return proven


def _first(
    tree: Tree, made: Iterator[tuple[Symbol, Proposal]], asked_about: set[str]
) -> Proposal | None:
    for symbol, proposal in made:
        if not list(unproven(tree, proposal)):
            asked_about.add(symbol.name)
            return proposal
    return None


Asked = set[str]


def _callers_of_best(
    tree: Tree, known: Sequence[Symbol], _: Sequence[Family], asked: Asked
) -> Proposal | None:
    for files in (3, 2):
        fitting = [it for it in known if _fits(it.own_calls, files=files)]
        made = ((it, callers(it, _why(it, fitting))) for it in fitting)
        if proposal := _first(tree, made, asked):
            return proposal
    return None


def _tests_of_best(
    tree: Tree, known: Sequence[Symbol], _: Sequence[Family], asked: Asked
) -> Proposal | None:
    fitting = [
        it
        for it in known
        if not it.doubtful_tests and _fits(it.test_calls, files=1) and _all_inside(it.test_calls)
    ]
    # Of what was asked about before, if it has such tests: the steps are one conversation.
    fitting.sort(key=lambda it: it.name not in asked)
    return _first(tree, ((it, tests(it, _why(it, fitting))) for it in fitting), asked)


def _all_inside(spots: Iterable[Spot]) -> bool:
    return all(spot.inside for spot in spots)


def _overrides_of_best(
    tree: Tree, _: Sequence[Symbol], families: Sequence[Family], __: Asked
) -> Proposal | None:
    for family in families:
        proposal = overrides(family, f"of {len(families)} methods that are overridden")
        if not list(unproven(tree, proposal)):
            return proposal
    return None


def _parameter_of_best(
    tree: Tree, known: Sequence[Symbol], _: Sequence[Family], asked: Asked
) -> Proposal | None:
    fitting = [
        it
        for it in known
        if it.name not in asked and not it.doubtful_tests and _fits(it.calls, files=2)
    ]
    return _first(tree, ((it, parameter(it, _why(it, fitting))) for it in fitting), asked)


def _why(symbol: Symbol, fitting: Sequence[Symbol]) -> str:
    rivals = [it.name for it in fitting if it is not symbol][:3]
    others = f"; next: {', '.join(rivals)}" if rivals else ""
    return f"of {len(fitting)} that fit{others}"


# --- the questions ------------------------------------------------------------------------------


def callers(symbol: Symbol, why: str) -> Proposal:
    """Who calls it, and from where?"""
    spots = symbol.own_calls
    prompt = (
        f"`{symbol.shown}` is about to change. Where is it defined, and which functions outside of"
        " the tests call it? Give path:line for every call and the function it is in, and say what"
        " each caller needs it for."
    )
    return _proposal(
        name=f"callers-of-{_slug(symbol.name)}",
        prompt=prompt,
        proven={
            "definition": (0.2, "Is the definition found?", _definition(symbol)),
            "call_sites": (0.5, "Is every call there, with its function?", _calls(symbol, spots)),
        },
        left=("purpose", "Does it say rightly what each caller needs it for?"),
        about=f"who calls {symbol.shown} ({symbol.path}:{symbol.definition.line}): "
        f"{_counted(spots)}, {why}",
        spots=spots,
    )


def tests(symbol: Symbol, why: str) -> Proposal:
    """Which tests call it?"""
    spots = symbol.test_calls
    prompt = (
        f"Which tests call `{symbol.shown}` themselves? Give file, test and path:line for each, say"
        " what it asserts, and name behaviour of it that no test holds."
    )
    question = "Is every test there that calls it, with its place?"
    return _proposal(
        name=f"tests-of-{_slug(symbol.name)}",
        prompt=prompt,
        proven={"tests": (0.6, question, _calls(symbol, spots))},
        left=("assertions", "Does it say rightly what they assert, and what no test holds?"),
        about=f"which tests call {symbol.shown}: {_counted(spots)}, {why}",
        spots=spots,
    )


def parameter(symbol: Symbol, why: str) -> Proposal:
    """What has to be edited if it gets a parameter?"""
    spots = (*symbol.declared, *symbol.calls)
    prompt = (
        f"`{symbol.shown}` will take one more required argument. List every place that has to be"
        " edited, tests included, with path:line, and say where each caller would get the value."
    )
    return _proposal(
        name=f"parameter-of-{_slug(symbol.name)}",
        prompt=prompt,
        proven={
            "definition": (0.2, "Is the definition found?", _definition(symbol)),
            "edits": (0.5, "Is every call that has to be edited there?", _calls(symbol, spots)),
        },
        left=("value", "Does it say rightly where each caller would get the value?"),
        about=f"what changes if {symbol.shown} gets a parameter: {_counted(spots)}, {why}",
        spots=spots,
    )


def overrides(family: Family, why: str) -> Proposal:
    """Where is it defined, and who overrides it?"""
    base, name = family.base, family.name
    prompt = (
        f"Where is `{base}.{name}` defined, and which classes of this repository override or"
        " implement it, directly or through another class? Give path:line for each, and say how"
        " each differs from what it overrides."
    )
    facts = []
    for member in family.members:
        verb = "defines" if member.owner == base else "overrides"
        place = MustCite(path=member.path, line=member.line, end=member.end, symbol=name)
        says = f"{member.owner} {verb} {name} ({member.path}:{member.line})"
        facts.append(Fact(says=says, terms=((member.owner,),), cites=(place,)))
    return _proposal(
        name=f"overrides-of-{_slug(name)}",
        prompt=prompt,
        proven={"overrides": (0.6, "Is every class there that overrides it?", tuple(facts))},
        left=("differences", "Does it say rightly how each differs?"),
        about=f"who overrides {base}.{name}: {len(family.members) - 1} classes, {why}",
        spots=[
            Spot(path=it.path, line=it.line, inside=it.owner)
            for it in family.members
            if it.owner != base
        ],
    )


def _definition(symbol: Symbol) -> tuple[Fact, ...]:
    place = MustCite(
        path=symbol.path,
        line=symbol.definition.line,
        end=symbol.definition.end,
        symbol=symbol.name,
    )
    says = f"{symbol.shown} is defined at {symbol.path}:{symbol.definition.line}"
    terms = ((symbol.name,), ("defin*", "declar*", "implement*", "lives", "found"))
    return (Fact(says=says, terms=terms, cites=(place,)),)


def _calls(symbol: Symbol, spots: Sequence[Spot]) -> tuple[Fact, ...]:
    facts = []
    for some in _grouped(spots):
        first = some[0]
        who = first.inside or first.path.rpartition("/")[2]
        verb = "declares" if first in symbol.declared else "calls"
        shown = f"{first.owner}.{who}" if first.owner and first.inside else who
        lines = [spot.line for spot in some]
        where = ", ".join(f"{first.path}:{line}" for line in lines)
        says = f"{shown} {verb} {symbol.name} ({where})"
        terms = ((MARK.sub("", who),),)
        facts.append(Fact(says=says, terms=terms, cites=tuple(_places(first.path, lines))))
    return tuple(facts)


def _grouped(spots: Iterable[Spot]) -> list[list[Spot]]:
    """Those of one function together, one of each line."""
    groups: dict[tuple[str, str, int], dict[int, Spot]] = {}
    for spot in spots:
        groups.setdefault((spot.path, spot.inside, spot.start), {}).setdefault(spot.line, spot)
    return [list(lines.values()) for lines in groups.values()]


def _places(path: str, lines: Sequence[int]) -> Iterator[MustCite]:
    """Lines so near to each other that one citation points at both are one place."""
    start = end = lines[0]
    for line in lines[1:]:
        if line - end > _NEAR:
            yield _place(path, start, end)
            start = line
        end = line
    yield _place(path, start, end)


def _place(path: str, start: int, end: int) -> MustCite:
    return MustCite(path=path, line=start, end=end if end > start else None)


def _counted(spots: Sequence[Spot]) -> str:
    count = len(_grouped(spots))
    return f"{count} functions in {_file_count(spots)} files"


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower()).strip("-") or "x"


Proven = Mapping[str, tuple[float, str, tuple[Fact, ...]]]
"""Criterion -> its weight, its question and its facts."""


def _proposal(  # noqa: PLR0913 - the parts of one question
    *,
    name: str,
    prompt: str,
    proven: Proven,
    left: tuple[str, str],
    about: str,
    spots: Sequence[Spot],
) -> Proposal:
    criteria = {
        key: Criterion(weight=weight, question=question, facts=facts)
        for key, (weight, question, facts) in proven.items()
    }
    criterion, question = left
    rest = round(1 - sum(weight for weight, _, _ in proven.values()), 2)
    criteria[criterion] = Criterion(weight=rest, question=question, facts=())
    facts = [fact for _, _, some in proven.values() for fact in some]
    places = places_of(facts)
    step = Step(name=name, prompt=prompt, checks=tuple(_checks(prompt, spots)), must_cite=places)
    bullets = "".join(f"- {fact.says}\n" for fact in facts)
    return Proposal(
        step=step,
        rubric=RubricStep(name=name, criteria=criteria),
        reference=f"{bullets}\n{TO_WRITE}: {question}\n",
        to_write={criterion: question},
        about=about,
    )


def places_of(facts: Iterable[Fact]) -> tuple[MustCite, ...]:
    """Each once."""
    return tuple(dict.fromkeys(place for fact in facts for place in fact.cites))


def _checks(prompt: str, spots: Sequence[Spot]) -> Iterator[Check]:
    """Names that a right answer holds and the prompt does not give away."""
    names = [MARK.sub("", spot.inside) for spot in spots]
    # `error` or `use` stand in any answer; a name of two words does not.
    names = [name for name in names if len(name) > 3 and name not in prompt]
    names = [name for name in names if is_compound(name)] or names
    for name in list(dict.fromkeys(names))[:_MOST_KEYWORDS]:
        yield Check(kind="word", value=name)
    yield Check(kind="min_files", value=min(_file_count(spots), 4))
    for path in sorted({spot.path for spot in spots})[:_MOST_KEYWORDS]:
        yield Check(kind="contains", value=path.rpartition("/")[2], required=False)


# --- proven by what verifies citations ----------------------------------------------------------


def unproven(tree: Tree, proposal: Proposal) -> Iterator[MustCite]:
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
