"""A reader on answers that are no anchors, and raters that do not read."""

from __future__ import annotations

import pytest

from runner.scoring.rank_agreement import concordance, rho_of
from tests.fresh_answers import GAP, FreshAnswer, FreshStep, fresh_steps, whole, without_junk


@pytest.fixture(scope="module")
def every() -> list[FreshStep]:
    return list(fresh_steps())


@pytest.fixture(scope="module", params=["priced", "unpriced"])
def steps(request: pytest.FixtureRequest, every: list[FreshStep]) -> list[FreshStep]:
    """Of the answers whose grades have set prices, and of those written afterwards."""
    return without_junk(it for it in every if it.lot == request.param)


@pytest.fixture(scope="module")
def unpriced(every: list[FreshStep]) -> list[FreshAnswer]:
    return without_junk(whole(it for it in every if it.lot == "unpriced"))


def share(gold: list[float], judged: list[float]) -> float:
    found = concordance(gold, judged, GAP).share
    assert found is not None
    return found


def rho(gold: list[float], judged: list[float]) -> float:
    found = rho_of(gold, judged)
    assert found is not None
    return found


def test_every_step_of_the_fresh_answers_is_graded_twice(every: list[FreshStep]) -> None:
    assert (len(every), len({it.answer for it in every})) == (312, 78)
    assert all(0 <= grade <= 1 for it in every for grade in it.grades)


def test_the_reader_orders_whole_answers_whose_grades_set_no_price(
    unpriced: list[FreshAnswer],
) -> None:
    gold, judged = [it.gold for it in unpriced], [it.quality for it in unpriced]
    assert share(gold, judged) > 0.97
    assert rho(gold, judged) > 0.93


def test_the_reader_orders_single_steps_nearly_as_well(steps: list[FreshStep]) -> None:
    gold, judged = [it.gold for it in steps], [it.quality for it in steps]
    assert share(gold, judged) > 0.92
    assert rho(gold, judged) > 0.87


def test_length_does_not_order_them(steps: list[FreshStep]) -> None:
    gold = [it.gold for it in steps]
    words = [float(len(it.text.split())) for it in steps]
    assert share(gold, words) < 0.7


def test_readings_of_other_answers_do_not_order_them(steps: list[FreshStep]) -> None:
    gold = [it.gold for it in steps]
    judged = [it.quality for it in steps]
    assert share(gold, judged[7:] + judged[:7]) < 0.7
