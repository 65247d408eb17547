"""A plot of some points: where each stands on the page, so that a template has only to draw it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 56, 20, 30, 44
"""Margins, for the axes' words: above, the upright axis's own, clear of its last number."""
CHAR_WIDTH, LINE_HEIGHT = 7.4, 14
NARROW = 2.4
"""So many times as wide a label is on a phone, or where three plots stand beside one another: the
plot is narrower, and letters keep their size."""
RADIUS = 6
LABEL_PLACES = [(side, rows) for rows in (0, -1, 1, -2, 2, -3, 3) for side in ("start", "end")]
"""Where a label may stand, the best first: right or left of its point, and lines further down."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A figure on each axis; the second in [0, 1], with an interval if there is one."""

    label: str
    x: float
    y: float
    low: float | None = None
    high: float | None = None
    x_low: float | None = None
    x_high: float | None = None


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
    x_low: float | None
    x_high: float | None
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
    shares: bool = True
    """Is the second figure a share, in %?"""

    @property
    def most(self) -> float:
        """The right end of the axis: a round number that every point stays below."""
        largest = max((point.x_high or point.x for point in self.points), default=0.0)
        if largest <= 0:
            return 1.0
        power = 10.0 ** math.floor(math.log10(largest))
        return next(step * power for step in (1, 2, 4, 8, 10) if step * power >= largest)

    @property
    def x_ticks(self) -> list[Tick]:
        most = self.most
        return [Tick(at=self._across(at / 4 * most), text=amount(at / 4 * most)) for at in range(5)]

    @property
    def y_ticks(self) -> list[Tick]:
        return [Tick(at=_up(place / 5), text=self._level(place / 5)) for place in range(6)]

    @property
    def marks(self) -> list[Mark]:
        """From the top down, each label where no other and no point is in its way."""
        taken = [box for point in self.points for box in self._boxes(point)]
        marks: list[Mark] = []
        for point in sorted(self.points, key=lambda one: (-one.y, one.x)):
            x, y = self._across(point.x), _up(point.y)
            side, label_y, box = _placed(x, y, len(point.label), taken)
            taken.append(box)
            marks.append(
                Mark(
                    label=point.label,
                    x=x,
                    y=y,
                    low=None if point.low is None else _up(point.low),
                    high=None if point.high is None else _up(point.high),
                    x_low=None if point.x_low is None else self._across(max(0, point.x_low)),
                    x_high=None if point.x_high is None else self._across(point.x_high),
                    label_x=x + 9 if side == "start" else x - 9,
                    label_y=label_y,
                    anchor=side,
                    said=f"{point.label}: {amount(point.x)} {self.x_label}, {self._level(point.y)}",
                )
            )
        return marks

    def _boxes(self, point: Point) -> Iterator[Box]:
        """What of it no label may cover: the point and its whiskers."""
        x, y = self._across(point.x), _up(point.y)
        yield x - RADIUS * NARROW, y - RADIUS, x + RADIUS * NARROW, y + RADIUS
        if point.x_low is not None and point.x_high is not None:
            yield self._across(max(0, point.x_low)), y - 2, self._across(point.x_high), y + 2
        if point.low is not None and point.high is not None:
            yield x - 2, _up(point.high), x + 2, _up(point.low)

    def _level(self, y: float) -> str:
        return f"{100 * y:.3g} %" if self.shares else f"{y:.3g}"

    def _across(self, amount: float) -> float:
        return round(LEFT + amount / self.most * (WIDTH - LEFT - RIGHT), 1)


def _up(share: float) -> float:
    return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def _placed(x: float, y: float, chars: int, taken: Sequence[Box]) -> tuple[str, float, Box]:
    """Its side, its base line and its box; right of its point if there is no free place."""
    found = [place for times in (NARROW, 1) for place in _places(x, y, chars, times)]
    for side, base, box in found:
        is_inside = box[0] >= LEFT and box[2] <= WIDTH
        if is_inside and not any(_overlap(box, other) for other in taken):
            return side, base, box
    return found[0]


def _places(x: float, y: float, chars: int, times: float) -> Iterator[tuple[str, float, Box]]:
    gap, width = 9 * times, chars * CHAR_WIDTH * times
    for side, rows in LABEL_PLACES:
        base = y + 4 + rows * LINE_HEIGHT
        left = x + gap if side == "start" else x - gap - width
        yield side, base, (left, base - LINE_HEIGHT + 3, left + width, base + 3)


def _overlap(one: Box, other: Box) -> bool:
    across = one[0] < other[2] and other[0] < one[2]
    return across and one[1] < other[3] and other[1] < one[3]


def amount(value: float) -> str:
    """`12.5k`: short enough for an axis."""
    if value >= 1_000_000:
        return f"{value / 1_000_000:g}M"
    if value >= 10_000:
        return f"{value / 1000:.4g}k"
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"
