"""People grade: what a sheet shows, what is read back, and what it says of a judge."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from runner.gate.anchor_sheet import PEOPLE, anchor_sheet, anchors_to_grade, judged_items
from runner.records import GradingSheet, SheetGrades
from runner.report.html import sheet_page
from runner.scoring.alternative_annotator import alternative_annotator
from runner.scoring.grading import seal_of
from runner.scoring.judges.checklist.checklist import Checklist
from tests.anchors.material import Tree
from tests.page import browser

SEED = 7
needs_chromium = pytest.mark.skipif(
    browser.found() is None, reason="no Chromium here: `just test-page` installs one"
)


@pytest.fixture(scope="module")
def sheet(plant: Path) -> GradingSheet:
    return anchor_sheet(anchors_to_grade(plant), SEED)


def truth(plant: Path) -> dict[str, float]:
    return judged_items(plant, None, Checklist(), anchors_to_grade(plant), SEED)


def graded(
    sheet: GradingSheet, figures: dict[str, float], grader: str, *, off: float = 0.05, **more: Any
) -> dict[str, Any]:
    """What a person saves who is about so far off."""
    dice = random.Random(grader)
    grades = {}
    for item in sheet.items:
        grades[item.id] = round(10 * min(1, max(0, figures[item.id] + dice.gauss(0, off))))
    data = {"sheet": sheet.digest, "of": sheet.of, "seed": sheet.seed, "grader": grader}
    data |= {"kind": "person", "grades": grades, "seal": "", **more}
    return data | {"seal": more.get("seal") or seal_of(SheetGrades.model_validate(data))}


def written(folder: Path, *every: dict[str, Any]) -> list[str]:
    paths = []
    for number, data in enumerate(every):
        path = folder / f"saved-{number}.json"
        path.write_text(json.dumps(data))
        paths.append(str(path))
    return paths


# --- the page -----------------------------------------------------------------------------------


def test_a_sheet_is_one_file_that_names_no_arm_no_transcript_and_no_grade(
    sheet: GradingSheet,
) -> None:
    page = unescape(sheet_page(sheet))
    assert "default-src 'none'" in page and not re.search(r"https?://", page)
    assert "answer-" not in page and "jsonl" not in page and "shell" not in page
    assert not re.search(r"\b0\.\d|judged|gold", page.split('id="sheet"')[1].split("</script>")[0])
    assert len(sheet.items) == 30


def test_its_order_follows_from_the_seed_and_says_nothing_of_what_is_graded(plant: Path) -> None:
    anchors = anchors_to_grade(plant)
    one, again, other = (anchor_sheet(anchors, seed) for seed in (1, 1, 2))
    assert one == again and one.digest != other.digest
    texts = [[item.answer for item in made.items] for made in (one, other)]
    assert texts[0] != texts[1] and sorted(texts[0]) == sorted(texts[1])


def test_an_answer_cannot_end_the_data_that_it_stands_in(sheet: GradingSheet) -> None:
    item = sheet.items[0].model_copy(update={"answer": "</script><script>alert(1)</script>"})
    page = sheet_page(sheet.model_copy(update={"items": (item,)}))
    assert "alert(1)</script>" not in page


@needs_chromium
def test_a_person_grades_by_keys_alone_and_what_is_saved_is_taken(
    fairtrial: Any, tree: Tree, tmp_path: Path
) -> None:
    path = tmp_path / "sheet.html"
    assert fairtrial("anchors", "sheet", "--seed", "7", "--out", str(path))[0] == 0
    with browser.opened() as page:
        page.do("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        page.open(path)
        count = page.asked("JSON.parse(document.getElementById('sheet').textContent).items.length")
        page.press("s")
        assert "no grade yet" in page.asked("document.getElementById('status').textContent")
        for number in range(count - 1):
            page.press("x" if number % 3 == 0 else str(number % 10))
        # Closed and opened again: nothing is lost, and the one that is left comes up. A browser
        # writes what is kept a moment later, on a busy machine some moments.
        for _ in range(20):
            page.asked("new Promise((resolve) => setTimeout(resolve, 1000))")
            page.open(path)
            heading = page.asked("document.getElementById('heading').textContent")
            if heading.startswith(f"Answer {count} "):
                break
        assert heading == f"Answer {count} of {count}: no grade yet"
        page.press("4")
        page.press("s")
        assert "name first" in page.asked("document.getElementById('status').textContent")
        for letter in "Ann 5":
            page.press(letter)
        page.press("Enter")
        assert page.asked("document.getElementById('heading').textContent").endswith("4 of 10")
        page.press("s")
        page.asked("new Promise((resolve) => setTimeout(resolve, 1500))")
        assert page.refused == [] and page.requests[:1] == [path.as_uri()]
        assert all(it.startswith(("file:", "blob:")) for it in page.requests)
    saved = tmp_path / "grades-Ann-5.json"
    grades = json.loads(saved.read_text())["grades"]
    assert len(grades) == count and set(grades.values()) > {4, 10}
    code, out, err = fairtrial("anchors", "take", str(saved))
    assert code == 0, err
    assert "1 people graded 30 answers" in out


# --- read back ----------------------------------------------------------------------------------


def without(data: dict[str, Any], count: int) -> dict[str, Any]:
    kept = dict(list(data["grades"].items())[count:])
    changed = {**data, "grades": kept, "seal": ""}
    return {**changed, "seal": seal_of(SheetGrades.model_validate(changed))}


def test_what_is_partial_foreign_edited_or_there_twice_is_refused_and_nothing_is_taken(
    fairtrial: Any, tree: Tree, plant: Path, sheet: GradingSheet, tmp_path: Path
) -> None:
    good = graded(sheet, truth(plant), "Ann")
    first = sheet.items[0].id
    edited = {**good, "grades": {**good["grades"], first: (good["grades"][first] + 1) % 11}}
    foreign = graded(sheet.model_copy(update={"digest": "0" * 64}), truth(plant), "Bob")
    copied = graded(sheet, truth(plant), "Bob", grades=good["grades"])
    again = graded(sheet, truth(plant), "ann", off=0.2)
    for files, says in (
        ([without(good, 2)], "2 of 30 answers have no grade"),
        ([edited], "edited"),
        ([foreign], "another sheet"),
        ([good, copied], "a copy of Ann's"),
        ([good, again], "has graded already"),
        ([{**good, "grades": {**good["grades"], first: 11}}], "saved-0.json"),
    ):
        code, _, err = fairtrial("anchors", "take", *written(tmp_path, *files))
        assert code == 1 and says in err, (says, err)
        assert not list((tree.root / PEOPLE).glob("*"))


def test_grades_that_were_edited_after_they_were_taken_are_refused(
    fairtrial: Any, tree: Tree, plant: Path, sheet: GradingSheet, tmp_path: Path
) -> None:
    fairtrial("anchors", "take", *written(tmp_path, graded(sheet, truth(plant), "Ann")))
    [path] = (tree.root / PEOPLE).glob("*.json")
    path.write_text(path.read_text().replace(": 10", ": 1", 1))
    bob = written(tmp_path, graded(sheet, truth(plant), "Bob"))
    code, _, err = fairtrial("anchors", "take", *bob)
    assert code == 1 and "edited" in err


def test_three_people_tell_how_they_agree_and_whether_a_judge_may_stand_in(
    fairtrial: Any, plant: Path, sheet: GradingSheet, tmp_path: Path
) -> None:
    people = [graded(sheet, truth(plant), name, off=0.1) for name in ("Ann", "Bob", "Cyd")]
    model = graded(sheet, truth(plant), "claude", off=0.01, kind="model")
    code, out, err = fairtrial("anchors", "take", *written(tmp_path, *people, model))
    assert code == 0, err
    assert "3 people graded 30 answers; Krippendorff's alpha 0.9" in out
    assert "1 language models graded too, and count for nothing here" in out
    assert "alt-test of checklist: omega 1.00 of 3 people" in out
    assert "it may stand in for a person" in out


def test_the_gate_says_how_many_people_have_graded(
    fairtrial: Any, plant: Path, sheet: GradingSheet, tmp_path: Path
) -> None:
    assert "no person has graded" in fairtrial("verify-anchors")[1]
    model = graded(sheet, truth(plant), "claude", kind="model")
    fairtrial("anchors", "take", *written(tmp_path, model))
    assert "no person has graded" in fairtrial("verify-anchors")[1]
    fairtrial("anchors", "take", *written(tmp_path, graded(sheet, truth(plant), "Ann")))
    assert "people who have graded anchors: 1" in fairtrial("verify-anchors")[1]


# --- the alt-test -------------------------------------------------------------------------------


def drawn(seed: int, noise: Sequence[float]) -> list[list[float]]:
    """Raters of the same items, each with so much noise."""
    dice = random.Random(seed)
    true = [dice.random() for _ in range(60)]
    return [[value + dice.gauss(0, one) for value in true] for one in noise]


def test_a_judge_nearer_than_people_passes_and_one_further_off_does_not() -> None:
    judge, *people = drawn(1, (0.05, 0.15, 0.15, 0.15))
    near = alternative_annotator(judge, people)
    assert near.passes and near.omega == 1.0 and near.advantage > 0.6
    judge, *people = drawn(1, (0.4, 0.05, 0.05, 0.05))
    far = alternative_annotator(judge, people)
    assert not far.passes and far.omega == 0.0 and far.advantage < 0.3


def test_its_figures_are_those_of_the_papers_formula() -> None:
    # Two people and four items, by hand: each person is held against the other alone.
    one, two = [0.0, 0.5, 1.0, 0.2], [0.0, 0.4, 0.5, 0.9]
    judge = [0.0, 0.45, 1.0, 0.3]
    # Left out one: |judge - two| = 0, .05, .5, .6, |one - two| = 0, .1, .5, .7: W_f = 1, 1, 1, 1.
    # Left out two: |judge - one| = 0, .05, 0, .1 and |two - one| = 0, .1, .5, .7: W_f = 1, 1, 1, 1.
    found = alternative_annotator(judge, [one, two])
    assert (found.advantage, found.people, found.items) == (1.0, 2, 4)
    assert not found.enough and not found.passes
    # A tie is won by both: d is 0 on each item, and 0 is less than epsilon.
    assert alternative_annotator(one, [one, one, one]).omega == 1.0


def test_with_no_advantage_it_passes_about_never_at_an_epsilon_of_none() -> None:
    passed = 0
    for seed in range(40):
        judge, *people = drawn(seed, (0.2, 0.2, 0.2, 0.2))
        passed += alternative_annotator(judge, people, epsilon=0.0).omega >= 0.5
    assert passed <= 3
