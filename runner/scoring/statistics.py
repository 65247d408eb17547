"""Means over clusters and what may be said of them, the noise floor, and who is comparable.

numpy and scipy are imported inside the functions that use them: `fairtrial --help` would wait for
them otherwise.
"""

from __future__ import annotations

import itertools
import math
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from runner.records import Fingerprint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Trial = tuple[str, int]
"""(scenario, number of the trial)."""

ALPHA = 0.05
"""Chance that a run of equal arms calls any of them different."""
POWER = 0.8
MOST_FLIPPED = 12
"""Clusters up to which all 2^n signs are tried; beyond, Student's t is as close."""
_DRAWS = 4_000
SEED = 20_240_229
_LIMIT_FACTOR = 1.96 * math.sqrt(2)
"""ISO 5725-6: in 5 % of duplicates, two results of one method differ by more than 2.77 sd."""
_SERVER_FIELDS = frozenset(
    {"server", "server_version", "server_spec", "tools", "moved_lines", "tools_searched"}
)
_DIGEST_SHOWN = 16


@dataclass(frozen=True, kw_only=True)
class Interval:
    low: float
    high: float

    def contains(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True, kw_only=True)
class Repeatability:
    """How far duplicates lie apart."""

    sd: float
    """Pooled within-group standard deviation: √(Σ (x - group mean)² / Σ (group size - 1))."""
    groups: int
    """Groups with at least two members."""
    figures: int
    """Members of those groups."""

    def limit(self, pairs: int = 1) -> float:
        """The noise floor of a difference between two means of `pairs` figures each.

        1.96·√2·sd/√pairs (ISO 5725-6 for pairs = 1). Raises ValueError if `pairs` is below 1.
        """
        if pairs < 1:
            raise ValueError(f"a difference needs at least one pair, not {pairs}")
        return _LIMIT_FACTOR * self.sd / math.sqrt(pairs)


def mean(values: Iterable[float]) -> float:
    """Arithmetic mean. Raises ValueError if there are no figures, or one is NaN or infinite."""
    figures = _finite(values)
    if not figures:
        raise ValueError("nothing to average")
    return math.fsum(figures) / len(figures)


def scenario_means(figures: Mapping[Trial, float]) -> dict[str, float]:
    """Trial -> figure, as scenario -> mean of its trials."""
    by_scenario: dict[str, list[float]] = {}
    for (scenario, _), figure in figures.items():
        # Trials of one scenario are not independent: counted alone, a hundred of them would
        # outvote every other scenario.
        by_scenario.setdefault(scenario, []).append(figure)
    return {scenario: mean(trials) for scenario, trials in by_scenario.items()}


def trial_differences(
    baseline: Mapping[Trial, float], arm: Mapping[Trial, float]
) -> dict[Trial, float]:
    """arm - baseline, of the trials that both have."""
    return {trial: arm[trial] - baseline[trial] for trial in arm if trial in baseline}


# --- a mean over clusters -------------------------------------------------------------------


def least_clusters(comparisons: int = 1) -> int:
    """Fewer could not tell a difference from a coin, whatever they show.

    If all n point one way, the two-sided sign-flip test gives p = 2^(1-n); by Holm the smallest of
    m has to stay under 0.05 / m: 6, 7, 7, 8 for m = 1, 2, 3, 5. Raises ValueError for m below 1.
    """
    if comparisons < 1:
        raise ValueError(f"{comparisons} comparisons need no clusters")
    return 1 + math.ceil(math.log2(comparisons / ALPHA))


@dataclass(frozen=True, kw_only=True)
class ClusterMean:
    """The mean of independent clusters' figures, and how sure it is.

    Up to 12 clusters: the exact sign-flip test, and the interval of all means that it does not
    refuse (Hartigan 1969, doi:10.1080/01621459.1969.10501057). Equal arms differ symmetrically, so
    it errs in 5 % of them at most, however the differences are shaped. Beyond: Student's t.
    """

    figures: tuple[float, ...]

    @property
    def value(self) -> float:
        return mean(self.figures)

    def interval(self, level: float = 1 - ALPHA) -> Interval | None:
        """None if no interval of that level can be had of so few."""
        n = len(self.figures)
        if n > MOST_FLIPPED:
            from scipy.special import stdtrit  # noqa: PLC0415 - see the module's docstring

            half = float(stdtrit(n - 1, 0.5 + level / 2)) * self._standard_error
            return Interval(low=self.value - half, high=self.value + half)
        # + 1e-9: 0.05 / 2 · 2^n is whole for some levels, and a rounding would take one off.
        cut = math.floor((1 - level) / 2 * 2**n + 1e-9)
        if cut < 1:
            return None
        return Interval(low=self._flipped[cut - 1], high=self._flipped[-cut])

    def p_above(self, bound: float = 0.0) -> float:
        """One-sided, of the mean being no more than `bound`."""
        n = len(self.figures)
        if n > MOST_FLIPPED:
            return self._student_p(self.value - bound)
        return (1 + bisect_right(self._flipped, bound)) * 0.5**n

    def p_below(self, bound: float = 0.0) -> float:
        """One-sided, of the mean being no less than `bound`."""
        n = len(self.figures)
        if n > MOST_FLIPPED:
            return self._student_p(bound - self.value)
        return 1 - bisect_left(self._flipped, bound) * 0.5**n

    @property
    def p(self) -> float:
        """Two-sided, of the mean being 0."""
        return min(1.0, 2 * min(self.p_above(), self.p_below()))

    @cached_property
    def _flipped(self) -> list[float]:
        """The means of all subsets but the empty one, sorted."""
        import numpy as np  # noqa: PLC0415 - see the module's docstring

        figures = np.asarray(_finite(self.figures), dtype=np.float64)
        # Rounded: two subsets of equal figures have means that differ in the last bit.
        return sorted(np.round(_subset_means(figures), 12).tolist())

    @cached_property
    def _standard_error(self) -> float:
        return statistics.stdev(_finite(self.figures)) / math.sqrt(len(self.figures))

    def _student_p(self, beyond: float) -> float:
        """One-sided, of the mean lying so far beyond a bound, or farther, by chance."""
        from scipy.special import stdtr  # noqa: PLC0415 - see the module's docstring

        n = len(self.figures)
        if not self._standard_error:
            # Without any spread t is 0 / 0 at the bound, and no number is no p.
            return 0.5**n if beyond > 0 else 1.0
        return float(stdtr(n - 1, -beyond / self._standard_error))


def _subset_means(figures: NDArray[np.float64]) -> NDArray[np.float64]:
    """`figures`: (…, n). (…, 2^n - 1): of each subset but the empty one."""
    import numpy as np  # noqa: PLC0415 - see the module's docstring

    n = figures.shape[-1]
    members = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
    means: NDArray[np.float64] = figures @ members.T / members.sum(axis=1)
    return means


def holm(ps: Sequence[float]) -> list[float]:
    """Each p adjusted for all of them: 0.05 errs in 5 % of families, however they depend.

    Source: Holm 1979, Scandinavian Journal of Statistics 6, 65-70.
    """
    adjusted = [0.0] * len(ps)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda place: ps[place])):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[place]))
        adjusted[place] = highest
    return adjusted


def holm_levels(ps: Sequence[float]) -> list[float]:
    """The level at which Holm's procedure tests each: its interval leaves 0 out if it is refused.

    ALPHA / (m - rank), and where the procedure stops for all that follow.
    """
    levels = [0.0] * len(ps)
    level = ALPHA
    stopped = False
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda place: ps[place])):
        if not stopped:
            level = ALPHA / (len(ps) - rank)
            stopped = ps[place] > level
        levels[place] = level
    return levels


def smallest_difference(
    sd: float, clusters: int, *, level: float = ALPHA, power: float = POWER
) -> float | None:
    """The true difference that so many clusters call different with that power, two-sided.

    `sd` is of one cluster's difference; normal. Up to 12 clusters drawn, with one seed, since the
    sign-flip test has no formula for it; beyond, by Student's non-central t. None where no
    difference could be found at that level.
    """
    found = _smallest_effect(clusters, level, power)
    return None if found is None else found * sd


@cache
def _smallest_effect(clusters: int, level: float, power: float) -> float | None:
    """In standard deviations of one cluster."""
    if clusters > MOST_FLIPPED:
        from scipy import optimize, stats  # noqa: PLC0415 - see the module's docstring

        freedom = clusters - 1
        beyond = float(stats.t.ppf(1 - level / 2, freedom))

        def missing(effect: float) -> float:
            return power - float(stats.nct.sf(beyond, freedom, effect * math.sqrt(clusters)))

        return float(optimize.brentq(missing, 0.0, 100.0))
    cut = math.floor(level / 2 * 2**clusters + 1e-9)
    return None if cut < 1 else _drawn_effect(clusters, cut, power)


def _drawn_effect(clusters: int, cut: int, power: float) -> float:
    """What has to be added to normal figures for the interval's lower end to pass 0."""
    import numpy as np  # noqa: PLC0415 - see the module's docstring

    generator = np.random.Generator(np.random.PCG64(SEED))
    lows = []
    for _ in range(_DRAWS // 100):
        means = _subset_means(generator.normal(size=(100, clusters)))
        lows.append(np.partition(means, cut - 1, axis=1)[:, cut - 1])
    return float(-np.quantile(np.concatenate(lows), 1 - power))


# --- what differences vary by ---------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class VarianceSplit:
    """Variances of one paired difference, by what it varies with."""

    repository: float | None
    """Between repositories; None if there was one."""
    scenario: float | None
    """Between scenarios of a repository; None if each has one: then it is in `repository`."""
    trial: float | None
    """Between trials of a scenario; None if nothing was repeated: then it is in the one above."""

    def of_cluster(self, scenarios: float, trials: float) -> float:
        """Of a repository's mean difference over so many scenarios of so many trials."""
        questions = ((self.scenario or 0.0) + (self.trial or 0.0) / trials) / scenarios
        return (self.repository or 0.0) + questions

    def trial_share(self, scenarios: float, trials: float) -> float | None:
        """Of that variance, what ever more trials would take away; None if nothing is known."""
        whole = self.of_cluster(scenarios, trials)
        if self.trial is None or not whole:
            return None
        return self.trial / trials / scenarios / whole


def variance_split(
    differences: Mapping[tuple[str, str], Sequence[float]],
) -> VarianceSplit | None:
    """(Repository, scenario) -> its trials' differences. None with fewer than two scenarios.

    Nested analysis of variance by the method of moments, with harmonic mean sizes; below 0 is 0.
    Source: Searle, Casella, McCulloch 1992, Variance Components, chapter 3.
    """
    if len(differences) < 2:
        return None
    means: dict[str, list[float]] = {}
    for (repository, _), trials in differences.items():
        means.setdefault(repository, []).append(mean(trials))
    trial = _variance(differences.values())
    from_trials = 0.0 if trial is None else trial / _harmonic_size(differences.values())
    within = _variance(means.values())
    scenario = None if within is None else max(0.0, within - from_trials)
    below = from_trials if within is None else within / _harmonic_size(means.values())
    between = _variance([[mean(inside) for inside in means.values()]])
    return VarianceSplit(
        repository=None if between is None else max(0.0, between - below),
        scenario=scenario,
        trial=trial,
    )


def _variance(groups: Iterable[Sequence[float]]) -> float | None:
    """Pooled within groups; None if none has two members."""
    spread = repeatability(groups)
    return None if spread is None else spread.sd**2


def _harmonic_size(groups: Iterable[Sequence[float]]) -> float:
    return statistics.harmonic_mean(map(len, groups))


# --- duplicates -----------------------------------------------------------------------------


def repeatability(groups: Iterable[Sequence[float]]) -> Repeatability | None:
    """Pooled spread of duplicates, one group per thing repeated. None if nothing was repeated."""
    squares: list[float] = []
    figures = count = 0
    for group in map(_finite, groups):
        if len(group) > 1:
            centre = mean(group)
            count += 1
            for figure in group:
                squares.append((figure - centre) ** 2)
                figures += 1
    if not count:
        return None
    variance = math.fsum(squares) / (figures - count)
    return Repeatability(sd=math.sqrt(variance), groups=count, figures=figures)


def all_pass(trials: int, passed: int, k: int) -> float:
    """pass^k: the chance that k of k trials pass, C(passed, k) / C(trials, k).

    Unbiased, as (passed / trials)^k is not. Source: Yao et al. 2024, arXiv:2406.12045. Raises
    ValueError unless 1 ≤ k ≤ trials.
    """
    _check_k(trials, k)
    return math.comb(passed, k) / math.comb(trials, k)


def any_passes(trials: int, passed: int, k: int) -> float:
    """pass@k: the chance that one of k trials passes, 1 - C(trials - passed, k) / C(trials, k).

    Source: Chen et al. 2021, arXiv:2107.03374. Raises as `all_pass`.
    """
    _check_k(trials, k)
    return 1 - math.comb(trials - passed, k) / math.comb(trials, k)


def _check_k(trials: int, k: int) -> None:
    if not 1 <= k <= trials:
        raise ValueError(f"{trials} trials say nothing of {k} of them")


def alpha(units: Iterable[Sequence[float]]) -> float | None:
    """Krippendorff's alpha for interval data: 1 is perfect agreement, 0 is chance.

    `units`: the ratings that each thing got; one with a single rating says nothing and is left out.
    Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability. None if nothing was rated
    twice, or if all ratings are the same: without any spread there is nothing to agree on.
    """
    rated = [ratings for ratings in map(_finite, units) if len(ratings) > 1]
    every = list(itertools.chain.from_iterable(rated))
    # Compared, not subtracted: the mean of equal figures can lie beside them by a rounding.
    if len(set(every)) < 2:
        return None
    expected = _squared_differences(every) / (len(every) - 1)
    shares = [_squared_differences(ratings) / (len(ratings) - 1) for ratings in rated]
    return 1 - math.fsum(shares) / expected


def _squared_differences(figures: Sequence[float]) -> float:
    """Over all ordered pairs: Σ (a - b)²."""
    centre = mean(figures)
    squares = [(figure - centre) ** 2 for figure in figures]
    return 2 * len(figures) * math.fsum(squares)


def differences(a: Fingerprint, b: Fingerprint) -> list[str]:
    """What keeps two cells from being compared: every field that differs and is not the server's.

    Empty: they may be compared.
    """
    first, second = a.model_dump(mode="json"), b.model_dump(mode="json")
    differing = []
    for name in first | second:
        value, other = first.get(name), second.get(name)
        if name not in _SERVER_FIELDS and value != other:
            differing.append(f"{name}: {_short(value)} against {_short(other)}")
    return differing


def _short(value: object) -> str:
    """A long value by its two ends: `sha256:012345678…89abcdef`."""
    text = str(value)
    if len(text) < 40:
        return text
    return f"{text[:_DIGEST_SHOWN]}…{text[-8:]}"


def _finite(values: Iterable[float]) -> list[float]:
    figures = [float(value) for value in values]
    if not all(map(math.isfinite, figures)):
        # Averaged on, one NaN would turn a whole arm's mean into NaN, which then compares false.
        raise ValueError("NaN or infinite is no figure: an absent score is Unscored, with a reason")
    return figures
