"""Every way we know to move the goal posts, and that it loses."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.catalog.catalog import load_catalog
from runner.gate import chain, gate
from runner.gate.calibration_data import load_anchors
from runner.gate.verdicts import key_of
from runner.protocols import Judge
from runner.records import GoldScores, canonical_json, digest_of, parse_json
from runner.scoring.judges.checklist.checklist import Checklist
from runner.support.errors import (
    AnchorsDisagree,
    AnchorsDrifted,
    CatalogError,
    GateError,
    NoVerdict,
)
from tests.anchors.material import (
    ANSWERS,
    CORE,
    DATE,
    HELD_OUT,
    FarAway,
    Judging,
    Tree,
    accept,
    locked,
    regrade,
    verify,
)
from tests.checkout import committed
from tests.checkout import git as git_in

ONE = "scenarios/held-out/queue-one"
GOLD = f"{ONE}/gold_scores.json"
FILES = list(ANSWERS["queue-one"])
"""Its transcripts, in the order of the grades."""


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return locked(tmp_path)


def refused(tree: Tree, judge: Judge | None = None) -> GateError:
    """What `run` and `report` would be told."""
    with pytest.raises(GateError) as caught:
        gate.require(gate.verify(tree.root, judge or Checklist()))
    return caught.value


def drifted(tree: Tree, judge: Judge | None = None) -> list[str]:
    error = refused(tree, judge)
    assert isinstance(error, AnchorsDrifted) and error.exit_code == 3
    return [drift.where for drift in error.drifts]


def not_accepted(tree: Tree, judge: Judge | None = None) -> GateError:
    before = tree.snapshot()
    with pytest.raises(GateError) as caught:
        gate.accept(tree.root, judge or Checklist(), reason="an improvement", date=DATE)
    assert tree.snapshot() == before, "a refused generation leaves nothing behind"
    return caught.value


# --- the rubric -----------------------------------------------------------------------------


def test_editing_a_rubric_to_favour_one_arm_loses(tree: Tree) -> None:
    favour(tree, f"core/{CORE}")
    assert drifted(tree) == [f"scenarios/core/{CORE}/rubric.yaml"]
    assert not_accepted(tree).exit_code == 4
    for name in HELD_OUT:
        favour(tree, f"held-out/{name}")
    assert len(drifted(tree)) == 4 and not_accepted(tree).exit_code == 4


def favour(tree: Tree, folder: str) -> None:
    # Places no longer count, only words that one server's tool results put into every answer.
    words = ["pattern", "design", "FailureJournal"]
    rubric = tree.rubric(folder)
    for step in rubric["steps"]:
        for criterion in step["criteria"].values():
            criterion["facts"] = [{"says": "it reads well", "terms": [list(words)]}]
    tree.write_rubric(folder, rubric)


def test_editing_gold_with_the_rubric_loses(tree: Tree) -> None:
    tree.edit(f"{ONE}/rubric.yaml", "weight: 0.6", "weight: 0.1")
    tree.edit(f"{ONE}/rubric.yaml", "weight: 0.4", "weight: 0.9")
    tree.edit(GOLD, '"score": 0.35', '"score": 0.95')
    assert drifted(tree) == [GOLD, f"{ONE}/rubric.yaml"]
    assert GOLD in str(not_accepted(tree)) and not_accepted(tree).exit_code == 3
    with pytest.raises(AnchorsDrifted, match=r"rubric\.yaml: changed"):
        regrade(tree, reason="both at once")


def test_a_rubric_that_changes_its_meaning_through_yaml_anchors_loses(tree: Tree) -> None:
    # A hash of the parsed form might not see the merge: digests are of bytes.
    tree.edit(f"{ONE}/rubric.yaml", "audience: A coding", "audience: &a A coding")
    tree.edit(f"{ONE}/rubric.yaml", "question: Does it say what", "question: *a #")
    assert drifted(tree) == [f"{ONE}/rubric.yaml"]
    with pytest.raises(CatalogError, match="aliases"):
        accept(tree, reason="shorter")


def test_a_rubric_that_gives_a_key_twice_loses(tree: Tree) -> None:
    tree.edit(f"{ONE}/rubric.yaml", "weight: 0.6\n", "weight: 0.6\n      weight: 0.6\n")
    assert drifted(tree) == [f"{ONE}/rubric.yaml"]
    with pytest.raises(CatalogError, match="given twice"):
        accept(tree, reason="clearer")


@pytest.mark.parametrize(("name", "where"), [(CORE, f"aaa/{CORE}"), ("queue-one", "aaa/queue-one")])
def test_a_scenario_that_stands_in_for_a_locked_one_from_another_folder_loses(
    tree: Tree, name: str, where: str
) -> None:
    # The catalog goes by id: a run would be judged with the first folder of that name.
    tree.write_scenario(where)
    with pytest.raises(
        AnchorsDrifted, match=rf"scenarios/{where}/rubric\.yaml: is not in the lock"
    ):
        gate.verify(tree.root, Checklist(), scenarios=[CORE])
    assert all(found.startswith(f"scenarios/{where}/") for found in drifted(tree)) and name in where


# --- gold and transcripts -------------------------------------------------------------------


def test_editing_gold_alone_loses(tree: Tree) -> None:
    tree.edit(GOLD, '"score": 0.35', '"score": 0.36')
    assert drifted(tree) == [GOLD]
    assert not_accepted(tree).exit_code == 3


def test_swapping_two_transcripts_loses(tree: Tree) -> None:
    right, thin = f"{ONE}/transcripts/right.jsonl", f"{ONE}/transcripts/thin.jsonl"
    good, poor = tree.read(right), tree.read(thin)
    # Each text keeps its digest; only which grade it stands beside is another.
    tree.write(right, poor)
    tree.write(thin, good)
    assert drifted(tree) == [right, thin]
    assert not_accepted(tree).exit_code == 3


def test_deleting_the_worst_anchor_loses(tree: Tree) -> None:
    (tree.root / ONE / "transcripts/invented.jsonl").unlink()
    gold = json.loads(tree.read(GOLD))
    del gold["transcripts"][FILES.index("invented.jsonl")]
    tree.write(GOLD, json.dumps(gold))
    assert drifted(tree) == [GOLD, f"{ONE}/transcripts/invented.jsonl"]
    assert not_accepted(tree).exit_code == 3


def test_adding_easy_anchors_loses(tree: Tree) -> None:
    # An empty answer is ranked last by any judge, and five of them would lift every rho.
    silent = tree.read("scenarios/held-out/queue-three/transcripts/silent.jsonl")
    gold = json.loads(tree.read(GOLD))
    added = []
    for number in range(5):
        name = f"easy-{number}.jsonl"
        tree.write(f"{ONE}/transcripts/{name}", silent)
        gold["transcripts"].append({**gold["transcripts"][0], "transcript": name})
        added.append(f"{ONE}/transcripts/{name}")
    tree.write(GOLD, json.dumps(gold))
    assert drifted(tree) == [GOLD, *added]
    assert not_accepted(tree).exit_code == 3


def test_a_whole_easy_held_out_scenario_loses(tree: Tree) -> None:
    easy = "scenarios/held-out/queue-easy"
    shutil.copytree(tree.root / ONE, tree.root / easy)
    for name in ("scenario.yaml", "gold_scores.json"):
        tree.edit(f"{easy}/{name}", "queue-one", "queue-easy")
    assert all(where.startswith(f"{easy}/") for where in drifted(tree))
    assert not_accepted(tree).exit_code == 3


@pytest.mark.parametrize(
    "value", ["NaN", "Infinity", "-Infinity", "1e999", '"0.5"', "null", "true"]
)
def test_a_grade_that_is_no_number_from_0_to_1_loses(tmp_path: Path, value: str) -> None:
    tree = Tree.made(tmp_path)
    tree.write(GOLD, re.sub(r'"score": 0\.35', f'"score": {value}', tree.read(GOLD), count=1))
    with pytest.raises(CatalogError, match=r"gold_scores\.json"):
        accept(tree, reason="first")
    with pytest.raises(CatalogError):
        parse_json(tree.read(GOLD), GoldScores, where=GOLD)


def test_a_grade_given_twice_loses(tmp_path: Path) -> None:
    tree = Tree.made(tmp_path)
    tree.write(
        GOLD, re.sub(r'"score": 0\.35', '"score": 0.9, "score": 0.35', tree.read(GOLD), count=1)
    )
    with pytest.raises(CatalogError, match="given twice"):
        accept(tree, reason="first")


# --- links ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        f"{ONE}/rubric.yaml",
        f"{ONE}/transcripts/thin.jsonl",
        f"{ONE}/transcripts",
        ONE,
        "scenarios/held-out",
        "scenarios",
        chain.ANCHORS_LOCK,
    ],
)
def test_a_symlink_loses_even_where_it_leads_to_the_same_text(tree: Tree, path: str) -> None:
    target = tree.root / path
    elsewhere = tree.root.parent / f"{tree.root.name}-elsewhere"
    target.rename(elsewhere)
    target.symlink_to(elsewhere)
    assert path in drifted(tree)
    with pytest.raises(GateError):
        accept(tree, reason="moved")


def test_a_linked_generation_of_the_chain_loses(tree: Tree) -> None:
    elsewhere = tree.root / "1.lock"
    (tree.root / "locks/anchors/1.lock").rename(elsewhere)
    (tree.root / "locks/anchors/1.lock").symlink_to(elsewhere)
    assert "locks/anchors/1.lock" in drifted(tree)


# --- verdicts -------------------------------------------------------------------------------


def store(tree: Tree, judge: str) -> list[Path]:
    """The judge's verdicts, sorted."""
    paths = []
    for path in sorted((tree.root / "locks/verdicts").iterdir()):
        if json.loads(path.read_text())["judge"] == judge:
            paths.append(path)
    return paths


@pytest.mark.parametrize("judge", [Checklist(), FarAway(reachable=False)])
def test_a_hand_edited_verdict_loses_even_where_its_sums_hold(tree: Tree, judge: Any) -> None:
    gate.accept(tree.root, FarAway(reachable=True), reason="another judge", date=DATE)
    # The verdict on a perfect answer says 1.0 already: that edit would change nothing.
    stored = [(path, json.loads(path.read_text())) for path in store(tree, judge.name)]
    path, verdict = next(pair for pair in stored if pair[1]["quality"] < 1)
    for step in verdict["steps"]:
        for criterion in step["criteria"].values():
            criterion["score"] = 1.0
        step["quality"] = 1.0
    verdict["quality"] = 1.0
    path.write_text(canonical_json(verdict) + "\n")
    assert drifted(tree, judge) == [f"locks/verdicts/{path.name}"]


@pytest.mark.parametrize("what", ["rubric", "judge"])
def test_a_stale_verdict_from_another_rubric_prompt_or_model_loses(tree: Tree, what: str) -> None:
    root = tree.root
    gate.accept(root, FarAway(reachable=True), reason="another judge", date=DATE)
    judge = FarAway(reachable=False)
    if what == "judge":
        judge.identity = "5" * 64
    else:
        reword(tree)
    assert refused(tree, judge).exit_code == 3
    # An old verdict is copied to where each new one would stand, and the judge is out of reach:
    # nothing but the copies speaks for the change.
    stale = store(tree, "far-away")[0].read_text()
    for anchor in load_anchors(load_catalog(root), None):
        path = root / "locks/verdicts" / f"{key_of(judge, anchor)}.json"
        if not path.exists():
            path.write_text(stale)
    with pytest.raises(NoVerdict):
        gate.accept(root, judge, reason="nobody looks", date=DATE)


def test_a_stale_verdict_put_in_the_lock_as_well_is_still_of_another_answer(tree: Tree) -> None:
    gate.accept(tree.root, FarAway(reachable=True), reason="another judge", date=DATE)
    one, other = store(tree, "far-away")[:2]
    one.write_text(other.read_text())
    lock = newest(tree)
    digests = lock["judges"]["far-away"]["verdicts"]
    digests[one.stem] = digests[other.stem]
    write_lock(tree, lock)
    assert isinstance(refused(tree, FarAway(reachable=False)), NoVerdict)


# --- judges that do not read ----------------------------------------------------------------


def _same(_: str) -> float:
    return 0.7


def _length(text: str) -> float:
    return min(1.0, len(text) / 1000)


def _citations(text: str) -> float:
    return min(1.0, len(re.findall(r"[\w/]+\.py:\d+", text)) / 6)


def _chance(text: str) -> float:
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 0xFFFFFFFF


@pytest.mark.parametrize(
    ("score", "reason"),
    [
        (_same, "are all the same"),
        (_length, "below 0.85"),
        (_citations, "below 0.85"),
        (_chance, "below 0.85"),
        (lambda text: 1 - _length(text), "below 0.85"),
    ],
    ids=[
        "the same score always",
        "the length of the answer",
        "the number of citations",
        "chance",
        "brevity",
    ],
)
def test_a_judge_that_does_not_read_loses(
    tree: Tree, score: Callable[[str], float], reason: str
) -> None:
    error = not_accepted(tree, Judging(score))
    assert isinstance(error, AnchorsDisagree) and error.exit_code == 4 and reason in error.what


def test_a_judge_that_takes_the_checklists_name_loses(tree: Tree) -> None:
    assert drifted(tree, Judging(_length, name="checklist")) == ["judge checklist"]


def test_a_judge_that_takes_its_name_and_identity_says_something_else_and_loses(tree: Tree) -> None:
    honest = Checklist()
    assert len(drifted(tree, Judging(_length, name="checklist", identity=honest.identity))) == 1


# --- the lock -------------------------------------------------------------------------------


def newest(tree: Tree) -> dict[str, Any]:
    lock: dict[str, Any] = json.loads(tree.read("locks/anchors.lock"))
    return lock


def forge(tree: Tree) -> dict[str, Any]:
    """A lock that holds the digest of edited gold, all else as it was."""
    tree.edit(GOLD, '"score": 0.35', '"score": 0.95')
    lock = newest(tree)
    lock["files"][GOLD] = hashlib.sha256((tree.root / GOLD).read_bytes()).hexdigest()
    return lock


def text_of(lock: dict[str, Any]) -> str:
    return canonical_json(lock) + "\n"


def write_lock(tree: Tree, lock: dict[str, Any]) -> None:
    """As the gate would: the head, and the generation's own file."""
    for path in ("locks/anchors.lock", f"locks/anchors/{lock['generation']}.lock"):
        tree.write(path, text_of(lock))


def reword(tree: Tree, words: str = "Plainly.") -> None:
    """An edit of a rubric that changes no score."""
    tree.edit(f"{ONE}/rubric.yaml", "Does it say what escapes", f"{words} Does it say what escapes")


def accept_rewording(tree: Tree, words: str = "Plainly.") -> None:
    reword(tree, words)
    accept(tree, reason=words)


def test_a_lock_rewritten_without_its_chain_loses(tree: Tree) -> None:
    tree.write("locks/anchors.lock", text_of(forge(tree)))
    assert drifted(tree) == ["locks/anchors.lock"]


def test_a_lock_that_adds_a_generation_without_the_digest_before_it_loses(tree: Tree) -> None:
    forged = forge(tree)
    write_lock(tree, {**forged, "generation": 2, "kind": "accept", "previous": "0" * 64})
    assert drifted(tree) == ["locks/anchors/2.lock"]


def test_a_rewritten_generation_in_the_middle_of_the_chain_loses(tree: Tree) -> None:
    accept_rewording(tree)
    first = json.loads(tree.read("locks/anchors/1.lock"))
    tree.write("locks/anchors/1.lock", text_of({**first, "reason": "another story"}))
    assert drifted(tree) == ["locks/anchors/2.lock"]


@pytest.mark.parametrize("kept", ["locks/anchors/1.lock", "locks/anchors.lock"])
def test_a_chain_cut_short_loses(tree: Tree, kept: str) -> None:
    for path in ("locks/anchors/1.lock", "locks/anchors.lock"):
        if path != kept:
            (tree.root / path).unlink()
    assert drifted(tree)


def test_the_newest_generation_taken_away_loses(tree: Tree) -> None:
    rubric = tree.read(f"{ONE}/rubric.yaml")
    accept_rewording(tree)
    # The files are put back with the head: nothing but the chain remembers generation 2.
    tree.write("locks/anchors.lock", tree.read("locks/anchors/1.lock"))
    tree.write(f"{ONE}/rubric.yaml", rubric)
    assert drifted(tree) == ["locks/anchors.lock"]


def test_a_lock_that_gives_a_key_twice_loses(tree: Tree) -> None:
    text = tree.read("locks/anchors.lock").replace(
        '"generation":1', '"generation":7,"generation":1'
    )
    for path in ("locks/anchors.lock", "locks/anchors/1.lock"):
        tree.write(path, text)
    assert drifted(tree) == ["locks/anchors/1.lock"]


def test_gold_weights_moved_without_a_regrade_lose(tree: Tree) -> None:
    accept_rewording(tree)
    lock = newest(tree)
    lock["gold_weights"]["queue-one"]["trace"] = {"map_quality": 0.0, "justification": 1.0}
    write_lock(tree, lock)
    assert drifted(tree) == ["locks/anchors/2.lock"]


# --- git ------------------------------------------------------------------------------------


def git(tree: Tree, *arguments: str) -> None:
    git_in(tree.root, *arguments)


def commit(tree: Tree) -> None:
    committed(tree.root)


def test_a_chain_rewritten_in_a_worktree_is_seen_by_git(tree: Tree, tmp_path: Path) -> None:
    commit(tree)
    elsewhere = tmp_path.with_name(f"{tmp_path.name}-worktree")
    git(tree, "worktree", "add", "-q", str(elsewhere))
    (elsewhere / "images/servers").mkdir(parents=True)
    # There `.git` is a file that names the repository.
    assert (elsewhere / ".git").is_file()
    assert gate.verify(elsewhere, Checklist()).refusal == ""
    forged = text_of(forge(tree))
    for path in ("locks/anchors.lock", "locks/anchors/1.lock"):
        (elsewhere / path).write_text(forged)
    with pytest.raises(AnchorsDrifted, match=r"locks/anchors/1\.lock: was changed after"):
        gate.verify(elsewhere, Checklist())


def test_a_repository_without_a_commit_leaves_it_to_the_links(tree: Tree) -> None:
    git(tree, "init", "-q")
    assert verify(tree).refusal == ""
    tree.write("locks/anchors.lock", text_of(forge(tree)))
    assert drifted(tree) == ["locks/anchors.lock"]


def test_two_branches_that_each_accept_a_generation_can_be_merged(tree: Tree) -> None:
    commit(tree)
    git(tree, "checkout", "-qb", "other")
    accept_rewording(tree, "Theirs.")
    commit(tree)
    git(tree, "checkout", "-q", "-")
    accept_rewording(tree, "Ours.")
    commit(tree)
    # Both made a generation 2; the one merged last numbers its own anew.
    git(tree, "merge", "-q", "-s", "ours", "--no-commit", "other")
    accept_rewording(tree, "Theirs.")
    commit(tree)
    assert verify(tree).generation == 3


def test_the_digest_of_the_lock_tells_two_histories_apart_without_git(tree: Tree) -> None:
    before = gate.gate_record(tree.root, verify(tree)).lock
    write_lock(tree, forge(tree))
    assert gate.gate_record(tree.root, verify(tree)).lock != before
    assert before != digest_of({})
