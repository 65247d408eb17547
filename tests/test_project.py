"""A user's own folder, laid over what ships."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from runner.catalog.catalog import load_catalog
from runner.catalog.checkout import Checkout as Opened
from runner.catalog.locks import write_project_locks
from runner.catalog.project import (
    PROJECT_LOCK,
    find_places,
    init,
    lock_changes,
    require_as_built,
    require_locked,
    write_project_lock,
)
from runner.support.errors import AnchorsDrifted, FairtrialError, LockError
from tests.checkout import REFERENCE, ROOT, RUBRIC, Checkout, repository, scenario


def own_scenario(project: Path, *, name: str = "small", suite: str = "own") -> Path:
    """A sound scenario in a project; returns its folder."""
    source = project.parent / "source"
    commit = repository(source) if not source.exists() else "0" * 40
    folder = project / "scenarios" / suite / name
    (folder / "reference").mkdir(parents=True)
    text = yaml.safe_dump(scenario(f"file://{source}", commit, id=name))
    (folder / "scenario.yaml").write_text(text, encoding="utf-8")
    (folder / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC), encoding="utf-8")
    (folder / "reference/1.md").write_text(REFERENCE, encoding="utf-8")
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    own_scenario(folder)
    write_project_lock(folder)
    return folder


# --- where things are ---------------------------------------------------------------------------


def test_a_checkout_keeps_its_caches_and_a_project_and_an_empty_folder_use_the_users(
    project: Path, tmp_path: Path
) -> None:
    caches, empty = tmp_path / "cache", tmp_path / "empty"
    empty.mkdir()
    ours = find_places(ROOT, caches)
    assert (ours.shipped, ours.project, ours.state) == (ROOT, None, ROOT / ".fairtrial")
    theirs = find_places(project, caches)
    assert (theirs.shipped, theirs.project) == (ROOT, project)
    assert theirs.state == caches / "fairtrial"
    nowhere = find_places(empty, caches)
    assert (nowhere.shipped, nowhere.project, nowhere.top) == (ROOT, None, empty)
    assert list(empty.iterdir()) == []


# --- laid over what ships -----------------------------------------------------------------------


def test_a_project_adds_to_what_ships(project: Path) -> None:
    catalog = load_catalog(ROOT, project)
    assert catalog.scenarios["small"].folder == project / "scenarios/own/small"
    assert catalog.scenarios["flask-error-handling"].folder.is_relative_to(ROOT)
    assert catalog.scenarios.stray == ()
    assert "codegraph" in catalog.servers
    assert len(catalog.testbed) == len(load_catalog(ROOT).testbed)


def test_a_project_cannot_stand_in_for_what_ships(project: Path) -> None:
    own_scenario(project, name="flask-error-handling")
    (project / "images/servers/codegraph").mkdir(parents=True)
    (project / "images/servers/mcp-server-time").mkdir(parents=True)
    catalog = load_catalog(ROOT, project)
    assert catalog.scenarios["flask-error-handling"].folder.is_relative_to(ROOT)
    assert catalog.servers["codegraph"].folder.is_relative_to(ROOT)
    assert "mcp-server-time" not in catalog.servers
    told = [str(it) for it in (*catalog.scenarios.stray, *catalog.servers.stray)]
    assert told == [
        "scenarios/own/flask-error-handling: "
        "ships with fairtrial under the same name; choose another",
        "images/servers/mcp-server-time: ships with fairtrial under the same name; choose another",
        "images/servers/codegraph: ships with fairtrial under the same name; choose another",
    ]


def test_a_project_brings_no_anchors(project: Path) -> None:
    own_scenario(project, name="easy", suite="held-out")
    catalog = load_catalog(ROOT, project)
    assert "easy" not in catalog.scenarios
    assert [problem.where for problem in catalog.scenarios.stray] == ["scenarios/held-out/easy"]


# --- its lock -----------------------------------------------------------------------------------


def test_what_is_locked_passes_and_what_changed_since_is_named(project: Path) -> None:
    folder = project / "scenarios/own/small"
    require_locked(project, [folder])
    (folder / "rubric.yaml").write_text("easier: true\n", encoding="utf-8")
    (folder / "reference/2.md").write_text("more", encoding="utf-8")
    with pytest.raises(AnchorsDrifted) as caught:
        require_locked(project, [folder])
    assert "2 frozen things are not what locks/project.lock says" in str(caught.value)
    told = {(drift.where, drift.what) for drift in caught.value.drifts}
    assert told == {
        ("scenarios/own/small/reference/2.md", "is not in the lock"),
        ("scenarios/own/small/rubric.yaml", "changed"),
    }


def test_what_is_locked_for_the_first_time_is_said_to_be_written(project: Path) -> None:
    own_scenario(project, name="later")
    with pytest.raises(LockError, match=r"later/rubric\.yaml: is not in the lock"):
        write_project_locks(project, {}, check=True)
    said = write_project_locks(project, {})
    assert "scenarios/own/later/rubric.yaml: written" in said
    assert not any("is not in the lock" in line for line in said)


def test_a_change_elsewhere_in_the_project_closes_nothing(project: Path) -> None:
    own_scenario(project, name="later")
    require_locked(project, [project / "scenarios/own/small"])
    assert {drift.where.split("/")[2] for drift in lock_changes(project)} == {"later"}


def test_a_damaged_lock_is_said_with_its_file(project: Path) -> None:
    (project / PROJECT_LOCK).write_text('{"a": 1}', encoding="utf-8")
    with pytest.raises(LockError, match=r"locks/project\.lock: is no object of paths and digests"):
        lock_changes(project)


def test_a_link_in_a_project_is_never_locked(project: Path) -> None:
    (project / "scenarios/own/small/notes").symlink_to("/etc/hostname")
    with pytest.raises(AnchorsDrifted, match="is a symbolic link"):
        write_project_lock(project)


# --- what was installed -------------------------------------------------------------------------


def test_installed_files_are_held_against_the_manifest(tmp_path: Path) -> None:
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks/repos.lock").write_bytes(b"{}\n")
    digest = "ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356"
    (tmp_path / "MANIFEST").write_text(f'{{"locks/repos.lock": "{digest}"}}', encoding="utf-8")
    require_as_built(tmp_path)
    (tmp_path / "locks/repos.lock").write_bytes(b"{ }\n")
    with pytest.raises(LockError, match=r"1 of the installed files .* locks/repos\.lock: changed"):
        require_as_built(tmp_path)
    (tmp_path / "locks/repos.lock").unlink()
    with pytest.raises(LockError, match=r"locks/repos\.lock: is missing"):
        require_as_built(tmp_path)


# --- a new one ------------------------------------------------------------------------------------


def test_a_new_project_is_whole_and_needs_no_network(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    list(init(folder))
    written = sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )
    example = "scenarios/own/example-handler-lookup"
    assert written == [
        ".gitignore",
        "ci-example.yml",
        "images/servers/README.md",
        "justfile",
        "locks/project.lock",
        f"{example}/reference/1.md",
        f"{example}/rubric.yaml",
        f"{example}/scenario.yaml",
    ]
    load_catalog(ROOT, folder).check()
    assert lock_changes(folder) == []


def test_the_example_of_a_new_project_proves_itself(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    list(init(folder))
    project, caches = Checkout(folder, ""), str(tmp_path / "cache")
    done = project.fairtrial("check", XDG_CACHE_HOME=caches)
    assert done.stdout.splitlines()[-2:] == [
        "ok   own/example-handler-lookup",
        "1 of 1 scenarios prove themselves",
    ]
    assert done.returncode == 0
    again = Checkout(folder, "").fairtrial(
        "lock", "--check", XDG_CACHE_HOME=str(tmp_path / "cache")
    )
    assert again.returncode == 0, again.stderr


def test_a_users_own_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "justfile").write_text("mine:\n", encoding="utf-8")
    told = list(init(tmp_path))
    assert "left justfile as it is" in told
    assert (tmp_path / "justfile").read_text(encoding="utf-8") == "mine:\n"


def test_a_checkout_and_a_project_are_no_place_for_a_new_one(project: Path) -> None:
    with pytest.raises(FairtrialError, match="is a project already"):
        list(init(project))
    with pytest.raises(FairtrialError, match="is a checkout of fairtrial"):
        list(init(ROOT))


# --- what is run unasked --------------------------------------------------------------------------


def test_a_project_with_its_own_runs_those_and_one_without_runs_what_ships(
    project: Path, tmp_path: Path
) -> None:
    def opened(folder: Path) -> Opened:
        return Opened(root=ROOT, project=folder, state=tmp_path, environ={}, log=print)

    assert opened(project).choose_scenarios([]) == ["small"]
    assert opened(project).choose_scenarios(["flask-error-handling"]) == ["flask-error-handling"]
    # It has no server of its own.
    assert "codegraph" in opened(project).choose_servers([])
    everything = opened(tmp_path / "bare").choose_scenarios([])
    assert "flask-error-handling" in everything
    assert "click-option-values" not in everything
