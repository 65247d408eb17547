"""The same answer with every line moved: what its rates are worth (docs/citations.md).

A rate that survives the move says that lines exist, not that they are the right ones. Nothing is
drawn at random. The path and the symbol of a citation stay, and so does the width of its lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from runner.grounding.nearness import kind_near
from runner.grounding.patterns import LineRange
from runner.grounding.rates import Verified, existing_lines, is_resolved, rate
from runner.grounding.specificity import Chances
from runner.grounding.symbols import SourceFile
from runner.records import ShiftedRates

SHIFTS = (20, 200)
"""Lines: past the next definition; into another part of the file."""


_PlacedCitation = tuple[Verified, LineRange | None]
"""A citation, and its lines if they can be moved."""


class Weighed(NamedTuple):
    """What a rate needs to know of a citation."""

    weight: float
    is_grounded: bool


class Shifts:
    """Moves the citations of one answer. `source` gives the file of a path that resolved."""

    def __init__(self, source: Callable[[str], SourceFile], chances: Chances) -> None:
        self._source = source
        self._chances = chances

    def rates(self, verified: Iterable[Verified]) -> tuple[ShiftedRates, ...]:
        """The rates at each shift, over citations with a line."""
        placed = [(one, _lines_to_move(one)) for one in verified if one.start is not None]
        return tuple(self._rates(placed, by) for by in SHIFTS)

    def _rates(self, placed: Iterable[_PlacedCitation], by: int) -> ShiftedRates:
        weighed = [self._after(*one, by) for one in placed]
        grounded = [one.weight for one in weighed if one.is_grounded]
        weight = math.fsum(one.weight for one in weighed)
        return ShiftedRates(
            lines=by,
            total_weight=weight,
            weighted_rate=rate(math.fsum(grounded), weight),
            headline_rate=rate(len(grounded), len(weighed)),
        )

    def _after(self, citation: Verified, lines: LineRange | None, by: int) -> Weighed:
        if lines is None:
            return Weighed(citation.weight, is_grounded=False)
        if citation.symbol is None:
            return Weighed(citation.weight, is_grounded=True)
        file = self._source(citation.path)
        moved = shifted(lines, by, file.line_count)
        kind = kind_near(file, citation.symbol, moved)
        chance = self._chances.of(file, citation.symbol, moved, kind)
        return Weighed(1 - chance, is_grounded=kind is not None)


def _lines_to_move(citation: Verified) -> LineRange | None:
    """None if there are none: no shift makes a line past the end, or of no file, a better one."""
    return existing_lines(citation) if is_resolved(citation) else None


def shifted(lines: LineRange, by: int, line_count: int) -> LineRange:
    """The lines moved down, or up where the file ends; as far as a short file goes."""
    start, end = lines
    below, above = line_count - end, start - 1
    move = by
    if below < by:
        move = -by
    if below < by and above < by:
        move = max(below, -above, key=abs)
    return start + move, end + move
