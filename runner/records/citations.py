"""Verified citations, and their summary."""

from __future__ import annotations

from typing import Literal

from runner.records.record import Count, NonNegative, Record, UnitInterval, unless_none

Resolution = Literal["exact", "suffix", "ambiguous", "missing", "other_commit", "binding"]
"""How a path resolved; `binding` if it fails where a guess of ours ties it to."""
Status = Literal["grounded", "unresolved", "hallucinated"]


class Citation(Record):
    """One citation of an answer, verified against a commit (docs/citations.md)."""

    written: str
    """As it stands in the text."""
    path: str
    """The file in the repository or, unresolved, the path as normalised."""
    start: int | None
    """First line as written; None for a file cited without a line (listed, not counted)."""
    end: int | None
    symbol: str | None
    resolution: Resolution
    status: Status
    reason: str
    held_by: Literal["definition", "use", "span", "text", "literal"] | None
    """What put the named symbol within reach."""
    definition_lines: tuple[int, ...]
    """Where the symbol really is."""
    distance: int | None
    """Lines between the citation's interval and what held it, or the nearest if nothing did."""
    definition_distance: int | None = None
    """Lines to the nearest definition, its header included; None if there is none."""
    use_distance: int | None = None
    """Lines to the nearest use in code."""
    span_distance: int | None = None
    """Lines to the nearest definition's span; 0 inside it."""
    weight: UnitInterval
    """1 − the chance that a random place of the file would have held as well; 0 without a line."""
    weak: bool
    """Grounded, and the lines hold next to nothing of what is said of them."""
    weak_share: UnitInterval | None
    """Of the places of the file, those that would be weak too; None if too little is said."""
    mute: bool = False
    """Nothing is said of it but what stands there: an outline, or what a search printed."""


class ShiftedRates(Record):
    """The rates of an answer whose every line is moved; its paths and symbols stay."""

    lines: Count
    """How far."""
    total_weight: NonNegative
    """Not that of the answer as it is: what holds a symbol elsewhere may be of another kind."""
    weighted_rate: UnitInterval | None
    headline_rate: UnitInterval | None


class GroundingSummary(Record):
    """Parts of the grounding rates. Rates are None if nothing was counted."""

    total: Count
    """Citations with a line, each once."""
    grounded: Count
    unresolved: Count
    hallucinated: Count
    exact: Count
    suffix: Count
    ambiguous: Count
    missing: Count
    other_commit: Count
    binding: Count = 0
    """Unresolved for a guess of ours: which file, or which word, is meant."""
    definition_only: Count
    """Grounded ones with a symbol that a definition held."""
    with_symbol: Count
    weak: Count
    """Grounded ones whose lines hold next to nothing of what is said of them."""
    total_weight: NonNegative
    """The sum of the citations' weights."""
    weighted_rate: UnitInterval | None
    """Weight of the grounded ones / weight; None if no citation carries any."""
    strict_rate: UnitInterval | None
    """Grounded and exact / total."""
    headline_rate: UnitInterval | None
    """Grounded (exact or suffix) / total."""
    definition_rate: UnitInterval | None
    """Symbols held by a definition / citations with a symbol."""
    chance_rate: UnitInterval | None
    """What random lines of the same files would have scored."""
    named_rate: UnitInterval | None
    """Citations that name a symbol / total."""
    cut_at: Count | None = unless_none()
    """Mentions that are read of a text that goes on after them, of several the fewest.

    None if every text is read to its end."""
    shifted: tuple[ShiftedRates, ...]
    """What the same answer would score with wrong lines, by the size of the shift."""
