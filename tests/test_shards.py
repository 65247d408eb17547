"""Machines that do not talk run shares of one run; merged, they are that run."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from runner.agents.spending import Spending
from runner.records import Cell, Outcome, Plan, Shard
from runner.records.run_store import RunStore
from runner.runs.plan import RunSpec, blocks_of, load_or_create_plan, unfinished
from runner.runs.shards import api_jobs_of, merge, of_shard, spending_of
from runner.support.errors import FairtrialError
from tests.report.loaded import result
from tests.test_plan import cells

PLANNED = cells(trials=3)


def spec(shard: Shard | None, planned: Sequence[Cell] = PLANNED, **changes: object) -> RunSpec:
    asked = RunSpec(cells=planned, ungated=False, seed=7, run="study", shard=shard)
    return replace(asked, **changes)  # type: ignore[arg-type]  # names of fields


def begun(folder: Path, number: int, of: int, **changes: object) -> RunStore:
    """A shard's folder with its plan, of a machine of its own."""
    store = RunStore(folder / f"machine-{number}" / "study")
    load_or_create_plan(store, spec(Shard(number=number, of=of), **changes))  # type: ignore[arg-type]
    # Each machine makes the plan in its own moment.
    moment = f"2026-11-2{number}T00:00:00+00:00"
    store.write_plan(store.plan().model_copy(update={"created_at": moment}))
    return store


def finished(folder: Path, number: int, of: int, **changes: object) -> RunStore:
    """With every cell of its share measured."""
    store = begun(folder, number, of, **changes)
    plan = store.plan()
    for item in of_shard(store.load(), Shard(number=number, of=of)).cells:
        measure(store, item.cell, plan)
    return store


def measure(store: RunStore, item: Cell, plan: Plan) -> None:
    attempt = store.begin(item)
    (attempt.path / "transcript.jsonl").write_text(f"of {item.id}\n")
    store.finish(attempt, result(item).model_copy(update={"plan": plan.digest}))


@pytest.mark.parametrize("of", [2, 5, 16, 40])
def test_shards_share_out_every_block_once_and_alike(tmp_path: Path, of: int) -> None:
    plan = begun(tmp_path, 1, of).plan()
    shares = [blocks_of(plan, Shard(number=number, of=of)) for number in range(1, of + 1)]
    taken = Counter(block.key for share in shares for block in share)
    assert taken == Counter(block.key for block in blocks_of(plan))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_another_machine_makes_the_same_plan_in_another_moment(tmp_path: Path) -> None:
    one, other = (begun(tmp_path, number, 2).plan() for number in (1, 2))
    assert one.created_at != other.created_at
    assert one.digest == other.digest
    whole = one.model_copy(update={"shards": None})
    assert whole.digest != whole.model_copy(update={"created_at": "2020"}).digest


def test_a_shard_runs_its_own_blocks_whole(tmp_path: Path) -> None:
    store = begun(tmp_path, 2, 5)
    to_do = unfinished(of_shard(store.load(), Shard(number=2, of=5)))
    assert [len(block) for block in to_do] == [4] * len(to_do)
    keys = {block[0].block for block in to_do}
    assert keys == {block.key for block in blocks_of(store.plan(), Shard(number=2, of=5))}


def test_merged_shards_are_one_run_that_nothing_contradicts(tmp_path: Path) -> None:
    shards = [finished(tmp_path, number, 4) for number in (1, 2, 3, 4)]
    whole = RunStore(tmp_path / "whole")
    merged = merge(shards, whole)
    assert (merged.cells, merged.measured) == (len(PLANNED), len(PLANNED))
    plan = whole.plan()
    assert plan.created_at == "2026-11-21T00:00:00+00:00"
    assert unfinished(whole.load()) == ()
    for shard in shards:
        for path in (shard.folder / "cells").rglob("*.*"):
            assert (whole.folder / path.relative_to(shard.folder)).read_bytes() == path.read_bytes()
    for item in whole.load().cells:
        assert item.result is not None
        assert item.result.plan == plan.digest


def test_a_shard_that_comes_late_is_added_and_one_that_is_there_stays(tmp_path: Path) -> None:
    one, two = (finished(tmp_path, number, 2) for number in (1, 2))
    whole = RunStore(tmp_path / "whole")
    assert merge([one], whole).measured < len(PLANNED)
    late = merge([one, two], whole)
    assert late.measured == len(PLANNED)
    assert late.arrived == len(of_shard(two.load(), Shard(number=2, of=2)).cells)
    assert merge([one, two], whole).arrived == 0


def test_a_merge_that_was_killed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = (finished(tmp_path, number, 2) for number in (1, 2))
    whole, copied = RunStore(tmp_path / "whole"), shutil.copytree

    def dies(source: Path, target: Path) -> None:
        copied(source, target)
        (target / "result.json").unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr("runner.runs.shards.shutil.copytree", dies)
    with pytest.raises(KeyboardInterrupt):
        merge([one, two], whole)
    monkeypatch.undo()
    assert merge([one, two], whole).measured == len(PLANNED)
    assert sorted(path.name for path in whole.folder.iterdir()) == ["cells", "plan.json"]


def test_an_attempt_that_was_cut_off_is_merged_for_it_was_paid(tmp_path: Path) -> None:
    store = begun(tmp_path, 1, 2)
    item = of_shard(store.load(), Shard(number=1, of=2)).cells[0].cell
    (store.begin(item).path / "transcript.jsonl").write_text("half\n")
    whole = RunStore(tmp_path / "whole")
    assert merge([store], whole).arrived == 1
    (loaded,) = [one for one in whole.load().cells if one.cell == item]
    assert (loaded.attempts, loaded.measured) == (1, False)


def test_one_shard_without_its_gate_makes_the_whole_ungated(tmp_path: Path) -> None:
    gated, ungated = finished(tmp_path, 1, 2), finished(tmp_path, 2, 2, ungated=True)
    whole = RunStore(tmp_path / "whole")
    merge([gated, ungated], whole)
    assert whole.plan().ungated


# --- what is refused ----------------------------------------------------------------------------


def changed(item: Cell) -> Cell:
    return item.model_copy(update={"inputs": {**item.inputs, "harness": "f" * 64}})


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"seed": 8}, "--seed 7 then, 8 now"),
        ({"margin": 0.1}, "--margin"),
        ({"run": "other"}, "run study there, other here"),
        ({"planned": [changed(PLANNED[0]), *PLANNED[1:]]}, "harness changed since"),
        ({"planned": PLANNED[:-4]}, f"{len(PLANNED)} cells then, {len(PLANNED) - 4} now"),
    ],
)
def test_shards_of_differing_runs_are_refused_and_the_difference_named(
    tmp_path: Path, changes: dict[str, object], named: str
) -> None:
    one, two = finished(tmp_path, 1, 2), finished(tmp_path, 2, 2, **changes)
    with pytest.raises(FairtrialError, match="shards of different runs") as error:
        merge([one, two], RunStore(tmp_path / "whole"))
    assert named in str(error.value)
    assert not (tmp_path / "whole").exists()


def test_shards_of_another_number_are_refused(tmp_path: Path) -> None:
    one, two = finished(tmp_path, 1, 2), finished(tmp_path, 2, 3)
    with pytest.raises(FairtrialError, match="shards 2 there, 3 here"):
        merge([one, two], RunStore(tmp_path / "whole"))


def test_of_two_measurements_of_a_cell_nobody_may_choose(tmp_path: Path) -> None:
    one, two = finished(tmp_path, 1, 2), finished(tmp_path, 2, 2)
    taken = one.load().cells
    twice = next(item.cell for item in taken if item.measured)
    measure(two, twice, two.plan())
    again = two.cell_folder(twice.id) / "attempt-1" / "transcript.jsonl"
    again.write_text("a better answer\n")
    with pytest.raises(FairtrialError, match="was run twice"):
        merge([one, two], RunStore(tmp_path / "whole"))
    merge([one], RunStore(tmp_path / "whole"))
    with pytest.raises(FairtrialError, match="was run twice"):
        merge([two], RunStore(tmp_path / "whole"))


def test_a_run_that_is_no_shard_is_refused(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "study")
    load_or_create_plan(store, spec(None))
    with pytest.raises(FairtrialError, match="no shard"):
        merge([store], RunStore(tmp_path / "whole"))


def test_a_shard_is_not_gone_on_with_as_one_of_another_number(tmp_path: Path) -> None:
    store = begun(tmp_path, 1, 2)
    with pytest.raises(FairtrialError, match="2 shards then, 3 now"):
        load_or_create_plan(store, spec(Shard(number=1, of=3)))


# --- caps ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("of", [2, 5, 40])
def test_what_the_shards_may_spend_is_together_the_cap(tmp_path: Path, of: int) -> None:
    plan = begun(tmp_path, 1, of).plan()
    whole = Spending(run_usd=12.0, run_tokens=1_000_000, cell_usd=1.0)
    shares = [spending_of(whole, plan, Shard(number=n, of=of)) for n in range(1, of + 1)]
    assert sum(share.run_usd or 0.0 for share in shares) == pytest.approx(12.0)
    assert 1_000_000 - of < sum(share.run_tokens or 0 for share in shares) <= 1_000_000
    assert {share.cell_usd for share in shares} == {1.0}


def test_requests_at_a_time_are_shared_out_and_too_few_are_refused() -> None:
    shard = Shard(number=1, of=4)
    assert api_jobs_of(9, shard) == 2
    assert api_jobs_of(None, shard) is None
    assert api_jobs_of(3, None) == 3
    with pytest.raises(FairtrialError, match="cannot be shared by 4"):
        api_jobs_of(3, shard)


def test_an_outcome_that_broke_is_tried_again_by_its_own_shard(tmp_path: Path) -> None:
    store = begun(tmp_path, 1, 2)
    share = Shard(number=1, of=2)
    (first, *_) = of_shard(store.load(), share).cells
    attempt = store.begin(first.cell)
    broke = Outcome(kind="sandbox_failed", reason="the engine is gone")
    store.finish(attempt, result(first.cell).model_copy(update={"outcome": broke}))
    to_do = unfinished(of_shard(store.load(), share))
    assert first.cell.id in {one.id for block in to_do for one in block}
