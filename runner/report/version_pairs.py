"""Head against base, pair by pair: two one-sided tests of one margin."""

from __future__ import annotations

import math
import statistics as plain
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from runner.records import Scenario
from runner.records.run_store import LoadedCell, LoadedRun
from runner.records.versions import PairedAnswers, VersionAnswer
from runner.report.clusters import topics_of
from runner.report.figures import bounds, compared_score, rounded, values
from runner.report.view import ArmView, RunView, view_of
from runner.scoring import statistics
from runner.support.code_digest import makes_figures

ONE_SIDED = 0.05
_MOST_CLUSTERS = 2_000
_POWER_Z = 0.84
"""Of a normal figure: four of five."""
_LEVEL_Z = 1.645


@makes_figures
@dataclass(frozen=True, kw_only=True)
class VersionPairs:
    """A run whose arms are two versions of one server, and perhaps the shell."""

    run: LoadedRun
    scenarios: Mapping[str, Scenario]
    base: str
    head: str
    """Names of their arms."""

    @property
    def view(self) -> RunView:
        return view_of(self.run, topics_of(self.scenarios))

    def answers(self) -> Iterator[VersionAnswer]:
        view = self.view
        for model in view.models:
            arms = {arm.server: _values(arm) for arm in view.arms_of(model)}
            shell = arms.get("shell", {})
            for trial, before in arms.get(self.base, {}).items():
                after = arms.get(self.head, {}).get(trial)
                if after is not None:
                    yield VersionAnswer(
                        scenario=trial[0],
                        trial=trial[1],
                        model=model,
                        base=rounded(before),
                        head=rounded(after),
                        shell=shell.get(trial),
                    )

    def paired(self, margin: float) -> Iterator[PairedAnswers]:
        view = self.view
        for model in view.models:
            arms = {arm.server: _values(arm) for arm in view.arms_of(model)}
            found = statistics.trial_differences(arms[self.base], arms[self.head])
            if not found:
                continue
            means = view.clusters.means(statistics.scenario_means(found))
            language_model = model in view.language_models
            tested = within_margin(statistics.ClusterMean(figures=means), margin)
            yield tested.model_copy(
                update={
                    "model": model,
                    "language_model": language_model,
                    "by_keys": view.clusters.by_keys,
                    "pairs": len(found),
                    "cluster": view.clusters.kind,
                }
            )


def _values(arm: ArmView) -> Mapping[statistics.Trial, float]:
    return values(arm.measured, compared_score(arm.clusters))


def with_earlier(run: LoadedRun, earlier: LoadedRun | None) -> LoadedRun:
    """The cells of both as one run's: a base's that were measured before stand beside the head's.

    Where a pair's fingerprints differ in anything but the server, the pair is left out.
    """
    if earlier is None:
        return run
    theirs = tuple(it for it in earlier.cells if _is_comparable(it, run.cells))
    cells = (*(it.cell for it in theirs), *run.plan.cells)
    return LoadedRun(
        plan=run.plan.model_copy(update={"cells": cells}),
        cells=(*theirs, *run.cells),
        contradictions=(*earlier.contradictions, *run.contradictions),
    )


def _is_comparable(one: LoadedCell, others: Sequence[LoadedCell]) -> bool:
    for other in others:
        if other.cell.block == one.cell.block and one.result and other.result:
            prints = one.result.fingerprint, other.result.fingerprint
            if prints[0] is None or prints[1] is None:
                return False
            return not statistics.differences(prints[0], prints[1])
    return False


def within_margin(mean: statistics.ClusterMean, margin: float) -> PairedAnswers:
    """Two one-sided tests at 5 % (Schuirmann 1987, doi:10.1007/BF01068419).

    `no_worse`: worse by the margin is refused. `equivalent`: better by it is, too. `worse`: that it
    is worse by less than the margin is refused. Else there are too few to tell.
    """
    p_worse, p_better = mean.p_above(-margin), mean.p_below(margin)
    low, high = bounds(mean.interval(1 - 2 * ONE_SIDED))
    says = "too_few"
    if p_worse <= ONE_SIDED:
        says = "equivalent" if p_better <= ONE_SIDED else "no_worse"
    elif mean.p_below(-margin) <= ONE_SIDED:
        says = "worse"
    return PairedAnswers.model_validate(
        {
            "model": "",
            "language_model": False,
            "pairs": len(mean.figures),
            "clusters": len(mean.figures),
            "cluster": "",
            "mean": rounded(mean.value),
            "low": low,
            "high": high,
            "margin": margin,
            "p_worse": round(p_worse, 4),
            "p_better": round(p_better, 4),
            "says": says,
            "more": _more(mean, margin) if says == "too_few" else None,
        }
    )


def _more(mean: statistics.ClusterMean, margin: float) -> int | None:
    """Clusters beyond those that there are, if the next are as these: four times of five it tells.

    Normal: n = ((1.645 + 0.84) · sd / distance from the margin)². None past two thousand.
    """
    found = len(mean.figures)
    distance = abs(mean.value + margin)
    sd = plain.stdev(mean.figures) if found > 1 else 0.0
    # With fewer no test of 5 % can refuse anything: 0.5^5 is the first below.
    least = math.ceil(-math.log2(ONE_SIDED))
    if not distance:
        return None
    wanted = max(least, math.ceil(((_LEVEL_Z + _POWER_Z) * sd / distance) ** 2))
    return None if wanted > _MOST_CLUSTERS else max(1, wanted - found)
