"""`fairtrial toolbench report`: a run of tasks, from its transcripts and its data."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from runner.cli import ending, opening, options, output, shapes
from runner.cli.task_choice import believed, compat


class Verb(options.Request):
    run: str = options.said("RUN", "its name under runs/, or its folder")
    compat: Literal["", "mcpbr"] = compat()
    json: bool = options.as_json()


def run(request: Verb) -> int:
    store = opening.open_run(request.root, request.run)
    return report(request.root, store, compat=request.compat, as_json=request.json)


def report(
    root: Path, store: shapes.RunStore, *, compat: Literal["", "mcpbr"] = "", as_json: bool
) -> int:
    from runner.benchmarks.toolbench import task_report, task_tables
    from runner.report.report_files import write_tables

    whole = believed(root, store)
    built = task_report.report_of_run(store, whole, compat=compat)
    tables = task_tables.tables_of_run(built)
    if not compat:
        # Written so, that tool's scores would pass for ours.
        for path in write_tables(built, built.run, store.folder, tables):
            output.tell(f"wrote {path}")
    output.show_tables(built, tables, as_json=as_json)
    return ending.code_of(store, whole)
