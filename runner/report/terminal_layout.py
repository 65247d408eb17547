"""A table in a terminal's width: every column stays, and every figure stays whole.

What does not fit side by side is printed in strips, one under the other, each with the rows' names.
A name that is too long is cut in its middle, and a legend has it whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, chop_cells
from rich.console import RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from runner.report.grid import Column, Table

LABEL_WIDTH = 24
"""Of the rows' names, where words want room as well."""
LEAST_LABEL = 10
LEAST_WORDS = 14
"""Of a column of words, which fold."""
ELLIPSIS = "…"
GAP = 1
CUT_IN_COLUMN = "arm"
"""Names under this heading are cut; other first columns hold words, which fold."""


@dataclass(frozen=True, kw_only=True)
class Strip:
    """Columns that are printed side by side, by their places, and how wide each is."""

    places: tuple[int, ...]
    widths: tuple[int, ...]


def laid_out(table: Table, width: int, *, cut: bool = False) -> Iterator[RenderableType]:
    """The table's rows in `width` cells, then what was cut. `cut`: names are cut before they fold.

    Nothing for a table without rows.
    """
    if not table.rows:
        return
    strips = _strips(table, width)
    names = list(dict.fromkeys(row[0] for row in table.rows))
    short = {}
    if table.columns[0].short == CUT_IN_COLUMN:
        short = shortened(names, strips[0].widths[0], cut=cut)
    for strip in strips:
        yield _grid(table, strip, short)
    for name, shown in short.items():
        if shown != name:
            yield Text(f"{shown} = {name}", style="dim")


# --- names ----------------------------------------------------------------------------------


def shortened(names: Iterable[str], width: int, *, cut: bool = False) -> dict[str, str]:
    """Name -> as it is shown in `width` cells; no two alike.

    Of several words it is left to fold, if each word fits and `cut` does not forbid it.
    """
    shown: dict[str, str] = {}
    for name in names:
        longest = name if cut else max(name.split(), key=cell_len, default="")
        if cell_len(longest) <= width:
            shown[name] = name
    for name in names:
        if name not in shown:
            shown[name] = _cut(name, width, taken=set(shown.values()))
    return {name: shown[name] for name in names}


def _cut(name: str, width: int, *, taken: set[str]) -> str:
    """`mcp-ser…-sitter`; `mcp-server-…2` if another name was cut to the same."""
    candidate = _beside_mark(name, ELLIPSIS, width, keep_end=True)
    number = 2
    while candidate in taken:
        candidate = _beside_mark(name, f"{ELLIPSIS}{number}", width, keep_end=False)
        number += 1
    return candidate


def _beside_mark(name: str, mark: str, width: int, *, keep_end: bool) -> str:
    room = width - cell_len(mark)
    end = room // 2 if keep_end else 0
    tail = name[len(name) - end :] if end else ""
    head = (chop_cells(name, max(room - cell_len(tail), 1)) or [""])[0]
    return f"{head}{mark}{tail}"


# --- widths ---------------------------------------------------------------------------------


def _strips(table: Table, width: int) -> list[Strip]:
    """As few as hold every column."""
    label, *others = [_least(table, place) for place in range(len(table.columns))]
    room = width - sum(others) - GAP * len(others)
    if room >= label:
        return [_spread(table, tuple(range(len(table.columns))), [label, *others], width)]
    return [
        _spread(table, (0, *places), [label, *widths], width)
        for places, widths in _packed(others, width - label)
    ]


def _packed(widths: Sequence[int], room: int) -> Iterator[tuple[list[int], list[int]]]:
    """Columns after the first, by their places, and their widths, as many as fit at a time."""
    places: list[int] = []
    taken: list[int] = []
    for place, wanted in enumerate(widths, start=1):
        least = min(wanted, room - GAP)
        if places and sum(taken) + least + GAP * (len(taken) + 1) > room:
            yield places, taken
            places, taken = [], []
        places.append(place)
        taken.append(least)
    if places:
        yield places, taken


def _least(table: Table, place: int) -> int:
    """What a column needs: figures and the words of its heading stay whole."""
    column = table.columns[place]
    heading = max(map(cell_len, column.short.split()), default=1)
    longest = max(heading, _longest(table, place))
    if not column.text:
        return longest
    if place == 0:
        return min(longest, max(heading, LEAST_LABEL))
    return max(heading, min(longest, LEAST_WORDS))


def _longest(table: Table, place: int) -> int:
    return max(cell_len(row[place]) for row in table.rows)


def _spread(table: Table, places: Sequence[int], least: Sequence[int], width: int) -> Strip:
    """What is left over goes to the names first, then to words, headings, and the names again."""
    widths = list(least)
    spare = width - sum(widths) - GAP * (len(widths) - 1)
    for index, wanted in _wishes(table, places):
        grown = min(max(wanted - widths[index], 0), spare)
        is_heading = index and not table.columns[places[index]].text
        if is_heading and widths[index] + grown < wanted:
            # Half a heading's room would move the columns and leave it folded.
            continue
        widths[index] += grown
        spare -= grown
    return Strip(places=tuple(places), widths=tuple(widths))


def _wishes(table: Table, places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Which of a strip's columns would grow, in turn, and to what width."""
    names = _longest(table, places[0])
    yield 0, min(names, LABEL_WIDTH)
    for is_text in (True, False):
        for index, place in enumerate(places):
            column = table.columns[place]
            if index and column.text == is_text:
                longest = _longest(table, place) if is_text else 0
                yield index, max(longest, cell_len(column.short))
    yield 0, names


# --- rows -----------------------------------------------------------------------------------


def _grid(table: Table, strip: Strip, short: dict[str, str]) -> RichTable:
    grid = RichTable(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="dim")
    for place, width in zip(strip.places, strip.widths, strict=True):
        _add_column(grid, table.columns[place], width)
    for row in table.rows:
        # As Text: a plain string with `[red]` in it would be obeyed as markup.
        cells = [Text(row[place]) for place in strip.places]
        cells[0] = Text(short.get(row[0], row[0]))
        grid.add_row(*cells)
    return grid


def _add_column(grid: RichTable, column: Column[object], width: int) -> None:
    grid.add_column(
        Text(column.short),
        justify="left" if column.text else "right",
        overflow="fold",
        width=width,
    )
