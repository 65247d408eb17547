"""Imported cells in a run's folder: the same plan, attempts and results as measured ones.

The file that a cell was read from lies beside its transcript, and its digest is one of the cell's
inputs. So a cell can be made again from it, and what it then gives is what is believed.

runs/<run>/cells/<cell id>/attempt-1/{source, transcript.jsonl, result.json}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from runner.catalog.catalog import questions_digest
from runner.records import (
    Cell,
    CellResult,
    GateStamp,
    Imported,
    Name,
    Plan,
    RecordedResult,
    Scenario,
)
from runner.records.run_store import EndedAttempt, RunStore, write_bytes, write_record
from runner.records.transcript_files import TranscriptWriter, is_transcript
from runner.runs.importing.imported_cell import (
    HARNESS,
    MAX_BYTES,
    SHELL,
    ImportedTranscript,
    Session,
    importer_digest,
    is_imported,
    model_name,
    read_session,
    source_digest,
)
from runner.support.errors import FairtrialError

if TYPE_CHECKING:
    from runner.catalog.checkout import Checkout

SOURCE = "source"
_EVENTS = {True: "its file's events", False: "other events"}


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """A file that somebody wants in a run."""

    path: Path
    server: str
    mounted: str


def arrivals(files: Sequence[str], server: str, mounted: str) -> list[Arrival]:
    """`FILE` is of `server`, `SERVER=FILE` of its own arm. Raises FairtrialError for neither."""
    found = []
    for written in files:
        own, _, path = written.rpartition("=")
        # `a=b.json` may be a file's name.
        if not own or Path(written).exists():
            own, path = server, written
        _require_name(own, written)
        found.append(Arrival(path=Path(path), server=own, mounted=mounted or own))
    return found


def _require_name(server: str, written: str) -> None:
    hint = "name the arm with --server X or write X=FILE; `shell` is the baseline"
    if not server:
        raise FairtrialError("whose transcript is it?", where=written, hint=hint)
    try:
        TypeAdapter(Name).validate_python(server)
    except ValidationError as error:
        message = f"no server can be called {server!r}"
        raise FairtrialError(message, where=written, hint=hint) from error


@dataclass(frozen=True, kw_only=True)
class _CellToWrite:
    cell: Cell
    data: bytes
    session: Session


def import_cells(
    store: RunStore,
    checkout: Checkout,
    scenario: str,
    arrivals: Sequence[Arrival],
    *,
    gate: GateStamp | None,
) -> Plan:
    """Add each file to the run as a cell: another trial of its arm. The plan as it is then.

    What the run holds already is passed over. `gate`: what is open in front of a new run; one that
    is there keeps its own. Raises FairtrialError for a file that is no
    transcript of that arm, or a run of measured cells.
    """
    planned = _planned(store)
    _require_believed(store, checkout, planned)
    made = _made(checkout, scenario, arrivals, planned)
    cells = [*planned, *(one.cell for one in made)]
    plan = _write_plan(store, cells, gate=gate)
    _stamp(store, planned, plan)
    for one in made:
        _write(store, one, plan)
    return plan


def _made(
    checkout: Checkout, scenario: str, arrivals: Sequence[Arrival], planned: Sequence[Cell]
) -> list[_CellToWrite]:
    """Every file read before any is written: one that is refused must leave no half of a run."""
    asked = checkout.scenario(scenario)
    inputs = {
        "imported": HARNESS,
        "scenario": questions_digest(asked.scenario),
        "commit": checkout.repository(asked).commit,
    }
    made: list[_CellToWrite] = []
    for arrival in arrivals:
        data = _read(arrival.path)
        taken = [*planned, *(one.cell for one in made)]
        if _is_there(data, arrival, scenario, taken):
            checkout.log(f"{arrival.path.name} is in the run already")
            continue
        session = _session(data, arrival, asked.scenario)
        cell = _cell(session, arrival, scenario, inputs, taken)
        made.append(_CellToWrite(cell=cell, data=data, session=session))
    return made


def _planned(store: RunStore) -> tuple[Cell, ...]:
    if not store.has_plan():
        return ()
    cells = store.plan().cells
    if not all(map(is_imported, cells)):
        raise FairtrialError(
            "this run was measured here: what was measured elsewhere cannot join it",
            where=str(store.folder),
            hint="choose another name with --run",
        )
    return cells


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise FairtrialError(message, where=str(path), hint="give a transcript's path") from error
    if len(data) > MAX_BYTES:
        message = f"larger than {MAX_BYTES // 2**20} MB"
        raise FairtrialError(message, where=str(path), hint="is it one session's transcript?")
    return data


def _session(data: bytes, arrival: Arrival, scenario: Scenario) -> Session:
    recording = ImportedTranscript(
        data=data, file=arrival.path.name, server=arrival.server, mounted=arrival.mounted
    )
    try:
        return read_session(recording, scenario)
    except FairtrialError as error:
        # With its folders: a dozen files may all be called transcript.json.
        raise FairtrialError(error.what, where=str(arrival.path), hint=error.hint) from error


def _is_there(data: bytes, arrival: Arrival, scenario: str, cells: Iterable[Cell]) -> bool:
    """Raises FairtrialError if it is there as another arm's."""
    for cell in cells:
        if cell.inputs["source"] != source_digest(data):
            continue
        if (cell.scenario, cell.server) == (scenario, arrival.server):
            return True
        raise FairtrialError(
            f"the same file is {cell.server}'s on {cell.scenario}: one session cannot be two",
            where=str(arrival.path),
            hint="give each arm its own transcript",
        )
    return False


def _cell(
    session: Session,
    arrival: Arrival,
    scenario: str,
    inputs: dict[str, str],
    others: Iterable[Cell],
) -> Cell:
    arm = (scenario, arrival.server, model_name(session.imported))
    trials = [cell.trial for cell in others if (cell.scenario, cell.server, cell.model) == arm]
    own = {"source": session.imported.source, "mounted": arrival.mounted}
    return Cell(
        scenario=scenario,
        server=arrival.server,
        model=arm[2],
        trial=max(trials, default=0) + 1,
        inputs={**inputs, **own},
    )


# --- on disk --------------------------------------------------------------------------------


def _write_plan(store: RunStore, cells: Sequence[Cell], *, gate: GateStamp | None) -> Plan:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    if store.has_plan():
        plan = store.plan()
        cells_and_gate = {"cells": tuple(cells), "ungated": plan.ungated or gate is None}
        plan = plan.model_copy(update=cells_and_gate)
    else:
        plan = Plan(
            run=store.folder.name,
            created_at=now,
            ungated=gate is None,
            cells=tuple(cells),
            gate=gate,
        )
    store.write_plan(plan)
    return plan


def _write(store: RunStore, made: _CellToWrite, plan: Plan) -> None:
    folder = store.begin(made.cell)
    write_bytes(folder.path / SOURCE, made.data)
    with TranscriptWriter(folder.path / "transcript.jsonl") as writer:
        for event in made.session.events:
            writer.write(event)
    result = CellResult(
        cell=made.cell,
        attempt=folder.number,
        outcome=made.session.outcome,
        fingerprint=None,
        timings=None,
        peak_memory_mb=None,
        state_mb=None,
        started_at="",
        plan=plan.digest,
        ungated=plan.ungated,
        transcript=writer.digest,
        events=writer.events,
        imported=made.session.imported,
    )
    store.finish(folder, result)


def _require_believed(store: RunStore, checkout: Checkout, cells: Iterable[Cell]) -> None:
    """Before they are written into a plan that has grown: that must not make an edit good."""
    for cell in cells:
        attempt = store.counted_attempt(cell.id)
        if attempt is None:
            continue
        scenario = checkout.scenario(cell.scenario).scenario
        found = differing(cell, attempt, scenario)
        found["digest"] = (attempt.result.digest, attempt.result.digest_found)
        for field, (says, is_so) in found.items():
            if says != is_so:
                raise FairtrialError(
                    f"{field} says {says}, and its file gives {is_so}",
                    where=str(attempt.path),
                    hint="import its file again under another name with --run",
                )


def _stamp(store: RunStore, cells: Iterable[Cell], plan: Plan) -> None:
    """The cells of a plan that has grown belong to it."""
    for cell in cells:
        attempt = store.counted_attempt(cell.id)
        if attempt is None or attempt.result.plan == plan.digest:
            continue
        fields = {**dict(attempt.result), "plan": plan.digest, "ungated": plan.ungated}
        fields.pop("digest")
        result = CellResult(**fields)
        recorded = RecordedResult(**dict(result), digest=result.digest_found)
        write_record(attempt.path / "result.json", recorded)


# --- belief ---------------------------------------------------------------------------------


def differing(cell: Cell, attempt: EndedAttempt, scenario: Scenario) -> dict[str, tuple[str, str]]:
    """Key path in the result -> what it says there, and what the cell's file gives today."""
    result = attempt.result
    found = {"imported": (_kind(result.imported is not None), _kind(is_imported(cell)))}
    if result.imported is None or not is_imported(cell):
        return found
    # What only a sandbox of ours could know.
    for name in ("fingerprint", "timings", "peak_memory_mb", "state_mb"):
        found[name] = (str(getattr(result, name))[:40], str(None))
    return found | dict(_from_source(cell, attempt, result.imported, scenario))


def _kind(imported: bool) -> str:
    return "imported" if imported else "measured here"


def _holds(attempt: EndedAttempt, again: Session) -> bool:
    """False too for a transcript that is gone or no longer one: its cell alone is not believed."""
    try:
        return is_transcript(attempt.transcript, again.events)
    except FairtrialError:
        return False


def _from_source(
    cell: Cell, attempt: EndedAttempt, then: Imported, scenario: Scenario
) -> Iterator[tuple[str, tuple[str, str]]]:
    result = attempt.result
    path = attempt.path / SOURCE
    data = b""
    if path.is_file():
        data = _read(path)
    found = source_digest(data)
    yield "cell.inputs.source", (cell.inputs["source"], found)
    if found != cell.inputs["source"]:
        return
    file, mounted = then.file, cell.inputs.get("mounted", SHELL)
    recording = ImportedTranscript(data=data, file=file, server=cell.server, mounted=mounted)
    try:
        again = read_session(recording, scenario)
    except FairtrialError as error:
        yield "imported.source", ("a transcript", error.what)
        return
    now = again.imported.model_copy(update={"importer": then.importer})
    fields = {
        "transcript": ("its file's events", _EVENTS[_holds(attempt, again)]),
        "outcome": (str(result.outcome), str(again.outcome)),
        "imported": (str(then), str(now)),
        "cell.model": (cell.model, model_name(now)),
    }
    importer = (then.importer, importer_digest())
    if importer[0] != importer[1] and any(says != found for says, found in fields.values()):
        # Read by other code, every field may differ: that the code does says it all.
        yield "imported.importer", importer
        return
    yield from fields.items()
