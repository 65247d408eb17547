"""What a report says of blocks, of repeated trials, and of what was paid for in vain."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from runner.records import Cell, Placement, PriceList, Usage
from runner.records.run_store import LoadedCell, LostAttempt
from runner.report import html, markdown, terminal
from runner.report.report_files import render_json
from tests.report.loaded import MODEL, NAMES, SEED, broken, cell, loaded, measured, unfinished
from tests.report.test_report import all_forms, arm, report_of
from tests.test_spending import PRICE

BEGAN = "2026-01-02T03:04:05.000001+00:00"
LATER = "2026-01-09T10:00:00.000001+00:00"


def placed(item: LoadedCell, *, taken_up_at: str = BEGAN, machine: str = "m1") -> LoadedCell:
    """With what its runner noted of its block."""
    assert item.result is not None
    stands = Placement(place=1, of=2, seed=SEED, taken_up_at=taken_up_at, machine=machine)
    changes = {"block": stands, "started_at": taken_up_at}
    return replace(item, result=item.result.model_copy(update=changes))


def a_block(**changes: Any) -> list[LoadedCell]:
    """Shell and server in one block; the server's cell is changed."""
    server = measured(cell("alpha", "codegraph"), 0.6)
    return [placed(measured(cell("alpha"), 0.5)), placed(server, **changes)]


# --- blocks -------------------------------------------------------------------------------------


def test_a_block_s_order_and_seed_are_in_every_form() -> None:
    report = report_of(loaded(a_block()))
    (section,) = report.sections
    (block,) = section.blocks
    assert set(block.order) == {"shell", "codegraph"}
    assert (block.taken_up_at, block.later, report.seed) == (BEGAN, {}, SEED)
    in_words = ", ".join(block.order)
    for text in (markdown.render(report), html.render(report)):
        assert in_words in text
        assert BEGAN.replace("+", "+") in text or BEGAN.replace("+", "&#43;") in text
    for text in all_forms(report).values():
        assert f"seed {SEED}" in text.replace("\n", " ") or f'"seed": {SEED}' in text
    assert json.loads(render_json(report))["sections"][0]["blocks"][0]["order"] == list(block.order)


def test_every_block_has_one_arm_that_ran_first_and_one_that_ran_last() -> None:
    cells = []
    for name in NAMES[:6]:
        for server in ("shell", "codegraph", "cclsp"):
            cells.append(placed(measured(cell(name, server), 0.5)))
    report = report_of(loaded(cells))
    orders = [one.order for one in report.arms]
    assert [order.blocks for order in orders] == [6, 6, 6]
    assert [order.first for order in orders] == [2, 2, 2]
    assert [order.last for order in orders] == [2, 2, 2]


def test_a_cell_that_was_run_again_later_is_told_with_the_time() -> None:
    report = report_of(loaded(a_block(taken_up_at=LATER)))
    (block,) = report.sections[0].blocks
    assert block.later == {"codegraph": LATER}
    assert block.span_sec is not None
    assert block.span_sec > 7 * 24 * 3600
    assert (arm(report, "codegraph").order.later, arm(report, "shell").order.later) == (1, 0)
    assert f"codegraph at {LATER}" in markdown.render(report)
    assert any("in 1 blocks cells were run later" in line for line in report.not_concluded)
    # It is told, and still a pair: a cell of the same block and trial.
    assert arm(report, "codegraph").delta.pairs == 1


def test_a_block_that_was_run_in_one_go_has_no_such_caveat() -> None:
    report = report_of(loaded(a_block()))
    assert not any("run later" in line for line in report.not_concluded)
    assert report.sections[0].blocks[0].span_sec == 61.0


def test_cells_of_one_block_on_two_machines_are_not_compared() -> None:
    report = report_of(loaded(a_block(machine="m2")))
    assert arm(report, "codegraph").delta.judgement == "not_compared"
    (apart,) = report.incomparable
    assert apart.differs == ("machine: m2 against m1 in its block",)


def test_blocks_of_one_run_may_be_on_different_machines() -> None:
    there = [
        placed(measured(cell("bravo", server), 0.5), machine="m2")
        for server in ("shell", "codegraph")
    ]
    report = report_of(loaded([*a_block(), *there]))
    assert report.incomparable == ()
    assert arm(report, "codegraph").delta.pairs == 2


def test_what_is_broken_or_unfinished_says_nothing_of_when_its_block_ran() -> None:
    cells = [placed(broken(cell("alpha"))), unfinished(cell("alpha", "codegraph"))]
    (block,) = report_of(loaded(cells)).sections[0].blocks
    assert (block.taken_up_at, block.span_sec, block.later) == ("", None, {})


def test_a_moment_that_is_none_spoils_no_report() -> None:
    for bad in ("", "yesterday", "2026-01-02"):
        cells = a_block()
        assert cells[1].result is not None
        spoilt = cells[1].result.model_copy(update={"started_at": bad})
        report = report_of(loaded([cells[0], replace(cells[1], result=spoilt)]))
        assert report.sections[0].blocks[0].span_sec is None


def test_a_run_of_an_earlier_version_says_that_its_order_was_not_drawn() -> None:
    run = loaded(a_block())
    earlier = replace(run, plan=run.plan.model_copy(update={"study": None}))
    report = report_of(earlier)
    assert (report.seed, report.pass_at) == (None, 0.5)
    assert report.sections[0].blocks[0].order == ("shell", "codegraph")
    assert "Their order was not drawn" in terminal.render(report)
    assert any("it was not drawn" in line for line in report.not_concluded)


# --- trials -------------------------------------------------------------------------------------


def trial_cells(scores: dict[str, list[float]], server: str = "shell") -> list[LoadedCell]:
    cells = []
    for name, trials in scores.items():
        for number, score in enumerate(trials, start=1):
            cells.append(measured(cell(name, server, number), score))
    return cells


def test_pass_k_is_of_trials_at_or_above_the_threshold_and_a_mean_over_scenarios() -> None:
    # 2 of 3 pass in alpha, 3 of 3 in bravo; 0.5 itself passes.
    run = loaded(trial_cells({"alpha": [0.5, 0.49, 0.9], "bravo": [0.6, 0.7, 0.8]}))
    report = report_of(run)
    chances = {chance.k: chance for chance in report.arms[0].passes}
    assert list(chances) == [1, 2, 3]
    # alpha: 2/3, 1/3, 0; bravo: 1 each.
    assert [chance.all_of_k for chance in chances.values()] == [0.833, 0.667, 0.5]
    assert [chance.any_of_k for chance in chances.values()] == [0.833, 1.0, 1.0]
    assert [chance.scenarios for chance in chances.values()] == [2, 2, 2]
    assert chances[3].low is None, "two scenarios give no interval"
    alpha = report.sections[0].arms[0].trials
    assert (alpha.planned, alpha.scored, alpha.passed) == (3, 3, 2)
    # Mean 0.63; deviations -0.13, -0.14, 0.27: sqrt(0.1094 / 2).
    assert (alpha.mean, alpha.sd, alpha.lowest, alpha.highest) == (0.63, 0.234, 0.49, 0.9)


def test_the_threshold_is_the_plan_s_and_stands_beside_the_figures() -> None:
    run = loaded(trial_cells({"alpha": [0.5, 0.7]}))
    assert run.plan.study is not None
    study = run.plan.study.model_copy(update={"pass_at": 0.6})
    report = report_of(replace(run, plan=run.plan.model_copy(update={"study": study})))
    assert report.sections[0].arms[0].trials.passed == 1
    assert "A trial passes from a fairness of 0.600 on" in markdown.render(report)
    assert "--pass-at 0.6" in report.repeat.command


def test_a_broken_trial_is_neither_passed_nor_failed_and_stays_planned() -> None:
    cells = trial_cells({"alpha": [0.9, 0.9], "bravo": [0.9, 0.9, 0.1]})
    cells.append(broken(cell("alpha", trial=3)))
    report = report_of(loaded(cells))
    alpha = report.sections[0].arms[0].trials
    assert (alpha.planned, alpha.scored, alpha.passed) == (3, 2, 2)
    chances = {chance.k: chance for chance in report.arms[0].passes}
    # Of three trials only bravo can speak: breaking a cell buys no pass.
    assert (chances[3].scenarios, chances[3].all_of_k) == (1, 0.0)
    assert chances[2].all_of_k == pytest.approx((1 + 1 / 3) / 2, abs=0.001)


def test_an_arm_that_is_lucky_once_is_told_from_one_that_can_be_relied_on() -> None:
    lucky = trial_cells({key: [0.9, 0.1, 0.1, 0.9] for key in NAMES})
    steady = trial_cells({key: [0.5, 0.5, 0.5, 0.5] for key in NAMES}, "codegraph")
    report = report_of(loaded([*lucky, *steady]))
    at_four = {one.label: one.passes[-1] for one in report.arms}
    assert at_four["shell"].k == 4
    # The same mean fairness of 0.5, and the lucky one even passes at least once for sure.
    assert arm(report, "shell").fairness.score.value == 0.5
    assert (at_four["shell"].any_of_k, at_four["shell"].all_of_k) == (1.0, 0.0)
    assert (at_four["codegraph"].all_of_k, at_four["codegraph"].low) == (1.0, 1.0)


def test_without_repetition_there_is_no_table_of_trials() -> None:
    text = markdown.render(report_of(loaded(a_block())))
    assert "pass^k" not in text
    assert "pass^k" in markdown.render(report_of(loaded(trial_cells({"alpha": [0.5, 0.6]}))))


# --- what was paid for in vain ------------------------------------------------------------------


def lost(of: Cell, *, cut: bool, turns: int) -> LoadedCell:
    took = Usage(step=0, turn=0, input_tokens=1000, output_tokens=100, wall_sec=1)
    attempt = LostAttempt(cut=cut, turns=(took,) * turns)
    return replace(measured(of, 0.5), lost=(attempt,))


def test_what_cut_and_broken_attempts_cost_is_told_for_each_model() -> None:
    other = "openai:small"
    cells = [
        lost(cell("alpha"), cut=True, turns=6),
        lost(cell("bravo"), cut=True, turns=1),
        lost(cell("charlie"), cut=False, turns=2),
        lost(cell("alpha", model=other), cut=True, turns=3),
    ]
    run = loaded(cells)
    prices = PriceList(date="2026-01-31", models={MODEL: PRICE})
    report = report_of(replace(run, plan=run.plan.model_copy(update={"prices": prices})))
    found = {(one.model, one.why): one for one in report.lost}
    assert list(found) == [(MODEL, "cut"), (MODEL, "broken"), (other, "cut")]
    cut = found[MODEL, "cut"]
    # A turn is 1,000 in at 10 and 100 out at 100 per million: 0.02 dollars.
    assert (cut.attempts, cut.input_tokens, cut.output_tokens, cut.usd) == (2, 7000, 700, 0.14)
    assert (found[MODEL, "broken"].usd, found[other, "cut"].usd) == (0.04, None)
    text = markdown.render(report)
    assert "What attempts cost that were cut or broken" in text
    assert "7,000" in text


def test_a_run_that_lost_nothing_has_no_such_table() -> None:
    report = report_of(loaded(a_block()))
    assert report.lost == ()
    assert "cut or broken" not in terminal.render(report)
