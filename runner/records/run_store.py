"""runs/<run>/: the plan, and one folder per cell and attempt.

Whatever kills a runner, what is finished stays, and what is not can be told.

runs/<run>/plan.json
runs/<run>/cells/<cell id>/attempt-<n>/{transcript.jsonl, server.stderr.log, result.json}
runs/<run>/cells/<cell id>/attempt-1/source         the file that an imported cell was read from
runs/<run>/cells/<cell id>/attempt-<n>.partial/     an attempt that is running, or was cut off
runs/<run>/cells/<cell id>/scorecard.json
runs/<run>/judge.json, judged/<digest>.json         how it was judged, and what models said

Nothing here is believed yet: runner/runs/audit.py holds each file against the others.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from runner.records import (
    Cell,
    CellResult,
    Contradiction,
    Judging,
    Plan,
    RecordedResult,
    Scorecard,
    Usage,
    parse_json,
)
from runner.records.transcript_files import TranscriptWriter, extent_of, usage_in
from runner.support.errors import CatalogError, FairtrialError, of_system
from runner.support.file_lock import lock_or_refuse

PARTIAL = ".partial"
SCORECARD = "scorecard.json"
JUDGING = "judge.json"
_NOT_ASKED = ("plan.json", JUDGING, "report.json")
_ATTEMPT = re.compile(r"attempt-[1-9][0-9]{0,8}(\.partial)?")


@dataclass(frozen=True, kw_only=True)
class LostAttempt:
    """One that is no measurement, or came after one."""

    cut: bool
    """By a kill, an interruption or the run's cap; False for a fault that broke it."""
    turns: tuple[Usage, ...]
    """Those that were recorded. The one that was under way when it was cut is not."""


@dataclass(frozen=True, kw_only=True)
class EndedAttempt:
    """An attempt with a result."""

    path: Path
    result: RecordedResult

    @property
    def number(self) -> int:
        """As its folder has it."""
        return _attempt_number(self.path)

    @property
    def transcript(self) -> Path:
        return self.path / "transcript.jsonl"


@dataclass(frozen=True, kw_only=True)
class LoadedCell:
    """One planned cell as it stands on disk."""

    cell: Cell
    result: CellResult | None
    """Of the attempt that counts (see RunStore.counted_attempt); None if none has ended yet."""
    attempts: int
    """Every attempt begun, cut ones included."""
    scorecard: Scorecard | None = None
    """As its transcript gives it today; None if it is not scored."""
    lost: tuple[LostAttempt, ...] = ()
    """Every attempt that is in no figure: they were paid for."""
    believed: bool = True
    """False if its files contradict each other: it is in no figure."""
    ended: tuple[EndedAttempt, ...] = ()
    """Every attempt that ended, oldest first."""

    @property
    def counted(self) -> EndedAttempt | None:
        """See RunStore.counted_attempt."""
        return _counted(self.ended)

    @property
    def measured(self) -> bool:
        return self.result is not None and self.result.outcome.is_measurement


@dataclass(frozen=True, kw_only=True)
class LoadedRun:
    """A run's plan and its cells as they stand on disk."""

    plan: Plan
    cells: tuple[LoadedCell, ...]
    """In the plan's order."""
    contradictions: tuple[Contradiction, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AttemptFolder:
    """Where an attempt that has begun is recorded."""

    path: Path
    number: int
    """From 1, cut attempts counted."""


def write_whole(path: Path, text: str) -> None:
    """Write by temporary file, fsync and rename: a reader sees the old file or the new one.

    Raises FairtrialError if the disk does not take it.
    """
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes) -> None:
    """As `write_whole`."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            file.write(data)
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

    def beside_plan(self) -> list[Path]:
        """What a benchmark wrote there of how it was asked."""
        return sorted(set(self.folder.glob("*.json")) - {self.folder / name for name in _NOT_ASKED})

    # --- attempts -------------------------------------------------------------------------------

    def begin(self, cell: Cell) -> AttemptFolder:
        """A fresh folder for the cell's next attempt; it is `.partial` until `finish`."""
        # Counted, one that somebody removed would have the next begin in a folder that is there.
        number = max(self.attempt_numbers(cell.id), default=0) + 1
        path = self.cell_folder(cell.id) / f"attempt-{number}{PARTIAL}"
        try:
            path.mkdir(parents=True)
        except OSError as error:
            raise _cannot_write(path, error) from error
        return AttemptFolder(path=path, number=number)

    def transcript(self, attempt: AttemptFolder) -> TranscriptWriter:
        """What writes down what happens in the attempt."""
        return TranscriptWriter(attempt.path / "transcript.jsonl")

    def finish(self, attempt: AttemptFolder, result: CellResult) -> Path:
        """Write the result, then rename: the final name proves that everything in it is whole."""
        recorded = RecordedResult(**dict(result), digest=result.digest_found)
        write_record(attempt.path / "result.json", recorded)
        final = attempt.path.with_suffix("")
        attempt.path.rename(final)
        return final

    def counted_attempt(self, cell_id: str) -> EndedAttempt | None:
        """The attempt that counts: the first measurement, else the newest that ended."""
        return _counted(self.ended_attempts(cell_id))

    def ended_attempts(self, cell_id: str) -> Iterator[EndedAttempt]:
        """Oldest first. Raises CatalogError for a result that is none of this version's."""
        for folder in self.attempt_folders(cell_id):
            path = folder / "result.json"
            if folder.suffix != PARTIAL and path.is_file():
                yield EndedAttempt(path=folder, result=_read_result(path))

    def attempt_numbers(self, cell_id: str) -> list[int]:
        """Of every attempt begun, in order, cut ones included."""
        return list(map(_attempt_number, self.attempt_folders(cell_id)))

    def attempt_folders(self, cell_id: str) -> list[Path]:
        """As `attempt_numbers`."""
        folders = filter(_is_attempt, self._inside(cell_id))
        return sorted(folders, key=_attempt_number)

    def strays(self, cell_id: str) -> list[Path]:
        """What is in a cell's folder and was not put there by a runner. It is never read."""
        return [path for path in self._inside(cell_id) if not _is_ours(path)]

    def _inside(self, cell_id: str) -> list[Path]:
        folder = self.cell_folder(cell_id)
        if not folder.is_dir():
            return []
        return sorted(folder.iterdir())

    @property
    def judged(self) -> Path:
        """Replies of judges that are models."""
        return self.folder / "judged"

    def judging(self) -> Judging | None:
        """How the run was judged last; None if nothing says so. Raises CatalogError."""
        path = self.folder / JUDGING
        if not path.is_file():
            return None
        return parse_json(path.read_bytes(), Judging, where=str(path))

    def write_judging(self, judging: Judging) -> None:
        """So that a report repeats the verdicts of this judge."""
        write_whole(self.folder / JUDGING, judging.model_dump_json(indent=1) + "\n")

    def cell_folder(self, cell_id: str) -> Path:
        return self.folder / "cells" / cell_id

    # --- all of it ------------------------------------------------------------------------------

    def load_cell(self, cell: Cell) -> LoadedCell:
        ended = list(self.ended_attempts(cell.id))
        attempt = _counted(ended)
        return LoadedCell(
            cell=cell,
            result=attempt.result if attempt else None,
            attempts=len(self.attempt_folders(cell.id)),
            lost=tuple(self._lost(cell.id, ended, attempt)),
            ended=tuple(ended),
        )

    def _lost(
        self, cell_id: str, ended: Sequence[EndedAttempt], counted: EndedAttempt | None
    ) -> Iterator[LostAttempt]:
        outcomes = {attempt.path: attempt.result.outcome for attempt in ended}
        for folder in self.attempt_folders(cell_id):
            outcome = outcomes.get(folder)
            # A broken cell's newest attempt counts as its result, and is in no figure either.
            in_figures = outcome is not None and outcome.is_measurement
            if counted is None or folder != counted.path or not in_figures:
                cut = outcome is None or outcome.kind == "cancelled"
                yield LostAttempt(cut=cut, turns=tuple(_turns_in(folder)))

    def load(self) -> LoadedRun:
        """Without scorecards: what they say follows from the transcripts, and is made again."""
        plan = self.plan()
        return LoadedRun(plan=plan, cells=tuple(map(self.load_cell, plan.cells)))

    def stored_scorecard(self, cell_id: str) -> Scorecard | None:
        """What the file says, None if there is none. Raises CatalogError if it is no scorecard."""
        path = self.cell_folder(cell_id) / SCORECARD
        if not path.is_file():
            return None
        return parse_json(path.read_bytes(), Scorecard, where=str(path))

    def write_scorecard(self, card: Scorecard) -> None:
        write_record(self.cell_folder(card.cell_id) / SCORECARD, card)


def require_as_written(transcript: Path) -> None:
    """Raises FairtrialError for an attempt's transcript that is not what its result says.

    One that stands alone is somebody's own, and nothing is known of it.
    """
    path = transcript.with_name("result.json")
    if not path.is_file():
        return
    result, extent = _read_result(path), extent_of(transcript)
    if (extent.digest, extent.events) != (result.transcript, result.events):
        raise FairtrialError(
            "the transcript is not the one that its result.json was written beside",
            where=str(transcript),
            hint="take it from a copy, or move it out of the run to use it as it is",
        )


def _read_result(path: Path) -> RecordedResult:
    try:
        return parse_json(path.read_bytes(), RecordedResult, where=str(path))
    except CatalogError as error:
        hint = (
            "an earlier version wrote it, or an editor: take it from a copy, "
            "or measure again under another name with --run"
        )
        raise CatalogError(list(error.problems), hint=hint) from error


def _counted(ended: Iterable[EndedAttempt]) -> EndedAttempt | None:
    newest: EndedAttempt | None = None
    for attempt in ended:
        newest = attempt
        if attempt.result.outcome.is_measurement:
            break
    return newest


def _turns_in(attempt: Path) -> Iterator[Usage]:
    path = attempt / "transcript.jsonl"
    if path.is_file():
        # A kill may have left anything; what can be read was paid for.
        with suppress(FairtrialError):
            yield from usage_in(path)


def _is_attempt(path: Path) -> bool:
    # `attempt-0` would count before the first, `attempt-01` beside it, and a link leads anywhere.
    return bool(_ATTEMPT.fullmatch(path.name)) and path.is_dir() and not path.is_symlink()


def _is_ours(path: Path) -> bool:
    if path.name == SCORECARD:
        return path.is_file()
    # `.scorecard.json.123.part` is a write that was cut.
    return _is_attempt(path) or path.name.startswith(f".{SCORECARD}.")


def _attempt_number(folder: Path) -> int:
    """Of `attempt-12` or `attempt-12.partial`: by name, 12 would come before 2."""
    return int(folder.name.removeprefix("attempt-").removesuffix(PARTIAL))
