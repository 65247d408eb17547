"""Repeated trials: how often an arm passes, and how far its trials lie apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from runner.report.figures import bounds, interval_of, of_shares, rounded, values, whole_fairness
from runner.report.records import PassChance, Trials
from runner.report.view import ArmView
from runner.scoring import statistics


def trials_of(arm: ArmView, pass_at: float) -> Trials:
    """Of an arm in one scenario: its scored trials, in the trials' order."""
    figures = list(values(arm.usable, whole_fairness).values())
    passed = sum(figure >= pass_at for figure in figures)
    return Trials(
        planned=len(arm.cells),
        scored=len(figures),
        passed=passed,
        mean=rounded(statistics.mean(figures)) if figures else None,
        sd=_sd(figures),
        lowest=rounded(min(figures)) if figures else None,
        highest=rounded(max(figures)) if figures else None,
    )


def _sd(figures: Sequence[float]) -> float | None:
    spread = statistics.repeatability([figures])
    if spread is None:
        return None
    return rounded(spread.sd)


def pass_chances(arm: ArmView, pass_at: float) -> Iterator[PassChance]:
    """Of an arm in the whole run: means over its scenarios, for 1, 2, 4, … and all trials."""
    trials = {name: trials_of(inside, pass_at) for name, inside in arm.by_scenario.items()}
    for k in _ks(max((item.planned for item in trials.values()), default=0)):
        # A scenario with fewer scored trials says nothing of k of them.
        enough = {name: item for name, item in trials.items() if item.scored >= k}
        if enough:
            yield _chance(arm, k, enough)


def _ks(most: int) -> list[int]:
    """7 -> 1, 2, 4, 7."""
    doubled = [2**power for power in range(most.bit_length()) if 2**power < most]
    return [*doubled, most] if most else []


def _chance(arm: ArmView, k: int, trials: Mapping[str, Trials]) -> PassChance:
    all_pass = _means(arm, trials, lambda of: statistics.all_pass(of.scored, of.passed, k))
    any_passes = _means(arm, trials, lambda of: statistics.any_passes(of.scored, of.passed, k))
    low, high = bounds(of_shares(interval_of(arm, all_pass)))
    return PassChance(
        k=k,
        all_of_k=rounded(statistics.mean(all_pass)),
        any_of_k=rounded(statistics.mean(any_passes)),
        low=low,
        high=high,
        scenarios=len(trials),
    )


def _means(
    arm: ArmView, trials: Mapping[str, Trials], chance_of: Callable[[Trials], float]
) -> tuple[float, ...]:
    """Of the arm's clusters."""
    return arm.clusters.means({name: chance_of(item) for name, item in trials.items()})
