"""`fairtrial toolbench check`: are the data's own labels right?"""

from __future__ import annotations

from runner.cli import options, output, task_choice


class Verb(options.Request):
    chosen: task_choice.TaskChoice = options.group(task_choice.TaskChoice)
    json: bool = options.as_json()


def run(request: Verb) -> int:
    from runner.benchmarks.toolbench.defects import defects, unresolved_gold

    tasks, problems = task_choice.load_tasks(request.chosen)
    if request.chosen.list:
        return task_choice.list_tasks(tasks)
    problems += map(str, defects(tasks))
    unresolved = list(map(str, unresolved_gold(tasks)))
    found = {"tasks": len(tasks), "unresolved_gold": unresolved, "defects": problems}
    resolved = len(tasks) - len({line.partition(": ")[0] for line in unresolved})
    gold = f"gold: {resolved} of {len(tasks)} tasks are resolved by their own labels"
    output.show_either(found, "\n".join([*problems, *unresolved, gold]), as_json=request.json)
    return output.FAILED if unresolved else output.OK
