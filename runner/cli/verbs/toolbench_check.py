"""`fairtrial toolbench check`: are the data's own labels right?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.cli import options
from runner.cli.options import Request, group
from runner.cli.output import FAILED, OK, show_either
from runner.cli.task_choice import TaskChoice, list_tasks, load_tasks

if TYPE_CHECKING:
    from runner.benchmarks.toolbench.tasks import Task


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    chosen: TaskChoice = group(TaskChoice)
    json: bool = options.as_json()


def run(request: Verb) -> int:
    from runner.benchmarks.toolbench.defects import defects, unresolved_gold

    tasks, problems = load_tasks(request.chosen)
    if request.chosen.list:
        return list_tasks(tasks)
    problems += map(str, defects(tasks))
    unresolved = list(map(str, unresolved_gold(tasks)))
    found = {"tasks": len(tasks), "unresolved_gold": unresolved, "defects": problems}
    text = "\n".join([*problems, *unresolved, _gold_sentence(tasks, unresolved)])
    show_either(found, text, as_json=request.json)
    return FAILED if unresolved else OK


def _gold_sentence(tasks: Sequence[Task], unresolved: Sequence[str]) -> str:
    resolved = len(tasks) - len({line.partition(": ")[0] for line in unresolved})
    return f"gold: {resolved} of {len(tasks)} tasks are resolved by their own labels"
