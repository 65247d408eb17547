"""How far readings lie apart, against figures computed by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from runner.records import CriterionVerdict, Rating, StepVerdict, Verdict
from runner.scoring import statistics
from runner.scoring.judge_repeatability import judge_noise, layers, verdict_floor


def test_alpha_of_three_things_rated_twice_by_hand() -> None:
    # Observed: of 6 ratings, one unit gives (0-1)² twice: 2/6. Expected: 3 zeros and 3 ones make
    # 18 unequal ordered pairs of 30: .6. 1 - (1/3)/.6 = 4/9.
    assert statistics.alpha([(0, 0), (1, 1), (0, 1)]) == pytest.approx(4 / 9)


def test_alpha_of_raters_who_always_disagree_is_below_zero() -> None:
    alpha = statistics.alpha([(0, 1), (1, 0)])
    assert alpha is not None and alpha < 0


def test_alpha_holds_its_digits_where_ratings_are_nearly_alike() -> None:
    near = [(0.7 + 1e-9, 0.7 + 1e-9), (0.7, 0.7)]
    assert statistics.alpha(near) == pytest.approx(1.0)


# --- noise --------------------------------------------------------------------------------------


def reading(scores: Sequence[float], judge: str = "model:x", duplicate: int = 1) -> Rating:
    """Two steps: one of the criteria a (.5) and b (.5), one of c alone."""
    a, b, c = scores
    first, second = (a + b) / 2, c

    def step(name: str, quality: float, **criteria: float) -> StepVerdict:
        said = {key: CriterionVerdict(score=value, reason="") for key, value in criteria.items()}
        return StepVerdict(name=name, quality=quality, criteria=said)

    return Rating(
        judge=judge,
        duplicate=duplicate,
        quality=(first + second) / 2,
        steps=(step("one", first, a=a, b=b), step("two", second, c=c)),
    )


def verdict(*ratings: Rating) -> Verdict:
    whole = ratings[0]
    return Verdict(
        judge=whole.judge,
        identity="0" * 64,
        inputs="0" * 64,
        quality=whole.quality,
        steps=whole.steps,
        ratings=ratings if len(ratings) > 1 else (),
    )


FIRST = verdict(reading((0.4, 0.5, 0.5)), reading((0.6, 0.5, 0.5), duplicate=2))
SECOND = verdict(reading((0.3, 0.5, 0.5)), reading((0.3, 0.5, 0.5), duplicate=2))


def test_deviations_are_pooled_with_n_less_one() -> None:
    noise = judge_noise([("s", FIRST), ("s", SECOND)])
    # Criterion a: (.4, .6) has Σ(x - .5)² = .02 over 1, (.3, .3) none over 1: √(.02/2) = .1.
    spread = {item.place: item.sd for item in noise.each}
    assert spread["s", "one", "a"] == pytest.approx(0.1)
    assert spread["s", "one", "b"] == spread["s", "two", "c"] == 0
    # Step one: (.45, .55): √(.005/2) = .05; the whole: (.475, .525): √(.00125/2) = .025.
    assert spread["s", "one"] == pytest.approx(0.05)
    assert spread["s",] == pytest.approx(0.025)
    # Pooled over three criteria of two answers each: √(.02/6).
    assert noise.criterion is not None and noise.criterion.sd == pytest.approx(0.02**0.5 / 6**0.5)
    assert noise.criterion.answers == 6 and noise.criterion.readings == 12


def test_criteria_that_swing_against_each_other_are_quiet_at_the_scenario() -> None:
    # Two criteria swap 0 and 1 between trials; their step and the scenario stay at 0.5.
    trials = [verdict(reading((0.0, 1.0, 0.5))), verdict(reading((1.0, 0.0, 0.5)))]
    found = dict(layers([trials]))
    assert found["criterion"].sd == pytest.approx((2 * 0.5 / 3) ** 0.5)
    assert (found["step"].sd, found["scenario"].sd) == (0, 0)
    assert [found[name].groups for name in ("criterion", "step", "scenario")] == [3, 2, 1]
    assert not list(layers([trials[:1]])) and not list(layers([]))


def test_with_n_two_duplicates_would_look_closer_than_they_are() -> None:
    found = statistics.repeatability([(0.4, 0.6)])
    assert found is not None and found.sd == pytest.approx(0.1 * 2**0.5)


def test_the_floor_is_of_means_of_two_readings() -> None:
    noise = judge_noise([("s", FIRST), ("s", SECOND)])
    # 1.96 · √2 · .025 / √2
    assert noise.floor == pytest.approx(1.96 * 0.025)
    assert "differ by more than 0.049" in noise.says


def test_criteria_that_are_read_differently_each_time_are_to_be_rewritten() -> None:
    noise = judge_noise([("s", FIRST), ("s", SECOND)])
    assert noise.rewrite == (("s", "one", "a"),)


def test_a_judge_that_read_once_has_no_noise_that_anybody_knows() -> None:
    noise = judge_noise([("s", verdict(reading((0.4, 0.5, 0.5))))])
    assert noise.floor is None and noise.criterion is None and noise.each == ()
    assert "--duplicates" in noise.says


def test_two_judges_are_no_duplicates_of_one_another() -> None:
    panel = verdict(reading((0.0, 0.0, 0.0)), reading((1.0, 1.0, 1.0), judge="model:y"))
    noise = judge_noise([("s", panel)])
    assert noise.floor is None and noise.judges == ("model:x", "model:y")
    assert noise.alpha is not None and noise.alpha < 0 and noise.alpha_units == 3


def test_the_fewest_readings_of_any_verdict_decide_the_floor() -> None:
    thrice = verdict(*(reading((0.4, 0.5, 0.5), duplicate=number) for number in (1, 2, 3)))
    floor = verdict_floor([FIRST, thrice])
    # Σ = .00125 over 1 + 2 degrees of freedom, then √2 readings and not √3.
    assert floor is not None and floor.sd == pytest.approx((0.00125 / 3) ** 0.5 / 2**0.5)
