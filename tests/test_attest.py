"""A report attested here is made again elsewhere, and whatever differs is named."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from runner.records.run_store import RunStore
from tests.anchors.material import Tree, accept
from tests.anchors.test_gated import CORE_RUBRIC, fairtrial, finished_run, shop

__all__ = ["shop"]
STATEMENT = "done.intoto.json"
FORMS = ("report.json", "report.md", "report.html")


@pytest.fixture(scope="module")
def attested(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shop with a run, its report and its statement, which no test makes again."""
    root = tmp_path_factory.mktemp("attested")
    shutil.copytree(shop, root, dirs_exist_ok=True)
    tree = Tree(root)
    finished_run(tree)
    assert fairtrial(tree, "report", "done") == 0
    assert fairtrial(tree, "attest", "done", "--output", str(root / STATEMENT)) == 0
    return root


@pytest.fixture
def with_shop(tmp_path: Path, attested: Path) -> Tree:
    shutil.copytree(attested, tmp_path, dirs_exist_ok=True)
    return Tree(tmp_path)


@pytest.fixture
def run(with_shop: Tree) -> RunStore:
    return RunStore(with_shop.root / "runs/done")


@pytest.fixture
def statement(with_shop: Tree) -> Path:
    return with_shop.root / STATEMENT


def elsewhere(tree: Tree, statement: Path) -> Tree:
    """Another machine's checkout of the same commit, with the published run beside it."""
    root = tree.root.with_name(f"{tree.root.name}-elsewhere")
    ignored = shutil.ignore_patterns("scores", "runs", STATEMENT)
    shutil.copytree(tree.root, root, ignore=ignored)
    shutil.copytree(tree.root / "runs/done", root / "published")
    shutil.copy(statement, root / "published.json")
    return Tree(root)


def verified(tree: Tree, *options: str) -> int:
    published = str(tree.root / "published.json")
    return fairtrial(
        tree, "verify-report", published, "--run", str(tree.root / "published"), *options
    )


def test_a_page_and_its_statement_name_the_same_evidence(
    with_shop: Tree, run: RunStore, statement: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    digest = json.loads((run.folder / "report.json").read_text())["repeat"]["evidence_digest"]
    said = json.loads(statement.read_text())
    assert said["predicate"]["evidence"] == digest
    assert digest in (run.folder / "report.html").read_text("utf-8")
    there = elsewhere(with_shop, statement)
    said["predicate"]["evidence"] = "0" * 64
    (there.root / "published.json").write_text(json.dumps(said))
    assert verified(there) == 1
    told = capfd.readouterr()
    assert "evidence: attested 000" in told.out + told.err
    # A statement of a version that named none.
    del said["predicate"]["evidence"]
    (there.root / "published.json").write_text(json.dumps(said))
    assert verified(there) == 0


def test_a_statement_names_files_by_their_digest(
    with_shop: Tree, run: RunStore, statement: Path
) -> None:
    said = json.loads(statement.read_text())
    assert said["_type"] == "https://in-toto.io/Statement/v1"
    found = {item["name"]: item["digest"]["sha256"] for item in said["subject"]}
    cell = run.plan().cells[0].id
    names = {f"cells/{cell}/attempt-1/{name}" for name in ("result.json", "transcript.jsonl")}
    names.add(f"cells/{cell}/scorecard.json")
    assert set(found) == {"plan.json", *FORMS, *names}
    for name, digest in found.items():
        assert hashlib.sha256((run.folder / name).read_bytes()).hexdigest() == digest
    predicate = said["predicate"]
    assert predicate["gate"]["generation"] == predicate["since"]["planned"]["generation"] == 1
    assert "locks/anchors.lock" in predicate["locks"]
    assert predicate["figures"]["arms[0].fairness.score.value"] > 0.5


def test_a_statement_holds_no_path_of_the_machine(attested: Path) -> None:
    text = (attested / STATEMENT).read_text()
    assert str(attested) not in text and str(Path.home()) not in text


def test_another_machine_makes_the_same_report_of_the_transcripts(
    with_shop: Tree, statement: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = elsewhere(with_shop, statement)
    capsys.readouterr()
    assert verified(other) == 0
    assert "the report stands: " in capsys.readouterr().out
    assert verified(other, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "passed": True,
        "differences": [],
        "versions": [],
    }


def test_stdout_gets_the_statement_without_an_output(
    with_shop: Tree, run: RunStore, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert fairtrial(with_shop, "attest", run.folder.name) == 0
    assert json.loads(capsys.readouterr().out)["predicateType"] == "urn:fairtrial:report:v1"


def test_what_the_cells_are_given_as_is_attested_where_it_lies(
    with_shop: Tree, run: RunStore, statement: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forms = ("--format", "csv", "--format", "junit", "--format", "parquet")
    assert fairtrial(with_shop, "report", "done", *forms) == 0
    assert fairtrial(with_shop, "attest", "done", "--output", str(statement)) == 0
    names = {"report.csv", "report.junit.xml", "report.parquet"}
    assert names <= {item["name"] for item in json.loads(statement.read_text())["subject"]}
    other = elsewhere(with_shop, statement)
    capsys.readouterr()
    assert verified(other) == 0
    table = other.root / "published/report.csv"
    table.write_text(table.read_text().replace("0.", "0.9"))
    assert differing(other, capsys) == ["report.csv"]
    # Nor is a page attested that says something else than the transcripts.
    (run.folder / "report.csv").write_text("better,1\n")
    assert fairtrial(with_shop, "attest", "done") == 1


def test_a_browser_is_given_the_page_and_a_terminal_the_cell(
    with_shop: Tree,
    run: RunStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    browser, told = tmp_path / "browser", tmp_path / "told"
    browser.write_text(f'#!/bin/sh\necho "$1" > "{told}"\n')
    browser.chmod(0o755)
    # What this machine has is found anew, with the person's own first.
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    monkeypatch.setattr("webbrowser._tryorder", None)
    assert fairtrial(with_shop, "report", "done", "--open") == 0
    assert told.read_text().strip() == (run.folder / "report.html").resolve().as_uri()
    capsys.readouterr()
    cell = run.plan().cells[0]
    for name in (cell.id[:8], f"{cell.scenario}/{cell.server}/{cell.trial}"):
        assert fairtrial(with_shop, "cell", "show", "done", name) == 0
        shown = capsys.readouterr().out
        assert cell.id in shown and "OSError" in shown and "verdict" in shown
        assert "quality" in shown and "grep -rn" in shown
    assert fairtrial(with_shop, "cell", "show", "done", "nobody") == 1
    assert f"{cell.scenario}/{cell.server}/1" in capsys.readouterr().err


# --- what differs is named -----------------------------------------------------------------------


def differing(tree: Tree, capsys: pytest.CaptureFixture[str], code: int = 1) -> list[str]:
    capsys.readouterr()
    assert verified(tree, "--json") == code
    said = json.loads(capsys.readouterr().out)
    assert said["passed"] is False
    return [item["where"] for item in said["differences"]]


def transcript(tree: Tree) -> Path:
    (path,) = (tree.root / "published").rglob("transcript.jsonl")
    return path


def test_an_edited_transcript_is_named_with_the_figures_it_moves(
    with_shop: Tree, statement: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = elsewhere(with_shop, statement)
    path = transcript(other)
    path.write_text(path.read_text().replace("OSError", "KeyError"))
    found = differing(other, capsys)
    assert path.relative_to(other.root / "published").as_posix() in found
    assert "arms[0].fairness.score.value" in found


@pytest.mark.parametrize("form", FORMS)
def test_a_better_figure_on_one_page_of_the_report_is_named(
    with_shop: Tree, statement: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    other = elsewhere(with_shop, statement)
    path = other.root / "published" / form
    path.write_text(path.read_text().replace("0.", "0.9"))
    assert differing(other, capsys) == [form]


@pytest.mark.parametrize("name", ["transcript.jsonl", *FORMS])
def test_a_missing_file_is_named(
    with_shop: Tree, statement: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    other = elsewhere(with_shop, statement)
    (path,) = (other.root / "published").rglob(name)
    path.unlink()
    assert path.relative_to(other.root / "published").as_posix() in differing(other, capsys)


def test_a_figure_that_was_written_into_the_statement_does_not_come_out(
    with_shop: Tree, statement: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = elsewhere(with_shop, statement)
    figure = "arms[0].fairness.score.value"
    edit(other, lambda said: said["predicate"]["figures"].update({figure: 0.999}))
    assert differing(other, capsys) == [figure]


def test_a_statement_that_drops_the_rescoring_is_found_out(
    with_shop: Tree, run: RunStore, capsys: pytest.CaptureFixture[str]
) -> None:
    with_shop.edit(CORE_RUBRIC, "Does it say what escapes", "Does it say what comes out")
    accept(with_shop, reason="plainer")
    assert fairtrial(with_shop, "score", "done") == 0
    assert fairtrial(with_shop, "report", "done") == 0
    path = with_shop.root / STATEMENT
    assert fairtrial(with_shop, "attest", "done", "--output", str(path)) == 0
    other = elsewhere(with_shop, path)
    assert verified(other) == 0
    edit(other, lambda said: said["predicate"]["since"].update({"rescored_under": None}))
    assert differing(other, capsys) == ["since"]


def edit(tree: Tree, change: Any) -> None:
    path = tree.root / "published.json"
    said = json.loads(path.read_text())
    change(said)
    path.write_text(json.dumps(said))


def test_a_checkout_whose_rubric_is_another_ends_in_exit_3_and_names_the_gate(
    with_shop: Tree, statement: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = elsewhere(with_shop, statement)
    other.edit(CORE_RUBRIC, "A coding agent", "Somebody easily pleased")
    assert differing(other, capsys, code=3) == ["gate"]


def test_a_checkout_of_another_generation_names_the_lock(
    with_shop: Tree, statement: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = elsewhere(with_shop, statement)
    other.edit(CORE_RUBRIC, "Does it say what escapes", "Does it say what comes out")
    accept(other, reason="plainer")
    assert {"locks/anchors.lock", "gate", "since"} <= set(differing(other, capsys))


def test_other_code_for_a_figure_is_named(
    with_shop: Tree,
    statement: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = elsewhere(with_shop, statement)
    monkeypatch.setattr("runner.gate.figure_code.code_in_use", lambda: {"mean": "1" * 64})
    found = differing(other, capsys, code=3)
    assert "scoring mean" in found and "gate" in found


# --- refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_a_report_that_its_transcripts_do_not_give_is_not_attested(
    with_shop: Tree, run: RunStore, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run.folder / form
    path.write_text(path.read_text().replace("0", "1"))
    assert fairtrial(with_shop, "attest", "done") == 1
    assert "is not what the transcripts give today" in capsys.readouterr().err


def test_a_run_that_contradicts_itself_is_not_attested(
    with_shop: Tree, run: RunStore, capsys: pytest.CaptureFixture[str]
) -> None:
    (path,) = run.folder.rglob("transcript.jsonl")
    path.write_text(path.read_text() + "\n")
    assert fairtrial(with_shop, "report", "done") == 1
    assert fairtrial(with_shop, "attest", "done") == 1
    assert "there is nothing to attest" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{}", "predicateType"),
        ("no JSON", "not usable JSON"),
        ('{"subject": [], "subject": []}', "given twice"),
        ('{"_type": "https://in-toto.io/Statement/v1", "run": "../../x"}', "predicate"),
    ],
)
def test_a_file_that_is_no_statement_is_refused_with_what_is_wrong(
    with_shop: Tree, text: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = with_shop.root / "published.json"
    path.write_text(text)
    assert fairtrial(with_shop, "verify-report", str(path)) == 1
    told = capsys.readouterr().err
    assert says in told
    assert "fairtrial check" not in told


def test_a_run_s_name_in_a_statement_leads_to_no_other_folder(
    with_shop: Tree, statement: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = json.loads(statement.read_text())
    said["predicate"]["run"] = "../../elsewhere"
    statement.write_text(json.dumps(said))
    assert fairtrial(with_shop, "verify-report", str(statement)) == 1
    assert "predicate.run" in capsys.readouterr().err
