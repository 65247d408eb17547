"""The tables of `fairtrial agreement`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runner.report.grid import (
    DASH,
    Column,
    Table,
    clean,
    count,
    formed,
    number,
    score,
    table,
    words,
)
from runner.scoring.ratings_file import (
    AgreementReport,
    Among,
    IntervalEstimate,
    Prevalence,
    RaterAgreement,
)

PAIRS_SHOWN = 45
PERCENT = "{:.2%}"
_AMONG: tuple[Column[Among], ...] = (
    words("", lambda row: clean(row.group)),
    number("raters", lambda row: count(len(row.raters))),
    number("items", lambda row: count(row.items)),
    number("all agree", lambda row: _share(row.unanimous)),
    number("kappa", lambda row: _kappa(row.kappa), full="kappa (95 %)"),
)
_PAIRS: tuple[Column[Among], ...] = (
    words("", lambda row: " × ".join(map(clean, row.raters))),
    number("items", lambda row: count(row.items)),
    number("agree", lambda row: _share(row.unanimous)),
    number("kappa", lambda row: _kappa(row.kappa), full="Cohen's kappa (95 %)"),
)
_BESIDE: tuple[Column[RaterAgreement], ...] = (
    words("", lambda row: clean(row.rater)),
    number("items", lambda row: count(row.items)),
    number("agree", lambda row: _share(row.agreement)),
    number(
        "constant", lambda row: formed(row.constant_agreement, PERCENT), full="a constant rater"
    ),
    number("kappa", lambda row: _kappa(row.kappa), full="Cohen's kappa (95 %)"),
)


def tables_of(report: AgreementReport) -> list[Table]:
    """People among themselves, judges beside them, both by category, and who says what."""
    return [
        *_tables_among(report),
        *_tables_beside(report),
        _prevalence_table(report),
    ]


def _tables_among(report: AgreementReport) -> Iterator[Table]:
    who = "People" if report.people else "Raters"
    if report.among:
        named = "Cohen's" if len(report.among[0].raters) == 2 else "Fleiss'"
        notes = [f"{named} kappa; all agree: on how many items all give one label"]
        notes += _left_out_among(report.among)
        yield table(f"{who} among themselves", _AMONG, report.among, notes=notes)
    if report.pairs:
        rest = len(report.pairs) - PAIRS_SHOWN
        notes = [f"and {rest} more pairs (--json has all)"] if rest > 0 else []
        yield table("Pair by pair", _PAIRS, report.pairs[:PAIRS_SHOWN], notes=notes)


def _left_out_among(rows: Sequence[Among]) -> Iterator[str]:
    if rows[0].left_out:
        yield f"{rows[0].left_out} items are left out: not all have rated them"
    if any(row.kappa.value is None for row in rows):
        yield f"{DASH}: all say one thing, and kappa has nothing to measure"


def _tables_beside(report: AgreementReport) -> Iterator[Table]:
    truth = clean(report.people[0]) if len(report.people) == 1 else "people's majority"
    for group in dict.fromkeys(row.group for row in report.beside):
        rows = [row for row in report.beside if row.group == group]
        title = f"Beside {truth}: {clean(group)}"
        yield table(title, _BESIDE, rows, notes=tuple(_notes_beside(rows)))


def _notes_beside(rows: Sequence[RaterAgreement]) -> Iterator[str]:
    constants = sorted({row.constant for row in rows if row.constant})
    yield f"a constant rater says {' or '.join(map(clean, constants))} of everything: kappa 0"
    better = sum(row.beats_constant for row in rows)
    yield f"{better} of {len(rows)} agree more often than it, by their whole interval"
    for row in rows:
        if row.left_out:
            yield f"{clean(row.rater)}: {row.left_out} items left out ({_why(row)})"


def _why(row: RaterAgreement) -> str:
    reasons = []
    if row.ties:
        reasons.append(f"{row.ties} without a majority")
    if row.left_out > row.ties:
        reasons.append(f"{row.left_out - row.ties} left blank")
    return ", ".join(reasons)


def _prevalence_table(report: AgreementReport) -> Table:
    columns: list[Column[Prevalence]] = [
        words("", lambda row: clean(row.rater)),
        number("items", lambda row: count(row.items)),
        *map(_share_column, report.labels),
    ]
    return table("Who says what how often", columns, report.prevalence)


def _share_column(label: str) -> Column[Prevalence]:
    return number(clean(label, 30), lambda row: formed(row.shares.get(label, 0.0), PERCENT))


def _share(found: IntervalEstimate) -> str:
    if found.low is None or found.high is None:
        return formed(found.value, PERCENT)
    return f"{found.value:.2%} ({found.low * 100:.0f}–{found.high * 100:.0f})"


def _kappa(found: IntervalEstimate) -> str:
    if found.low is None or found.high is None:
        return score(found.value)
    return f"{found.value:.3f} ({found.low:.2f}–{found.high:.2f})"
