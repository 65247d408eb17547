"""Live progress of a run: a bar and the cells under way on a terminal, else a line an event."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as Bars

from runner.protocols import Progress
from runner.records import Cell, CellResult


@contextmanager
def live(cells: int, stream: TextIO) -> Iterator[Progress]:
    """`cells`: how many are to be run."""
    shown = _bar if stream.isatty() else _log
    with shown(cells, stream) as progress:
        yield progress


def _label(cell: Cell) -> str:
    trial = f" #{cell.trial}" if cell.trial > 1 else ""
    return f"{cell.scenario} × {cell.server}{trial}"


def _ending(result: CellResult) -> str:
    """`answered in 61.0 s`, `sandbox_failed in 3.2 s (the container is gone)`."""
    outcome = result.outcome
    ended: str = outcome.kind
    if result.timings is not None:
        ended += f" in {result.timings.total_sec:.1f} s"
    if outcome.kind == "answered":
        return ended
    # The first line: a traceback's other lines would bury the cells that are under way.
    return f"{ended} ({outcome.reason.splitlines()[0]})"


@contextmanager
def _log(cells: int, stream: TextIO) -> Iterator[Progress]:
    done = 0

    def line(text: str) -> None:
        now = datetime.now(UTC).strftime("%H:%M:%S")
        stream.write(f"{now} {text}\n")
        # Unflushed, a log that is piped to a file would stay empty for minutes.
        stream.flush()

    def ended(result: CellResult) -> None:
        nonlocal done
        done += 1
        line(f"[{done}/{cells}] {_label(result.cell)}: {_ending(result)}")

    yield Progress(
        started=lambda cell: line(f"{_label(cell)}: starts"),
        says=lambda cell, text: line(f"{_label(cell)}: {text}"),
        ended=ended,
    )


@contextmanager
def _bar(cells: int, stream: TextIO) -> Iterator[Progress]:
    columns = (
        SpinnerColumn(),
        # Without markup=False, a cell that says `[red]` would colour the line.
        TextColumn("{task.description}", markup=False),
        BarColumn(20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=Console(file=stream), transient=True) as bars:
        whole = bars.add_task("cells", total=cells)
        under_way: dict[str, TaskID] = {}

        def started(cell: Cell) -> None:
            under_way[cell.id] = bars.add_task(_label(cell), total=None)

        def says(cell: Cell, text: str) -> None:
            bars.update(under_way[cell.id], description=f"{_label(cell)}: {text}")

        def ended(result: CellResult) -> None:
            bars.remove_task(under_way.pop(result.cell.id))
            line = f"{_label(result.cell)}: {_ending(result)}"
            bars.console.print(line, markup=False, highlight=False)
            bars.advance(whole)

        yield Progress(started=started, says=says, ended=ended)
