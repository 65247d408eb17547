"""How far lines are from others: by order, so that a symbol of 100,000 places costs no more."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from itertools import accumulate

from runner.grounding.patterns import Interval


class Intervals:
    """Intervals of lines, of which the nearest is asked for."""

    def __init__(self, intervals: Iterable[Interval]) -> None:
        ordered = sorted(intervals)
        self._starts = [start for start, _ in ordered]
        self._reached = list(accumulate((end for _, end in ordered), max))
        """The last line that any of the intervals so far has: one may lie within another."""

    def gap_to(self, lines: Interval) -> int | None:
        """Lines to the nearest; 0 if one touches, None if there is none."""
        start, end = lines
        behind = bisect.bisect_right(self._starts, end)
        gaps = []
        if behind:
            gaps.append(max(0, start - self._reached[behind - 1]))
        if behind < len(self._starts):
            gaps.append(self._starts[behind] - end)
        return min(gaps, default=None)


def to_nearest(ascending: Sequence[int], lines: Interval) -> int | None:
    """Lines between an interval and the nearest of some lines; 0 inside it."""
    if not ascending:
        return None
    start, end = lines
    place = bisect.bisect_left(ascending, start)
    gaps = []
    if place:
        gaps.append(start - ascending[place - 1])
    if place < len(ascending):
        gaps.append(max(0, ascending[place] - end))
    return min(gaps)
