"""The files that a run of tasks is reported in: JSON and Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from runner.benchmarks.toolbench.results import RunOfTasks
from runner.benchmarks.toolbench.shown import tables_of_run
from runner.report.markdown import render_tables
from runner.store import write_whole


def write_report(report: RunOfTasks, folder: Path) -> Iterator[Path]:
    """All forms, each written whole. Raises FairtrialError if one fails."""
    plain = report.model_dump(mode="json")
    text = json.dumps(plain, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    for name, content in {
        "report.json": text + "\n",
        "report.md": render_tables(tables_of_run(report)),
    }.items():
        path = folder / name
        write_whole(path, content)
        yield path
