"""What is fixed before the first cell: cells, blocks, the order in them, and what passes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from runner.records import Cell, OutcomeKind, Plan, digest_of
from runner.records.run_store import RunStore
from runner.runs.plan import (
    PASS_AT,
    RunSpec,
    blocks_of,
    draw_blocks,
    load_or_create_plan,
    pass_at_of,
    placement,
    seed_of,
    unfinished,
)
from runner.support.errors import CatalogError, FairtrialError
from tests.report.loaded import cell, result

SERVERS = ("shell", "a", "b", "c")
SCENARIOS = ("one", "two", "three", "four", "five", "six")


def cells(
    scenarios: Sequence[str] = SCENARIOS, servers: Sequence[str] = SERVERS, trials: int = 2
) -> list[Cell]:
    """As a benchmark plans them: the shell first in each block."""
    planned = []
    for trial, scenario, server in product(range(1, trials + 1), scenarios, servers):
        planned.append(cell(scenario, server, trial))
    return planned


# --- the order of a block -----------------------------------------------------------------------


def test_every_arm_comes_first_and_last_in_as_many_blocks_as_any_other() -> None:
    for seed in range(20):
        blocks = draw_blocks(cells(), seed)
        assert len(blocks) == 12
        assert Counter(block.order[0] for block in blocks) == dict.fromkeys(SERVERS, 3)
        assert Counter(block.order[-1] for block in blocks) == dict.fromkeys(SERVERS, 3)
        assert all(sorted(block.order) == sorted(SERVERS) for block in blocks)


def test_over_seeds_every_order_of_three_arms_is_drawn_for_a_block_about_as_often() -> None:
    planned = cells(["one"], ["shell", "a", "b"], trials=1)
    drawn = Counter(draw_blocks(planned, seed)[0].order for seed in range(600))
    assert len(drawn) == 6
    # 100 each are expected; 5 standard deviations are 46.
    assert all(54 < times < 146 for times in drawn.values())


def test_a_seed_draws_the_same_on_every_machine() -> None:
    blocks = draw_blocks(cells(["one", "two"], trials=1), seed=7)
    assert [block.order for block in blocks] == [
        ("shell", "b", "c", "a"),
        ("b", "c", "a", "shell"),
    ]
    assert draw_blocks(cells(), 7) != draw_blocks(cells(), 8)


def test_blocks_keep_the_order_in_which_they_were_planned() -> None:
    blocks = draw_blocks(cells(trials=2), 7)
    assert [block.key for block in blocks] == list(dict.fromkeys(item.block for item in cells()))


def test_a_block_without_some_server_holds_the_others() -> None:
    planned = [item for item in cells() if (item.scenario, item.server) != ("two", "b")]
    for block in draw_blocks(planned, 7):
        expected = {"shell", "a", "c"} if block.scenario == "two" else set(SERVERS)
        assert set(block.order) == expected


# --- the plan -----------------------------------------------------------------------------------


def wanted(**changes: object) -> RunSpec:
    return replace(RunSpec(cells=cells(), ungated=True), **changes)  # type: ignore[arg-type]


def test_the_plan_records_seed_order_and_what_passes(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "r")
    load_or_create_plan(store, wanted(seed=7, pass_at=0.6))
    written = json.loads((tmp_path / "r" / "plan.json").read_text())
    assert (written["study"]["seed"], written["study"]["pass_at"]) == (7, 0.6)
    first = written["study"]["blocks"][0]
    assert (first["scenario"], first["trial"]) == ("one", 1)
    assert first["order"] == ["shell", "b", "c", "a"]
    assert [item["server"] for item in written["cells"][:4]] == list(SERVERS)


def test_a_run_that_is_given_no_seed_draws_by_its_name(tmp_path: Path) -> None:
    (one, two) = (load_or_create_plan(RunStore(tmp_path / name), wanted()) for name in "ab")
    assert one.plan.study is not None
    assert two.plan.study is not None
    assert one.plan.study.seed == seed_of("a")
    assert one.plan.study.blocks != two.plan.study.blocks
    assert pass_at_of(one.plan) == PASS_AT


def test_the_same_command_goes_on_and_another_seed_or_threshold_does_not(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "r")
    load_or_create_plan(store, wanted(seed=7))
    load_or_create_plan(store, wanted())
    with pytest.raises(FairtrialError, match="--seed 7 then, 8 now"):
        load_or_create_plan(store, wanted(seed=8))
    # Moved after a look at the scores, it would pass whoever one likes.
    with pytest.raises(FairtrialError, match=r"--pass-at 0\.5 then, 0\.4 now"):
        load_or_create_plan(store, wanted(pass_at=0.4))


def test_no_trial_is_added_after_a_look(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "r")
    load_or_create_plan(store, wanted())
    with pytest.raises(FairtrialError, match="48 cells then, 72 now"):
        load_or_create_plan(store, wanted(cells=cells(trials=3)))


def test_blocks_that_were_edited_to_leave_a_cell_out_are_refused(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "r")
    load_or_create_plan(store, wanted())
    path = tmp_path / "r" / "plan.json"
    edited = json.loads(path.read_text())
    edited["study"]["blocks"][3]["order"].pop()
    path.write_text(json.dumps(edited))
    with pytest.raises(CatalogError, match="the blocks hold other cells than the plan"):
        store.plan()


# --- an earlier version's plan ------------------------------------------------------------------


def test_a_plan_of_an_earlier_version_reads_and_goes_on_in_its_own_order(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "r")
    planned = tuple(cells())
    store.write_plan(Plan(run="r", created_at="2026", ungated=True, cells=planned))
    path = tmp_path / "r" / "plan.json"
    earlier = json.loads(path.read_text())
    assert "study" not in earlier
    path.write_text(json.dumps(earlier))
    run = load_or_create_plan(store, wanted())
    assert {block.order for block in blocks_of(run.plan)} == {SERVERS}
    # Results name their plan by its digest: it has to be what that version made of it.
    assert run.plan.digest == digest_of({k: v for k, v in earlier.items() if k != "ungated"})
    assert placement(run.plan, planned[0], taken_up_at="2026", machine="m") is None


def test_a_result_of_an_earlier_version_keeps_its_digest() -> None:
    made = result(cell("one"))
    fields = made.model_dump(mode="json")
    assert "block" not in fields
    assert made.digest_found == digest_of(fields)


# --- what is to be run --------------------------------------------------------------------------


def end(store: RunStore, item: Cell, kind: OutcomeKind) -> None:
    begun = store.begin(item)
    store.finish(begun, result(item, kind))


def test_a_broken_cell_is_run_again_and_what_is_measured_is_not(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "r")
    planned = cells(["one", "two", "three"], trials=1)
    load_or_create_plan(store, RunSpec(cells=planned, ungated=True, seed=7))
    by_place = {(item.scenario, item.server): item for item in planned}
    for place, item in by_place.items():
        kind: OutcomeKind = "sandbox_failed" if place == ("one", "b") else "answered"
        if place not in {("two", "shell"), ("two", "a")}:
            end(store, item, kind)
    to_do = unfinished(store.load())
    assert [[(item.scenario, item.server) for item in block] for block in to_do] == [
        [("one", "b")],
        # As drawn: b, c, a, shell.
        [("two", "a"), ("two", "shell")],
    ]


def test_a_cell_says_where_it_stood_in_its_block(tmp_path: Path) -> None:
    run = load_or_create_plan(RunStore(tmp_path / "r"), wanted(seed=7))
    found = placement(run.plan, cell("one", "b"), taken_up_at="2026", machine="m")
    assert found is not None
    assert (found.place, found.of, found.seed) == (2, 4, 7)
