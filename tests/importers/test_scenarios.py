"""A published harness's scenario, written in our form with all that it lacks said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from runner.catalog.catalog import IMPORTED_SCENARIOS, load_catalog
from runner.catalog.checkout import Checkout
from runner.gate.scenario_checks import prove
from runner.records import Answer, AnswerStep, Scored, Unscored
from runner.repositories.local_labels import LOCAL_FILE
from runner.scoring.fairness import score_fairness
from runner.scoring.judges import open_judge
from runner.scoring.judges.judge_settings import JudgeSettings
from tests.checkout import ended
from tests.grounding.fakes import MemoryFiles
from tests.proposing.trees import commit
from tests.report.loaded import scenario as any_scenario
from tests.scoring.material import effort

COMMIT = "a" * 40
SCENARIO = """\
name: A trace
repo: flask
description: 'Follow it.

  '
steps:
- name: Trace it
  prompt: 'Where does it
    start? '
  checks:
  - {type: word, value: wsgi_app, required: true, description: the entry}
  - {type: transcript_contains, value: app, required: false}
  - {type: response_richness, value: '2', required: true}
  - {type: no_grep, value: no_grep, required: false, layer: adoption}
  - {type: sings, value: x, required: true}
scoring: {weights: {correctness: 0.7, efficiency: 0.3}}
"""
RUBRIC = """\
audience: An agent.
steps:
  - name: Trace it
    criteria:
      map_quality: {weight: 0.6, question: "Is it there?"}
      specificity: {weight: 0.4, question: "Is it exact?"}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "images/servers").mkdir(parents=True)
    (tmp_path / "trace.yaml").write_text(SCENARIO)
    (tmp_path / "trace.rubric.yaml").write_text(RUBRIC)
    return tmp_path


URL = ("--repo", "https://example.org/flask", "--commit", COMMIT)


def bring(root: Path, *more: str, repo: tuple[str, ...] = URL) -> int:
    given = (*repo, "--language", "python")
    return ended("--root", root, "import", "scenario", root / "trace.yaml", *given, *more)


def test_it_is_written_in_our_form_and_says_what_is_left_out(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bring(root) == 0
    printed = capsys.readouterr().out
    for lost in ("no_grep", "sings x, a check unknown here", "facts", "must_cite", "reference"):
        assert lost in printed
    loaded = load_catalog(root).scenarios["trace"]
    assert loaded.suite == IMPORTED_SCENARIOS and loaded.reference == ()
    (step,) = loaded.scenario.steps
    assert step.prompt == "Where does it start?"
    assert [(check.kind, check.value, check.required) for check in step.checks] == [
        ("word", "wsgi_app", True),
        ("contains", "app", False),
        ("min_files", 2, True),
    ]
    # Its own harness's, for that repository.
    assert (loaded.scenario.budget.tokens, loaded.scenario.budget.wall_sec) == (15_000, 320)
    for lost in ("facts of the criteria", "must_cite places", "sings x"):
        assert lost in loaded.scenario.unreviewed


def test_json_names_the_folder_and_what_is_left_out(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bring(root, "--json", "--id", "other") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["id"] == "other" and len(printed["left_out"]) == 6


def test_a_path_is_pinned_at_its_head_and_named_by_a_label_alone(
    root: Path, tmp_path: Path
) -> None:
    clone = tmp_path / "private"
    head = commit(clone, {"app.py": "def wsgi_app(): ...\n"})
    assert bring(root, repo=("--repo", str(clone))) == 0
    text = (root / "scenarios" / IMPORTED_SCENARIOS / "trace" / "scenario.yaml").read_text()
    assert "local:own" in text and head in text and str(clone) not in text
    assert head in (root / "locks/repos.lock").read_text()
    assert LOCAL_FILE in (root / ".gitignore").read_text()


def test_a_url_without_its_commit_is_refused_with_a_hint(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bring(root, repo=URL[:2]) == 1
    assert "a URL needs its --commit" in capsys.readouterr().err
    assert not (root / "scenarios" / IMPORTED_SCENARIOS).exists()


def test_a_short_commit_of_a_url_is_refused(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bring(root, repo=(*URL[:2], "--commit", "abc")) == 1
    assert "--commit abc" in capsys.readouterr().err


def test_a_folder_that_is_no_project_gets_nothing(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("trace.yaml", "trace.rubric.yaml"):
        (elsewhere / name).write_text((root / name).read_text())
    assert bring(elsewhere) == 1
    assert "is no project" in capsys.readouterr().err
    assert not (elsewhere / "scenarios").exists()


def test_nobody_takes_it_unasked_and_it_does_not_prove_itself(root: Path) -> None:
    assert bring(root) == 0
    checkout = Checkout(root=root, state=root / ".fairtrial", environ={}, log=lambda _: None)
    assert checkout.choose_scenarios([]) == []
    loaded = checkout.scenario("trace")
    problems = prove(loaded, MemoryFiles({}), open_judge(JudgeSettings()))
    assert any("nobody has reviewed it" in problem.message for problem in problems)


def test_its_quality_is_unscored_and_not_nothing_however_good_the_answer(root: Path) -> None:
    assert bring(root) == 0
    loaded = load_catalog(root).scenarios["trace"]
    step = AnswerStep(name="Trace it", prompt="", text="wsgi_app of the app", completed=True)
    fairness = score_fairness(
        loaded.scenario,
        loaded.rubric,
        Answer(steps=(step,)),
        effort(),
        files=MemoryFiles({}),
        judge=open_judge(JudgeSettings()),
    )
    quality, coverage = fairness.parts["llm_quality"], fairness.parts["keyword_coverage"]
    assert isinstance(quality, Unscored) and "unreviewed" in quality.reason
    assert isinstance(fairness.score, Unscored)
    assert isinstance(coverage, Scored) and coverage.value == pytest.approx(1.5 / 2.5)


def test_a_criterion_without_facts_stays_an_error_in_a_scenario_of_our_own(root: Path) -> None:
    assert bring(root) == 0
    path = root / "scenarios/imported/trace/scenario.yaml"
    values = yaml.safe_load(path.read_text())
    del values["unreviewed"]
    path.write_text(yaml.safe_dump(values))
    broken = load_catalog(root).scenarios.broken()["trace"]
    assert sum("no answer could meet it" in problem.message for problem in broken) == 2
    assert any("cannot be read" in problem.message for problem in broken)


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("trace.yaml", "", "should be"),
        ("trace.yaml", "name: [", "not usable YAML"),
        ("trace.yaml", "a: &x 1\nb: *x\n", "aliases"),
        ("trace.yaml", "[" * 3000, "nested deeper"),
        ("trace.yaml", SCENARIO.replace("repo: flask", "repos: flask"), "did you mean `repo`?"),
        ("trace.yaml", SCENARIO.replace("'2'", "many"), "whole number"),
        ("trace.yaml", SCENARIO.replace("value: wsgi_app", "value: ''"), "match every answer"),
        ("trace.rubric.yaml", RUBRIC.replace("0.6", "0.9"), "sum to 1.3"),
        ("trace.rubric.yaml", RUBRIC.replace("Trace it", "Another"), "same names, same order"),
    ],
)
def test_bad_yaml_is_named_with_its_file_and_writes_nothing(
    root: Path, file: str, text: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / file).write_text(text)
    assert bring(root) == 1
    printed = capsys.readouterr().err
    assert says in printed and file in printed
    assert not (root / "scenarios/imported").exists()


def test_a_binary_file_a_missing_rubric_and_a_second_import_are_refused(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bring(root) == 0 and bring(root) == 1
    assert "is there already" in capsys.readouterr().err
    (root / "trace.rubric.yaml").unlink()
    assert bring(root, "--id", "b") == 1
    assert "trace.rubric.yaml: cannot be read" in capsys.readouterr().err
    (root / "trace.yaml").write_bytes(b"\xff\xfe\x00")
    assert bring(root, "--id", "c") == 1
    assert "not UTF-8" in capsys.readouterr().err


def test_every_published_scenario_comes_over(root: Path, shared_data: Path) -> None:
    published = shared_data / "published-run/scenarios"
    files = [path for path in published.rglob("*.yaml") if ".rubric." not in path.name]
    assert len(files) == 5
    for path in files:
        (root / "trace.yaml").write_text(path.read_text())
        (root / "trace.rubric.yaml").write_text(path.with_suffix(".rubric.yaml").read_text())
        assert bring(root, "--id", path.stem) == 0
    scenarios = load_catalog(root).scenarios
    assert len(scenarios) == 5
    assert all(len(loaded.scenario.steps) == 4 for loaded in scenarios.values())
    assert any_scenario("x").unreviewed == ""
