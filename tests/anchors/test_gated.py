"""The gate in front of `run` and `report`, by the command itself: exit code and words together."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from runner.gate import gate
from runner.gate.chain import read_chain
from runner.gate.rescoring import stamp_of
from runner.records import Plan
from runner.records.run_store import RunStore
from runner.report import html, markdown, terminal
from runner.report.build_report import build_report
from runner.report.records import Report
from runner.scoring.judges.checklist.checklist import Checklist
from tests.anchors.material import CORE, Judging, Tree, accept, locked, pin_shop, regrade, verify
from tests.checkout import ended
from tests.report import loaded
from tests.scoring.material import GOOD
from tests.test_audit import Ran, planned

HELD_OUT_RUBRIC = "scenarios/held-out/queue-one/rubric.yaml"
CORE_RUBRIC = f"scenarios/core/{CORE}/rubric.yaml"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return locked(tmp_path)


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once: the checklist is asked about every pair for its first generation."""
    upstream = tmp_path_factory.mktemp("upstream")
    root = tmp_path_factory.mktemp("shop")
    made = Tree.made(root)
    pin_shop(made, upstream)
    accept(made, reason="first generation")
    return root


@pytest.fixture
def with_shop(tmp_path: Path, shop: Path) -> Tree:
    """A checkout whose core scenario has a real repository: a report scores again."""
    shutil.copytree(shop, tmp_path, dirs_exist_ok=True)
    return Tree(tmp_path)


def fairtrial(tree: Tree, *arguments: str) -> int:
    return ended("--root", tree.root, *arguments)


def finished_run(tree: Tree, *, ungated: bool = False, answers: Sequence[str] = GOOD) -> RunStore:
    """One measured cell of `shell` on the core scenario, scored by the checklist judge."""
    ran = Ran(root=tree.root, store=RunStore(tree.root / "runs" / "done"))
    cells = planned(ran.checkout, CORE)[:1]
    created_at = "2026-01-02T03:04:05Z"
    stamp = None if ungated else stamp_of(read_chain(tree.root)[-1])
    plan = Plan(run="done", created_at=created_at, ungated=ungated, cells=cells, gate=stamp)
    ran.store.write_plan(plan)
    ran.write_attempt(cells[0], answers)
    for card in ran.audit.cards(ran.audit.evidence()):
        ran.store.write_scorecard(card)
    return ran.store


def report_json(store: RunStore) -> Any:
    return json.loads((store.folder / "report.json").read_text())


# --- verify-anchors -------------------------------------------------------------------------


def test_verify_anchors_passes_with_rho_n_and_interval(
    tree: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fairtrial(tree, "verify-anchors") == 0
    out = capsys.readouterr().out
    assert "rho = 0.9" in out and "n = 15" in out and "[0." in out
    assert out.endswith("the gate is open\n")


def test_verify_anchors_as_json_holds_the_figures(
    tree: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fairtrial(tree, "verify-anchors", "--json") == 0
    verdict = json.loads(capsys.readouterr().out)
    overall = verdict["transcripts"]
    assert verdict["passed"] is True and overall["n"] == len(verdict["scores"]) == 15
    assert overall["low"] < overall["rho"] <= overall["high"]


def test_one_character_of_a_rubric_ends_in_exit_3_in_words_and_in_json(
    tree: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    tree.edit(HELD_OUT_RUBRIC, "A coding agent", "A coding agenT")
    assert fairtrial(tree, "verify-anchors") == 3
    printed = capsys.readouterr()
    assert printed.out == "" and f"{HELD_OUT_RUBRIC}: changed (expected " in printed.err
    assert "hint: undo it; or `fairtrial anchors propose`" in printed.err
    assert fairtrial(tree, "verify-anchors", "--json") == 3
    as_json = json.loads(capsys.readouterr().out)
    assert (as_json["passed"], as_json["exit_code"]) == (False, 3)
    assert as_json["drifts"][0]["where"] == HELD_OUT_RUBRIC


def test_propose_and_accept_by_the_command(tree: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    tree.edit(HELD_OUT_RUBRIC, "A coding agent", "A coding agenT")
    assert fairtrial(tree, "anchors", "propose") == 0
    assert "accept would take it" in capsys.readouterr().out
    assert fairtrial(tree, "anchors", "accept", "--reason", "a typo, for the sake of it") == 0
    printed = capsys.readouterr()
    assert "generation 2" in printed.out
    assert "wrote locks/anchors.lock, generation 2 (accept)" in printed.err
    assert fairtrial(tree, "verify-anchors") == 0


def test_propose_says_with_its_exit_code_that_accept_would_refuse(
    tree: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    rubric = tree.rubric(f"core/{CORE}")
    for fact in rubric["steps"][1]["criteria"]["map_quality"]["facts"]:
        fact["terms"] = [["robust"]]
    tree.write_rubric(f"core/{CORE}", rubric)
    assert fairtrial(tree, "anchors", "propose") == 4
    assert "accept would refuse: its reference answer no longer earns" in capsys.readouterr().out


def test_an_unknown_judge_is_a_mistake_of_the_user(
    tree: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fairtrial(tree, "verify-anchors", "--judge", "check") == 1
    assert "did you mean checklist?" in capsys.readouterr().err


# --- run ------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [HELD_OUT_RUBRIC, CORE_RUBRIC])
def test_run_refuses_before_anything_is_built(
    tree: Tree, path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # An image takes minutes to build, and the user would wait for a refusal.
    def never(*_: object, **__: object) -> None:
        raise AssertionError("an image was asked for")

    monkeypatch.setattr("runner.runs.prepare.prepare", never)
    tree.edit(path, "A coding agent", "A coding agenT")
    assert fairtrial(tree, "run", "--scenario", CORE, "--server", "shell") == 3
    assert path in capsys.readouterr().err
    assert not (tree.root / "runs").exists()


def test_run_refuses_where_the_anchors_disagree(
    tree: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    tree.grade_by_dice()
    regrade(tree, reason="graded by dice")
    assert fairtrial(tree, "run", "--scenario", CORE, "--server", "shell") == 4
    assert "below 0.85" in capsys.readouterr().err


def test_run_refuses_a_judge_that_no_generation_holds(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    generous = Judging(lambda _: 1.0, name="generous")
    monkeypatch.setattr("runner.scoring.judges.open_judge", lambda _: generous)
    assert fairtrial(tree, "run", "--scenario", CORE, "--server", "shell") == 5


def test_run_refuses_a_scenario_that_no_generation_holds(
    tree: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    tree.write_scenario("core/new")
    assert fairtrial(tree, "run", "--scenario", "new", "--server", "shell") == 3
    assert "scenario new: no generation holds it" in capsys.readouterr().err


# --- report ---------------------------------------------------------------------------------


def test_a_gated_report_shows_the_gate_that_stood_in_front_of_it(with_shop: Tree) -> None:
    store = finished_run(with_shop)
    assert fairtrial(with_shop, "report", "done") == 0
    report = report_json(store)
    shown = report["gate"]
    assert report["ungated"] is False
    assert (shown["generation"], shown["judge"], shown["regrades"]) == (1, "checklist", [])
    for name in ("report.md", "report.html"):
        text = (store.folder / name).read_text()
        assert "UNGATED" not in text
        assert shown["lock"] in text and "first generation" in text


def test_report_refuses_while_the_gate_fails_and_ungated_marks_every_page(
    with_shop: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    store = finished_run(with_shop)
    with_shop.edit(HELD_OUT_RUBRIC, "A coding agent", "A coding agenT")
    assert fairtrial(with_shop, "report", "done") == 3
    assert not (store.folder / "report.json").exists()
    capsys.readouterr()
    assert fairtrial(with_shop, "report", "done", "--ungated") == 0
    assert "UNGATED" in capsys.readouterr().out
    report = report_json(store)
    assert report["ungated"] is True and report["gate"] is None
    for name in ("report.md", "report.html"):
        assert "UNGATED" in (store.folder / name).read_text()


def test_a_run_reported_without_the_gate_is_gated_again_once_it_opens(with_shop: Tree) -> None:
    store = finished_run(with_shop)
    with_shop.edit(HELD_OUT_RUBRIC, "A coding agent", "A coding agenT")
    assert fairtrial(with_shop, "report", "done", "--ungated") == 0
    with_shop.edit(HELD_OUT_RUBRIC, "A coding agenT", "A coding agent")
    assert fairtrial(with_shop, "report", "done") == 0
    # The run itself was made behind an open gate.
    assert report_json(store)["ungated"] is False


def test_a_run_made_without_the_gate_stays_ungated_when_it_opens(with_shop: Tree) -> None:
    store = finished_run(with_shop, ungated=True)
    assert fairtrial(with_shop, "report", "done") == 0
    assert report_json(store)["ungated"] is True and report_json(store)["gate"] is None


def test_a_regrade_is_shown_in_every_form_of_a_later_report(tree: Tree) -> None:
    tree.edit("scenarios/held-out/queue-one/gold_scores.json", '"score": 0.8,', '"score": 0.75,')
    gate.regrade(
        tree.root, Checklist(), reason="a second reader saw it otherwise", date="2025-03-04"
    )
    shown = gate.gate_record(tree.root, verify(tree))
    run = loaded.small_run()
    report = build_report(run, *loaded.catalog(run), gate=shown)
    assert Report.model_validate_json(report.model_dump_json()) == report
    for text in (markdown.render(report), html.render(report)):
        assert "2025-03-04, generation 2: a second reader saw it otherwise" in text
    assert "UNGATED" not in terminal.render(report, width=100)
