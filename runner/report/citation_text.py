"""The verdicts on a text's citations, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from runner.grounding.verify import Grounding, ground
from runner.protocols import Files
from runner.records import Citation, GroundingSummary, Record
from runner.runs.importing.texts import read_answer_file

CITATION_MARKS = {"grounded": "ok  ", "unresolved": "????", "hallucinated": "FAIL"}
WEAK = "weak"
"""Grounded, and no more than that."""
DEFINITIONS_SHOWN = 5
_SUMMARY_KEYS = (
    "total grounded unresolved hallucinated weighted_rate strict_rate headline_rate chance_rate "
    "named_rate weak shifted"
).split()
_CITATION_KEYS = (
    "written path start end symbol resolution status reason held_by definition_lines distance "
    "weight weak"
).split()


def ground_file(
    path: Path,
    files: Files,
    roots: Sequence[str] = (),
    cache_dir: Path | None = None,
    repo_urls: Sequence[str] = (),
) -> tuple[dict[str, Any], Grounding]:
    """The JSON object that `ground --json` prints for a text or transcript, and its grounding.

    Raises FairtrialError if the file cannot be read.
    """
    read = read_answer_file(path)
    # A transcript names the folder its agent worked in; the user may name others.
    all_roots = (*roots, *read.roots)
    grounding = ground(read.texts, files, roots=all_roots, cache_dir=cache_dir, repo_urls=repo_urls)
    # Exactly the keys that are promised; the other parts of the records stay in them.
    cut = [] if grounding.summary.cut_at is None else ["cut_at"]
    as_json = {
        "file": str(path),
        "commit": files.commit,
        "summary": _some_fields(grounding.summary, [*_SUMMARY_KEYS, *cut]),
        "citations": [_some_fields(one, _CITATION_KEYS) for one in grounding.citations],
    }
    return as_json, grounding


def _some_fields(record: Record, keys: Sequence[str]) -> dict[str, Any]:
    fields = record.model_dump(mode="json")
    return {key: fields[key] for key in keys}


def citations_text(
    file: str, commit: str, citations: tuple[Citation, ...], summary: GroundingSummary
) -> str:
    """A line for each citation: its verdict, how it was written, and why; then the rates."""
    lines = [f"{file} at {commit[:12]}", *map(_line, citations), *_summary(summary)]
    return "\n".join([*lines, ""])


def _line(citation: Citation) -> str:
    said = citation.reason + _weakness(citation) + _really(citation)
    return f"  {_mark(citation)} {citation.written}{meant(citation)}: {said}"


def _mark(citation: Citation) -> str:
    if citation.start is None:
        return "file"
    if citation.weak:
        return WEAK
    return CITATION_MARKS[citation.status]


def _weakness(citation: Citation) -> str:
    return "; what is said of them is not there" if citation.weak else ""


def meant(citation: Citation) -> str:
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
    weak = f" ({summary.weak} weak)" if summary.weak else ""
    yield (
        f"  {summary.total} {noun}: {summary.grounded} grounded{weak}, "
        f"{summary.unresolved} unresolved, {summary.hallucinated} hallucinated"
    )
    yield (
        f"  paths: {summary.exact} exact, {summary.suffix} shortened, "
        f"{summary.ambiguous} ambiguous, {summary.missing} missing, "
        f"{summary.other_commit} of another commit, {summary.binding} unsure"
    )
    yield f"  rates: {', '.join(_rates(summary))}"
    yield f"  worth: {', '.join(_worth(summary))}"


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
