"""A report of ten thousand cells: copies of one real cell, through `fairtrial report`."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from runner.benchmarks import BENCHMARKS
from runner.catalog.checkout import Checkout
from runner.records import CellResult
from runner.runs.prepare import prepare
from tests.bench import COMMAND, new_store, run_child, run_one


@dataclass(frozen=True, kw_only=True)
class Reported:
    """What `fairtrial report` took."""

    cells: int
    took_sec: float
    cpu_sec: float
    peak_mb: float


def big_report(folder: Path, checkout: Checkout, *, trials: int) -> Reported:
    """Of one scenario, alone with the shell: its transcripts are one file, linked."""
    first = next(iter(checkout.catalog.scenarios))
    scenarios = checkout.choose_scenarios([first])
    prepared = prepare(checkout, scenarios, checkout.choose_servers(["shell"]))
    cells = BENCHMARKS["scenarios"].cells(prepared, ["offline"], trials)
    store = new_store(folder / "big", cells)
    attempt = run_one(prepared, store, cells[0])
    digest = store.plan().digest
    for cell in cells[1:]:
        begun = store.begin(cell)
        os.link(attempt.transcript, begun.path / attempt.transcript.name)
        fields = dict(attempt.result) | {"cell": cell, "plan": digest}
        del fields["digest"]
        store.finish(begun, CellResult(**fields))
    started = time.monotonic()
    used = run_child([COMMAND, "report", str(store.folder), "--ungated"])
    took_sec = time.monotonic() - started
    return Reported(cells=len(cells), took_sec=took_sec, cpu_sec=used.cpu_sec, peak_mb=used.peak_mb)
