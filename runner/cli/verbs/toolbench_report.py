"""`fairtrial toolbench report`: a run of tasks, from its transcripts and its data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from runner.cli import options
from runner.cli.ending import code_of
from runner.cli.opening import open_run
from runner.cli.options import Request, said
from runner.cli.output import show_tables, tell
from runner.cli.task_choice import believed, compat

if TYPE_CHECKING:
    from runner.records.run_store import RunStore


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    run: str = said("RUN", "its name under runs/, or its folder")
    compat: Literal["", "mcpbr"] = compat()
    json: bool = options.as_json()


def run(request: Verb) -> int:
    store = open_run(request.root, request.run)
    return report(request.root, store, compat=request.compat, as_json=request.json)


def report(root: Path, store: RunStore, *, compat: Literal["", "mcpbr"] = "", as_json: bool) -> int:
    from runner.benchmarks.toolbench.task_report import report_of_run
    from runner.benchmarks.toolbench.task_report_files import write_report
    from runner.benchmarks.toolbench.task_tables import tables_of_run

    whole = believed(root, store)
    built = report_of_run(store, whole, compat=compat)
    if not compat:
        # Written so, that tool's scores would pass for ours.
        for path in write_report(built, store.folder):
            tell(f"wrote {path}")
    show_tables(built, tables_of_run(built), as_json=as_json)
    return code_of(store, whole)
