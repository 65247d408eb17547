"""What an interval may say of a score."""

from __future__ import annotations

import pytest

from runner.report.figures import of_shares
from runner.scoring.statistics import ClusterMean, Interval


def test_no_score_is_said_to_lie_above_one_or_below_zero() -> None:
    nearly_all = ClusterMean(figures=(1.0,) * 12 + (0.4,)).interval()
    assert nearly_all is not None and nearly_all.high > 1
    assert of_shares(nearly_all) == Interval(low=nearly_all.low, high=1.0)

    nearly_none = ClusterMean(figures=(0.0,) * 12 + (0.6,)).interval()
    assert nearly_none is not None and nearly_none.low < 0
    assert of_shares(nearly_none) == Interval(low=0.0, high=nearly_none.high)


@pytest.mark.parametrize("interval", [None, Interval(low=0.2, high=0.9)])
def test_what_lies_between_stays(interval: Interval | None) -> None:
    assert of_shares(interval) == interval
