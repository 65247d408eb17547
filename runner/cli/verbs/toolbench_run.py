"""`fairtrial toolbench run`: tasks put to models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from runner.cli import options, running
from runner.cli.options import Request, RunSpending, StudyOptions, Turns, group, said
from runner.cli.task_choice import TaskChoice, list_tasks, tell_some
from runner.cli.verbs import toolbench_report

if TYPE_CHECKING:
    from runner.agents.spending import Spending
    from runner.benchmarks.estimate import Estimate
    from runner.benchmarks.toolbench.task_benchmark import PreparedTasks
    from runner.benchmarks.toolbench.task_run import TaskRunSetup
    from runner.records import Shard


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    chosen: TaskChoice = group(TaskChoice)
    models: tuple[str, ...] = options.models()
    mode: Literal["native", "json"] = said(
        "--mode",
        "native: the tools go to the API as tools; json: one prompt that asks for a JSON "
        "array (default: native)",
        "native",
    )
    prompt: Path | None = said(
        "--prompt FILE",
        "another prompt, with {problem_statement} or {query} where the task has to stand",
        None,
    )
    variant: Path | None = said(
        "--variant FILE",
        "a server.yaml with other names or descriptions of tools, measured beside them",
        None,
    )
    trials: int = said("--trials N", "of each task (default: 1)", 1, type=options.trials)
    agent: str = options.agent()
    turns: Turns = group(Turns)
    spending: RunSpending = group(RunSpending)
    study: StudyOptions = group(StudyOptions)
    name: str = options.run_name()
    json: bool = options.as_json("print report.json instead of the tables")
    jobs: int = options.jobs()
    shard: Shard | None = options.shard()


def run(request: Verb) -> int:
    from runner.support.errors import FairtrialError

    if request.agent or request.study.pass_at is not None:
        hint = "`--mode` says how they are asked, and what resolves is the benchmark's own rule"
        raise FairtrialError("tasks know neither --agent nor --pass-at", hint=hint)
    setup = _setup(request)
    tasks, problems = setup.tasks()
    if request.chosen.list:
        return list_tasks(tasks)
    tell_some(problems)
    subject = _Tasks(request=request, setup=setup, chosen=setup.prepared(tasks))
    return running.run(request, subject)


def _setup(request: Verb) -> TaskRunSetup:
    from runner.benchmarks.toolbench import task_run
    from runner.benchmarks.toolbench.variants import read_variant

    return task_run.TaskRunSetup(
        data=tuple(map(task_run.absolute_source, request.chosen.data)),
        difficulties=request.chosen.difficulties,
        categories=request.chosen.categories,
        limit=request.chosen.limit,
        mode=request.mode,
        prompt=task_run.prompt_of(request.mode, request.prompt),
        variant=read_variant(request.variant) if request.variant else None,
    )


@dataclass(frozen=True, kw_only=True)
class _Tasks(running.RunSubject):
    """What MCPToolBench++ brings to a run."""

    request: Verb
    setup: TaskRunSetup
    chosen: PreparedTasks

    def estimate(self, models: Sequence[str], spending: Spending) -> Estimate:
        from runner.benchmarks.toolbench.task_estimate import estimate_tasks

        return estimate_tasks(self.chosen, models, self.request.trials, spending)

    def default_name(self, models: Sequence[str]) -> str:
        from runner.benchmarks.toolbench.task_run import default_name

        return default_name(self.setup, models, self.request.trials)

    def ready(self, begun: running.Begun) -> running.Ready:  # noqa: ARG002 - nothing is installed
        from runner.agents.models.model_settings import ModelSettings
        from runner.agents.spending import Spending
        from runner.benchmarks.toolbench.task_run import prepared_run, write_setup

        prepared = prepared_run(self.chosen, ModelSettings(), Spending())
        write = partial(write_setup, setup=self.setup, tasks=self.chosen)
        return running.Ready(prepared=prepared, write=write)

    def report(self, begun: running.Begun) -> int:
        return toolbench_report.report(self.request.root, begun.store, as_json=self.request.json)
