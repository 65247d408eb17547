"""A planned run measured, whichever benchmark it is of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from runner.agents.models import kind_of
from runner.benchmarks import BENCHMARKS
from runner.records.run_store import LoadedRun, RunStore
from runner.report.progress import live
from runner.runs.executors import Executor
from runner.runs.plan import unfinished
from runner.runs.run_inputs import PreparedRun
from runner.support.interrupts import run_until_done


def measure(
    ours: LoadedRun, prepared: PreparedRun, executor: Executor, store: RunStore, screen: TextIO
) -> None:
    """Every cell that is not measured. `screen`: where progress is shown."""
    blocks = unfinished(ours)
    cells = sum(map(len, blocks))
    finished = len(ours.cells) - cells
    priced = prepared.spending.has_price_of({item.cell.model for item in ours.cells})
    with live(cells, screen, finished=finished, priced=priced) as progress:
        benchmark = BENCHMARKS[prepared.benchmark]
        run_until_done(executor.run(blocks, prepared, store, progress, benchmark))


def remarks(store: RunStore) -> Iterator[str]:
    """What the models' own artifacts have to say, such as a replay's differences."""
    for cell in store.plan().cells:
        kind = kind_of(cell.model)
        if kind is None or kind.remarks is None:
            continue
        attempt = store.counted_attempt(cell.id)
        lines = list(kind.remarks(attempt.path)) if attempt else []
        if lines:
            yield f"{cell.scenario} × {cell.server}: " + "\n".join(lines)
