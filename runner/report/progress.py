"""Live progress of a run: a bar and the cells under way on a terminal, else a line an event.

And how far the run is: cells, tokens, dollars, and the time that is left.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as Bars

from runner.protocols import Progress
from runner.records import Cell, CellResult

INTERVAL_SEC = 60.0
"""Between two lines that say how far a run is, where there is no terminal."""
MOST_ROWS = 8
"""Cells under way that are shown on a terminal: the oldest, which may be stuck."""
MOST_LINES = 200
"""Cells of a run that each get a line when they end; in a larger one, those that went wrong."""


@contextmanager
def live(
    cells: int, stream: TextIO, *, finished: int = 0, priced: bool = True
) -> Iterator[Progress]:
    """`cells`: how many are to be run, beside those that are finished.

    `priced`: what the models cost is known.
    """
    shown = _bar if stream.isatty() else _log
    with shown(HowFar(cells=cells, finished=finished, priced=priced), stream) as progress:
        yield progress


@dataclass(kw_only=True)
class HowFar:
    """A run in figures, kept up to date by what its executor tells."""

    cells: int
    """To be run."""
    finished: int
    """Before."""
    priced: bool
    ended: int = 0
    broken: int = 0
    tokens: int = 0
    usd: float = 0.0
    workers: str = ""
    began: float = field(default_factory=time.monotonic)

    def add_cell(self, result: CellResult) -> None:
        self.ended += 1
        self.broken += not result.outcome.is_measurement

    def add_turn(self, tokens: int, usd: float) -> None:
        self.tokens += tokens
        self.usd += usd

    def __str__(self) -> str:
        """`7/72 cells, 1 broken · 81.2k tokens · $0.52 · ~2 h 10 min left`."""
        done = self.finished + self.ended - self.broken
        parts = [f"{done}/{self.finished + self.cells} cells", f"{_short(self.tokens)} tokens"]
        if self.broken:
            parts[0] += f", {self.broken} broken"
        if self.priced:
            parts.append(f"${self.usd:,.2f}")
        return " · ".join([*parts, self._time_left()])

    def _time_left(self) -> str:
        left = self.cells - self.ended
        if not left:
            return "done"
        if not self.ended:
            return "time left unknown"
        left_sec = (time.monotonic() - self.began) / self.ended * left
        return f"~{_duration(left_sec)} left"


def _short(tokens: int) -> str:
    """`812`, `81.2k`, `1.3M`: the line has to fit a terminal."""
    if tokens < 1000:
        return str(tokens)
    if tokens < 1_000_000:
        return f"{tokens / 1000:.1f}k"
    return f"{tokens / 1_000_000:.1f}M"


def _duration(seconds: float) -> str:
    minutes = math.ceil(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    if minutes >= 600:
        return f"{round(minutes / 60)} h"
    return f"{minutes // 60} h {minutes % 60} min"


def _label(cell: Cell) -> str:
    trial = f" #{cell.trial}" if cell.trial > 1 else ""
    return f"{cell.scenario} × {cell.server}{trial}"


def _has_line(far: HowFar, result: CellResult) -> bool:
    return far.cells <= MOST_LINES or result.outcome.kind != "answered"


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
def _log(far: HowFar, stream: TextIO) -> Iterator[Progress]:
    said = time.monotonic()

    def line(text: str) -> None:
        now = datetime.now(UTC).strftime("%H:%M:%S")
        stream.write(f"{now} {text}\n")
        # Unflushed, a log that is piped to a file would stay empty for minutes.
        stream.flush()

    def now_and_then() -> None:
        nonlocal said
        if time.monotonic() - said >= INTERVAL_SEC or far.ended == far.cells:
            said = time.monotonic()
            line(" · ".join(filter(None, [str(far), far.workers])))

    def of_cell(text: str) -> None:
        if far.cells <= MOST_LINES:
            line(text)

    def ended(result: CellResult) -> None:
        far.add_cell(result)
        if _has_line(far, result):
            line(f"[{far.ended}/{far.cells}] {_label(result.cell)}: {_ending(result)}")
        now_and_then()

    def workers(text: str) -> None:
        far.workers = text

    def spent(tokens: int, usd: float) -> None:
        far.add_turn(tokens, usd)
        now_and_then()

    yield Progress(
        started=lambda cell: of_cell(f"{_label(cell)}: starts"),
        says=lambda cell, text: of_cell(f"{_label(cell)}: {text}"),
        ended=ended,
        spent=spent,
        note=line,
        workers=workers,
    )


@contextmanager
def _bar(far: HowFar, stream: TextIO) -> Iterator[Progress]:
    columns = (
        SpinnerColumn(),
        # Without markup=False, a cell that says `[red]` would colour the line.
        TextColumn("{task.description}", markup=False),
        BarColumn(8),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=Console(file=stream), transient=True) as bars:
        whole = bars.add_task(str(far), total=far.cells)
        by_worker = bars.add_task("", total=None, visible=False)
        rows = _Rows(bars=bars, more=bars.add_task("", total=None, visible=False))

        def note(text: str) -> None:
            bars.console.print(text, markup=False, highlight=False)

        def ended(result: CellResult) -> None:
            rows.end(result.cell)
            far.add_cell(result)
            if _has_line(far, result):
                note(f"{_label(result.cell)}: {_ending(result)}")
            bars.update(whole, advance=1, description=str(far))

        def spent(tokens: int, usd: float) -> None:
            far.add_turn(tokens, usd)
            bars.update(whole, description=str(far))

        def workers(text: str) -> None:
            bars.update(by_worker, description=text, visible=bool(text))

        yield Progress(
            started=rows.start,
            says=rows.say,
            ended=ended,
            spent=spent,
            note=note,
            workers=workers,
        )


@dataclass(kw_only=True)
class _Rows:
    """The cells under way, each with how long it has been. In one screen, however many they are."""

    bars: Bars
    more: TaskID
    under_way: dict[str, TaskID] = field(default_factory=dict)

    def start(self, cell: Cell) -> None:
        # Its worker was lost, and another has taken it up.
        self.end(cell)
        self.under_way[cell.id] = self.bars.add_task(_label(cell), total=None)
        self._show()

    def say(self, cell: Cell, text: str) -> None:
        if cell.id in self.under_way:
            self.bars.update(self.under_way[cell.id], description=f"{_label(cell)}: {text}")

    def end(self, cell: Cell) -> None:
        if cell.id in self.under_way:
            self.bars.remove_task(self.under_way.pop(cell.id))
            self._show()

    def _show(self) -> None:
        for place, row in enumerate(self.under_way.values()):
            self.bars.update(row, visible=place < MOST_ROWS)
        hidden = len(self.under_way) - MOST_ROWS
        self.bars.update(self.more, description=f"and {hidden} more cells", visible=hidden > 0)
