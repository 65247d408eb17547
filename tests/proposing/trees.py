"""Small repositories in which a name is surely one function, or only looks so."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from runner.authoring.drafting.tree import Tree
from runner.grounding.commit_files import GitFiles
from tests.checkout import git

PYTHON = {
    "shop/till.py": '''\
def count_money(till):
    """count_money is told of here, and called nowhere: count_money()"""
    return sum(till)
''',
    "shop/day.py": """\
from shop.till import count_money


def close_the_day(till):
    # count_money(till) was here before
    return count_money(till)
""",
    "shop/audit.py": """\
from .till import (
    count_money,
)


class Audit:
    def look_twice(self, till):
        first = count_money(till)


        return first == count_money(till)
""",
    "shop/report.py": """\
from shop import till


def print_report(money):
    return till.count_money(money)
""",
    "tests/test_till.py": """\
from shop.till import count_money


def test_an_empty_till_holds_nothing():
    assert count_money([]) == 0


def test_coins_add_up():
    assert count_money([1, 2]) == 3


def test_notes_add_up():
    assert count_money([10, 20]) == 30
""",
}
"""`count_money`: called in three files by three functions, and by three tests."""


def commit(folder: Path, files: Mapping[str, str], message: str = "all") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / ".git").exists():
        git(folder, "init", "-q", "-b", "main")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def tree_of(folder: Path, files: Mapping[str, str]) -> Tree:
    return Tree(GitFiles(folder, commit(folder, files)))


def padded(files: Mapping[str, str]) -> dict[str, str]:
    """With other code behind each: in a file of ten lines, any place is near the right one."""
    return {name: text + _other_code(name) for name, text in files.items()}


def _other_code(path: str) -> str:
    stem = path.rpartition("/")[2].partition(".")[0]
    functions = []
    for number in range(40):
        body = "".join(f"    step_{line} = {line} + {number}\n" for line in range(5))
        functions.append(f"\n\ndef of_{stem}_{number}():\n{body}    return step_4\n")
    return "".join(functions)
