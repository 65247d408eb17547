"""One attempt at one cell: run it, tell how it ended, record it whatever happened."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Awaitable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from runner.agents.usage import UsageTotals
from runner.benchmarks import BENCHMARKS
from runner.errors import OutOfMemory, ProviderError, SandboxError, ServerError
from runner.prepared import Arm, PreparedRun, PreparedScenario
from runner.protocols import Log
from runner.records import Cell, CellResult, Fingerprint, Note, Outcome, OutcomeKind, Timings
from runner.sandbox.engine import Engine
from runner.store import AttemptFolder, RunStore, write_whole
from runner.transcript import TranscriptWriter

REASON_CHARS = 500
BLAME: dict[type[Exception], OutcomeKind] = {
    ServerError: "server_crashed",
    OutOfMemory: "out_of_memory",
    SandboxError: "sandbox_failed",
    ProviderError: "provider_failed",
}
"""Whose fault it was that an attempt ended."""


@dataclass(kw_only=True)
class Measurements:
    """What is known of an attempt so far: whatever ends it, this much is recorded."""

    create_sec: float = 0.0
    initialize_sec: float = 0.0
    warm_up_sec: float = 0.0
    canary_sec: float = 0.0
    peak_memory_mb: float | None = None
    state_mb: float | None = None
    fingerprint: Fingerprint | None = None
    totals: UsageTotals = field(default_factory=UsageTotals)

    def timings(self, total_sec: float) -> Timings:
        return Timings(
            create_sec=self.create_sec,
            initialize_sec=self.initialize_sec,
            warm_up_sec=self.warm_up_sec,
            canary_sec=self.canary_sec,
            agent_sec=self.totals.agent_sec,
            backoff_sec=self.totals.backoff_sec,
            total_sec=total_sec,
        )


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One attempt at one cell, as the benchmark that runs it gets it."""

    cell: Cell
    prepared: PreparedRun
    engine: Engine
    folder: Path
    """Where the transcript and whatever else is kept of the attempt are written."""
    run_label: str
    """On the attempt's containers, so that a runner that resumes the run finds them."""
    writer: TranscriptWriter
    log: Log
    measured: Measurements = field(default_factory=Measurements)

    @property
    def scenario(self) -> PreparedScenario:
        return self.prepared.scenarios[self.cell.scenario]

    @property
    def arm(self) -> Arm:
        return self.prepared.arms[self.cell.server]

    def note(self, text: str) -> None:
        self.writer.write(Note(text=text))


async def run_cell(
    cell: Cell, prepared: PreparedRun, engine: Engine, store: RunStore, log: Log
) -> CellResult:
    """One attempt at one cell, recorded whatever happens in it.

    Raises FairtrialError only if the disk does not take the record.
    """
    started = time.monotonic()
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    folder = store.begin(cell)
    with TranscriptWriter(folder.path / "transcript.jsonl") as writer:
        attempt = Attempt(
            cell=cell,
            prepared=prepared,
            engine=engine,
            folder=folder.path,
            run_label=store.label,
            writer=writer,
            log=log,
        )
        benchmark = BENCHMARKS[prepared.benchmark]
        outcome = await _outcome_of(benchmark.run(attempt), folder.path)
    timings = attempt.measured.timings(time.monotonic() - started)
    result = _result(attempt, folder, outcome, timings, started_at)
    store.finish(folder, result)
    return result


def _result(
    attempt: Attempt, folder: AttemptFolder, outcome: Outcome, timings: Timings, started_at: str
) -> CellResult:
    return CellResult(
        cell=attempt.cell,
        attempt=folder.number,
        outcome=outcome,
        fingerprint=attempt.measured.fingerprint,
        timings=timings,
        peak_memory_mb=attempt.measured.peak_memory_mb,
        state_mb=attempt.measured.state_mb,
        started_at=started_at,
    )


async def _outcome_of(work: Awaitable[Outcome], folder: Path) -> Outcome:
    """How the work ended, told apart into the arm's failures and ours."""
    try:
        return await work
    except tuple(BLAME) as error:
        return Outcome(kind=BLAME[type(error)], reason=str(error))
    except asyncio.CancelledError:
        return Outcome(kind="cancelled", reason="the runner was interrupted")
    except Exception as error:
        # The one place that catches broadly: without it, one cell's bug would end every other cell,
        # and its cause would be lost.
        write_whole(folder / "runner.log", traceback.format_exc())
        reason = f"{type(error).__name__}: {error}"
        return Outcome(kind="runner_failed", reason=reason[:REASON_CHARS])
