"""The verdicts on a text's citations, as text."""

from __future__ import annotations

from runner.records import Citation, GroundingSummary

MARKS = {"grounded": "ok  ", "unresolved": "????", "hallucinated": "FAIL"}


def citations_text(
    file: str, commit: str, citations: tuple[Citation, ...], summary: GroundingSummary
) -> str:
    """One line a citation: its verdict, how it was written, and why; then the parts of the rates."""
    lines = [f"{file} at {commit[:12]}"]
    lines += [_line(citation) for citation in citations]
    return "\n".join([*lines, *_summary(summary), ""])


def _line(citation: Citation) -> str:
    mark = "file" if citation.start is None else MARKS[citation.status]
    # Lines often stand apart from the file they belong to (a heading, a table): alone they would tell the reader nothing.
    meant = "" if citation.path in citation.written else f" = {citation.path}{_interval(citation)}"
    elsewhere = citation.definition_lines if citation.status == "hallucinated" else ()
    really = f"; defined at {', '.join(map(str, elsewhere[:5]))}" if elsewhere else ""
    return f"  {mark} {citation.written}{meant}: {citation.reason}{really}"


def _interval(citation: Citation) -> str:
    if citation.start is None:
        return ""
    return (
        f":{citation.start}"
        if citation.end in (None, citation.start)
        else f":{citation.start}-{citation.end}"
    )


def _summary(summary: GroundingSummary) -> list[str]:
    if not summary.total:
        return ["  no citations with a line: nothing to verify"]
    rates = {
        "strict": summary.strict_rate,
        "headline": summary.headline_rate,
        "by definition": summary.definition_rate,
        "by chance": summary.chance_rate,
    }
    noun = "citation" if summary.total == 1 else "citations"
    shown = ", ".join(f"{name} {value:.1%}" for name, value in rates.items() if value is not None)
    return [
        f"  {summary.total} {noun}: {summary.grounded} grounded, {summary.unresolved} unresolved, {summary.hallucinated} hallucinated",
        f"  paths: {summary.exact} exact, {summary.suffix} shortened, {summary.ambiguous} ambiguous, {summary.missing} missing, "
        f"{summary.other_commit} of another commit",
        f"  rates: {shown}",
    ]
