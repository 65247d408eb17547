"""What a run of tasks would send, before anything is spent: `toolbench run --dry-run`."""

from __future__ import annotations

from collections.abc import Sequence

from runner.agents.spending import Spending
from runner.benchmarks.estimate import Amounts, Estimate, ModelEstimate
from runner.benchmarks.toolbench.task_benchmark import PreparedTasks
from runner.benchmarks.toolbench.task_prompts import SYSTEMS, filled, shown_tools
from runner.records import Price, canonical_json
from runner.support.token_estimate import estimated_tokens

NOTE = "what is written comes on top, and each further turn sends the task again"


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
        notes=(NOTE,),
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
