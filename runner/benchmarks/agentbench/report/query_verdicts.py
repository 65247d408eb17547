"""The files that a run of queries is reported in: JSON, Markdown and HTML."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from runner.benchmarks.agentbench.judging.mcp_eval import Judgment
from runner.benchmarks.agentbench.report.query_results import QueriesReport
from runner.benchmarks.agentbench.report.query_tables import plots_of_run, tables_of_run
from runner.records.run_store import write_whole
from runner.report.report_files import write_tables


def write_report(report: QueriesReport, folder: Path) -> Iterator[Path]:
    """All forms, each written whole. Raises FairtrialError if one fails."""
    return write_tables(report, report.run, folder, tables_of_run(report), plots_of_run(report))


def write_verdicts(report: QueriesReport, path: Path) -> Path:
    """A table as `fairtrial agreement` takes it: item, category, the judge; blank if unscored."""
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["item", "category", report.judge])
    for row in report.models:
        for result in row.results:
            verdict = ""
            if isinstance(result.verdict, Judgment):
                verdict = "pass" if result.verdict.passed else "fail"
            table.writerow([f"{result.query} {row.model} {result.trial}", result.category, verdict])
    write_whole(path, text.getvalue())
    return path
