"""`local`: cells on this machine, several at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence

from runner.interrupts import instead
from runner.prepared import PreparedRun
from runner.protocols import Progress
from runner.records import Cell
from runner.run import run_cell
from runner.sandbox.engine import connect
from runner.store import RunStore


class Local:
    """protocols.Executor."""

    def __init__(self, *, jobs: int) -> None:
        """`jobs`: cells at a time. More than one makes their seconds noisier."""
        self._jobs = jobs

    async def run(
        self, cells: Sequence[Cell], prepared: PreparedRun, store: RunStore, progress: Progress
    ) -> None:
        """Every cell once, in the plan's order. Cancelled, it records the cells under way so."""
        slots = asyncio.Semaphore(self._jobs)
        engine = connect(prepared.engine_url)

        async def run_one(cell: Cell) -> None:
            async with slots:
                progress.started(cell)

                def log(line: str) -> None:
                    progress.says(cell, line)

                progress.ended(await run_cell(cell, prepared, engine, store, log))

        try:
            async with asyncio.TaskGroup() as tasks:
                for cell in cells:
                    tasks.create_task(run_one(cell))
        finally:
            engine.close()


def run_until_done(work: Coroutine[object, object, None]) -> None:
    """Run it to its end; a signal (interrupts.py) cancels it in order: KeyboardInterrupt.

    In order: cells under way are recorded, their containers removed. Raises the first failure
    itself, out of its group.
    """

    async def main() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop() -> None:
            if task is not None:
                # From a signal's handler: the loop may be asleep.
                loop.call_soon_threadsafe(task.cancel)

        with instead(stop):
            await work

    try:
        asyncio.run(main())
    except asyncio.CancelledError as error:
        raise KeyboardInterrupt from error
    except ExceptionGroup as group:
        raise group.exceptions[0] from group
