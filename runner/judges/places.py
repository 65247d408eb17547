"""The places a text points at, for a judge: paths as written, with lines.

A judge has no list of files. Whether a place exists is citation grounding's business.
"""

from __future__ import annotations

from dataclasses import dataclass

from runner.grounding.inline import read_chunk
from runner.grounding.unlisted import UnlistedFiles

_FILES = UnlistedFiles()


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
