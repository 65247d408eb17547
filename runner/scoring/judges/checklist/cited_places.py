"""The places a text points at, for a judge: paths as written, with lines.

A judge has no list of files. Whether a place exists is citation grounding's business.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from runner.grounding.extract import extract, read_chunk, short_names
from runner.grounding.mentions import Mention
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
    reading = read_chunk(_as_meant(text), _FILES, path)
    places: dict[Place, None] = {}
    for mention in reading.mentions:
        if mention.start is not None and mention.end is not None:
            places[Place(_plain_path(mention.path), mention.start, mention.end)] = None
    return Pointing(places=tuple(places), last_path=reading.last_path or path)


def _plain_path(written: str) -> str:
    return _FILES.normalise(written).lower()


# --- whose lines --------------------------------------------------------------------------------

_SHOWN, _MEANT, _END, _BLANK = "\ue000", "\ue001", "\ue002", "\ue003"
"""`\ue000:41\ue001app.py:41\ue002`: what stands there, and the place that it means. Unicode leaves
them to whoever uses them: no answer means anything by them."""
_MARKED = re.compile(f"{_SHOWN}([^{_MEANT}]*){_MEANT}([^{_END}]*){_END}")
_ANY_MARK = re.compile(f"[{_SHOWN}-{_BLANK}]")
_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.MULTILINE | re.DOTALL)


_REACH = 50_000
"""Characters from one citation to the next. What is not found would be looked for to the end of the
text, each time."""


@dataclass(frozen=True)
class _PlaceMark:
    start: int
    end: int
    shown: str
    meant: str


def with_files(text: str) -> str:
    """The text, in which lines without a file are marked with the one that they belong to.

    Whose they are follows from the whole answer: a heading, a table's title, or a name that the
    answer gives a file. A sentence by itself does not tell.
    """
    text = _ANY_MARK.sub("", text)
    if text.lstrip().startswith(("{", "[")):
        return text  # in JSON each object names its file
    marked = list(_short_names_used(text))
    full = _replaced(text, [(one.start, one.end, one.meant) for one in marked])
    marked = [*_moved(marked), *_lines_without_a_file(full)]
    pieces = [(one.start, one.end, _mark(one)) for one in marked]
    # A fence is a piece that stays: it swallows the marks in it.
    pieces += [(*fence.span(), fence[0]) for fence in _FENCE.finditer(full)]
    return _replaced(full, sorted(pieces))


def as_written(text: str) -> str:
    """Without marks: what the answer shows."""
    return _MARKED.sub(lambda mark: mark[1].replace(_BLANK, " "), text)


def _as_meant(text: str) -> str:
    return _MARKED.sub(lambda mark: mark[2].replace(_BLANK, " "), text)


def _mark(one: _PlaceMark) -> str:
    # A blank within a mark would let a sentence end there, and half of the mark with it.
    shown, meant = (re.sub(r"\s", _BLANK, side) for side in (one.shown, one.meant))
    return f"{_SHOWN}{shown}{_MEANT}{meant}{_END}"


def _replaced(text: str, pieces: list[tuple[int, int, str]]) -> str:
    parts, at = [], 0
    for start, end, instead in pieces:
        if start >= at:
            parts += [text[at:start], instead]
            at = end
    return "".join([*parts, text[at:]])


def _short_names_used(text: str) -> Iterator[_PlaceMark]:
    if short := short_names(text, _FILES):
        for use in short.pattern.finditer(text):
            yield _PlaceMark(use.start(), use.end(), use[0], short.paths[use[0]])


def _moved(marked: list[_PlaceMark]) -> Iterator[_PlaceMark]:
    """Where they stand once each is written in full."""
    shift = 0
    for one in marked:
        start = one.start + shift
        shift += len(one.meant) - len(one.shown)
        yield _PlaceMark(start, start + len(one.meant), one.shown, one.meant)


def _lines_without_a_file(text: str) -> Iterator[_PlaceMark]:
    at, waiting = 0, list[list[Mention]]()
    for _, mentions in groupby(extract(text, _FILES), key=_as_one):
        group = list(mentions)
        if not _names_its_file(group[0]):
            waiting.append(group)
            continue
        written = group[0].written
        begin = text.find(written, at, at + _REACH)
        if begin >= 0:
            # Not behind a place that names a file: `12` may stand there again.
            yield from _found(waiting, text, at, begin)
            at, waiting = begin + len(written), []
    yield from _found(waiting, text, at, len(text))


def _found(groups: list[list[Mention]], text: str, at: int, end: int) -> Iterator[_PlaceMark]:
    for group in groups:
        written = group[0].written
        if found := _bounded(written).search(text, at, min(end, at + _REACH)):
            at = found.end()
            yield _PlaceMark(found.start(), at, written, _in_full(group))


def _as_one(mention: Mention) -> tuple[str, str, bool]:
    return mention.written, mention.path, _names_its_file(mention)


def _names_its_file(mention: Mention) -> bool:
    return mention.start is None or mention.path.rpartition("/")[2] in mention.written


def _bounded(written: str) -> re.Pattern[str]:
    before = r"(?<![\w.:])" if written[:1].isdigit() else ""
    return re.compile(f"{before}{re.escape(written)}(?![0-9])")


def _in_full(group: list[Mention]) -> str:
    """`(12, 40)` as `(app.py:12, app.py:40)`."""
    places = ", ".join(f"{one.path}:{one.start}-{one.end}" for one in group)
    written = group[0].written
    opening, closing = "(" * written.startswith("("), ")" * written.endswith(")")
    return f"{opening}{places}{closing}"
