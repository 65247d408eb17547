"""What is asked is proven, gives nothing away, and is asked again of an equal tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.authoring.drafting.families import families
from runner.authoring.drafting.questions import TO_WRITE, StepDraft
from runner.authoring.drafting.symbol_choice import propose, propose_about, unproven
from runner.records import AnswerStep, MustCite, Rubric, RubricStep
from runner.scoring.judges import open_judge
from runner.scoring.judges.judge_settings import JudgeSettings
from runner.support.errors import FairtrialError
from tests.proposing.test_tree import SHAPES
from tests.proposing.trees import PYTHON, tree_of


def proposals(folder: Path) -> list[StepDraft]:
    tree = tree_of(folder, PYTHON)
    return propose(tree, families(tree), 4)


def test_the_best_symbol_is_asked_about_with_every_place_proven(tmp_path: Path) -> None:
    first, second = proposals(tmp_path)
    assert (first.step.name, second.step.name) == ("callers-of-count-money", "tests-of-count-money")
    assert "of 1 that fit" in first.about
    assert first.step.must_cite == (
        MustCite(path="shop/till.py", line=1, end=3, symbol="count_money"),
        MustCite(path="shop/audit.py", line=8, end=11),
        MustCite(path="shop/day.py", line=6),
        MustCite(path="shop/report.py", line=5),
    )
    tree = tree_of(tmp_path / "again", PYTHON)
    assert not list(unproven(tree, first))


def test_who_overrides_a_method_is_asked_with_every_place_proven(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, SHAPES)
    (asked,) = propose(tree, families(tree), 4)
    assert asked.step.name == "overrides-of-draw-outline"
    assert asked.about == (
        "who overrides Shape.draw_outline: 2 classes, of 1 methods that are overridden"
    )
    assert {(it.path, it.line) for it in asked.step.must_cite} == {
        ("shapes/base.py", 2),
        ("shapes/round.py", 5),
        ("shapes/round.py", 10),
    }
    assert not [word for word in ("Circle", "Ring") if word in asked.step.prompt]


def test_the_prompt_gives_no_keyword_away(tmp_path: Path) -> None:
    for proposal in proposals(tmp_path):
        words = [str(it.value) for it in proposal.step.checks if it.kind == "word"]
        assert words
        assert not [word for word in words if word in proposal.step.prompt]


def test_weights_add_up_and_what_a_person_writes_is_left_open(tmp_path: Path) -> None:
    for proposal in proposals(tmp_path):
        criteria = proposal.rubric.criteria
        assert sum(it.weight for it in criteria.values()) == pytest.approx(1)
        assert [name for name, it in criteria.items() if not it.facts] == [*proposal.to_write]
        assert TO_WRITE in proposal.reference


def test_equal_trees_are_asked_equal_questions(tmp_path: Path) -> None:
    assert proposals(tmp_path / "a") == proposals(tmp_path / "b")


def test_the_half_reference_earns_every_fact_that_is_proven(tmp_path: Path) -> None:
    # Rows like `Day3.close calls count_money (…)` would differ by their paths alone: one spray.
    days = {
        f"shop/{name}.py": "from shop.till import count_money\n\n\n"
        f"class {name}Day:\n    def close(self, till):\n        return count_money(till)\n"
        for name in ("Mon", "Tues", "Wednes", "Thurs", "Fri", "Satur", "Sun", "New", "Pay", "Holi")
    }
    tree = tree_of(tmp_path, {"shop/till.py": PYTHON["shop/till.py"], **days})
    (asked,) = propose(tree, [], 1)
    criteria = asked.rubric.criteria.items()
    proven = {name: it.model_copy(update={"weight": 0.5}) for name, it in criteria if it.facts}
    rubric = Rubric(audience="me", steps=(RubricStep(name=asked.step.name, criteria=proven),))
    answer = AnswerStep(
        name=asked.step.name, prompt=asked.step.prompt, text=asked.reference, completed=True
    )
    verdict = open_judge(JudgeSettings()).judge(rubric, (answer,), (asked.step.must_cite,))
    scores = {name: it.score for name, it in verdict.steps[0].criteria.items()}
    assert scores == {"definition": 1, "call_sites": 1}


def test_a_place_that_does_not_hold_is_found_out(tmp_path: Path) -> None:
    first, _ = proposals(tmp_path)
    tree = tree_of(tmp_path, {"shop/till.py": "\n" * 30 + PYTHON["shop/till.py"]})
    (moved,) = unproven(tree, first)
    assert moved.symbol == "count_money"


def test_a_symbol_of_ones_own_is_asked_about_or_the_reason_said(tmp_path: Path) -> None:
    extra = {"shop/extra.py": "def spend(close_the_day):\n    pass\n"}
    tree = tree_of(tmp_path, {**PYTHON, **extra})
    names = [it.step.name for it in propose_about(tree, "count_money", 9)]
    assert names == ["callers-of-count-money", "tests-of-count-money", "parameter-of-count-money"]
    with pytest.raises(FairtrialError, match=r"close_the_day: shop/extra\.py:1 is no call"):
        propose_about(tree, "close_the_day", 3)
    with pytest.raises(FairtrialError, match="nothing in the code is called 'spent'"):
        propose_about(tree, "spent", 3)


def test_a_small_tree_gets_what_few_places_prove_and_each_says_so(tmp_path: Path) -> None:
    files = {
        "a.py": "def weigh_parcel(parcel):\n    return parcel\n",
        "b.py": "from a import weigh_parcel\n\n\ndef send(it):\n    return weigh_parcel(it)\n",
    }
    (asked,) = propose(tree_of(tmp_path, files), [], 3)
    assert asked.step.name == "callers-of-weigh-parcel"
    assert asked.about.endswith(
        "1 function in 1 file, a small tree: so few places are found by luck, too"
    )
    many = {f"c{number}.py": f"number = {number}\n" for number in range(40)}
    with pytest.raises(FairtrialError, match="no question here has an answer"):
        propose(tree_of(tmp_path / "many", {**files, **many}), [], 3)


def test_a_tree_that_proves_nothing_is_said_to(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, {"a.py": "def only_here():\n    pass\n"})
    with pytest.raises(FairtrialError, match="no question here has an answer"):
        propose(tree, families(tree), 3)
