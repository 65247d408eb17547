"""`fairtrial toolbench score`: answers from a file, or a run again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from runner.cli import options
from runner.cli.opening import open_run
from runner.cli.options import Request, group, said
from runner.cli.output import OK, show_tables
from runner.cli.task_choice import TaskChoice, compat, list_tasks, load_tasks
from runner.cli.verbs import toolbench_report

if TYPE_CHECKING:
    from runner.benchmarks.toolbench.tasks import Task


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    chosen: TaskChoice = group(TaskChoice)
    responses: Path | None = said(
        "--responses FILE", "what was answered: {uuid: answer}, or lines of JSON", None
    )
    compat: Literal["", "mcpbr"] = compat()
    json: bool = options.as_json()


def run(request: Verb) -> int:
    chosen = request.chosen
    if request.responses is None and chosen.is_one_source and not chosen.list:
        store = open_run(request.root, chosen.data[0])
        if store.has_plan():
            return toolbench_report.report(
                request.root, store, compat=request.compat, as_json=request.json
            )
    tasks, problems = load_tasks(chosen)
    if chosen.list:
        return list_tasks(tasks)
    return _score_responses(request, tasks, problems)


def _score_responses(request: Verb, tasks: Sequence[Task], problems: list[str]) -> int:
    from runner.benchmarks.toolbench.responses import report_of_responses
    from runner.benchmarks.toolbench.task_tables import tables_of
    from runner.support.errors import FairtrialError

    if request.responses is None:
        hint = "give --responses FILE"
        raise FairtrialError("there are no answers to score", hint=hint)
    report = report_of_responses(tasks, request.responses, request.compat, problems)
    show_tables(report, tables_of(report), as_json=request.json)
    return OK
