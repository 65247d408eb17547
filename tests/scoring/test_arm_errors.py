"""Judged differences held against people's, over drawn questions whose truth is known."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from runner.records import ArmError
from runner.scoring.arm_errors import arm_error
from runner.support.errors import FairtrialError

DRAWN = 600


def drawn(
    seed: int,
    *,
    truth: float,
    bias: float,
    graded: int = 30,
    questions: int = 150,
    noise: float = 0.08,
) -> ArmError:
    """`bias`: what the judge adds to the server's answers alone."""
    dice = random.Random(seed)
    rows = []
    for _ in range(questions):
        given = truth + dice.gauss(0, 0.15)
        rows.append((given, given + bias + dice.gauss(0, noise)))
    others = [judged for _, judged in rows[graded:]]
    return arm_error("x", rows[:graded], others, people=2)


def covered(found: Sequence[ArmError], truth: float) -> float:
    return sum(it.low <= truth <= it.high for it in found) / len(found)


@pytest.mark.parametrize("bias", [0.0, 0.1, -0.1])
def test_the_corrected_interval_covers_the_truth_as_often_as_it_says(bias: float) -> None:
    found = [drawn(seed, truth=0.05, bias=bias) for seed in range(DRAWN)]
    assert 0.93 <= covered(found, 0.05) <= 0.975
    assert sum(it.corrected for it in found) / DRAWN == pytest.approx(0.05, abs=0.005)


def test_the_judges_own_difference_is_off_by_its_error() -> None:
    found = [drawn(seed, truth=0.05, bias=0.1) for seed in range(DRAWN)]
    # As wide as what the judge alone would be given, around what it says.
    spread = 1.96 * (0.15**2 + 0.08**2) ** 0.5 / 150**0.5
    inside = sum(abs(it.judged - 0.05) <= spread for it in found) / DRAWN
    assert inside < 0.01
    assert sum(it.error for it in found) / DRAWN == pytest.approx(0.1, abs=0.005)


def test_the_judges_word_narrows_what_people_alone_could_say() -> None:
    both = [drawn(seed, truth=0.05, bias=0.1) for seed in range(100)]
    alone = [drawn(seed, truth=0.05, bias=0.1, questions=30) for seed in range(100)]
    width = [sum(it.high - it.low for it in found) for found in (both, alone)]
    assert width[0] < 0.8 * width[1]
    # One whose word says nothing is given no weight, and costs nothing.
    useless = [drawn(seed, truth=0.05, bias=0.0, noise=3.0) for seed in range(100)]
    assert sum(it.high - it.low for it in useless) < 1.1 * width[1]


def test_a_judge_that_errs_alike_in_both_arms_is_not_accused() -> None:
    found = [drawn(seed, truth=0.2, bias=0.0) for seed in range(DRAWN)]
    assert sum(it.p < 0.05 for it in found) / DRAWN < 0.08
    assert sum(it.refuses for it in found) == 0


def test_where_the_error_is_all_of_the_difference_nobody_is_ranked() -> None:
    found = [drawn(seed, truth=0.0, bias=0.15) for seed in range(DRAWN)]
    assert sum(it.refuses for it in found) / DRAWN > 0.94
    assert all(it.judged > 0.1 for it in found)


def test_few_graded_questions_refuse_nothing_and_one_says_nothing() -> None:
    few = drawn(1, truth=0.0, bias=0.2, graded=4)
    assert few.is_thin and not few.refuses
    with pytest.raises(FairtrialError, match="graded 1 questions"):
        arm_error("x", [(0.1, 0.2)], [0.1], people=1)


def test_when_every_question_is_graded_people_alone_count() -> None:
    rows = [(0.1, 0.5), (0.2, 0.4), (0.0, 0.6), (0.1, 0.1), (0.2, 0.3), (0.3, 0.2)]
    found = arm_error("x", rows, [], people=3)
    assert found.corrected == pytest.approx(0.15)
    assert found.error == pytest.approx(0.2)
    assert (found.graded, found.questions) == (6, 6)
