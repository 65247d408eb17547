"""From a folder to questions.yaml, by the command. Real git; no engine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from runner.authoring.exact.language_servers import PROGRAMS
from runner.authoring.exact.question_files import folder_name, read_suite
from runner.catalog.locks import read_repos_lock
from tests.checkout import COMMAND, ROOT
from tests.helpers import PATIENCE_SEC
from tests.proposing.test_command import environment, fairtrial, project
from tests.proposing.test_history import AFTER, BEFORE
from tests.proposing.trees import PYTHON, commit, padded

__all__ = ["project"]
MANY = padded(PYTHON) | {
    f"shop/part_{number}.py": f"def use_part_{number}():\n    return 1\n\n\n"
    f"def first_{number}():\n    return use_part_{number}()\n\n\n"
    f"def other_{number}():\n    return use_part_{number}()\n"
    for number in range(6)
}


def test_a_folder_is_asked_about_without_its_name_or_path(tmp_path: Path, project: Path) -> None:
    commit(tmp_path / "secret-shop", MANY)
    arguments = ("--repo", "../secret-shop", "--questions", "6", "--unchecked")
    fairtrial(project, "exact", "make", *arguments)
    path = project / "scenarios/exact/own/questions.yaml"
    made = read_suite(path)
    assert 3 <= len(made.questions) <= 6
    assert sum(it.held_back for it in made.questions) == len(made.questions) // 3
    assert sum(it.drawn for it in made.questions) <= 3
    assert all(it.confirmed_by == () for it in made.questions)
    assert "secret" not in path.read_text()
    assert made.repository.label in read_repos_lock(project)


def test_two_processes_make_the_same_questions_of_one_tree(tmp_path: Path, project: Path) -> None:
    commit(tmp_path / "shop", MANY)
    made = set()
    for seed in ("1", "2"):
        name = f"hash{seed}"
        words = ("exact", "make", "--repo", "../shop", "--questions", "6", "--unchecked")
        subprocess.run(
            [str(COMMAND), *words, "--name", name],
            cwd=project,
            # Where a set's order counted, it would draw other questions.
            env={**os.environ, **environment(project), "PYTHONHASHSEED": seed},
            capture_output=True,
            timeout=PATIENCE_SEC,
            check=True,
        )
        made.add((project / f"scenarios/exact/{name}/questions.yaml").read_text())
    assert len(made) == 1


def test_a_past_fix_is_asked_about_at_the_commit_before_it(tmp_path: Path, project: Path) -> None:
    parent = commit(tmp_path / "shop", BEFORE)
    commit(tmp_path / "shop", AFTER, "fix(tax): a missing till breaks `add_tax` (#12)")
    arguments = ("--repo", "../shop", "--from-history", "--name", "shop")
    fairtrial(project, "exact", "make", *arguments)
    (path,) = (project / "scenarios/exact").glob("shop-past-fix-*/questions.yaml")
    made = read_suite(path)
    assert made.repository.label.endswith(parent)
    (question,) = made.questions
    assert "`shop/day.py:6`" in question.prompt
    assert [(it.path, it.line) for it in question.key.places] == [
        ("shop/tax.py", 5),
        ("shop/till.py", 3),
    ]
    assert "add_tax" not in question.prompt


def test_nothing_to_ask_about_is_said(tmp_path: Path, project: Path) -> None:
    commit(tmp_path / "empty", {"README.md": "nothing\n"})
    arguments = ("--repo", "../empty", "--unchecked")
    _, said = fairtrial(project, "exact", "make", *arguments, code=1)
    assert "nothing here can be asked whose whole answer is proven" in said
    _, said = fairtrial(project, "exact", "make", code=1)
    assert "either --source or --repo" in said


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("pypi:flask==3.1.2", "flask"),
        ("npm:@capacitor/android@8.5.2", "android"),
        ("git:local:shop@abc", "shop"),
        ("git:https://example.org/a/shop.git@abc", "shop"),
    ],
)
def test_a_folder_is_named_by_its_source(label: str, name: str) -> None:
    assert folder_name(label) == name


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_the_version_of_its_lock(name: str) -> None:
    folder = ROOT / "images/programs" / name
    locks = [folder / it for it in ("package-lock.json", "requirements.txt", "unpacked.txt")]
    locked = "".join(path.read_text() for path in locks if path.exists())
    assert PROGRAMS[name].version in locked
    assert "sha" in locked


def test_a_package_is_no_server_of_a_run_over_what_ships(project: Path) -> None:
    for words in ((), ("--exact",)):
        _, said = fairtrial(project, "run", *words, "--server", "npm:acme", "--dry-run", code=1)
        assert "a package is no server yet" in said
        assert "fairtrial try npm:acme --save" in said
