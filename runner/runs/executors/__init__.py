"""The door of the executors' room: an executor is a name, and what makes one for a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Protocol

from runner.catalog.catalog import pick
from runner.protocols import Progress
from runner.records import Cell
from runner.records.run_store import RunStore
from runner.runs.benchmark import Benchmark
from runner.runs.executors.asked import Asked
from runner.runs.executors.local_executor import LocalExecutor
from runner.runs.run_inputs import PreparedRun
from runner.support.errors import FairtrialError


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


class ExecutorFactory(Protocol):
    """What `EXECUTORS` holds."""

    def __call__(self, asked: Asked) -> Executor:
        """Raises FairtrialError for what it needs and has not."""


def require_distributed() -> None:
    """Raises FairtrialError with how to install it."""
    if find_spec("distributed") is None:
        hint = "install it with `pip install 'fairtrial[scale]'`"
        raise FairtrialError("clusters need the distributed package", hint=hint)


def _dask(asked: Asked) -> Executor:
    require_distributed()
    from runner.runs.executors.dask_executor import executor_for  # noqa: PLC0415 - an extra

    return executor_for(asked)


EXECUTORS: dict[str, ExecutorFactory] = {
    "local": lambda asked: LocalExecutor(jobs=asked.jobs),
    "dask": _dask,
}
"""`local`: blocks on this machine, several at once.

`dask`: blocks on the workers of a Dask cluster: one on this machine, or `dask://HOST:PORT`.
"""


def open_executor(name: str, asked: Asked) -> Executor:
    """By a name in EXECUTORS, and its scheduler's address if it has one: `dask://HOST:PORT`."""
    kind, _, address = name.partition("://")
    return pick(EXECUTORS, kind, "executor")(replace(asked, address=address))
