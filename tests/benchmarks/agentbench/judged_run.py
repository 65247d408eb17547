"""Runs of queries written by hand, as `agentbench run` leaves them, without an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runner.agents.models import kind_name
from runner.benchmarks.agentbench.queries import Query
from runner.benchmarks.agentbench.query_benchmark import BENCHMARK, HARNESS_VERSION, TESTBED_ARM
from runner.benchmarks.agentbench.query_run import QueryRunSetup, write_setup
from runner.records import (
    Cell,
    CellResult,
    Event,
    Outcome,
    OutcomeKind,
    Prompt,
    Prose,
    StepEnd,
    TaskFingerprint,
    ToolCall,
    Usage,
)
from runner.records.run_store import RunStore
from runner.records.transcript_files import TranscriptWriter
from runner.runs.plan import RunSpec, load_or_create_plan, placement
from tests.helpers import NO_TIME
from tests.report.loaded import answered

NOW = "2031-05-04T10:00:00.000000+00:00"
INPUTS = {"harness": str(HARNESS_VERSION), "model": "a" * 64, "shown": "b" * 64}


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a model did with one query."""

    answer: str
    """Empty: it called to the end."""
    results: Sequence[str] = ()
    """Of one call each."""
    failed: Sequence[str] = ()
    """Calls that came back as errors."""
    outcome: OutcomeKind = "answered"
    more: Sequence[Event] = field(default=())
    tokens: int = 100
    """Of each turn."""


def made_run(
    folder: Path, said: Mapping[tuple[str, str], Said | None], queries: Sequence[Query]
) -> RunStore:
    """(query, model) -> what it did, in one trial; None if the cell was never run."""
    store = RunStore(folder)
    cells = [_cell(name, model) for name, model in said]
    load_or_create_plan(store, RunSpec(cells=cells, ungated=True, benchmark=BENCHMARK))
    drawn = {query.id: query.servers for query in queries}
    setup = QueryRunSetup(mode="tc", seed=1, queries=tuple(queries), drawn=drawn, tools={})
    write_setup(store, setup)
    for cell, one in zip(cells, said.values(), strict=True):
        if one is not None:
            _finish(store, cell, one)
    return store


def _cell(name: str, model: str) -> Cell:
    return Cell(scenario=name, server=TESTBED_ARM, model=model, trial=1, inputs=INPUTS)


def _finish(store: RunStore, cell: Cell, said: Said) -> None:
    plan = store.plan()
    begun = store.begin(cell)
    with TranscriptWriter(begun.path / "transcript.jsonl") as writer:
        for event in events_of(said):
            writer.write(event)
    result = CellResult(
        cell=cell,
        attempt=begun.number,
        outcome=Outcome(kind=said.outcome, reason="by hand"),
        fingerprint=None,
        timings=NO_TIME,
        peak_memory_mb=None,
        state_mb=None,
        started_at=NOW,
        plan=plan.digest,
        ungated=True,
        transcript=writer.digest,
        events=writer.events,
        block=placement(plan, cell, taken_up_at=NOW, machine="m"),
        task=TaskFingerprint(
            harness=str(HARNESS_VERSION),
            model=cell.model,
            model_kind=kind_name(cell.model),
            model_identity=INPUTS["model"],
            shown=INPUTS["shown"],
        ),
    )
    store.finish(begun, result)


def events_of(said: Said) -> list[Event]:
    """One call a turn, then the answer."""
    events: list[Event] = [Prompt(step=0, text="asked")]
    turn = 0
    for is_error, texts in ((True, said.failed), (False, said.results)):
        for text in texts:
            events += _called(turn, text, said.tokens, is_error=is_error)
            turn += 1
    if said.answer:
        events.append(_usage(turn, said.tokens))
        events.append(Prose(step=0, turn=turn, text=said.answer))
    return [*events, *said.more, StepEnd(step=0, stop="end" if said.answer else "cut")]


def _called(turn: int, text: str, tokens: int, *, is_error: bool) -> list[Event]:
    called = ToolCall(
        step=0, turn=turn, call_id="c", origin="server", tool="lab__look", arguments={}
    )
    return [_usage(turn, tokens), called, answered(called, text, is_error=is_error)]


def _usage(turn: int, tokens: int) -> Usage:
    return Usage(step=0, turn=turn, input_tokens=tokens, output_tokens=0, wall_sec=0.0)
