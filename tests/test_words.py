"""The table of words in DESIGN.md: each is what the code calls it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROW = re.compile(r"^\| (?P<word>[^|]+) \| [^|]+ \| (?P<names>(?:`\w+`(?:, )?)+) \|$", re.MULTILINE)
PROSE = re.compile(r'""".*?"""|#[^\n]*|"[^"\n]* [^"\n]*"', re.DOTALL)
"""Docstrings, comments, and texts of more than one word."""
RENAMED_LATER = {
    "run_inputs",
    "onboarding",
    "remedies",
    "drafting",
    "scenario_checks",
    "adversarial_answers",
    "score_cache",
    "exit_cause",
}
"""Names that the table has already and the code gets when its rooms move; empty after that."""


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
    [
        pytest.param(
            word,
            name,
            id=name,
            marks=[pytest.mark.xfail(reason="renamed later")] * (name in RENAMED_LATER),
        )
        for word, name in rows()
    ],
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
