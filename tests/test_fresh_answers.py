"""A reader on answers whose grades have set no price, and raters that do not read."""

from __future__ import annotations

import pytest

from runner.scoring.rank_agreement import concordance, rho_of
from tests.fresh_answers import GAP, FreshStep, fresh_steps, graded_steps


@pytest.fixture(scope="module")
def steps() -> list[FreshStep]:
    return graded_steps()


def share(gold: list[float], judged: list[float]) -> float:
    found = concordance(gold, judged, GAP).share
    assert found is not None
    return found


def test_every_step_of_the_fresh_answers_is_graded_twice() -> None:
    whole = list(fresh_steps())
    assert (len(whole), len({it.answer for it in whole})) == (96, 24)
    assert all(0 <= grade <= 1 for it in whole for grade in it.grades)


def test_the_reader_orders_nine_pairs_in_ten_and_falls_short_of_a_rho_of_nine_tenths(
    steps: list[FreshStep],
) -> None:
    gold = [it.gold for it in steps]
    judged = [it.quality for it in steps]
    assert share(gold, judged) > 0.9
    rho = rho_of(gold, judged)
    assert rho is not None
    assert 0.8 < rho < 0.9


def test_length_does_not_order_them(steps: list[FreshStep]) -> None:
    gold = [it.gold for it in steps]
    words = [float(len(it.text.split())) for it in steps]
    assert share(gold, words) < 0.8


def test_readings_of_other_answers_do_not_order_them(steps: list[FreshStep]) -> None:
    gold = [it.gold for it in steps]
    judged = [it.quality for it in steps]
    assert share(gold, judged[7:] + judged[:7]) < 0.7
