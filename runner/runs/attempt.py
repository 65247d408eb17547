"""One attempt at one cell: run it, tell how it ended, record it whatever happened."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from runner.agents.spending import Account
from runner.agents.usage import UsageTotals
from runner.protocols import Log
from runner.records import (
    Cell,
    CellResult,
    Fingerprint,
    HostFacts,
    Note,
    Outcome,
    OutcomeKind,
    Placement,
    Plan,
    TaskFingerprint,
    Timings,
)
from runner.records.run_store import RunStore, write_whole
from runner.records.transcript_files import TranscriptWriter
from runner.runs.plan import placement
from runner.runs.run_inputs import PreparedArm, PreparedRun, PreparedScenario
from runner.sandbox.engine import Engine
from runner.support.errors import (
    FairtrialError,
    NotReadyError,
    NotTreatedError,
    OutOfMemory,
    ProviderError,
    ProviderRefused,
    SandboxError,
    ServerError,
    SpendingCap,
    WorkerCut,
)

REASON_CHARS = 500
BLAME: dict[type[Exception], OutcomeKind] = {
    ServerError: "server_crashed",
    NotReadyError: "server_not_ready",
    OutOfMemory: "out_of_memory",
    SandboxError: "sandbox_failed",
    NotTreatedError: "agent_not_treated",
    ProviderError: "provider_failed",
    ProviderRefused: "provider_failed",
    SpendingCap: "cancelled",
    WorkerCut: "cancelled",
}
"""Whose fault it was that an attempt ended."""
ENDS_RUN = (ProviderRefused, SpendingCap, WorkerCut)
"""What the next cell would meet, too."""


def now() -> str:
    """UTC, ISO 8601, to the microsecond: blocks taken up in one second are not one."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


@dataclass(kw_only=True)
class Measurements:
    """What is known of an attempt so far: whatever ends it, this much is recorded."""

    create_sec: float = 0.0
    initialize_sec: float = 0.0
    warm_up_sec: float = 0.0
    canary_sec: float = 0.0
    peak_memory_mb: float | None = None
    state_mb: float | None = None
    network_attempts: int | None = None
    fingerprint: Fingerprint | None = None
    task: TaskFingerprint | None = None
    ends_run: FairtrialError | None = None
    """Ends the run once the attempt is recorded."""
    totals: UsageTotals = field(default_factory=UsageTotals)
    began: float = field(default_factory=time.monotonic)
    started_at: str = field(default_factory=now)

    def timings(self) -> Timings:
        return Timings(
            create_sec=self.create_sec,
            initialize_sec=self.initialize_sec,
            warm_up_sec=self.warm_up_sec,
            canary_sec=self.canary_sec,
            agent_sec=self.totals.agent_sec,
            backoff_sec=self.totals.backoff_sec,
            total_sec=time.monotonic() - self.began,
        )


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One attempt at one cell, as the benchmark that runs it gets it."""

    cell: Cell
    prepared: PreparedRun
    engine: Engine | None
    """None for a benchmark whose cells have no container."""
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
    def budget_usd(self) -> float | None:
        """Of its scenario; None if that has none, or the cell is a task."""
        ground = self.prepared.scenarios.get(self.cell.scenario)
        return None if ground is None else ground.scenario.budget.usd

    @property
    def arm(self) -> PreparedArm:
        return self.prepared.arms[self.cell.server]

    def note(self, text: str) -> None:
        self.writer.write(Note(text=text))


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What all cells of one executor's run stand on."""

    prepared: PreparedRun
    engine: Engine | None
    store: RunStore
    account: Account
    plan: Plan
    """Read once: it grows with the run, and reading it for each cell would take quadratic time."""
    plan_digest: str
    """Of the whole plan: a worker has the part of it that a block needs."""
    run: Callable[[Attempt], Awaitable[Outcome]]
    """Of the benchmark: how one of its cells is run."""
    host: HostFacts | None = None
    """The worker's machine, as it was when the block was taken up."""


async def run_cell(cell: Cell, shared: Shared, taken_up_at: str, log: Log) -> CellResult:
    """One attempt at one cell, recorded whatever happens in it. `taken_up_at`: when its block was.

    Raises FairtrialError only if the disk does not take the record, or no further cell of the run
    can do better: the provider refuses, or the run may spend no more.
    """
    shared.account.require_left()
    measured, prepared, store = Measurements(), shared.prepared, shared.store
    folder = store.begin(cell)
    with store.transcript(folder) as writer:
        attempt = Attempt(
            cell=cell,
            prepared=prepared,
            engine=shared.engine,
            folder=folder.path,
            run_label=store.label,
            writer=writer,
            log=log,
            measured=measured,
        )
        measured.totals = _totals(attempt, shared.account)
        outcome = await _outcome_of(shared.run(attempt), attempt)
    where = {"taken_up_at": taken_up_at, "machine": prepared.machine}
    block = placement(shared.plan, cell, **where, host=shared.host)
    result = _result(attempt, folder.number, outcome, block, shared)
    store.finish(folder, result)
    if measured.ends_run is not None:
        raise measured.ends_run
    return result


def _totals(attempt: Attempt, account: Account) -> UsageTotals:
    """Empty ones, that know what the cell may cost."""
    spending = attempt.prepared.spending
    return UsageTotals(
        price=spending.priced.get(attempt.cell.model),
        limit_usd=spending.cell_limit_usd(attempt.budget_usd),
        account=account,
    )


def _result(
    attempt: Attempt, number: int, outcome: Outcome, block: Placement | None, shared: Shared
) -> CellResult:
    measured = attempt.measured
    return CellResult(
        cell=attempt.cell,
        attempt=number,
        outcome=outcome,
        fingerprint=measured.fingerprint,
        timings=measured.timings(),
        peak_memory_mb=measured.peak_memory_mb,
        state_mb=measured.state_mb,
        network_attempts=measured.network_attempts,
        started_at=measured.started_at,
        plan=shared.plan_digest,
        ungated=shared.plan.ungated,
        transcript=attempt.writer.digest,
        events=attempt.writer.events,
        block=block,
        task=measured.task,
    )


async def _outcome_of(work: Awaitable[Outcome], attempt: Attempt) -> Outcome:
    """How the work ended, told apart into the arm's failures and ours."""
    try:
        return await work
    except tuple(BLAME) as error:
        if isinstance(error, ENDS_RUN):
            attempt.measured.ends_run = error
        return Outcome(kind=BLAME[type(error)], reason=str(error))
    except asyncio.CancelledError:
        return Outcome(kind="cancelled", reason="the runner was interrupted")
    except Exception as error:
        # The one place that catches broadly: without it, one cell's bug would end every other cell,
        # and its cause would be lost.
        write_whole(attempt.folder / "runner.log", traceback.format_exc())
        reason = f"{type(error).__name__}: {error}"
        return Outcome(kind="runner_failed", reason=reason[:REASON_CHARS])
