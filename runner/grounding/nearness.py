"""How near a symbol is to cited lines."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeGuard

from runner.grounding.language import LANGUAGES, dotted
from runner.grounding.near_words import LineWords, snake_case
from runner.grounding.outlines import Definition, TextOnly
from runner.grounding.patterns import LineRange
from runner.grounding.pointing import TOLERANCE, WIDE_LINES
from runner.grounding.spelling import parts_of
from runner.grounding.symbols import SourceFile

_MACROS = {end: one.macro for one in LANGUAGES.values() for end in dotted([one.extensions])}

MatchKind = Literal["definition", "use", "span", "text", "literal"]


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
    literal: int | None = None
    """To a string that is the name and nothing else."""

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
        if _is_near(self.literal):
            return Match("literal", self.literal)
        return None

    def closer(self, other: Distances) -> Distances:
        """Of each kind, the smaller of two distances."""
        return Distances(*map(smallest, zip(self, other, strict=True)))

    def nearest(self, match: Match | None) -> int | None:
        """Lines to what matches or, if nothing does, to the nearest word of it."""
        if match:
            return match.distance
        return smallest((self.definition, self.use, self.text))


def _is_near(distance: int | None) -> TypeGuard[int]:
    return distance is not None and distance <= TOLERANCE


def is_wide(lines: LineRange) -> bool:
    """`a.py:1-99999` points nowhere: it would be near every symbol."""
    start, end = lines
    return end - start >= WIDE_LINES


def needs_text(file: SourceFile, lines: LineRange) -> bool:
    """True if a bare word must do as evidence: no outline, or a broken one around the lines."""
    outline = file.outline
    if isinstance(outline, TextOnly):
        return True
    return bool(outline.broken) and file.broken_near(*lines, TOLERANCE)


def measure(file: SourceFile, symbol: str, lines: LineRange) -> Distances:
    """How far the symbol is from the lines; from their two ends if the range is wide."""
    if not is_wide(lines):
        return _distances(file, symbol, lines)
    start, end = lines
    return _distances(file, symbol, (start, start)).closer(_distances(file, symbol, (end, end)))


def kind_near(file: SourceFile, symbol: str, lines: LineRange) -> MatchKind | None:
    """The kind of what is within reach, as `measure` finds it, but no distances: it is asked for
    every citation of an answer, once for each shift.
    """
    if is_wide(lines):
        match = measure(file, symbol, lines).match()
        return match.kind if match else None
    places = file.places(symbol)
    if _is_near(places.headers.gap_to(lines)):
        return "definition"
    if _is_near(places.used.gap_to(lines)):
        return "use"
    if places.bodies.gap_to(lines) == 0:
        return "span"
    if needs_text(file, lines) and _is_near(places.written.gap_to(lines)):
        return "text"
    return "literal" if _is_near(file.literals(symbol).gap_to(lines)) else None


def has_mute_word_near(file: SourceFile, symbol: str, lines: LineRange) -> bool:
    """True if the name stands within reach in a comment or a string, where it is no evidence."""
    start, end = lines
    if is_wide(lines):
        return any(has_mute_word_near(file, symbol, (line, line)) for line in lines)
    words = file.places(symbol).words
    low = bisect.bisect_left(words, start - TOLERANCE)
    high = bisect.bisect_right(words, end + TOLERANCE)
    # The line of another owner's definition says that the owner is wrong.
    named = file.places(parts_of(symbol)[-1]).definitions
    owned = {it.line for it in named if it.owners and not _is_macro(file, it.owners[-1])}
    return any(line not in owned for line in words[low:high])


def _is_macro(file: SourceFile, owner: str) -> bool:
    """What a macro defines is of the types that it is called with."""
    macro = _MACROS.get(file.path[file.path.rfind(".") :])
    return bool(macro) and f"{macro}{owner}".encode() in file.source


def has_longer_word_near(file: SourceFile, symbol: str, lines: LineRange) -> bool:
    """True if a word within reach is the name in another case, or begins or goes on beyond it.

    `BadRequest` for `BadRequestError`, `Connection` for `@connection`, `fill_graph` for
    `_fill_graph_cache`: who writes so knows the line. One word alone is part of too many names.
    """
    name = parts_of(symbol)[-1]
    part = snake_case(name)
    near = _words_near(file, lines)
    if any(line.has_form(part, name) for line in near) or _is_in_other_case(file, name, lines):
        return True
    places = file.places(symbol)
    if places.is_nowhere and name[:1].isupper():  # the `Job` endpoint, at `newJobEndpoint()`
        return any(line.has_within(part) for line in near)
    if part.count("_") < _FEWEST_JOINTS:
        return False
    # A word that the file defines elsewhere is not this one cut short, but may be one of a family:
    # `unit_price`, at `unit_price_currency`.
    if places.definitions:
        return any(snake_case(one.name).startswith(part) for one in _defined_at(file, lines))
    return any(line.has_within(part) for line in near)


def _is_in_other_case(file: SourceFile, name: str, lines: LineRange) -> bool:
    """`HttpClient` for lines in the body of `HTTPClient`."""
    outline = file.outline
    if isinstance(outline, TextOnly) or outline.named(name):
        return False
    spelled = outline.in_any_case(name)
    return any(gap((one.start, one.end), lines) == 0 for one in spelled)


def _defined_at(file: SourceFile, lines: LineRange) -> list[Definition]:
    """What begins at the very lines."""
    if isinstance(file.outline, TextOnly):
        return []
    return [one for one in file.outline.definitions if gap((one.header, one.line), lines) == 0]


_FEWEST_JOINTS = 3
"""Of `_bad_request_`, which has two words."""


def _words_near(file: SourceFile, lines: LineRange) -> list[LineWords]:
    """The lines within reach; of a range that is too wide to point at anything, none."""
    if is_wide(lines):
        return []
    start, end = lines
    return list(file.near_words.on(start - TOLERANCE, end + TOLERANCE))


def _distances(file: SourceFile, symbol: str, lines: LineRange) -> Distances:
    places = file.places(symbol)
    found = Distances(
        places.headers.gap_to(lines),
        places.used.gap_to(lines),
        places.bodies.gap_to(lines),
        places.written.gap_to(lines) if needs_text(file, lines) else None,
    )
    if found.match():
        return found
    return found._replace(literal=file.literals(symbol).gap_to(lines))


def gap(one: LineRange, other: LineRange) -> int:
    """Lines between two intervals; 0 if they touch."""
    return max(0, one[0] - other[1], other[0] - one[1])


def smallest(distances: Iterable[int | None]) -> int | None:
    return min((distance for distance in distances if distance is not None), default=None)
