"""Blocks on a Dask cluster. Dask carries them; who takes up a block again is decided by leases."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from distributed import Client, KilledWorker
from distributed.client import FutureCancelledError

from runner.protocols import Progress
from runner.records import BlockKey, Cell, CellResult, Plan
from runner.records.run_store import RunStore
from runner.runs.benchmark import Benchmark
from runner.runs.executors.asked import Asked
from runner.runs.executors.cluster import NoScheduler, cluster_at, cluster_here, security_of
from runner.runs.executors.exchange import Exchange
from runner.runs.executors.hosts import code_here
from runner.runs.executors.lease import LEASE_SEC
from runner.runs.executors.member import (
    Done,
    Job,
    Member,
    Work,
    cancel_blocks,
    member_name,
    run_block,
)
from runner.runs.executors.published import collect, collect_all
from runner.runs.executors.purse import Purse, handler_of, resource_of, topic_of
from runner.runs.executors.told import forget_told, read_told
from runner.runs.executors.workers import Workers
from runner.runs.run_inputs import PreparedRun
from runner.runs.spent import spent
from runner.support.errors import FairtrialError, WorkerCut

T = TypeVar("T")

LOOK_SEC = 1.0
"""Between two looks at how many workers there are."""
AHEAD = 2
"""Blocks that are sent for each that a worker can run: the next is there when one ends."""
GONE_SEC = 600.0
"""How long a scheduler that is gone is waited for, or a worker if all that there are refuse."""

MOST_RETURNS = 100
"""Of a block that waits for another worker's lease, or was cut off."""
CANCEL_SEC = 120.0
"""For containers to be removed and cells to be written down."""

OpenCluster = Callable[[], AbstractAsyncContextManager[Client]]


@dataclass(frozen=True, kw_only=True)
class DaskExecutor:
    """runs.executors.Executor."""

    cluster: OpenCluster
    comes_back: bool
    """A scheduler that is gone is waited for: it is another process."""
    exchange: str = ""
    """A URL; empty for a folder in the run's own."""
    lease_sec: float = LEASE_SEC

    async def run(
        self,
        blocks: Sequence[Sequence[Cell]],
        prepared: PreparedRun,
        store: RunStore,
        progress: Progress,
        benchmark: Benchmark,
    ) -> None:
        """Every cell once, a block's one after another on one machine. Cancelled, cells say so."""
        plan = store.plan()
        job = Job(
            run=plan.digest[:16],
            label=f"{store.label} on workers",
            code=code_here(),
            plan_digest=plan.digest,
            prepared=prepared,
            benchmark=benchmark,
            exchange=Exchange(self.exchange or str(store.folder / "exchange")),
            lease_sec=self.lease_sec,
        )
        queue = deque(map(tuple, blocks))
        work = _Blocks(job=job, plan=plan, store=store, progress=progress, queue=queue)
        await work.run(self)


def executor_for(asked: Asked) -> DaskExecutor:
    """Raises FairtrialError for a scheduler elsewhere and no certificate."""
    if not asked.address:
        here = partial(cluster_here, asked.jobs)
        return DaskExecutor(cluster=here, comes_back=False, exchange=asked.exchange)
    there = partial(cluster_at, asked.address, security_of(asked.tls))
    return DaskExecutor(cluster=there, comes_back=True, exchange=asked.exchange)


class _SchedulerGone(Exception):  # noqa: N818 - its blocks go on when it is back
    pass


@dataclass(kw_only=True)
class _Blocks:
    """A run's blocks: those that wait, and those under way."""

    job: Job
    plan: Plan
    store: RunStore
    progress: Progress
    queue: deque[tuple[Cell, ...]]
    under_way: dict[asyncio.Task[None], tuple[Cell, ...]] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    """Ids of cells with an attempt that is as good as this run makes it."""
    begun: dict[str, int] = field(default_factory=dict)
    """Cell id -> number of its last attempt before this run went on."""
    returned: Counter[BlockKey] = field(default_factory=Counter)
    """How often a block has come back with cells that have no result yet."""
    ends_run: FairtrialError | None = None
    _collecting: threading.Lock = field(default_factory=threading.Lock)

    async def run(self, executor: DaskExecutor) -> None:
        forget_told(self.store)
        for result in await self._collected(None):
            if result.outcome.is_measurement:
                self._take_in(result)
        until = time.monotonic() + GONE_SEC
        while self.queue and self.ends_run is None:
            try:
                async with executor.cluster() as client:
                    until = time.monotonic() + GONE_SEC
                    await self._with(client)
            except (_SchedulerGone, OSError, NoScheduler) as gone:
                if not executor.comes_back or time.monotonic() > until:
                    hint = "start it again; the same command goes on"
                    raise FairtrialError(f"the scheduler is gone: {gone}", hint=hint) from gone
                self.progress.note("the scheduler is gone; waiting for it")
                await asyncio.sleep(LOOK_SEC)
            await self._take_in_all(None)
        if self.ends_run is not None:
            raise self.ends_run

    async def _with(self, client: Client) -> None:
        run = self.job.run
        if client.dashboard_link:
            self.progress.note(f"dashboard: {client.dashboard_link}")
        workers = Workers(self.progress, {cell.id: cell for cell in self.plan.cells})
        client.subscribe_topic(topic_of(run), workers.take)
        spending = self.job.prepared.spending
        before = await asyncio.to_thread(spent, self.store, spending.priced)
        await client.register_plugin(Purse(run=run, spending=spending, spent=before))
        await client.register_plugin(Member(self.job))
        try:
            await self._keep_going(client, workers)
        except asyncio.CancelledError:
            await self._cancel(client)
            raise
        finally:
            # Of a scheduler that is gone, or another by now, there is nothing to take back.
            with suppress(OSError, ValueError):
                await client.unregister_worker_plugin(member_name(run))

    async def _keep_going(self, client: Client, workers: Workers) -> None:
        scheduler = client.scheduler_info()["id"]
        refused_until = time.monotonic() + GONE_SEC
        ask_slots = getattr(client.scheduler, handler_of(self.job.run, "slots"))
        try:
            while self.under_way or (self.queue and self.ends_run is None):
                _require_same(client, scheduler)
                workers.take_slots(await _reached(ask_slots()) or {})
                told = read_told(self.store)
                if told == "drain":
                    self.ends_run = self.ends_run or _drained(len(self.queue))
                if told != "pause":
                    self._send(client, workers)
                if not workers.all_refuse:
                    refused_until = time.monotonic() + GONE_SEC
                elif time.monotonic() > refused_until:
                    # Unended, it would wait for a worker that nobody starts.
                    hint = f"what they say: {workers.reasons()}"
                    raise FairtrialError("no worker takes a block", hint=hint)
                # With nothing under way there is no worker yet: look again in a moment.
                waiting = self.under_way or [asyncio.create_task(asyncio.sleep(LOOK_SEC))]
                ended, _ = await asyncio.wait(
                    waiting, timeout=LOOK_SEC, return_when=asyncio.FIRST_COMPLETED
                )
                for task in ended & self.under_way.keys():
                    # First: what fails stays under way, and goes back to what waits.
                    task.result()
                    del self.under_way[task]
        except _SchedulerGone:
            await self._give_up()
            raise

    def _send(self, client: Client, workers: Workers) -> None:
        while self.queue and self.ends_run is None:
            if len(self.under_way) >= AHEAD * workers.slots:
                return
            cells = tuple(cell for cell in self.queue.popleft() if cell.id not in self.ended)
            if cells:
                self.under_way[asyncio.create_task(self._run_block(client, cells))] = cells

    async def _run_block(self, client: Client, cells: tuple[Cell, ...]) -> None:
        work = Work(cells=cells, plan=_part(self.plan, cells[0]), begun=self._begun(cells))
        resources = {resource_of(self.job.run): 1}
        how = {"pure": False, "retries": 0, "resources": resources}
        future = client.submit(run_block, self.job.run, work, **how)
        done = Done()
        try:
            done = await future
        except KilledWorker as killed:
            self.progress.note(f"worker {killed.last_worker.address} is lost")
        except (FutureCancelledError, OSError) as error:
            raise _SchedulerGone(str(error)) from error
        await self._take_in_all([cell.id for cell in cells])
        if done.ends_run is not None and not isinstance(done.ends_run, WorkerCut):
            self.ends_run = self.ends_run or done.ends_run
        if done.held_by:
            await asyncio.sleep(self.job.lease_sec / 2)
        if any(cell.id not in self.ended for cell in cells):
            self._again(cells)

    def _again(self, cells: tuple[Cell, ...]) -> None:
        """Raises FairtrialError for a block that comes back without results for ever."""
        block = cells[0].block
        self.returned[block] += 1
        if self.returned[block] > MOST_RETURNS:
            what = f"a block came back {MOST_RETURNS} times without its results"
            hint = "`fairtrial executor check` asks the exchange what it can promise"
            raise FairtrialError(what, where=" ".join(map(str, block)), hint=hint)
        self.queue.append(cells)

    def _begun(self, cells: Sequence[Cell]) -> dict[str, int]:
        for cell in cells:
            if cell.id not in self.begun:
                numbers = self.store.attempt_numbers(cell.id)
                self.begun[cell.id] = max(numbers, default=0)
        return {cell.id: self.begun[cell.id] for cell in cells}

    async def _cancel(self, client: Client) -> None:
        """Cells under way end as cancelled, and what they have is collected."""
        self.progress.note("waiting for the workers' cells to say that they were interrupted")
        await client.run(cancel_blocks, self.job.run)
        if self.under_way:
            await asyncio.wait(self.under_way, timeout=CANCEL_SEC)
        await self._give_up()
        await self._take_in_all(None)

    async def _give_up(self) -> None:
        """What is under way goes back to what waits."""
        self.queue.extend(self.under_way.values())
        for task in self.under_way:
            task.cancel()
        await asyncio.gather(*self.under_way, return_exceptions=True)
        self.under_way.clear()

    # --- what comes back ------------------------------------------------------------------------

    async def _take_in_all(self, cell_ids: Sequence[str] | None) -> None:
        arrived = await self._collected(cell_ids)
        # Not what arrived: a task that was cut off while it collected has told nobody of it.
        results = arrived if cell_ids is None else self._since_begun(cell_ids)
        for result in results:
            if result.outcome.kind != "cancelled" and result.cell.id not in self.ended:
                self._take_in(result)

    def _since_begun(self, cell_ids: Sequence[str]) -> list[CellResult]:
        attempts = (it for cell_id in cell_ids for it in self.store.ended_attempts(cell_id))
        return [it.result for it in attempts if it.number > self.begun[it.result.cell.id]]

    def _take_in(self, result: CellResult) -> None:
        self.ended.add(result.cell.id)
        self.progress.ended(result)

    async def _collected(self, cell_ids: Sequence[str] | None) -> Sequence[CellResult]:
        """Of these cells; None for all, those that were cut off too."""
        return await asyncio.to_thread(self._collect_in_turn, cell_ids)

    def _collect_in_turn(self, cell_ids: Sequence[str] | None) -> Sequence[CellResult]:
        # A lock of threads: one whose task was cut off goes on, and has the same connection.
        with self._collecting:
            if cell_ids is None:
                return collect_all(self.job.exchange, self.store)
            return collect(self.job.exchange, self.store, cell_ids)


def _require_same(client: Client, scheduler: str) -> None:
    """Raises _SchedulerGone if Dask's client went over to another, which knows nothing of us."""
    if client.scheduler_info().get("id") != scheduler:
        raise _SchedulerGone("another answers in its place")


def _drained(blocks: int) -> FairtrialError:
    hint = "the same command goes on, with as many workers as there are then"
    return FairtrialError(f"the run was told to end; {blocks} blocks are left", hint=hint)


async def _reached(answer: Awaitable[T]) -> T:
    """Raises _SchedulerGone."""
    try:
        return await answer
    except (OSError, TimeoutError, RuntimeError) as error:
        raise _SchedulerGone(str(error)) from error


def _part(plan: Plan, cell: Cell) -> Plan:
    """A plan with the block of a cell alone: whole, it would be sent with every block."""
    if plan.study is None:
        return plan.model_copy(update={"cells": ()})
    study = plan.study.model_copy(update={"blocks": (plan.study.by_key[cell.block],)})
    return plan.model_copy(update={"cells": (), "study": study})
