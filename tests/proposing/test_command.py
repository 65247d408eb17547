"""From a private folder to a measured scenario, by the command. Real git, one real container."""

from __future__ import annotations

import json
from contextlib import chdir
from pathlib import Path

import docker
import pytest

from runner.catalog.project import init
from tests.checkout import git, said
from tests.proposing.test_history import AFTER, BEFORE
from tests.proposing.trees import PYTHON, commit, padded

ID = "callers-of-count-money"
LEFT = [
    "scenario.yaml",
    "rubric.yaml",
    "rubric.yaml",
    "reference/1.md",
    "reference/2.md",
]
PURPOSES = """\
        facts:
          - says: the audit counts twice and compares
            terms: [[look_twice], [twice, compar*]]
            cites: [{path: shop/audit.py, line: 8}]
"""
ASSERTIONS = """\
        facts:
          - says: no test holds a till that is missing
            terms: [[no test], [missing, none]]
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "secret-shop"
    commit(folder, padded(PYTHON))
    (folder / "notes.txt").write_text("not committed")
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "trials"
    list(init(folder))
    git(folder, "init", "-q")
    return folder


def environment(project: Path) -> dict[str, str]:
    """With caches beside the project."""
    return {"XDG_CACHE_HOME": str(project.parent / "cache"), "COLUMNS": "200"}


def fairtrial(project: Path, *arguments: str, code: int = 0) -> tuple[str, str]:
    """Its stdout and stderr, in a project."""
    with chdir(project):
        done = said(arguments, **environment(project))
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout, done.stderr


def finish(folder: Path) -> None:
    """What a person writes."""
    scenario = (folder / "scenario.yaml").read_text().splitlines(keepends=True)
    kept = [line for line in scenario if "unreviewed:" not in line]
    text = "".join(kept).replace("TO WRITE: whom", "Whom")
    (folder / "scenario.yaml").write_text(text)
    rubric = (folder / "rubric.yaml").read_text()
    for facts in (PURPOSES, ASSERTIONS):
        head, _, rest = rubric.partition("        # TO WRITE")
        rubric = head + facts + rest.partition("facts: []\n")[2]
    (folder / "rubric.yaml").write_text(rubric)
    for number, sentence in enumerate(
        (
            "look_twice counts twice and compares (shop/audit.py:8).",
            "No test holds a till that is missing.",
        ),
        start=1,
    ):
        path = folder / f"reference/{number}.md"
        path.write_text(path.read_text().partition("TO WRITE")[0] + f"- {sentence}\n")


def test_a_private_folder_becomes_a_scenario_that_check_finishes_and_a_run_measures(
    shop: Path, project: Path, engine: docker.DockerClient
) -> None:
    out, err = fairtrial(project, "scenario", "new", "--repo", str(shop))
    assert f"next: `fairtrial check {ID}` says what is left to write" in out
    assert "1 uncommitted file is left out; --dirty takes them" in err
    assert "chosen: who calls count_money (shop/till.py:1): 3 functions in 3 files" in err
    git(project, "add", ".")
    tracked = git(project, "diff", "--cached")
    assert "count_money" in tracked
    assert "secret-shop" not in tracked, "a tracked file names the private folder"

    out, _ = fairtrial(project, "check", ID, code=1)
    told = [line for line in out.splitlines() if "still to write" in line]
    assert [line.split(f"{ID}/")[1].split(":")[0] for line in told] == LEFT
    assert "nobody has reviewed it" in out

    finish(project / "scenarios/own" / ID)
    out, _ = fairtrial(project, "check", ID)
    assert "1 of 1 scenarios prove themselves" in out
    fairtrial(project, "lock")
    try:
        run = ("run", "--scenario", ID, "--server", "shell", "--ungated", "--json", "--run", "one")
        out, _ = fairtrial(project, *run, "--trials", "1")
    finally:
        _remove_workspaces(engine, project.parent / "cache/fairtrial/images.json")
    (section,) = json.loads(out)["sections"]
    assert (section["id"], section["unreviewed"]) == (ID, "")
    (result,) = (project / "runs/one").glob("cells/*/attempt-1/result.json")
    assert json.loads(result.read_text())["outcome"]["kind"] == "answered"


def _remove_workspaces(engine: docker.DockerClient, memory: Path) -> None:
    for name, image in json.loads(memory.read_text()).items():
        if name.startswith("fairtrial/workspace:"):
            engine.api.remove_image(image, force=True)


def test_a_fix_of_the_history_is_pinned_at_its_parent(shop: Path, project: Path) -> None:
    parent = commit(shop, BEFORE)
    commit(shop, AFTER, "fix: a missing till breaks the sum")
    out, _ = fairtrial(project, "scenario", "new", "--repo", str(shop), "--from-history", "--json")
    (made,) = json.loads(out)
    text = (Path(made["folder"]) / "scenario.yaml").read_text()
    assert f"commit: {parent}" in text
    assert "unreviewed: " in text
    out, _ = fairtrial(project, "check", made["id"], code=1)
    assert "is not a file at the commit" not in out


def test_a_folder_that_is_no_project_is_not_written_to(shop: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    _, err = fairtrial(empty, "scenario", "new", "--repo", str(shop), code=1)
    assert f"{empty}: is no project" in err
    assert not list(empty.iterdir())


def test_the_same_folder_keeps_its_label_and_a_second_one_gets_its_own(
    shop: Path, project: Path, tmp_path: Path
) -> None:
    commit(tmp_path / "other", PYTHON)
    fairtrial(project, "scenario", "new", "--repo", str(shop))
    fairtrial(project, "scenario", "new", "--repo", str(shop), "--id", "second")
    fairtrial(project, "scenario", "new", "--repo", str(tmp_path / "other"), "--id", "third")
    found = [
        (project / f"scenarios/own/{name}/scenario.yaml").read_text().partition("local:")[2][:5]
        for name in (ID, "second", "third")
    ]
    assert found == ["own',", "own',", "own-2"]
    _, err = fairtrial(project, "scenario", "new", "--repo", str(shop), "--id", "third", code=1)
    assert "that scenario is there already" in err
