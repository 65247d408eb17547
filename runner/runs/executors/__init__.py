"""The door of the executors' room: an executor is a name, and what makes one for a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from runner.protocols import Progress
from runner.records import Cell
from runner.records.run_store import RunStore
from runner.runs.benchmark import Benchmark
from runner.runs.executors.local_executor import LocalExecutor
from runner.runs.run_inputs import PreparedRun


class Executor(Protocol):
    """Where blocks run. What it needs of a run is in PreparedRun, which can be sent elsewhere."""

    async def run(
        self,
        blocks: Sequence[Sequence[Cell]],
        prepared: PreparedRun,
        store: RunStore,
        progress: Progress,
        benchmark: Benchmark,
    ) -> None:
        """Every cell once, a block's one after another and on one machine, all in the order given.

        Cancelled, it records the cells under way so.
        """
        ...


class ExecutorFactory(Protocol):
    """What `EXECUTORS` holds."""

    def __call__(self, *, jobs: int) -> Executor:
        """`jobs`: blocks at a time."""
        ...


EXECUTORS: dict[str, ExecutorFactory] = {"local": LocalExecutor}
