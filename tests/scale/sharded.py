"""Four machines that do not talk, each with a share of one run; merged, and as one."""

from __future__ import annotations

from pathlib import Path

from runner.records import Shard
from runner.records.run_store import RunStore
from runner.runs.executors import EXECUTORS
from runner.runs.executors.asked import Asked
from runner.runs.plan import RunSpec, load_or_create_plan, unfinished
from runner.runs.shards import merge, of_shard
from runner.support.interrupts import run_until_done
from tests.scale.kills import one_worker
from tests.scale.telling import Told
from tests.scale.tiny import Ground, Tiny, tiny_cells, tiny_run


def four_shards(folder: Path, *, cells: int) -> tuple[RunStore, RunStore]:
    """One run, and the same of four shards."""
    planned = tiny_cells(cells // 2)
    ground = Ground(ledger=folder / "ledger", turns=1)
    _, prepared = tiny_run(folder / "unused" / "run", planned, ground)
    stores = []
    for number in range(1, 5):
        shard = Shard(number=number, of=4)
        store = RunStore(folder / f"machine-{number}" / "run")
        prices = prepared.spending.prices
        spec = RunSpec(cells=planned, ungated=True, prices=prices, benchmark="tiny", shard=shard)
        load_or_create_plan(store, spec)
        blocks = unfinished(of_shard(store.load(), shard))
        local = EXECUTORS["local"](Asked(jobs=1))
        run_until_done(local.run(blocks, prepared, store, Told().progress, Tiny()))
        stores.append(store)
    merged = RunStore(folder / "merged" / "run")
    merge(stores, merged)
    return one_worker(folder, planned), merged
