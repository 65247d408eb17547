"""Figures worked out by hand, and what the statistics refuse to say."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from runner.scoring import statistics
from tests.report.loaded import cell, fingerprint, tools

# --- pairs ----------------------------------------------------------------------------------


def test_differences_are_paired_by_trial_and_averaged_within_the_scenario() -> None:
    shell = {("a", 1): 0.2, ("a", 2): 0.4, ("b", 1): 0.5}
    arm = {("a", 1): 0.3, ("a", 2): 0.7, ("b", 1): 0.4}
    assert statistics.paired_differences(shell, arm) == {
        "a": pytest.approx(0.2),
        "b": pytest.approx(-0.1),
    }


def test_a_trial_that_one_arm_lacks_is_in_no_pair() -> None:
    shell = {("easy", 1): 0.9, ("hard", 1): 0.1}
    assert statistics.paired_differences(shell, {("easy", 1): 0.9, ("other", 1): 1.0}) == {
        "easy": 0.0
    }


def test_more_trials_of_one_scenario_do_not_outvote_the_others() -> None:
    many = {("a", trial): 1.0 for trial in range(1, 100)} | {("b", 1): 0.0}
    assert statistics.mean(statistics.scenario_means(many).values()) == 0.5


@pytest.mark.parametrize("figure", [math.nan, math.inf, -math.inf])
def test_a_figure_that_is_no_number_is_refused(figure: float) -> None:
    for refuse in (
        statistics.mean,
        statistics.bootstrap_interval,
        lambda values: statistics.repeatability([values]),
    ):
        with pytest.raises(ValueError, match="NaN or infinite"):
            refuse([0.5, figure])


def test_nothing_has_no_mean() -> None:
    with pytest.raises(ValueError, match="nothing to average"):
        statistics.mean([])


# --- intervals ------------------------------------------------------------------------------


def test_one_figure_has_no_interval() -> None:
    with pytest.raises(ValueError, match="at least two"):
        statistics.bootstrap_interval([0.5])


def test_constant_figures_have_an_interval_of_no_width() -> None:
    assert statistics.bootstrap_interval([0.25] * 8) == statistics.Interval(low=0.25, high=0.25)


def test_the_same_figures_give_the_same_interval_each_time() -> None:
    figures = [0.1, 0.4, 0.2, 0.9, 0.3, 0.5, 0.8]
    assert statistics.bootstrap_interval(figures) == statistics.bootstrap_interval(figures)
    assert statistics.bootstrap_interval(figures) != statistics.bootstrap_interval(figures, seed=1)


def test_two_figures_give_an_interval_that_reaches_both() -> None:
    # Resampled means of {0, 1} are 0, ½ and 1 with ¼, ½, ¼; the expanded tail (0.01 % at n = 2)
    # lies in the outer ones.
    assert statistics.bootstrap_interval([0.0, 1.0]) == statistics.Interval(low=0.0, high=1.0)


def test_the_interval_is_no_narrower_than_students_t_would_be_by_much() -> None:
    figures = [0.1, 0.3, 0.2, 0.4, 0.25, 0.35, 0.15, 0.3, 0.2, 0.25]
    mean = sum(figures) / 10
    sd = math.sqrt(sum((figure - mean) ** 2 for figure in figures) / 9)
    half = 2.262 * sd / math.sqrt(10)  # Student's t, 9 degrees of freedom, 97.5 %
    found = statistics.bootstrap_interval(figures)
    assert (found.low, found.high) == pytest.approx((mean - half, mean + half), abs=0.15 * half)


def test_ninety_five_percent_intervals_hold_the_truth_about_that_often_at_the_least_n() -> None:
    import numpy as np

    draws = np.random.Generator(np.random.PCG64(7)).normal(
        0, 1, size=(600, statistics.MIN_SCENARIOS)
    )
    held = sum(
        statistics.bootstrap_interval(row, resamples=1000, seed=seed).contains(0)
        for seed, row in enumerate(draws)
    )
    assert 0.91 < held / 600 < 0.97


def test_the_least_number_of_scenarios_is_where_the_sign_test_can_first_speak() -> None:
    assert 2 * 0.5**statistics.MIN_SCENARIOS <= 0.05 < 2 * 0.5 ** (statistics.MIN_SCENARIOS - 1)


# --- noise ----------------------------------------------------------------------------------


def test_the_spread_of_duplicates_is_pooled_within_groups() -> None:
    # Deviations: ±0.1 and ±0.1 about 0.3; ±0.2 about 0.7: squares 0.02 + 0.08, freedom 1 + 1,
    # so the sd is √0.05.
    found = statistics.repeatability([[0.2, 0.4], [0.5, 0.9], [0.123]])
    assert found is not None
    assert found.sd == pytest.approx(math.sqrt(0.05))
    assert (found.groups, found.figures) == (2, 4)
    assert found.limit() == pytest.approx(1.96 * math.sqrt(2) * math.sqrt(0.05))
    assert found.limit(4) == pytest.approx(found.limit() / 2)


def test_groups_that_lie_apart_add_no_noise() -> None:
    found = statistics.repeatability([[0.1, 0.1], [0.9, 0.9]])
    assert found is not None
    assert found.sd == 0


def test_noise_is_unknown_where_nothing_was_repeated() -> None:
    assert statistics.repeatability([[0.5], []]) is None


def test_a_limit_needs_a_pair() -> None:
    with pytest.raises(ValueError, match="at least one pair"):
        statistics.Repeatability(sd=0.1, groups=1, figures=2).limit(0)


# --- trials that pass -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trials", "passed", "k", "all_of_them", "one_of_them"),
    [
        # Of 5 trials a, b, c pass: 3 of the 10 pairs hold passes alone, and only d-e holds none.
        (5, 3, 2, 3 / 10, 9 / 10),
        (5, 3, 1, 3 / 5, 3 / 5),
        # 1 of the 10 triples is a-b-c; every triple holds one of them.
        (5, 3, 3, 1 / 10, 1.0),
        (5, 3, 4, 0.0, 1.0),
        # 6 of 15 pairs, and 1 of 15 without a pass.
        (6, 4, 2, 6 / 15, 14 / 15),
        (8, 8, 8, 1.0, 1.0),
        (8, 0, 8, 0.0, 0.0),
        (1, 1, 1, 1.0, 1.0),
    ],
)
def test_the_chance_that_all_of_k_pass_and_that_one_does(
    trials: int, passed: int, k: int, all_of_them: float, one_of_them: float
) -> None:
    assert statistics.all_pass(trials, passed, k) == pytest.approx(all_of_them)
    assert statistics.any_passes(trials, passed, k) == pytest.approx(one_of_them)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_over_all_that_could_happen_both_are_neither_too_high_nor_too_low(k: int) -> None:
    # Exactly, over every count of passes among 5 trials that pass one time in three. The plain
    # (passed / trials)^k would be too high: 0.0844 for k = 3, where the truth is 0.0370.
    third = Fraction(1, 3)
    all_of_them = one_of_them = plain = Fraction(0)
    for passed in range(6):
        chance = math.comb(5, passed) * third**passed * (1 - third) ** (5 - passed)
        all_of_them += chance * Fraction(statistics.all_pass(5, passed, k))
        one_of_them += chance * Fraction(statistics.any_passes(5, passed, k))
        plain += chance * Fraction(passed, 5) ** k
    assert float(all_of_them) == pytest.approx(float(third**k), abs=1e-12)
    assert float(one_of_them) == pytest.approx(float(1 - (1 - third) ** k), abs=1e-12)
    assert (plain > third**k) == (k > 1)


@pytest.mark.parametrize("k", [0, -1, 4])
def test_three_trials_say_nothing_of_four_and_nothing_of_none(k: int) -> None:
    for chance in (statistics.all_pass, statistics.any_passes):
        with pytest.raises(ValueError, match="say nothing"):
            chance(3, 2, k)


# --- agreement of graders -------------------------------------------------------------------


def ratings(*observers: str) -> list[list[float]]:
    """A row an observer, `.` where there is no rating -> the ratings of each unit."""
    units = zip(*(row.split() for row in observers), strict=True)
    return [[float(rating) for rating in unit if rating != "."] for unit in units]


def test_alpha_is_that_of_the_published_example() -> None:
    # Krippendorff 2011, section E: four observers, twelve units, missing ratings.
    units = ratings(
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    )
    assert statistics.alpha(units) == pytest.approx(0.849, abs=0.0005)


def test_alpha_is_that_computed_by_hand() -> None:
    # Observed (0 + 0.02) / 4; expected 0.06 / 12: both 0.005.
    assert statistics.alpha([[0.1, 0.1], [0.1, 0.2]]) == pytest.approx(0)
    assert statistics.alpha([[0.1, 0.1], [0.2, 0.2], [0.7, 0.7]]) == 1


def test_without_any_spread_there_is_no_alpha() -> None:
    assert statistics.alpha([[0.1, 0.1], [0.1, 0.1]]) is None
    assert statistics.alpha([[0.1], [0.9]]) is None
    assert statistics.alpha([]) is None


# --- fingerprints ---------------------------------------------------------------------------


def test_arms_that_differ_in_the_server_alone_may_be_compared() -> None:
    shell, served = fingerprint(cell("a")), fingerprint(cell("a", "codegraph"), tools=tools())
    assert statistics.differences(shell, served) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("harness", "0.2.0"),
        ("base_image", "other"),
        ("workspace_image", "other"),
        ("commit", "0" * 40),
        ("tree", "0" * 40),
        ("prompts", "0" * 64),
        ("limits", "0" * 64),
        ("container", "0" * 64),
        ("engine", "27"),
        ("kernel", "6.5"),
        ("model", "other"),
        ("cache", "provider"),
        ("jobs", 2),
        ("model_identity", "0" * 64),
    ],
)
def test_anything_else_that_differs_is_named(field: str, value: Any) -> None:
    found = statistics.differences(
        fingerprint(cell("a")), fingerprint(cell("a", "codegraph"), **{field: value})
    )
    assert len(found) == 1
    assert found[0].startswith(f"{field}: ")


def test_a_field_that_only_the_baseline_has_is_named_too() -> None:
    baseline = fingerprint(cell("a"), cache="local", jobs=1)
    found = statistics.differences(baseline, fingerprint(cell("a", "codegraph"), cache="none"))
    assert found == ["cache: local against none", "jobs: 1 against None"]
