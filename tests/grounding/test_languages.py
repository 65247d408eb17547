"""Every kind of definition of each language: found at its line and in its body, nowhere else.

A language has a source in `languages/`, written to hold every kind of thing that its reference
lets a file define, and a table of them: the symbol as an author writes it, the line of its name, a
line of its body and a line that has nothing to do with it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from runner.grounding.naming import symbol_of
from runner.grounding.nearness import MatchKind, measure
from runner.grounding.outlines import outline_of
from runner.grounding.symbols import SourceFile
from runner.grounding.verify import ground
from runner.records import Citation
from tests.grounding.fakes import MemoryFiles

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
