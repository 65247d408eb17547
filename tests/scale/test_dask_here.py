"""`--executor dask`: a cluster on this machine, which begins with the run and ends with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import psutil

from runner.records.run_store import RunStore
from runner.runs.executors import open_executor
from runner.runs.executors.asked import Asked
from runner.runs.executors.dask_executor import DaskExecutor
from tests.scale.engines import run, store_of, told_in
from tests.scale.telling import LEASE_SEC, Told, execute_by, measured
from tests.scale.tiny import DEADLY, Ground, Tiny, read_ledger, tiny_cells, tiny_run


def workers_here() -> set[int]:
    """Processes that this one has begun for a cluster."""
    mine = psutil.Process().children(recursive=True)
    return {child.pid for child in mine if "spawn_main" in " ".join(child.cmdline())}


def test_it_runs_every_cell_once_and_its_workers_are_gone_with_the_run(tmp_path: Path) -> None:
    ground = Ground(ledger=tmp_path / "ledger", turn_sec=0.05)
    cells = tiny_cells(10)
    store, prepared = tiny_run(tmp_path / "run", cells, ground)
    told, seen = Told(), set[int]()
    told.on_start = lambda _: seen.update(workers_here())
    execute_by(open_executor("dask", Asked(jobs=2)), store, prepared, told, Tiny())
    assert measured(store) == len(cells)
    assert set(read_ledger(ground.ledger).begun.values()) == {1}
    assert len(seen) == 2
    assert workers_here() == set()
    assert sum("takes 1 blocks at a time" in note for note in told.notes) == 2
    assert any(note.startswith("dashboard: ") for note in told.notes)


def test_a_block_that_takes_its_workers_down_costs_no_other(tmp_path: Path) -> None:
    ground = Ground(ledger=tmp_path / "ledger", turn_sec=0.01)
    cells = [*tiny_cells(4), *tiny_cells(5, servers=(DEADLY,))[4:]]
    store, prepared = tiny_run(tmp_path / "run", cells, ground)
    executor = open_executor("dask", Asked(jobs=2))
    assert isinstance(executor, DaskExecutor)
    quick = replace(executor, lease_sec=LEASE_SEC)
    execute_by(quick, store, prepared, Told(), Tiny())
    by_id = {item.cell.id: item for item in store.load().cells}
    broken = by_id.pop(cells[-1].id).result
    assert broken is not None
    assert broken.outcome.kind == "runner_failed"
    assert read_ledger(ground.ledger).begun[cells[-1].id] == 2
    assert all(item.measured for item in by_id.values())


def test_real_cells_are_those_without_a_cluster_to_the_letter(
    base_image: str, tmp_path: Path
) -> None:
    assert base_image
    with store_of(tmp_path, "dask") as there, store_of(tmp_path, "one") as here:
        run(tmp_path, there, 2, "--server", "shell", "--executor", "dask", "--jobs", "2")
        run(tmp_path, here, 2, "--server", "shell")
        assert measured(there) == len(there.plan().cells) > 0, (tmp_path / "run.log").read_text()
        assert told_in(there) == told_in(here)
        assert placed_by_workers(there) == 1


def placed_by_workers(store: RunStore) -> int:
    """Machines that workers say they ran cells on."""
    results = [item.result for item in store.load().cells if item.result is not None]
    return len({it.block.machine for it in results if it.block is not None and it.block.host})
