"""The report in a terminal: the run's tables. Scenarios' details are in the other forms."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from runner.report import tables
from runner.report.grid import Table, clean
from runner.report.records import Report
from runner.report.terminal_layout import laid_out
from runner.report.verdict_sentence import verdicts

WIDTH = 80


def render(report: Report, *, width: int = WIDTH, colour: bool = False) -> str:
    """Text no line of which is wider than `width`.

    All of it is literal: no markup in a name or a reason is obeyed.
    """
    return captured(_parts(report, width), width=width, colour=colour)


def render_tables(shown: Iterable[Table], *, width: int = WIDTH) -> str:
    """Tables alone, each under its title."""
    return captured(_parts_of(shown, width), width=width, colour=False)


def _parts_of(shown: Iterable[Table], width: int) -> Iterator[RenderableType]:
    for place, table in enumerate(shown):
        if place:
            yield Text("")
        yield _bold(table.title)
        yield from laid_out(table, width)
        for note in table.notes:
            yield Text(note, style="dim")


def captured(parts: Iterable[RenderableType], *, width: int, colour: bool) -> str:
    console = Console(
        file=io.StringIO(),
        width=width,
        color_system="standard" if colour else None,
        force_terminal=colour,
        # Otherwise Windows gets calls to its console instead of the text that is captured here.
        legacy_windows=False,
    )
    with console.capture() as capture:
        # Cropped, a path that is longer than the line would lead nowhere.
        console.print(Group(*parts), crop=False)
    # Rich pads lines with blanks, which show when a report is pasted or compared.
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def _parts(report: Report, width: int) -> Iterator[RenderableType]:
    for notice in report.notices:
        yield Text(notice, style="bold yellow")
    models = ", ".join(map(clean, report.models))
    yield _bold(f"{report.mark}{clean(report.named)} · {clean(report.created_at)} · {models}")
    yield Text(report.question)
    for said in verdicts(report):
        yield _bold(said)
    yield Text("")
    yield from _parts_of(tables.of_run(report, each=False), width)
    yield Text("")
    yield _bold("What may not be concluded")
    for line in report.not_concluded:
        yield _item(clean(line, 1000))


def _bold(text: str) -> Text:
    return Text(text, style="bold")


def _item(line: str) -> RenderableType:
    grid = RichTable.grid(padding=(0, 1, 0, 0))
    grid.add_row("-", Text(line))
    return grid
