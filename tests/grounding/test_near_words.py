"""The words near a citation are read once for each line, however many citations ask for it."""

from __future__ import annotations

from runner.grounding.near_words import NearWords


def test_a_line_is_read_once_for_all_who_ask_for_it() -> None:
    words = NearWords(b"foo " * 10_000)
    assert next(words.on(1, 1)) is next(words.on(-4, 6))


def test_a_name_in_another_case_is_the_same_form_and_the_name_itself_is_no_other_word() -> None:
    (line,) = NearWords(b"raise BadRequest").on(1, 1)
    assert line.has_form("_bad_request_", "bad_request")
    assert not line.has_form("_bad_request_", "BadRequest")


def test_a_form_is_within_a_longer_one_but_not_within_itself() -> None:
    (line,) = NearWords(b"fill_graph_cache(bad_request)").on(1, 1)
    assert line.has_within("_fill_graph_")
    assert not line.has_within("_bad_request_")


def test_lines_outside_of_the_source_have_no_words() -> None:
    assert [*NearWords(b"a\nb").on(3, 9)] == []
    assert len([*NearWords(b"a\nb").on(-5, 9)]) == 2
