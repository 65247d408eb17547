"""What a report believes: each way to forge a file of a run, and what comes of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.agents.models import open_model
from runner.benchmarks import BENCHMARKS
from runner.benchmarks.scenarios.scenario_benchmark import ScenarioBenchmark
from runner.catalog.checkout import Checkout
from runner.catalog.locks import read_repos_lock
from runner.grounding.cache import Cache
from runner.records import (
    Cell,
    CellResult,
    Contradiction,
    Event,
    Limits,
    Plan,
    Prompt,
    Prose,
    RecordedResult,
    Scorecard,
    Scored,
    StepEnd,
    ToolCall,
    ToolResult,
    Usage,
    digest_of,
)
from runner.records.run_store import LoadedRun, RunStore
from runner.records.transcript_files import TranscriptWriter
from runner.runs.audit import Audit, with_cards
from runner.runs.prepare import BENCHMARK
from runner.runs.run_inputs import PreparedArm, PreparedRun, PreparedScenario
from runner.scoring.fairness import FAIRNESS
from runner.scoring.judges.checklist.checklist import Checklist
from runner.support.errors import FairtrialError
from tests.anchors.material import FarAway
from tests.checkout import REFERENCE, ended, make_for_scoring, opened
from tests.report import loaded
from tests.report.loaded import server

PLANNED_AT = "2026-01-02T03:04:05+00:00"
SERVERS = ("shell", "good")
WORSE = "It is somewhere in `app.py:1`.\n"


# --- a run on disk --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A checkout with a finished run of two cells, made without an engine."""

    root: Path
    store: RunStore

    @property
    def checkout(self) -> Checkout:
        return opened(self.root)

    @property
    def audit(self) -> Audit:
        return Audit(
            store=self.store,
            checkout=self.checkout,
            benchmark=BENCHMARKS[BENCHMARK],
            judge=Checklist(),
        )

    def cell(self, name: str) -> Cell:
        (cell,) = (cell for cell in self.store.plan().cells if cell.server == name)
        return cell

    def folder(self, name: str = "shell") -> Path:
        """Of the cell's first attempt."""
        return self.store.cell_folder(self.cell(name).id) / "attempt-1"

    def card(self, name: str = "shell") -> Path:
        return self.store.cell_folder(self.cell(name).id) / "scorecard.json"

    def edit(self, path: Path, change: Callable[[Any], None]) -> None:
        """Change a JSON file, as a hand would."""
        value = json.loads(path.read_text())
        change(value)
        path.write_text(json.dumps(value))

    def write_attempt(self, cell: Cell, answers: Sequence[str], **changes: Any) -> None:
        """With an answer for each step."""
        begun = self.store.begin(cell)
        with TranscriptWriter(begun.path / "transcript.jsonl") as writer:
            for step, answer in enumerate(answers):
                for event in events(step, answer):
                    writer.write(event)
        plan = self.store.plan()
        given: dict[str, Any] = {
            "attempt": begun.number,
            "fingerprint": fingerprint(cell),
            "plan": plan.digest,
            "ungated": plan.ungated,
            "transcript": writer.digest,
            "events": writer.events,
        }
        self.store.finish(begun, loaded.result(cell, **given | changes))


def events(step: int, answer: str) -> list[Event]:
    command = {"command": "grep -rn dispatch_all"}
    called = ToolCall(
        step=step, turn=0, call_id="c", origin="shell", tool="shell", arguments=command
    )
    gave = ToolResult(
        step=step,
        turn=0,
        call_id="c",
        text="app.py:2",
        is_error=False,
        size_chars=8,
        digest="0" * 64,
        truncated=False,
        wall_sec=1.0,
    )
    spent = Usage(step=step, turn=0, input_tokens=500, output_tokens=100, wall_sec=2.0)
    asked = Prompt(step=step, text="What happens?")
    prose = Prose(step=step, turn=1, text=answer)
    return [asked, called, gave, spent, prose, StepEnd(step=step, stop="end")]


def fingerprint(cell: Cell, **changes: Any) -> Any:
    inputs = cell.inputs
    return loaded.fingerprint(
        cell,
        harness=inputs["harness"],
        base_image=inputs["base_image"],
        commit=inputs["commit"],
        limits=inputs["limits"],
        server_spec=inputs["server"],
        **{"model_identity": inputs["model"], **changes},
    )


def planned(checkout: Checkout, name: str = "small") -> tuple[Cell, ...]:
    """A cell of the scenario for each of SERVERS."""
    small = checkout.scenario(name)
    pin = read_repos_lock(checkout.root)[small.scenario.repository.label]
    arms = {"shell": PreparedArm(name="shell", spec=None, volume=None, digest="1" * 64)}
    arms["good"] = PreparedArm(name="good", spec=server("good"), volume="v", digest="2" * 64)
    ground = PreparedScenario(scenario=small.scenario, image="w", base_image="sha256:0", pin=pin)
    prepared = PreparedRun(
        engine_url=None,
        engine_version="20.10",
        kernel="6.1",
        harness="3" * 64,
        agent="tool_calling",
        benchmark="scenarios",
        limits=Limits(),
        arms=arms,
        scenarios={name: ground},
    )
    return BENCHMARKS["scenarios"].cells(prepared, ["offline"], 1)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Made once: git is slow on a busy machine."""
    root = make_for_scoring(tmp_path_factory.mktemp("ran")).root
    made = Ran(root=root, store=RunStore(root / "runs/done"))
    plan_and_run(made, ungated=True)
    return made


@pytest.fixture
def ran(template: Ran, tmp_path: Path) -> Ran:
    root = tmp_path / "ran"
    shutil.copytree(template.root, root, ignore=shutil.ignore_patterns("upstream"))
    return Ran(root=root, store=RunStore(root / "runs/done"))


def plan_and_run(made: Ran, *, ungated: bool = False, created_at: str = PLANNED_AT) -> None:
    plan = Plan(
        run="done", created_at=created_at, ungated=ungated, cells=planned(opened(made.root))
    )
    made.store.write_plan(plan)
    for name, answer in zip(SERVERS, (REFERENCE, WORSE), strict=True):
        made.write_attempt(made.cell(name), [answer])
    for card in made.audit.cards(made.audit.evidence()):
        made.store.write_scorecard(card)


# --- what comes of it -----------------------------------------------------------------------


def named(run: LoadedRun) -> set[tuple[str, str]]:
    """Last part of the file's path, and the field."""
    return {(item.where.rpartition("/")[2], item.field) for item in run.contradictions}


@pytest.fixture(scope="session")
def honest(template: Ran) -> dict[str, float | None]:
    """What the untouched run's figures are."""
    whole = template.audit.whole()
    assert whole.contradictions == ()
    found = loaded.figures(whole)
    assert None not in found.values()
    return found


def report(ran: Ran, *arguments: str) -> int:
    return ended("--root", ran.root, *arguments)


def test_an_untouched_run_is_reported_without_a_word(
    ran: Ran, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(ran, "report", "done", "--ungated") == 0
    printed = capsys.readouterr()
    assert "CONTRADICTED" not in printed.out and "error" not in printed.err


# --- scorecards -----------------------------------------------------------------------------


A_SCORE_OF_99 = {"fairness.score.value": 0.99}
A_QUALITY_WITHOUT_A_VERDICT = {
    "fairness.verdict": None,
    "fairness.parts.llm_quality.value": 0.9,
}
FORGED = {
    "fairness.verdict.steps[0].criteria.map_quality.score": 0.31,
    "fairness.grounding.grounded": 99,
    "fairness.effort.input_tokens": 1,
    "adoption.shell_searches": 0,
}


def forge(ran: Ran, name: str, changes: Mapping[str, Any]) -> None:
    """Put other values at these paths of a scorecard."""

    def put(card: Any) -> None:
        for path, value in changes.items():
            *inside, last = path.replace("[0]", ".0").split(".")
            there = card
            for key in inside:
                there = there[int(key) if key.isdigit() else key]
            there[last] = value

    ran.edit(ran.card(name), put)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        (A_SCORE_OF_99, "fairness.score.value"),
        (A_QUALITY_WITHOUT_A_VERDICT, "fairness.verdict"),
        (
            dict.fromkeys((f"fairness.parts.{part}.value" for part in FAIRNESS), 1.0),
            "fairness.parts.efficiency.value",
        ),
        *(({field: value}, field) for field, value in FORGED.items()),
    ],
)
def test_a_forged_scorecard_moves_no_figure_and_is_named(
    ran: Ran, honest: dict[str, float | None], changes: Mapping[str, Any], field: str
) -> None:
    forge(ran, "shell", changes)
    whole = ran.audit.whole()
    assert loaded.figures(whole) == honest
    assert ("scorecard.json", field) in named(whole)


def test_the_report_of_a_forged_run_says_so_on_every_page_and_ends_in_1(
    ran: Ran, honest: dict[str, float | None], capsys: pytest.CaptureFixture[str]
) -> None:
    forge(ran, "good", A_SCORE_OF_99)
    assert report(ran, "report", "done", "--ungated") == 1
    printed = capsys.readouterr()
    assert "CONTRADICTED" in printed.out
    assert "scorecard.json fairness.score.value: says 0.99, found " in printed.err
    assert "hint: `fairtrial score done` writes scorecards again" in printed.err
    written = json.loads((ran.store.folder / "report.json").read_text())
    good = written["arms"][1]["fairness"]["score"]["value"]
    assert good == pytest.approx(honest["good"], abs=0.001)
    (found,) = written["contradictions"]
    assert (found["field"], found["says"]) == ("fairness.score.value", "0.99")
    for name in ("report.md", "report.html"):
        text = (ran.store.folder / name).read_text()
        assert "CONTRADICTED" in text and "fairness.score.value" in text


def test_scoring_again_writes_what_the_transcripts_give(
    ran: Ran, honest: dict[str, float | None]
) -> None:
    forge(ran, "shell", A_SCORE_OF_99)
    assert report(ran, "score", "done") == 0
    stored = ran.store.stored_scorecard(ran.cell("shell").id)
    assert stored is not None and isinstance(stored.fairness.score, Scored)
    assert stored.fairness.score.value == honest["shell"]
    assert ran.audit.whole().contradictions == ()


def test_a_scorecard_of_another_version_is_named_and_not_needed(
    ran: Ran, honest: dict[str, float | None]
) -> None:
    ran.card().write_text('{"cell_id": "x", "total": 1}')
    whole = ran.audit.whole()
    assert loaded.figures(whole) == honest
    assert named(whole) == {("scorecard.json", "")}


def test_a_scorecard_that_was_never_written_is_no_contradiction(
    ran: Ran, honest: dict[str, float | None]
) -> None:
    ran.card().unlink()
    whole = ran.audit.whole()
    assert (loaded.figures(whole), whole.contradictions) == (honest, ())


def test_a_forged_cache_of_citations_grounds_nothing(
    ran: Ran, honest: dict[str, float | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: dict[str, bytes] = {}
    put = Cache.put

    def noted(cache: Cache, key: str, value: bytes) -> None:
        kept[key] = value
        put(cache, key, value)

    monkeypatch.setattr(Cache, "put", noted)
    assert loaded.figures(ran.audit.whole()) == honest
    results = [key for key in kept if key.startswith("result ")]
    assert len(results) > 1
    best = max((kept[key] for key in results), key=len)
    with Cache(ran.root / ".fairtrial/grounding") as forged:
        for key in results:
            put(forged, key, best)
    assert loaded.figures(ran.audit.whole()) == honest


def kept_at(ran: Ran, home: Path) -> Audit:
    """The audit of a user who keeps scorecards."""
    environ = {"HOME": str(home)}
    checkout = Checkout(
        root=ran.root, state=ran.root / ".fairtrial", environ=environ, log=lambda _: None
    )
    return Audit(
        store=ran.store, checkout=checkout, benchmark=BENCHMARKS[BENCHMARK], judge=Checklist()
    )


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every cell that is scored anew."""
    servers: list[str] = []
    score = ScenarioBenchmark.score

    def noted(self: ScenarioBenchmark, cell: Cell, *arguments: Any, **named: Any) -> Scorecard:
        servers.append(cell.server)
        return score(self, cell, *arguments, **named)

    monkeypatch.setattr(ScenarioBenchmark, "score", noted)
    return servers


def test_a_second_report_scores_nothing_again_and_says_the_same(
    ran: Ran, honest: dict[str, float | None], tmp_path: Path, scored: list[str]
) -> None:
    assert loaded.figures(kept_at(ran, tmp_path).whole()) == honest
    assert scored == ["shell", "good"]
    assert loaded.figures(kept_at(ran, tmp_path).whole()) == honest
    assert scored == ["shell", "good"]


def test_a_kept_scorecard_that_was_forged_or_moved_is_made_again(
    ran: Ran, honest: dict[str, float | None], tmp_path: Path
) -> None:
    kept_at(ran, tmp_path).whole()
    one, other = (ran.root / ".fairtrial/scores").iterdir()
    moved = one.read_bytes()
    one.write_text(one.read_text().replace("0.", "0.9"))
    other.write_bytes(moved)
    assert loaded.figures(kept_at(ran, tmp_path).whole()) == honest


def test_scorecards_that_another_user_kept_are_not_read(
    ran: Ran, honest: dict[str, float | None], tmp_path: Path, scored: list[str]
) -> None:
    kept_at(ran, tmp_path / "one").whole()
    scored.clear()
    assert loaded.figures(kept_at(ran, tmp_path / "another").whole()) == honest
    assert scored == ["shell", "good"]


def test_a_changed_rubric_is_judged_by_whatever_was_kept(
    ran: Ran, tmp_path: Path, scored: list[str]
) -> None:
    kept_at(ran, tmp_path).whole()
    scored.clear()
    edit_yaml(
        ran.root / "scenarios/core/small/rubric.yaml", lambda value: value.update(audience="x")
    )
    kept_at(ran, tmp_path).whole()
    assert scored == ["shell", "good"]


# --- transcripts ----------------------------------------------------------------------------


def cut_in_half(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]))


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def cut_in_a_line(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def edited(path: Path) -> None:
    path.write_text(path.read_text().replace('"input_tokens":500', '"input_tokens":5'))


def lengthened(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b'{"type":"note","text":"nothing"}\n')


@pytest.mark.parametrize(
    "tamper", [cut_in_half, emptied, cut_in_a_line, edited, lengthened, Path.unlink]
)
@pytest.mark.parametrize("scored", [True, False])
def test_a_transcript_that_is_not_what_was_written_is_in_no_figure(
    ran: Ran, honest: dict[str, float | None], tamper: Callable[[Path], None], scored: bool
) -> None:
    if not scored:
        ran.card().unlink()
    tamper(ran.folder() / "transcript.jsonl")
    whole = ran.audit.whole()
    assert loaded.figures(whole) == {"shell": None, "good": honest["good"]}
    assert ("transcript.jsonl", "") in named(whole)


def test_a_cell_that_is_not_believed_stays_in_the_denominator(ran: Ran) -> None:
    cut_in_half(ran.folder("good") / "transcript.jsonl")
    assert report(ran, "report", "done", "--ungated") == 1
    written = json.loads((ran.store.folder / "report.json").read_text())
    shell, good = written["arms"]
    tally = good["tally"]
    assert (tally["planned"], tally["measured"], tally["contradicted"]) == (1, 0, 1)
    assert good["fairness"]["score"]["reasons"] == [
        "not believed: its files contradict each other (1 of 1 cells)"
    ]
    # Without its counterpart the shell's cell is compared with nobody.
    assert (shell["tally"]["unpaired"], shell["fairness"]["score"]["value"]) == (1, None)


def test_scoring_leaves_out_what_is_not_believed_and_ends_in_1(
    ran: Ran, capsys: pytest.CaptureFixture[str]
) -> None:
    cut_in_half(ran.folder() / "transcript.jsonl")
    assert report(ran, "score", "done", "--json") == 1
    printed = capsys.readouterr()
    (line,) = printed.out.splitlines()
    assert Scorecard.model_validate_json(line).cell_id == ran.cell("good").id
    assert "transcript.jsonl events: says 6, found 3" in printed.err


def test_a_transcript_that_was_edited_is_not_replayed(ran: Ran) -> None:
    path = ran.folder() / "transcript.jsonl"
    open_model(f"replay:{path}")
    edited(path)
    with pytest.raises(FairtrialError, match="not the one that its result"):
        open_model(f"replay:{ran.folder()}")


# --- attempts and results -------------------------------------------------------------------


def shell_is_out(ran: Ran, field: str, file: str = "result.json") -> LoadedRun:
    """The whole run, in which the shell's cell is in no figure for that field."""
    whole = ran.audit.whole()
    assert loaded.figures(whole)["shell"] is None
    assert (file, field) in named(whole)
    return whole


def sealed_again(result: Any) -> None:
    """By somebody who has read how it is done."""
    del result["digest"]
    result["digest"] = digest_of(CellResult.model_validate_json(json.dumps(result)))


@pytest.mark.parametrize("name", ["attempt-0", "attempt-01", "attempt-1.bak", "notes.txt"])
def test_a_folder_that_is_no_attempt_is_not_counted_and_named(
    ran: Ran, honest: dict[str, float | None], name: str
) -> None:
    shutil.copytree(ran.folder(), ran.folder().with_name(name))
    whole = ran.audit.whole()
    assert (loaded.figures(whole), named(whole)) == (honest, {(name, "")})
    assert [item.attempts for item in whole.cells] == [1, 1]


def test_an_attempt_copied_to_count_twice_contradicts_its_number(ran: Ran) -> None:
    shutil.copytree(ran.folder(), ran.folder().with_name("attempt-2"))
    shell_is_out(ran, "attempt")


def test_an_attempt_made_after_the_measurement_is_not_used_and_named(
    ran: Ran, honest: dict[str, float | None]
) -> None:
    ran.write_attempt(ran.cell("good"), [REFERENCE])
    whole = ran.audit.whole()
    assert (loaded.figures(whole), named(whole)) == (honest, {("attempt-2", "")})


def test_a_first_attempt_that_was_taken_away_is_missed(ran: Ran) -> None:
    ran.write_attempt(ran.cell("shell"), [REFERENCE])
    shutil.rmtree(ran.folder())
    shell_is_out(ran, "", file=ran.cell("shell").id)


def test_a_cut_attempt_of_a_number_that_is_there_is_named(ran: Ran) -> None:
    shutil.copytree(ran.folder(), ran.folder().with_name("attempt-1.partial"))
    shell_is_out(ran, "", file=ran.cell("shell").id)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("timings.agent_sec", 0.1),
        ("peak_memory_mb", 1.0),
        ("outcome.reason", "all went well"),
        ("fingerprint.kernel", "6.2"),
        ("fingerprint.workspace_image", "another"),
        ("started_at", "2027-01-01T00:00:00Z"),
        ("ungated", False),
    ],
)
def test_an_edited_result_contradicts_its_digest(ran: Ran, path: str, value: Any) -> None:
    *inside, last = path.split(".")

    def change(result: Any) -> None:
        for key in inside:
            result = result[key]
        result[last] = value

    ran.edit(ran.folder() / "result.json", change)
    shell_is_out(ran, "digest")


@pytest.mark.parametrize(
    "field", ["harness", "base_image", "commit", "limits", "model_identity", "server_spec"]
)
def test_a_fingerprint_that_is_not_its_cells_is_found_even_when_sealed_again(
    ran: Ran, field: str
) -> None:
    def change(result: Any) -> None:
        result["fingerprint"][field] = "f" * len(result["fingerprint"][field])
        sealed_again(result)

    ran.edit(ran.folder() / "result.json", change)
    shell_is_out(ran, f"fingerprint.{field}")


def test_a_measurement_rewritten_as_a_fault_of_ours_still_counts_against_the_cell(
    ran: Ran,
) -> None:
    def change(result: Any) -> None:
        result["outcome"]["kind"] = "sandbox_failed"

    ran.edit(ran.folder() / "result.json", change)
    ran.write_attempt(ran.cell("shell"), [REFERENCE])
    shell_is_out(ran, "digest")


def test_transcripts_swapped_between_the_arms_are_in_no_figure(ran: Ran) -> None:
    one, other = (ran.folder(name) / "transcript.jsonl" for name in SERVERS)
    texts = one.read_bytes(), other.read_bytes()
    one.write_bytes(texts[1])
    other.write_bytes(texts[0])
    whole = ran.audit.whole()
    assert loaded.figures(whole) == {"shell": None, "good": None}


def test_attempts_swapped_between_the_arms_are_in_no_figure(ran: Ran) -> None:
    one, other = ran.folder("shell"), ran.folder("good")
    one.rename(one.with_name("held"))
    other.rename(one)
    one.with_name("held").rename(other)
    whole = shell_is_out(ran, "cell")
    assert loaded.figures(whole)["good"] is None


def test_an_attempt_of_another_run_of_the_same_cells_is_none_of_this_ones(ran: Ran) -> None:
    luckier = Ran(root=ran.root, store=RunStore(ran.root / "runs/luckier"))
    plan_and_run(luckier, ungated=True, created_at="2026-01-03T03:04:05+00:00")
    shutil.rmtree(ran.folder())
    shutil.copytree(luckier.folder(), ran.folder())
    shell_is_out(ran, "plan")


# --- the plan -------------------------------------------------------------------------------


def test_a_run_made_without_the_gate_cannot_be_called_gated_afterwards(
    ran: Ran, honest: dict[str, float | None]
) -> None:
    ran.edit(ran.store.folder / "plan.json", lambda plan: plan.update(ungated=False))
    whole = ran.audit.whole()
    assert whole.plan.ungated
    assert (loaded.figures(whole), named(whole)) == (honest, {("plan.json", "ungated")})


def test_a_gated_run_that_goes_on_without_its_gate_contradicts_nothing(
    ran: Ran, honest: dict[str, float | None]
) -> None:
    shutil.rmtree(ran.store.folder)
    plan_and_run(ran)
    ran.store.write_plan(ran.store.plan().model_copy(update={"ungated": True}))
    whole = ran.audit.whole()
    assert (loaded.figures(whole), whole.contradictions) == (honest, ())


def test_a_bad_cell_taken_out_of_the_plan_is_missed(ran: Ran) -> None:
    gone = ran.cell("good").id
    ran.edit(ran.store.folder / "plan.json", lambda plan: plan["cells"].pop())
    whole = shell_is_out(ran, "plan")
    assert (gone, "") in named(whole)


# --- what answered --------------------------------------------------------------------------


def renamed(ran: Ran, **fingerprinted: str) -> None:
    """The whole run under another model's name, with every digest made again."""
    name, cells = "claude-opus-9", ran.store.plan().cells
    renamed_cells = tuple(cell.model_copy(update={"model": name}) for cell in cells)
    plan = ran.store.plan().model_copy(update={"cells": renamed_cells})
    ran.store.write_plan(plan)
    for old, new in zip(cells, renamed_cells, strict=True):
        ran.store.cell_folder(old.id).rename(ran.store.cell_folder(new.id))
        path = ran.store.cell_folder(new.id) / "attempt-1/result.json"
        result = RecordedResult.model_validate_json(path.read_bytes())
        mark = fingerprint(new, model=name, **fingerprinted)
        fields = dict(result) | {"cell": new, "fingerprint": mark, "plan": plan.digest}
        del fields["digest"]
        again = CellResult(**fields)
        path.write_text(RecordedResult(**dict(again), digest=digest_of(again)).model_dump_json())


@pytest.mark.parametrize("kind", ["offline", "claude-opus-9"])
def test_offline_under_another_name_is_still_said_to_be_no_language_model(
    ran: Ran, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    # Its identity tells it, even where the kind was rewritten with the name.
    renamed(ran, model_kind=kind)
    assert report(ran, "report", "done", "--ungated") == 1
    printed = capsys.readouterr()
    assert "Made with the offline model" in printed.out
    assert "cell.model: says claude-opus-9, found offline" in printed.err
    assert json.loads((ran.store.folder / "report.json").read_text())["language_model"] is False


def test_a_replay_under_a_language_models_name_is_still_a_replay(
    ran: Ran, capsys: pytest.CaptureFixture[str]
) -> None:
    renamed(ran, model_kind="replay", model_identity="7" * 64)
    assert report(ran, "report", "done", "--ungated") == 1
    printed = capsys.readouterr()
    assert "Made from a replayed recording" in printed.out
    assert "cell.model: says claude-opus-9, found replay" in printed.err


# --- the catalog ----------------------------------------------------------------------------


def edit_yaml(path: Path, change: Callable[[Any], None]) -> None:
    value = yaml.safe_load(path.read_text())
    change(value)
    path.write_text(yaml.safe_dump(value))


def test_answers_to_a_question_that_was_changed_since_are_in_no_figure(ran: Ran) -> None:
    def ask_another(value: Any) -> None:
        value["steps"][0]["prompt"] = "What does `App.finish_up` return?"

    edit_yaml(ran.root / "scenarios/core/small/scenario.yaml", ask_another)
    shell_is_out(ran, "cell.inputs.scenario")


def test_a_scenario_that_left_the_catalog_cannot_be_scored_and_is_named(ran: Ran) -> None:
    shutil.rmtree(ran.root / "scenarios/core/small")
    shell_is_out(ran, "cell.scenario")


def test_a_changed_rubric_is_judged_by_and_the_older_scorecards_are_named(
    ran: Ran, honest: dict[str, float | None]
) -> None:
    def ask_for_more(value: Any) -> None:
        fact = value["steps"][0]["criteria"]["map_quality"]["facts"][0]
        fact["terms"] = [["nothing_says_this"]]

    edit_yaml(ran.root / "scenarios/core/small/rubric.yaml", ask_for_more)
    whole = ran.audit.whole()
    shell, before = loaded.figures(whole)["shell"], honest["shell"]
    assert shell is not None and before is not None and shell < before
    assert ("scorecard.json", "fairness.verdict.inputs") in named(whole)


# --- a judge that cannot be asked again -----------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Judged:
    ran: Ran
    judge: FarAway

    @property
    def audit(self) -> Audit:
        return replace(self.ran.audit, judge=self.judge)

    def quality(self) -> object:
        whole = self.audit.whole()
        card = whole.cells[0].scorecard
        assert card is not None
        return card.fairness.parts["llm_quality"]


@pytest.fixture
def far(ran: Ran) -> Judged:
    """The run as a judge out of reach has judged it before."""
    judged = Judged(ran=ran, judge=FarAway(reachable=True))
    audit = judged.audit
    for card in audit.cards(audit.evidence(), anew=True):
        ran.store.write_scorecard(card)
    assert judged.judge.asked == 2
    return Judged(ran=ran, judge=FarAway(reachable=False))


def test_a_stored_verdict_is_repeated_and_the_judge_not_asked(far: Judged) -> None:
    assert isinstance(far.quality(), Scored)
    assert far.audit.whole().contradictions == ()
    assert far.judge.asked == 0


OF_ANOTHER_ANSWER = {"fairness.verdict.inputs": "5" * 64}
OF_ANOTHER_JUDGE = {"fairness.verdict.identity": "5" * 64}
NOT_ITS_SUM = {"fairness.verdict.quality": 0.99}


def test_a_card_of_another_judge_that_said_the_same_contradicts_nothing(ran: Ran) -> None:
    forge(ran, "shell", OF_ANOTHER_JUDGE)
    assert ran.audit.whole().contradictions == ()


def test_one_of_another_judge_that_said_something_else_is_named(ran: Ran) -> None:
    forge(ran, "shell", OF_ANOTHER_JUDGE | NOT_ITS_SUM)
    fields = {field for _, field in named(ran.audit.whole())}
    assert fields >= {"fairness.verdict.identity", "fairness.verdict.quality"}


@pytest.mark.parametrize("changes", [OF_ANOTHER_ANSWER, OF_ANOTHER_JUDGE, NOT_ITS_SUM])
def test_a_stored_verdict_that_is_not_of_this_answer_leaves_the_quality_unscored(
    far: Judged, changes: Mapping[str, Any]
) -> None:
    forge(far.ran, "shell", changes)
    assert not isinstance(far.quality(), Scored)
    assert ("scorecard.json", "fairness.parts.llm_quality.kind") in named(far.audit.whole())


# --- small ----------------------------------------------------------------------------------


def test_a_contradiction_reads_as_a_sentence() -> None:
    found = Contradiction(where="plan.json", field="ungated", says="false", found="true")
    assert str(found) == "plan.json ungated: says false, found true"


def test_a_card_goes_to_its_own_cell(ran: Ran) -> None:
    evidence = ran.audit.evidence()
    assert loaded.figures(with_cards(evidence, ())) == {"shell": None, "good": None}
