"""Do the cited lines hold what is said of them? (docs/citations.md, Weak citations)

The prose around a citation is cut into words as names are (`openShop`, `open_shop`: open, shop).
Each word of it that the cited file knows counts by how rare it is among the file's lines (inverse
line frequency): measured on 2,400 real citations that tells places apart no worse than its rarity
among the files of the tree, and no other file has to be read. A place scores the words found in its
lines, or two lines from them. It is weak if half of the places of the same width in the same file,
ties counted half, score more.

Weak is no accusation: seven of a hundred right citations without a symbol are (two of a hundred
with one), and half of those that are 20 lines off.
"""

from __future__ import annotations

import bisect
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from runner.grounding.patterns import LineRange
from runner.grounding.symbols import SourceFile

WEAK_BELOW = 0.5
"""A place's percentile among the places of its file."""
_AROUND = 2
"""Lines on each side of the cited ones that count as them."""
_MOST_WORDS = 12
"""The rarest are looked for: the others tell no place from another."""
_FEWEST_KNOWN = 2
_FEWEST_OWN = 2
"""Words that do not stand in the lines: with fewer, nothing is said of them."""
_FEWEST_SAID = 6
"""Words that are enough to judge by: those that the file has or, if it has none, all."""
_LARGEST_FILE = 2_000_000
"""Bytes. Nobody speaks of the lines of a larger file, and reading its words takes seconds."""
_MOST_HITS = 2_000
"""Lines that one citation's words may be found on: a word on more of them is none to go by."""
_MOST_WORK = 1_000_000
"""Such lines for a whole answer; what is cited after that is not judged."""
_FULL = 1_000
"""Whole numbers as weights: sums of fractions would differ by the order they are made in."""

_NAME = re.compile(r"[A-Za-z0-9_]+")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ENDING = re.compile(r"(?<=\w\w\w)(?:ing|ed|es|s)\Z")
_STOP = frozenset(
    """
    all also an and any are as at be both but by call called calls can did do does each file for
    from get had has have here how if ie in into is it its line lines more most no not of on only or
    other our out per return returns same see set so than that the their them then there these they
    this those to up use used uses using via was we were what when where which who why will with you
    your
    """.split()
)


class PlaceRank(NamedTuple):
    """What the words say of a place."""

    percentile: float | None
    """0 to 1, among the places of the file; None if the words are too few to judge by."""
    weak_share: float | None
    """0 to 1: of the places of the file, those that would be weak as well."""

    @property
    def is_weak(self) -> bool:
        return self.percentile is not None and self.percentile < WEAK_BELOW


_NOT_JUDGED = PlaceRank(percentile=None, weak_share=None)


class Overlap:
    """Judges the citations of one answer."""

    def __init__(self) -> None:
        self._indexes: dict[str, dict[str, list[int]]] = {}
        # Without these, a list of a thousand lines with one sentence would be swept for each.
        self._words: dict[str, frozenset[str]] = {}
        self._places: dict[tuple[str, frozenset[str], int], _PlaceScores | None] = {}
        self._work_left = _MOST_WORK

    def judge(self, file: SourceFile, said: str, lines: LineRange) -> PlaceRank:
        """Whether the lines hold what is said of them. They have to exist."""
        places = self._scored(file, self._words_of(said), lines[1] - lines[0] + 1)
        if places is None:
            return _NOT_JUDGED
        return places.judge(lines[0])

    def is_mute(self, file: SourceFile, said: str, lines: LineRange) -> bool:
        """True if hardly a word is said of the lines that does not stand in them."""
        spoken = self._words_of(said)
        if len(spoken) >= _FEWEST_OWN and len(file.source) <= _LARGEST_FILE:
            index, (start, end) = self._index(file), lines
            own = [word for word in spoken if not _stands_in(index.get(word), start, end)]
            return len(own) < _FEWEST_OWN
        return len(spoken) < _FEWEST_OWN

    def _words_of(self, said: str) -> frozenset[str]:
        if said not in self._words:
            self._words[said] = frozenset(words_of(said))
        return self._words[said]

    def _scored(self, file: SourceFile, words: frozenset[str], width: int) -> _PlaceScores | None:
        key = (file.path, words, width)
        if key not in self._places:
            self._places[key] = self._score(file, words, width)
        return self._places[key]

    def _score(self, file: SourceFile, words: frozenset[str], width: int) -> _PlaceScores | None:
        if len(file.source) > _LARGEST_FILE or self._work_left < 0:
            return None
        index = self._index(file)
        known = [index[word] for word in words if word in index]
        if len(known) < _FEWEST_KNOWN and len(words) < _FEWEST_SAID:
            return None
        rare = _rarest(known)
        self._work_left -= sum(map(len, rare))
        return _PlaceScores(rare, width, file.line_count)

    def _index(self, file: SourceFile) -> dict[str, list[int]]:
        if file.path not in self._indexes:
            self._indexes[file.path] = _lines_by_word(file.source)
        return self._indexes[file.path]


def _stands_in(found: Sequence[int] | None, start: int, end: int) -> bool:
    if not found:
        return False
    place = bisect.bisect_left(found, start)
    return place < len(found) and found[place] <= end


# --- words ----------------------------------------------------------------------------------


def words_of(text: str) -> Iterator[str]:
    """`FullDispatch` gives full, dispatch, fulldispatch; `md5` md, md5; `the` nothing."""
    for name in _NAME.findall(text):
        yield from _parts(name)


@lru_cache(maxsize=65536)
def _parts(name: str) -> tuple[str, ...]:
    parts = [_ENDING.sub("", part.lower()) for part in _PART.findall(name)]
    if len(parts) > 1 or not (name.isalpha() or name.isdigit()):
        parts.append(name.lower())
    return tuple(part for part in parts if len(part) > 1 and part not in _STOP)


# Cells of a run, and a gate's pairs, cite the same few files again and again.
@lru_cache(maxsize=16)
def _lines_by_word(source: bytes) -> dict[str, list[int]]:
    """Word -> the lines it is on, ascending, each once. To be read only."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(source.decode("utf-8", "replace").split("\n"), 1):
        for word in set(words_of(line)):
            found[word].append(number)
    return found


def _rarest(known: Iterable[list[int]]) -> list[list[int]]:
    """The lines of the rarest words, as far as the limits go."""
    rare: list[list[int]] = []
    hits = 0
    for lines in sorted(known, key=lambda lines: (len(lines), lines))[:_MOST_WORDS]:
        hits += len(lines)
        if hits > _MOST_HITS:
            break
        rare.append(lines)
    return rare


# --- places ---------------------------------------------------------------------------------


class _PlaceScores:
    """Every place of a width in a file, by what it holds of some words."""

    def __init__(self, found: Sequence[list[int]], width: int, line_count: int) -> None:
        self._count = line_count - width + 1
        self._starts = [1]
        self._scores = [0]
        self._sweep(found, width, line_count)
        self._percentiles, self._weak_share = self._ranked()

    def judge(self, start: int) -> PlaceRank:
        score = self._scores[bisect.bisect_right(self._starts, start) - 1]
        return PlaceRank(self._percentiles[score], self._weak_share)

    def _sweep(self, found: Sequence[list[int]], width: int, line_count: int) -> None:
        """Score the runs of places between which nothing changes."""
        changes: Counter[int] = Counter()
        for lines in found:
            weight = round(_FULL * math.log((line_count + 1) / (len(lines) + 1)))
            for first, last in _places_with(lines, width, self._count):
                changes[first] += weight
                changes[last + 1] -= weight
        score = 0
        for start in sorted(changes):
            score += changes[start]
            self._starts.append(start)
            self._scores.append(score)

    def _ranked(self) -> tuple[dict[int, float], float]:
        """The percentile of each score, and the share of the places that are weak."""
        if len(self._starts) == 1:  # the file has none of the words
            return {0: 0.0}, 1.0
        percentiles: dict[int, float] = {}
        below = weak = 0
        for score, places in sorted(self._places_by_score().items()):
            percentiles[score] = (below + places / 2) / self._count
            below += places
            if percentiles[score] < WEAK_BELOW:
                weak = below
        return percentiles, weak / self._count

    def _places_by_score(self) -> Counter[int]:
        places: Counter[int] = Counter()
        ends = [*self._starts[1:], self._count + 1]
        for start, end, score in zip(self._starts, ends, self._scores, strict=True):
            places[score] += end - start
        return places


def _places_with(lines: Iterable[int], width: int, count: int) -> Iterator[LineRange]:
    """First and last start of the places that hold one of the lines; each start once."""
    counted_to = 0
    for line in lines:
        first = max(line - width + 1 - _AROUND, counted_to + 1)
        last = min(line + _AROUND, count)
        if last >= first:
            yield first, last
            counted_to = last
