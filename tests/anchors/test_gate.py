from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from runner.catalog.catalog import load_catalog
from runner.gate import calibration_data, chain, gate
from runner.gate.examination import refusal
from runner.protocols import LineSource
from runner.records import (
    AnchorsLock,
    AnswerStep,
    Correlation,
    GateVerdict,
    MustCite,
    Rubric,
    Verdict,
)
from runner.scoring import FAIRNESS
from runner.scoring.judges.checklist.checklist import Checklist
from runner.scoring.rank_agreement import correlate
from runner.support.errors import (
    AnchorsDisagree,
    AnchorsDrifted,
    CatalogError,
    Drift,
    FairtrialError,
    NoVerdict,
)
from tests.anchors.material import (
    CORE,
    DATE,
    HELD_OUT,
    FarAway,
    Tree,
    accept,
    locked,
    regrade,
    verify,
)

ONE = "scenarios/held-out/queue-one"
RUBRIC = f"{ONE}/rubric.yaml"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return locked(tmp_path)


def drifts(tree: Tree, scenarios: list[str] | None = None) -> tuple[Drift, ...]:
    with pytest.raises(AnchorsDrifted) as caught:
        gate.verify(tree.root, Checklist(), scenarios=scenarios)
    return caught.value.drifts


def words(found: Sequence[Drift]) -> list[str]:
    return [str(drift) for drift in found]


def synonym(tree: Tree, folder: str = "held-out/queue-one") -> None:
    """A sensible edit: one more wording of a fact."""
    rubric = tree.rubric(folder)
    rubric["steps"][0]["criteria"]["map_quality"]["facts"][0]["terms"][1].append("stash*")
    tree.write_rubric(folder, rubric)


def invert(tree: Tree, folder: str = "held-out/queue-one") -> None:
    """Every criterion of the scenario now rewards what no answer should say."""
    rubric = tree.rubric(folder)
    for step in rubric["steps"]:
        for criterion in step["criteria"].values():
            for fact in criterion["facts"]:
                fact["terms"] = [["usual", "robust", "FailureJournal", "journal*"]]
                fact["cites"] = []
    tree.write_rubric(folder, rubric)


# --- verify ---------------------------------------------------------------------------------


def test_an_unchanged_tree_opens_the_gate_and_says_how_well_it_agrees(tree: Tree) -> None:
    verdict = verify(tree)
    assert (verdict.refusal, verdict.generation) == ("", 1)
    assert (verdict.transcripts.n, verdict.steps.n) == (15, 30)
    assert verdict.transcripts.rho is not None and verdict.transcripts.rho >= 0.85
    assert set(verdict.scenarios) == set(HELD_OUT)
    assert len(verdict.disagreements) == 2
    gate.require(verdict)


def test_verifying_changes_nothing(tree: Tree) -> None:
    before = tree.snapshot()
    verify(tree)
    gate.preview_accept(tree.root, Checklist())
    assert tree.snapshot() == before


def test_without_a_lock_the_gate_is_closed(tmp_path: Path) -> None:
    assert words(drifts(Tree.made(tmp_path))) == ["locks/anchors.lock: there is none"]


def test_one_changed_character_of_a_rubric_is_named_with_both_digests(tree: Tree) -> None:
    tree.edit(RUBRIC, "A coding agent", "A coding Agent")
    (drift,) = drifts(tree)
    assert (drift.where, drift.what) == (RUBRIC, "changed")
    assert len(drift.expected) == len(drift.found) == 64


def test_every_drift_is_listed_and_not_just_the_first(tree: Tree) -> None:
    tree.edit(RUBRIC, "A coding agent", "Me")
    (tree.root / ONE / "transcripts/thin.jsonl").unlink()
    tree.write("scenarios/held-out/stray.txt", "x")
    (tree.root / ONE / "transcripts/right.jsonl").rename(tree.root / ONE / "transcripts/best.jsonl")
    best = f"{ONE}/transcripts/best.jsonl"
    assert [(drift.where, drift.what) for drift in drifts(tree)] == [
        (RUBRIC, "changed"),
        (best, "is not in the lock"),
        (f"{ONE}/transcripts/right.jsonl", f"is missing; {best} holds its text"),
        (f"{ONE}/transcripts/thin.jsonl", "is missing"),
        ("scenarios/held-out/stray.txt", "is not in the lock"),
    ]


def test_line_ends_and_file_modes_change_no_digest(tree: Tree) -> None:
    # As a checkout on Windows has them.
    for name in tree.snapshot():
        path = tree.root / name
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        path.chmod(0o755)
    assert verify(tree).refusal == ""


def test_another_weight_of_a_score_is_drift(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FAIRNESS, "llm_quality", replace(FAIRNESS["llm_quality"], weight=0.6))
    assert words(drifts(tree)) == [
        "scoring fairness.llm_quality: changed (expected 0.55, found 0.6)"
    ]


def test_a_scenario_that_no_generation_holds_is_named_and_closes_the_gate_only_for_itself(
    tree: Tree,
) -> None:
    tree.write_scenario("core/new")
    assert verify(tree).unlocked == ("scenarios/core/new/",)
    assert gate.verify(tree.root, Checklist(), scenarios=[CORE]).refusal == ""
    assert words(drifts(tree, scenarios=["new"])) == ["scenario new: no generation holds it"]


def test_a_run_answers_for_the_rubrics_it_uses_and_for_the_anchors_always(tree: Tree) -> None:
    tree.write_scenario("core/other")
    accept(tree, reason="another scenario")
    synonym(tree, "core/other")
    assert gate.verify(tree.root, Checklist(), scenarios=[CORE]).refusal == ""
    synonym(tree, "held-out/queue-two")
    (drift,) = drifts(tree, scenarios=[CORE])
    assert drift.where == "scenarios/held-out/queue-two/rubric.yaml"


# --- verdicts -------------------------------------------------------------------------------


@pytest.fixture
def judged_far_away(tree: Tree) -> Tree:
    gate.accept(tree.root, FarAway(reachable=True), reason="another judge", date=DATE)
    return tree


def test_a_judge_out_of_reach_passes_on_the_verdicts_that_were_accepted(
    judged_far_away: Tree,
) -> None:
    judge = FarAway(reachable=False)
    assert gate.verify(judged_far_away.root, judge).refusal == ""
    assert judge.asked == 0


def test_two_judges_live_in_one_lock(judged_far_away: Tree) -> None:
    assert gate.verify(judged_far_away.root, Checklist()).judge == "checklist"
    assert set(chain.read_chain(judged_far_away.root)[-1].judges) == {"checklist", "far-away"}


def test_a_missing_verdict_of_a_judge_out_of_reach_is_named(judged_far_away: Tree) -> None:
    for path in (judged_far_away.root / "locks/verdicts").glob("*.json"):
        if json.loads(path.read_text())["judge"] == "far-away":
            path.unlink()
    with pytest.raises(NoVerdict, match=r"15 of 15 anchors have no verdict of far-away") as caught:
        gate.verify(judged_far_away.root, FarAway(reachable=False))
    assert "queue-one/thin.jsonl: no API key" in str(caught.value)
    assert gate.verify(judged_far_away.root, FarAway(reachable=True)).refusal == ""


def test_a_judge_that_no_generation_holds_has_no_verdict(tree: Tree) -> None:
    with pytest.raises(
        NoVerdict, match="no generation holds a verdict of the judge far-away"
    ) as caught:
        gate.verify(tree.root, FarAway(reachable=True))
    assert caught.value.hint == (
        "`fairtrial anchors propose --judge far-away` examines it at no cost; "
        "`accept --judge far-away --reason …` takes it where it may be taken"
    )


def test_a_judge_whose_sums_do_not_hold_is_not_believed(tree: Tree) -> None:
    class Generous(Checklist):
        def judge(
            self,
            rubric: Rubric,
            answer: Sequence[AnswerStep],
            must_find: Sequence[Sequence[MustCite]],
            source: LineSource | None = None,
        ) -> Verdict:
            verdict = super().judge(rubric, answer, must_find, source)
            return verdict.model_copy(update={"quality": 1.0})

    with pytest.raises(NoVerdict, match="do not follow from its criteria"):
        gate.verify(tree.root, Generous())


# --- the threshold --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rho", "refused"),
    [(0.85, False), (0.85 - 1e-12, False), (0.8499, True), (1.0, False), (-1.0, True)],
)
def test_a_rho_of_085_passes_and_below_does_not(rho: float, refused: bool) -> None:
    assert bool(refusal(Correlation(rho=rho, n=15, ties_gold=0, ties_judged=0))) == refused


def test_ranks_with_a_rho_of_exactly_085_pass() -> None:
    # Without ties rho = 1 - 6Σd²/(n(n²-1)): n = 15 and Σd² = 84 give 0.85, here by swapping places
    # 6 apart once and 2, 1, 1 apart.
    order = np.arange(15)
    for one, other in ((0, 6), (7, 9), (10, 11), (12, 13)):
        order[[one, other]] = order[[other, one]]
    assert ((order - np.arange(15)) ** 2).sum() == 84
    found = correlate((np.arange(15) / 15).tolist(), (order / 15).tolist())
    assert found.rho == pytest.approx(0.85, abs=1e-12)
    assert refusal(found) == ""


def test_eleven_transcripts_are_too_few_whatever_they_say() -> None:
    assert "too few" in refusal(Correlation(rho=1.0, n=11, ties_gold=0, ties_judged=0))


# --- how a lock moves -----------------------------------------------------------------------


def test_propose_shows_what_a_rubric_edit_would_do(tree: Tree) -> None:
    synonym(tree)
    rubric = tree.rubric("held-out/queue-one")
    rubric["steps"][0]["criteria"]["justification"]["facts"].pop()
    tree.write_rubric("held-out/queue-one", rubric)
    proposal = gate.preview_accept(tree.root, Checklist())
    (change,) = proposal.changes
    assert change.where == RUBRIC and proposal.refusals == ()
    assert proposal.rho_before is not None and proposal.verdict.transcripts.rho is not None
    assert proposal.moves
    for move in proposal.moves:
        assert move.transcript.startswith("queue-one/") and move.before != move.after


def test_a_sensible_edit_is_accepted_and_linked_to_what_was_before(tree: Tree) -> None:
    synonym(tree)
    gate.accept(tree.root, Checklist(), reason="stash says it too", date="2025-02-03")
    first, second = chain.read_chain(tree.root)
    assert (second.generation, second.kind) == (2, "accept")
    assert (second.reason, second.chain) == ("stash says it too", first.chain)
    assert second.previous == chain.digest_of_lock(first) and first.previous is None
    assert verify(tree).generation == 2


def test_an_edit_that_inverts_the_rubric_is_refused_with_exit_4_and_writes_nothing(
    tree: Tree,
) -> None:
    invert(tree)
    invert(tree, "held-out/queue-two")
    before = tree.snapshot()
    assert gate.preview_accept(tree.root, Checklist()).refusals[0].exit_code == 4
    with pytest.raises(
        AnchorsDisagree, match=r"Spearman's rho .* is -?0\.\d+, below 0\.85"
    ) as caught:
        accept(tree, reason="better")
    assert caught.value.exit_code == 4 and tree.snapshot() == before


def test_one_inverted_criterion_is_refused_by_its_own_reference_answer(tree: Tree) -> None:
    rubric = tree.rubric(f"core/{CORE}")
    for fact in rubric["steps"][0]["criteria"]["justification"]["facts"]:
        fact["terms"] = [["robust", "usual"]]
    tree.write_rubric(f"core/{CORE}", rubric)
    with pytest.raises(
        AnchorsDisagree,
        match=r"shop-queue: its reference answer .*trace, justification: 0\.00, below 0\.5",
    ):
        accept(tree, reason="better")


def test_a_scenario_that_nobody_has_reviewed_enters_no_generation(tree: Tree) -> None:
    tree.write_scenario("imported/new")
    tree.edit("scenarios/imported/new/scenario.yaml", "unreviewed: ''", "unreviewed: no facts")
    shutil.rmtree(tree.root / "scenarios/imported/new/reference")
    with pytest.raises(AnchorsDisagree, match=r"new: its reference answer .*nobody has reviewed"):
        accept(tree, reason="another scenario")


def test_new_weights_of_a_rubric_move_the_judged_scores_and_never_the_gold(tree: Tree) -> None:
    before = gold_of(verify(tree))
    rubric = tree.rubric("held-out/queue-one")
    for criterion in rubric["steps"][0]["criteria"].values():
        criterion["weight"] = 0.5
    tree.write_rubric("held-out/queue-one", rubric)
    examined = accept(tree, reason="justification matters more")
    assert gold_of(examined.verdict) == before
    assert gold_of(verify(tree)) == before


def gold_of(verdict: GateVerdict) -> dict[str, float]:
    return {score.transcript: score.gold for score in verdict.scores}


def test_there_is_nothing_to_accept_where_nothing_changed(tree: Tree) -> None:
    with pytest.raises(FairtrialError, match="nothing changed"):
        accept(tree, reason="again")


@pytest.mark.parametrize("move", [gate.accept, gate.regrade])
def test_a_generation_needs_a_reason(tree: Tree, move: object) -> None:
    assert callable(move)
    with pytest.raises(FairtrialError, match="needs a reason"):
        move(tree.root, Checklist(), reason="  ", date=DATE)


def test_a_changed_judge_is_drift_until_it_is_accepted(tree: Tree) -> None:
    changed = Checklist()
    changed.identity = "3" * 64
    with pytest.raises(
        AnchorsDrifted, match="judge checklist: its code, prompt, model or parameters changed"
    ):
        gate.verify(tree.root, changed)
    gate.accept(tree.root, changed, reason="the judge reads tables", date=DATE)
    assert gate.verify(tree.root, changed).refusal == ""


def test_accept_keeps_no_verdict_that_no_judge_goes_by(judged_far_away: Tree) -> None:
    root = judged_far_away.root
    synonym(judged_far_away)
    gate.accept(root, Checklist(), reason="stash says it too", date=DATE)
    lock = chain.read_chain(root)[-1]
    # Another judge's verdicts on the old rubric are stale.
    assert set(lock.judges) == {"checklist"}
    stored = {path.stem for path in (root / "locks/verdicts").iterdir()}
    assert stored == set(lock.judges["checklist"].verdicts)


# --- regrade --------------------------------------------------------------------------------


def lift(tree: Tree) -> None:
    tree.edit(f"{ONE}/gold_scores.json", '"score": 0.8,', '"score": 0.75,')


def test_a_regrade_starts_a_new_chain_that_keeps_the_old_one_and_every_report_shows(
    tree: Tree,
) -> None:
    lift(tree)
    gate.regrade(
        tree.root, Checklist(), reason="a second reader saw it otherwise", date="2025-03-04"
    )
    synonym(tree)
    gate.accept(tree.root, Checklist(), reason="stash says it too", date="2025-03-05")
    shown = gate.gate_record(tree.root, verify(tree))
    assert (shown.generation, shown.chain_started) == (3, "2025-03-04")
    assert shown.chain_reason == "a second reader saw it otherwise"
    assert shown.regrades == ("2025-03-04, generation 2: a second reader saw it otherwise",)
    assert [lock.kind for lock in chain.read_chain(tree.root)] == ["first", "regrade", "accept"]


def test_a_regrade_takes_new_transcripts_with_their_grades(tree: Tree) -> None:
    text = tree.read(f"{ONE}/transcripts/thin.jsonl")
    tree.write(f"{ONE}/transcripts/thin-again.jsonl", text)
    gold = json.loads(tree.read(f"{ONE}/gold_scores.json"))
    gold["transcripts"].append({**gold["transcripts"][1], "transcript": "thin-again.jsonl"})
    tree.write(f"{ONE}/gold_scores.json", json.dumps(gold))
    examined = regrade(tree, reason="one more")
    assert examined.verdict.transcripts.n == 16
    assert verify(tree).transcripts.n == 16


def test_a_regrade_that_disagrees_is_on_record_and_leaves_the_gate_closed(tree: Tree) -> None:
    tree.grade_by_dice()
    regrade(tree, reason="graded by dice")
    with pytest.raises(AnchorsDisagree):
        gate.require(verify(tree))


def test_there_is_nothing_to_regrade_where_no_grade_changed(tree: Tree) -> None:
    with pytest.raises(FairtrialError, match="no grade and no transcript changed"):
        regrade(tree, reason="again")


# --- grades that do not fit -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"thin.jsonl"',
            '"thick.jsonl"',
            "grades ['invented.jsonl', 'right.jsonl', 'swapped.jsonl', 'thick.jsonl'",
        ),
        ('"justification"', '"style"', "expected {'trace': ['justification', 'map_quality']"),
        (
            '"scenario": "queue-one"',
            '"scenario": "queue-two"',
            "grades 'queue-two', but lies in 'queue-one'",
        ),
        ('"score": 0.8,', '"score": 1.8,', "less than or equal to 1"),
    ],
)
def test_grades_that_do_not_fit_their_transcripts_are_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    tree = Tree.made(tmp_path)
    tree.edit(f"{ONE}/gold_scores.json", old, new)
    with pytest.raises(CatalogError) as caught:
        accept(tree, reason="first")
    assert message in str(caught.value) and f"{ONE}/gold_scores.json" in str(caught.value)


def test_gold_is_summed_as_a_judges_quality_is(tree: Tree) -> None:
    anchors = calibration_data.load_anchors(load_catalog(tree.root), None)
    (uncited,) = (anchor for anchor in anchors if anchor.name == "queue-one/uncited.jsonl")
    assert uncited.gold_steps == pytest.approx((0.6 * 0.35 + 0.4 * 0.8, 0.7))
    assert uncited.gold == pytest.approx((0.53 + 0.7) / 2)


def test_a_lock_on_disk_is_canonical_json(tree: Tree) -> None:
    text = tree.read("locks/anchors.lock")
    # Written out here: with the product's own writer the test would agree with any change of it.
    canonical = json.dumps(
        json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    assert text == canonical + "\n"
    assert AnchorsLock.model_validate_json(text).generation == 1
    assert [path.name for path in (tree.root / "locks/anchors").iterdir()] == ["1.lock"]
