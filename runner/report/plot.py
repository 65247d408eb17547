"""A plot of some points: where each stands on the page, so that a template has only to draw it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 56, 20, 16, 44
"""Margins, for the axes' words."""
LABEL_GAP = 15
"""Between two labels, one over the other."""
FLIP_AT = 0.62
"""From there on a label stands left of its point, or it would leave the page."""
CHAR_WIDTH = 6.6


@dataclass(frozen=True, kw_only=True)
class Point:
    """A figure on each axis; the second in [0, 1], with an interval if there is one."""

    label: str
    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A point as it is drawn, in pixels of the plot."""

    label: str
    x: float
    y: float
    low: float | None
    """Lower end of the interval: further down, a larger number."""
    high: float | None
    label_x: float
    label_y: float
    anchor: str
    said: str
    """For those who do not see it."""


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A share against an amount."""

    title: str
    x_label: str
    y_label: str
    points: tuple[Point, ...]

    @property
    def most(self) -> float:
        """The right end of the axis: a round number that every point stays below."""
        largest = max((point.x for point in self.points), default=0.0)
        if largest <= 0:
            return 1.0
        power = 10.0 ** math.floor(math.log10(largest))
        return next(step * power for step in (1, 1.5, 2, 3, 4, 5, 8, 10) if step * power >= largest)

    @property
    def x_ticks(self) -> list[Tick]:
        shares = [place / 4 for place in range(5)]
        return [
            Tick(at=self._across(share * self.most), text=_amount(share * self.most))
            for share in shares
        ]

    @property
    def y_ticks(self) -> list[Tick]:
        return [Tick(at=_up(place / 5), text=f"{place * 20} %") for place in range(6)]

    @property
    def marks(self) -> list[Mark]:
        """From the top down, each label clear of the one before it."""
        marks: list[Mark] = []
        for point in sorted(self.points, key=lambda one: (-one.y, one.x)):
            x, y = self._across(point.x), _up(point.y)
            is_left = point.x > FLIP_AT * self.most
            label_y = _clear_of(marks, x, y + 4, len(point.label), is_left=is_left)
            marks.append(
                Mark(
                    label=point.label,
                    x=x,
                    y=y,
                    low=None if point.low is None else _up(point.low),
                    high=None if point.high is None else _up(point.high),
                    label_x=x - 9 if is_left else x + 9,
                    label_y=label_y,
                    anchor="end" if is_left else "start",
                    said=f"{point.label}: {_amount(point.x)} {self.x_label}, {point.y:.1%}",
                )
            )
        return marks

    def _across(self, amount: float) -> float:
        return round(LEFT + amount / self.most * (WIDTH - LEFT - RIGHT), 1)


def _up(share: float) -> float:
    return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def _clear_of(marks: Sequence[Mark], x: float, y: float, chars: int, *, is_left: bool) -> float:
    """The first place, from its point down, where no label above it is in the way."""
    width = chars * CHAR_WIDTH
    left = x - 9 - width if is_left else x + 9
    for mark in sorted(marks, key=lambda one: one.label_y):
        theirs = len(mark.label) * CHAR_WIDTH
        start = mark.label_x - theirs if mark.anchor == "end" else mark.label_x
        overlaps = left < start + theirs and start < left + width
        if overlaps and abs(mark.label_y - y) < LABEL_GAP:
            y = mark.label_y + LABEL_GAP
    return y


def _amount(value: float) -> str:
    if value >= 1_000_000:
        return f"{value / 1_000_000:g}M"
    if value >= 10_000:
        return f"{value / 1000:.4g}k"
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"
