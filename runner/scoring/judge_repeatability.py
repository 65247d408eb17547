"""How far a judge's readings of one answer lie apart, and what may be ranked for all that.

Standard deviations are pooled within answers, with n - 1: √(Σ (x - mean)² / Σ (n - 1)). Divided by
n, as some harnesses do, two duplicates would show √½ of the spread they have (0.071 as 0.05), and
the floor would let through what is noise.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from runner.records import Count, Rating, Record, StepVerdict, Verdict
from runner.records.run_store import RunStore
from runner.scoring import statistics

SMALLEST_DELTA = 0.05
"""Between criteria: a smaller one is never shown as a difference."""
REWRITE_SD = 0.07
"""A criterion that spreads further is read differently each time: its facts want other words."""
RatingPlace = tuple[str, ...]
"""(scenario), (scenario, step) or (scenario, step, criterion)."""
SpreadLayer = Literal["criterion", "step", "scenario"]
DEPTHS: dict[SpreadLayer, int] = {"criterion": 3, "step": 2, "scenario": 1}
"""Words of a place."""


class Spread(Record):
    """Of one scenario, step or criterion; or of all of them, pooled."""

    place: tuple[str, ...]
    """Scenario, step, criterion, as far down as it goes; empty for all."""
    sd: Annotated[float, Field(ge=0)]
    answers: Count
    """That were read more than once."""
    readings: Count


class JudgeNoise(Record):
    judges: tuple[str, ...]
    answers: Count
    """With a verdict."""
    criterion: Spread | None
    """Pooled; None if no answer was read twice by one judge."""
    step: Spread | None
    scenario: Spread | None
    each: tuple[Spread, ...]
    """Of every scenario, step and criterion."""
    floor: float | None
    """Two scenario figures differ by more in 5 % of answers that are equally good."""
    rewrite: tuple[tuple[str, ...], ...]
    """Criteria that are read differently each time."""
    alpha: float | None
    """Krippendorff's, interval, over criteria; None if one judge spoke."""
    alpha_units: Count
    says: str
    """What may be ranked, in a sentence."""


def noise_of(store: RunStore) -> JudgeNoise:
    """Of a run's scorecards, as they lie there."""
    verdicts = []
    for cell in store.plan().cells:
        card = store.stored_scorecard(cell.id)
        if card is not None and card.fairness.verdict is not None:
            verdicts.append((cell.scenario, card.fairness.verdict))
    return judge_noise(verdicts)


def judge_noise(verdicts: Sequence[tuple[str, Verdict]]) -> JudgeNoise:
    """`verdicts`: (scenario, verdict) of each answer."""
    groups = _groups(verdicts)
    pooled = {layer: _spread((), _of_depth(groups, depth)) for layer, depth in DEPTHS.items()}
    each = tuple(filter(None, (_spread(place, groups[place]) for place in sorted(groups))))
    floor = verdict_floor([verdict for _, verdict in verdicts])
    units = agreement_units([verdict for _, verdict in verdicts])
    judges = {rating.judge for _, verdict in verdicts for rating in ratings_of(verdict)}
    noisy = [spread.place for spread in each if len(spread.place) == 3 and spread.sd > REWRITE_SD]
    return JudgeNoise(
        judges=tuple(sorted(judges)),
        answers=len(verdicts),
        **pooled,
        each=each,
        floor=floor.limit() if floor else None,
        rewrite=tuple(noisy),
        alpha=statistics.alpha(units) if len(judges) > 1 else None,
        alpha_units=len(units) if len(judges) > 1 else 0,
        says=_says(floor),
    )


def _says(floor: statistics.Repeatability | None) -> str:
    if floor is None:
        return (
            "No answer was read twice by one judge: a judge without a model reads alike each time, "
            "and of any other the noise is unknown until it judges with --duplicates 2 or more."
        )
    return (
        f"Rank by scenario figures alone, and only where two of them differ by more than "
        f"{floor.limit():.3f}; steps and criteria explain, and rank nobody."
    )


# --- ratings --------------------------------------------------------------------------------


def ratings_of(verdict: Verdict) -> tuple[Rating, ...]:
    """Its readings; a verdict that is one reading is its own."""
    if verdict.ratings:
        return verdict.ratings
    whole = Rating(judge=verdict.judge, duplicate=1, quality=verdict.quality, steps=verdict.steps)
    return (whole,)


def duplicates_of(verdict: Verdict) -> list[list[Rating]]:
    """Readings of one judge, judge by judge; none where a judge read once."""
    by_judge: dict[str, list[Rating]] = defaultdict(list)
    for rating in verdict.ratings:
        by_judge[rating.judge].append(rating)
    return [ratings for ratings in by_judge.values() if len(ratings) > 1]


def verdict_floor(verdicts: Iterable[Verdict]) -> statistics.Repeatability | None:
    """How far verdicts on one answer lie apart: the spread of its readings, over √(their number).

    None if nothing was read twice.
    """
    groups, sizes = [], []
    for verdict in verdicts:
        for ratings in duplicates_of(verdict):
            groups.append([rating.quality for rating in ratings])
            sizes.append(len(ratings))
    single = statistics.repeatability(groups)
    if single is None:
        return None
    # The fewest readings that any verdict is the mean of: more would promise a floor it lacks.
    sd = single.sd / math.sqrt(min(sizes))
    return statistics.Repeatability(sd=sd, groups=single.groups, figures=single.figures)


def agreement_units(verdicts: Iterable[Verdict]) -> list[list[float]]:
    """Criterion by criterion of each answer, what each judge gave: the mean of its readings."""
    units = []
    for verdict in verdicts:
        by_judge: dict[str, list[Rating]] = defaultdict(list)
        for rating in ratings_of(verdict):
            by_judge[rating.judge].append(rating)
        for place in _criteria(verdict.steps):
            unit = []
            for ratings in by_judge.values():
                unit.append(statistics.mean([_criteria(rating.steps)[place] for rating in ratings]))
            units.append(unit)
    return units


def _criteria(steps: Sequence[StepVerdict]) -> dict[tuple[str, str], float]:
    scores = {}
    for step in steps:
        for name, criterion in step.criteria.items():
            scores[step.name, name] = criterion.score
    return scores


# --- spread ---------------------------------------------------------------------------------


def _groups(verdicts: Iterable[tuple[str, Verdict]]) -> Mapping[RatingPlace, list[list[float]]]:
    """RatingPlace -> of each answer, the figures of one judge's readings."""
    groups: dict[RatingPlace, list[list[float]]] = defaultdict(list)
    for scenario, verdict in verdicts:
        for ratings in duplicates_of(verdict):
            for place, figures in _figures(scenario, ratings).items():
                groups[place].append(figures)
    return groups


def _figures(
    scenario: str, readings: Iterable[Rating | Verdict]
) -> Mapping[RatingPlace, list[float]]:
    figures: dict[RatingPlace, list[float]] = defaultdict(list)
    for reading in readings:
        figures[scenario,].append(reading.quality)
        for step in reading.steps:
            figures[scenario, step.name].append(step.quality)
            for name, criterion in step.criteria.items():
                # Two steps often have a criterion of the same name: they are not duplicates.
                figures[scenario, step.name, name].append(criterion.score)
    return figures


def layers(
    repeats: Iterable[Iterable[Verdict]],
) -> Iterator[tuple[SpreadLayer, statistics.Repeatability]]:
    """How far verdicts on trials of one cell lie apart, from criteria up; none if none repeats."""
    groups: dict[RatingPlace, list[list[float]]] = defaultdict(list)
    for verdicts in repeats:
        for place, figures in _figures("", verdicts).items():
            groups[place].append(figures)
    for layer, depth in DEPTHS.items():
        found = statistics.repeatability(_of_depth(groups, depth))
        if found is not None:
            yield layer, found


def _of_depth(groups: Mapping[RatingPlace, list[list[float]]], depth: int) -> list[list[float]]:
    pooled: list[list[float]] = []
    for place, figures in groups.items():
        if len(place) == depth:
            pooled += figures
    return pooled


def _spread(place: RatingPlace, groups: Sequence[Sequence[float]]) -> Spread | None:
    found = statistics.repeatability(groups)
    if found is None:
        return None
    return Spread(place=place, sd=found.sd, answers=found.groups, readings=found.figures)
