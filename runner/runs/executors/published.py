"""Attempts on their way: from a worker's folder into the exchange, and from there into the run.

An attempt that ended is one object, put once. Of one that has begun, the transcript so far lies
there from its first turn on, so that what a lost worker has paid for is counted.
"""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from runner.records import Cell, CellResult, Event, RecordedResult, Usage, parse_json
from runner.records.run_store import PARTIAL, AttemptFolder, RunStore, write_bytes
from runner.records.transcript_files import TranscriptWriter, extent_of
from runner.runs.executors.exchange import Exchange
from runner.runs.executors.lease import Lease
from runner.support.errors import FairtrialError, WorkerCut

_PART = ".collecting"
"""In the run's folder: what is being unpacked. Beside the attempts it would be taken for one."""


# --- on a worker --------------------------------------------------------------------------------


class PublishingStore(RunStore):
    """A folder of this worker, whose attempts are of the run: they are published as they happen."""

    def __init__(
        self, folder: Path, exchange: Exchange, lease: Lease, begun: Mapping[str, int], label: str
    ) -> None:
        """`begun`: the last attempt at each cell that the run knows of. `label`: the run's."""
        super().__init__(folder)
        self._exchange, self._lease, self._begun, self._label = exchange, lease, begun, label

    @property
    def label(self) -> str:
        return self._label

    def begin(self, cell: Cell) -> AttemptFolder:
        """Under a number that is nobody else's."""
        # What has ended is under way no longer: its number would be free again.
        ended = max(published(self._exchange, cell.id), default=0)
        number = max(ended, self._begun.get(cell.id, 0)) + 1
        # Not JSON: it is no event, and of this lease alone.
        claim = f"taken up by {self._lease.note.holder}\n".encode()
        while not self._exchange.put_new(_under_way_name(cell.id, number), claim):
            number += 1
        path = self.cell_folder(cell.id) / f"attempt-{number}{PARTIAL}"
        path.mkdir(parents=True)
        return AttemptFolder(path=path, number=number)

    def transcript(self, attempt: AttemptFolder) -> TranscriptWriter:
        name = _under_way_name(attempt.path.parent.name, attempt.number)
        return _TurnByTurn(attempt.path / "transcript.jsonl", self._exchange, name)

    def finish(self, attempt: AttemptFolder, result: CellResult) -> Path:
        """Raises WorkerCut if the block is another worker's by now: the attempt stays a cut one."""
        path = super().finish(attempt, result)
        name = _under_way_name(result.cell.id, attempt.number)
        if not self._lease.is_newest():
            self._exchange.put(name, (path / "transcript.jsonl").read_bytes())
            raise WorkerCut("another worker has taken up its block", where=result.cell.id)
        if not self._exchange.put_new(_name(result.cell.id, attempt.number), packed(path)):
            raise FairtrialError(f"attempt {attempt.number} is there", where=result.cell.id)
        self._exchange.remove(name)
        return path


class _TurnByTurn(TranscriptWriter):
    """Publishes what is written whenever a turn has been paid for."""

    def __init__(self, path: Path, exchange: Exchange, name: str) -> None:
        super().__init__(path)
        self._exchange, self._name = exchange, name

    def write(self, event: Event) -> None:
        super().write(event)
        if isinstance(event, Usage):
            self._exchange.put(self._name, self.path.read_bytes())


def packed(attempt: Path) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(attempt.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(attempt).as_posix())
    return buffer.getvalue()


# --- in the exchange ----------------------------------------------------------------------------


def published(exchange: Exchange, cell_id: str) -> set[int]:
    """Numbers of the attempts at a cell that have ended."""
    return set(map(_number, exchange.names(f"attempts/{cell_id}/")))


def result_of(exchange: Exchange, cell_id: str, number: int) -> RecordedResult:
    """Raises FairtrialError for one that is not as it was packed."""
    name = _name(cell_id, number)
    with _opened(exchange, name) as archive:
        return parse_json(archive.read("result.json"), RecordedResult, where=name)


def _opened(exchange: Exchange, name: str) -> zipfile.ZipFile:
    data = exchange.get(name)
    try:
        return zipfile.ZipFile(io.BytesIO(data or b""))
    except zipfile.BadZipFile as error:
        raise _spoilt(exchange, name) from error


def _spoilt(exchange: Exchange, name: str) -> FairtrialError:
    hint = "somebody or something changed it: remove it, and the cell is run again"
    return FairtrialError(f"{name} is not as it was put there", where=exchange.url, hint=hint)


def _under_way(exchange: Exchange, cell_id: str) -> list[int]:
    return [_number(name) for name in exchange.names(f"under-way/{cell_id}/")]


def _name(cell_id: str, number: int) -> str:
    return f"attempts/{cell_id}/{number}.zip"


def _under_way_name(cell_id: str, number: int) -> str:
    return f"under-way/{cell_id}/{number}.jsonl"


def _number(name: str) -> int:
    return int(PurePosixPath(name).stem)


# --- into the run -------------------------------------------------------------------------------


def collect(exchange: Exchange, store: RunStore, cell_ids: Iterable[str]) -> list[RecordedResult]:
    """Copy what ended of these cells, and is not there yet, into the run; the results of that."""
    return [
        _unpacked(exchange, store, cell_id, number)
        for cell_id in cell_ids
        for number in sorted(published(exchange, cell_id))
        if not (store.cell_folder(cell_id) / f"attempt-{number}").exists()
    ]


def collect_all(exchange: Exchange, store: RunStore) -> list[RecordedResult]:
    """As `collect`, of every cell; and of what was cut off, the turns that were paid for.

    Only while no worker is at work.
    """
    planned = {cell.id for cell in store.plan().cells}
    arrived = collect(exchange, store, sorted(_cells(exchange, "attempts/") & planned))
    for cell_id in sorted(_cells(exchange, "under-way/") & planned):
        for number in _under_way(exchange, cell_id):
            _keep_cut(exchange, store, cell_id, number)
    return arrived


def _cells(exchange: Exchange, under: str) -> set[str]:
    return {PurePosixPath(name).parts[1] for name in exchange.names(under)}


def _keep_cut(exchange: Exchange, store: RunStore, cell_id: str, number: int) -> None:
    path = store.cell_folder(cell_id) / f"attempt-{number}"
    if path.exists():
        return
    data = exchange.get(_under_way_name(cell_id, number)) or b""
    # A claim alone: nothing was paid for yet.
    text = data if data.startswith(b"{") else b""
    write_bytes(path.with_name(f"{path.name}{PARTIAL}") / "transcript.jsonl", text)


def _unpacked(exchange: Exchange, store: RunStore, cell_id: str, number: int) -> RecordedResult:
    """Under another name until it is whole. Raises FairtrialError for one that is spoilt."""
    name = _name(cell_id, number)
    part = store.folder / _PART
    shutil.rmtree(part, ignore_errors=True)
    with _opened(exchange, name) as archive:
        archive.extractall(part)
    result = parse_json((part / "result.json").read_bytes(), RecordedResult, where=name)
    extent = extent_of(part / "transcript.jsonl")
    if result.digest != result.digest_found or extent.digest != result.transcript:
        raise _spoilt(exchange, name)
    target = store.cell_folder(cell_id) / f"attempt-{number}"
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target.with_name(f"{target.name}{PARTIAL}"), ignore_errors=True)
    part.rename(target)
    return result
