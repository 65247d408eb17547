"""Answers labelled by people who had not seen the extractor: what it finds of each style."""

from __future__ import annotations

import pytest

from tests.labelled import Outcome, outcomes, total

LEAST_RECALL, LEAST_IN_ANY_STYLE, LEAST_PRECISION = 0.97, 0.92, 0.99
MOST_WRONG_FILES = 0.01
"""Of the labels: the lines are read, and put into another file."""
MOST_WRONG_SYMBOLS = 0.03
"""Of the labels: a word is attached that the text does not say of the place."""


@pytest.fixture(scope="module")
def measured() -> list[Outcome]:
    return outcomes()


def test_there_are_labels_enough_to_tell(measured: list[Outcome]) -> None:
    assert total(measured).labels >= 300
    assert len({one.style for one in measured}) >= 8


def test_hardly_a_place_is_missed_in_any_style(measured: list[Outcome]) -> None:
    missed = [place for one in measured for place in one.missed]
    assert total(measured).recall >= LEAST_RECALL, missed
    poor = {one.style: one.missed for one in measured if one.recall < LEAST_IN_ANY_STYLE}
    assert poor == {}


def test_hardly_anything_else_is_taken_for_a_place(measured: list[Outcome]) -> None:
    whole = total(measured)
    assert whole.precision >= LEAST_PRECISION, whole.false


def test_lines_are_put_into_the_right_file_and_get_the_right_word(measured: list[Outcome]) -> None:
    whole = total(measured)
    assert len(whole.wrong_file) <= MOST_WRONG_FILES * whole.labels, whole.wrong_file
    assert len(whole.wrong_symbol) <= MOST_WRONG_SYMBOLS * whole.labels, whole.wrong_symbol
