"""Lines are told by every other place of the text, before and behind them."""

from __future__ import annotations

import pytest

from runner.grounding.extract import read_all
from tests.grounding.test_extract import INDEX, cited

TOLD_LATER = "See src/app.py:3.\n\nThe loop (250) is slow.\n\nsrc/app.py:255 ends it.\n"
NAMED_LATER = "See lib/text.py:3.\n\nRTAF:42 (250) runs.\n\nRTAF = src/app.py is slow.\n"
OWNED_LATER = (
    "It calls lib/text.py:100.\n\nIt calls src/app.py now.\n\n"
    "It ends in `open` (130).\n\nIt calls src/app.py:900.\n"
)


def test_a_number_is_told_by_what_is_cited_behind_it() -> None:
    assert "src/app.py:250" in cited(TOLD_LATER)
    assert "src/app.py:250" not in cited(TOLD_LATER.replace("255", "955"))


def test_lines_are_anothers_if_the_file_named_last_turns_out_to_be_cited_elsewhere() -> None:
    assert "lib/text.py:130" in cited(OWNED_LATER)
    assert "src/app.py:130" in cited(OWNED_LATER.replace("900", "150"))


def test_a_short_name_is_told_by_what_is_said_behind_it() -> None:
    assert "src/app.py:42" in cited(NAMED_LATER)


def test_lines_in_code_marks_in_a_bracket_are_lines_as_without_marks() -> None:
    text = "`run` (src/app.py:250) notes them (`278-280`); none has pk (`216-219`, `84-91`)."
    plain = text.replace("(`", "(").replace("`)", ")").replace("`, `", ", ")
    lines = [f"src/app.py:{span}" for span in ("250", "278-280", "216-219", "84-91")]
    assert cited(text) == lines == cited(plain)
    value = "The default of src/app.py:10 is small (`100`), the port another (`8080`)."
    assert cited(value) == ["src/app.py:10"]


def test_one_letter_is_a_short_name_where_a_line_follows_it() -> None:
    text = "A = `src/app.py`, T = lib/text.py.\n\nA:42 opens it, T:7 reads. A 250 is a grade."
    assert cited(text) == ["src/app.py:42", "lib/text.py:7"]


def test_a_text_of_more_pieces_than_are_read_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not read_all(TOLD_LATER, INDEX).is_cut
    monkeypatch.setattr("runner.grounding.extract.MOST_PIECES", 2)
    assert read_all(TOLD_LATER, INDEX).is_cut
