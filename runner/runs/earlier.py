"""Cells that an earlier run has measured already, by their ids: a cell's id digests its inputs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from runner.records import Cell
from runner.records.run_store import RunStore
from runner.support.errors import FairtrialError


def earlier_run(runs: Path, cells: Iterable[Cell], but: str) -> RunStore | None:
    """The newest run of a folder that has measured them all; None if none has. `but`: not this."""
    wanted = {cell.id for cell in cells}
    folders = sorted(runs.glob("*/plan.json"), key=lambda it: it.stat().st_mtime, reverse=True)
    for folder in (it.parent for it in folders if it.parent.name != but):
        store = RunStore(folder)
        if wanted and _has_measured(store, wanted):
            return store
    return None


def _has_measured(store: RunStore, wanted: set[str]) -> bool:
    """False of a run that an other version wrote, or an editor."""
    try:
        planned = {cell.id for cell in store.plan().cells}
        if not wanted <= planned:
            return False
        attempts = [store.counted_attempt(cell_id) for cell_id in wanted]
    except FairtrialError:
        return False
    return all(it is not None and it.result.outcome.is_measurement for it in attempts)
