"""An arm's fairness against the shell's or another's, and what may be said of the difference."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

from runner.records import Standing, Unscored, is_self_check
from runner.records.run_store import LoadedCell
from runner.report.clusters import Clusters
from runner.report.figures import bounds, compared_score, key_f1, rounded, values
from runner.report.keyed_figures import places_found
from runner.report.records import ArmPair, Delta, Judgement, Layer, NoiseLayer, Variation
from runner.report.view import ArmView, RunView, is_import, trial_of, verdicts
from runner.scoring import statistics
from runner.scoring.fairness import FAIRNESS
from runner.scoring.judge_repeatability import layers, verdict_floor
from runner.support.code_digest import makes_figures

K = TypeVar("K", bound=Hashable)
SHELL_LABEL = "shell"
BASELINE = Delta(judgement="baseline", says="baseline")
NO_SHELL = Delta(judgement="not_compared", says="not compared: the run has no shell arm")
NO_PAIR = Delta(judgement="not_compared", says="not compared: no trial that both arms have")
LEAST_FOUND = 0.05
"""Of the places, by the better of two arms, or nothing can be said of them but which is higher."""
WITHOUT_SCORE = "not compared: no trial has a score in both arms"
ArmKey = tuple[str, str]
"""Model and server."""


@makes_figures
@dataclass(frozen=True, kw_only=True)
class Comparisons:
    """A run's arms against their baselines, and against one another."""

    view: RunView
    standing: Standing
    """Of the judge."""
    margin: float | None = None
    """The plan's: a smaller difference matters to nobody."""

    def delta(self, arm: ArmView) -> Delta:
        """In the whole run, or in one scenario if the arm is a scenario's."""
        if arm.is_shell:
            return BASELINE
        if arm.scenario is None:
            return self._against_shell[arm.model, arm.server]
        (found,) = _deltas([self._difference(arm, self.view.shell_of(arm))])
        return found

    def between(self) -> Iterator[ArmPair]:
        """Each two servers of one model."""
        compared: dict[tuple[str, str], _PairedDifference | Delta] = {}
        checks: list[tuple[str, str]] = []
        for model in self.view.models:
            servers = [arm for arm in self.view.arms_of(model) if not arm.is_shell]
            for first, second in itertools.combinations(servers, 2):
                pair = first.label, second.label
                compared[pair] = self._difference(first, second)
                if is_self_check(first.server) or is_self_check(second.server):
                    checks.append(pair)
        for (first_label, second_label), delta in _in_families(compared, checks).items():
            yield ArmPair(first=first_label, second=second_label, delta=delta)

    def varies(self, arm: ArmView) -> Variation | None:
        """What the arm's differences from the shell vary by."""
        shell = self.view.shell_of(arm)
        difference = self._from_shell.get((arm.model, arm.server))
        if shell is None or not isinstance(difference, _PairedDifference):
            return None
        return _variation(difference, _judged_noise([arm, shell]))

    @cached_property
    def _against_shell(self) -> Mapping[ArmKey, Delta]:
        """All at once, since each comparison has to pay for the others."""
        checks = [arm for arm in self._from_shell if is_self_check(arm[1])]
        return _in_families(self._from_shell, checks)

    @cached_property
    def _from_shell(self) -> Mapping[ArmKey, _PairedDifference | Delta]:
        arms = [arm for arm in self.view.arms if not arm.is_shell]
        return {
            (arm.model, arm.server): self._difference(arm, self.view.shell_of(arm)) for arm in arms
        }

    def _difference(self, arm: ArmView, baseline: ArmView | None) -> _PairedDifference | Delta:
        """A Delta if nothing can be paired."""
        if baseline is None:
            return NO_SHELL
        score_of = compared_score(arm.clusters)
        theirs = values(baseline.usable, score_of)
        own = values(arm.usable, score_of)
        shared = statistics.trial_differences(theirs, own)
        if not shared:
            return _not_scored(arm, baseline) or NO_PAIR
        room = None
        if arm.clusters.by_keys:
            room = 1 - statistics.mean([theirs[trial] for trial in shared])
        return _PairedDifference(
            by_trial=shared,
            against=SHELL_LABEL if baseline.is_shell else baseline.label,
            clusters=arm.clusters,
            one_scenario=arm.scenario is not None,
            margin=self.margin,
            noise=self._noise[arm.model],
            why_unranked=self._why_unranked(arm.model),
            found=_most_found(baseline, arm),
            room=room,
        )

    def _why_unranked(self, model: str) -> str:
        if is_import(model):
            # No sandbox of ours kept the arms alike, or the shell's arm from the server.
            return "imported, not ranked"
        if model not in self.view.language_models:
            return "not ranked"
        # A judge that cannot tell right from wrong would name a winner all the same.
        if self.standing == "ranks":
            return ""
        return "not ranked" if self.view.clusters.by_keys else "screening"

    @cached_property
    def _noise(self) -> Mapping[str, statistics.Repeatability | None]:
        """Model -> how far the fairness of equally good answers lies apart: the greater of what
        trials show, and of what the judge's readings do."""
        # Trials hold the judge's noise too, but few of them can be alike by accident.
        noise = {}
        for model in self.view.models:
            arms = list(self.view.arms_of(model))
            known = list(filter(None, [_fairness_noise(arms), _judged_noise(arms)]))
            noise[model] = max(known, key=lambda item: item.sd, default=None)
        return noise


@dataclass(frozen=True, kw_only=True)
class _PairedDifference:
    """A baseline's fairness taken from an arm's, over the trials that both have."""

    by_trial: Mapping[statistics.Trial, float]
    against: str
    """The baseline's label."""
    clusters: Clusters
    one_scenario: bool
    margin: float | None
    noise: statistics.Repeatability | None
    """Of duplicates; None if nothing was repeated."""
    why_unranked: str
    """Empty if it may be."""
    found: float | None
    """Of the places that keys ask for, the arms' share, the greater; None where nothing has any."""
    room: float | None
    """What the baseline left to be gained in F1; None where no key bounds the figure."""

    @cached_property
    def by_scenario(self) -> Mapping[str, float]:
        return statistics.scenario_means(self.by_trial)

    @cached_property
    def mean(self) -> statistics.ClusterMean:
        return statistics.ClusterMean(figures=self.clusters.means(self.by_scenario))

    @property
    def could_gain(self) -> float | None:
        """The room, where it is less than the margin: a gain of that could not have shown."""
        if self.room is None or self.margin is None or self.room >= self.margin:
            return None
        return rounded(self.room)

    @property
    def noise_floor(self) -> float | None:
        if self.noise is None:
            return None
        return self.noise.limit(len(self.by_trial))

    def too_few(self, comparisons: int) -> str:
        """What is missing to tell anything; empty if nothing is."""
        found, least = len(self.mean.figures), self.clusters.least(comparisons)
        if self.one_scenario or found >= least:
            return "n=1" if self.one_scenario else ""
        if self.clusters.kind == "repository":
            return f"{found} of {least} repositories"
        known = len({self.clusters.topics[name].repository for name in self.by_scenario})
        enough = statistics.least_clusters(comparisons)
        return f"{known} of {enough} repositories, or {found} of {least} groups of questions"


@dataclass(frozen=True, kw_only=True)
class _AdjustedTests:
    """What the tests say of one difference, adjusted by Holm for all of a family."""

    level: float
    """Of the interval, at which the difference is tested: 0.95 if it is alone."""
    p: float
    p_worse: float
    """One-sided, of it being worse by the margin or more; 1 without a margin."""
    p_better: float


def _in_families(
    compared: Mapping[K, _PairedDifference | Delta], checks: Collection[K]
) -> dict[K, Delta]:
    """All of them pay for one another, but for those that check the run: what they are is known."""
    family = [key for key in compared if key not in checks]
    found = dict(zip(family, _deltas([compared[key] for key in family]), strict=True))
    for key in checks:
        (found[key],) = _deltas([compared[key]])
    return {key: found[key] for key in compared}


def _deltas(compared: Sequence[_PairedDifference | Delta]) -> list[Delta]:
    """Of a family: what is planned pays for every comparison, made or not."""
    count = len(compared)
    enough = [None if isinstance(one, Delta) or one.too_few(count) else one for one in compared]
    ps = [1.0 if one is None else one.mean.p for one in enough]
    family = zip(
        statistics.holm_levels(ps),
        statistics.holm(ps),
        statistics.holm([_p_worse(one) for one in enough]),
        statistics.holm([_p_better(one) for one in enough]),
        strict=True,
    )
    deltas = []
    for one, (level, p, p_worse, p_better) in zip(compared, family, strict=True):
        if isinstance(one, Delta):
            deltas.append(one)
        elif lacking := one.too_few(count):
            deltas.append(_untested(one, lacking))
        else:
            tests = _AdjustedTests(level=1 - level, p=p, p_worse=p_worse, p_better=p_better)
            deltas.append(_tested(one, tests))
    return deltas


def _p_worse(one: _PairedDifference | None) -> float:
    if one is None or one.margin is None:
        return 1.0
    return one.mean.p_above(-one.margin)


def _p_better(one: _PairedDifference | None) -> float:
    if one is None or one.margin is None:
        return 1.0
    return one.mean.p_below(one.margin)


def _untested(one: _PairedDifference, lacking: str) -> Delta:
    judgement: Judgement = "not_ranked" if one.why_unranked else "too_few"
    says = one.why_unranked or f"too few to tell ({lacking})"
    return Delta(judgement=judgement, says=says, **_sizes(one))


def _sizes(one: _PairedDifference) -> dict[str, Any]:
    """The fields of a Delta that no test decides."""
    floor = one.noise_floor
    return {
        "value": rounded(one.mean.value),
        "clusters": len(one.mean.figures),
        "cluster": one.clusters.kind,
        "scenarios": len(one.by_scenario),
        "pairs": len(one.by_trial),
        "noise_floor": None if floor is None else rounded(floor),
    }


def _tested(one: _PairedDifference, tests: _AdjustedTests) -> Delta:
    low, high = bounds(one.mean.interval(tests.level))
    tested = Delta(
        judgement="not_ranked",
        says=one.why_unranked,
        low=low,
        high=high,
        level=round(tests.level, 4),
        p=round(tests.p, 4),
        **_sizes(one),
    )
    if one.why_unranked or low is None or high is None:
        return tested
    judgement, says = _judgement(one, tests, tested)
    could_miss = max(abs(low), abs(high)) if judgement == "no_difference" else None
    update = {
        "judgement": judgement,
        "says": f"{says}{one.clusters.where}",
        "could_miss": could_miss,
        "could_gain": one.could_gain if judgement == "no_worse" else None,
    }
    return tested.model_copy(update=update)


def _judgement(
    one: _PairedDifference, tests: _AdjustedTests, tested: Delta
) -> tuple[Judgement, str]:
    """The judgement, and the same in words."""
    no_worse = tests.p_worse <= statistics.ALPHA
    no_better = tests.p_better <= statistics.ALPHA
    within = f"{one.margin:g}" if one.margin is not None else ""
    side = _side(tested)
    inside_noise = _inside_noise(tested)
    if side and not inside_noise:
        if no_better if side == "higher" else no_worse:
            return "small_difference", f"{side} than {one.against}, by less than {within}"
        return side, f"{side} than {one.against}"
    if one.found is not None and one.found < LEAST_FOUND:
        return "too_few", f"too little found to tell, {one.found:.3f} of the places at most"
    if no_worse and no_better and one.could_gain is None:
        return "equivalent", f"equivalent to {one.against} within {within}"
    if no_worse:
        left = "" if one.could_gain is None else f", which left {one.could_gain:.3f} to gain"
        return "no_worse", f"no worse than {one.against} by {within}{left}"
    noise = " (inside the noise floor)" if side else ""
    return "no_difference", f"no difference detected{noise}"


def _side(tested: Delta) -> Literal["higher", "lower", ""]:
    """By the ends as they are printed: [0.0, 0.004] is beside no `higher`."""
    if tested.p is None or tested.p > statistics.ALPHA:
        return ""
    if tested.low is not None and tested.low > 0:
        return "higher"
    if tested.high is not None and tested.high < 0:
        return "lower"
    return ""


def _inside_noise(tested: Delta) -> bool:
    # Pairs that swing together have a narrow interval, though each trial moves further.
    if tested.noise_floor is None or tested.value is None:
        return False
    return abs(tested.value) <= tested.noise_floor


def _variation(
    difference: _PairedDifference, judged: statistics.Repeatability | None
) -> Variation | None:
    trials: dict[tuple[str, str], list[float]] = {}
    for (scenario, _), figure in difference.by_trial.items():
        repository = difference.clusters.topics[scenario].repository
        trials.setdefault((repository, scenario), []).append(figure)
    split = statistics.variance_split(trials)
    if split is None:
        return None
    repositories = len({repository for repository, _ in trials})
    share = split.trial_share(
        scenarios=len(trials) / repositories, trials=len(difference.by_trial) / len(trials)
    )
    return Variation(
        repository_sd=_sd(split.repository),
        scenario_sd=_sd(split.scenario),
        trial_sd=_sd(split.trial),
        # Of a difference: the shell's answer was read as well.
        judge_sd=None if judged is None else rounded(math.sqrt(2) * judged.sd),
        trial_share=None if share is None else rounded(share),
    )


def _sd(variance: float | None) -> float | None:
    return None if variance is None else rounded(math.sqrt(variance))


# --- noise ----------------------------------------------------------------------------------


def noise_layers(view: RunView) -> Iterator[NoiseLayer]:
    """How far duplicates lie apart, layer by layer; none if nothing was repeated."""
    for layer, noise in layers(map(verdicts, _duplicates(view.arms))):
        yield _layer(layer, noise)
    fairness = _fairness_noise(view.arms)
    if fairness is not None:
        yield _layer("fairness", fairness)
    readings = _judged_noise(view.arms)
    if readings is not None:
        yield _layer("judge", readings)


def _judged_noise(arms: Iterable[ArmView]) -> statistics.Repeatability | None:
    """What the judge's own readings let fairness vary by; None if nothing was read twice."""
    cells = [cell for arm in arms for cell in arm.usable]
    judged = verdict_floor(verdicts(cells))
    if judged is None:
        return None
    sd = FAIRNESS["llm_quality"].weight * judged.sd
    return statistics.Repeatability(sd=sd, groups=judged.groups, figures=judged.figures)


def _layer(layer: Layer, noise: statistics.Repeatability) -> NoiseLayer:
    return NoiseLayer(
        layer=layer,
        sd=rounded(noise.sd),
        limit=rounded(noise.limit()),
        groups=noise.groups,
        figures=noise.figures,
    )


def _fairness_noise(arms: Iterable[ArmView]) -> statistics.Repeatability | None:
    arms = list(arms)
    score_of = compared_score(arms[0].clusters) if arms else key_f1
    groups = []
    for cells in _duplicates(arms):
        groups.append(list(values(cells, score_of).values()))
    return statistics.repeatability(groups)


def _duplicates(arms: Iterable[ArmView]) -> Iterator[tuple[LoadedCell, ...]]:
    """The trials of each scenario in each arm."""
    for arm in arms:
        for inside in arm.by_scenario.values():
            yield inside.usable


def _most_found(*arms: ArmView) -> float | None:
    """An agent that finds nothing finds nothing with any server: that they are alike is no news.

    Assay sensitivity: a trial that could not have shown a difference shows no equivalence (ICH
    E10, 1.5).
    """
    shares = [share for arm in arms if (share := places_found(arm)) is not None]
    return max(shares, default=None)


def _not_scored(arm: ArmView, baseline: ArmView) -> Delta | None:
    """Of arms that have trials in common, all without a score: why; None if they have none."""
    theirs = {trial_of(cell) for cell in baseline.usable}
    shared = [cell for cell in arm.usable if trial_of(cell) in theirs]
    if not shared:
        return None
    for cell in shared:
        score = compared_score(arm.clusters)(cell)
        if isinstance(score, Unscored):
            return Delta(judgement="not_compared", says=f"{WITHOUT_SCORE} ({score.reason})")
    return Delta(judgement="not_compared", says=WITHOUT_SCORE)
