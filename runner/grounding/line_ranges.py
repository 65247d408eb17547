"""How far lines are from others: by order, so that a symbol of 100,000 places costs no more."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator
from itertools import accumulate

from runner.grounding.patterns import LineRange


class LineRanges:
    """Intervals of lines, of which the nearest is asked for."""

    def __init__(self, intervals: Iterable[LineRange]) -> None:
        ordered = sorted(intervals)
        self._starts = [start for start, _ in ordered]
        self._reached = list(accumulate((end for _, end in ordered), max))
        """The last line that any of the intervals so far has: one may lie within another."""

    def __iter__(self) -> Iterator[LineRange]:
        return zip(self._starts, self._reached, strict=True)

    def gap_to(self, lines: LineRange) -> int | None:
        """Lines to the nearest; 0 if one touches, None if there is none."""
        if not self._starts:
            return None
        start, end = lines
        behind = bisect.bisect_right(self._starts, end)
        before = start - self._reached[behind - 1] if behind else None
        if before is not None and before <= 0:
            return 0
        after = self._starts[behind] - end if behind < len(self._starts) else None
        if before is None or after is None:
            return after if before is None else before
        return min(before, after)


def points(lines: Iterable[int]) -> LineRanges:
    """Single lines as intervals."""
    return LineRanges((line, line) for line in lines)
