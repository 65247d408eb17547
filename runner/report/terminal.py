"""The report in a terminal: the run's tables. Scenarios' details are in the other forms."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from runner.report import tables
from runner.report.grid import Column, Table, clean
from runner.report.records import Report

WIDTH = 80
LABEL_WIDTH = 22
"""Of a row's name and of figures, before they fold: the longest shipped server's name."""


def render(report: Report, *, width: int = WIDTH, colour: bool = False) -> str:
    """Text no line of which is wider than `width`.

    All of it is literal: no markup in a name or a reason is obeyed.
    """
    return _captured(_parts(report), width=width, colour=colour)


def render_tables(shown: Iterable[Table], *, width: int = WIDTH, colour: bool = False) -> str:
    """Tables alone, each under its title."""
    return _captured(_parts_of(shown), width=width, colour=colour)


def _parts_of(shown: Iterable[Table]) -> Iterator[RenderableType]:
    for place, table in enumerate(shown):
        if place:
            yield Text("")
        yield _bold(table.title)
        yield from _table(table)


def _captured(parts: Iterable[RenderableType], *, width: int, colour: bool) -> str:
    console = Console(
        file=io.StringIO(),
        width=width,
        color_system="standard" if colour else None,
        force_terminal=colour,
        # Otherwise Windows gets calls to its console instead of the text that is captured here.
        legacy_windows=False,
    )
    with console.capture() as capture:
        console.print(Group(*parts))
    # Rich pads lines with blanks, which show when a report is pasted or compared.
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def _parts(report: Report) -> Iterator[RenderableType]:
    for notice in report.notices:
        yield Text(notice, style="bold yellow")
    models = ", ".join(map(clean, report.models))
    yield _bold(f"{report.mark}{clean(report.run)} · {clean(report.created_at)} · {models}")
    yield Text(report.question)
    yield _bold(tables.answer(report))
    for table in tables.of_run(report):
        yield Text("")
        yield _heading(report, table.title)
        yield from _table(table)
    yield Text("")
    yield _heading(report, "What may not be concluded")
    for line in report.not_concluded:
        yield _item(clean(line, 1000))


def _bold(text: str) -> Text:
    return Text(text, style="bold")


def _heading(report: Report, title: str) -> Text:
    return _bold(f"{report.mark}{title}")


def _table(table: Table) -> Iterator[RenderableType]:
    if table.rows:
        yield _grid(table)
    for note in table.notes:
        yield Text(note, style="dim")


def _grid(table: Table) -> RichTable:
    grid = RichTable(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    for place, column in enumerate(table.columns):
        longest = max(len(row[place]) for row in table.rows)
        grid.add_column(
            Text(column.short),
            justify="left" if column.text else "right",
            overflow="fold",
            min_width=_least_width(place, column, longest),
        )
    for row in table.rows:
        # As Text: a plain string with `[red]` in it would be obeyed as markup.
        grid.add_row(*map(Text, row))
    return grid


def _least_width(place: int, column: Column[Any], longest: int) -> int | None:
    """Words may fold; a row's name and figures stay whole, or `0.123` would read as `0.1`."""
    if column.text and place > 0:
        return None
    return min(longest, LABEL_WIDTH)


def _item(line: str) -> RenderableType:
    grid = RichTable.grid(padding=(0, 1, 0, 0))
    grid.add_row("-", Text(line))
    return grid
