"""Markdown tables, whose columns say what is a file, a line and a symbol."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from runner.grounding.commit_files import PathIndex
from runner.grounding.inline import first_path_in, read_below
from runner.grounding.mentions import MOST_MENTIONS, MOST_SAID, Mention, saying
from runner.grounding.naming import is_compound, symbol_of
from runner.grounding.owners import Above
from runner.grounding.patterns import LineRange, intervals

_CELL_END = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"\s*\|?\s*:?-{1,}:?\s*(?:\|\s*:?-{1,}:?\s*)*\|?\s*\Z")  # |---|:-:|
_FILE_COLUMN = re.compile(r"\b(?:file|path|location|module|source|where)s?\b", re.I)
_LINE_COLUMN = re.compile(
    r"""
    \A\W*
    (?: (?:def(?:ined|inition)?\s|approx\.?\s|start\s|end\s|\~)?
        lines?(?:\s?(?:\(s\)|no\.?|nos\.?|numbers?|ranges?|spans?|\#))?  # Line(s), line no., Lines
      | loc(?:ation)? | ln | range | at | l | span | where | pos(?:ition)?
      | defined(?:\s(?:at|in|on))? | definition | start | end
    )\W*\Z
    """,
    re.I | re.X,
)
_SYMBOL_COLUMN = re.compile(
    r"""
    \A\W*
    (?:symbol|function|method|class|struct|trait|identifier|test|handler|hook|helper|caller|callee
      |layer[ ]type|type|name)s?
    (?:\s*/\s*\w+|\s+name)?                                       # Class / method, Function name
    \W*\Z
    """,
    re.I | re.X,
)
_SURE_COLUMN = re.compile(r"\W*(?:symbol|identifier|class|struct|trait)s?\W*\Z", re.I)
"""A column whose title leaves no doubt: even an English word in it is a symbol."""
_NUMBER = r"[L~:]?\d{1,7}(?:\s?[-–—]\s?L?\d{1,7})?"
_NUMERIC = re.compile(
    rf"""
    \W*(?:[Ll]ines?\W*)?                                          # **lines
    (?P<list>{_NUMBER}(?:\s?(?:,|/|;|and|&)\s?{_NUMBER}){{0,60}}) # 42-60, 71 and 80
    \W*\Z
    """,
    re.X,
)


_DITTO = re.compile(r"|same(?:\sfile)?|ditto|idem|ibid\.?|[\"″〃⋮↑^—–-]+", re.I)
_COLUMN_NUMBER = re.compile(
    r"(?<![\w.:~$-])(?<!L)(?=\d{2,5}(?:[-–]\d{2,6})?`?(?:\s*\Z|[,;)]|\s[`(→—–]))"
)
"""Before a number in a column that a file heads."""


class _MarkdownColumn(NamedTuple):
    title: str
    file: str | None
    """That its title names."""


_UNTITLED = _MarkdownColumn("", None)


class _MarkdownCell(NamedTuple):
    text: str
    column: _MarkdownColumn


def is_rule(row: str) -> bool:
    """The line of dashes under a table's header."""
    return "-" in row and "|" in row and bool(_RULE.match(row))


def cells_of(row: str) -> list[str]:
    """The cells of a Markdown table row; a bar inside a code span splits none."""
    if "`" in row:  # `a|b`
        row = re.sub(r"`[^`]*`", lambda span: span[0].replace("|", "\x00"), row)
    cells = [cell.replace("\x00", "|").strip() for cell in _CELL_END.split(row.strip())]
    begin, end = 0, len(cells)
    # A row may have a bar at its beginning and at its end, and need not.
    if not cells[0]:
        begin += 1
    if len(cells) > 1 and not cells[-1]:
        end -= 1
    return cells[begin:end]


def read_table(rows: Sequence[str], index: PathIndex, above: Above) -> list[Mention]:
    """The citations of a table: rows[0] is its header.

    A cell is a sentence; its file comes from its row, its column's title or above.
    """
    return _MarkdownTable(index, above).read(rows)


class _MarkdownTable:
    def __init__(self, index: PathIndex, above: Above) -> None:
        self.index = index
        self.above = above
        self.last_file: str | None = None
        """Of the row before."""

    def read(self, rows: Sequence[str]) -> list[Mention]:
        header = cells_of(rows[0])
        columns = [_MarkdownColumn(title, first_path_in(title, self.index)) for title in header]
        mentions: list[Mention] = []
        for title in header:
            # A file in a title heads its column, and is cited in the cells.
            cited = read_below(title, self.index, self.above).mentions
            mentions += [mention for mention in cited if mention.start is not None]
        for row in rows[1:]:
            if len(mentions) >= MOST_MENTIONS or self.above.seen.is_cut:
                break
            mentions += self._read_row(_cells(row, columns))
        return mentions

    def _read_row(self, cells: list[_MarkdownCell]) -> Iterator[Mention]:
        row_file = _row_file(cells, self.index)
        if row_file is None and any(map(_is_ditto, cells)):
            row_file = self.last_file
        self.last_file = row_file
        symbol = _row_symbol(cells)
        cited: list[Mention] = []
        silent: list[str] = []
        for cell in cells:
            above, file = self.above, cell.column.file or row_file
            if file:
                above = above._replace(file=file, sure=True)
            own = list(self._read_cell(cell, above, symbol))
            cited += own
            # A cell that cites speaks of its own place, any other of the whole row.
            if not own:
                silent.append(cell.text)
        return saying(" ".join(silent)[:MOST_SAID], cited)

    def _read_cell(
        self, cell: _MarkdownCell, above: Above, symbol: str | None
    ) -> Iterator[Mention]:
        lines = _numeric_lines(cell)
        if lines and above.file:
            written = cell.text.strip("`*_ ")
            for start, end in lines:
                yield Mention(written=written, path=above.file, start=start, end=end, symbol=symbol)
            return
        text = cell.text
        if cell.column.file:
            text = _COLUMN_NUMBER.sub("L", text)
        for mention in read_below(text, self.index, above).mentions:
            yield _with_row_symbol(mention, cell.text, symbol)


def _cells(row: str, columns: Iterable[_MarkdownColumn]) -> list[_MarkdownCell]:
    """A row may be longer than the header, or shorter."""
    padded = itertools.chain(columns, itertools.repeat(_UNTITLED))
    return [_MarkdownCell(*cell) for cell in zip(cells_of(row), padded, strict=False)]


def _numeric_lines(cell: _MarkdownCell) -> list[LineRange]:
    """The numbers of a cell of nothing else, in a column of lines or of one file."""
    # Any other column may count something.
    if not cell.column.file and not _LINE_COLUMN.match(cell.column.title):
        return []
    numeric = _NUMERIC.match(cell.text)
    return intervals(numeric["list"].replace(":", "")) if numeric else []


def _with_row_symbol(mention: Mention, cell: str, symbol: str | None) -> Mention:
    """A cell that is a citation and nothing else is the place of the row's symbol."""
    if symbol is None or mention.start is None or mention.symbol is not None:
        return mention
    if len(cell.strip("`*_ ()")) > len(mention.written) + 2:
        return mention
    return mention._replace(symbol=symbol)


def _is_ditto(cell: _MarkdownCell) -> bool:
    """An empty cell of files, or one that says "same"."""
    return bool(
        _FILE_COLUMN.search(cell.column.title) and _DITTO.fullmatch(cell.text.strip("`*_ "))
    )


def _row_file(cells: list[_MarkdownCell], index: PathIndex) -> str | None:
    in_file_columns = [cell for cell in cells if _FILE_COLUMN.search(cell.column.title)]
    for cell in (*in_file_columns, *cells):
        path = first_path_in(cell.text, index)
        if path:
            return path
    return None


def _row_symbol(cells: Iterable[_MarkdownCell]) -> str | None:
    """The symbol in the first column of symbols, if it is one and looks like no English word."""
    for cell in cells:
        if _SYMBOL_COLUMN.match(cell.column.title):
            return _cell_symbol(cell)
    return None


def _cell_symbol(cell: _MarkdownCell) -> str | None:
    symbol = symbol_of(cell.text.strip("`* "))
    if symbol is None:
        return None
    sure = "`" in cell.text or _SURE_COLUMN.match(cell.column.title)
    if sure or is_compound(symbol):
        return symbol
    return None
