"""Every kind of definition of each language: found at its line and in its body, nowhere else.

A language has a source in `languages/`, written to hold every kind of thing that its reference
lets a file define, and a table of them: the symbol as an author writes it, the line of its name, a
line of its body and a line that has nothing to do with it.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from runner.grounding.grammars import language_of
from runner.grounding.language import LANGUAGES
from runner.grounding.naming import symbol_of
from runner.grounding.nearness import MatchKind, measure
from runner.grounding.outlines import outline_of
from runner.grounding.symbols import SourceFile
from runner.grounding.verify import ground
from runner.records import Citation
from tests.checkout import ROOT
from tests.grounding.fakes import MemoryFiles
from tests.helpers import PATIENCE_SEC

FOLDER = Path(__file__).with_name("languages")
TABLES = sorted(FOLDER.glob("*.tsv"))
SHARE = 0.95


class Row(NamedTuple):
    kind: str
    symbol: str
    line: int
    body: int | None
    """None where the definition is one line."""
    wrong: int


def rows_of(table: Path) -> list[Row]:
    with table.open(encoding="utf-8", newline="") as lines:
        return [
            _row(**fields)
            for fields in csv.DictReader(
                lines, delimiter="\t", quotechar=None, quoting=csv.QUOTE_NONE
            )
        ]


def _row(kind: str, symbol: str, line: str, body: str, wrong: str) -> Row:
    inside = None if body == "-" else int(body)
    return Row(kind, symbol, int(line), inside, int(wrong))


def opened(table: Path) -> SourceFile:
    """`shop_rs.tsv` is of `shop.rs`, or of `shop.rs.txt` where our own tools would read it."""
    stem, _, extension = table.stem.rpartition("_")
    path = f"{stem}.{extension}"
    stored = [FOLDER / path, FOLDER / f"{path}.txt"]
    source = next(file for file in stored if file.exists()).read_bytes()
    return SourceFile(path, source, lambda: outline_of(path, source, "0" * 40, None))


def held_by(file: SourceFile, symbol: str, line: int) -> MatchKind | None:
    match = measure(file, symbol, (line, line)).match()
    return match.kind if match else None


def faults_of(file: SourceFile, row: Row) -> Iterator[str]:
    if held_by(file, row.symbol, row.line) != "definition":
        yield f"line {row.line} is not its definition"
    if row.body and held_by(file, row.symbol, row.body) is None:
        yield f"line {row.body} is not in its body"
    if held_by(file, row.symbol, row.wrong) is not None:
        yield f"line {row.wrong} is near it"


def test_every_language_has_a_source_of_its_own() -> None:
    files = map(opened, TABLES)
    assert {language_of(file.path, file.source) for file in files} == set(LANGUAGES)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_every_kind_of_definition_is_found_where_it_is_and_nowhere_else(table: Path) -> None:
    file, rows = opened(table), rows_of(table)
    missed = [(row, faults) for row in rows if (faults := list(faults_of(file, row)))]
    assert len(missed) <= (1 - SHARE) * len(rows), missed


def cited(files: MemoryFiles, symbol: str, line: int, cache_dir: Path) -> Citation:
    """With a cache, the file is parsed for the first of its symbols, and not for each."""
    [path] = files.paths()
    text = f"`{symbol}` is defined at {path}:{line}."
    [citation] = ground(text, files, cache_dir=cache_dir).citations
    return citation


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_an_answer_may_write_each_symbol_as_its_language_does(table: Path, tmp_path: Path) -> None:
    file, rows = opened(table), rows_of(table)
    files = MemoryFiles({file.path: file.source})
    missed: list[Row] = []
    for row in rows:
        right = cited(files, row.symbol, row.line, tmp_path)
        wrong = cited(files, row.symbol, row.wrong, tmp_path)
        if right.held_by != "definition" or wrong.status != "hallucinated":
            missed.append(row)
    assert len(missed) <= (1 - SHARE) * len(rows), missed


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_a_source_of_every_kind_is_parsed_without_an_error(table: Path) -> None:
    file = opened(table)
    assert not [row for row in rows_of(table) if file.broken_near(row.line, row.line, 0)]


@pytest.mark.parametrize(
    ("span", "symbol"),
    [
        ("defmodule Shop.Stock", "Shop.Stock"),
        ("@callback arrive(item) :: :ok", "arrive"),
        ("newtype Ident", "Ident"),
        ("data Shape", "Shape"),
        ("instance Loud Int", "Loud"),
        ("typealias Callback", "Callback"),
        ("case class Point(x: Int)", "Point"),
        ("local function open_shop(door)", "open_shop"),
        ("has_many :letters, dependent: :destroy", "letters"),
        ("attr_reader :items", "items"),
        ("foldl'", "foldl'"),
        ("Stock::$instance", "Stock::$instance"),
        ("(<+>)", "(<+>)"),
        ("->", None),
        ("data foo", None),
    ],
)
def test_a_declaration_is_read_as_its_language_writes_it(span: str, symbol: str | None) -> None:
    assert symbol_of(span) == symbol


# --- one more -------------------------------------------------------------------------------

TOY = """
package = "tree-sitter-python"
extensions = ["toy"]
names = ["Toyfile"]
interpreters = ["toysh"]
"""
ASKED = r"""
from runner.grounding.grammars import language_of
from runner.grounding.verify import ground
from tests.grounding.fakes import MemoryFiles

files = MemoryFiles({"shop.toy": "# A shop.\ndef wind_up():\n    return 1\n"})
[citation] = ground("`wind_up` (shop.toy:2)", files).citations
print(citation.held_by, citation.definition_lines)
print(ground("in gone.toy:3", files).citations[0].status)
print(language_of("Toyfile", b""), language_of("run", b"#!/usr/bin/toysh2\n"))
"""


def test_a_language_is_added_as_one_folder(tmp_path: Path) -> None:
    """In a copy of our code, so that no other test sees it."""
    runner = tmp_path / "runner"
    shutil.copytree(ROOT / "runner", runner, ignore=shutil.ignore_patterns("__pycache__"))
    toy = runner / "grounding" / "languages" / "toy"
    toy.mkdir()
    (toy / "language.toml").write_text(TOY, encoding="utf-8")
    (toy / "tags.scm").write_text("(function_definition name: (identifier) @name) @definition")
    done = subprocess.run(
        [sys.executable, "-c", ASKED],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SEC,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("definition (2,)\nunresolved\ntoy toy\n", "")
