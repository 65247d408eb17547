"""Imported cells in a run: scored as measured ones are, marked everywhere, and believed or not."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from runner.benchmarks import BENCHMARKS
from runner.records import CellResult, RecordedResult
from runner.records.run_store import RunStore
from runner.report import terminal
from runner.report.build_report import build_report
from runner.report.records import Report
from runner.runs.audit import Audit
from runner.runs.prepare import BENCHMARK
from runner.scoring.judges.checklist.checklist import Checklist
from tests.checkout import REFERENCE, ended, make_for_scoring, opened
from tests.importers.test_claude_code import INIT, WITH_SERVER, result, said
from tests.report import loaded
from tests.report.loaded import MODEL, cell, measured

WORSE = "It is somewhere in `app.py:1`."


@dataclass(frozen=True, kw_only=True)
class Here:
    """A checkout with one scenario, and a folder of transcripts."""

    root: Path

    @property
    def store(self) -> RunStore:
        return RunStore(self.root / "runs/small-imported")

    @property
    def audit(self) -> Audit:
        return Audit(
            store=self.store,
            checkout=opened(self.root),
            benchmark=BENCHMARKS[BENCHMARK],
            judge=Checklist(),
        )

    def transcript(self, name: str, *lines: dict[str, Any]) -> str:
        path = self.root / name
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        return str(path)

    def run(self, *arguments: str) -> int:
        return ended("--root", self.root, *arguments)

    def bring(self, *files: str, ungated: bool = True) -> int:
        end = ["--ungated"] if ungated else []
        return self.run("import", "claude-code", "--scenario", "small", *files, *end)

    def attempt(self, server: str) -> Path:
        (cell,) = (cell for cell in self.store.plan().cells if cell.server == server)
        return self.store.cell_folder(cell.id) / "attempt-1"

    def reported(self) -> Any:
        return json.loads((self.store.folder / "report.json").read_text())


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_for_scoring(tmp_path_factory.mktemp("here")).root


@pytest.fixture
def here(template: Path, tmp_path: Path) -> Here:
    shutil.copytree(template, tmp_path / "here", ignore=shutil.ignore_patterns("upstream"))
    return Here(root=tmp_path / "here")


@pytest.fixture
def two(here: Here) -> Here:
    """With the shell's cell and the server's imported."""
    assert here.bring(f"shell={shell(here)}", f"good={good(here)}") == 0
    return here


def shell(here: Here, answer: str = WORSE, name: str = "shell.json") -> str:
    return here.transcript(name, INIT, said(answer), result(answer, duration_ms=9000))


def good(here: Here, answer: str = REFERENCE, name: str = "good.json") -> str:
    return here.transcript(name, WITH_SERVER, said(answer), result(answer, duration_ms=9000))


# --- what it makes --------------------------------------------------------------------------


def test_two_files_are_scored_compared_and_rank_nobody(two: Here) -> None:
    report = two.reported()
    labels = [arm["label"] for arm in report["arms"]]
    assert labels == ["shell (imported)", "good (imported)"]
    baseline, other = report["arms"]
    assert other["fairness"]["score"]["value"] > baseline["fairness"]["score"]["value"]
    assert other["delta"]["value"] > 0
    assert (other["delta"]["judgement"], other["delta"]["says"]) == (
        "not_ranked",
        "imported, not ranked",
    )
    assert two.audit.whole().contradictions == ()


def test_every_form_of_the_report_is_marked(here: Here, capsys: pytest.CaptureFixture[str]) -> None:
    assert here.bring(f"shell={shell(here)}", f"good={good(here)}") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("UNGATED · IMPORTED · SCREENING · ")
    assert "IMPORTED: another harness ran these cells." in printed
    assert "Nobody is ranked: these cells were imported." in printed
    printed = terminal.render(Report.model_validate_json(json.dumps(here.reported())), width=120)
    assert printed.startswith("IMPORTED: another harness ran these cells.")
    markdown = (here.store.folder / "report.md").read_text()
    headings = [line for line in markdown.splitlines() if line.startswith(("# ", "## "))]
    assert headings and all("IMPORTED" in heading for heading in headings)
    page = (here.store.folder / "report.html").read_text()
    band = page.partition("<main")[0]
    assert all(f"<strong>{mark}:</strong>" in band for mark in ("IMPORTED", "SCREENING"))
    cells = here.reported()["imported"]
    assert [(cell["harness"], cell["file"]) for cell in cells] == [
        ("claude-code", "shell.json"),
        ("claude-code", "good.json"),
    ]


def test_no_figure_of_a_sandbox_is_made_up(two: Here) -> None:
    costs = two.reported()["arms"][1]["costs"]
    absent = ("create_sec", "initialize_sec", "warm_up_sec", "canary_sec", "peak_memory_mb",
              "state_mb", "backoff_sec", "schema_chars")  # fmt: skip
    assert {name: costs[name] for name in absent} == dict.fromkeys(absent)
    # Claude Code's own figure, and named as that.
    assert costs["agent_sec"] == 9.0


def test_several_files_of_one_arm_are_its_trials_and_a_later_import_adds_to_them(
    here: Here,
) -> None:
    assert here.bring("--server", "shell", shell(here), shell(here, REFERENCE, "b.json")) == 0
    assert here.bring(f"good={good(here)}") == 0
    cells = [(cell.server, cell.trial) for cell in here.store.plan().cells]
    assert cells == [("shell", 1), ("shell", 2), ("good", 1)]
    whole = here.audit.whole()
    assert whole.contradictions == () and all(item.measured for item in whole.cells)


def test_the_same_command_again_changes_nothing(two: Here) -> None:
    before = (two.store.folder / "plan.json").read_bytes()
    assert two.bring(f"shell={shell(two)}", f"good={good(two)}") == 0
    assert (two.store.folder / "plan.json").read_bytes() == before


def test_an_interrupted_file_keeps_its_place_and_is_no_zero(
    here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = here.transcript("cut.json", WITH_SERVER, said("half of an ans"))
    assert here.bring(f"shell={shell(here)}", f"good={cut}") == 1
    arm = here.reported()["arms"][1]
    assert (arm["tally"]["planned"], arm["tally"]["measured"]) == (1, 0)
    assert arm["tally"]["outcomes"] == {"interrupted": 1}
    assert arm["fairness"]["score"]["value"] is None
    assert "an imported cell is not run again" in capsys.readouterr().err


def test_arms_of_another_version_or_model_are_compared_with_nobody(here: Here) -> None:
    older = {**WITH_SERVER, "claude_code_version": "1.0.0"}
    file = here.transcript("good.json", older, said(REFERENCE), result(REFERENCE, duration_ms=1))
    assert here.bring(f"shell={shell(here)}", f"good={file}") == 0
    (apart,) = here.reported()["incomparable"]
    assert apart["differs"] == ["harness_version:  against 1.0.0"]
    assert here.reported()["arms"][1]["delta"]["judgement"] == "not_compared"


def test_beside_measured_cells_in_a_plan_made_by_hand_nothing_compares_them() -> None:
    theirs = cell("a", "good", model="imported:m")
    ended = loaded.result(theirs, imported=loaded.imported(), fingerprint=None, timings=None)
    elsewhere = replace(measured(theirs, 0.9), result=ended)
    here_measured = [measured(cell("a"), 0.4), measured(cell("a", "good"), 0.5)]
    report = build_report(loaded.loaded([*here_measured, elsewhere]), {}, {})
    deltas = {arm.label: (arm.delta.judgement, arm.imported) for arm in report.arms}
    assert deltas == {
        f"shell ({MODEL})": ("baseline", False),
        f"good ({MODEL})": ("not_ranked", False),
        "good (imported:m)": ("not_compared", True),
    }
    assert report.mark == "IMPORTED · SCREENING · "


# --- what is refused ------------------------------------------------------------------------


def test_measured_cells_and_imported_ones_share_no_run(
    here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    assert here.bring(f"shell={shell(here)}") == 0
    path = here.store.folder / "plan.json"
    plan = json.loads(path.read_text())
    for name in ("source", "mounted", "imported"):
        del plan["cells"][0]["inputs"][name]
    path.write_text(json.dumps(plan))
    assert here.bring(f"good={good(here)}") == 1
    assert "what was measured elsewhere cannot join it" in capsys.readouterr().err


def test_one_session_cannot_be_two_arms(here: Here, capsys: pytest.CaptureFixture[str]) -> None:
    file = here.transcript("same.json", INIT, said("x"), result("x"))
    assert here.bring(f"shell={file}", f"good={file}") == 1
    assert "the same file is shell's" in capsys.readouterr().err
    assert not here.store.has_plan()


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (["gone.json"], "whose transcript is it?"),
        (["shell=gone.json"], "cannot be read"),
        (["Not A Name=gone.json"], "no server can be called"),
        (["shell=."], "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_taken_leaves_no_run(
    here: Here, files: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert here.bring(*files) == 1
    said_to_user = capsys.readouterr().err
    assert says in said_to_user and "hint: " in said_to_user
    assert not here.store.has_plan()


def test_one_bad_file_among_good_ones_is_named_and_none_is_taken(
    here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    (here.root / "bad.json").write_bytes(b"\x00\x01")
    assert here.bring(f"shell={shell(here)}", f"good={here.root}/bad.json") == 1
    assert "bad.json: a binary file" in capsys.readouterr().err
    assert not here.store.has_plan()


def test_without_a_gate_it_has_to_be_asked_for(here: Here) -> None:
    assert here.bring(f"shell={shell(here)}", ungated=False) in (3, 5)
    assert not here.store.has_plan()


def test_an_unknown_scenario_is_refused(here: Here, capsys: pytest.CaptureFixture[str]) -> None:
    assert here.run("import", "claude-code", "--scenario", "smal", f"shell={shell(here)}") == 1
    assert "did you mean small?" in capsys.readouterr().err


# --- belief ---------------------------------------------------------------------------------


def reseal(attempt: Path, **changes: Any) -> None:
    """As a careful forger would: with the digest made again."""
    path = attempt / "result.json"
    fields = dict(RecordedResult.model_validate_json(path.read_text()))
    fields.pop("digest")
    forged = CellResult(**{**fields, **changes})
    record = RecordedResult(**dict(forged), digest=forged.digest_found)
    path.write_text(record.model_dump_json())


def an_edited_source(attempt: Path) -> None:
    path = attempt / "source"
    path.write_bytes(path.read_bytes().replace(b"somewhere", b"anywhere "))


def no_source(attempt: Path) -> None:
    (attempt / "source").unlink()


def a_better_transcript_with_its_digest(attempt: Path) -> None:
    path = attempt / "transcript.jsonl"
    path.write_bytes(path.read_bytes().replace(WORSE.encode(), REFERENCE.strip().encode()))
    reseal(attempt, transcript=hashlib.sha256(path.read_bytes()).hexdigest())


def a_measurement_of_ours(attempt: Path) -> None:
    reseal(attempt, imported=None)


def an_outcome_that_is_no_measurement(attempt: Path) -> None:
    found = RecordedResult.model_validate_json((attempt / "result.json").read_text())
    outcome = found.outcome.model_copy(update={"kind": "interrupted"})
    reseal(attempt, outcome=outcome)


def memory_that_was_never_measured(attempt: Path) -> None:
    reseal(attempt, peak_memory_mb=12.5)


def another_importer(attempt: Path) -> None:
    found = RecordedResult.model_validate_json((attempt / "result.json").read_text())
    assert found.imported is not None
    reseal(attempt, imported=found.imported.model_copy(update={"importer": "0" * 64}))


def another_importer_that_read_otherwise(attempt: Path) -> None:
    another_importer(attempt)
    an_outcome_that_is_no_measurement(attempt)


def losses_left_unsaid(attempt: Path) -> None:
    found = RecordedResult.model_validate_json((attempt / "result.json").read_text())
    assert found.imported is not None
    reseal(attempt, imported=found.imported.model_copy(update={"degraded": ()}))


@pytest.mark.parametrize(
    "forge",
    [
        an_edited_source,
        no_source,
        a_better_transcript_with_its_digest,
        a_measurement_of_ours,
        an_outcome_that_is_no_measurement,
        memory_that_was_never_measured,
        losses_left_unsaid,
        another_importer_that_read_otherwise,
    ],
)
def test_a_forged_import_is_in_no_figure_and_is_named(
    two: Here, forge: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    forge(two.attempt("shell"))
    whole = two.audit.whole()
    assert loaded.figures(whole)["shell"] is None
    assert whole.contradictions
    capsys.readouterr()
    assert two.run("report", "small-imported", "--ungated") == 1
    assert "says something else than its evidence" in capsys.readouterr().err


def test_a_cell_that_other_code_read_in_the_same_way_is_as_it_was(two: Here) -> None:
    before = loaded.figures(two.audit.whole())
    another_importer(two.attempt("shell"))
    whole = two.audit.whole()
    assert loaded.figures(whole) == before and not whole.contradictions


def test_where_other_code_read_otherwise_that_alone_is_named(two: Here) -> None:
    another_importer_that_read_otherwise(two.attempt("shell"))
    fields = [item.field for item in two.audit.whole().contradictions]
    assert "imported.importer" in fields and "outcome" not in fields


def test_a_growing_plan_makes_no_edit_good(two: Here, capsys: pytest.CaptureFixture[str]) -> None:
    a_better_transcript_with_its_digest(two.attempt("shell"))
    before = (two.store.folder / "plan.json").read_bytes()
    assert two.bring("--server", "good", good(two, WORSE, "second.json")) == 1
    assert "its file gives" in capsys.readouterr().err
    assert (two.store.folder / "plan.json").read_bytes() == before


# --- the real ones --------------------------------------------------------------------------


def test_real_transcripts_become_cells(here: Here, shared_data: Path) -> None:
    results = shared_data / "published-run/results"
    arms = {"shell": "baseline", "serena": "serena", "probe": "probe", "sense": "sense"}
    files = [f"{arm}={results}/{name}/flask/transcript.json" for arm, name in arms.items()]
    assert here.bring(*files) == 0
    report = here.reported()
    assert [arm["tally"]["measured"] for arm in report["arms"]] == [1, 1, 1, 1]
    assert {cell["model"] for cell in report["imported"]} == {"claude-opus-4-7[1m]"}
    assert here.audit.whole().contradictions == ()
