"""`fairtrial toolbench run`: tasks put to models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from runner.cli import options, running, shapes, task_choice
from runner.cli.verbs import toolbench_report
from runner.support.errors import FairtrialError


class Verb(options.RunRequest):
    LAST = "models mode prompt variant trials agent turns spending study name json jobs shard"
    chosen: task_choice.TaskChoice = options.group(task_choice.TaskChoice)
    agent: str = options.no_agent()
    mode: Literal["native", "json"] = options.said(
        "--mode",
        "native: the tools go to the API as tools; json: one prompt that asks for a JSON "
        "array (default: native)",
    )
    prompt: Path | None = options.said(
        "--prompt FILE",
        "another prompt, with {problem_statement} or {query} where the task has to stand",
    )
    variant: Path | None = options.said(
        "--variant FILE",
        "a server.yaml with other names or descriptions of tools, measured beside them",
    )
    trials: options.Trials = options.said("--trials N", "of each task (default)", 1)
    json: bool = options.as_json("print report.json instead of the tables")


def run(request: Verb) -> int:
    if request.agent or request.study.pass_at is not None:
        hint = "`--mode` says how they are asked, and what resolves is the benchmark's own rule"
        raise FairtrialError("tasks know neither --agent nor --pass-at", hint=hint)
    setup = _setup(request)
    tasks, problems = setup.tasks()
    if request.chosen.list:
        return task_choice.list_tasks(tasks)
    task_choice.tell_some(problems)
    subject = _Tasks(request=request, setup=setup, chosen=setup.prepared(tasks))
    return running.run(request, subject)


def _setup(request: Verb) -> shapes.TaskRunSetup:
    from runner.benchmarks.toolbench import task_run
    from runner.benchmarks.toolbench.variants import read_variant

    chosen = request.chosen
    return task_run.TaskRunSetup(
        data=tuple(map(task_run.absolute_source, chosen.data)),
        difficulties=chosen.difficulties,
        categories=chosen.categories,
        limit=chosen.limit,
        mode=request.mode,
        prompt=task_run.prompt_of(request.mode, request.prompt),
        variant=read_variant(request.variant) if request.variant else None,
    )


@dataclass(frozen=True, kw_only=True)
class _Tasks(running.RunSubject):
    """What MCPToolBench++ brings to a run."""

    request: Verb
    setup: shapes.TaskRunSetup
    chosen: shapes.PreparedTasks

    def estimate(self, models: Sequence[str], spending: shapes.Spending) -> shapes.Estimate:
        from runner.benchmarks.toolbench.task_run import estimate_tasks

        return estimate_tasks(self.chosen, models, self.request.trials, spending)

    def default_name(self, models: Sequence[str]) -> str:
        from runner.benchmarks.toolbench.task_run import default_name

        return default_name(self.setup, models, self.request.trials)

    def ready(self, begun: running.Begun) -> running.Ready:  # noqa: ARG002 - nothing is installed
        from runner.agents.models.model_settings import ModelSettings
        from runner.agents.spending import Spending
        from runner.benchmarks.toolbench.task_run import prepared_run, write_setup

        prepared = prepared_run(self.chosen, ModelSettings(), Spending())
        return prepared, partial(write_setup, setup=self.setup, tasks=self.chosen)

    def report(self, begun: running.Begun) -> int:
        return toolbench_report.report(self.request.root, begun.store, as_json=self.request.json)
