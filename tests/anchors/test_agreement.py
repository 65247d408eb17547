from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from runner.records import AnchorScore, Correlation
from runner.scoring.rank_agreement import correlate, disagreements, resampled_rhos


def rho_of_scipy(x: Any, y: Any) -> float:
    # Every worker collects every file, and none but this one's needs the second's import.
    from scipy.stats import spearmanr

    return float(spearmanr(x, y).statistic)


def test_rho_is_spearmans_with_average_ranks_for_ties() -> None:
    gold, judged = [0.1, 0.2, 0.2, 0.4, 0.9], [0.0, 0.5, 0.4, 0.4, 1.0]
    found = correlate(gold, judged)
    # By hand: ranks 1, 2.5, 2.5, 4, 5 and 1, 4, 2.5, 2.5, 5;
    # Σ of products of deviations 7.25, each Σ of squares 9.5.
    assert found.rho == pytest.approx(7.25 / 9.5)
    assert (found.n, found.ties_gold, found.ties_judged) == (5, 2, 2)


def test_rho_is_scipy_s_to_the_last_bit() -> None:
    """Locks and stored reports hold it whole."""
    drawn = np.random.default_rng(3)
    for n in range(3, 60):
        x, y = drawn.integers(0, 9, n) / 8, np.round(drawn.normal(size=n), 1)
        assert correlate(x.tolist(), y.tolist()).rho == rho_of_scipy(x, y)


def test_scores_that_differ_by_an_error_of_addition_are_ties() -> None:
    # 0.1 + 0.2 is 0.30000000000000004.
    assert correlate([0.0, 0.5, 1.0], [0.0, 0.1 + 0.2, 0.3]).ties_judged == 2


def test_every_resample_has_the_rho_that_scipy_gives_it() -> None:
    random = np.random.default_rng(7)
    x, y = random.integers(0, 5, 14).astype(float), random.random(14)
    times = random.multinomial(14, [1 / 14] * 14, size=50).astype(float)
    expected = []
    for row in times:
        drawn = row.astype(int)
        expected.append(rho_of_scipy(np.repeat(x, drawn), np.repeat(y, drawn)))
    assert resampled_rhos(x, y, times) == pytest.approx(expected)


def test_a_resample_without_spread_has_no_rho() -> None:
    assert math.isnan(
        resampled_rhos(np.array([1.0, 2.0]), np.array([1.0, 2.0]), np.array([[2.0, 0.0]]))[0]
    )


def test_the_interval_is_the_same_every_time_and_holds_the_estimate() -> None:
    random = np.random.default_rng(3)
    by_hand = random.random(18)
    gold, judged = by_hand.tolist(), (by_hand + random.normal(0, 0.2, 18)).tolist()
    one, other = correlate(gold, judged), correlate(gold, judged)
    assert one == other and one.rho is not None and one.low is not None and one.high is not None
    assert -1 <= one.low < one.rho < one.high <= 1


def test_steps_of_one_transcript_are_no_independent_evidence() -> None:
    random = np.random.default_rng(5)
    gold = np.repeat(random.random(12), 4).tolist()
    judged = np.repeat(random.random(12), 4).tolist()
    # Four steps of a transcript that agree are one agreement, and the interval stays wide.
    clustered = correlate(gold, judged, np.repeat(np.arange(12), 4).tolist())
    assert _width(clustered) > 1.5 * _width(correlate(gold, judged))


def _width(found: Correlation) -> float:
    assert found.low is not None and found.high is not None
    return found.high - found.low


def test_too_few_for_an_interval_have_none() -> None:
    in_order = [1.0, 2.0, 3.0, 4.0, 5.0]
    found = correlate(in_order, in_order)
    assert (found.low, found.high) == (None, None) and found.rho == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("gold", "judged", "reason"),
    [
        ([0.1, 0.5, 0.9], [0.4, 0.4, 0.4], "the judged scores are all the same"),
        ([0.3, 0.3], [0.1, 0.9], "the hand grades are all the same"),
        ([0.3, 0.3], [0.1, 0.1], "the hand grades and the judged scores are all the same"),
        ([], [], "fewer than two items"),
    ],
)
def test_no_rho_is_a_reason_and_never_a_number(
    gold: list[float], judged: list[float], reason: str
) -> None:
    found = correlate(gold, judged)
    assert (found.rho, found.reason) == (None, reason)


def _score(name: str, gold: float, judged: float) -> AnchorScore:
    return AnchorScore(transcript=name, gold=gold, judged=judged)


def test_only_pairs_ranked_the_other_way_round_disagree_and_the_worst_come_first() -> None:
    scores = [
        _score("a", 0.9, 0.2),
        _score("b", 0.5, 0.6),
        _score("c", 0.4, 0.5),
        # One grade for both: that the judge prefers e to d is no disagreement.
        _score("d", 0.1, 0.3),
        _score("e", 0.1, 0.9),
    ]
    found = [(pair.better.transcript, pair.worse.transcript) for pair in disagreements(scores)]
    assert found == [("a", "e"), ("a", "d"), ("a", "b")]
    assert disagreements(scores[1:4]) == ()
