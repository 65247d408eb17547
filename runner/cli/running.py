"""A run, whichever benchmark it is of: estimate or plan, execute, report; every `… run` is this."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from runner.cli.ending import end_shard
from runner.cli.opening import (
    audit_of,
    environ_without_keys,
    providers,
    require_scorecards,
    runs_of,
)
from runner.cli.options import ExecutorChoice, RunSpending, StudyOptions, Turns
from runner.cli.output import show_estimate, tell

if TYPE_CHECKING:
    from runner.agents.models.model_settings import ModelSettings
    from runner.agents.spending import Spending
    from runner.benchmarks.estimate import Estimate
    from runner.catalog.checkout import Checkout
    from runner.protocols import Judge
    from runner.records import Gate, Scorecard, Shard
    from runner.records.run_store import LoadedRun, RunStore
    from runner.runs.executors import Executor
    from runner.runs.plan import RunSpec
    from runner.runs.run_inputs import PreparedRun


class RunWords(Protocol):
    """The fields that every request for a run has."""

    @property
    def root(self) -> Path: ...
    @property
    def models(self) -> tuple[str, ...]: ...
    @property
    def turns(self) -> Turns: ...
    @property
    def spending(self) -> RunSpending: ...
    @property
    def trials(self) -> int: ...
    @property
    def study(self) -> StudyOptions: ...
    @property
    def name(self) -> str: ...
    @property
    def jobs(self) -> int: ...
    @property
    def json(self) -> bool: ...


class ShardWords(RunWords, Protocol):
    """Those of a run that machines may share."""

    @property
    def shard(self) -> Shard | None: ...


@dataclass(frozen=True, kw_only=True)
class Ready:
    """What the cells stand on, and what is written beside the plan once it stands."""

    prepared: PreparedRun
    write: Callable[[RunStore], None] = lambda _: None


@dataclass(frozen=True, kw_only=True)
class Begun:
    """A run under way."""

    store: RunStore
    models: Sequence[str]
    spending: Spending
    gate: Gate | None = None
    """What stands in front of its result."""
    built: PreparedRun | None = None
    """What was made before its lock was taken."""


class RunSubject:
    """What a benchmark brings to a run. It is asked in this order."""

    def estimate(self, models: Sequence[str], spending: Spending) -> Estimate:
        raise NotImplementedError

    def default_name(self, models: Sequence[str]) -> str:
        """Of the run's folder; the same for the same words. Raises for what cannot be run."""
        raise NotImplementedError

    def executor(self) -> ExecutorChoice:
        return ExecutorChoice()

    def gate(self, begun: Begun) -> Gate | None:  # noqa: ARG002 - a benchmark without scenarios
        """The gate is of scenarios and their judges."""
        return None

    def build(self, begun: Begun) -> PreparedRun | None:  # noqa: ARG002 - see gate
        """What a refusal must come before: the run has no folder yet."""
        return None

    def ready(self, begun: Begun) -> Ready:
        """Made while the run's lock is held."""
        raise NotImplementedError

    def report(self, begun: Begun) -> int:
        """Score what is measured and show it; the exit code."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Models:
    """Those asked for, each known to open, how, and what they may cost."""

    names: list[str]
    settings: ModelSettings
    spending: Spending


def run(words: ShardWords, subject: RunSubject, runs: Path | None = None) -> int:
    """`runs`: where the run's folder goes, if that is not the project's."""
    from runner.records.run_store import RunStore
    from runner.runs.executors import open_executor
    from runner.runs.plan import check_name, load_or_create_plan
    from runner.runs.shards import folder_name, spending_of

    if words.spending.dry_run:
        return _estimate(words, subject)
    models = open_models(words, words.shard)
    name = words.name or subject.default_name(models.names)
    chosen = subject.executor()
    executor = open_executor(chosen.executor, chosen.asked(words.jobs))
    check_name(name)
    folder = folder_name(name, words.shard) if words.shard else name
    store = RunStore((runs or runs_of(words.root)) / folder)
    begun = Begun(store=store, models=models.names, spending=models.spending)
    begun = replace(begun, gate=subject.gate(begun))
    begun = replace(begun, built=subject.build(begun))
    with store.lock():
        ready = subject.ready(begun)
        prepared = replace(ready.prepared, models=models.settings, spending=models.spending)
        wanted = wanted_run(words, prepared, models.names, begun.gate)
        planned = load_or_create_plan(store, replace(wanted, run=name))
        ready.write(store)
        if words.shard is not None:
            share = spending_of(prepared.spending, planned.plan, words.shard)
            prepared = replace(prepared, spending=share)
        _measure(planned, prepared, executor, store, words.shard)
        _tell_remarks(store)
        return end_shard(store, words.shard) if words.shard else subject.report(begun)


def _estimate(words: RunWords, subject: RunSubject) -> int:
    from runner.agents.models import require_known
    from runner.agents.models.weights_server import short_name

    models = list(dict.fromkeys(map(short_name, words.models)))
    for model in models:
        require_known(model)
    estimate = subject.estimate(models, _spending(words, models))
    return show_estimate(estimate, as_json=words.json)


def _spending(words: RunWords, models: Sequence[str]) -> Spending:
    from runner.agents.spending import spending_for

    said = words.spending
    return spending_for(said.prices, said.cell_usd, said.run_usd, models)


def open_models(words: RunWords, shard: Shard | None = None) -> Models:
    from runner.agents.models import open_model
    from runner.agents.models.model_settings import ApiSlots
    from runner.agents.models.weights_server import locate_weights
    from runner.runs.shards import api_jobs_of

    names, files = locate_weights(words.models, tell)
    settings = model_settings(words.turns)
    local = replace(settings.local, files=files, jobs=words.jobs)
    api_jobs = api_jobs_of(words.study.api_jobs, shard)
    settings = replace(settings, local=local, slots=ApiSlots(api_jobs))
    for name in names:
        # A wrong name or no key must not cost the minutes that images and volumes take.
        open_model(name, settings)
    return Models(names=names, settings=settings, spending=_spending(words, names))


def model_settings(turns: Turns) -> ModelSettings:
    from runner.agents.models.model_settings import LocalSettings

    return replace(
        providers(),
        local=LocalSettings(threads=turns.threads, context_tokens=turns.context_tokens),
        thinking_tokens=turns.thinking_tokens,
        output_tokens=turns.output_tokens,
    )


def wanted_run(
    words: ShardWords, prepared: PreparedRun, models: Sequence[str], gate: Gate | None
) -> RunSpec:
    """What the words ask for; what of it cannot be measured is told."""
    from runner.agents.models.replay import require_recordings
    from runner.benchmarks import BENCHMARKS
    from runner.runs.plan import RunSpec
    from runner.runs.prepare import BENCHMARK

    benchmark = BENCHMARKS[prepared.benchmark]
    for line in benchmark.left_out(prepared):
        tell(f"left out: {line}")
    cells = benchmark.cells(prepared, models, words.trials)
    require_recordings(cells)
    return RunSpec(
        cells=cells,
        ungated=gate is None,
        prices=prepared.spending.prices,
        seed=words.study.seed,
        pass_at=words.study.pass_at,
        margin=words.study.margin,
        benchmark=None if prepared.benchmark == BENCHMARK else prepared.benchmark,
        gate=gate.stamp if gate else None,
        shard=words.shard,
    )


def _measure(
    planned: LoadedRun,
    prepared: PreparedRun,
    executor: Executor,
    store: RunStore,
    shard: Shard | None,
) -> None:
    """Every cell that is not measured; weights on this machine are served meanwhile."""
    from runner.agents.models.weights_server import served
    from runner.runs.shards import of_shard

    ours = of_shard(planned, shard) if shard else planned
    finished = sum(item.measured for item in ours.cells)
    if finished:
        tell(f"{finished} of {len(ours.cells)} cells are finished and kept")
    asked = {item.cell.model for item in ours.cells if not item.measured}
    with served(asked, prepared.models, environ_without_keys(), tell) as answering:
        execute(executor, ours, replace(prepared, models=answering), store)


def execute(executor: Executor, ours: LoadedRun, prepared: PreparedRun, store: RunStore) -> None:
    from runner.benchmarks import BENCHMARKS
    from runner.report.progress import live
    from runner.runs.plan import unfinished
    from runner.support.interrupts import run_until_done

    benchmark = BENCHMARKS[prepared.benchmark]
    blocks = unfinished(ours)
    cells = sum(map(len, blocks))
    finished = len(ours.cells) - cells
    priced = prepared.spending.has_price_of({item.cell.model for item in ours.cells})
    with live(cells, sys.stderr, finished=finished, priced=priced) as progress:
        run_until_done(executor.run(blocks, prepared, store, progress, benchmark))


def _tell_remarks(store: RunStore) -> None:
    """What the models' own artifacts have to say, such as a replay's differences."""
    from runner.agents.models import kind_of

    for cell in store.plan().cells:
        kind = kind_of(cell.model)
        if kind is None or kind.remarks is None:
            continue
        attempt = store.counted_attempt(cell.id)
        lines = list(kind.remarks(attempt.path)) if attempt else []
        if lines:
            tell(f"{cell.scenario} × {cell.server}: " + "\n".join(lines))


def score_run(store: RunStore, checkout: Checkout, judge: Judge) -> LoadedRun:
    """The run with its scorecards, each written as it is made.

    Raises FairtrialError as `require_scorecards` does.
    """
    from runner.runs.audit import with_cards

    require_scorecards(store)
    audit = audit_of(store, checkout, judge)
    found = audit.evidence()

    def written(cards: Iterable[Scorecard]) -> Iterator[Scorecard]:
        for number, card in enumerate(cards, 1):
            store.write_scorecard(card)
            if not judge.deterministic:
                tell(f"judged {number} of {len(found.cells)} cells: {card.cell_id}")
            yield card

    return with_cards(found, written(audit.cards(found, anew=True)))
