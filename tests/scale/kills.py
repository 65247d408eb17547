"""Ten thousand tiny cells on workers that are killed at random: what is lost, and what is not."""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from runner.protocols import Progress
from runner.records import Cell
from runner.records.run_store import LoadedRun, RunStore
from runner.report.build_report import build_report
from runner.runs.executors import EXECUTORS
from runner.runs.executors.asked import Asked
from runner.runs.plan import unfinished
from runner.support.interrupts import run_until_done
from tests.helpers import PATIENCE_SEC
from tests.report import loaded
from tests.scale.farm import Farm, free_port, serving
from tests.scale.servers import PASSWORD, USER, known
from tests.scale.telling import Told, begun_after, execute
from tests.scale.tiny import Ground, Ledger, Tiny, read_ledger, tiny_cells, tiny_run


@dataclass(frozen=True, kw_only=True)
class Survived:
    """What a run with kills came to."""

    cells: int
    measured: int
    ledger: Ledger
    kills: dict[str, int]
    reports_alike: bool
    """Its figures and those of one worker that nobody killed."""
    unique: int
    """Results that differ, by their answers."""
    paid_again: int
    """Cells that had a result, and were begun once more."""
    took_sec: float

    @property
    def done_twice(self) -> int:
        return sum(count - 1 for count in self.ledger.begun.values())


@dataclass(kw_only=True)
class Killer:
    """Ends a worker, the scheduler or the exchange's server when as many cells have begun."""

    moments: list[int]
    victims: dict[str, Callable[[], None]]
    drawn: random.Random
    kills: dict[str, int] = field(default_factory=dict)
    seen: int = 0

    def saw(self, _: Cell) -> None:
        self.seen += 1
        while self.moments and self.seen >= self.moments[0]:
            self.moments.pop(0)
            name = self.drawn.choice(sorted(self.victims))
            self.kills[name] = self.kills.get(name, 0) + 1
            self.victims[name]()


def survive(folder: Path, *, cells: int, workers: int, kills: int, seed: int) -> Survived:
    """Over SFTP, whose server is killed too."""
    drawn = random.Random(seed)
    port = free_port()
    (folder / "served").mkdir()
    with ExitStack() as stack:
        words = ("sftp", str(port), str(folder / "served"))
        stack.enter_context(known(folder / "served", port))
        server = stack.enter_context(serving(words, port, folder / "server.log"))
        farm = stack.enter_context(Farm(folder, workers, exchange=sftp_url(port)))
        farm.wait(PATIENCE_SEC)
        killer = Killer(
            moments=sorted(drawn.sample(range(cells // 20, cells * 9 // 10), kills)),
            victims={
                "worker": lambda: drawn.choice(farm.workers).kill(),
                "scheduler": farm.scheduler.kill,
                "exchange": server.kill,
            },
            drawn=drawn,
        )
        planned = tiny_cells(cells // 4, ("shell", "good", "fair", "poor"))
        ground = Ground(ledger=folder / "ledger", turn_sec=0.01, turns=1)
        store, prepared = tiny_run(folder / "run", planned, ground)
        started = time.monotonic()
        execute(farm, store, prepared, Told(on_start=killer.saw))
        took_sec = time.monotonic() - started
    alone = one_worker(folder, planned)
    texts = [transcript_of(store, cell) for cell in planned]
    return Survived(
        cells=len(planned),
        measured=sum(item.measured for item in store.load().cells),
        ledger=read_ledger(ground.ledger, turns=1),
        kills=killer.kills,
        reports_alike=figures_of(store) == figures_of(alone),
        unique=len(set(texts)),
        paid_again=begun_after(store),
        took_sec=took_sec,
    )


def sftp_url(port: int) -> str:
    return f"sftp://{USER}:{PASSWORD}@127.0.0.1:{port}/study"


def one_worker(folder: Path, planned: list[Cell]) -> RunStore:
    """The same run, on this machine, one block at a time."""
    ground = Ground(ledger=folder / "ledger-alone", turn_sec=0.0, turns=1)
    store, prepared = tiny_run(folder / "alone" / "run", planned, ground)
    blocks = unfinished(store.load())
    local = EXECUTORS["local"](Asked(jobs=1))
    progress: Progress = Told().progress
    run_until_done(local.run(blocks, prepared, store, progress, Tiny()))
    return store


def transcript_of(store: RunStore, cell: Cell) -> bytes:
    counted = store.counted_attempt(cell.id)
    assert counted is not None
    return counted.transcript.read_bytes()


def figures_of(store: RunStore) -> str:
    """A report of it, to the byte, without clocks and machines: each score is its transcript's."""
    plan = store.plan()
    cells = []
    for cell in plan.cells:
        digest = hashlib.sha256(transcript_of(store, cell)).hexdigest()
        cells.append(loaded.measured(cell, int(digest[:4], 16) / 0xFFFF))
    scenarios = {cell.scenario: loaded.scenario(cell.scenario) for cell in plan.cells}
    servers = {name: loaded.server(name) for name in ("good", "fair", "poor")}
    fixed = plan.model_copy(update={"created_at": "2026-01-02T03:04:05Z", "shards": None})
    run = LoadedRun(plan=fixed, cells=tuple(cells))
    return build_report(run, scenarios, servers, gate=None).model_dump_json()
