"""Blocks on a Dask cluster: real processes, real TLS, real kills."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from runner.records import Cell
from runner.records.run_store import RunStore
from runner.runs.executors.told import write_told
from runner.runs.plan import unfinished
from runner.support.errors import FairtrialError, SpendingCap
from tests.helpers import PATIENCE_SEC
from tests.scale.farm import Farm
from tests.scale.telling import LEASE_SEC, Told, begun_after, execute, measured
from tests.scale.tiny import (
    DEADLY,
    TURN_TOKENS,
    Ground,
    Tiny,
    read_ledger,
    tiny_cells,
    tiny_run,
)


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    farm = Farm(tmp_path_factory.mktemp("farm"), workers=2)
    try:
        farm.wait(PATIENCE_SEC)
        yield farm
    finally:
        farm.stop()


def run_and_harm(farm: Farm, tmp_path: Path, harm: Callable[[], object]) -> tuple[RunStore, Told]:
    """Twenty cells of each arm, all of them measured, though harm is done when ten have begun."""
    cells = tiny_cells(20)
    store, prepared = tiny_run(
        tmp_path / "run", cells, Ground(ledger=tmp_path / "ledger", turn_sec=0.05)
    )
    told = Told()
    harmed: list[Cell] = []

    def harm_once(cell: Cell) -> None:
        if len(told.started) >= 10 and not harmed:
            harmed.append(cell)
            harm()

    told.on_start = harm_once
    execute(farm, store, prepared, told)
    assert harmed
    assert measured(store) == len(cells)
    assert begun_after(store) == 0, "what had finished was paid once"
    return store, told


def test_a_killed_worker_costs_the_cell_it_had_under_way_and_no_other(
    farm: Farm, tmp_path: Path
) -> None:
    store, told = run_and_harm(farm, tmp_path, farm.workers[0].kill)
    ledger = read_ledger(tmp_path / "ledger")
    twice = [cell for cell, count in ledger.begun.items() if count > 1]
    again = [item.cell.id for item in store.load().cells if item.attempts > 1]
    assert len(again) <= 1 and twice in ([], again)
    # Killed before its first turn, it has paid for nothing yet.
    assert [item.cell.id for item in store.load().cells if item.lost] in ([], again)
    assert any("is lost" in note for note in told.notes)


def test_a_block_that_takes_two_workers_down_is_broken_and_not_tried_a_third_time(
    farm: Farm, tmp_path: Path
) -> None:
    ground = Ground(ledger=tmp_path / "ledger", turn_sec=0.01)
    cells = [*tiny_cells(6), *tiny_cells(7, servers=(DEADLY,))[6:]]
    store, prepared = tiny_run(tmp_path / "run", cells, ground)
    told = Told()
    execute(farm, store, prepared, told)
    execute(farm, store, prepared, told)
    deadly = cells[-1].id
    assert read_ledger(ground.ledger).begun[deadly] == 2
    by_id = {item.cell.id: item for item in store.load().cells}
    assert all(item.measured for key, item in by_id.items() if key != deadly)
    result = by_id[deadly].result
    assert result is not None
    assert result.outcome.kind == "runner_failed"
    assert "2 workers were lost while they ran its block" in result.outcome.reason
    assert sum(len(attempt.turns) for attempt in by_id[deadly].lost) == 2, "their turns are counted"


@pytest.mark.parametrize(
    ("cap", "higher", "option"),
    [
        ({"cap_usd": 0.2}, {"cap_usd": 1.0}, "--max-dollars"),
        ({"cap_tokens": 20 * TURN_TOKENS}, {"cap_tokens": 100 * TURN_TOKENS}, "--max-tokens"),
    ],
)
def test_one_purse_holds_across_workers(
    farm: Farm, tmp_path: Path, cap: dict[str, Any], higher: dict[str, Any], option: str
) -> None:
    ground = Ground(ledger=tmp_path / "ledger", turn_sec=0.05, turns=1)
    store, prepared = tiny_run(tmp_path / "run", tiny_cells(20), ground, **cap)
    told = Told()
    with pytest.raises(SpendingCap) as reached:
        execute(farm, store, prepared, told)
    assert option in reached.value.hint
    paid = read_ledger(ground.ledger, turns=1).turns
    assert 15 <= paid <= 20, "a turn takes a cent, and as many tokens"
    assert told.usd == pytest.approx(paid / 100)
    assert told.tokens == paid * TURN_TOKENS
    # What was spent before the command was said again counts.
    more = {name: amount + amount / 4 for name, amount in cap.items()}
    with pytest.raises(SpendingCap):
        execute(farm, store, tiny_run(tmp_path / "run", tiny_cells(20), ground, **more)[1], Told())
    assert paid < read_ledger(ground.ledger, turns=1).turns <= 25
    dearer = tiny_run(tmp_path / "run", tiny_cells(20), ground, **higher)[1]
    execute(farm, store, dearer, told)
    assert measured(store) == 40


def test_an_interruption_is_recorded_in_the_cells_under_way(farm: Farm, tmp_path: Path) -> None:
    ground = Ground(ledger=tmp_path / "ledger", turn_sec=PATIENCE_SEC)
    store, prepared = tiny_run(tmp_path / "run", tiny_cells(4), ground)
    told = Told()
    begun = asyncio.Event()
    told.on_start = lambda _: begun.set()

    async def interrupted() -> None:
        run = farm.executor(LEASE_SEC).run(
            unfinished(store.load()), prepared, store, told.progress, Tiny()
        )
        task = asyncio.create_task(run)
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(interrupted())
    results = [item.result for item in store.load().cells if item.result is not None]
    assert {result.outcome.kind for result in results} == {"cancelled"}
    assert 1 <= len(results) <= 2, "of each worker one, and no other was begun"


def test_a_scheduler_that_is_started_again_costs_the_cells_under_way_and_no_other(
    farm: Farm, tmp_path: Path
) -> None:
    _, told = run_and_harm(farm, tmp_path, farm.scheduler.kill)
    ledger = read_ledger(tmp_path / "ledger")
    assert sum(count - 1 for count in ledger.begun.values()) <= 2, "of each worker one cell"
    assert any("the scheduler is gone" in note for note in told.notes)


def test_a_run_pauses_goes_on_and_ends_in_order_when_it_is_told_to(
    farm: Farm, tmp_path: Path
) -> None:
    ground = Ground(ledger=tmp_path / "ledger", turn_sec=0.05)
    store, prepared = tiny_run(tmp_path / "run", tiny_cells(20), ground)
    told = Told()
    told.on_start = lambda _: write_told(store, "drain") if len(told.started) == 6 else None
    with pytest.raises(FairtrialError, match="was told to end"):
        execute(farm, store, prepared, told)
    done = measured(store)
    assert 6 <= done < 40
    assert {item.measured for item in store.load().cells if item.attempts} == {True}

    again, resumed = Told(), threading.Timer(3, write_told, (store, "resume"))

    def pause(_: Cell) -> None:
        if len(again.started) == 1:
            write_told(store, "pause")
            resumed.start()

    again.on_start = pause
    execute(farm, store, prepared, again)
    resumed.join()
    assert measured(store) == 40
    moments = sorted(result.started_at for result in again.ended)
    gaps = [seconds(after) - seconds(before) for before, after in itertools.pairwise(moments)]
    assert max(gaps) > 1.5, "nothing was begun while it paused"


def test_a_run_that_was_drained_goes_on_with_more_workers(tmp_path: Path) -> None:
    ledger, gate = tmp_path / "ledger", tmp_path / "gate"
    cells = tiny_cells(20)
    # A farm of its own: another test's worker may be gone, and on its way back.
    with Farm(tmp_path, workers=2) as farm:
        farm.wait(PATIENCE_SEC)
        store, prepared = tiny_run(tmp_path / "run", cells, Ground(ledger=ledger, turn_sec=0.05))
        told = Told()
        told.on_start = lambda _: write_told(store, "drain") if len(told.started) == 6 else None
        with pytest.raises(FairtrialError, match="was told to end"):
            execute(farm, store, prepared, told)
        done = measured(store)
        farm.add_worker({})
        farm.wait(PATIENCE_SEC)
        held, again = Ground(ledger=ledger, gate=gate), Told()
        again.on_start = lambda _: gate.touch() if len(again.started) == 3 else None
        execute(farm, store, tiny_run(tmp_path / "run", cells, held)[1], again)
    assert 6 <= done < 40
    # No cell ends before three are under way, and a worker has one at a time.
    assert len(set(again.says)) == 3
    assert measured(store) == 40
    assert begun_after(store) == 0, "what had finished was paid once"


def seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
