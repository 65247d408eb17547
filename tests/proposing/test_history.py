"""A commit that mended something is asked about at its parent, without its answer. Real git."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runner.authoring.drafting.fix_commits import (
    ChangedLines,
    fixes,
    question,
    said_without_answer,
)
from runner.grounding.commit_files import GitFiles
from tests.proposing.trees import PYTHON, commit

BEFORE = {
    **PYTHON,
    "shop/tax.py": "RATE = 1\n\n\ndef add_tax(sum):\n    return sum + RATE\n",
}
AFTER = {
    "shop/till.py": BEFORE["shop/till.py"].replace("sum(till)", "sum(till or ())"),
    "shop/tax.py": BEFORE["shop/tax.py"].replace("sum + RATE", "sum * (1 + RATE)"),
    "shop/report.py": BEFORE["shop/report.py"].replace("import till", "import tax, till"),
    "shop/day.py": BEFORE["shop/day.py"].replace("count_money(till)\n", "count_money(till) or 0\n"),
    "tests/test_tax.py": "def test_tax():\n    pass\n",
}


def test_a_fix_is_asked_about_with_the_places_before_it(tmp_path: Path) -> None:
    parent = commit(tmp_path, BEFORE)
    head = commit(tmp_path, AFTER, "fix(tax): a missing till breaks `add_tax` (#12)")
    (fix,) = fixes(tmp_path / ".git", head)
    assert fix.parent == parent
    assert fix.subject == "a missing till breaks …"
    with GitFiles(tmp_path, parent) as files:
        asked = question(fix, files)
    assert asked is not None
    places = [(it.path, it.line) for it in asked.step.must_cite]
    # Of report.py only an import changed, and tests/test_tax.py was not there.
    assert places == [("shop/day.py", 6), ("shop/tax.py", 5), ("shop/till.py", 3)]
    assert [fact.terms[0][0] for fact in asked.rubric.facts] == [
        "close_the_day",
        "add_tax",
        "count_money",
    ]
    assert "add_tax" not in asked.step.prompt


def test_another_repository_that_is_mounted_in_it_is_no_place(tmp_path: Path) -> None:
    parent = commit(tmp_path, BEFORE)
    head = commit(tmp_path, AFTER, "fix(tax): a missing till breaks `add_tax` (#12)")
    (fix,) = fixes(tmp_path / ".git", head)
    # Git's diff shows a submodule as a file of one line.
    mounted = replace(fix, changes=(("docs/theme", (ChangedLines(1, 1, False),)), *fix.changes))
    with GitFiles(tmp_path, parent) as files:
        assert question(mounted, files) == question(fix, files)


def test_a_new_function_is_asked_for_nowhere_and_new_lines_of_one_are(tmp_path: Path) -> None:
    parent = commit(tmp_path, BEFORE)
    added = {
        "shop/day.py": BEFORE["shop/day.py"] + "\n\ndef open_the_day():\n    pass\n",
        "shop/audit.py": BEFORE["shop/audit.py"].replace(
            "        first =", "        self.seen = True\n        first ="
        ),
    }
    head = commit(tmp_path, {**AFTER, **added}, "fix: a missing till breaks the sum")
    (fix,) = fixes(tmp_path / ".git", head)
    with GitFiles(tmp_path, parent) as files:
        asked = question(fix, files)
    assert asked is not None
    assert [(it.path, it.line) for it in asked.step.must_cite] == [
        ("shop/audit.py", 7),
        ("shop/tax.py", 5),
        ("shop/till.py", 3),
    ]
    assert "- what has to change is `add_tax` (shop/tax.py:5)\n" in asked.reference


@pytest.mark.parametrize(
    "message", ["feat: count the till twice", "fix the docs of the till", "Fix `add_tax`"]
)
def test_what_mends_nothing_or_tells_nothing_is_passed_over(tmp_path: Path, message: str) -> None:
    commit(tmp_path, BEFORE)
    head = commit(tmp_path, AFTER, message)
    assert not list(fixes(tmp_path / ".git", head))


def test_a_fix_of_few_files_or_of_tests_alone_is_passed_over(tmp_path: Path) -> None:
    commit(tmp_path, BEFORE)
    two = {name: AFTER[name] for name in ("shop/till.py", "shop/tax.py")}
    head = commit(tmp_path, two, "fix: a missing till breaks the sum")
    assert not list(fixes(tmp_path / ".git", head))
    tests = {f"tests/test_{name}.py": "def test_it(): ...\n" for name in "abc"}
    head = commit(tmp_path, tests, "fix: a missing till breaks the sum")
    assert not list(fixes(tmp_path / ".git", head))


def test_names_in_the_change_are_taken_out_of_what_is_said() -> None:
    diff = "+    def parseHeader(self):"
    assert said_without_answer("Fix crash when `parseHeader` sees no colon", diff) == (
        "crash when … sees no colon"
    )
    assert said_without_answer("Fixes #12: empty lists are dropped", diff) == (
        "empty lists are dropped"
    )
    assert said_without_answer("Fix parseHeader", diff) is None
    assert said_without_answer("Ensure that the body is closed", diff) == (
        "Ensure that the body is closed"
    )
    assert said_without_answer("Raise when a start fails, fixes #12", diff) == (
        "Raise when a start fails"
    )
