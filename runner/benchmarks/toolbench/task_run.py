"""A run of tasks: what it is made of, and what was answered in it.

runs/<run>/ is as every run's (runner/records/run_store.py), and beside its plan lies
toolbench.json: where the data is, and what was asked of it. The data itself is not copied: it has
no licence.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from runner.agents.models.model_settings import ModelSettings
from runner.agents.spending import Spending
from runner.benchmarks.estimate import Amounts, Estimate, ModelEstimate
from runner.benchmarks.toolbench.calls import Extraction, calls_of, native_calls
from runner.benchmarks.toolbench.task_benchmark import (
    BENCHMARK,
    HARNESS_VERSION,
    PreparedTasks,
    cell_name,
)
from runner.benchmarks.toolbench.task_files import load_chosen
from runner.benchmarks.toolbench.task_prompts import (
    PROMPTS,
    SYSTEMS,
    TaskMode,
    filled,
    require_usable,
    shown_tools,
)
from runner.benchmarks.toolbench.task_scoring import AnsweredTask
from runner.benchmarks.toolbench.tasks import Task
from runner.benchmarks.toolbench.variants import (
    PUBLISHED,
    Variant,
    applied,
    concerned,
    read_variant,
)
from runner.benchmarks.without_scorecard import setup_in
from runner.records import (
    DEFAULT_AGENT,
    Cell,
    Event,
    Limits,
    Malformed,
    Price,
    Prose,
    Record,
    ToolCall,
    Usage,
    canonical_json,
    digest_of,
)
from runner.records.run_store import LoadedRun, RunStore, write_record
from runner.records.transcript_files import read_transcript
from runner.runs.run_inputs import PreparedRun
from runner.support.errors import FairtrialError
from runner.support.token_estimate import estimated_tokens

SETUP = "toolbench.json"


class TaskRunSetup(Record):
    """runs/<run>/toolbench.json: what the run's tasks are, and how they are asked."""

    schema_version: int = 1
    data: tuple[str, ...]
    """Files, folders or URLs."""
    difficulties: tuple[str, ...]
    categories: tuple[str, ...]
    limit: int | None
    mode: TaskMode
    prompt: str
    """With a place for the task."""
    variant: Variant | None
    labels: dict[str, str] = Field(default_factory=dict)
    """Cell's name of each task -> digest of its label when the run began."""

    def tasks(self) -> tuple[tuple[Task, ...], list[str]]:
        """Those that are chosen, and what is wrong with the data."""
        return load_chosen(
            self.data,
            difficulties=self.difficulties,
            categories=self.categories,
            limit=self.limit,
        )

    def prepared(self, tasks: Iterable[Task]) -> PreparedTasks:
        """What cells stand on. Raises FairtrialError for a variant that fits no task."""
        named = {cell_name(task.id): task for task in tasks}
        both: list[Task] = []
        if self.variant is not None:
            both = concerned(named.values(), self.variant)
        prepared = PreparedTasks(
            tasks=named,
            mode=self.mode,
            prompt=self.prompt,
            variant=self.variant,
            both=frozenset(cell_name(task.id) for task in both),
        )
        for task in both:
            # Two tools of one name must not be found out after the first cells were paid for.
            applied(task, self.variant)
        return prepared


def absolute_source(source: str) -> str:
    """As it can be found from anywhere: a run may be reported from another folder."""
    if source.startswith(("http://", "https://")):
        return source
    return str(Path(source).resolve())


def prompt_of(mode: TaskMode, file: Path | None) -> str:
    """The user's, or the mode's own. Raises FairtrialError for one that no task fits into."""
    if file is None:
        return PROMPTS[mode]
    try:
        prompt = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = f"the prompt cannot be read: {error}"
        raise FairtrialError(what, where=str(file), hint="give a text in UTF-8") from error
    require_usable(prompt, str(file))
    return prompt


def default_name(setup: TaskRunSetup, models: Sequence[str], trials: int) -> str:
    """The same command gives the same name, so that saying it again resumes a killed run."""
    # An edited label is no other command.
    asked = [setup.model_dump(mode="json", exclude={"labels"}), sorted(models), trials]
    return f"toolbench-{digest_of(asked)[:8]}"


def prepared_run(tasks: PreparedTasks, models: ModelSettings, spending: Spending) -> PreparedRun:
    """For an executor. It names no engine: a task needs none."""
    return PreparedRun(
        engine_url=None,
        engine_version="",
        kernel="",
        harness=str(HARNESS_VERSION),
        agent=DEFAULT_AGENT,
        benchmark=BENCHMARK,
        limits=Limits(),
        arms={},
        scenarios={},
        spending=spending,
        models=models,
        subject=tasks,
        has_containers=False,
    )


# --- what it would send -------------------------------------------------------------------------

OF_ESTIMATE = "what is written comes on top, and each further turn sends the task again"


def estimate_tasks(
    tasks: PreparedTasks, models: Sequence[str], trials: int, spending: Spending
) -> Estimate:
    shown: list[int] = []
    for name, task in tasks.tasks.items():
        if task.tools:
            shown += [_tokens(tasks, name, arm) for arm in tasks.arms(name)]
    cells, tokens = len(shown) * trials, sum(shown) * trials
    return Estimate(
        models=tuple(_of_model(it, cells, tokens, spending.priced.get(it)) for it in models),
        prices_date=spending.prices_date,
        notes=(OF_ESTIMATE,),
    )


def _of_model(model: str, cells: int, tokens: int, price: Price | None) -> ModelEstimate:
    usd = None if price is None else tokens * price.input / 1_000_000
    return ModelEstimate(model=model, cells=cells, at_least=Amounts(tokens=tokens, usd=usd))


def _tokens(tasks: PreparedTasks, name: str, arm: str) -> int:
    task = tasks.shown(name, arm)
    chars = len(SYSTEMS[tasks.mode]) + len(filled(tasks.prompt, task))
    if tasks.mode == "native":
        chars += len(canonical_json(shown_tools(task)))
    return estimated_tokens(chars)


# --- what is there ------------------------------------------------------------------------------


def write_setup(store: RunStore, setup: TaskRunSetup, tasks: PreparedTasks) -> None:
    """A run that is resumed keeps the labels' digests that it began with."""
    labels = {name: label_digest(task) for name, task in tasks.tasks.items()}
    if (store.folder / SETUP).is_file():
        labels |= read_setup(store).labels
    write_record(store.folder / SETUP, setup.model_copy(update={"labels": labels}))


def label_digest(task: Task) -> str:
    """Of all that an answer is held against."""
    return digest_of([{**asdict(it), "similar": sorted(it.similar)} for it in task.expected])


def relabelled(setup: TaskRunSetup, answers: RunAnswers) -> Iterator[str]:
    """Tasks whose labels were edited since the run began: their scores moved, and no answer did."""
    tasks = {task.id: task for arm in answers.arms if arm.name == PUBLISHED for task in arm.tasks}
    for task in tasks.values():
        name, today = cell_name(task.id), label_digest(task)
        if setup.labels.get(name, today) != today:
            yield f"{name}: its label was edited since the run began; it is scored by today's"


def runs_to_confuse(folder: Path, named: list[RunStore], variant: Path | None) -> list[RunStore]:
    """Those that are named, else all in the folder; of these, those with the variant.

    Raises FairtrialError if there is none.
    """
    runs = named or [RunStore(path.parent) for path in sorted(folder.glob(f"*/{SETUP}"))]
    if not runs:
        hint = "`fairtrial toolbench run DATA --model M` makes one"
        raise FairtrialError("there is no run of tasks", where=str(folder), hint=hint)
    if variant is None:
        return runs
    wanted = read_variant(variant)
    runs = [store for store in runs if read_setup(store).variant == wanted]
    if not runs:
        hint = f"`fairtrial toolbench run DATA --model M --variant {variant}` measures it"
        raise FairtrialError("no run measured this variant", where=str(variant), hint=hint)
    return runs


def read_setup(store: RunStore) -> TaskRunSetup:
    """Raises FairtrialError if the run is none of tasks."""
    return setup_in(store, BENCHMARK, SETUP, "tasks", TaskRunSetup)


@dataclass(frozen=True, kw_only=True)
class ArmAnswers:
    """What one model answered, with the tools of one arm."""

    model: str
    name: str
    tasks: tuple[Task, ...]
    """As the arm shows them."""
    answered: tuple[AnsweredTask, ...]
    turns: int
    """Of the model, in the cells that are answered."""
    planned: int
    """Cells. What was not measured is in no rate, and stays in this number."""


@dataclass(frozen=True, kw_only=True)
class RunAnswers:
    arms: tuple[ArmAnswers, ...]
    problems: tuple[str, ...]
    """Cells whose task is not what it was."""


def run_answers(store: RunStore, run: LoadedRun, tasks: PreparedTasks) -> RunAnswers:
    """Every measured and believed cell of the run, read from its transcript again."""
    answered: dict[tuple[str, str], list[AnsweredTask]] = defaultdict(list)
    planned: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    turns: Counter[tuple[str, str]] = Counter()
    problems: list[str] = []
    for item in run.cells:
        cell = item.cell
        planned[cell.model, cell.server].append(cell)
        attempt = store.counted_attempt(cell.id)
        if not (item.measured and item.believed) or attempt is None:
            continue
        if tasks.shown_digest(cell.scenario, cell.server) != cell.inputs.get("shown"):
            problems.append(f"{cell.scenario}: the data has another task under this id now")
            continue
        task = tasks.shown(cell.scenario, cell.server)
        events = read_transcript(attempt.transcript)
        turns[cell.model, cell.server] += sum(isinstance(event, Usage) for event in events)
        answer = answer_in(events, task)
        answered[cell.model, cell.server].append(
            AnsweredTask(task=task, trial=cell.trial, answer=answer)
        )
    arms = tuple(_arms(planned, answered, turns, tasks))
    return RunAnswers(arms=arms, problems=tuple(problems))


def _arms(
    planned: Mapping[tuple[str, str], Sequence[Cell]],
    answered: Mapping[tuple[str, str], Sequence[AnsweredTask]],
    turns: Mapping[tuple[str, str], int],
    tasks: PreparedTasks,
) -> Iterator[ArmAnswers]:
    for (model, name), cells in planned.items():
        names = dict.fromkeys(cell.scenario for cell in cells if cell.scenario in tasks.tasks)
        yield ArmAnswers(
            model=model,
            name=name,
            tasks=tuple(tasks.shown(one, name) for one in names),
            answered=tuple(answered.get((model, name), ())),
            turns=turns.get((model, name), 0),
            planned=len(cells),
        )


def answer_in(events: Iterable[Event], task: Task) -> Extraction:
    """The native calls of a transcript; where there is none, what its prose holds."""
    calls: list[tuple[str, Any]] = []
    texts: list[str] = []
    for event in events:
        if isinstance(event, ToolCall):
            calls.append((event.tool, event.arguments))
        elif isinstance(event, Prose | Malformed):
            texts.append(event.text)
    if calls:
        return native_calls(calls)
    return calls_of("\n\n".join(texts), task.argument_schemas)
