"""The cells for other programs: each form reads back, holds every planned cell and runs nothing."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pyarrow.parquet
import pytest

from runner.benchmarks.agentbench.report.query_results import QueriesReport
from runner.benchmarks.toolbench.task_results import RunOfTasks
from runner.records import Record
from runner.records.versions import VersionComparison
from runner.report.exports import EXPORTS, CellRow, csv_of, junit_of, parquet_of, rows
from runner.report.records import Report
from runner.report.report_files import render_json, write_exports
from runner.support.errors import FairtrialError
from tests.report.loaded import broken, cell, loaded, measured, small_run, unfinished
from tests.report.test_report import HOSTILE, report_of, two_cells

SCHEMAS = Path(__file__).parents[2] / "docs/schemas"
FORMS: dict[str, type[Record]] = {
    "agentbench": QueriesReport,
    "cells": CellRow,
    "compare": VersionComparison,
    "report": Report,
    "toolbench": RunOfTasks,
}


def made() -> Report:
    return report_of(small_run())


def test_every_planned_cell_is_a_row_in_every_form() -> None:
    report = made()
    told = [row.model_dump(mode="json") for row in rows(report)]
    assert len(told) == 21 and sum(row["fairness"] is None for row in told) == 1
    read = list(csv.DictReader(io.StringIO(csv_of(report).decode(), newline="")))
    assert [row["cell_id"] for row in read] == [row["cell_id"] for row in told]
    assert [row["fairness"] for row in read] == [
        "" if row["fairness"] is None else str(row["fairness"]) for row in told
    ]
    table = pyarrow.parquet.read_table(io.BytesIO(parquet_of(report)))
    assert table.to_pylist() == told
    assert len(ElementTree.fromstring(junit_of(report)).findall(".//testcase")) == 21


def test_junit_tells_what_failed_from_what_broke_and_what_is_not_there() -> None:
    cells = [
        measured(cell("alpha"), 0.7),
        measured(cell("alpha", "codegraph"), 0.3),
        broken(cell("bravo")),
        unfinished(cell("bravo", "codegraph")),
    ]
    root = ElementTree.fromstring(junit_of(report_of(loaded(cells))))
    kinds = [[part.tag for part in case] for case in root.iter("testcase")]
    assert kinds == [[], ["failure"], ["error"], ["skipped"]]
    first = root.find("testsuite")
    assert first is not None
    assert (first.get("tests"), first.get("failures"), first.get("errors")) == ("2", "1", "0")


@pytest.mark.parametrize("text", ["=1+1", "@SUM(A1)", HOSTILE])
def test_no_text_runs_in_a_spreadsheet_or_ends_an_element(text: str) -> None:
    of = cell("alpha", model=text)
    shown = measured(of, text)
    report = report_of(loaded([shown, replace(measured(cell("alpha", "codegraph"), 0.4))]))
    for row in csv.reader(io.StringIO(csv_of(report).decode(), newline="")):
        assert not [it for it in row if it.startswith(("=", "@", "+"))]
    root = ElementTree.fromstring(junit_of(report))
    assert {it.tag for it in root.iter()} <= set(
        "testsuites testsuite testcase error skipped failure".split()
    )


def test_a_form_that_there_is_not_is_refused_before_any_is_written(tmp_path: Path) -> None:
    with pytest.raises(FairtrialError, match="no form 'pdf'"):
        write_exports(made(), tmp_path, ["csv", "pdf"])
    assert list(tmp_path.iterdir()) == []
    write_exports(made(), tmp_path, list(EXPORTS))
    assert {it.name for it in tmp_path.iterdir()} == {name for name, _ in EXPORTS.values()}


def test_the_schema_of_each_form_is_the_one_that_is_published() -> None:
    found = {path.name.partition(".")[0]: path for path in SCHEMAS.glob("*.schema.json")}
    assert found.keys() == FORMS.keys()
    for name, kind in FORMS.items():
        assert json.loads(found[name].read_text("utf-8")) == kind.model_json_schema()


def test_what_is_written_holds_to_its_schema() -> None:
    whole = jsonschema.Draft202012Validator(Report.model_json_schema())
    row = jsonschema.Draft202012Validator(CellRow.model_json_schema())
    for report in (made(), report_of(two_cells(), None), report_of(small_run(ungated=True))):
        whole.validate(json.loads(render_json(report)))
        for one in rows(report):
            row.validate(one.model_dump(mode="json"))
    wrong = json.loads(render_json(made())) | {"run": 7}
    assert not whole.is_valid(wrong)
