from __future__ import annotations

import pytest

from runner.records import Scored, Unscored
from runner.scoring.efficiency import efficiency
from tests.scoring.material import SCENARIO, effort


def value(**changes: int | float | bool) -> float:
    score = efficiency(effort(**changes), SCENARIO.budget)
    assert isinstance(score, Scored)
    return score.value


def test_tokens_and_seconds_count_half_each() -> None:
    assert value(new_tokens=5000, agent_sec=20.0) == pytest.approx((0.5 + 0.8) / 2)


def test_an_empty_quick_answer_is_not_efficient() -> None:
    assert value(new_tokens=0, agent_sec=0.0, steps_completed=0) == 0.0


def test_half_the_steps_earn_half() -> None:
    assert value(steps_completed=1) == pytest.approx(value() / 2)


def test_past_the_ceiling_nothing_is_left_and_nothing_is_negative() -> None:
    assert value(new_tokens=50_000, agent_sec=1e6) == 0.0


def test_what_a_cache_served_and_what_was_billed_again_moves_nothing() -> None:
    assert value(input_tokens=0, cache_read_tokens=10**6) == value(input_tokens=10**6) == value()


def test_a_scorecard_that_does_not_know_its_new_tokens_is_not_efficient_for_it() -> None:
    old = effort().model_copy(update={"new_tokens": None})
    assert isinstance(efficiency(old, SCENARIO.budget), Unscored)


def test_waiting_for_the_provider_costs_the_answer_nothing() -> None:
    assert value(backoff_sec=500.0) == value()
