"""Means over an arm's clusters, with the reason for each cell that is in none of them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from runner.records import (
    Adoption,
    Fairness,
    GroundingSummary,
    Record,
    Score,
    Scored,
    ShiftedRates,
    Unscored,
)
from runner.records.run_store import LoadedCell
from runner.report.clusters import Clusters
from runner.report.records import (
    AdoptionFigures,
    FairnessFigures,
    Figure,
    GroundingParts,
    ShiftedParts,
)
from runner.report.view import ArmView, fairness_halves, fairness_of, trial_of
from runner.scoring import ADOPTION, FAIRNESS, statistics
from runner.support.code_digest import makes_figures

# --- one score of a cell --------------------------------------------------------------------

ScoreOf = Callable[[LoadedCell], Score | None]
"""Picks one score of a cell. None: its scorecard has no such score, or it has no scorecard yet."""


def _of_fairness(pick: Callable[[Fairness], Score | None]) -> ScoreOf:
    def score_of(cell: LoadedCell) -> Score | None:
        fairness = fairness_of(cell)
        if fairness is None:
            return None
        return pick(fairness)

    return score_of


def _of_adoption(pick: Callable[[Adoption], Score | None]) -> ScoreOf:
    def score_of(cell: LoadedCell) -> Score | None:
        if cell.scorecard is None:
            return None
        return pick(cell.scorecard.adoption)

    return score_of


whole_fairness = _of_fairness(lambda fairness: fairness.score)
_whole_adoption = _of_adoption(lambda adoption: adoption.score)
_must_cite_recall = _of_fairness(lambda fairness: fairness.must_cite_recall)


def _fairness_part(name: str) -> ScoreOf:
    return _of_fairness(lambda fairness: fairness.parts.get(name))


def _adoption_part(name: str) -> ScoreOf:
    return _of_adoption(lambda adoption: adoption.parts.get(name))


key_f1 = _fairness_part("llm_quality")
"""F1 over places, where every question has a key."""


def compared_score(clusters: Clusters) -> ScoreOf:
    """The figure in which a run's arms are compared."""
    return key_f1 if clusters.by_keys else whole_fairness


def values(cells: Iterable[LoadedCell], score_of: ScoreOf) -> dict[statistics.Trial, float]:
    """Of the cells that are scored."""
    scored = {}
    for cell in cells:
        score = score_of(cell)
        if isinstance(score, Scored):
            scored[trial_of(cell)] = score.value
    return scored


_CALLS = ("server_calls", "server_errors", "shell_calls", "shell_searches")


# --- their means ----------------------------------------------------------------------------


@makes_figures
def fairness_figures(arm: ArmView) -> FairnessFigures:
    return FairnessFigures(
        score=figure_of(arm, whole_fairness),
        parts={name: figure_of(arm, _fairness_part(name)) for name in FAIRNESS},
        must_cite_recall=figure_of(arm, _must_cite_recall),
    )


@makes_figures
def adoption_figures(arm: ArmView) -> AdoptionFigures | None:
    """None where there is no server to adopt."""
    if not arm.has_server:
        return None
    halves = [cell.scorecard.adoption for cell in arm.usable if cell.scorecard]
    return AdoptionFigures(
        score=figure_of(arm, _whole_adoption),
        parts={name: figure_of(arm, _adoption_part(name)) for name in ADOPTION},
        **_summed(halves, _CALLS),
    )


def _summed(records: Iterable[Record], names: Iterable[str]) -> dict[str, int]:
    """Counts that the records have, each over all of them."""
    totals = dict.fromkeys(names, 0)
    for record in records:
        for name in totals:
            totals[name] += getattr(record, name)
    return totals


def figure_of(arm: ArmView, score_of: ScoreOf) -> Figure:
    scored = values(arm.usable, score_of)
    means = arm.clusters.means(statistics.scenario_means(scored))
    low, high = bounds(of_shares(interval_of(arm, means)))
    return Figure(
        value=_rounded_mean(means),
        low=low,
        high=high,
        cells=len(scored),
        planned=len(arm.cells),
        reasons=tuple(_reasons(arm, score_of)),
    )


def _reasons(arm: ArmView, score_of: ScoreOf) -> Iterator[str]:
    """`not finished (2 of 6 cells)`."""
    missing = Counter(why_missing(arm, cell, score_of) for cell in arm.cells)
    for reason, count in missing.items():
        if reason:
            yield f"{reason} ({count} of {len(arm.cells)} cells)"


def why_missing(arm: ArmView, cell: LoadedCell, score_of: ScoreOf) -> str:
    """Why a cell is in no mean; empty if it is in one."""
    why_unusable = _why_unusable(arm, cell)
    if why_unusable:
        return why_unusable
    score = score_of(cell)
    if score is None:
        return "not scored yet"
    if isinstance(score, Unscored):
        return score.reason
    return ""


def _why_unusable(arm: ArmView, cell: LoadedCell) -> str:
    if cell.result is None:
        return "not finished"
    if not cell.measured:
        return f"broken: {cell.result.outcome.kind}"
    if not cell.believed:
        return "not believed: its files contradict each other"
    if cell.cell.id in arm.differs:
        return "not comparable: its fingerprint differs"
    if cell.cell.id in arm.unpaired:
        return "unpaired: its counterpart is not there"
    return ""


def interval_of(arm: ArmView, means: tuple[float, ...]) -> statistics.Interval | None:
    """95 %, of the clusters' means; None if there are too few for one."""
    if len(means) < arm.clusters.least(1):
        return None
    return statistics.ClusterMean(figures=means).interval()


def of_shares(interval: statistics.Interval | None) -> statistics.Interval | None:
    """No score lies below 0 or above 1, whatever Student's t allows."""
    if interval is None:
        return None
    return statistics.Interval(low=max(0.0, interval.low), high=min(1.0, interval.high))


def bounds(interval: statistics.Interval | None) -> tuple[float | None, float | None]:
    if interval is None:
        return None, None
    return rounded(interval.low), rounded(interval.high)


def _rounded_mean(values: Sequence[float]) -> float | None:
    if not values:
        return None
    return rounded(statistics.mean(values))


def rounded(score: float) -> float:
    """To the 3 decimals of a report."""
    return round(score, 3) + 0.0  # + 0.0: otherwise a tiny negative prints as -0.000


# --- citations ------------------------------------------------------------------------------

_COUNTS = [name for name, it in GroundingParts.model_fields.items() if it.annotation is int]


def grounding_parts(arm: ArmView) -> GroundingParts:
    """Pooled over citations, not over cells: one lucky citation is no answer full of them."""
    summaries = [fairness.grounding for fairness in fairness_halves(arm.usable)]
    return GroundingParts(
        **_summed(summaries, _COUNTS),
        weighted_rate=_pooled(summaries, "weighted_rate", "total_weight"),
        strict_rate=_pooled(summaries, "strict_rate", "total"),
        headline_rate=_pooled(summaries, "headline_rate", "total"),
        definition_rate=_pooled(summaries, "definition_rate", "with_symbol"),
        chance_rate=_pooled(summaries, "chance_rate", "total"),
        named_rate=_pooled(summaries, "named_rate", "total"),
        shifted=tuple(_shifted(summaries)),
    )


def _shifted(summaries: Sequence[GroundingSummary]) -> Iterator[ShiftedParts]:
    """Of each shift, over the answers."""
    by_shift: defaultdict[int, list[_Shifted]] = defaultdict(list)
    for summary in summaries:
        for rates in summary.shifted:
            by_shift[rates.lines].append(_Shifted(summary.total, rates))
    for lines, shifted in sorted(by_shift.items()):
        yield ShiftedParts(
            lines=lines,
            weighted_rate=_mean(
                (one.rates.weighted_rate, one.rates.total_weight) for one in shifted
            ),
            headline_rate=_mean((one.rates.headline_rate, one.total) for one in shifted),
        )


class _Shifted(NamedTuple):
    total: int
    """The answer's citations."""
    rates: ShiftedRates


def _pooled(summaries: Iterable[GroundingSummary], rate: str, count: str) -> float | None:
    """The mean of the answers' rates, weighted by the citations that each rate is of."""
    return _mean((getattr(summary, rate), getattr(summary, count)) for summary in summaries)


def _mean(rates: Iterable[tuple[float | None, float]]) -> float | None:
    """Weighted; a rate that is None has no part in it."""
    known = [(rate, weight) for rate, weight in rates if rate is not None]
    total = math.fsum(weight for _, weight in known)
    if not total:
        return None
    return rounded(math.fsum(rate * weight for rate, weight in known) / total)
