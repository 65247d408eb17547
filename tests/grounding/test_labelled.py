"""Answers labelled by people who had not seen the extractor: what it finds of each style."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.labelled import Outcome, outcomes, total


@dataclass(frozen=True)
class Floors:
    """Shares of the labels, but of the precision's: of what was extracted."""

    recall: float
    recall_in_any_style: float
    precision: float
    wrong_files: float
    """At most: the lines are read, and put into another file."""
    wrong_symbols: float
    """At most: a word is attached that the text does not say of the place."""


FLOORS = {
    False: Floors(0.97, 0.92, 0.99, 0.02, 0.03),
    # Answers that were not looked at while the extractor was written: what it may be trusted with.
    True: Floors(0.97, 0.92, 0.99, 0.06, 0.03),
}


@pytest.fixture(scope="module", params=FLOORS)
def measured(request: pytest.FixtureRequest) -> list[Outcome]:
    """The answers that were looked at, then those that were not."""
    half = [one for one in outcomes() if one.held == request.param]
    if not half:
        pytest.skip("no answer of this half is here")
    return half


@pytest.fixture
def floors(measured: list[Outcome]) -> Floors:
    return FLOORS[measured[0].held]


def test_there_are_labels_enough_to_tell() -> None:
    assert total(outcomes()).labels >= 300
    assert len({one.style for one in outcomes()}) >= 8


def test_hardly_a_place_is_missed_in_any_style(measured: list[Outcome], floors: Floors) -> None:
    missed = [place for one in measured for place in one.missed]
    assert total(measured).recall >= floors.recall, missed
    cited = [one for one in measured if one.labels]
    poor = {one.style: one.missed for one in cited if one.recall < floors.recall_in_any_style}
    assert poor == {}


def test_hardly_anything_else_is_taken_for_a_place(measured: list[Outcome], floors: Floors) -> None:
    whole = total(measured)
    assert whole.precision >= floors.precision, whole.false


def test_lines_are_put_into_the_right_file_and_get_the_right_word(
    measured: list[Outcome], floors: Floors
) -> None:
    whole = total(measured)
    assert len(whole.wrong_file) <= floors.wrong_files * whole.labels, whole.wrong_file
    assert len(whole.wrong_symbol) <= floors.wrong_symbols * whole.labels, whole.wrong_symbol
