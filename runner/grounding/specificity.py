"""How much a citation says: the chance that a random place of its file would have held as well.

A weight is 1 − c. For a symbol, c is the share of places of the citation's width that reach it: by
the kind that held it, so that a use, or a line anywhere in a long body, says less than a
definition. Lines that exist and name nothing hold anywhere: c is 1, and they weigh nothing. Where
no place could have held (a line past the end, a path of no file), c is 0. A path that several files
end in weighs what it would weigh in these, on average.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from runner.grounding.nearness import MatchKind
from runner.grounding.outlines import TextOnly
from runner.grounding.patterns import LineRange
from runner.grounding.pointing import TOLERANCE
from runner.grounding.symbols import SourceFile


class Chances:
    """How likely citations would be grounded at random lines of the same file."""

    def __init__(self) -> None:
        # Without this, a spray of one symbol over every line would take quadratic time.
        self._known: dict[tuple[str, str, MatchKind | None], _Reach] = {}

    def of(
        self, file: SourceFile, symbol: str | None, lines: LineRange, kind: MatchKind | None = None
    ) -> float:
        """0 to 1: the share of places for an interval of this width that reach the symbol.

        With a kind, as well as that kind does: a definition alone, or one of them or a use.
        """
        if file.line_count == 0:
            return 0.0
        if symbol is None:
            return 1.0
        # As most of what is invented.
        if file.places(symbol).is_nowhere and kind != "literal":
            return 0.0
        width = max(1, min(lines[1] - lines[0] + 1, file.line_count))
        return self._reach(file, symbol, kind).share(width)

    def _reach(self, file: SourceFile, symbol: str, kind: MatchKind | None) -> _Reach:
        key = (file.path, symbol, kind)
        if key not in self._known:
            self._known[key] = _Reach(file.line_count, _reached(file, symbol, kind))
        return self._known[key]


class _Reach:
    """What part of a file is within reach, by the gaps between."""

    def __init__(self, line_count: int, reached: Iterable[LineRange]) -> None:
        self._line_count = line_count
        self._gaps = sorted(_gaps(line_count, sorted(reached)))
        self._sums = list(accumulate(self._gaps, initial=0))
        self._shares: dict[int, float] = {}
        """By width: most citations are of one line."""

    def share(self, width: int) -> float:
        """0 to 1: of the places for an interval, those that touch what is reached."""
        if width not in self._shares:
            self._shares[width] = self._share(width)
        return self._shares[width]

    def _share(self, width: int) -> float:
        places = self._line_count - width + 1
        # An interval misses if it fits into a gap: one of 9 lines has 5 places for 5 lines.
        narrow = bisect.bisect_left(self._gaps, width)
        wide = len(self._gaps) - narrow
        missing = self._sums[-1] - self._sums[narrow] - wide * (width - 1)
        return 1 - missing / places


def _gaps(line_count: int, reached: Sequence[LineRange]) -> Iterator[int]:
    """Lines of each stretch that nothing reaches."""
    behind = 0
    for low, high in reached:
        if low > behind + 1:
            yield min(low - 1, line_count) - behind
        behind = max(behind, min(high, line_count))
    if behind < line_count:
        yield line_count - behind


def _reached(file: SourceFile, symbol: str, kind: MatchKind | None) -> Iterator[LineRange]:
    """The intervals from which the symbol is within reach."""
    if kind == "literal":
        yield from _around(line for line, _ in file.literals(symbol))
        return
    places = file.places(symbol)
    lines = places.uses
    if kind == "text" or isinstance(file.outline, TextOnly):
        lines = places.words
    for definition in places.definitions:
        yield definition.header - TOLERANCE, definition.line + TOLERANCE
        if kind in ("span", None):
            yield definition.start, definition.end
    if kind != "definition":
        yield from _around(lines)


def _around(lines: Iterable[int]) -> Iterator[LineRange]:
    """What is within reach of lines in order; what touches is one, for a word on every line."""
    first: int | None = None
    last = 0
    for line in lines:
        if first is None:
            first = line
        elif line - last > 2 * TOLERANCE + 1:
            yield first - TOLERANCE, last + TOLERANCE
            first = line
        last = line
    if first is not None:
        yield first - TOLERANCE, last + TOLERANCE
