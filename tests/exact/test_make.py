"""From a folder to questions.yaml, by the command. Real git; no engine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from runner.authoring.exact import question_files
from runner.authoring.exact.checking import Opinion
from runner.authoring.exact.language_servers import PROGRAMS
from runner.authoring.exact.own_questions import OwnQuestions, make_questions
from runner.authoring.exact.question_files import FILE, SUITE, CheckedSuite, folder_name, read_suite
from runner.authoring.exact.second_opinion import KeyComparison
from runner.catalog.checkout import Checkout
from runner.catalog.locks import read_repos_lock
from tests.checkout import COMMAND, ROOT
from tests.helpers import PATIENCE_SEC
from tests.proposing.test_command import environment, fairtrial, project
from tests.proposing.test_history import AFTER, BEFORE
from tests.proposing.trees import PYTHON, commit, padded

__all__ = ["project"]
MAKE = ("exact", "make", "--repo", "../shop", "--unchecked")
MANY = padded(PYTHON) | {
    f"shop/part_{number}.py": f"def use_part_{number}():\n    return 1\n\n\n"
    f"def first_{number}():\n    return use_part_{number}()\n\n\n"
    f"def other_{number}():\n    return use_part_{number}()\n"
    for number in range(6)
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    commit(tmp_path / "shop", MANY)
    return tmp_path / "shop"


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


@pytest.mark.usefixtures("shop")
def test_outside_of_a_project_nothing_is_written_and_a_hint_says_where_to_go(
    tmp_path: Path, project: Path
) -> None:
    (tmp_path / "plain").mkdir()
    _, said = fairtrial(tmp_path / "plain", *MAKE, code=1)
    assert f"{tmp_path / 'plain'}: is no project" in said
    assert "fairtrial init" in said
    assert list((tmp_path / "plain").iterdir()) == []
    fairtrial(tmp_path / "plain", *MAKE, "--questions", "6", "--into", str(project))
    assert (project / "scenarios/exact/own/questions.yaml").is_file()


@pytest.mark.usefixtures("shop")
def test_a_second_lot_does_not_take_the_place_of_the_first(project: Path) -> None:
    words = (*MAKE, "--questions", "6")
    fairtrial(project, *words)
    path = project / "scenarios/exact/own/questions.yaml"
    first = path.read_text()
    _, said = fairtrial(project, *words, "--seed", "2", code=1)
    assert f"{path.parent}: questions are there already" in said
    assert "hint: choose another folder with --name, or remove it" in said
    assert path.read_text() == first
    fairtrial(project, *words, "--seed", "2", "--name", "second")
    assert (project / "scenarios/exact/second/questions.yaml").is_file()


@pytest.mark.usefixtures("shop")
def test_two_processes_make_the_same_questions_of_one_tree(project: Path) -> None:
    made = set()
    for seed in ("1", "2"):
        name = f"hash{seed}"
        subprocess.run(
            [str(COMMAND), *MAKE, "--questions", "6", "--name", name],
            cwd=project,
            # Where a set's order counted, it would draw other questions.
            env={**os.environ, **environment(project), "PYTHONHASHSEED": seed},
            capture_output=True,
            timeout=PATIENCE_SEC,
            check=True,
        )
        made.add((project / f"scenarios/exact/{name}/questions.yaml").read_text())
    assert len(made) == 1


NO_TILL = {
    "shop/till.py": PYTHON["shop/till.py"].replace("sum(till)", "sum(till or ())"),
    "shop/day.py": PYTHON["shop/day.py"].replace("money(till)\n", "money(till or ())\n"),
    "shop/audit.py": PYTHON["shop/audit.py"].replace("money(till)", "money(till or ())"),
}
"""What `till` may be is mended in every place that has it."""


def test_a_past_fix_is_asked_about_at_the_commit_before_it(tmp_path: Path, project: Path) -> None:
    parent = commit(tmp_path / "shop", PYTHON)
    commit(tmp_path / "shop", NO_TILL, "fix(tax): a missing shop breaks `count_money` (#12)")
    arguments = ("--repo", "../shop", "--from-history", "--name", "shop-of-many-long-words")
    fairtrial(project, "exact", "make", *arguments)
    (path,) = (project / "scenarios/exact").glob("shop-of-many-long-wo-past-fix-*/questions.yaml")
    made = read_suite(path)
    assert len(f"{path.parent.name}.{made.questions[0].name}") <= 64
    assert made.repository.label.endswith(parent)
    (question,) = made.questions
    assert "`shop/audit.py:8`" in question.prompt
    assert [(it.path, it.line) for it in question.key.places] == [
        ("shop/day.py", 6),
        ("shop/till.py", 3),
    ]
    assert "count_money" not in question.prompt


def test_a_fix_whose_places_have_nothing_in_common_is_not_asked_about(
    tmp_path: Path, project: Path
) -> None:
    commit(tmp_path / "shop", BEFORE)
    commit(tmp_path / "shop", AFTER, "fix: a missing till breaks the sum")
    words = ("exact", "make", "--repo", "../shop", "--from-history")
    _, said = fairtrial(project, *words, code=1)
    assert "no past fix" in said


@pytest.mark.usefixtures("shop")
def test_a_check_says_what_was_found_now_and_not_what_the_file_says(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fairtrial(project, *MAKE, "--questions", "6", "--name", "shop")

    def one_is_silent(_: Checkout, folder: Path) -> CheckedSuite:
        """Nothing is asked: no engine."""
        asked = read_suite(folder / FILE).questions
        opinions = [
            Opinion(
                program="ty 1",
                said=KeyComparison(
                    question=it.name, kind=it.key.kind, language="python", answered=bool(number)
                ),
            )
            for number, it in enumerate(asked)
        ]
        return CheckedSuite(name=folder.name, questions=asked, opinions=tuple(opinions))

    monkeypatch.setattr(question_files, "check_suite", one_is_silent)
    said, _ = fairtrial(project, "exact", "check", "shop")
    count = len(read_suite(project / SUITE / "shop" / FILE).questions)
    last = said.splitlines()[-1]
    assert last == f"{count} questions checked; no second program answered about 1 of them"
    _, said = fairtrial(project, "exact", "check", "bakery", code=1)
    assert "scenarios/exact/bakery: no questions are there" in said
    assert "hint: name a folder of" in said


def test_questions_of_ones_own_are_checked_by_the_command_that_is_told(
    shop: Path, project: Path, tmp_path: Path
) -> None:
    told: list[str] = []
    asked = OwnQuestions(repo=str(shop), count=6, label="shop")
    make_questions(asked, project, tmp_path / "state", os.environ, told.append)
    assert any(f"`fairtrial --root {project} exact check shop`" in line for line in told)


def test_nothing_to_ask_about_is_said(tmp_path: Path, project: Path) -> None:
    commit(tmp_path / "empty", {"README.md": "nothing\n"})
    arguments = ("--repo", "../empty", "--unchecked")
    _, said = fairtrial(project, "exact", "make", *arguments, code=1)
    assert "nothing here can be asked whose whole answer is proven" in said
    _, said = fairtrial(project, "exact", "make", code=1)
    assert "either --source or --repo" in said


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("exact", "make", "--unchecked", "--label", "Secret.Shop"), "--label secret.shop"),
        (("exact", "make", "--unchecked", "--name", "../Shop"), "--name shop"),
        (("exact", "make", "--unchecked", "--name", "a" * 24), f"--name {'a' * 23}"),
        (("run", "--exact", "--dry-run", "--label", "Shop"), "--label shop"),
        (("scenario", "new", "--label", "-shop-"), "--label shop"),
    ],
)
@pytest.mark.usefixtures("shop")
def test_a_name_that_no_scenario_can_bear_is_refused_with_one_that_it_can(
    project: Path, words: tuple[str, ...], hint: str
) -> None:
    *first, option, value = words
    _, said = fairtrial(project, *first, "--repo", "../shop", f"{option}={value}", code=1)
    assert "small letters, digits, dots, dashes and underscores" in said
    assert f"hint: {hint}\n" in said
    assert not (project / "scenarios/exact").exists()


def test_a_password_in_a_url_is_refused_and_kept_out_of_what_is_said(project: Path) -> None:
    words = ("--repo", "https://me:hidden@localhost:1/shop", "--commit", "0" * 40, "--unchecked")
    _, said = fairtrial(project, "exact", "make", *words, code=1)
    assert "--repo, --commit 0000000000000000000000000000000000000000: a password in a URL" in said
    assert "hidden" not in said


def test_a_label_longer_than_an_id_has_room_for_is_cut_in_ids_alone(
    shop: Path, project: Path, tmp_path: Path
) -> None:
    label = "shop-" + "a" * 40
    asked = OwnQuestions(repo=str(shop), count=6, label=label)
    names = make_questions(asked, project, tmp_path / "state", os.environ, lambda _: None)
    assert names
    assert all(it.startswith(label[:23] + ".") and len(it) <= 64 for it in names)


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
