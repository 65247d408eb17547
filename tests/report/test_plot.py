"""A plot's points: where they stand, and that every label can be read."""

from __future__ import annotations

import itertools

import pytest

from runner.report.html import render_tables
from runner.report.plot import CHAR_WIDTH, HEIGHT, LINE_HEIGHT, WIDTH, Mark, Plot, Point

PUBLISHED = (
    # The paper's figure 5, as far as its text says the figures; the rest close beside them.
    Point(label="Kimi K2", x=101_700, y=0.61, low=0.57, high=0.65),
    Point(label="Claude 4 Sonnet", x=140_300, y=0.58, low=0.54, high=0.62),
    Point(label="o3-mini", x=36_500, y=0.5, low=0.46, high=0.54),
    Point(label="GPT-4o", x=38_000, y=0.307),
    Point(label="DeepSeek V3", x=41_000, y=0.42),
    Point(label="Qwen3-235B-A22B", x=43_000, y=0.402),
    Point(label="claude-sonnet-4-5", x=98_000, y=0.605),
)


def plot(*points: Point) -> Plot:
    return Plot(title="t", x_label="tokens per query", y_label="pass rate", points=points)


def box(mark: Mark) -> tuple[float, float, float, float]:
    width = len(mark.label) * CHAR_WIDTH
    left = mark.label_x if mark.anchor == "start" else mark.label_x - width
    return left, mark.label_y - LINE_HEIGHT + 3, left + width, mark.label_y + 3


def test_more_stands_further_right_and_better_further_up() -> None:
    few, many = plot(Point(label="b", x=10, y=0.9), Point(label="w", x=90, y=0.1)).marks
    assert few.x < many.x and few.y < many.y


def test_every_point_and_label_is_on_the_page() -> None:
    for mark in plot(*PUBLISHED).marks:
        left, top, right, bottom = box(mark)
        assert 0 <= mark.x <= WIDTH and 0 <= mark.y <= HEIGHT
        assert left >= 0 and right <= WIDTH and top >= 0 and bottom <= HEIGHT


def test_no_label_covers_another_or_a_point() -> None:
    marks = plot(*PUBLISHED).marks
    for one, other in itertools.permutations(marks, 2):
        left, top, right, bottom = box(one)
        l2, t2, r2, b2 = box(other)
        assert not (left < r2 and l2 < right and top < b2 and t2 < bottom), (one, other)
        assert not (left < other.x < right and top < other.y < bottom), (one, other)


@pytest.mark.parametrize("x", [0.0, 1.0, 17.0, 140_300.0, 8_000_001.0])
def test_the_axis_ends_at_a_round_number_beyond_every_point(x: float) -> None:
    drawn = plot(Point(label="a", x=x, y=0.5))
    assert drawn.most >= x and f"{drawn.most:.0e}".startswith(("1", "2", "4", "8"))
    assert len({tick.text for tick in drawn.x_ticks}) == 5


def test_a_label_is_no_markup() -> None:
    page = render_tables("t", [], [plot(Point(label="<b>&", x=1, y=0.5))])
    assert "<b>" not in page and "&lt;b&gt;&amp;" in page
    assert "1 tokens per query, 50 %" in page
