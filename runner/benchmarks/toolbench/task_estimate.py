"""What a run of tasks would send, before anything is spent: `toolbench run --dry-run`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from runner.benchmarks.toolbench.task_benchmark import PreparedTasks
from runner.benchmarks.toolbench.task_prompts import SYSTEMS, filled, shown_tools
from runner.records import Count, Price, Record, canonical_json
from runner.support.token_estimate import estimated_tokens


class TaskModelEstimate(Record):
    model: str
    cells: Count
    input_tokens: Count
    """Of each cell's first request, estimated from characters; tasks of several calls send more."""
    usd: float | None
    """Of these tokens alone; None without a price."""


class TaskEstimate(Record):
    models: tuple[TaskModelEstimate, ...]

    def lines(self) -> Iterator[str]:
        for one in self.models:
            cost = "no price is known" if one.usd is None else f"at least ${one.usd:.2f}"
            yield f"{one.model}: {one.cells} cells, about {one.input_tokens:,} input tokens, {cost}"


def estimate_tasks(
    tasks: PreparedTasks, models: Sequence[str], trials: int, prices: Mapping[str, Price]
) -> TaskEstimate:
    """What is written is not known before; it is left out, and `at least` says so."""
    shown: list[int] = []
    for name, task in tasks.tasks.items():
        if task.tools:
            shown += [_tokens(tasks, name, arm) for arm in tasks.arms(name)]
    cells, tokens = len(shown) * trials, sum(shown) * trials
    return TaskEstimate(
        models=tuple(_of_model(model, cells, tokens, prices.get(model)) for model in models)
    )


def _of_model(model: str, cells: int, tokens: int, price: Price | None) -> TaskModelEstimate:
    usd = None if price is None else tokens * price.input / 1_000_000
    return TaskModelEstimate(model=model, cells=cells, input_tokens=tokens, usd=usd)


def _tokens(tasks: PreparedTasks, name: str, arm: str) -> int:
    task = tasks.shown(name, arm)
    chars = len(SYSTEMS[tasks.mode]) + len(filled(tasks.prompt, task))
    if tasks.mode == "native":
        chars += len(canonical_json(shown_tools(task)))
    return estimated_tokens(chars)
