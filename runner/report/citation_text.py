"""The verdicts on a text's citations, as text."""

from __future__ import annotations

from collections.abc import Iterator

from runner.records import Citation, GroundingSummary

CITATION_MARKS = {"grounded": "ok  ", "unresolved": "????", "hallucinated": "FAIL"}
WEAK = "weak"
"""Grounded, and no more than that."""
DEFINITIONS_SHOWN = 5


def citations_text(
    file: str, commit: str, citations: tuple[Citation, ...], summary: GroundingSummary
) -> str:
    """A line for each citation: its verdict, how it was written, and why; then the rates."""
    lines = [f"{file} at {commit[:12]}", *map(_line, citations), *_summary(summary)]
    return "\n".join([*lines, ""])


def _line(citation: Citation) -> str:
    said = citation.reason + _weakness(citation) + _really(citation)
    return f"  {_mark(citation)} {citation.written}{_meant(citation)}: {said}"


def _mark(citation: Citation) -> str:
    if citation.start is None:
        return "file"
    if citation.weak:
        return WEAK
    return CITATION_MARKS[citation.status]


def _weakness(citation: Citation) -> str:
    return "; what is said of them is not there" if citation.weak else ""


def _meant(citation: Citation) -> str:
    """The place in full, if the text gives a part of it: ` = src/app.py:3`."""
    if citation.path in citation.written:
        return ""
    # Lines often stand apart from their file (a heading, a table): `line 3` alone says nothing.
    return f" = {citation.path}{_interval(citation)}"


def _really(citation: Citation) -> str:
    """Where the symbol is, if it is not where the text says: `; defined at 12, 80`."""
    lines = citation.definition_lines[:DEFINITIONS_SHOWN]
    if citation.status != "hallucinated" or not lines:
        return ""
    return f"; defined at {', '.join(map(str, lines))}"


def _interval(citation: Citation) -> str:
    if citation.start is None:
        return ""
    if citation.end in (None, citation.start):
        return f":{citation.start}"
    return f":{citation.start}-{citation.end}"


def _summary(summary: GroundingSummary) -> Iterator[str]:
    if not summary.total:
        yield "  no citations with a line: nothing to verify"
        return
    if summary.cut_at is not None:
        yield (
            f"  a text is too long: only its first {summary.cut_at:,} mentions are read, or not "
            "all of it twice"
        )
    noun = "citation" if summary.total == 1 else "citations"
    yield (
        f"  {summary.total} {noun}: {summary.grounded} grounded{_weak_ones(summary)}, "
        f"{summary.unresolved} unresolved, {summary.hallucinated} hallucinated"
    )
    yield (
        f"  paths: {summary.exact} exact, {summary.suffix} shortened, "
        f"{summary.ambiguous} ambiguous, {summary.missing} missing, "
        f"{summary.other_commit} of another commit, {summary.binding} unsure"
    )
    yield f"  rates: {', '.join(_rates(summary))}"
    yield f"  worth: {', '.join(_worth(summary))}"


def _weak_ones(summary: GroundingSummary) -> str:
    return f" ({summary.weak} weak)" if summary.weak else ""


def _worth(summary: GroundingSummary) -> Iterator[str]:
    """What of the rates would be left if the lines were wrong."""
    yield f"{summary.named_rate or 0:.1%} name a symbol"
    for shifted in summary.shifted:
        by = f"{shifted.lines} lines off"
        yield f"{by} {_percent(shifted.weighted_rate)} (headline {_percent(shifted.headline_rate)})"


def _percent(rate: float | None) -> str:
    return "—" if rate is None else f"{rate:.1%}"


def _rates(summary: GroundingSummary) -> Iterator[str]:
    for name, rate in (
        ("weighted", summary.weighted_rate),
        ("strict", summary.strict_rate),
        ("headline", summary.headline_rate),
        ("by definition", summary.definition_rate),
        ("by chance", summary.chance_rate),
    ):
        # `by definition 0.0%` of a text that names no symbol would be an accusation.
        if rate is not None:
            yield f"{name} {rate:.1%}"
