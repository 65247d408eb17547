"""Does a judge rank the anchors as the hand grades do? Spearman's rho, its interval, and the pairs that disagree most."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from runner.records import AnchorScore, Correlation, Disagreement

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RESAMPLES = 10_000
SEED = 20_240_229
MIN_GROUPS = 12
"""An interval over fewer hardly moves: five items in perfect order give [1.00, 1.00], which says nothing."""
DECIMALS = 9
"""Scores are ranked after rounding: sums of equal parts in another order differ in the 16th place, and would rank."""


def correlate(
    gold: Sequence[float], judged: Sequence[float], groups: Sequence[int] | None = None
) -> Correlation:
    """Spearman's rho with average ranks for ties, and a 95 % percentile interval of a seeded bootstrap over groups.

    `groups`: which transcript each item is of, from 0; by default each is its own. Items of one transcript are drawn together, since they
    are not independent evidence; below 12 there is no interval. Resamples without any spread have no rho and are left out.
    """
    import numpy as np  # noqa: PLC0415 - `--help` would wait for it
    from scipy.stats import spearmanr  # noqa: PLC0415 - see above

    x, y = (
        np.array([round(value, DECIMALS) for value in values], dtype=np.float64)
        for values in (gold, judged)
    )
    n, ties_gold, ties_judged = len(x), _ties(x.tolist()), _ties(y.tolist())
    constant = [
        name
        for name, values in (("hand grades", x), ("judged scores", y))
        if n and (values == values[0]).all()
    ]
    reason = f"the {' and the '.join(constant)} are all the same" if constant else ""
    if n < 2 or reason:
        return Correlation(
            rho=None,
            n=n,
            ties_gold=ties_gold,
            ties_judged=ties_judged,
            reason=reason or "fewer than two items",
        )
    low, high = _interval(x, y, np.asarray(range(n) if groups is None else groups))
    rho = max(-1.0, min(1.0, float(spearmanr(x, y).statistic)))
    return Correlation(
        rho=rho, low=low, high=high, n=n, ties_gold=ties_gold, ties_judged=ties_judged
    )


def _ties(values: Sequence[float]) -> int:
    return sum(count for count in Counter(values).values() if count > 1)


def _interval(
    x: NDArray[np.float64], y: NDArray[np.float64], groups: NDArray[np.intp]
) -> tuple[float | None, float | None]:
    import numpy as np  # noqa: PLC0415 - see correlate

    count = int(groups.max()) + 1
    if count < MIN_GROUPS:
        return None, None
    drawn = (
        np.random.default_rng(SEED)
        .multinomial(count, [1 / count] * count, size=RESAMPLES)
        .astype(np.float64)
    )
    rhos = resampled_rhos(x, y, drawn[:, groups])
    rhos = rhos[np.isfinite(rhos)]
    low, high = np.percentile(rhos, [2.5, 97.5])
    return float(low), float(high)


def resampled_rhos(
    x: NDArray[np.float64], y: NDArray[np.float64], times: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Spearman's rho of each resample at once; `times`: resample × item, how often it was drawn. NaN where one has no spread.

    An item's average rank in a resample is (how many drawn lie below it) + half of (how many drawn equal it) + 0.5.
    """
    import numpy as np  # noqa: PLC0415 - see correlate

    def centred_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
        below = np.sign(values[None, :] - values[:, None]) / 2 + 0.5
        ranks = times @ below
        return np.asarray(
            ranks - (times * ranks).sum(axis=1, keepdims=True) / times.sum(axis=1, keepdims=True)
        )

    a, b = centred_ranks(x), centred_ranks(y)
    spread = np.sqrt((times * a * a).sum(axis=1) * (times * b * b).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(spread > 1e-9, (times * a * b).sum(axis=1) / spread, math.nan))


def disagreements(scores: Sequence[AnchorScore], most: int = 3) -> tuple[Disagreement, ...]:
    """Pairs that the judge ranks the other way round, those furthest apart (hand grades and judged scores together) first."""
    found = []
    for one, other in itertools.combinations(scores, 2):
        better, worse = (one, other) if one.gold > other.gold else (other, one)
        if better.gold > worse.gold and better.judged < worse.judged:
            found.append((better.gold - worse.gold + worse.judged - better.judged, better, worse))
    found.sort(key=lambda item: (-item[0], item[1].transcript, item[2].transcript))
    return tuple(Disagreement(better=better, worse=worse) for _, better, worse in found[:most])
