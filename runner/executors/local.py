"""`local`: cells on this machine, several at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from runner.errors import FairtrialError
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

        over = asyncio.Event()

        async def run_one(cell: Cell) -> None:
            async with slots:
                # A cell that ends the run frees its slot before the others are cancelled.
                if over.is_set():
                    return
                progress.started(cell)

                def log(line: str) -> None:
                    progress.says(cell, line)

                try:
                    progress.ended(await run_cell(cell, prepared, engine, store, log))
                except FairtrialError:
                    over.set()
                    raise

        try:
            async with asyncio.TaskGroup() as tasks:
                for cell in cells:
                    tasks.create_task(run_one(cell))
        finally:
            engine.close()
