"""Questions whose answers the tree proves, each with its places, keywords and half a rubric.

What the tree cannot tell (why a caller needs it, what a test really asserts) is left to a person:
a criterion without facts, and a line that begins with TO_WRITE.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from runner.authoring.drafting.doubts import is_compound
from runner.authoring.drafting.families import Family
from runner.authoring.drafting.tree import FunctionWithCalls, Spot
from runner.grounding.pointing import TOLERANCE
from runner.grounding.spelling import MARK
from runner.records import Check, Criterion, Fact, MustCite, RubricStep, Step

TO_WRITE = "TO WRITE"
"""Begins what is left to a person; `fairtrial check` lists every line that holds it."""
_MOST_KEYWORDS = 6
_NEAR = 2 * TOLERANCE


@dataclass(frozen=True, kw_only=True)
class StepDraft:
    """One step of a scenario, to be finished by hand."""

    step: Step
    rubric: RubricStep
    reference: str
    """The half of a right answer that is proven, and what is left to write."""
    to_write: Mapping[str, str]
    """Criterion -> what its facts have to say."""
    about: str
    """For stderr: what was chosen, and why."""


# --- the questions ------------------------------------------------------------------------------


def callers(symbol: FunctionWithCalls, why: str) -> StepDraft:
    """Who calls it, and from where?"""
    spots = symbol.own_calls
    prompt = (
        f"`{symbol.shown}` is about to change. Where is it defined, and which functions outside of"
        " the tests call it? Give path:line for every call and the function it is in, and say what"
        " each caller needs it for."
    )
    return proposal(
        name=f"callers-of-{_slug(symbol.name)}",
        prompt=prompt,
        proven={
            "definition": (0.2, "Is the definition found?", _definition(symbol)),
            "call_sites": (0.5, "Is every call there, with its function?", _calls(symbol, spots)),
        },
        left=("purpose", "what each caller needs it for"),
        about=f"who calls {symbol.shown} ({symbol.path}:{symbol.definition.line}): "
        f"{_counted(spots)}, {why}",
        checks=_checks(prompt, spots),
    )


def tests(symbol: FunctionWithCalls, why: str) -> StepDraft:
    """Which tests call it?"""
    spots = symbol.test_calls
    prompt = (
        f"Which tests call `{symbol.shown}` themselves? Give file, test and path:line for each, say"
        " what it asserts, and name behaviour of it that no test holds."
    )
    question = "Is every test there that calls it, with its place?"
    return proposal(
        name=f"tests-of-{_slug(symbol.name)}",
        prompt=prompt,
        proven={"tests": (0.6, question, _calls(symbol, spots))},
        left=("assertions", "what they assert, and what no test holds"),
        about=f"which tests call {symbol.shown}: {_counted(spots)}, {why}",
        checks=_checks(prompt, spots),
    )


def parameter(symbol: FunctionWithCalls, why: str) -> StepDraft:
    """What has to be edited if it gets a parameter?"""
    spots = (*symbol.declared, *symbol.calls)
    prompt = (
        f"`{symbol.shown}` will take one more required argument. List every place that has to be"
        " edited, tests included, with path:line, and say where each caller would get the value."
    )
    return proposal(
        name=f"parameter-of-{_slug(symbol.name)}",
        prompt=prompt,
        proven={
            "definition": (0.2, "Is the definition found?", _definition(symbol)),
            "edits": (0.5, "Is every call that has to be edited there?", _calls(symbol, spots)),
        },
        left=("value", "where each caller would get the value"),
        about=f"what changes if {symbol.shown} gets a parameter: {_counted(spots)}, {why}",
        checks=_checks(prompt, spots),
    )


def overrides(family: Family, why: str) -> StepDraft:
    """Where is it defined, and who overrides it?"""
    base, name = family.base, family.name
    prompt = (
        f"Where is `{family.shown}` defined, and which {family.of} outside of the tests and"
        " examples override or implement it, directly or through another? Give path:line for each,"
        " and say how each differs from what it overrides."
    )
    facts = []
    for member in family.members:
        verb = "defines" if member.owner == base else "overrides"
        place = MustCite(path=member.path, line=member.line, end=member.end, symbol=name)
        says = f"{member.owner} {verb} {name} ({member.path}:{member.line})"
        facts.append(Fact(says=says, terms=((member.owner,),), cites=(place,)))
    spots = [
        Spot(path=it.path, line=it.line, inside=it.owner)
        for it in family.members
        if it.owner != base
    ]
    return proposal(
        name=f"overrides-of-{_slug(name)}",
        prompt=prompt,
        proven={"overrides": (0.6, "Is everyone there that overrides it?", tuple(facts))},
        left=("differences", "how each differs from what it overrides"),
        about=f"who overrides {family.shown}: {len(family.members) - 1} {family.of}, {why}",
        checks=_checks(prompt, spots),
    )


def _definition(symbol: FunctionWithCalls) -> tuple[Fact, ...]:
    place = MustCite(
        path=symbol.path,
        line=symbol.definition.line,
        end=symbol.definition.end,
        symbol=symbol.name,
    )
    says = f"{symbol.shown} is defined at {symbol.path}:{symbol.definition.line}"
    terms = ((symbol.name,), ("defin*", "declar*", "implement*", "lives", "found"))
    return (Fact(says=says, terms=terms, cites=(place,)),)


def _calls(symbol: FunctionWithCalls, spots: Sequence[Spot]) -> tuple[Fact, ...]:
    facts = []
    for some in grouped(spots):
        first = some[0]
        who = first.inside or first.path.rpartition("/")[2]
        verb = "declares" if first in symbol.declared else "calls"
        # Not `Shop.open`: a judge takes dotted words for paths, and rows that differ by nothing
        # else for one statement that sprays.
        shown = f"{who} of {first.owner}" if first.owner and first.inside else who
        lines = [spot.line for spot in some]
        where = ", ".join(f"{first.path}:{line}" for line in lines)
        says = f"{shown} {verb} {symbol.name} ({where})"
        terms = ((MARK.sub("", who),),)
        facts.append(Fact(says=says, terms=terms, cites=tuple(_places(first.path, lines))))
    return tuple(facts)


def grouped(spots: Iterable[Spot]) -> list[list[Spot]]:
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
            yield lines_of(path, start, end)
            start = line
        end = line
    yield lines_of(path, start, end)


def lines_of(path: str, start: int, end: int, symbol: str | None = None) -> MustCite:
    """One line has no end."""
    return MustCite(path=path, line=start, end=end if end > start else None, symbol=symbol)


def _counted(spots: Sequence[Spot]) -> str:
    counts = {"function": len(grouped(spots)), "file": file_count(spots)}
    return " in ".join(f"{count} {noun}{'s'[: count != 1]}" for noun, count in counts.items())


def file_count(spots: Iterable[Spot]) -> int:
    return len({spot.path for spot in spots})


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower()).strip("-") or "x"


Proven = Mapping[str, tuple[float, str, tuple[Fact, ...]]]
"""Criterion -> its weight, its question and its facts."""


def proposal(  # noqa: PLR0913 - the parts of one question
    *,
    name: str,
    prompt: str,
    proven: Proven,
    left: tuple[str, str],
    about: str,
    checks: Iterable[Check],
) -> StepDraft:
    """Of criteria that the tree proves, and one that is left to write."""
    criteria = {
        key: Criterion(weight=weight, question=question, facts=facts)
        for key, (weight, question, facts) in proven.items()
    }
    criterion, rest_of_it = left
    rest = round(1 - sum(weight for weight, _, _ in proven.values()), 2)
    criteria[criterion] = Criterion(
        weight=rest, question=f"Does it say rightly {rest_of_it}?", facts=()
    )
    facts = [fact for _, _, some in proven.values() for fact in some]
    places = places_of(facts)
    step = Step(name=name, prompt=prompt, checks=tuple(checks), must_cite=places)
    bullets = "".join(f"- {quoted(fact)}\n" for fact in facts)
    return StepDraft(
        step=step,
        rubric=RubricStep(name=name, criteria=criteria),
        reference=f"{bullets}\n{TO_WRITE}: {rest_of_it}\n",
        to_write={criterion: rest_of_it},
        about=about,
    )


def quoted(fact: Fact) -> str:
    """What it says, the name before its places as code: else nothing ties it to the lines."""
    return re.sub(r"(\S+) \(", r"`\1` (", fact.says, count=1)


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
    yield Check(kind="min_files", value=min(file_count(spots), 4))
    for path in sorted({spot.path for spot in spots})[:_MOST_KEYWORDS]:
        yield Check(kind="contains", value=path.rpartition("/")[2], required=False)
