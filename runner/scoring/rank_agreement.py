"""Does a judge rank the anchors as the hand grades do? Rho, its interval, the worst pairs."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from runner.records import AnchorScore, Concordance, Correlation, Disagreement

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RESAMPLES = 10_000
SEED = 20_240_229
MIN_GROUPS = 12
"""An interval over fewer hardly moves: five items in perfect order give [1.00, 1.00]."""
DECIMALS = 9
"""Scores are ranked after rounding: sums of equal parts in another order differ in the 16th place,
and would rank."""
ROUNDING = 1e-9
"""What such an error of addition may amount to, wherever a sum is compared."""


def correlate(
    gold: Sequence[float], judged: Sequence[float], groups: Sequence[int] | None = None
) -> Correlation:
    """Spearman's rho with average ranks for ties, and a 95 % bootstrap interval over groups.

    `groups`: which transcript each item is of, from 0; by default each is its own. Items of one
    transcript are drawn together, since they are not independent evidence. The interval is the
    percentile interval of seeded resamples; there is none over fewer than 12 groups.
    """
    import numpy as np  # noqa: PLC0415 - `--help` would wait for it

    x, y = _rounded(gold), _rounded(judged)
    n, ties_gold, ties_judged = len(x), _ties(x), _ties(y)
    if reason := _why_no_rho(x, y):
        return Correlation(
            rho=None, n=n, ties_gold=ties_gold, ties_judged=ties_judged, reason=reason
        )
    if groups is None:
        groups = range(n)
    low, high = _interval(x, y, np.asarray(groups))
    return Correlation(
        rho=_rho(x, y), low=low, high=high, n=n, ties_gold=ties_gold, ties_judged=ties_judged
    )


def rho_of(gold: Sequence[float], judged: Sequence[float]) -> float | None:
    """Rho alone; None if there is none."""
    x, y = _rounded(gold), _rounded(judged)
    return None if _why_no_rho(x, y) else _rho(x, y)


def _rounded(values: Sequence[float]) -> NDArray[np.float64]:
    import numpy as np  # noqa: PLC0415 - see correlate

    return np.array([round(value, DECIMALS) for value in values], dtype=np.float64)


def _rho(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    import numpy as np  # noqa: PLC0415 - see correlate

    # What scipy.stats.spearmanr does, to the last bit; every gated verb would wait a second for it.
    ranks = [np.ones(len(values)) @ _below(values) + 0.5 for values in (x, y)]
    of_both = np.asarray(np.corrcoef(np.column_stack(ranks), rowvar=False))
    rho = float(of_both[1, 0])
    # Perfect order can come out as 1.0000000000000002, which no lock would take.
    return max(-1.0, min(1.0, rho))


def _why_no_rho(x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    """Empty if there is one."""
    constant = []
    if _is_constant(x):
        constant.append("hand grades")
    if _is_constant(y):
        constant.append("judged scores")
    if constant:
        return f"the {' and the '.join(constant)} are all the same"
    if len(x) < 2:
        return "fewer than two items"
    return ""


def _is_constant(values: NDArray[np.float64]) -> bool:
    return len(values) > 0 and bool((values == values[0]).all())


def _ties(values: NDArray[np.float64]) -> int:
    """Items that share their value with another."""
    return sum(count for count in Counter(values.tolist()).values() if count > 1)


def _interval(
    x: NDArray[np.float64], y: NDArray[np.float64], groups: NDArray[np.intp]
) -> tuple[float | None, float | None]:
    """`groups`: of each item, from 0."""
    import numpy as np  # noqa: PLC0415 - see correlate

    count = int(groups.max()) + 1
    if count < MIN_GROUPS:
        return None, None
    rhos = resampled_rhos(x, y, _drawn(count)[:, groups])
    # A resample that drew one value only has no rho; it says nothing about the spread of the rest.
    low, high = np.percentile(rhos[np.isfinite(rhos)], [2.5, 97.5])
    return float(low), float(high)


@lru_cache(maxsize=4)
def _drawn(count: int) -> NDArray[np.float64]:
    """Resample × item: how often each of `count` is drawn."""
    import numpy as np  # noqa: PLC0415 - see correlate

    evenly = [1 / count] * count
    drawn = np.random.default_rng(SEED).multinomial(count, evenly, size=RESAMPLES)
    return drawn.astype(np.float64)


def resampled_rhos(
    x: NDArray[np.float64], y: NDArray[np.float64], times: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Spearman's rho of each resample at once: Pearson's correlation of the average ranks.

    `times`: resample × item, how often it was drawn. NaN for a resample without any spread.
    """
    import numpy as np  # noqa: PLC0415 - see correlate

    a, b = _centred_ranks(x, times), _centred_ranks(y, times)
    spread = np.sqrt((times * a * a).sum(axis=1) * (times * b * b).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        rhos = (times * a * b).sum(axis=1) / spread
    return np.asarray(np.where(spread > ROUNDING, rhos, math.nan))


def _centred_ranks(values: NDArray[np.float64], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Resample × item: each item's average rank among those drawn, less the mean of all ranks.

    The rank is (how many drawn lie below) + half of (how many drawn equal it) + 0.5; the last
    falls away with the mean.
    """
    import numpy as np  # noqa: PLC0415 - see correlate

    ranks = times @ _below(values)
    mean = (times * ranks).sum(axis=1, keepdims=True) / times.sum(axis=1, keepdims=True)
    return np.asarray(ranks - mean)


def _below(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Item × item: 1 if the row's lies below the column's, 0.5 if they are equal, else 0."""
    import numpy as np  # noqa: PLC0415 - see correlate

    return np.asarray(np.sign(values[None, :] - values[:, None]) / 2 + 0.5)


def concordance(gold: Sequence[float], judged: Sequence[float], gap: float) -> Concordance:
    """Of the pairs at least `gap` apart by hand, the share that the judge orders alike.

    A pair that the judge ties counts as half. The 95 % interval is over items, drawn as for rho.
    """
    import numpy as np  # noqa: PLC0415 - see correlate

    x, y = _rounded(gold), _rounded(judged)
    apart = x[:, None] - x[None, :] >= gap - ROUNDING
    # Of each pair, better first: 1 if the judge says so, too, 0.5 if it ties them, else 0.
    agrees = apart * (np.sign(y[:, None] - y[None, :]) / 2 + 0.5)
    pairs = int(apart.sum())
    if not pairs:
        return Concordance(share=None, pairs=0)
    share = float(agrees.sum()) / pairs
    if len(x) < MIN_GROUPS:
        return Concordance(share=share, pairs=pairs)
    times = _drawn(len(x))
    drawn_pairs = ((times @ apart) * times).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = ((times @ agrees) * times).sum(axis=1) / drawn_pairs
    low, high = np.percentile(shares[np.isfinite(shares)], [2.5, 97.5])
    return Concordance(share=share, low=float(low), high=float(high), pairs=pairs)


def disagreements(scores: Sequence[AnchorScore], most: int = 3) -> tuple[Disagreement, ...]:
    """Pairs that the judge ranks the other way round, those furthest apart first."""
    pairs = []
    for one, other in itertools.combinations(scores, 2):
        better, worse = one, other
        if one.gold <= other.gold:
            better, worse = other, one
        # Equal grades rank nobody: whatever the judge says of such a pair is no disagreement.
        if better.gold > worse.gold and better.judged < worse.judged:
            pairs.append(Disagreement(better=better, worse=worse))
    pairs.sort(key=lambda pair: (-_distance(pair), pair.better.transcript, pair.worse.transcript))
    return tuple(pairs[:most])


def _distance(pair: Disagreement) -> float:
    """How far the pair lies apart, hand grades and judged scores together."""
    return pair.better.gold - pair.worse.gold + pair.worse.judged - pair.better.judged
