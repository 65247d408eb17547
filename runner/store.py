"""runs/<run>/: the plan, and one file set per cell and attempt. Whatever kills a runner, what is finished stays and what is not is seen.

runs/<run>/plan.json
runs/<run>/cells/<cell id>/attempt-<n>/{transcript.jsonl, server.stderr.log, result.json}
runs/<run>/cells/<cell id>/attempt-<n>.partial/     an attempt that is running, or that was cut off
runs/<run>/cells/<cell id>/scorecard.json
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from runner.errors import BusyError, FairtrialError
from runner.records import Cell, CellResult, Plan, Scorecard, parse_json


@dataclass(frozen=True, kw_only=True)
class LoadedCell:
    """One planned cell as it stands on disk."""

    cell: Cell
    result: CellResult | None
    """Of the attempt that counts: the first that is a measurement, else the newest that ended. None: not finished yet."""
    attempts: int
    """Every attempt begun, cut ones included."""
    scorecard: Scorecard | None

    @property
    def measured(self) -> bool:
        return self.result is not None and self.result.outcome.is_measurement


@dataclass(frozen=True, kw_only=True)
class LoadedRun:
    plan: Plan
    cells: tuple[LoadedCell, ...]
    """In the plan's order."""


def write_whole(path: Path, text: str) -> None:
    """Write by temporary file, fsync and rename: a reader sees the old file or the new one, never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        hint = "free some disk space; finished cells are kept"
        raise FairtrialError(
            f"cannot write: {error.strerror}", where=str(path), hint=hint
        ) from error


def write_record(path: Path, record: BaseModel) -> None:
    write_whole(path, record.model_dump_json(indent=1) + "\n")


class RunStore:
    """One run's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep every other runner out of this run. Raises BusyError where one is at work; a dead runner's hold is gone with it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".hold").open("a+", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                file.seek(0)
                holder = file.read().strip() or "unknown"
                raise BusyError(
                    f"another runner (process {holder}) is at work on this run",
                    where=str(self.folder),
                    hint="wait for it, or choose another name with --run",
                ) from error
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield

    def plan(self) -> Plan:
        """Raises FairtrialError where there is no such run."""
        path = self.folder / "plan.json"
        if not path.is_file():
            raise FairtrialError(
                "no such run",
                where=str(self.folder),
                hint="`fairtrial run` makes one; runs live under runs/",
            )
        return parse_json(path.read_bytes(), Plan, where=str(path))

    def write_plan(self, plan: Plan) -> None:
        write_record(self.folder / "plan.json", plan)

    def cell_folder(self, cell_id: str) -> Path:
        return self.folder / "cells" / cell_id

    def begin(self, cell: Cell) -> Path:
        """A fresh folder for the next attempt; it is `.partial` until `finish`."""
        number = len(self._attempts(cell.id)) + 1
        folder = self.cell_folder(cell.id) / f"attempt-{number}.partial"
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise FairtrialError(
                f"cannot write: {error.strerror}", where=str(folder), hint="free some disk space"
            ) from error
        return folder

    def finish(self, attempt: Path, result: CellResult) -> Path:
        """Write the result, then rename the attempt: its final name proves that everything in it is whole."""
        write_record(attempt / "result.json", result)
        final = attempt.with_suffix("")
        attempt.rename(final)
        return final

    def _attempts(self, cell_id: str) -> list[Path]:
        folder = self.cell_folder(cell_id)
        return sorted(folder.glob("attempt-*"), key=_attempt_number) if folder.is_dir() else []

    def counted_attempt(self, cell_id: str) -> tuple[Path, CellResult] | None:
        """The attempt that counts: the first measurement, else the newest that ended."""
        newest: tuple[Path, CellResult] | None = None
        for folder in self._attempts(cell_id):
            path = folder / "result.json"
            if folder.suffix == ".partial" or not path.is_file():
                continue
            newest = folder, parse_json(path.read_bytes(), CellResult, where=str(path))
            if newest[1].outcome.is_measurement:
                break
        return newest

    def load_cell(self, cell: Cell) -> LoadedCell:
        counted = self.counted_attempt(cell.id)
        card = self.cell_folder(cell.id) / "scorecard.json"
        return LoadedCell(
            cell=cell,
            result=counted[1] if counted else None,
            attempts=len(self._attempts(cell.id)),
            scorecard=parse_json(card.read_bytes(), Scorecard, where=str(card))
            if card.is_file()
            else None,
        )

    def load(self) -> LoadedRun:
        plan = self.plan()
        return LoadedRun(plan=plan, cells=tuple(self.load_cell(cell) for cell in plan.cells))

    def write_scorecard(self, card: Scorecard) -> None:
        write_record(self.cell_folder(card.cell_id) / "scorecard.json", card)


def _attempt_number(folder: Path) -> int:
    return int(folder.name.removeprefix("attempt-").removesuffix(".partial"))
