"""An arm's fairness against the shell's, and what may be said of the difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from runner.records import Standing
from runner.records.run_store import LoadedCell
from runner.report.figures import bounds, interval_of, rounded, values, whole_fairness
from runner.report.records import Delta, Judgement, Layer, NoiseLayer
from runner.report.view import ArmView, RunView, is_import, verdicts
from runner.scoring import statistics
from runner.scoring.fairness import FAIRNESS
from runner.scoring.judge_repeatability import layers, verdict_floor
from runner.support.code_digest import makes_figures

BASELINE = Delta(judgement="baseline", says="baseline")
NO_SHELL = Delta(judgement="not_compared", says="not compared: the run has no shell arm")
NO_PAIR = Delta(judgement="not_compared", says="not compared: no trial that both arms have")


@makes_figures
@dataclass(frozen=True, kw_only=True)
class Comparisons:
    """A run's arms against their baselines."""

    view: RunView
    standing: Standing
    """Of the judge."""

    def delta(self, arm: ArmView) -> Delta:
        """In the whole run, or in one scenario if the arm is a scenario's."""
        if arm.is_shell:
            return BASELINE
        shell = self.view.shell_of(arm)
        if shell is None:
            return NO_SHELL
        baseline = values(shell.usable, whole_fairness)
        own = values(arm.usable, whole_fairness)
        shared = statistics.paired_differences(baseline, own)
        if not shared:
            return NO_PAIR
        difference = _PairedDifference(
            by_scenario=tuple(shared.values()),
            pairs=len(baseline.keys() & own.keys()),
            noise=self._noise[arm.model],
            why_unranked=self._why_unranked(arm.model),
        )
        return difference.delta()

    def _why_unranked(self, model: str) -> str:
        if is_import(model):
            # No sandbox of ours kept the arms alike, or the shell's arm from the server.
            return "imported, not ranked"
        if model not in self.view.language_models:
            return "not ranked"
        # A judge that cannot tell right from wrong would name a winner all the same.
        return "screening" if self.standing == "screens" else ""

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
    """The shell's fairness taken from an arm's, over the trials that both have."""

    by_scenario: tuple[float, ...]
    pairs: int
    noise: statistics.Repeatability | None
    """Of duplicates; None if nothing was repeated."""
    why_unranked: str
    """Empty if it may be."""

    @property
    def value(self) -> float:
        return statistics.mean(self.by_scenario)

    @cached_property
    def interval(self) -> statistics.Interval | None:
        return interval_of(self.by_scenario)

    @property
    def noise_floor(self) -> float | None:
        if self.noise is None:
            return None
        return self.noise.limit(self.pairs)

    def delta(self) -> Delta:
        judgement, says = self.judgement()
        low, high = bounds(self.interval)
        floor = self.noise_floor
        return Delta(
            judgement=judgement,
            says=says,
            value=rounded(self.value),
            low=low,
            high=high,
            scenarios=len(self.by_scenario),
            pairs=self.pairs,
            noise_floor=None if floor is None else rounded(floor),
        )

    def judgement(self) -> tuple[Judgement, str]:
        """The judgement, and the same in words."""
        if self.why_unranked:
            return "not_ranked", self.why_unranked
        if self.interval is None:
            return "too_few", f"too few to tell (n={len(self.by_scenario)})"
        if self.interval.contains(0):
            return "no_difference", "no difference detected"
        if self.noise_floor is not None and abs(self.value) <= self.noise_floor:
            # Pairs that swing together have a narrow interval, though each trial moves further.
            return "no_difference", "no difference detected (inside the noise floor)"
        if self.value > 0:
            return "higher", "higher than shell"
        return "lower", "lower than shell"


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
    groups = []
    for cells in _duplicates(arms):
        groups.append(list(values(cells, whole_fairness).values()))
    return statistics.repeatability(groups)


def _duplicates(arms: Iterable[ArmView]) -> Iterator[tuple[LoadedCell, ...]]:
    """The trials of each scenario in each arm."""
    for arm in arms:
        for inside in arm.by_scenario.values():
            yield inside.usable
