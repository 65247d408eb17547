"""Every way we know to move the goal posts, and that it loses."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.anchors import chain, gate
from runner.errors import AnchorsDisagree, AnchorsDrifted, CatalogError, GateError, NoVerdict
from runner.judges.checklist import Checklist
from runner.records import GoldScores, canonical_json, digest_of, parse_json
from tests.anchors.material import CORE, DATE, FarAway, Judging, Tree, locked

ONE = "scenarios/held-out/queue-one"
GOLD = f"{ONE}/gold_scores.json"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return locked(tmp_path)


def refused(tree: Tree, judge: Any = None) -> GateError:
    """What `run` and `report` would be told."""
    with pytest.raises(GateError) as caught:
        gate.require(gate.verify(tree.root, judge or Checklist()))
    return caught.value


def drifted(tree: Tree, judge: Any = None) -> list[str]:
    error = refused(tree, judge)
    assert isinstance(error, AnchorsDrifted) and error.exit_code == 3
    return [drift.where for drift in error.drifts]


def not_accepted(tree: Tree, judge: Any = None) -> GateError:
    before = tree.snapshot()
    with pytest.raises(GateError) as caught:
        gate.accept(tree.root, judge or Checklist(), reason="an improvement", date=DATE)
    assert tree.snapshot() == before, "a refused generation leaves nothing behind"
    return caught.value


# --- the rubric -----------------------------------------------------------------------------


def test_editing_a_rubric_to_favour_one_arm_loses(tree: Tree) -> None:
    """Places no longer count, only the words that one server's tool results put into every answer."""

    def favour(folder: str) -> None:
        rubric = tree.rubric(folder)
        for step in rubric["steps"]:
            for criterion in step["criteria"].values():
                criterion["facts"] = [
                    {"says": "it reads well", "terms": [["pattern", "design", "FailureJournal"]]}
                ]
        tree.write_rubric(folder, rubric)

    favour(f"core/{CORE}")
    assert drifted(tree) == [f"scenarios/core/{CORE}/rubric.yaml"]
    assert not_accepted(tree).exit_code == 4
    for name in ("queue-one", "queue-two", "queue-three"):
        favour(f"held-out/{name}")
    assert len(drifted(tree)) == 4 and not_accepted(tree).exit_code == 4


def test_editing_gold_with_the_rubric_loses(tree: Tree) -> None:
    tree.edit(f"{ONE}/rubric.yaml", "weight: 0.6", "weight: 0.1")
    tree.edit(f"{ONE}/rubric.yaml", "weight: 0.4", "weight: 0.9")
    tree.edit(GOLD, '"score": 0.35', '"score": 0.95')
    assert drifted(tree) == [GOLD, f"{ONE}/rubric.yaml"]
    assert GOLD in str(not_accepted(tree)) and not_accepted(tree).exit_code == 3
    with pytest.raises(AnchorsDrifted, match=r"rubric\.yaml: changed"):
        gate.regrade(tree.root, Checklist(), reason="both at once", date=DATE)


def test_a_rubric_that_changes_its_meaning_through_yaml_anchors_loses(tree: Tree) -> None:
    """Digests are of bytes: a merge that a hash of the parsed form might not see is a change, and the reader refuses it."""
    tree.edit(f"{ONE}/rubric.yaml", "audience: A coding", "audience: &a A coding")
    tree.edit(f"{ONE}/rubric.yaml", "question: Does it say what", "question: *a #")
    assert drifted(tree) == [f"{ONE}/rubric.yaml"]
    with pytest.raises(CatalogError, match="aliases"):
        gate.accept(tree.root, Checklist(), reason="shorter", date=DATE)


def test_a_rubric_that_gives_a_key_twice_loses(tree: Tree) -> None:
    tree.edit(f"{ONE}/rubric.yaml", "weight: 0.6\n", "weight: 0.6\n      weight: 0.6\n")
    assert drifted(tree) == [f"{ONE}/rubric.yaml"]
    with pytest.raises(CatalogError, match="given twice"):
        gate.accept(tree.root, Checklist(), reason="clearer", date=DATE)


@pytest.mark.parametrize(("name", "where"), [(CORE, f"aaa/{CORE}"), ("queue-one", "aaa/queue-one")])
def test_a_scenario_that_stands_in_for_a_locked_one_from_another_folder_loses(
    tree: Tree, name: str, where: str
) -> None:
    """The catalog goes by id: the first folder of that name is the one a run would be judged with."""
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
    texts = tree.read(right), tree.read(thin)
    tree.write(right, texts[1])
    tree.write(thin, texts[0])
    assert drifted(tree) == [right, thin]
    assert not_accepted(tree).exit_code == 3


def test_deleting_the_worst_anchor_loses(tree: Tree) -> None:
    (tree.root / ONE / "transcripts/invented.jsonl").unlink()
    gold = json.loads(tree.read(GOLD))
    gold["transcripts"] = [
        item for item in gold["transcripts"] if item["transcript"] != "invented.jsonl"
    ]
    tree.write(GOLD, json.dumps(gold))
    assert drifted(tree) == [GOLD, f"{ONE}/transcripts/invented.jsonl"]
    assert not_accepted(tree).exit_code == 3


def test_adding_easy_anchors_loses(tree: Tree) -> None:
    gold = json.loads(tree.read(GOLD))
    for number in range(5):
        tree.write(
            f"{ONE}/transcripts/easy-{number}.jsonl",
            tree.read("scenarios/held-out/queue-three/transcripts/silent.jsonl"),
        )
        silent = json.loads(json.dumps(gold["transcripts"][0]).replace("invented", "silent"))
        gold["transcripts"].append({**silent, "transcript": f"easy-{number}.jsonl"})
    tree.write(GOLD, json.dumps(gold))
    assert drifted(tree) == [
        GOLD,
        *(f"{ONE}/transcripts/easy-{number}.jsonl" for number in range(5)),
    ]
    assert not_accepted(tree).exit_code == 3


def test_a_whole_easy_held_out_scenario_loses(tree: Tree) -> None:
    for path in sorted((tree.root / ONE).rglob("*")):
        if path.is_file():
            name = path.relative_to(tree.root / ONE).as_posix()
            tree.write(
                f"scenarios/held-out/queue-easy/{name}",
                path.read_text().replace("queue-one", "queue-easy"),
            )
    assert all(where.startswith("scenarios/held-out/queue-easy/") for where in drifted(tree))
    assert not_accepted(tree).exit_code == 3


@pytest.mark.parametrize(
    "value", ["NaN", "Infinity", "-Infinity", "1e999", '"0.5"', "null", "true"]
)
def test_a_grade_that_is_no_number_from_0_to_1_loses(tmp_path: Path, value: str) -> None:
    tree = Tree(tmp_path)
    tree.write(GOLD, re.sub(r'"score": 0\.35', f'"score": {value}', tree.read(GOLD), count=1))
    with pytest.raises(CatalogError, match=r"gold_scores\.json"):
        gate.accept(tree.root, Checklist(), reason="first", date=DATE)
    with pytest.raises(CatalogError):
        parse_json(tree.read(GOLD), GoldScores, where=GOLD)


def test_a_grade_given_twice_loses(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.write(
        GOLD, re.sub(r'"score": 0\.35', '"score": 0.9, "score": 0.35', tree.read(GOLD), count=1)
    )
    with pytest.raises(CatalogError, match="given twice"):
        gate.accept(tree.root, Checklist(), reason="first", date=DATE)


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
        chain.LOCK,
    ],
)
def test_a_symlink_loses_even_where_it_leads_to_the_same_text(tree: Tree, path: str) -> None:
    target = tree.root / path
    elsewhere = tree.root.parent / f"{tree.root.name}-elsewhere"
    target.rename(elsewhere)
    target.symlink_to(elsewhere)
    where = drifted(tree)
    assert path in where
    with pytest.raises(GateError):
        gate.accept(tree.root, Checklist(), reason="moved", date=DATE)


def test_a_linked_generation_of_the_chain_loses(tree: Tree) -> None:
    elsewhere = tree.root / "1.lock"
    (tree.root / "locks/anchors/1.lock").rename(elsewhere)
    (tree.root / "locks/anchors/1.lock").symlink_to(elsewhere)
    assert "locks/anchors/1.lock" in drifted(tree)


# --- verdicts -------------------------------------------------------------------------------


def store(tree: Tree, judge: str) -> list[Path]:
    return [
        path
        for path in sorted((tree.root / "locks/verdicts").iterdir())
        if json.loads(path.read_text())["judge"] == judge
    ]


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
    """The old verdicts are copied to where the new ones would stand, and the judge is out of reach: nothing speaks for the change."""
    root = tree.root
    gate.accept(root, FarAway(reachable=True), reason="another judge", date=DATE)
    judge = FarAway(reachable=False, identity="5" * 64 if what == "judge" else "2" * 64)
    if what == "rubric":
        tree.edit(
            f"{ONE}/rubric.yaml", "Does it say what escapes?", "Does it say what escapes from it?"
        )
    assert refused(tree, judge).exit_code == 3
    from runner.anchors.material import load_anchors
    from runner.anchors.verdicts import key_of
    from runner.catalog import load_catalog

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
    lock = chain.read_chain(tree.root)[-1]
    held = lock.judges["far-away"]
    forged = held.model_copy(
        update={"verdicts": {**held.verdicts, one.stem: held.verdicts[other.stem]}}
    )
    chain.write_generation(
        tree.root, lock.model_copy(update={"judges": {**lock.judges, "far-away": forged}})
    )
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
        *(
            (score, "below 0.85")
            for score in (_length, _citations, _chance, lambda text: 1 - _length(text))
        ),
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


def forge(tree: Tree) -> dict[str, Any]:
    """A lock that holds the digest of edited gold, all else as it was."""
    tree.edit(GOLD, '"score": 0.35', '"score": 0.95')
    lock: dict[str, Any] = json.loads(tree.read("locks/anchors.lock"))
    lock["files"][GOLD] = hashlib.sha256((tree.root / GOLD).read_bytes()).hexdigest()
    return lock


def text_of(lock: dict[str, Any]) -> str:
    return canonical_json(lock) + "\n"


def test_a_lock_rewritten_without_its_chain_loses(tree: Tree) -> None:
    tree.write("locks/anchors.lock", text_of(forge(tree)))
    assert drifted(tree) == ["locks/anchors.lock"]


def test_a_lock_that_adds_a_generation_without_the_digest_before_it_loses(tree: Tree) -> None:
    forged = {**forge(tree), "generation": 2, "kind": "accept", "previous": "0" * 64}
    for path in ("locks/anchors.lock", "locks/anchors/2.lock"):
        tree.write(path, text_of(forged))
    assert drifted(tree) == ["locks/anchors/2.lock"]


def test_a_rewritten_generation_in_the_middle_of_the_chain_loses(tree: Tree) -> None:
    tree.edit(
        f"{ONE}/rubric.yaml", "Does it say what escapes?", "Does it say what escapes from it?"
    )
    gate.accept(tree.root, Checklist(), reason="plainer", date=DATE)
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
    tree.edit(
        f"{ONE}/rubric.yaml", "Does it say what escapes?", "Does it say what escapes from it?"
    )
    gate.accept(tree.root, Checklist(), reason="plainer", date=DATE)
    tree.write("locks/anchors.lock", tree.read("locks/anchors/1.lock"))
    tree.edit(
        f"{ONE}/rubric.yaml", "Does it say what escapes from it?", "Does it say what escapes?"
    )
    assert drifted(tree) == ["locks/anchors.lock"]


def test_a_lock_that_gives_a_key_twice_loses(tree: Tree) -> None:
    text = tree.read("locks/anchors.lock").replace(
        '"generation":1', '"generation":7,"generation":1'
    )
    for path in ("locks/anchors.lock", "locks/anchors/1.lock"):
        tree.write(path, text)
    assert drifted(tree) == ["locks/anchors/1.lock"]


def test_gold_weights_moved_without_a_regrade_lose(tree: Tree) -> None:
    tree.edit(
        f"{ONE}/rubric.yaml", "Does it say what escapes?", "Does it say what escapes from it?"
    )
    gate.accept(tree.root, Checklist(), reason="plainer", date=DATE)
    lock = json.loads(tree.read("locks/anchors.lock"))
    lock["gold_weights"]["queue-one"]["trace"] = {"map_quality": 0.0, "justification": 1.0}
    for path in ("locks/anchors.lock", "locks/anchors/2.lock"):
        tree.write(path, text_of(lock))
    assert drifted(tree) == ["locks/anchors/2.lock"]


def git(tree: Tree, *arguments: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *arguments], cwd=tree.root, check=True, capture_output=True)


def commit(tree: Tree) -> None:
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        git(tree, *arguments)


def reword(tree: Tree, how: str) -> None:
    tree.edit(f"{ONE}/rubric.yaml", "Does it say what escapes", f"{how} Does it say what escapes")
    gate.accept(tree.root, Checklist(), reason=how, date=DATE)


@pytest.mark.parametrize("committed", [False, True])
def test_a_whole_chain_rewritten_consistently_is_seen_by_git(tree: Tree, committed: bool) -> None:
    commit(tree)
    assert gate.verify(tree.root, Checklist()).refusal == ""
    forged = text_of(forge(tree))
    for path in ("locks/anchors.lock", "locks/anchors/1.lock"):
        tree.write(path, forged)
    if committed:
        commit(tree)
    assert drifted(tree) == ["locks/anchors/1.lock"]


def test_two_branches_that_each_accept_a_generation_can_be_merged(tree: Tree) -> None:
    commit(tree)
    git(tree, "checkout", "-qb", "other")
    reword(tree, "Theirs.")
    commit(tree)
    git(tree, "checkout", "-q", "-")
    reword(tree, "Ours.")
    commit(tree)
    git(tree, "merge", "-q", "-s", "ours", "--no-commit", "other")
    reword(tree, "Theirs.")
    commit(tree)
    assert gate.verify(tree.root, Checklist()).generation == 3


def test_the_digest_of_the_lock_tells_two_histories_apart_without_git(tree: Tree) -> None:
    before = gate.gate_record(tree.root, gate.verify(tree.root, Checklist())).lock
    forged = text_of(forge(tree))
    for path in ("locks/anchors.lock", "locks/anchors/1.lock"):
        tree.write(path, forged)
    assert gate.gate_record(tree.root, gate.verify(tree.root, Checklist())).lock != before
    assert before != digest_of({})
