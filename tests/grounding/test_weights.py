"""What a citation weighs, and the rates of an answer whose lines are wrong."""

from __future__ import annotations

import pytest

from runner.grounding.shifts import shifted
from runner.grounding.verify import ground
from runner.records import Citation
from tests.grounding.fakes import MemoryFiles

BODY = "\n".join(f"    step_{number} = {number}" for number in range(40))
COMMENT = "# nothing here\n" * 12
SHOP = f'''"""Shops."""


def open_shop(stock):
{BODY}
    return stock


def close_shop():
    return None


{COMMENT}

CLOSED = close_shop()
'''
LINES = SHOP.splitlines()
LAST = len(LINES)
OPEN = LINES.index("def open_shop(stock):") + 1
CLOSE = LINES.index("def close_shop():") + 1
FILES = MemoryFiles({"shop.py": SHOP, "long.py": "x = 1\n" * 1000, "notes.txt": "one\ntwo\n" * 30})


def only(text: str) -> Citation:
    [citation] = [c for c in ground(text, FILES).citations if c.start is not None]
    return citation


def places_that_hold(symbol: str, width: int, *kinds: str) -> float:
    """By asking for every place of the file."""
    held = [
        only(f"`{symbol}` (shop.py:{start}-{start + width - 1})").held_by in kinds
        for start in range(1, LAST - width + 2)
    ]
    return sum(held) / len(held)


@pytest.mark.parametrize("width", [1, 4])
def test_a_citation_weighs_the_share_of_places_that_its_kind_does_not_hold(width: int) -> None:
    def at(line: int, symbol: str) -> Citation:
        return only(f"`{symbol}` (shop.py:{line}-{line + width - 1})")

    definition, body = at(OPEN, "open_shop"), at(OPEN + 20, "open_shop")
    use = at(LAST - width + 1, "close_shop")
    assert (definition.held_by, body.held_by, use.held_by) == ("definition", "span", "use")
    by_definition = places_that_hold("open_shop", width, "definition")
    by_any = places_that_hold("open_shop", width, "definition", "use", "span")
    by_use = places_that_hold("close_shop", width, "definition", "use")
    assert definition.weight == pytest.approx(1 - by_definition)
    assert body.weight == pytest.approx(1 - by_any)
    assert use.weight == pytest.approx(1 - by_use)
    assert body.weight < definition.weight


def test_a_symbol_that_fails_weighs_what_any_kind_leaves() -> None:
    failed = only(f"`close_shop` (shop.py:{OPEN + 2})")
    assert failed.status == "hallucinated"
    any_kind = places_that_hold("close_shop", 1, "definition", "use", "span")
    assert failed.weight == pytest.approx(1 - any_kind)


def test_lines_that_exist_and_name_nothing_weigh_nothing() -> None:
    assert only("see shop.py:3-9").weight == 0


@pytest.mark.parametrize("place", ["shop.py:9999", "shop.py:0", "gone/away.py:3"])
def test_what_could_hold_nowhere_weighs_in_full(place: str) -> None:
    assert only(f"see {place}").weight == 1


def test_a_word_of_a_file_without_a_grammar_weighs_by_where_it_stands() -> None:
    citation = only("`two` (notes.txt:2)")
    assert (citation.held_by, citation.weight) == ("text", 0)


def test_a_file_without_a_line_weighs_nothing_and_counts_nowhere() -> None:
    grounding = ground("See `shop.py`.", FILES)
    assert [citation.weight for citation in grounding.citations] == [0]
    assert grounding.summary.weighted_rate is None


def test_the_weighted_rate_follows_from_what_is_printed_of_each_citation() -> None:
    text = (
        f"`open_shop` (shop.py:{OPEN}), `close_shop` (shop.py:{OPEN + 2}); shop.py:7; shop.py:9999."
    )
    grounding = ground(text, FILES)
    counted = [citation for citation in grounding.citations if citation.start is not None]
    held = sum(citation.weight for citation in counted if citation.status == "grounded")
    total = sum(citation.weight for citation in counted)
    assert grounding.summary.weighted_rate == pytest.approx(held / total)
    assert 0 < held < total


def test_bare_lines_alone_have_no_weighted_rate() -> None:
    summary = ground("See shop.py:1, shop.py:5 and shop.py:9.", FILES).summary
    assert (summary.headline_rate, summary.weighted_rate, summary.named_rate) == (1.0, None, 0.0)


def test_inventing_lines_is_not_free() -> None:
    true = f"`open_shop` (shop.py:{OPEN}). "
    invented = " ".join(f"See shop.py:{line}." for line in range(9000, 9009))
    rate = ground(true + invented, FILES).summary.weighted_rate
    assert rate is not None
    assert rate < 0.1


# --- shifts ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((10, 14), (30, 34)),  # down
        ((90, 99), (70, 79)),  # up, where the file ends
        ((1, 85), (16, 100)),  # as far as the file goes
        ((1, 100), (1, 100)),  # nowhere
    ],
)
def test_a_shift_keeps_the_width_and_stays_in_the_file(
    lines: tuple[int, int], expected: tuple[int, int]
) -> None:
    assert shifted(lines, 20, 100) == expected


def test_the_rates_of_the_same_answer_with_wrong_lines_are_told() -> None:
    text = f"`close_shop` (shop.py:{CLOSE}), and long.py:500 beside it; gone/away.py:3 is no file."
    summary = ground(text, FILES).summary
    assert [rates.lines for rates in summary.shifted] == [20, 200]
    near = summary.shifted[0]
    # The bare line holds anywhere, the symbol nowhere else, and no shift finds the file.
    assert near.headline_rate == pytest.approx(1 / 3)
    assert near.weighted_rate == 0
    assert summary.headline_rate == pytest.approx(2 / 3)


def test_no_shift_makes_a_line_past_the_end_a_right_one() -> None:
    summary = ground("see long.py:1010 for it", FILES).summary
    assert [rates.headline_rate for rates in summary.shifted] == [0, 0]


def test_an_answer_without_citations_has_no_rates_at_any_shift() -> None:
    assert [rates.weighted_rate for rates in ground("", FILES).summary.shifted] == [None, None]
