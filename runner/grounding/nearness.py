"""How near a symbol is to cited lines."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeGuard

from runner.grounding.intervals import Intervals
from runner.grounding.outlines import TextOnly
from runner.grounding.patterns import Interval
from runner.grounding.pointing import TOLERANCE, WIDE_LINES
from runner.grounding.spelling import parts_of
from runner.grounding.symbols import SourceFile

MatchKind = Literal["definition", "use", "span", "text"]


class Match(NamedTuple):
    """What of a symbol is within reach of cited lines."""

    kind: MatchKind
    distance: int
    """Lines; 0 if the citation touches it."""


class Distances(NamedTuple):
    """Lines between a citation and the nearest of each kind; None if there is none."""

    definition: int | None = None
    use: int | None = None
    span: int | None = None
    """To a definition's body."""
    text: int | None = None
    """To the bare name; measured only if no parse can be trusted around the lines."""

    def match(self) -> Match | None:
        """What is within reach, a definition first; None if nothing is."""
        if _is_near(self.definition):
            return Match("definition", self.definition)
        if _is_near(self.use):
            return Match("use", self.use)
        # A body may be a thousand lines: five lines behind its end belong to the next one.
        if self.span == 0:
            return Match("span", 0)
        if _is_near(self.text):
            return Match("text", self.text)
        return None

    def nearest(self, match: Match | None) -> int | None:
        """Lines to what matches or, if nothing does, to the nearest word of it."""
        if match:
            return match.distance
        return smallest((self.definition, self.use, self.text))


def _is_near(distance: int | None) -> TypeGuard[int]:
    return distance is not None and distance <= TOLERANCE


def is_wide(lines: Interval) -> bool:
    """`a.py:1-99999` points nowhere: it would be near every symbol."""
    start, end = lines
    return end - start >= WIDE_LINES


def needs_text(file: SourceFile, lines: Interval) -> bool:
    """True if a bare word must do as evidence: no outline, or a broken one around the lines."""
    return isinstance(file.outline, TextOnly) or file.broken_near(*lines, TOLERANCE)


def measure(file: SourceFile, symbol: str, lines: Interval) -> Distances:
    """How far the symbol is from the lines; from their two ends if the range is wide."""
    places = file.places(symbol)
    ends = _ends(lines)
    return Distances(
        definition=_gap(places.headers, ends),
        use=_gap(places.used, ends),
        span=_gap(places.bodies, ends),
        text=_gap(places.written, ends) if needs_text(file, lines) else None,
    )


def kind_near(file: SourceFile, symbol: str, lines: Interval) -> MatchKind | None:
    """The kind of what is within reach, as `measure` would find it, and no distance: asked for
    each citation of an answer once for every shift.
    """
    places = file.places(symbol)
    ends = _ends(lines)
    if _is_near(_gap(places.headers, ends)):
        return "definition"
    if _is_near(_gap(places.used, ends)):
        return "use"
    if _gap(places.bodies, ends) == 0:
        return "span"
    if needs_text(file, lines) and _is_near(_gap(places.written, ends)):
        return "text"
    return None


def _ends(lines: Interval) -> tuple[Interval, ...]:
    """What distances are measured from."""
    if not is_wide(lines):
        return (lines,)
    start, end = lines
    return (start, start), (end, end)


def _gap(places: Intervals, ends: tuple[Interval, ...]) -> int | None:
    if len(ends) == 1:
        return places.gap_to(ends[0])
    return smallest(map(places.gap_to, ends))


def has_mute_word_near(file: SourceFile, symbol: str, lines: Interval) -> bool:
    """True if the name stands within reach in a comment or a string, where it is no evidence."""
    start, end = lines
    if is_wide(lines):
        return any(has_mute_word_near(file, symbol, (line, line)) for line in lines)
    words = file.places(symbol).words
    low = bisect.bisect_left(words, start - TOLERANCE)
    high = bisect.bisect_right(words, end + TOLERANCE)
    named = file.places(parts_of(symbol)[-1]).headers
    # The line of another owner's definition says that the owner is wrong.
    return any(named.gap_to((line, line)) != 0 for line in words[low:high])


def gap(one: Interval, other: Interval) -> int:
    """Lines between two intervals; 0 if they touch."""
    return max(0, one[0] - other[1], other[0] - one[1])


def smallest(distances: Iterable[int | None]) -> int | None:
    return min((distance for distance in distances if distance is not None), default=None)
