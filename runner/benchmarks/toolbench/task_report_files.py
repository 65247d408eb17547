"""The files that a run of tasks is reported in: JSON, Markdown and HTML."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from runner.benchmarks.toolbench.task_results import RunOfTasks
from runner.benchmarks.toolbench.task_tables import tables_of_run
from runner.records.run_store import write_whole
from runner.report import html, markdown


def write_report(report: RunOfTasks, folder: Path) -> Iterator[Path]:
    """All forms, each written whole. Raises FairtrialError if one fails."""
    plain = report.model_dump(mode="json")
    text = json.dumps(plain, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    shown = tables_of_run(report)
    for name, content in {
        "report.json": text + "\n",
        "report.md": markdown.render_tables(shown),
        "report.html": html.render_tables(report.run, shown),
    }.items():
        path = folder / name
        write_whole(path, content)
        yield path
