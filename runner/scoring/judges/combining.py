"""Several readings of one answer as one verdict: the mean of duplicates, the median of a panel."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

from runner.protocols import Judge
from runner.records import (
    CriterionVerdict,
    FactVerdict,
    FalseClaim,
    Rating,
    Rubric,
    RubricStep,
    StepVerdict,
    Verdict,
)
from runner.scoring.judges.counting import step_verdict

Centre = Callable[[Sequence[float]], float]


def mean(figures: Sequence[float]) -> float:
    return math.fsum(figures) / len(figures)


def median(figures: Sequence[float]) -> float:
    return float(statistics.median(figures))


def combined(
    rubric: Rubric,
    verdicts: Sequence[Verdict],
    centre: Centre,
    *,
    judge: Judge,
    ratings: Sequence[Rating],
) -> Verdict:
    """Criterion by criterion; steps and the whole follow from those, by the rubric's weights.

    Of each fact the reading nearest to the centre is shown, with the centre as its credit.
    """
    steps = []
    for place, step in enumerate(rubric.steps):
        steps.append(_step(step, [verdict.steps[place] for verdict in verdicts], centre))
    return Verdict(
        judge=judge.name,
        identity=judge.identity,
        inputs=verdicts[0].inputs,
        quality=mean([step.quality for step in steps]),
        steps=tuple(steps),
        facts=_facts([verdict.facts for verdict in verdicts], centre),
        false_claims=_claims(verdicts),
        ratings=tuple(ratings),
    )


def _step(step: RubricStep, judged: Sequence[StepVerdict], centre: Centre) -> StepVerdict:
    criteria = {}
    for name in step.criteria:
        said = [item.criteria[name] for item in judged]
        score = centre([item.score for item in said])
        nearest = min(said, key=lambda item: abs(item.score - score))
        shown = " | ".join(f"{item.score:.2f}" for item in said)
        reason = f"{shown}; {nearest.reason}"
        criteria[name] = CriterionVerdict(score=score, reason=reason)
    return step_verdict(step, criteria)


def _facts(said: Sequence[Sequence[FactVerdict]], centre: Centre) -> tuple[FactVerdict, ...]:
    """Of the readings that say anything of facts: a panel may hold a judge that does not."""
    facts = []
    for readings in zip(*filter(None, said), strict=True):
        credit = centre([fact.credit for fact in readings])
        nearest = min(readings, key=lambda fact: abs(fact.credit - credit))
        facts.append(nearest.model_copy(update={"credit": credit}))
    return tuple(facts)


def _claims(verdicts: Sequence[Verdict]) -> tuple[FalseClaim, ...]:
    """Each once, whoever made it."""
    claims: dict[tuple[str, str], FalseClaim] = {}
    for verdict in verdicts:
        for claim in verdict.false_claims:
            claims.setdefault((claim.step, claim.quote), claim)
    return tuple(claims.values())
