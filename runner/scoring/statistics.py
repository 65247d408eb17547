"""Paired comparison, bootstrap intervals, the noise floor of duplicates, and who is comparable.

numpy and scipy are imported inside the functions that use them: `fairtrial --help` would wait for
them otherwise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from runner.records import Fingerprint

Trial = tuple[str, int]
"""(scenario, number of the trial)."""

MIN_SCENARIOS = 6
"""With fewer, no pattern of wins can be told from a coin: if all n pairs point one way, the
two-sided sign test gives p = 2^(1-n), which first falls under 0.05 at n = 6 (0.031; n = 5 gives
0.0625)."""
RESAMPLES = 10_000
SEED = 20_240_229
LEVEL = 0.95
_LIMIT_FACTOR = 1.96 * math.sqrt(2)
"""ISO 5725-6: in 5 % of duplicates, two results of one method differ by more than 2.77 sd."""
_SERVER_FIELDS = frozenset({"server", "server_version", "server_spec", "tools"})
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


def paired_differences(
    baseline: Mapping[Trial, float], arm: Mapping[Trial, float]
) -> dict[str, float]:
    """Scenario -> mean of (arm - baseline) over the trials that both have.

    A scenario without a shared trial is left out.
    """
    return scenario_means(
        {trial: arm[trial] - baseline[trial] for trial in arm if trial in baseline}
    )


def bootstrap_interval(
    values: Iterable[float], *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = SEED
) -> Interval:
    """Expanded percentile bootstrap interval of the mean.

    Source: Hesterberg 2015, doi:10.1080/00031305.2015.1089789, section 3. The plain percentile
    interval is too narrow for few figures: at n = 6 its 95 % held the true mean 87 % of the time.
    Seeded, so the same figures give the same interval on every machine. Raises ValueError if there
    are fewer than two figures.
    """
    import numpy as np  # noqa: PLC0415 - see the module's docstring
    from scipy.special import ndtr, stdtrit  # noqa: PLC0415 - see the module's docstring

    figures = np.asarray(_finite(values), dtype=np.float64)
    n = figures.size
    if n < 2:
        raise ValueError(f"an interval needs at least two figures, not {n}")
    generator = np.random.Generator(np.random.PCG64(seed))
    means = figures[generator.integers(0, n, size=(resamples, n))].mean(axis=1)
    student = stdtrit(n - 1, (1 - level) / 2)
    tail = float(ndtr(math.sqrt(n / (n - 1)) * student))
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(low=float(low), high=float(high))


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


def smallest_difference(sd: float, scenarios: int) -> float | None:
    """What a paired comparison over so many scenarios finds 4 times in 5, at 5 %, two-sided.

    (t_{0.975} + t_{0.8})·sd/√n with n - 1 degrees of freedom; `sd` is of one scenario's difference.
    None below MIN_SCENARIOS.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - see the module's docstring

    if scenarios < MIN_SCENARIOS:
        return None
    freedom = scenarios - 1
    quantiles = float(stdtrit(freedom, 0.975)) + float(stdtrit(freedom, 0.8))
    return quantiles * sd / math.sqrt(scenarios)


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
