"""The table of words in DESIGN.md: each is what the code calls it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROW = re.compile(r"^\| (?P<word>[^|]+) \| [^|]+ \| (?P<names>(?:`\w+`(?:, )?)+) \|$", re.MULTILINE)
PROSE = re.compile(r'""".*?"""|#[^\n]*|"[^"\n]* [^"\n]*"', re.DOTALL)
"""Docstrings, comments, and texts of more than one word."""


def rows() -> Iterator[tuple[str, str]]:
    """Each word with a name that the code has for it."""
    table = (ROOT / "DESIGN.md").read_text("utf-8").partition("## Words")[2].partition("\n## ")[0]
    for row in ROW.finditer(table):
        for name in re.findall(r"`(\w+)`", row["names"]):
            yield row["word"], name


def test_every_row_of_the_table_says_what_the_code_calls_it() -> None:
    table = (ROOT / "DESIGN.md").read_text("utf-8").partition("## Words")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    assert len(lines) - 1 == len(ROW.findall(table))  # but the heading
    words = [row["word"] for row in ROW.finditer(table)]
    assert len(words) == len(set(words))


@pytest.mark.parametrize(
    ("word", "name"),
    [pytest.param(word, name, id=name) for word, name in rows()],
)
def test_a_word_of_the_table_is_a_name_in_the_code(word: str, name: str) -> None:
    assert name in names_of_the_code(), f"{word}: nothing in runner/ is called {name}"


@cache
def names_of_the_code() -> frozenset[str]:
    """Words of the code without its prose, and the names of files and folders."""
    names = set[str]()
    for path in (ROOT / "runner").rglob("*.py"):
        names |= {path.stem, path.parent.name}
        names.update(re.findall(r"\w+", PROSE.sub("", path.read_text("utf-8"))))
    return frozenset(names)


def test_a_class_has_a_name_of_its_own_and_a_file_a_stem() -> None:
    """But for `Verb`, which each verb's file defines: DESIGN.md, Words."""
    classes: Counter[str] = Counter()
    stems: Counter[str] = Counter()
    for path in (ROOT / "runner").rglob("*.py"):
        stems[path.stem] += path.stem != "__init__"
        for node in ast.parse(path.read_bytes()).body:
            if isinstance(node, ast.ClassDef):
                classes[node.name.lstrip("_")] += node.name != "Verb"
    assert [name for name, count in (classes + stems).items() if count > 1] == []
