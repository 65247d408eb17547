"""Questions with a key in a real run: which are asked, of whom, and what the pages say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from runner.catalog.catalog import load_catalog
from runner.records import ToolCall
from runner.records.transcript_files import read_transcript
from runner.support.errors import CatalogError
from tests.checkout import SESSION, Checkout, make
from tests.tiny_server import SOURCE

FILE = "scenarios/exact/tiny/questions.yaml"
DATA = Path(__file__).parent.parent / "data" / "exact" / "flask" / "questions.yaml"
ARMS = ("shell", "none", "tiny", "tiny+twin", "tiny+20")
CALLS = """\
from app import App


def start_up():
    return App().finish_up(0)
"""


def questions(checkout: Checkout) -> dict[str, Any]:
    """About the checkout's own repository: one with places, and one of which there is none."""
    definition = {"path": "app.py", "line": 5, "end": 6, "symbol": "finish_up"}
    return {
        "title": "Tiny",
        "repository": {
            "kind": "git",
            "url": f"file://{checkout.root}/upstream",
            "commit": checkout.commit,
        },
        "licence": "MIT",
        "language": "python",
        "seed": 1,
        "budget": {"tokens": 40000, "wall_sec": 3600, "actions": 60},
        "questions": [
            {
                "name": "callers-of-finish-up",
                "prompt": "Which functions call `finish_up`?",
                "key": {
                    "kind": "callers",
                    "places": [{"path": "app.py", "line": 3, "symbol": "dispatch_all"}],
                    "optional": [definition],
                },
            },
            {
                "name": "callers-of-nobody-at-all",
                "prompt": "Which functions call `nobody_at_all`?",
                "key": {"kind": "callers"},
            },
        ],
    }


@pytest.fixture(scope="module")
def checkout(
    tmp_path_factory: pytest.TempPathFactory, engine: docker.DockerClient, base_image: str
) -> Iterator[Checkout]:
    """With a finished run of both questions by a server, its twin, its liar and no tool at all."""
    made = make(tmp_path_factory.mktemp("exact") / "checkout")
    made.write(FILE, questions(made))
    canary = {
        "repository": "*",
        "call": {"tool": "find", "arguments": {"name": "{known.symbol}"}},
        "contains": "{known.path}:",
    }
    asks = '{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}'
    source = SOURCE.replace('{"type": "object"}', asks).replace("/src/app.py", "/app.py")
    command = ["python3", "{install}/server.py"]
    files = {"server.py": f"# {SESSION}\n{source}"}
    made.add_server("tiny", "", command=command, files=files, canaries=[canary])
    asked = ("--exact", "--arms", "none,shell,tiny,tiny,tiny+20", "--ungated", "--run", "r")
    done = made.said("run", *asked)
    assert done.returncode == 0, done.stderr
    yield made
    made.remove(engine)


def report(checkout: Checkout) -> Any:
    return json.loads((checkout.run_folder("r") / "report.json").read_text())


def f1(checkout: Checkout) -> dict[str, float]:
    return {arm["label"]: arm["f1"]["value"] for arm in report(checkout)["keyed"]["arms"]}


def test_every_arm_answers_every_question_in_cells_of_its_own(checkout: Checkout) -> None:
    assert checkout.outcomes("r") == {arm: ["answered"] * 2 for arm in ARMS}


def test_moved_lines_are_last_of_the_servers_and_a_copy_differs_by_nothing(
    checkout: Checkout,
) -> None:
    found = f1(checkout)
    assert found["shell"] == found["tiny"] == found["tiny+twin"] == 1
    assert found["tiny+20"] < found["tiny"]
    (pair,) = [
        it
        for it in report(checkout)["between"]
        if (it["first"], it["second"]) == ("tiny", "tiny+twin")
    ]
    assert pair["delta"]["value"] == 0


def test_an_arm_without_tools_calls_nothing_and_its_model_is_offered_nothing(
    checkout: Checkout,
) -> None:
    for path in checkout.results("r"):
        if json.loads(path.read_text())["cell"]["server"] == "none":
            events = read_transcript(path.parent / "transcript.jsonl")
            assert not [it for it in events if isinstance(it, ToolCall)]
    assert f1(checkout)["none"] == 0


def test_no_page_screens_and_all_say_by_what_nobody_is_ranked(checkout: Checkout) -> None:
    for name in ("report.md", "report.html", "report.json"):
        text = (checkout.run_folder("r") / name).read_text()
        assert "SCREENING" not in text
        assert "UNRANKED" in text
        assert "callers" in text
    shown = checkout.said("report", "r", "--ungated").stdout
    assert any(line.split()[:2] == ["arm", "F1"] for line in shown.splitlines())
    assert "A text search alone gets F1" in " ".join(shown.split())


def test_questions_with_a_key_are_not_run_unasked(checkout: Checkout) -> None:
    done = checkout.said("run", "--dry-run", "--server", "shell")
    assert "1 cell: 1 scenario " in done.stdout


def test_a_draw_of_them_and_a_repository_of_them_can_be_asked_for(checkout: Checkout) -> None:
    one = checkout.said("run", "--exact", "--questions", "1", "--dry-run", "--server", "shell")
    assert "1 cell: 1 scenario " in one.stdout
    all_of_it = checkout.said(
        "run", "--exact", "--scenario", "tiny", "--dry-run", "--server", "shell"
    )
    assert "2 cells: 2 scenarios" in all_of_it.stdout
    refused = checkout.said("run", "--exact", "--scenario", "tiny.callers-of").stderr
    assert "no question is called 'tiny.callers-of'" in refused


def test_a_dry_run_says_which_difference_in_f1_it_would_find(checkout: Checkout) -> None:
    said = checkout.said("run", "--exact", "--dry-run", "--server", "tiny").stdout
    assert "differences in F1 that it would find" in said


def test_each_question_proves_itself_and_a_key_that_does_not_hold_is_named(
    checkout: Checkout,
) -> None:
    done = checkout.said("check", "tiny.callers-of-nobody-at-all")
    assert done.returncode == 0, done.stdout
    asked = questions(checkout)
    asked["questions"][0]["key"]["places"][0]["line"] = 900
    checkout.write("scenarios/exact/broken/questions.yaml", asked)
    try:
        failed = checkout.said("check", "broken.callers-of-finish-up")
        assert "line 900 is past the end of app.py" in failed.stdout
    finally:
        (checkout.root / "scenarios/exact/broken/questions.yaml").unlink()
        (checkout.root / "scenarios/exact/broken").rmdir()


# --- the catalog --------------------------------------------------------------------------------


def with_questions(folder: Path, text: str) -> Path:
    (folder / "images/servers").mkdir(parents=True)
    target = folder / "scenarios/exact/flask"
    target.mkdir(parents=True)
    (target / "questions.yaml").write_text(text)
    return folder


def test_each_question_is_a_scenario_of_one_step_with_its_key(tmp_path: Path) -> None:
    catalog = load_catalog(with_questions(tmp_path, DATA.read_text()))
    assert len(catalog.scenarios) == 10
    loaded = catalog.scenarios["flask.callers-of-get-debug-flag"]
    (step,) = loaded.scenario.steps
    assert step.prompt.startswith("Which functions below src/ call `get_debug_flag`?")
    assert "FOUND: 0" in step.prompt
    assert loaded.rubric.is_keyed
    assert loaded.suite == "exact"
    assert len(step.must_cite) == 4
    (name,) = {one.scenario.repository.label for one in catalog.scenarios.values()}
    assert name == "pypi:flask==3.1.2"


def test_a_question_whose_name_does_not_begin_it_is_refused(tmp_path: Path) -> None:
    text = DATA.read_text().replace(
        "- name: callers-of-validate-path\n  prompt: Which functions call `_validate_path`? "
        "Name the line of each call.\n",
        "- prompt: Which functions call `_validate_path`?\n  name: callers-of-validate-path\n",
    )
    catalog = load_catalog(with_questions(tmp_path, text))
    with pytest.raises(CatalogError, match="has to begin with a line"):
        _ = catalog.scenarios["flask.callers-of-get-debug-flag"]


def test_a_file_that_cannot_be_read_is_named_by_its_folder(tmp_path: Path) -> None:
    catalog = load_catalog(with_questions(tmp_path, "title: [\n"))
    assert list(catalog.scenarios.broken()) == ["flask"]
