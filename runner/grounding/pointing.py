"""Does a citation point at a place? One tolerance, one idea of a wide range, one of a spray."""

from __future__ import annotations

from runner.records import MustCite

TOLERANCE = 5
"""Lines that a citation may be off (docs/citations.md)."""
WIDE_LINES = 250
"""Lines of a cited range: a longer one points nowhere. Honest answers cite up to 248 at once."""
ALLOWANCE = 80
"""Distinct places a step may cite before it is a spray.

Ten published answers, each to four steps at once, cite 29 to 82.
"""
PER_PLACE = 6
"""Places a step may cite for each one it is asked for, if that is more than the allowance."""


def spray_share(cited: int, asked_for: int) -> float:
    """What is left of a place's worth, in (0, 1], in a step that cites `cited` distinct places.

    1 up to the allowance, then (allowance / cited)².
    """
    # Every tenth line of a long file is within ±5 of any place in it: half price would still pay.
    return _left(cited, max(ALLOWANCE, PER_PLACE * asked_for))


LINES_ALLOWANCE = 400
"""Lines that a step may cover. Shipped references cover 18 to 281, published answers, each to four
steps at once, 29 to 544."""
LINES_PER_PLACE = 60
"""Lines it may cover for each place it is asked for, if that is more."""
MUTE_ALLOWANCE, MUTE_PER_PLACE = 10, 2
"""Places of which a step may say nothing but what stands there: so a plain list of what was asked
for costs nothing, and the outline of a file does."""
POINTED_LINES = 60
"""A range that is no wider shows a place in full."""


def lines_share(lines: int, asked_for: int) -> float:
    """What is left of a place's worth in a step that covers so many lines; as `spray_share`."""
    return _left(lines, max(LINES_ALLOWANCE, LINES_PER_PLACE * asked_for))


def mute_share(mute: int, asked_for: int) -> float:
    """The same, in a step that says nothing of so many of its places."""
    asked = max(MUTE_ALLOWANCE, MUTE_PER_PLACE * asked_for) if asked_for else ALLOWANCE
    return _left(mute, asked)


def shown_by(width: int, place_width: int) -> float:
    """What a range shows of a place that it holds: 1, or less the more else it points at."""
    return min(1.0, max(POINTED_LINES, 2 * place_width) / width)


def _left(used: int, allowed: int) -> float:
    return 1.0 if used <= allowed else (allowed / used) ** 2


def points_at(path: str, start: int, end: int, gold: MustCite) -> bool:
    """Does a cited interval point at a place?

    Either path may be a tail of the other, and the lines may be 5 off. A wide range points nowhere,
    unless the place itself is more than half as wide.
    """
    last = gold.end or gold.line
    is_near = start <= last + TOLERANCE and end >= gold.line - TOLERANCE
    is_narrow = end - start < max(WIDE_LINES, 2 * (last - gold.line + 1))
    return is_near and is_narrow and same_file(path, gold.path)


def same_file(written: str, path: str) -> bool:
    """Is one path the other, or its tail on a `/` boundary? Case does not matter."""
    written, path = written.casefold().lstrip("/"), path.casefold()
    return written == path or path.endswith("/" + written) or written.endswith("/" + path)
