from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import spearmanr

from runner.anchors.agreement import correlate, disagreements, resampled_rhos
from runner.records import AnchorScore


def test_rho_is_spearmans_with_average_ranks_for_ties() -> None:
    gold, judged = [0.1, 0.2, 0.2, 0.4, 0.9], [0.0, 0.5, 0.4, 0.4, 1.0]
    found = correlate(gold, judged)
    # By hand: ranks 1, 2.5, 2.5, 4, 5 and 1, 4, 2.5, 2.5, 5; Σ of products of deviations 7.25, each Σ of squares 9.5.
    assert found.rho == pytest.approx(7.25 / 9.5)
    assert (found.n, found.ties_gold, found.ties_judged) == (5, 2, 2)


def test_scores_that_differ_by_an_error_of_addition_are_ties() -> None:
    assert correlate([0.0, 0.5, 1.0], [0.0, 0.1 + 0.2, 0.3]).ties_judged == 2


def test_every_resample_has_the_rho_that_scipy_gives_it() -> None:
    random = np.random.default_rng(7)
    x, y = random.integers(0, 5, 14).astype(float), random.random(14)
    times = random.multinomial(14, [1 / 14] * 14, size=50).astype(float)
    expected = [
        spearmanr(np.repeat(x, row.astype(int)), np.repeat(y, row.astype(int))).statistic
        for row in times
    ]
    assert resampled_rhos(x, y, times) == pytest.approx(expected)


def test_a_resample_without_spread_has_no_rho() -> None:
    assert math.isnan(
        resampled_rhos(np.array([1.0, 2.0]), np.array([1.0, 2.0]), np.array([[2.0, 0.0]]))[0]
    )


def test_the_interval_is_the_same_every_time_and_holds_the_estimate() -> None:
    random = np.random.default_rng(3)
    gold = random.random(18).tolist()
    judged = [value + noise for value, noise in zip(gold, random.normal(0, 0.2, 18), strict=True)]
    one, other = correlate(gold, judged), correlate(gold, judged)
    assert one == other and one.rho is not None and one.low is not None and one.high is not None
    assert -1 <= one.low < one.rho < one.high <= 1


def test_steps_of_one_transcript_are_no_independent_evidence() -> None:
    random = np.random.default_rng(5)
    gold, judged = random.random(12), random.random(12)
    repeated_gold, repeated_judged = np.repeat(gold, 4).tolist(), np.repeat(judged, 4).tolist()
    clustered = correlate(repeated_gold, repeated_judged, np.repeat(np.arange(12), 4).tolist())
    plain = correlate(repeated_gold, repeated_judged)
    assert (
        clustered.low is not None
        and clustered.high is not None
        and plain.low is not None
        and plain.high is not None
    )
    assert clustered.high - clustered.low > 1.5 * (plain.high - plain.low)


def test_too_few_for_an_interval_have_none() -> None:
    found = correlate([1, 2, 3, 4, 5], [1, 2, 3, 4, 5])
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


def test_the_pairs_that_disagree_most_come_first_and_only_those_ranked_the_other_way_round() -> (
    None
):
    scores = [
        AnchorScore(transcript=name, gold=gold, judged=judged)
        for name, gold, judged in (
            ("a", 0.9, 0.2),
            ("b", 0.5, 0.6),
            ("c", 0.4, 0.5),
            ("d", 0.1, 0.3),
            ("e", 0.1, 0.9),
        )
    ]
    found = [(pair.better.transcript, pair.worse.transcript) for pair in disagreements(scores)]
    assert found == [("a", "e"), ("a", "d"), ("a", "b")]
    assert disagreements(scores[1:4]) == ()
