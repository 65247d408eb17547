"""Does a citation point at a place? One tolerance, one idea of a wide range, one of a spray."""

from __future__ import annotations

from runner.records import (
    MustCite,
)

TOLERANCE = 5
"""Lines, as in seed 002, step 1."""
WIDE_LINES = 250
"""Lines of a cited range: a longer one points nowhere. Honest answers cite up to 248 at once."""
ALLOWANCE = 80
"""Distinct places a step may cite before it is a spray. Ten published answers, each to four steps at once, cite 29 to 82."""


def spray_share(cited: int, asked_for: int) -> float:
    """What is left of a place's worth in a step that cites `cited` of them: 1 up to 80 or six times the places asked for, then falling
    with the square. Every tenth line of a long file would otherwise hit each fact within ±5 lines, at half price."""
    allowed = max(ALLOWANCE, 6 * asked_for)
    return 1.0 if cited <= allowed else (allowed / cited) ** 2


def points_at(path: str, start: int, end: int, gold: MustCite) -> bool:
    """Does a cited interval point at a place? The path may be a tail of the other; the lines may be 5 off; a wide range points nowhere."""
    last = gold.end or gold.line
    near = start <= last + TOLERANCE and end >= gold.line - TOLERANCE
    narrow = end - start < max(WIDE_LINES, 2 * (last - gold.line + 1))
    return near and narrow and same_file(path, gold.path)


def same_file(written: str, path: str) -> bool:
    written, path = written.casefold().lstrip("/"), path.casefold()
    return written == path or path.endswith("/" + written) or written.endswith("/" + path)
