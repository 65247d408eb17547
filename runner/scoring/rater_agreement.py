"""Do raters agree? Verdicts of a judge beside those of people, beyond what chance would give.

Agreement alone flatters: where 70 % of the cases are successes, whoever always says "success"
agrees 70 % of the time. Kappa takes off what two raters with these habits would agree on by chance,
and the constant rater's share stands beside it.

numpy is imported inside the functions that use it: `fairtrial --help` would wait for it otherwise.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.scoring.statistics import SEED, Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

Label = Hashable
LEVEL = 0.95
RESAMPLES = 10_000
MIN_ITEMS = 12
"""An interval over fewer hardly moves."""


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """One rater beside another, who is taken for the truth."""

    n: int
    """Items that both have rated."""
    share: float
    """Of the items on which they agree."""
    share_interval: Interval | None
    """95 %, over items; None below MIN_ITEMS."""
    kappa: float | None
    """Cohen's; None if both always say the same one thing: there is nothing to agree on."""
    kappa_interval: Interval | None
    constant: Label
    """What the truth says most often."""
    constant_share: float
    """What a rater gets who says that of everything."""

    @property
    def beats_constant(self) -> bool:
        """Is the whole interval of the share above what the constant rater gets?"""
        interval = self.share_interval
        return interval is not None and interval.low > self.constant_share


def agreement(truth: Sequence[Label], rated: Sequence[Label]) -> Agreement:
    """How far a rater agrees with the truth. Raises ValueError without items, or if they differ."""
    _require_items(truth, rated)
    constant, count = Counter(truth).most_common(1)[0]
    table = _contingency(truth, rated)
    has_interval = len(truth) >= MIN_ITEMS
    return Agreement(
        n=len(truth),
        share=_share(truth, rated),
        share_interval=_share_interval(table) if has_interval else None,
        kappa=cohen_kappa(truth, rated),
        kappa_interval=_kappa_interval(table) if has_interval else None,
        constant=constant,
        constant_share=count / len(truth),
    )


def _require_items(one: Sequence[Label], other: Sequence[Label]) -> None:
    if len(one) != len(other) or not one:
        raise ValueError(f"{len(one)} ratings beside {len(other)}: both rate the same items")


def _share(one: Sequence[Label], other: Sequence[Label]) -> float:
    return sum(a == b for a, b in zip(one, other, strict=True)) / len(one)


# --- two raters -----------------------------------------------------------------------------


def cohen_kappa(one: Sequence[Label], other: Sequence[Label]) -> float | None:
    """(observed - expected) / (1 - expected) agreement; expected from each rater's own shares.

    Source: Cohen 1960, doi:10.1177/001316446002000104. None if the expected agreement is 1: both
    say one thing of everything. Raises ValueError without items, or if there are not as many.
    """
    _require_items(one, other)
    kappa = float(_kappas(_contingency(one, other)[None])[0])
    # NaN compares false with every bar that it is held against.
    return None if math.isnan(kappa) else kappa


def _contingency(one: Sequence[Label], other: Sequence[Label]) -> NDArray[Any]:
    """Counts of every pair of labels, both raters' labels in one order."""
    import numpy as np  # noqa: PLC0415 - see the module's docstring

    labels = {label: place for place, label in enumerate(dict.fromkeys([*one, *other]))}
    table = np.zeros((len(labels), len(labels)))
    for a, b in zip(one, other, strict=True):
        table[labels[a], labels[b]] += 1
    return table


def _kappas(tables: NDArray[Any]) -> NDArray[Any]:
    """Of each table of counts; NaN where the expected agreement is 1."""
    import numpy as np  # noqa: PLC0415 - see the module's docstring

    shares = tables / tables.sum(axis=(1, 2), keepdims=True)
    observed = np.trace(shares, axis1=1, axis2=2)
    expected = (shares.sum(axis=1) * shares.sum(axis=2)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        kappas = (observed - expected) / (1 - expected)
    return np.where(expected < 1 - 1e-12, kappas, np.nan)


def _share_interval(table: NDArray[Any]) -> Interval:
    import numpy as np  # noqa: PLC0415 - see the module's docstring

    drawn = _resampled(table)
    return _percentiles(np.trace(drawn, axis1=1, axis2=2) / table.sum())


def _kappa_interval(table: NDArray[Any]) -> Interval | None:
    return _interval_of(_kappas(_resampled(table)))


def _interval_of(kappas: NDArray[Any]) -> Interval | None:
    """None where a resample in twenty has no kappa: what is left would be another question."""
    import numpy as np  # noqa: PLC0415 - see the module's docstring

    defined = kappas[~np.isnan(kappas)]
    if defined.size < LEVEL * kappas.size:
        return None
    return _percentiles(defined)


def _resampled(table: NDArray[Any]) -> NDArray[Any]:
    """Tables of as many items drawn with replacement: items of one pair of labels are alike."""
    import numpy as np  # noqa: PLC0415 - see the module's docstring

    count = int(table.sum())
    generator = np.random.Generator(np.random.PCG64(SEED))
    drawn = generator.multinomial(count, table.ravel() / count, size=RESAMPLES)
    return drawn.reshape(-1, *table.shape)


def _percentiles(values: NDArray[Any]) -> Interval:
    import numpy as np  # noqa: PLC0415 - see the module's docstring

    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(low=float(low), high=float(high))


# --- any number of raters -------------------------------------------------------------------


RESAMPLES_AT_ONCE = 500


@dataclass(frozen=True, kw_only=True)
class ManyRaters:
    items: int
    raters: int
    """Of every item."""
    unanimous: float
    """Share of the items to which all raters give one label."""
    unanimous_interval: Interval | None
    """95 %, over items; None below MIN_ITEMS."""
    kappa: float | None
    """Fleiss'; None if everybody always says the same one thing."""
    interval: Interval | None
    """Of kappa; None below MIN_ITEMS, or if there is no kappa."""


def fleiss_kappa(ratings: Sequence[Sequence[Label]]) -> ManyRaters:
    """How far raters agree among themselves. `ratings`: for each item, a label of every rater.

    Source: Fleiss 1971, doi:10.1037/h0031619. Raises ValueError for fewer than two raters or no
    items, or if items have not as many ratings.
    """
    patterns = _patterns(ratings)
    unanimous, kappa = patterns.figures(patterns.times[None])
    has_none = math.isnan(float(kappa[0]))
    unanimous_interval = interval = None
    if len(ratings) >= MIN_ITEMS:
        unanimous_interval, interval = _intervals(patterns)
    return ManyRaters(
        items=len(ratings),
        raters=len(ratings[0]),
        unanimous=float(unanimous[0]),
        unanimous_interval=unanimous_interval,
        kappa=None if has_none else float(kappa[0]),
        interval=None if has_none else interval,
    )


@dataclass(frozen=True, kw_only=True)
class _Patterns:
    """Items that were rated alike: a resample is how often each pattern is drawn."""

    times: NDArray[Any]
    """Pattern -> items."""
    shares: NDArray[Any]
    """Pattern × label -> share of the raters."""
    alike: NDArray[Any]
    """Pattern -> share of the pairs of raters who agree."""

    def figures(self, times: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Of each row of `times`: the unanimous share, and kappa, NaN where chance would do."""
        import numpy as np  # noqa: PLC0415 - see the module's docstring

        weights = times / self.times.sum()
        expected = ((weights @ self.shares) ** 2).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            kappas = (weights @ self.alike - expected) / (1 - expected)
        unanimous = weights[:, self.alike == 1.0].sum(axis=1)
        return unanimous, np.where(expected < 1 - 1e-12, kappas, np.nan)


def _patterns(ratings: Sequence[Sequence[Label]]) -> _Patterns:
    import numpy as np  # noqa: PLC0415 - see the module's docstring

    sizes = set(map(len, ratings))
    if len(sizes) != 1 or min(sizes) < 2:
        raise ValueError(f"every item needs the same raters, two at least, not {sorted(sizes)}")
    (raters,) = sizes
    labels: dict[Label, int] = {}
    for item in ratings:
        for label in item:
            labels.setdefault(label, len(labels))
    rated = Counter(tuple(sorted(labels[label] for label in item)) for item in ratings)
    counts = np.array([np.bincount(pattern, minlength=len(labels)) for pattern in rated])
    return _Patterns(
        times=np.array(list(rated.values())),
        shares=counts / raters,
        alike=(counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1)),
    )


def _intervals(patterns: _Patterns) -> tuple[Interval, Interval | None]:
    """Of the unanimous share, and of kappa; see `_kappa_interval`."""
    import numpy as np  # noqa: PLC0415 - see the module's docstring

    generator = np.random.Generator(np.random.PCG64(SEED))
    items = int(patterns.times.sum())
    unanimous, kappas = [], []
    # All at once, a hundred thousand items that are all rated otherwise would take gigabytes.
    for _ in range(RESAMPLES // RESAMPLES_AT_ONCE):
        times = generator.multinomial(items, patterns.times / items, size=RESAMPLES_AT_ONCE)
        found = patterns.figures(times)
        unanimous.append(found[0])
        kappas.append(found[1])
    return _percentiles(np.concatenate(unanimous)), _interval_of(np.concatenate(kappas))
