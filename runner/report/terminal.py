"""The report in a terminal: the run's tables in 80 columns. Scenarios' details are in the other forms."""

from __future__ import annotations

import io

from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from runner.report import tables
from runner.report.grid import Table, clean
from runner.report.records import Report

WIDTH = 80
LABEL_WIDTH = 22
"""Of a row's name and of figures, before they fold: the longest shipped server's name."""


def render(report: Report, *, width: int = WIDTH, colour: bool = False) -> str:
    """Text no line of which is wider than `width`. All of it is literal: no markup in a name or a reason is obeyed."""
    console = Console(
        file=io.StringIO(),
        width=width,
        color_system="standard" if colour else None,
        force_terminal=colour,
        legacy_windows=False,
    )
    with console.capture() as capture:
        console.print(_whole(report))
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def _whole(report: Report) -> RenderableType:
    notices = [Text(notice, style="bold yellow") for notice in report.notices]
    head = Text(
        f"{clean(report.run)} · {clean(report.created_at)} · {', '.join(map(clean, report.models))}",
        style="bold",
    )
    parts: list[RenderableType] = [
        *notices,
        head,
        Text(report.question),
        Text(tables.answer(report), style="bold"),
    ]
    for table in tables.of_run(report):
        parts += [Text(""), *_table(table, ungated=report.ungated)]
    parts += [
        Text(""),
        Text(_gated("What may not be concluded", ungated=report.ungated), style="bold"),
    ]
    parts += [_item(clean(line, 1000)) for line in report.not_concluded]
    return Group(*parts)


def _gated(title: str, *, ungated: bool) -> str:
    return f"UNGATED · {title}" if ungated else title


def _table(table: Table, *, ungated: bool) -> list[RenderableType]:
    title = Text(_gated(table.title, ungated=ungated), style="bold")
    notes = [Text(note, style="dim") for note in table.notes]
    return [title, _grid(table), *notes] if table.rows else [title, *notes]


def _grid(table: Table) -> RichTable:
    grid = RichTable(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    for place, column in enumerate(table.columns):
        longest = max(len(row[place]) for row in table.rows)
        grid.add_column(
            Text(column.short),
            justify="left" if column.text else "right",
            overflow="fold",
            min_width=None if column.text and place else min(longest, LABEL_WIDTH),
        )
    for row in table.rows:
        grid.add_row(*map(Text, row))
    return grid


def _item(line: str) -> RenderableType:
    grid = RichTable.grid(padding=(0, 1, 0, 0))
    grid.add_row("-", Text(line))
    return grid
