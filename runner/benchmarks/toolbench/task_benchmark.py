"""runs.benchmark.Benchmark for tasks: one task, one arm, one model, one trial is a cell.

An arm is the tools as they are published, or a variant of them. There is no container, no workspace
and no judge: a cell's scores are of its calls alone, and are made by scoring.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from runner.agents.models import kind_name, open_model
from runner.agents.models.model_settings import ModelSettings
from runner.agents.models.offline.picker import Picker
from runner.benchmarks.toolbench.conversation import BUDGET, TaskConversation, UnexecutedTools
from runner.benchmarks.toolbench.task_prompts import (
    SYSTEMS,
    TaskMode,
    filled,
    shown_tools,
    tool_specs,
)
from runner.benchmarks.toolbench.tasks import Task
from runner.benchmarks.toolbench.variants import PUBLISHED, Variant, applied
from runner.benchmarks.without_scorecard import (
    WithoutScorecard,
    fingerprint,
    one_step,
    spending_input,
)
from runner.protocols import Model
from runner.records import Cell, Outcome, digest_of
from runner.runs.attempt import Attempt
from runner.runs.run_inputs import PreparedRun

BENCHMARK = "toolbench"
HARNESS_VERSION = 2
"""Of how a task is put to a model. Changed, it asks for new runs."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True, kw_only=True)
class PreparedTasks:
    """What the cells of a run stand on."""

    tasks: Mapping[str, Task]
    """By the names of their cells."""
    mode: TaskMode
    prompt: str
    variant: Variant | None = None
    both: frozenset[str] = field(default_factory=frozenset)
    """Names of the tasks that are measured with the variant as well."""

    def shown(self, name: str, arm: str) -> Task:
        """The task as an arm has it."""
        return applied(self.tasks[name], self.variant if arm != PUBLISHED else None)

    def shown_digest(self, name: str, arm: str) -> str:
        """Of all that a model is shown; empty if there is no such task any more."""
        if name not in self.tasks:
            return ""
        return _shown_digest(self, self.shown(name, arm))

    def arms(self, name: str) -> tuple[str, ...]:
        if self.variant is None or name not in self.both:
            return (PUBLISHED,)
        return (PUBLISHED, self.variant.name)


def cell_name(task_id: str) -> str:
    """A task's id as a cell's name, which every file system takes."""
    if _NAME.fullmatch(task_id):
        return task_id
    plain = re.sub(r"[^a-z0-9._-]+", "-", task_id.lower()).strip("-._")[:48] or "task"
    return f"{plain}-{digest_of(task_id)[:12]}"


def open_for_tasks(name: str, settings: ModelSettings) -> Model:
    """As models.open_model; `offline`, which finds its way in code, chooses tools by words here."""
    if kind_name(name) == "offline":
        return Picker()
    return open_model(name, settings)


class Toolbench(WithoutScorecard):
    """runs.benchmark.Benchmark."""

    noun = "task"
    verb = BENCHMARK

    def cells(self, prepared: PreparedRun, models: Sequence[str], trials: int) -> tuple[Cell, ...]:
        """Every cell, arms innermost."""
        tasks = _tasks_of(prepared)
        identities = {name: open_for_tasks(name, prepared.models).identity for name in models}
        cells = []
        names = [name for name, task in tasks.tasks.items() if task.tools]
        for trial, name, model in product(range(1, trials + 1), names, models):
            for arm in tasks.arms(name):
                inputs = {**_inputs(tasks, name, arm), "model": identities[model]}
                inputs |= spending_input(prepared, model)
                cells.append(
                    Cell(scenario=name, server=arm, model=model, trial=trial, inputs=inputs)
                )
        return tuple(cells)

    def left_out(self, prepared: PreparedRun) -> tuple[str, ...]:
        """Tasks that offer no tool: nothing could be chosen."""
        tasks = _tasks_of(prepared)
        return tuple(f"{task.id} offers no tool" for task in tasks.tasks.values() if not task.tools)

    async def run(self, attempt: Attempt) -> Outcome:
        """runs.benchmark.Benchmark."""
        tasks = _tasks_of(attempt.prepared)
        task = tasks.shown(attempt.cell.scenario, attempt.cell.server)
        model = open_for_tasks(attempt.cell.model, attempt.prepared.models)
        shown = _shown_digest(tasks, task)
        attempt.measured.task = fingerprint(attempt.cell, model, HARNESS_VERSION, shown)
        conversation = TaskConversation(
            model=model,
            task=task,
            system=SYSTEMS[tasks.mode],
            scenario=one_step(attempt.cell.scenario, filled(tasks.prompt, task), BUDGET),
            toolbox=UnexecutedTools(tool_specs(task) if tasks.mode == "native" else ()),
            record=attempt.writer.write,
            totals=attempt.measured.totals,
        )
        try:
            return await conversation.run()
        finally:
            model.write_artifacts(attempt.folder)
            await model.close()


def _tasks_of(prepared: PreparedRun) -> PreparedTasks:
    assert isinstance(prepared.subject, PreparedTasks)  # noqa: S101 - who names this benchmark does
    return prepared.subject


def _inputs(tasks: PreparedTasks, name: str, arm: str) -> dict[str, str]:
    """Everything that could change what happens in the cell, by name."""
    task = tasks.shown(name, arm)
    outputs = [call.output for call in task.expected]
    return {
        "harness": str(HARNESS_VERSION),
        "mode": tasks.mode,
        "shown": _shown_digest(tasks, task),
        "label": digest_of([[sorted(call.accepted) for call in task.expected], outputs]),
    }


def _shown_digest(tasks: PreparedTasks, task: Task) -> str:
    return digest_of([SYSTEMS[tasks.mode], filled(tasks.prompt, task), shown_tools(task)])
