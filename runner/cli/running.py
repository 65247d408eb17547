"""A run, whichever benchmark it is of: estimate or plan, execute, report; every `… run` is this."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeAlias

from runner.cli import ending, opening, output, shapes
from runner.cli.options import RunRequest, Turns

Ready: TypeAlias = "tuple[shapes.PreparedRun, Callable[[shapes.RunStore], None]]"
"""What cells stand on, and what writes its part beside the plan."""


@dataclass(frozen=True, kw_only=True)
class Begun:
    """A run under way."""

    store: shapes.RunStore
    models: Sequence[str]
    spending: shapes.Spending
    gate: shapes.Gate | None = None
    """What stands in front of its result."""
    built: shapes.PreparedRun | None = None
    """What was made before its lock was taken."""


class RunSubject(Protocol):
    """What a benchmark brings to a run. It is asked in this order."""

    def estimate(self, models: Sequence[str], spending: shapes.Spending) -> shapes.Estimate: ...

    def default_name(self, models: Sequence[str]) -> str:
        """Of the run's folder; the same for the same words. Raises for what cannot be run."""

    def gate(self, begun: Begun) -> shapes.Gate | None:  # noqa: ARG002 - one without scenarios
        """The gate is of scenarios and their judges."""
        return None

    def build(self, begun: Begun) -> shapes.PreparedRun | None:  # noqa: ARG002 - see gate
        """What a refusal must come before: the run has no folder yet."""
        return None

    def ready(self, begun: Begun) -> Ready:
        """Made while the run's lock is held."""

    def report(self, begun: Begun) -> int:
        """Score what is measured and show it; the exit code."""


def run(words: RunRequest, subject: RunSubject, runs: Path | None = None) -> int:
    """`runs`: where the run's folder goes, if that is not the project's."""
    from runner.records.run_store import RunStore
    from runner.runs import executors, plan, shards
    from runner.runs.executors.asked import Asked

    if words.spending.dry_run:
        return _estimate(words, subject)
    models, settings = open_models(words)
    caps = spending(words, models)
    name = words.name or subject.default_name(models)
    asked = Asked(jobs=words.jobs, exchange=words.exchange, tls=words.tls)
    executor = executors.open_executor(words.executor, asked)
    plan.check_name(name)
    folder = shards.folder_name(name, words.shard) if words.shard else name
    store = RunStore((runs or opening.runs_of(words.root)) / folder)
    begun = Begun(store=store, models=models, spending=caps)
    begun = replace(begun, gate=subject.gate(begun))
    begun = replace(begun, built=subject.build(begun))
    with store.lock():
        prepared, write = subject.ready(begun)
        prepared = replace(prepared, models=settings, spending=caps)
        wanted = wanted_run(words, prepared, models, begun.gate)
        planned = plan.load_or_create_plan(store, replace(wanted, run=name))
        write(store)
        if words.shard is not None:
            share = shards.spending_of(prepared.spending, planned.plan, words.shard)
            prepared = replace(prepared, spending=share)
            planned = shards.of_shard(planned, words.shard)
        measure(planned, prepared, executor, store)
        _tell_remarks(store)
        return ending.end_shard(store, words.shard) if words.shard else subject.report(begun)


def _estimate(words: RunRequest, subject: RunSubject) -> int:
    from runner.agents.models import require_known
    from runner.agents.models.weights_server import short_name

    models = list(dict.fromkeys(map(short_name, words.models)))
    for model in models:
        require_known(model)
    estimate = subject.estimate(models, spending(words, models))
    return output.show_estimate(estimate, as_json=words.json)


def spending(words: RunRequest, models: Sequence[str]) -> shapes.Spending:
    from runner.agents.spending import spending_for

    said = words.spending
    return spending_for(said.prices, said.cell_usd, said.run_usd, models, said.run_tokens)


def open_models(words: RunRequest) -> tuple[list[str], shapes.ModelSettings]:
    from runner.agents.models.model_settings import ApiSlots
    from runner.runs.shards import api_jobs_of

    slots = ApiSlots(api_jobs_of(words.study.api_jobs, words.shard))
    names, settings = opened_models(words.models, words.turns, words.jobs)
    return names, replace(settings, slots=slots)


def opened_models(
    asked: Sequence[str], turns: Turns, jobs: int = 1
) -> tuple[list[str], shapes.ModelSettings]:
    """Their names, each known to open, and how they are reached."""
    from runner.agents.models import open_model
    from runner.agents.models.model_settings import LocalSettings
    from runner.agents.models.weights_server import locate_weights

    names, files = locate_weights(asked, output.tell)
    threads, room = turns.threads, turns.context_tokens
    settings = replace(
        opening.providers(),
        local=LocalSettings(files=files, threads=threads, context_tokens=room, jobs=jobs),
        thinking_tokens=turns.thinking_tokens,
        output_tokens=turns.output_tokens,
    )
    for name in names:
        # A wrong name or no key must not cost the minutes that images, volumes and servers take.
        open_model(name, settings)
    return names, settings


def wanted_run(
    words: RunRequest, prepared: shapes.PreparedRun, models: Sequence[str], gate: shapes.Gate | None
) -> shapes.RunSpec:
    """What the words ask for; what of it cannot be measured is told."""
    from runner.agents.models.replay import require_recordings
    from runner.benchmarks import BENCHMARKS
    from runner.runs import plan, prepare

    tell_left_out(prepared)
    cells = BENCHMARKS[prepared.benchmark].cells(prepared, models, words.trials)
    require_recordings(cells)
    return plan.RunSpec(
        cells=cells,
        ungated=gate is None,
        prices=prepared.spending.prices,
        seed=words.study.seed,
        pass_at=words.study.pass_at,
        margin=words.study.margin,
        benchmark=None if prepared.benchmark == prepare.BENCHMARK else prepared.benchmark,
        gate=gate.stamp if gate else None,
        shard=words.shard,
    )


def tell_left_out(prepared: shapes.PreparedRun) -> None:
    """Before the cells and after them: a screen of two cells looks as one of all does."""
    from runner.benchmarks import BENCHMARKS

    for line in BENCHMARKS[prepared.benchmark].left_out(prepared):
        output.tell(f"left out: {line}")


def measure_here(
    words: RunRequest,
    prepared: shapes.PreparedRun,
    models: Sequence[str],
    store: shapes.RunStore,
    checkout: shapes.Checkout,
) -> None:
    """A run beside the one that is asked for: ungated, on this machine, a cell at a time."""
    from runner.runs import plan
    from runner.runs.executors.local_executor import LocalExecutor
    from runner.sandbox.engine import sweep

    with store.lock():
        sweep(checkout.engine, run=store.label)
        wanted = wanted_run(words, prepared, models, None)
        planned = plan.load_or_create_plan(store, wanted)
        measure(planned, prepared, LocalExecutor(jobs=1), store)


def measure(
    ours: shapes.LoadedRun,
    prepared: shapes.PreparedRun,
    executor: shapes.Executor,
    store: shapes.RunStore,
) -> None:
    """Every cell that is not measured; weights on this machine are served meanwhile."""
    from runner.agents.models.weights_server import served
    from runner.benchmarks import BENCHMARKS
    from runner.report.progress import live
    from runner.runs.plan import unfinished
    from runner.support.interrupts import run_until_done

    finished = sum(item.measured for item in ours.cells)
    if finished:
        output.tell(f"{finished} of {len(ours.cells)} cells are finished and kept")
    asked = {item.cell.model for item in ours.cells if not item.measured}
    blocks, benchmark = unfinished(ours), BENCHMARKS[prepared.benchmark]
    cells = sum(map(len, blocks))
    priced = prepared.spending.has_price_of({item.cell.model for item in ours.cells})
    with served(asked, prepared.models, opening.environ_without_keys(), output.tell) as answering:
        prepared = replace(prepared, models=answering)
        with live(cells, sys.stderr, finished=finished, priced=priced) as progress:
            run_until_done(executor.run(blocks, prepared, store, progress, benchmark))


def _tell_remarks(store: shapes.RunStore) -> None:
    """What the models' own artifacts have to say, such as a replay's differences."""
    from runner.agents.models import kind_of

    for cell in store.plan().cells:
        kind = kind_of(cell.model)
        if kind is None or kind.remarks is None:
            continue
        attempt = store.counted_attempt(cell.id)
        lines = list(kind.remarks(attempt.path)) if attempt else []
        if lines:
            output.tell(f"{cell.scenario} × {cell.server}: " + "\n".join(lines))
