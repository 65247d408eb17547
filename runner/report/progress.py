"""Live progress of a run: a bar and the cells under way on a terminal, one line an event elsewhere."""

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
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as Bars

from runner.protocols import Progress
from runner.records import Cell, CellResult


def _label(cell: Cell) -> str:
    trial = f" #{cell.trial}" if cell.trial > 1 else ""
    return f"{cell.scenario} × {cell.server}{trial}"


@contextmanager
def live(cells: int, stream: TextIO) -> Iterator[Progress]:
    """`cells`: how many are to be run."""
    with _bar(cells, stream) if stream.isatty() else _log(cells, stream) as progress:
        yield progress


@contextmanager
def _log(cells: int, stream: TextIO) -> Iterator[Progress]:
    done = 0

    def line(text: str) -> None:
        now = datetime.now(UTC).strftime("%H:%M:%S")
        stream.write(f"{now} {text}\n")
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


def _ending(result: CellResult) -> str:
    reason = (
        "" if result.outcome.kind == "answered" else f" ({result.outcome.reason.splitlines()[0]})"
    )
    return f"{result.outcome.kind} in {result.timings.total_sec:.1f} s{reason}"


@contextmanager
def _bar(cells: int, stream: TextIO) -> Iterator[Progress]:
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=Console(file=stream), transient=True) as bars:
        whole = bars.add_task("cells", total=cells)
        under_way = {}

        def started(cell: Cell) -> None:
            under_way[cell.id] = bars.add_task(_label(cell), total=None)

        def says(cell: Cell, text: str) -> None:
            bars.update(under_way[cell.id], description=f"{_label(cell)}: {text}")

        def ended(result: CellResult) -> None:
            bars.remove_task(under_way.pop(result.cell.id))
            bars.console.print(
                f"{_label(result.cell)}: {_ending(result)}", markup=False, highlight=False
            )
            bars.advance(whole)

        yield Progress(started=started, says=says, ended=ended)
