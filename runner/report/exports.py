"""A run's cells as rows for other programs: CSV, Parquet and JUnit's XML."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import get_type_hints
from xml.etree import ElementTree

from runner.records.record import Count, Record
from runner.report.grid import clean
from runner.report.records import CellReport, Number, Report, ScenarioArm, ScenarioReport
from runner.support.errors import FairtrialError

TEXT_SHOWN = 1_000
RUNS_AS_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class CellRow(Record):
    """A planned cell. Those without a figure are there too: the denominator survives."""

    run: str
    marks: str
    """What a reader has to know first (UNGATED, SCREENING, …), joined by a blank."""
    scenario: str
    arm: str
    trial: Count
    cell_id: str
    outcome: str
    """Empty of one that is not finished."""
    fairness: Number | None
    passed: bool | None
    """At the run's threshold; None without a figure."""
    unscored: str
    """Why there is no fairness; empty if there is one."""
    cited: Count
    citations_failed: Count
    judge: str


def rows(report: Report) -> Iterator[CellRow]:
    for section in report.sections:
        for arm in section.arms:
            for cell in arm.cells:
                yield _row(report, section, arm, cell)


def _row(report: Report, section: ScenarioReport, arm: ScenarioArm, cell: CellReport) -> CellRow:
    scored = cell.fairness
    return CellRow(
        run=report.run,
        marks=" ".join(report.marks),
        scenario=section.id,
        arm=arm.label,
        trial=cell.trial,
        cell_id=cell.cell_id,
        outcome=cell.outcome or "",
        fairness=scored,
        passed=None if scored is None else scored >= report.pass_at,
        unscored=clean(cell.unscored, TEXT_SHOWN),
        cited=cell.cited_total,
        citations_failed=cell.failed_total,
        judge=cell.judge,
    )


def csv_of(report: Report) -> bytes:
    """One line a cell under a line of names, UTF-8, lines ended by CR LF (RFC 4180)."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(CellRow.model_fields)
    for row in rows(report):
        writer.writerow(map(_field, row.model_dump(mode="json").values()))
    return text.getvalue().encode()


def _field(value: object) -> object:
    # A spreadsheet would run a name that begins so.
    if isinstance(value, str) and value.startswith(RUNS_AS_FORMULA):
        return f"'{value}"
    return value


def junit_of(report: Report) -> bytes:
    """A suite a scenario, a case a cell: below the threshold is a failure, broken an error, and
    what has no figure is skipped."""
    suites: dict[str, list[ElementTree.Element]] = {it.id: [] for it in report.sections}
    for row in rows(report):
        if row.scenario in suites:
            suites[row.scenario].append(_case(row, report.pass_at))
    return junit_document(report.run, suites)


def junit_document(name: str, suites: Mapping[str, Sequence[ElementTree.Element]]) -> bytes:
    """Cases by their suite's name, counted by what they hold."""
    root = ElementTree.Element("testsuites", name=clean(name))
    for title, cases in suites.items():
        counts: dict[str, int] = {
            "tests": len(cases),
            "failures": sum(case.find("failure") is not None for case in cases),
            "errors": sum(case.find("error") is not None for case in cases),
            "skipped": sum(case.find("skipped") is not None for case in cases),
        }
        attributes = {kind: str(count) for kind, count in counts.items()}
        suite = ElementTree.SubElement(root, "testsuite", {"name": clean(title), **attributes})
        suite.extend(cases)
    ElementTree.indent(root)
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _case(row: CellRow, pass_at: float) -> ElementTree.Element:
    name = f"{clean(row.arm)}, trial {row.trial}"
    case = ElementTree.Element("testcase", classname=clean(row.scenario), name=name)
    if row.outcome and row.fairness is None:
        ElementTree.SubElement(case, "error", message=row.unscored, type=row.outcome)
    elif row.fairness is None:
        ElementTree.SubElement(case, "skipped", message=row.unscored)
    elif not row.passed:
        said = f"fairness {row.fairness:.3f}, the threshold is {pass_at:g}"
        ElementTree.SubElement(case, "failure", message=said, type=row.outcome)
    return case


def parquet_of(report: Report) -> bytes:
    """Raises FairtrialError where its library is not installed."""
    if find_spec("pyarrow") is None:
        hint = "install fairtrial[parquet], or take --format csv"
        raise FairtrialError("Parquet needs pyarrow, which is not here", hint=hint)
    import pyarrow  # noqa: PLC0415 - an extra of 46 MB, which a report has no need of
    import pyarrow.parquet  # noqa: PLC0415 - the same

    kinds = {Count: pyarrow.int64(), bool | None: pyarrow.bool_(), Number | None: pyarrow.float64()}
    columns = [
        pyarrow.field(name, kinds.get(kind, pyarrow.string()))
        for name, kind in get_type_hints(CellRow, include_extras=True).items()
        if name in CellRow.model_fields
    ]
    plain = [row.model_dump(mode="json") for row in rows(report)]
    table = pyarrow.Table.from_pylist(plain, schema=pyarrow.schema(columns))
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink)
    return sink.getvalue()


EXPORTS: Mapping[str, tuple[str, Callable[[Report], bytes]]] = {
    "csv": ("report.csv", csv_of),
    "junit": ("report.junit.xml", junit_of),
    "parquet": ("report.parquet", parquet_of),
}
"""What `--format` takes -> its file's name, and what makes it."""
