"""From verified citations to the rates of an answer (docs/citations.md)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from runner.grounding.mentions import MOST_SAID
from runner.grounding.nearness import MatchKind, gap, is_wide
from runner.grounding.patterns import LineRange
from runner.grounding.pointing import TOLERANCE, shown_by
from runner.records import Citation, GroundingSummary, MustCite, Resolution, ShiftedRates, Status


class Verified(NamedTuple):
    """A citation while its answer is verified: a record is made of it once, at the end."""

    written: str
    path: str
    start: int | None
    end: int | None
    symbol: str | None
    resolution: Resolution
    status: Status
    reason: str
    weight: float
    held_by: MatchKind | None = None
    definition_lines: tuple[int, ...] = ()
    distance: int | None = None
    definition_distance: int | None = None
    use_distance: int | None = None
    span_distance: int | None = None
    weak: bool = False
    weak_share: float | None = None
    mute: bool = False
    chance: float = 0.0
    """0 to 1: of being grounded, were its lines random."""
    said: str = ""
    """What the answer says of it."""

    def citation(self) -> Citation:
        fields = self._asdict()
        del fields["chance"], fields["said"]
        return Citation(**fields)


Cited = Citation | Verified


def is_resolved(citation: Cited) -> bool:
    """True if the path is exactly one file of the commit."""
    return citation.resolution in ("exact", "suffix")


def fails(citation: Cited) -> bool:
    """True if it does not hold in the file that was read for it."""
    return citation.status == "hallucinated" or citation.resolution == "binding"


def is_read(citation: Cited) -> bool:
    """True if a file was read for it, be it one that is only guessed."""
    return is_resolved(citation) or citation.resolution == "binding"


def distinct(verified: Iterable[Verified]) -> list[Verified]:
    """Each citation once, by file and lines; a symbol that fails there is one of its own."""
    merged: dict[tuple[object, ...], Verified] = {}
    for one in verified:
        key = _identity(one)
        first = merged.get(key)
        merged[key] = one if first is None else _merged(first, one)
    redundant = _Redundant(merged.values())
    return [one for one in merged.values() if not redundant.has(one)]


def _merged(first: Verified, second: Verified) -> Verified:
    """One for both; what is said in either place is said of it."""
    said = first.said
    if second.said not in said and len(said) < MOST_SAID:
        said = f"{said} {second.said}"
    if second.symbol is not None and first.symbol is None:  # it says more than bare lines do
        return second._replace(said=said)
    return first if said == first.said else first._replace(said=said)


def _identity(citation: Verified) -> tuple[object, ...]:
    # `shop.py:3` and `src/shop.py:3` are one place, whatever the spelling of the path.
    resolution = "resolved" if is_read(citation) else citation.resolution
    failed = None
    if fails(citation) and citation.held_by is None:
        # A valid symbol cannot hide an invalid one.
        failed = citation.symbol
    return citation.path, resolution, citation.start, citation.end, failed


class _Redundant:
    """What another citation of the answer says too, and better."""

    def __init__(self, citations: Iterable[Verified]) -> None:
        self._cited_files: set[str] = set()
        self._failing_places: set[tuple[object, ...]] = set()
        for citation in citations:
            if citation.start is not None:
                self._cited_files.add(citation.path)
            if citation.symbol and fails(citation):
                self._failing_places.add(_place(citation))

    def has(self, citation: Verified) -> bool:
        if citation.start is None:  # the file is cited with a line too
            return citation.path in self._cited_files
        if citation.symbol is not None or not is_read(citation):
            return False
        # Bare lines would be a second citation of a place that a failing symbol is claimed for.
        return _place(citation) in self._failing_places


def _place(citation: Verified) -> tuple[object, ...]:
    return citation.path, citation.start, citation.end


# --- rates ----------------------------------------------------------------------------------


def summarise(
    verified: Sequence[Verified],
    shifted: tuple[ShiftedRates, ...] = (),
    *,
    cut_at: int | None = None,
) -> GroundingSummary:
    """The parts of the rates, over citations with a line."""
    citations = [one for one in verified if one.start is not None]
    total = len(citations)
    statuses = Counter(citation.status for citation in citations)
    resolutions = Counter(citation.resolution for citation in citations)
    grounded = [citation for citation in citations if citation.status == "grounded"]
    exact = sum(citation.resolution == "exact" for citation in grounded)
    resolved = sum(is_resolved(citation) for citation in grounded)
    defined = sum(citation.held_by == "definition" for citation in grounded)
    weight = _weight(citations)
    symbols = sum(citation.symbol is not None for citation in citations)
    named = sum(citation.symbol is not None and is_read(citation) for citation in citations)
    return GroundingSummary(
        total=total,
        grounded=statuses["grounded"],
        unresolved=statuses["unresolved"],
        hallucinated=statuses["hallucinated"],
        exact=resolutions["exact"],
        suffix=resolutions["suffix"],
        ambiguous=resolutions["ambiguous"],
        missing=resolutions["missing"],
        other_commit=resolutions["other_commit"],
        binding=resolutions["binding"],
        definition_only=defined,
        with_symbol=named,
        weak=sum(citation.weak for citation in grounded),
        total_weight=weight,
        weighted_rate=rate(_weight(grounded), weight),
        named_rate=rate(symbols, total),
        strict_rate=rate(exact, total),
        headline_rate=rate(resolved, total),
        definition_rate=rate(defined, named),
        chance_rate=rate(sum(citation.chance for citation in citations), total),
        cut_at=cut_at,
        shifted=shifted,
    )


def _weight(citations: Iterable[Verified]) -> float:
    return math.fsum(citation.weight for citation in citations)


def rate(part: float, whole: float) -> float | None:
    """None for nothing at all: 0 would read as all of it wrong."""
    if not whole:
        return None
    return part / whole


# --- must-cite recall -----------------------------------------------------------------------


def must_cite_recall(
    citations: Iterable[Citation], must_cite: Sequence[MustCite]
) -> tuple[float, ...]:
    """For each location, 0 to 1: does a citation of exactly one file come within ±5 lines of it?

    A wide range shows less of each place in it (`shown_by`). A symbol that is elsewhere in the file
    is no bar: the place was shown, and precision counts the error.
    """
    shown: dict[str, list[LineRange]] = defaultdict(list)
    for citation in citations:
        lines = existing_lines(citation)
        # So many that they would find everything show nothing.
        if lines and not is_wide(lines):
            shown[citation.path].append(lines)
    return tuple(_is_shown(must, shown[must.path]) for must in must_cite)


def existing_lines(citation: Cited) -> LineRange | None:
    """The lines of a citation; None if its file, be it one that is only guessed, has no such."""
    if citation.start is None or citation.end is None or not is_read(citation):
        return None
    # A failed citation with a distance has lines that exist: only its symbol is elsewhere.
    if citation.status != "grounded" and citation.distance is None:
        return None
    return citation.start, citation.end


def _is_shown(must: MustCite, shown: Iterable[LineRange]) -> float:
    wanted = must.line, must.end or must.line
    width = wanted[1] - wanted[0] + 1
    near = (lines for lines in shown if gap(lines, wanted) <= TOLERANCE)
    return max((shown_by(end - start + 1, width) for start, end in near), default=0.0)


def covered_lines(citations: Iterable[Citation]) -> int:
    """Lines of files that citations cover, each once."""
    ranges: dict[str, list[LineRange]] = defaultdict(list)
    for citation in citations:
        if lines := existing_lines(citation):
            ranges[citation.path].append(lines)
    return sum(map(_covered, ranges.values()))


def _covered(ranges: Iterable[LineRange]) -> int:
    covered = reached = 0
    for start, end in sorted(ranges):
        covered += max(0, end - max(start - 1, reached))
        reached = max(reached, end)
    return covered
