"""One mention against one file: do its lines exist, and is its symbol near them?"""

from __future__ import annotations

from typing import NamedTuple

from runner.grounding.mentions import Mention
from runner.grounding.nearness import Distances, Match, is_wide, measure, needs_text
from runner.grounding.outlines import TextOnly
from runner.grounding.patterns import LineRange
from runner.grounding.pointing import TOLERANCE, WIDE_LINES
from runner.grounding.rates import Verified
from runner.grounding.symbols import SourceFile, SymbolLines
from runner.records import Resolution, Status

_LONGEST_WRITTEN = 400
"""Characters. A JSON list of 20,000 lines would be written with each of them."""
_NO_PLACES = SymbolLines((), (), ())
_NO_DISTANCES = Distances()


class Claim(NamedTuple):
    """A mention, and what its path resolved to."""

    mention: Mention
    path: str
    resolution: Resolution

    @property
    def is_resolved(self) -> bool:
        return self.resolution in ("exact", "suffix")

    def without_symbol(self) -> Claim:
        return self._replace(mention=self.mention._replace(symbol=None))

    def verified(self, check: ClaimCheck, *, weight: float, chance: float = 0.0) -> Verified:
        """What the check makes of the mention; an accusation that is in doubt is none."""
        distances = check.distances
        mention = self.mention
        return Verified(
            written=mention.written[:_LONGEST_WRITTEN],
            path=self.path,
            start=mention.start,
            end=mention.end,
            symbol=mention.symbol,
            resolution="binding" if check.doubts else self.resolution,
            status="unresolved" if check.doubts else check.status,
            reason="; ".join((check.reason + self._why_this_file(), *check.doubts)),
            weight=weight,
            held_by=check.match.kind if check.match else None,
            definition_lines=tuple(definition.line for definition in check.places.definitions),
            distance=distances.nearest(check.match),
            definition_distance=distances.definition,
            use_distance=distances.use,
            span_distance=distances.span,
            chance=chance,
            said=mention.said,
        )

    def _why_this_file(self) -> str:
        tail = self.mention.tail
        return f"; the answer names one {tail} in full, {self.path}" if tail else ""


class ClaimCheck(NamedTuple):
    """What a file says of a claim, and why."""

    status: Status
    reason: str
    places: SymbolLines = _NO_PLACES
    distances: Distances = _NO_DISTANCES
    match: Match | None = None
    doubts: tuple[str, ...] = ()
    """Why it is no accusation, if it fails: what of it is a guess of ours."""


def check_lines(file: SourceFile, symbol: str | None, lines: LineRange) -> ClaimCheck:
    """Whether the file has the lines, and the symbol near them."""
    missing = missing_lines(file, lines)
    places = _NO_PLACES if symbol is None else file.places(symbol)
    if missing:
        return ClaimCheck("hallucinated", missing, places)
    if symbol is None:
        return ClaimCheck("grounded", "the lines exist; no symbol is named")
    distances = measure(file, symbol, lines)
    match = distances.match()
    reason = _where(symbol, places, match) + _notes(file, lines)
    return ClaimCheck("grounded" if match else "hallucinated", reason, places, distances, match)


def missing_lines(file: SourceFile, lines: LineRange) -> str | None:
    """Why the lines do not exist; None if they do."""
    start, end = lines
    if start < 1:
        return "lines are counted from 1"
    if end > file.line_count:
        return f"the file has {_count_of_lines(file.line_count)}"
    return None


def ends_behind_the_last(file: SourceFile, lines: LineRange) -> bool:
    """True of a range that is one line too long, in a file that ends with a line break."""
    start, end = lines
    return 1 <= start < end == file.line_count + 1 and file.source.endswith(b"\n")


_MATCHES = {
    "definition": "its definition",
    "use": "a use of it",
    "span": "its definition's body",
    "text": "its name in the text",
    "literal": "a string that is its name",
}


def _where(symbol: str, places: SymbolLines, match: Match | None) -> str:
    if match is None:
        return f"{symbol} is not within {TOLERANCE} lines: {_elsewhere(places)}"
    if match.distance == 0:
        return f"{symbol}: {_MATCHES[match.kind]} is here"
    return f"{symbol}: {_MATCHES[match.kind]} is {_count_of_lines(match.distance)} away"


def _elsewhere(places: SymbolLines) -> str:
    if places.unheard:
        return f"nothing in the tree is called {places.unheard}"
    if places.definitions:
        lines = ", ".join(str(definition.line) for definition in places.definitions[:5])
        return f"defined at {lines}"
    if places.words:
        return "named elsewhere in the file"
    return "not in the file"


def _notes(file: SourceFile, lines: LineRange) -> str:
    notes = ""
    if is_wide(lines):
        notes = f" (a range of more than {WIDE_LINES} lines is measured from its ends)"
    if isinstance(file.outline, TextOnly):
        notes += f"; {file.outline.reason}"
    elif needs_text(file, lines):
        notes += "; the parse is degraded around these lines, searched as text too"
    return notes


def _count_of_lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"
