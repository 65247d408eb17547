"""Cells on this machine, several at once."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass

from runner.prepared import PreparedRun
from runner.records import (
    Cell,
    CellResult,
)
from runner.run import run_cell
from runner.store import RunStore


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What `run_all` tells while it works."""

    started: Callable[[Cell], None]
    says: Callable[[Cell, str], None]
    ended: Callable[[CellResult], None]


async def run_all(
    cells: Sequence[Cell], prepared: PreparedRun, store: RunStore, progress: Progress, *, jobs: int
) -> None:
    """Every cell once, at most `jobs` at a time, in the plan's order. Cancelled, it records the cells under way as such."""
    gate = asyncio.Semaphore(jobs)

    async def one(cell: Cell) -> None:
        async with gate:
            progress.started(cell)
            progress.ended(
                await run_cell(cell, prepared, store, lambda text: progress.says(cell, text))
            )

    async with asyncio.TaskGroup() as tasks:
        for cell in cells:
            tasks.create_task(one(cell))


def run_until_done(work: Coroutine[object, object, None]) -> None:
    """Run it; SIGINT and SIGTERM cancel it in order (cells recorded, containers removed) and end in KeyboardInterrupt.

    Raises the first failure itself, out of its group.
    """

    async def main() -> None:
        task = asyncio.current_task()
        if task is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        await work

    try:
        asyncio.run(main())
    except asyncio.CancelledError as error:
        raise KeyboardInterrupt from error
    except ExceptionGroup as group:
        first = group.exceptions[0]
        raise first from group
