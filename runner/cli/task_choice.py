"""Tasks of MCPToolBench++ and runs of them, as the verbs of `toolbench` share them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runner.cli import opening, output, shapes
from runner.cli.options import Words, repeatable, said

PROBLEMS_TOLD = 20


class TaskChoice(Words):
    """Which tasks."""

    data: tuple[str, ...] = said("DATA …", "files or folders of the benchmark's data, or URLs", ())
    difficulties: tuple[str, ...] = repeatable(
        "--difficulty", "; easy, single, hard, multi or medium"
    )
    categories: tuple[str, ...] = repeatable(
        "--category", "; such as browser; case does not matter"
    )
    limit: int | None = said("-n N", "only the first N of these tasks")
    list: bool = said("--list", "say how many tasks there are of each")

    @property
    def is_one_source(self) -> bool:
        """All of it: a run's own choice of tasks is made, and takes no filter."""
        chosen = (*self.difficulties, *self.categories)
        return len(self.data) == 1 and not chosen and self.limit is None


def compat() -> Any:
    return said("--compat", "score as that tool does, to the letter")


def load_tasks(chosen: TaskChoice) -> tuple[Sequence[shapes.Task], list[str]]:
    """The tasks, and what is wrong with their data."""
    from runner.benchmarks.toolbench.task_files import load_chosen

    levels, categories, limit = chosen.difficulties, chosen.categories, chosen.limit
    return load_chosen(chosen.data, difficulties=levels, categories=categories, limit=limit)


def list_tasks(tasks: Sequence[shapes.Task]) -> int:
    from runner.benchmarks.toolbench.task_files import counted

    output.show("\n".join([*counted(tasks), f"{len(tasks)} tasks"]))
    return output.OK


def tell_some(problems: Sequence[str]) -> None:
    for line in problems[:PROBLEMS_TOLD]:
        output.tell(f"data: {line}")
    if len(problems) > PROBLEMS_TOLD:
        output.tell(f"data: and {len(problems) - PROBLEMS_TOLD} more (`toolbench check` lists all)")


def believed(root: Path, store: shapes.RunStore) -> shapes.LoadedRun:
    """Raises FairtrialError if the run is none of tasks."""
    from runner.benchmarks.toolbench import task_benchmark, task_run
    from runner.runs.audit import Audit

    task_run.read_setup(store)
    benchmark, checkout = task_benchmark.Toolbench(), opening.open_checkout(root)
    return Audit(store=store, checkout=checkout, benchmark=benchmark).evidence()
