"""Verified citations, and their summary."""

from __future__ import annotations

from typing import Literal

from runner.records.base import Count, Record, Unit

Resolution = Literal["exact", "suffix", "ambiguous", "missing", "other_commit", "binding"]
"""How a path resolved; `binding` if it fails where a guess of ours ties it to."""
Status = Literal["grounded", "unresolved", "hallucinated"]


class Citation(Record):
    """One citation of an answer, verified against a commit (DESIGN.md, Citations)."""

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
    held_by: Literal["definition", "use", "span", "text"] | None
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
    strict_rate: Unit | None
    """Grounded and exact / total."""
    headline_rate: Unit | None
    """Grounded (exact or suffix) / total."""
    definition_rate: Unit | None
    """Symbols held by a definition / citations with a symbol."""
    chance_rate: Unit | None
    """What random lines of the same files would have scored."""
