"""The places a text points at, for a judge: paths as written, with lines.

A judge has no list of files. Whether a place exists is citation grounding's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from runner.grounding.extract import read_chunk
from runner.grounding.unlisted import UnlistedFiles

_FILES = UnlistedFiles()

CITED, APART, ASIDE, UNCITED, MISCITED = 1.0, 0.75, 0.5, 0.45, 0.4
"""What a fact that is said earns with its place: cited there; elsewhere in the step; elsewhere, and
another place there; nowhere; and with another place alone, be it a line or a file.

The last three as two graders priced them, one of them blind, over 53 anchors: right facts at wrong
places were graded .45 to .53, without places .35 to .43, where excellent answers have .85 to .95.
Chosen with any one scenario left out, these or their neighbours come out; on the one left out rho
rises from .80, .83 and .78 (with .45, .35 and .10) to .87, .88 and .83."""


@dataclass(frozen=True)
class Place:
    """A path as written, lower-case, and its lines."""

    path: str
    start: int
    end: int

    @property
    def lines(self) -> int:
        return self.end - self.start + 1


@dataclass(frozen=True, kw_only=True)
class Pointing:
    """What a text points at."""

    places: tuple[Place, ...]
    """In order, without repeats."""
    last_path: str | None
    """The file named last, to which bare lines in the text behind it belong."""


# The gate judges eight hundred answers, and most differ from another in one place.
@lru_cache(maxsize=16_384)
def places_in(text: str, path: str | None) -> Pointing:
    """What a text points at. `path`: the file that a bare line belongs to."""
    reading = read_chunk(text, _FILES, path)
    places: dict[Place, None] = {}
    for mention in reading.mentions:
        if mention.start is not None and mention.end is not None:
            places[Place(_plain_path(mention.path), mention.start, mention.end)] = None
    return Pointing(places=tuple(places), last_path=reading.last_path or path)


def _plain_path(written: str) -> str:
    return _FILES.normalise(written).lower()
