"""A judge's error that one arm's answers meet and the shell's do not, and a difference without it.

A server changes how answers are written, and a judge may like that. Where people have graded
answers of both arms, each question gives the difference in quality as the judge sees it (f) and as
people do (y). Prediction-powered inference takes the judge's word for all questions and people's
for what is wrong with it (Angelopoulos et al. 2023, Science 382; PPI++: Angelopoulos, Duchi and
Zrnic 2023, arXiv 2311.01453):

    corrected = mean of y over the n graded + k x (mean of f over the N others - over the graded)
    k         = cov(y, f) / (var(f) x (1 + n / N)), from 0 to 1
    variance  = var(y - k x f) / n + k^2 x var(f) / N

With t of n - 1 degrees of freedom; a question is one observation, whatever its trials.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from runner.records import ArmError
from runner.support.errors import FairtrialError

LEVEL = 0.95
Graded = tuple[float, float]
"""A question's difference from the shell as people see it, and as the judge does."""


def arm_error(arm: str, graded: Sequence[Graded], others: Sequence[float], people: int) -> ArmError:
    """`others`: what the judge sees of the questions that nobody graded.

    Raises FairtrialError for fewer than two graded questions.
    """
    if len(graded) < 2:
        raise FairtrialError(f"{arm}: people graded {len(graded)} questions of both arms")
    seen = [judged for _, judged in graded]
    errors = [judged - given for given, judged in graded]
    judged = statistics.fmean([*seen, *others])
    error = _Mean(statistics.fmean(errors), _variance_of_mean(errors), len(errors) - 1)
    corrected = _corrected(graded, others)
    return ArmError(
        arm=arm,
        people=people,
        graded=len(graded),
        questions=len(graded) + len(others),
        judged=judged,
        error=error.value,
        error_low=error.low,
        error_high=error.high,
        p=error.p,
        corrected=corrected.value,
        low=corrected.low,
        high=corrected.high,
    )


class _Mean:
    def __init__(self, value: float, variance: float, freedom: int) -> None:
        from scipy import stats  # noqa: PLC0415 - `--help` would wait for it

        reach = float(stats.t.ppf((1 + LEVEL) / 2, freedom)) * math.sqrt(variance)
        self.value, self.low, self.high = value, value - reach, value + reach
        if variance:
            self.p = float(2 * stats.t.sf(abs(value) / math.sqrt(variance), freedom))
        else:
            self.p = 0.0 if value else 1.0


def _corrected(graded: Sequence[Graded], others: Sequence[float]) -> _Mean:
    given = [one for one, _ in graded]
    seen = [judged for _, judged in graded]
    if len(others) < 2:
        return _Mean(statistics.fmean(given), _variance_of_mean(given), len(given) - 1)
    weight = _weight(given, seen, others)
    left = [one - weight * judged for one, judged in graded]
    value = statistics.fmean(left) + weight * statistics.fmean(others)
    variance = _variance_of_mean(left) + weight**2 * _variance_of_mean(others)
    return _Mean(value, variance, len(graded) - 1)


def _variance_of_mean(figures: Sequence[float]) -> float:
    return statistics.variance(figures) / len(figures)


def _weight(given: Sequence[float], seen: Sequence[float], others: Sequence[float]) -> float:
    spread = statistics.variance([*seen, *others])
    if not spread:
        return 0.0
    shared = statistics.covariance(given, seen) / (spread * (1 + len(given) / len(others)))
    return min(1.0, max(0.0, shared))
