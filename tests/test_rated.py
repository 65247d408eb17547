"""`fairtrial agreement`: tables of ratings, beside a second library, and tables that are none."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from runner.scoring.ratings_file import Among, Columns, RaterAgreement, read_ratings, report_of
from runner.support.errors import FairtrialError
from tests.checkout import ended


def write(folder: Path, rows: Sequence[Sequence[str]], header: Sequence[str]) -> Path:
    path = folder / "ratings.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def fairtrial(*arguments: object) -> int:
    return ended("agreement", *arguments)


def beside(path: Path, *people: str) -> tuple[RaterAgreement, ...]:
    return report_of(read_ratings(path, Columns(people=people))).beside


def among(path: Path, *people: str) -> tuple[Among, ...]:
    return report_of(read_ratings(path, Columns(people=people))).among


def refused(path: Path, **columns: Any) -> str:
    with pytest.raises(FairtrialError) as found:
        read_ratings(path, Columns(**columns))
    return str(found.value)


# --- published points ---------------------------------------------------------------------------


def test_the_papers_point_is_ninety_two_percent_and_a_kappa_of_0734(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # 60 items: both pass 46, both fail 9, the judge alone fails 5, the people alone 0.
    verdicts = [("pass", "pass")] * 46 + [("fail", "fail")] * 9 + [("pass", "fail")] * 5
    rows = [(f"i{number}", *pair) for number, pair in enumerate(verdicts)]
    path = write(tmp_path, rows, ("item", "people", "mcp-eval"))
    (found,) = beside(path, "people")
    assert found.agreement.value is not None and found.kappa.value is not None
    assert round(100 * found.agreement.value, 2) == 91.67
    assert round(found.kappa.value, 3) == 0.734
    assert (found.constant, found.constant_agreement) == ("pass", 0.85)

    assert fairtrial(path, "--people", "people") == 0
    shown = capsys.readouterr().out
    for words in ("91.67%", "0.734", "85.00%", "a constant rater says pass"):
        assert words in shown


MOVED = {
    # judge: as published with the verdicts, as the verdicts say
    "models_gemini-2.5-pro": (72.63, 76.84),
    "qwen_qwen3-235b-a22b": (74.74, 72.63),
    "claude-opus-4-20250514": (68.42, 70.53),
    "claude-sonnet-4-20250514": (71.58, 70.53),
    "deepseek_deepseek-r1-0528": (58.95, 60.00),
}
"""The published parser looked for "success" in the whole text."""


def test_five_of_ten_published_agreements_follow_from_their_verdicts_and_five_do_not(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared_data / "livemcpbench"
    with (folder / "human_agreement.csv").open(encoding="utf-8") as file:
        published = {row["Model"]: float(row["human_agreement"]) for row in csv.DictReader(file)}
    published.pop("human")

    assert fairtrial(folder / "judgments.csv", "--people", "human", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["beside"]
    found = {row["rater"]: row for row in rows if row["group"] == "all"}

    assert found.keys() == published.keys() and len(found) == 10
    moved, table = {}, ["judge, published %, recomputed %, kappa"]
    for judge, share in published.items():
        ours = round(100 * found[judge]["agreement"]["value"], 2)
        table.append(f"{judge:32} {share:6.2f} {ours:6.2f} {found[judge]['kappa']['value']:.3f}")
        if ours != share:
            moved[judge] = (share, ours)
    assert moved == MOVED, "\n".join(table)
    assert all(row["constant_agreement"] == pytest.approx(67 / 95) for row in found.values())
    assert sum(row["beats_constant"] for row in found.values()) == 3


def test_a_judge_who_always_says_success_agrees_often_and_has_no_kappa(
    shared_data: Path, tmp_path: Path
) -> None:
    text = (shared_data / "livemcpbench" / "judgments.csv").read_text("utf-8")
    rows = [(row["task_id"], row["human"], "success") for row in csv.DictReader(text.splitlines())]
    (found,) = beside(write(tmp_path, rows, ("item", "human", "always")), "human")
    assert found.agreement.value == pytest.approx(0.7053, abs=0.00005)
    assert (found.kappa.value, found.beats_constant) == (0.0, False)


# --- a second library ---------------------------------------------------------------------------


@pytest.mark.parametrize("raters", [2, 3, 5])
def test_kappas_are_those_of_another_library(tmp_path: Path, raters: int) -> None:
    from nltk.metrics.agreement import AnnotationTask

    drawn = random.Random(raters)
    header = ("item", *(f"r{number}" for number in range(raters)))
    rows = []
    for item in range(80):
        truth = drawn.choice("abc")
        rows.append((f"{item}", *(drawn.choice([truth, truth, "a"]) for _ in range(raters))))
    path = write(tmp_path, rows, header)
    cells = []
    for row in rows:
        cells += [(name, row[0], label) for name, label in zip(header[1:], row[1:], strict=True)]
    task = AnnotationTask(cells)

    report = report_of(read_ratings(path, Columns()))
    # Its multi-pi is Fleiss' kappa: Artstein & Poesio 2008, doi:10.1162/coli.07-034-R2.
    expected = task.kappa() if raters == 2 else task.pi()
    assert report.among[0].kappa.value == pytest.approx(expected)
    for pair in report.pairs:
        assert pair.kappa.value == pytest.approx(task.kappa_pairwise(*pair.raters))
    people = report_of(read_ratings(path, Columns(people=("r0",))))
    for row_beside in people.beside:
        assert row_beside.kappa.value == pytest.approx(task.kappa_pairwise("r0", row_beside.rater))
        assert row_beside.agreement.value == pytest.approx(task.Ao("r0", row_beside.rater))


# --- people -------------------------------------------------------------------------------------

THREE = [
    # item, three people, judge
    ("1", "pass", "pass", "fail", "pass"),
    ("2", "fail", "fail", "fail", "fail"),
    ("3", "pass", "pass", "pass", "fail"),
    ("4", "fail", "pass", "fail", "fail"),
]
HEADER = ("item", "ann", "bob", "cyd", "judge")


def test_a_judge_is_held_against_the_majority_of_three_people(tmp_path: Path) -> None:
    path = write(tmp_path, THREE, HEADER)
    (found,) = beside(path, "ann", "bob", "cyd")
    assert (found.items, found.agreement.value, found.kappa.value) == (4, 0.75, 0.5)
    (people,) = among(path, "ann", "bob", "cyd")
    assert (people.raters, people.unanimous.value) == (("ann", "bob", "cyd"), 0.5)


def test_an_item_on_which_people_are_tied_is_left_out_and_counted(tmp_path: Path) -> None:
    rows = [*THREE, ("5", "pass", "fail", "unsure", "pass")]
    (found,) = beside(write(tmp_path, rows, HEADER), "ann", "bob", "cyd")
    assert (found.items, found.left_out, found.ties) == (4, 1, 1)
    assert found.agreement.value == 0.75


def test_an_item_that_somebody_left_blank_is_left_out_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [*THREE, ("5", "pass", "", "pass", "pass"), ("6", "fail", "fail", "fail", " ")]
    path = write(tmp_path, rows, HEADER)
    (found,) = beside(path, "ann", "bob", "cyd")
    assert (found.items, found.left_out, found.ties) == (4, 2, 0)
    people = among(path, "ann", "bob", "cyd")[0]
    assert (people.items, people.left_out) == (5, 1)

    assert fairtrial(path, "--people", "ann", "--people", "bob", "--people", "cyd") == 0
    shown = capsys.readouterr().out
    assert "judge: 2 items left out (2 left blank)" in shown
    assert "1 items are left out: not all have rated them" in shown


def test_categories_have_figures_of_their_own(tmp_path: Path) -> None:
    kinds = ("one", "two", "one", "two")
    rows = [(*row, kind) for row, kind in zip(THREE, kinds, strict=True)]
    path = write(tmp_path, rows, (*HEADER, "category"))
    found = {row.group: row for row in beside(path, "ann", "bob", "cyd")}
    assert {name: row.agreement.value for name, row in found.items()} == {
        "all": 0.75,
        "one": 0.5,
        "two": 1.0,
    }


def test_without_people_all_raters_are_equals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, THREE, HEADER)
    report = report_of(read_ratings(path, Columns()))
    assert (report.beside, len(report.pairs)) == ((), 6)
    assert report.among[0].raters == ("ann", "bob", "cyd", "judge")
    assert fairtrial(path) == 0
    shown = capsys.readouterr().out
    assert "Raters among themselves" in shown and "ann × bob" in shown


def test_labels_are_one_in_any_case_and_between_blanks(tmp_path: Path) -> None:
    rows = [("1", "Pass", " pass "), ("2", "FAIL", "fail")]
    (found,) = among(write(tmp_path, rows, ("item", "a", "b")))
    assert found.kappa.value == 1.0


def test_where_all_say_one_thing_there_is_no_kappa_and_it_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(str(number), "pass", "pass") for number in range(20)]
    path = write(tmp_path, rows, ("item", "a", "b"))
    (found,) = among(path)
    assert (found.unanimous.value, found.kappa.value) == (1.0, None)
    assert found.unanimous.low is None, "an interval of 100–100 would pass for certainty"
    assert fairtrial(path) == 0
    assert "kappa has nothing to measure" in capsys.readouterr().out


# --- tables that are none -----------------------------------------------------------------------


def test_a_byte_order_mark_is_no_part_of_the_first_columns_name(tmp_path: Path) -> None:
    path = write(tmp_path, THREE, HEADER)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_ratings(path, Columns(item="item")).items == ("1", "2", "3", "4")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no items"),
        ("item,a,b\n", "no items"),
        ("item,a\n1,pass\n", "one rater: agreement takes two"),
        ("item\n1\n", "no rater: agreement takes two"),
        ("item,a,b\n1,pass\n", "line 2: 2 cells under 3 columns"),
        ("item,a,b\n1,pass,fail,note\n", "line 2: 4 cells under 3 columns"),
        ("item,a,a\n1,pass,fail\n", "share a name: 'a'"),
        ("item;a;b\n1;pass;fail\n", "semicolons"),
        ("item,a,b\n1,x,y\n1,x,y\n", "2 lines are about '1'"),
        ("item,a,b\n1,x,\n2,x,\n", "'b' has rated nothing"),
        ('item,a,b\n1,"x,y\n', "not CSV"),
    ],
)
def test_what_is_no_table_of_ratings_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(text, encoding="utf-8")
    assert says in refused(path)


def test_a_column_of_notes_is_no_rater(tmp_path: Path) -> None:
    rows = [(str(number), "pass", "pass", f"note {number}") for number in range(30)]
    path = write(tmp_path, rows, ("item", "a", "b", "notes"))
    assert "'notes' holds 30 labels" in refused(path)
    chosen = read_ratings(path, Columns(raters=("a", "b")))
    assert chosen.others == ("a", "b")


def test_a_column_that_is_not_there_is_named_with_those_that_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, THREE, HEADER)
    assert fairtrial(path, "--people", "Anne") == 1
    told = capsys.readouterr().err
    assert "no column is called 'Anne'" in told and "there are: item, ann, bob, cyd" in told


def test_a_column_has_one_part(tmp_path: Path) -> None:
    path = write(tmp_path, THREE, HEADER)
    assert "given two parts" in refused(path, people=("ann",), raters=("ann", "judge"))
    assert "given two parts" in refused(path, raters=("item", "judge"))


@pytest.mark.parametrize("data", [b"item,a,b\n1,\xff,x\n", b"\x00" * 100, b"\x89PNG\r\n\x1a\n"])
def test_bytes_that_are_no_text_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "ratings.csv"
    path.write_bytes(data)
    assert str(path) in refused(path)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    assert "No such file" in refused(tmp_path / "none.csv")


def test_five_megabytes_are_a_table_like_any_other(tmp_path: Path) -> None:
    drawn = random.Random(1)
    rows = []
    for number in range(60_000):
        rows.append((f"item-{number:06}-{'x' * 70}", *(drawn.choice("pf") for _ in range(4))))
    path = write(tmp_path, rows, ("item", "a", "b", "c", "judge"))
    assert path.stat().st_size > 4_500_000
    (found,) = among(path, "a", "b", "c")
    assert found.items == 60_000 and found.kappa.value == pytest.approx(0.0, abs=0.01)


def test_what_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    with path.open("wb") as file:
        file.truncate(30_000_000)
    assert "larger than 20 MB" in refused(path)


def test_names_and_labels_of_a_file_are_no_markup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [("1", "\x1b[31mpass", "[red]fail"), ("2", "fail", "fail")]
    path = write(tmp_path, rows, ("item", "\x1b]0;title\x07a", "[bold]b"))
    assert fairtrial(path) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown and "[bold]b" in shown and "[red]fail" in shown
