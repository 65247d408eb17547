"""Tasks of MCPToolBench++ and runs of them, as the verbs of `toolbench` share them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.cli.opening import open_checkout
from runner.cli.options import repeatable, said
from runner.cli.output import OK, show, tell

if TYPE_CHECKING:
    from runner.benchmarks.toolbench.tasks import Task
    from runner.records.run_store import LoadedRun, RunStore

PROBLEMS_TOLD = 20


@dataclass(frozen=True, kw_only=True)
class TaskChoice:
    """Which tasks."""

    data: tuple[str, ...] = said("DATA …", "files or folders of the benchmark's data, or URLs", ())
    difficulties: tuple[str, ...] = repeatable(
        "--difficulty", "; easy, single, hard, multi or medium"
    )
    categories: tuple[str, ...] = repeatable(
        "--category", "; such as browser; case does not matter"
    )
    limit: int | None = said("-n N", "only the first N of these tasks", None)
    list: bool = said("--list", "say how many tasks there are of each")

    @property
    def is_one_source(self) -> bool:
        """All of it: a run's own choice of tasks is made, and takes no filter."""
        chosen = (*self.difficulties, *self.categories)
        return len(self.data) == 1 and not chosen and self.limit is None


def compat() -> Any:
    return said("--compat", "score as that tool does, to the letter", "")


def load_tasks(chosen: TaskChoice) -> tuple[Sequence[Task], list[str]]:
    """The tasks, and what is wrong with their data."""
    from runner.benchmarks.toolbench.task_files import load_chosen

    return load_chosen(
        chosen.data,
        difficulties=chosen.difficulties,
        categories=chosen.categories,
        limit=chosen.limit,
    )


def list_tasks(tasks: Sequence[Task]) -> int:
    from runner.benchmarks.toolbench.task_files import counted

    show("\n".join([*counted(tasks), f"{len(tasks)} tasks"]))
    return OK


def tell_some(problems: Sequence[str]) -> None:
    for line in problems[:PROBLEMS_TOLD]:
        tell(f"data: {line}")
    if len(problems) > PROBLEMS_TOLD:
        tell(f"data: and {len(problems) - PROBLEMS_TOLD} more (`toolbench check` lists all)")


def believed(root: Path, store: RunStore) -> LoadedRun:
    """Raises FairtrialError if the run is none of tasks."""
    from runner.benchmarks import BENCHMARKS
    from runner.benchmarks.toolbench.task_benchmark import BENCHMARK
    from runner.benchmarks.toolbench.task_run import read_setup
    from runner.runs.audit import Audit

    read_setup(store)
    return Audit(
        store=store, checkout=open_checkout(root), benchmark=BENCHMARKS[BENCHMARK]
    ).evidence()
