"""`fairtrial toolbench score`: answers from a file, or a run again."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from runner.cli import opening, options, output, task_choice
from runner.cli.verbs import toolbench_report
from runner.support.errors import FairtrialError


class Verb(options.Request):
    chosen: task_choice.TaskChoice = options.group(task_choice.TaskChoice)
    responses: Path | None = options.said(
        "--responses FILE", "what was answered: {uuid: answer}, or lines of JSON"
    )
    compat: Literal["", "mcpbr"] = task_choice.compat()
    json: bool = options.as_json()


def run(request: Verb) -> int:
    from runner.benchmarks.toolbench import responses, task_tables

    chosen, how = request.chosen, request.compat
    if request.responses is None and chosen.is_one_source and not chosen.list:
        store = opening.open_run(request.root, chosen.data[0])
        if store.has_plan():
            return toolbench_report.report(request.root, store, compat=how, as_json=request.json)
    tasks, problems = task_choice.load_tasks(chosen)
    if chosen.list:
        return task_choice.list_tasks(tasks)
    if request.responses is None:
        raise FairtrialError("there are no answers to score", hint="give --responses FILE")
    report = responses.report_of_responses(tasks, request.responses, how, problems)
    return output.show_tables(report, task_tables.tables_of(report), as_json=request.json)
