"""runs/<run>/: the plan, and one folder per cell and attempt.

Whatever kills a runner, what is finished stays, and what is not can be told.

runs/<run>/plan.json
runs/<run>/cells/<cell id>/attempt-<n>/{transcript.jsonl, server.stderr.log, result.json}
runs/<run>/cells/<cell id>/attempt-<n>.partial/     an attempt that is running, or was cut off
runs/<run>/cells/<cell id>/scorecard.json
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from runner.errors import CatalogError, FairtrialError, of_system
from runner.filelock import lock_or_refuse
from runner.records import Cell, CellResult, Plan, Scorecard, parse_json

PARTIAL = ".partial"
_ATTEMPT = re.compile(rf"attempt-[0-9]{{1,9}}({re.escape(PARTIAL)})?")


@dataclass(frozen=True, kw_only=True)
class LoadedCell:
    """One planned cell as it stands on disk."""

    cell: Cell
    result: CellResult | None
    """Of the attempt that counts (see RunStore.counted_attempt); None if none has ended yet."""
    attempts: int
    """Every attempt begun, cut ones included."""
    scorecard: Scorecard | None

    @property
    def measured(self) -> bool:
        return self.result is not None and self.result.outcome.is_measurement


@dataclass(frozen=True, kw_only=True)
class LoadedRun:
    """A run's plan and its cells as they stand on disk."""

    plan: Plan
    cells: tuple[LoadedCell, ...]
    """In the plan's order."""


@dataclass(frozen=True, kw_only=True)
class AttemptFolder:
    """Where an attempt that has begun is recorded."""

    path: Path
    number: int
    """From 1, cut attempts counted."""


@dataclass(frozen=True, kw_only=True)
class EndedAttempt:
    """An attempt with a result."""

    path: Path
    result: CellResult

    @property
    def transcript(self) -> Path:
        return self.path / "transcript.jsonl"


def write_whole(path: Path, text: str) -> None:
    """Write by temporary file, fsync and rename: a reader sees the old file or the new one.

    Raises FairtrialError if the disk does not take it.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            # Without it, a power cut after the rename leaves an empty file under the final name.
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> FairtrialError:
    known = of_system(error)
    hint = known.hint if known else "free some disk space"
    message = f"cannot write: {error.strerror}"
    return FairtrialError(message, where=str(path), hint=f"{hint}; finished cells are kept")


def write_record(path: Path, record: BaseModel) -> None:
    write_whole(path, record.model_dump_json(indent=1) + "\n")


class RunStore:
    """One run's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep every other runner out of this run. Raises BusyError if one is at work.

        A dead runner's lock is gone with it.
        """
        hint = "wait for it, or choose another name with --run"
        with lock_or_refuse(self.folder / ".lock", what="this run", hint=hint):
            yield

    @property
    def label(self) -> str:
        """By which the run's containers are found; the same for every runner that resumes it."""
        return str(self.folder.resolve())

    # --- the plan -------------------------------------------------------------------------------

    def plan(self) -> Plan:
        """Raises FairtrialError if there is no such run."""
        path = self.folder / "plan.json"
        if not path.is_file():
            hint = "`fairtrial run` makes one; runs live under runs/"
            raise FairtrialError("no such run", where=str(self.folder), hint=hint)
        return parse_json(path.read_bytes(), Plan, where=str(path))

    def has_plan(self) -> bool:
        return (self.folder / "plan.json").is_file()

    def write_plan(self, plan: Plan) -> None:
        write_record(self.folder / "plan.json", plan)

    # --- attempts -------------------------------------------------------------------------------

    def begin(self, cell: Cell) -> AttemptFolder:
        """A fresh folder for the cell's next attempt; it is `.partial` until `finish`."""
        # Counted, one that somebody removed would have the next begin in a folder that is there.
        number = max(map(_attempt_number, self._attempts(cell.id)), default=0) + 1
        path = self.cell_folder(cell.id) / f"attempt-{number}{PARTIAL}"
        try:
            path.mkdir(parents=True)
        except OSError as error:
            raise _cannot_write(path, error) from error
        return AttemptFolder(path=path, number=number)

    def finish(self, attempt: AttemptFolder, result: CellResult) -> Path:
        """Write the result, then rename: the final name proves that everything in it is whole."""
        write_record(attempt.path / "result.json", result)
        final = attempt.path.with_suffix("")
        attempt.path.rename(final)
        return final

    def counted_attempt(self, cell_id: str) -> EndedAttempt | None:
        """The attempt that counts: the first measurement, else the newest that ended."""
        newest: EndedAttempt | None = None
        for folder in self._attempts(cell_id):
            path = folder / "result.json"
            if folder.suffix == PARTIAL or not path.is_file():
                continue
            result = parse_json(path.read_bytes(), CellResult, where=str(path))
            newest = EndedAttempt(path=folder, result=result)
            if result.outcome.is_measurement:
                break
        return newest

    def measured_attempts(self) -> Iterator[tuple[Cell, EndedAttempt]]:
        """Each planned cell that has been measured, with the attempt that counts."""
        for cell in self.plan().cells:
            attempt = self.counted_attempt(cell.id)
            if attempt is not None and attempt.result.outcome.is_measurement:
                yield cell, attempt

    def _attempts(self, cell_id: str) -> list[Path]:
        folder = self.cell_folder(cell_id)
        if not folder.is_dir():
            return []
        # A copy that somebody made (`attempt-1.bak`) is no attempt.
        attempts = filter(_is_attempt, folder.iterdir())
        return sorted(attempts, key=_attempt_number)

    def cell_folder(self, cell_id: str) -> Path:
        return self.folder / "cells" / cell_id

    # --- all of it ------------------------------------------------------------------------------

    def load_cell(self, cell: Cell) -> LoadedCell:
        attempt = self.counted_attempt(cell.id)
        return LoadedCell(
            cell=cell,
            result=attempt.result if attempt else None,
            attempts=len(self._attempts(cell.id)),
            scorecard=self._scorecard(cell.id),
        )

    def _scorecard(self, cell_id: str) -> Scorecard | None:
        path = self.cell_folder(cell_id) / "scorecard.json"
        if not path.is_file():
            return None
        try:
            return parse_json(path.read_bytes(), Scorecard, where=str(path))
        except CatalogError as error:
            # An earlier version's card: the transcript is all that is needed to make a new one.
            hint = f"`fairtrial score {self.folder.name}` makes it again from its transcript"
            raise CatalogError(list(error.problems), hint=hint) from error

    def load(self) -> LoadedRun:
        plan = self.plan()
        return LoadedRun(plan=plan, cells=tuple(map(self.load_cell, plan.cells)))

    def write_scorecard(self, card: Scorecard) -> None:
        write_record(self.cell_folder(card.cell_id) / "scorecard.json", card)


def _is_attempt(folder: Path) -> bool:
    return _ATTEMPT.fullmatch(folder.name) is not None and folder.is_dir()


def _attempt_number(folder: Path) -> int:
    """Of `attempt-12` or `attempt-12.partial`: by name, 12 would come before 2."""
    return int(folder.name.removeprefix("attempt-").removesuffix(PARTIAL))
