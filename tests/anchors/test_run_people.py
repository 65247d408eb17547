"""People grade a run's answers, and the report holds its judge against them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.gate.chain import read_chain
from runner.gate.rescoring import stamp_of
from runner.records import Cell, GradingSheet, Plan, SheetGrades
from runner.records.run_store import RunStore
from runner.runs.run_people import item_key
from runner.scoring.grading import item_id, seal_of
from tests.anchors.material import Tree
from tests.anchors.plant import STEPS, Fairtrial, answer, make_plant
from tests.anchors.test_qualifying import JUDGE, SHORT, strong
from tests.judges.reader import Reader, reading
from tests.test_audit import Ran, planned

QUESTIONS = tuple(f"plant-core-{letter}" for letter in "abcdefg")


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    with reading(strong) as served:
        served.is_asked_by_name(monkeypatch)
        yield served


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return make_plant(tmp_path / "plant", tmp_path / "upstream", QUESTIONS)


def measured(tree: Tree) -> tuple[Cell, ...]:
    """The shell says half of each answer, and the server all of it."""
    ran = Ran(root=tree.root, store=RunStore(tree.root / "runs/done"))
    cells = tuple(cell for name in QUESTIONS for cell in planned(ran.checkout, name)[:2])
    stamp = stamp_of(read_chain(tree.root)[-1])
    plan = Plan(
        run="done", created_at="2026-01-02T03:04:05Z", ungated=False, gate=stamp, cells=cells
    )
    ran.store.write_plan(plan)
    for number, cell in enumerate(cells):
        stated = 8 if cell.server != "shell" else 3 + number % 3
        ran.write_attempt(cell, [answer(step, stated, cell.scenario) for step in STEPS])
    return cells


def reported(fairtrial: Fairtrial) -> Any:
    code, out, err = fairtrial("report", "done", "--json")
    assert code == 0, err
    return json.loads(out)


def sheet_in(page: Path) -> GradingSheet:
    text = page.read_text("utf-8").split('id="sheet">')[1].split("</script>")[0]
    return GradingSheet.model_validate_json(text)


def saved(path: Path, sheet: GradingSheet, grader: str, grades: dict[str, int]) -> str:
    data: dict[str, Any] = {"sheet": sheet.digest, "of": sheet.of, "seed": sheet.seed}
    data |= {"grader": grader, "kind": "person", "grades": grades, "seal": ""}
    data["seal"] = seal_of(SheetGrades.model_validate(data))
    path.write_text(json.dumps(data))
    return str(path)


def tenths_of(number: int) -> int:
    """Of the shell's answers: what is stated, and near half for the places of all else."""
    stated = 3 + number % 3
    return round((stated + 0.45 * (8 - stated)) * 10 / 8)


def grades_of(cells: tuple[Cell, ...], server: Callable[[int], int], seed: int) -> dict[str, int]:
    """The shell's answers as they are, the server's as given: tenths of a question's number."""
    grades = {}
    for number, cell in enumerate(cells):
        tenths = server(number) if cell.server != "shell" else tenths_of(number)
        for step in STEPS:
            grades[item_id(item_key(cell, step), seed)] = tenths
    return grades


def test_people_who_see_no_difference_take_a_judges_rank_away(
    fairtrial: Fairtrial, tree: Tree, reader: Reader, tmp_path: Path
) -> None:
    assert fairtrial(*SHORT)[0] == 0
    cells = measured(tree)
    code, _, err = fairtrial("judge", "done", "--judge", JUDGE)
    assert code == 0, err
    assert reported(fairtrial)["standing"] == "ranks"
    page = tmp_path / "run.html"
    code, _, err = fairtrial("anchors", "sheet", "--run", "done", "--out", str(page))
    assert code == 0, err
    sheet = sheet_in(page)
    assert len(sheet.items) == 2 * len(QUESTIONS) * len(STEPS)
    names = [
        name for name in ("shell", "good", "plant-core-a, ") if name in page.read_text("utf-8")
    ]
    assert not names

    honest = grades_of(cells, lambda _: 10, sheet.seed)
    other = grades_of(cells, lambda number: 9 + number // 2 % 2, sheet.seed)
    files = [
        saved(tmp_path / "ann", sheet, "Ann", honest),
        saved(tmp_path / "bob", sheet, "Bob", other),
    ]
    code, _, err = fairtrial("anchors", "take", *files, "--run", "done")
    assert code == 0, err
    report = reported(fairtrial)
    [error] = report["arm_errors"]
    assert (report["standing"], error["graded"], error["people"]) == ("ranks", 7, 2)
    assert abs(error["error"]) < 0.12 < error["low"]

    # Two more who think the server's answers worth what the shell's are.
    flat = grades_of(cells, lambda number: tenths_of(number - 1), sheet.seed)
    bent = {item: min(10, tenths + (tenths % 2)) for item, tenths in flat.items()}
    for path in (tree.root / "runs/done/people").glob("*.json"):
        path.unlink()
    files = [
        saved(tmp_path / "cyd", sheet, "Cyd", flat),
        saved(tmp_path / "dee", sheet, "Dee", bent),
    ]
    fairtrial("anchors", "take", *files, "--run", "done")
    report = reported(fairtrial)
    assert report["standing"] == "screens"
    said = " ".join(report["notices"])
    assert "people graded 7 of 7 questions" in said and "ranks nobody here" in said
    assert "people's grades do not bear out the judge" in said
