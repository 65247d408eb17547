"""The files that a run of tasks is reported in: JSON, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from runner.benchmarks.toolbench.task_results import RunOfTasks
from runner.benchmarks.toolbench.task_tables import tables_of_run
from runner.report.report_files import write_tables


def write_report(report: RunOfTasks, folder: Path) -> Iterator[Path]:
    """All forms, each written whole. Raises FairtrialError if one fails."""
    return write_tables(report, report.run, folder, tables_of_run(report))
