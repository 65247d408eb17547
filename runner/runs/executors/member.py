"""A worker's part of a run: whether it may take blocks, and what it does with one."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from distributed import Worker, get_worker
from distributed.diagnostics.plugin import WorkerPlugin

from runner.records import Cell, Outcome, Plan, digest_of
from runner.runs.attempt import Attempt, Shared, now, run_cell
from runner.runs.benchmark import Benchmark
from runner.runs.executors.exchange import Exchange
from runner.runs.executors.hosts import checkout_of, host_here, load_here, why_not
from runner.runs.executors.lease import LEASE_SEC, Held, Lease, take
from runner.runs.executors.published import PublishingStore, published, result_of
from runner.runs.executors.purse import (
    ClusterSlots,
    RemoteAccount,
    handler_of,
    resource_of,
    topic_of,
)
from runner.runs.run_inputs import PreparedRun
from runner.sandbox.engine import connect, sweep
from runner.support.errors import FairtrialError

MOST_LOST = 2
"""Workers that one block may take down."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What a run's blocks need, on whichever worker. Its keys go there in memory, over TLS."""

    run: str
    """A key of the run: letters and digits."""
    label: str
    """On its containers."""
    code: str
    """Digest of our own files, where the run began."""
    plan_digest: str
    prepared: PreparedRun
    benchmark: Benchmark
    exchange: Exchange
    lease_sec: float = LEASE_SEC


@dataclass(frozen=True, kw_only=True)
class Work:
    """A block to be run."""

    cells: tuple[Cell, ...]
    """Those of it that are not measured, in their order."""
    plan: Plan
    """The run's, with this block alone."""
    begun: Mapping[str, int]
    """Cell id -> number of the last attempt at it that the run knows of."""

    @property
    def block(self) -> str:
        """A name for it in the exchange."""
        return digest_of(list(self.cells[0].block))[:16]


@dataclass(frozen=True, kw_only=True)
class Done:
    """What came of a block. Its attempts are in the exchange."""

    held_by: str = ""
    """Another worker, which has it under way."""
    ends_run: FairtrialError | None = None


def run_block(run: str, work: Work) -> Done:
    """The task: what Dask calls on a worker."""
    member = get_worker().plugins[member_name(run)]
    if not isinstance(member, Member):
        raise TypeError(f"{member_name(run)} is no member")
    return member.run_block(work)


def cancel_blocks(run: str, dask_worker: Worker) -> None:
    """Have a worker's cells end as cancelled, each with what it has."""
    member = dask_worker.plugins.get(member_name(run))
    if isinstance(member, Member):
        member.cancel()


def member_name(run: str) -> str:
    return f"fairtrial-member-{run}"


class Member(WorkerPlugin):
    """On each worker, also one that comes late. Until it has joined, the worker gets no block."""

    def __init__(self, job: Job) -> None:
        self.name = member_name(job.run)
        self._job = job

    async def setup(self, worker: Worker) -> None:
        self._worker = worker
        self._stops: set[Callable[[], object]] = set()
        self._cancelled = False
        # Images and volumes may take minutes: other workers begin meanwhile.
        self._joining = asyncio.create_task(self._join())

    async def teardown(self, worker: Worker) -> None:
        # Cells under way go on: what they do is paid for, and they ask before they pay again.
        self._joining.cancel()
        if resource_of(self._job.run) in worker.state.total_resources:
            await worker.set_resources(**{resource_of(self._job.run): 0})

    async def _join(self) -> None:
        try:
            checkout, prepared = checkout_of(self._worker), self._job.prepared
            self._host = await asyncio.to_thread(host_here, prepared, checkout, self._tell)
            reason = why_not(self._host, prepared, self._job.code)
        except FairtrialError as error:
            reason = str(error)
        except Exception as error:
            # Unsaid, it would look like a worker that is still getting ready.
            reason = f"{type(error).__name__}: {error}"
        if reason:
            self._event(what="refused", why=reason)
            return
        run, threads = self._job.run, self._worker.state.nthreads
        await self._worker.set_resources(**{resource_of(run): threads})
        await getattr(self._worker.scheduler, handler_of(run, "joined"))(
            worker=self._worker.contact_address
        )
        self._event(what="joined", threads=threads, host=self._host.facts.model_dump(mode="json"))

    def _tell(self, line: str) -> None:
        self._event(what="getting ready", line=line)

    def _event(self, **said: object) -> None:
        named = {"worker": self._worker.contact_address, **said}
        self._worker.log_event(topic_of(self._job.run), named)

    def cancel(self) -> None:
        self._cancelled = True
        for stop in tuple(self._stops):
            stop()

    # --- a block, in a thread of its own --------------------------------------------------------

    def run_block(self, work: Work) -> Done:
        if self._cancelled:
            return Done()
        exchange = Exchange(self._job.exchange.url, patience_sec=self._job.exchange.patience_sec)
        holder = f"{self._worker.contact_address} {digest_of([now(), work.block])[:16]}"
        lease = take(exchange, work.block, holder, self._job.lease_sec)
        if isinstance(lease, Held):
            return Done(held_by=lease.holder)
        try:
            with lease.kept(), tempfile.TemporaryDirectory(prefix="fairtrial-") as folder:
                store = PublishingStore(Path(folder), exchange, lease, work.begun, self._job.label)
                return Done(ends_run=self._run_cells(work, lease, exchange, store))
        finally:
            exchange.close()

    def _run_cells(
        self, work: Work, lease: Lease, exchange: Exchange, store: PublishingStore
    ) -> FairtrialError | None:
        prepared = self._host.prepared
        engine = connect(prepared.engine_url) if prepared.has_containers else None
        try:
            if engine is not None and lease.lost:
                sweep(engine)
            shared = Shared(
                prepared=self._with_slots(prepared),
                engine=engine,
                store=store,
                account=RemoteAccount(self._worker, self._job.run, lease),
                plan=work.plan,
                plan_digest=self._job.plan_digest,
                run=_lost(lease) if len(lease.lost) >= MOST_LOST else self._job.benchmark.run,
                host=self._host.facts.model_copy(update={"load": load_here()}),
            )
            asyncio.run(self._one_after_another(work, shared, exchange))
        except FairtrialError as error:
            return error
        finally:
            if engine is not None:
                engine.close()
        return None

    def _with_slots(self, prepared: PreparedRun) -> PreparedRun:
        slots = ClusterSlots(prepared.models.slots.limit, run=self._job.run, worker=self._worker)
        return replace(prepared, models=replace(prepared.models, slots=slots))

    async def _one_after_another(self, work: Work, shared: Shared, exchange: Exchange) -> None:
        taken_up_at = now()
        with self._stoppable() as stopped:
            for cell in work.cells:
                if stopped():
                    return
                if _has_ended(exchange, cell, work.begun.get(cell.id, 0)):
                    continue
                self._event(what="started", cell=cell.id)
                await run_cell(cell, shared, taken_up_at, self._log_of(cell))

    @contextmanager
    def _stoppable(self) -> Iterator[Callable[[], bool]]:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in one

        def stop() -> None:
            loop.call_soon_threadsafe(task.cancel)

        self._stops.add(stop)
        try:
            yield lambda: task.cancelling() > 0
        finally:
            self._stops.discard(stop)

    def _log_of(self, cell: Cell) -> Callable[[str], None]:
        return lambda line: self._event(what="says", cell=cell.id, line=line)


def _has_ended(exchange: Exchange, cell: Cell, begun: int) -> bool:
    """By a worker that had the block before, since the run went on. Of every cell one attempt."""
    since = [number for number in published(exchange, cell.id) if number > begun]
    outcomes = (result_of(exchange, cell.id, number).outcome for number in since)
    return any(outcome.kind != "cancelled" for outcome in outcomes)


def _lost(lease: Lease) -> Callable[[Attempt], Awaitable[Outcome]]:
    """In the place of a cell that nobody runs a third time."""

    async def run(_: Attempt) -> Outcome:
        workers = " and ".join(holder.partition(" ")[0] for holder in lease.lost)
        reason = (
            f"{len(lease.lost)} workers were lost while they ran its block: {workers}. "
            f"It is not tried again until {lease.folder} is removed from the exchange"
        )
        return Outcome(kind="runner_failed", reason=reason)

    return run
