"""`local`: blocks on this machine, several at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from runner.protocols import Progress
from runner.records import Cell
from runner.records.run_store import RunStore
from runner.runs.attempt import Shared, now, run_cell
from runner.runs.benchmark import Benchmark
from runner.runs.run_inputs import PreparedRun
from runner.runs.spent import account_of
from runner.sandbox.engine import connect
from runner.support.errors import FairtrialError, SpendingCap


class LocalExecutor:
    """runs.executors.Executor."""

    def __init__(self, *, jobs: int) -> None:
        """`jobs`: blocks at a time. More than one makes their seconds noisier."""
        self._jobs = jobs

    async def run(
        self,
        blocks: Sequence[Sequence[Cell]],
        prepared: PreparedRun,
        store: RunStore,
        progress: Progress,
        benchmark: Benchmark,
    ) -> None:
        """Every cell once, a block's one after another, all in the order given.

        Side by side, the arms of a block would take each other's processors, and their seconds
        would tell of that. Cancelled, it records the cells under way so.
        """
        # Tasks have no container, and are measured where there is no engine too.
        engine = connect(prepared.engine_url) if prepared.has_containers else None
        try:
            account = account_of(store, prepared.spending, progress.spent)
            plan = store.plan()
            shared = Shared(
                prepared=prepared,
                engine=engine,
                store=store,
                account=account,
                plan=plan,
                plan_digest=plan.digest,
                run=benchmark.run,
            )
            work = _RunningBlocks(
                shared=shared, progress=progress, slots=asyncio.Semaphore(self._jobs)
            )
            async with asyncio.TaskGroup() as tasks:
                for cells in blocks:
                    tasks.create_task(work.run_block(cells))
        finally:
            if engine is not None:
                engine.close()
        if work.cap is not None:
            raise work.cap


@dataclass(kw_only=True)
class _RunningBlocks:
    """Blocks under way."""

    shared: Shared
    progress: Progress
    slots: asyncio.Semaphore
    over: bool = False
    """No further cell may begin."""
    cap: SpendingCap | None = None

    async def run_block(self, cells: Sequence[Cell]) -> None:
        async with self.slots:
            taken_up_at = now()
            for cell in cells:
                # What ends the run frees its slot before the others are cancelled; and a cell that
                # is cancelled records that and returns, so the next would begin after Ctrl-C.
                if self.over or _is_cancelled():
                    return
                await self._run_cell(cell, taken_up_at)

    async def _run_cell(self, cell: Cell, taken_up_at: str) -> None:
        def log(line: str) -> None:
            self.progress.says(cell, line)

        self.progress.started(cell)
        try:
            self.progress.ended(await run_cell(cell, self.shared, taken_up_at, log))
        except SpendingCap as cap:
            # Raised here, it would cancel turns that are paid for and not yet recorded. The cells
            # beside this one meet the cap themselves, before their next turn.
            self.over, self.cap = True, cap
        except FairtrialError:
            self.over = True
            raise


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
