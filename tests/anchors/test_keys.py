"""The gate of questions with a key: it ranks because every pair of every question is told apart."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from runner.catalog.catalog import load_catalog
from runner.catalog.commit_lines import CommitLines
from runner.gate import gate
from runner.gate.exact_examination import EXAMINED
from runner.gate.exact_pairs import KINDS, SHUFFLED, ask_pairs
from runner.records import GateVerdict
from runner.scoring.judges.exact_judge import Exact
from runner.support.errors import AnchorsDisagree, AnchorsDrifted, FairtrialError, NoVerdict
from tests.anchors.material import CORE, DATE, Tree, accept, locked
from tests.scoring.material import Tree as Files

FILE = "scenarios/exact/shop/questions.yaml"
BODY = "".join(f"def f{line}(): return g{line}()\n" for line in range(1, 801))
SHOP = Files({f"shop/{name}.py": BODY for name in ("cart", "till", "desk", "order", "stock")})


def question(number: int) -> dict[str, object]:
    """Two places, a near miss, and something optional; every third has none."""
    line = 10 * number
    places = [
        {"path": "shop/cart.py", "line": 60 + line},
        {"path": "shop/till.py", "line": 300 + line, "symbol": f"f{line}"},
    ]
    key = {
        "kind": "callers",
        "places": [] if number % 3 == 0 else places,
        "optional": [{"path": "shop/desk.py", "line": line, "end": line + 3}],
        "wrong": [{"path": "shop/stock.py", "line": 400 + line}],
    }
    return {"name": f"q{number}", "prompt": f"Who calls `g{line}`?", "key": key}


def questions(*numbers: int) -> dict[str, object]:
    return {
        "title": "Shop",
        "repository": {"kind": "git", "url": "/shop", "commit": "0" * 40},
        "licence": "MIT",
        "language": "python",
        "seed": 1,
        "budget": {"tokens": 40000, "wall_sec": 300, "actions": 60},
        "questions": [question(number) for number in numbers],
    }


def write(tree: Tree, asked: object) -> None:
    tree.write(FILE, yaml.safe_dump(asked, sort_keys=False))


def source(_: str) -> CommitLines:
    return CommitLines(lambda: SHOP)


def accept_keys(tree: Tree) -> GateVerdict:
    return gate.accept(
        tree.root, Exact(), reason="questions with keys", date=DATE, sources=source
    ).verdict


def verify(tree: Tree, *scenarios: str) -> GateVerdict:
    return gate.verify(tree.root, Exact(), scenarios=scenarios or None, sources=source)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = locked(tmp_path)
    write(made, questions(*range(1, 31)))
    return made


def test_it_ranks_if_every_pair_of_every_question_is_won(tree: Tree) -> None:
    examined = accept_keys(tree).examination

    assert examined.standing == "ranks", examined.unmet
    assert {it.name: it.figure for it in examined.requirements} == dict.fromkeys(
        [EXAMINED, *KINDS], 1.0
    )
    assert verify(tree, "shop.q1", "shop.q3").examination.standing == "ranks"
    again = gate.verify(tree.root, Exact(), sources=source, pairs="again")
    assert again.examination.standing == "ranks"


def test_a_run_has_no_gate_before_its_questions_were_accepted(tree: Tree) -> None:
    with pytest.raises(AnchorsDrifted, match=r"shop\.q1"):
        verify(tree, "shop.q1")
    accept(tree, reason="the files alone")
    with pytest.raises(NoVerdict, match="exact"):
        verify(tree, "shop.q1")


def test_a_question_that_was_not_examined_ranks_nobody(tree: Tree) -> None:
    accept_keys(tree)
    write(tree, questions(*range(1, 32)))
    accept(tree, reason="one more, by a judge that reads no keys")

    assert verify(tree, "shop.q1").examination.standing == "ranks"
    verdict = verify(tree, "shop.q1", "shop.q31").examination
    assert verdict.standing == "screens"
    assert [it.name for it in verdict.unmet] == [EXAMINED]
    accept_keys(tree)
    assert verify(tree, "shop.q1", "shop.q31").examination.standing == "ranks"
    with pytest.raises(FairtrialError, match="nothing changed"):
        accept_keys(tree)


def test_a_changed_key_closes_the_gate(tree: Tree) -> None:
    accept_keys(tree)
    tree.edit(FILE, "line: 70", "line: 71")

    with pytest.raises(AnchorsDrifted, match=r"shop/questions.yaml"):
        verify(tree, "shop.q2")


def test_a_few_questions_vouch_for_nobody(tmp_path: Path) -> None:
    tree = locked(tmp_path)
    write(tree, questions(1, 2, 3))

    examined = accept_keys(tree).examination
    assert examined.standing == "screens"
    assert all("too few pairs" in it.note for it in examined.unmet)


def test_a_key_that_can_be_gamed_is_found_and_named(tree: Tree) -> None:
    asked = questions(*range(1, 31))
    first = asked["questions"][0]  # type: ignore[index]
    # Its near miss lies inside of its place: whoever cites it is told to be right.
    first["key"]["places"][0]["end"] = 300
    first["key"]["wrong"] = [{"path": "shop/cart.py", "line": 200}]
    write(tree, asked)

    unmet = accept_keys(tree).examination.unmet
    assert "a near miss beside the places" in {it.name for it in unmet}


def test_a_judge_of_keys_lets_no_rubric_in(tree: Tree) -> None:
    rubric = tree.rubric(f"core/{CORE}")
    rubric["audience"] = "somebody else"
    tree.write_rubric(f"core/{CORE}", rubric)

    with pytest.raises(AnchorsDisagree, match="reads no rubric"):
        accept_keys(tree)


def test_words_may_be_shuffled_and_every_kind_is_asked_of_a_question(tree: Tree) -> None:
    catalog = load_catalog(tree.root)
    other = catalog.scenarios["shop.q4"].question
    assert other is not None

    pairs = ask_pairs(Exact(), catalog.scenarios["shop.q2"], SHOP, [other.key])
    assert not pairs.lost
    assert {*KINDS} - {*pairs.asked} == {"none, but maybe one"}
    assert pairs.asked[SHUFFLED] == 1
