"""A run of tiny cells on a farm, and what it tells meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from runner.protocols import Progress
from runner.records import Cell, CellResult
from runner.records.run_store import RunStore
from runner.runs.benchmark import Benchmark
from runner.runs.executors import Executor
from runner.runs.plan import unfinished
from runner.runs.run_inputs import PreparedRun
from runner.support.interrupts import run_until_done
from tests.scale.farm import Farm
from tests.scale.tiny import Tiny

LEASE_SEC = 2.0


@dataclass
class Told:
    """What an executor tells."""

    notes: list[str] = field(default_factory=list)
    ended: list[CellResult] = field(default_factory=list)
    started: list[Cell] = field(default_factory=list)
    says: list[str] = field(default_factory=list)
    """Of cells: `on 192.0.2.3:4412`."""
    tokens: int = 0
    usd: float = 0.0
    on_start: Callable[[Cell], None] = lambda _: None

    @property
    def progress(self) -> Progress:
        return Progress(
            started=self._started,
            says=lambda _, line: self.says.append(line),
            ended=self.ended.append,
            spent=self._spent,
            note=self.notes.append,
        )

    def _started(self, cell: Cell) -> None:
        self.started.append(cell)
        self.on_start(cell)

    def _spent(self, tokens: int, usd: float) -> None:
        self.tokens += tokens
        self.usd += usd


def execute(
    farm: Farm,
    store: RunStore,
    prepared: PreparedRun,
    told: Told,
    benchmark: Benchmark | None = None,
) -> None:
    execute_by(farm.executor(LEASE_SEC), store, prepared, told, benchmark or Tiny())


def execute_by(
    executor: Executor, store: RunStore, prepared: PreparedRun, told: Told, benchmark: Benchmark
) -> None:
    blocks = unfinished(store.load())
    run_until_done(executor.run(blocks, prepared, store, told.progress, benchmark))


def measured(store: RunStore) -> int:
    return sum(item.measured for item in store.load().cells)


def begun_after(store: RunStore) -> int:
    """Cells that were begun once more though they had a result: paid for twice."""
    counted = {item.cell.id: item.counted for item in store.load().cells}
    return sum(
        max(store.attempt_numbers(cell_id)) > attempt.number
        for cell_id, attempt in counted.items()
        if attempt is not None and attempt.result.outcome.is_measurement
    )
