"""Figures worked out by hand, and what the statistics refuse to say."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from runner.scoring import statistics
from tests.report.loaded import cell, fingerprint, tools

# --- pairs ----------------------------------------------------------------------------------


def test_differences_are_paired_by_trial_and_averaged_within_the_scenario() -> None:
    shell = {("a", 1): 0.2, ("a", 2): 0.4, ("b", 1): 0.5}
    arm = {("a", 1): 0.3, ("a", 2): 0.7, ("b", 1): 0.4}
    found = statistics.scenario_means(statistics.trial_differences(shell, arm))
    assert found == {
        "a": pytest.approx(0.2),
        "b": pytest.approx(-0.1),
    }


def test_a_trial_that_one_arm_lacks_is_in_no_pair() -> None:
    shell = {("easy", 1): 0.9, ("hard", 1): 0.1}
    assert statistics.trial_differences(shell, {("easy", 1): 0.9, ("other", 1): 1.0}) == {
        ("easy", 1): 0.0
    }


def test_more_trials_of_one_scenario_do_not_outvote_the_others() -> None:
    many = {("a", trial): 1.0 for trial in range(1, 100)} | {("b", 1): 0.0}
    assert statistics.mean(statistics.scenario_means(many).values()) == 0.5


@pytest.mark.parametrize("figure", [math.nan, math.inf, -math.inf])
def test_a_figure_that_is_no_number_is_refused(figure: float) -> None:
    for refuse in (
        statistics.mean,
        lambda values: statistics.ClusterMean(figures=tuple(values) * 4).interval(),
        lambda values: statistics.repeatability([values]),
    ):
        with pytest.raises(ValueError, match="NaN or infinite"):
            refuse([0.5, figure])


def test_nothing_has_no_mean() -> None:
    with pytest.raises(ValueError, match="nothing to average"):
        statistics.mean([])


# --- a mean over clusters -------------------------------------------------------------------


def mean_of(*figures: float) -> statistics.ClusterMean:
    return statistics.ClusterMean(figures=figures)


def test_five_clusters_have_no_interval_and_six_have_their_range() -> None:
    assert mean_of(0.1, 0.2, 0.3, 0.4, 0.5).interval() is None
    found = mean_of(0.1, 0.2, 0.3, 0.4, 0.5, 0.6).interval()
    # One subset mean in 64 lies beyond each end: 1/64 is under 2.5 %, and 2/64 is not.
    assert found == statistics.Interval(low=0.1, high=0.6)


@pytest.mark.parametrize("count", [6, 9, 12, 13, 40])
def test_constant_figures_have_an_interval_of_no_width(count: int) -> None:
    found = mean_of(*[0.25] * count)
    assert found.interval() == statistics.Interval(low=0.25, high=0.25)
    assert found.p == pytest.approx(2 * 0.5**count)
    assert found.p_above(0.3) == 1.0
    assert mean_of(*[0.0] * count).p == 1.0


def test_p_of_few_clusters_is_what_trying_every_sign_gives() -> None:
    figures = (0.3, -0.1, 0.4, 0.2, 0.25, -0.05, 0.1)
    observed = sum(figures)
    flips = [
        sum(sign * figure for sign, figure in zip(signs, figures, strict=True))
        for signs in itertools.product((1, -1), repeat=7)
    ]
    assert mean_of(*figures).p_above() == sum(flip >= observed - 1e-12 for flip in flips) / 128


@pytest.mark.parametrize("level", [0.8, 0.95, 0.975])
@pytest.mark.parametrize("count", [7, 12, 13, 30])
def test_an_interval_leaves_zero_out_just_where_its_test_refuses_it(
    count: int, level: float
) -> None:
    seeded = np.random.default_rng(count)
    for shift in np.linspace(-0.5, 0.5, 41):
        found = mean_of(*(seeded.normal(size=count) * 0.4 + shift))
        interval = found.interval(level)
        assert interval is not None
        assert interval.contains(0) == (found.p > 1 - level + 1e-12)


def test_beyond_twelve_clusters_the_interval_is_students() -> None:
    figures = (0.1, 0.3, 0.2, 0.4, 0.25, 0.35, 0.15, 0.3, 0.2, 0.25, 0.1, 0.3, 0.2)
    centre = sum(figures) / 13
    sd = math.sqrt(sum((figure - centre) ** 2 for figure in figures) / 12)
    half = 2.178813 * sd / math.sqrt(13)  # Student's t, 12 degrees of freedom, 97.5 %
    found = mean_of(*figures).interval()
    assert found is not None
    assert (found.low, found.high) == pytest.approx((centre - half, centre + half), abs=1e-6)


def test_the_least_number_of_clusters_is_where_every_sign_alike_can_first_speak() -> None:
    found = {count: statistics.least_clusters(count) for count in (1, 2, 3, 5, 10)}
    assert found == {1: 6, 2: 7, 3: 7, 5: 8, 10: 9}
    for comparisons, least in found.items():
        assert 2 * 0.5**least <= 0.05 / comparisons < 2 * 0.5 ** (least - 1)
    with pytest.raises(ValueError, match="0 comparisons"):
        statistics.least_clusters(0)


def test_holm_adjusts_as_statsmodels_does() -> None:
    # statsmodels 0.15.0, multipletests(p, method="holm").
    found = statistics.holm([0.01, 0.04, 0.03, 0.005, 0.5])
    assert found == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.5])
    assert statistics.holm([]) == []


def test_the_level_of_each_comparison_is_the_one_at_which_holm_decides() -> None:
    ps = [0.01, 0.04, 0.03, 0.005, 0.5]
    levels = statistics.holm_levels(ps)
    assert levels == pytest.approx([0.05 / 4, 0.05 / 3, 0.05 / 3, 0.05 / 5, 0.05 / 3])
    refused = [p <= level for p, level in zip(ps, levels, strict=True)]
    assert refused == [adjusted <= 0.05 for adjusted in statistics.holm(ps)]


def test_the_smallest_difference_is_found_four_times_in_five() -> None:
    seeded = np.random.default_rng(11)
    for clusters, level in ((6, 0.05), (8, 0.01), (12, 0.05), (20, 0.05)):
        difference = statistics.smallest_difference(0.2, clusters, level=level)
        assert difference is not None
        drawn = seeded.normal(difference, 0.2, size=(1000, clusters))
        found = sum(mean_of(*row).p <= level for row in drawn) / 1000
        assert 0.76 < found < 0.84, clusters


def test_no_difference_can_be_found_of_too_few_clusters() -> None:
    assert statistics.smallest_difference(0.2, 5) is None
    assert statistics.smallest_difference(0.2, 7, level=0.05 / 5) is None


def test_students_smallest_difference_is_the_non_central_ts() -> None:
    # statsmodels 0.15.0, TTestPower().solve_power(None, nobs=20, alpha=.05, power=.8).
    assert statistics.smallest_difference(1.0, 20) == pytest.approx(0.660444, abs=1e-4)


# --- what differences vary by ---------------------------------------------------------------


def test_a_variance_is_split_by_what_made_it() -> None:
    seeded = np.random.default_rng(3)
    differences = {}
    for repository in range(300):
        of_repository = seeded.normal(0, 0.10)
        for scenario in range(3):
            of_scenario = of_repository + seeded.normal(0, 0.07)
            trials = of_scenario + seeded.normal(0, 0.05, size=2)
            differences[str(repository), str(scenario)] = trials.tolist()
    split = statistics.variance_split(differences)
    assert split is not None and split.repository and split.scenario and split.trial
    assert math.sqrt(split.repository) == pytest.approx(0.10, abs=0.015)
    assert math.sqrt(split.scenario) == pytest.approx(0.07, abs=0.01)
    assert math.sqrt(split.trial) == pytest.approx(0.05, abs=0.005)
    whole = split.of_cluster(3, 2)
    assert split.trial_share(3, 2) == pytest.approx(split.trial / 6 / whole)
    assert split.of_cluster(3, 1000) < whole < split.of_cluster(1, 1)


def test_what_cannot_be_told_apart_is_not_told_apart() -> None:
    split = statistics.variance_split({("a", "1"): [0.1], ("b", "2"): [0.3], ("c", "3"): [0.2]})
    assert split is not None
    assert (split.scenario, split.trial) == (None, None)
    assert split.repository == pytest.approx(0.01)
    assert split.trial_share(1, 1) is None
    alone = statistics.variance_split({("a", "1"): [0.1, 0.3], ("a", "2"): [0.2, 0.2]})
    assert alone is not None
    assert alone.repository is None
    assert statistics.variance_split({("a", "1"): [0.1, 0.2]}) is None


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
