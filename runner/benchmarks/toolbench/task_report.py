"""A run of tasks, reported: figures for each model and arm, and what the arms' difference is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from runner.benchmarks.toolbench.confusion import Labelled, compared
from runner.benchmarks.toolbench.task_results import (
    Comparison,
    RunOfTasks,
    TaskArmReport,
    TaskResult,
)
from runner.benchmarks.toolbench.task_run import (
    ArmAnswers,
    RunAnswers,
    TaskRunSetup,
    read_setup,
    relabelled,
    run_answers,
)
from runner.benchmarks.toolbench.task_scoring import TaskScorer, report_of
from runner.benchmarks.toolbench.variants import PUBLISHED
from runner.benchmarks.without_scorecard import kinds_of, spent_on
from runner.records.run_store import LoadedRun, RunStore

UNEXECUTED = (
    "Tools are never executed: figures are of the calls asked for, and of no answer made with them."
)


@dataclass(frozen=True, kw_only=True)
class ReadRun:
    """A run of tasks with its data."""

    setup: TaskRunSetup
    answers: RunAnswers
    data_problems: tuple[str, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """Tasks that are not what they were when they were answered."""
        return (*self.answers.problems, *relabelled(self.setup, self.answers))


def read_run(store: RunStore, run: LoadedRun) -> ReadRun:
    """Raises FairtrialError if its data is not where it was."""
    setup = read_setup(store)
    tasks, problems = setup.tasks()
    answers = run_answers(store, run, setup.prepared(tasks))
    return ReadRun(setup=setup, answers=answers, data_problems=tuple(problems))


def report_of_run(store: RunStore, run: LoadedRun, *, compat: str = "") -> RunOfTasks:
    """Everything that the run's transcripts say of its tasks."""
    read = read_run(store, run)
    arms = tuple(_arm_report(arm, store, run, read, compat) for arm in read.answers.arms)
    contradictions = map(str, run.contradictions)
    return RunOfTasks(
        run=run.plan.run,
        mode=read.setup.mode,
        notices=tuple(notices(arm.model for arm in arms)),
        problems=(*contradictions, *read.problems),
        arms=arms,
        comparisons=tuple(_comparisons(arms, read)),
    )


def notices(models: Iterable[str]) -> Iterator[str]:
    """What is said of models that are no language models, and of every run of tasks."""
    yield from (kind.notice for kind in kinds_of(models) if not kind.language_model)
    yield UNEXECUTED


def _arm_report(
    arm: ArmAnswers, store: RunStore, run: LoadedRun, read: ReadRun, compat: str
) -> TaskArmReport:
    results = results_of(arm, compat)
    cells = [cell for cell in run.plan.cells if (cell.model, cell.server) == (arm.model, arm.name)]
    calls = sum(len(result.calls) for result in results)
    return TaskArmReport(
        model=arm.model,
        arm=arm.name,
        planned=arm.planned,
        measured=len(results),
        **dict(spent_on(cells, arm.model, store, run)),
        calls_per_turn=calls / arm.turns if arm.turns else None,
        report=report_of(arm.tasks, results, compat=compat, problems=read.data_problems),
    )


def results_of(arm: ArmAnswers, compat: str = "") -> list[TaskResult]:
    scorer = TaskScorer(compat=compat)
    return [scorer.result(one) for one in arm.answered]


def _comparisons(arms: Sequence[TaskArmReport], read: ReadRun) -> Iterator[Comparison]:
    variant = read.setup.variant
    if variant is None:
        return
    found = {(arm.model, arm.arm): arm.report.results for arm in arms}
    for model in dict.fromkeys(arm.model for arm in arms):
        first = found.get((model, PUBLISHED), ())
        second = found.get((model, variant.name), ())
        changed = {result.uuid for result in second}
        # Tasks that offer no changed tool are in the published arm alone, and say nothing of it.
        asked = [result for result in first if result.uuid in changed]
        yield compared(f"{model}, {PUBLISHED}", f"{model}, {variant.name}", asked, second)


def labelled(run: str, arm: ArmAnswers, *, apart: bool = False) -> Labelled:
    """For a confusion table; `apart` from other runs' answers of the model."""
    label = f"{run}, {arm.model}, {arm.name}"
    against = f"{run}, {arm.model}" if apart else arm.model
    return Labelled(label=label, against=against, tasks=arm.tasks, results=results_of(arm))
