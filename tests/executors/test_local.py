"""Blocks on this machine, several at once."""

from __future__ import annotations

import asyncio
import pickle
import socket
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from runner.benchmarks import BENCHMARKS
from runner.protocols import Progress
from runner.records import Cell, CellResult
from runner.records.run_store import RunStore
from runner.runs import spent
from runner.runs.attempt import Shared
from runner.runs.executors import EXECUTORS
from runner.runs.executors.asked import Asked
from runner.runs.plan import RunSpec, load_or_create_plan
from runner.runs.run_inputs import PreparedRun
from runner.support.errors import EngineError, ProviderRefused, SpendingCap
from runner.support.interrupts import run_until_done
from tests.benchmarks.test_scenarios import arm, prepared
from tests.helpers import PATIENCE_SEC, cell
from tests.report.loaded import result

SILENT = Progress(
    started=lambda _: None, says=lambda *_: None, ended=lambda _: None, spent=lambda *_: None
)


class FakeEngine:
    """What `connect` gives, for cells that start no container."""

    closed = 0

    def close(self) -> None:
        self.closed += 1


class Cells:
    """Stands in for `run_cell`: each cell ends when as many as expected are under way."""

    def __init__(self, together: int) -> None:
        self.together = together
        self.under_way: list[Cell] = []
        self.most = 0
        self.most_of_a_block = 0
        self.order: list[tuple[int, str]] = []
        self.taken_up: dict[int, set[str]] = {}
        self._full = asyncio.Event()

    async def run(self, given: Cell, _: Shared, taken_up_at: str, *__: object) -> CellResult:
        self.order.append((given.trial, given.server))
        self.taken_up.setdefault(given.trial, set()).add(taken_up_at)
        self.under_way.append(given)
        self.most = max(self.most, len(self.under_way))
        of_blocks = Counter(item.block for item in self.under_way)
        self.most_of_a_block = max(self.most_of_a_block, *of_blocks.values())
        if len(self.under_way) == self.together:
            self._full.set()
        # An executor that runs fewer at once than asked would wait here for ever.
        async with asyncio.timeout(PATIENCE_SEC):
            await self._full.wait()
        # One that runs more at once gets its chance to start them.
        await asyncio.sleep(0)
        self.under_way.remove(given)
        return result(given)


def block(trial: int, *servers: str) -> tuple[Cell, ...]:
    return tuple(cell(server, trial=trial) for server in servers)


def store_of(folder: Path, blocks: Sequence[Sequence[Cell]]) -> RunStore:
    store = RunStore(folder / "run")
    cells = [item for cells in blocks for item in cells]
    load_or_create_plan(store, RunSpec(cells=cells, ungated=True))
    return store


SCENARIOS = BENCHMARKS["scenarios"]


def execute(blocks: Sequence[Sequence[Cell]], store: RunStore, *, jobs: int) -> None:
    executor = EXECUTORS["local"](Asked(jobs=jobs))
    run_until_done(executor.run(blocks, prepared(arm("shell")), store, SILENT, SCENARIOS))


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    engine = FakeEngine()
    monkeypatch.setattr("runner.runs.executors.local_executor.connect", lambda _: engine)
    return engine


@pytest.mark.parametrize("jobs", [1, 3])
def test_as_many_blocks_as_asked_run_at_once_and_a_block_s_arms_one_after_another(
    jobs: int, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cells = Cells(together=jobs)
    monkeypatch.setattr("runner.runs.executors.local_executor.run_cell", cells.run)
    blocks = [block(number, "good", "shell") for number in range(1, 7)]
    execute(blocks, store_of(tmp_path, blocks), jobs=jobs)
    assert (cells.most, cells.most_of_a_block, engine.closed) == (jobs, 1, 1)
    assert [trial for trial, server in cells.order if server == "good"] == [1, 2, 3, 4, 5, 6]
    for number in range(1, 7):
        assert [server for trial, server in cells.order if trial == number] == ["good", "shell"]
    moments = [cells.taken_up[number] for number in range(1, 7)]
    assert all(len(moment) == 1 for moment in moments), "a block is taken up once"
    assert len(set.union(*moments)) == 6


@pytest.mark.usefixtures("engine")
def test_a_run_at_its_cap_lets_turns_end_that_are_paid_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun, capped, ended = asyncio.Event(), asyncio.Event(), []

    async def run(given: Cell, *_: object) -> CellResult:
        if given.trial == 1:
            await begun.wait()
            capped.set()
            raise SpendingCap("$1.00 of $1.00")
        begun.set()
        await capped.wait()
        # Cancelled, it would end here, and what its turn has cost would be recorded nowhere.
        await asyncio.sleep(0)
        ended.append((given.trial, given.server))
        return result(given)

    monkeypatch.setattr("runner.runs.executors.local_executor.run_cell", run)
    blocks = [block(number, "shell", "good") for number in (1, 2, 3)]
    with pytest.raises(SpendingCap):
        execute(blocks, store_of(tmp_path, blocks), jobs=2)
    assert ended == [(2, "shell")], "no further cell is begun"


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interruption_is_recorded_in_the_cells_under_way_and_begins_no_other(
    jobs: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun, recorded = [], []
    under_way = asyncio.Event()

    async def run(given: Cell, *_: object) -> CellResult:
        begun.append((given.trial, given.server))
        if len(begun) == jobs:
            under_way.set()
        elif len(begun) > jobs:
            return result(given)
        try:
            await asyncio.sleep(PATIENCE_SEC)
        except asyncio.CancelledError:
            # As `run_cell` does: it writes down that it was interrupted, and returns.
            recorded.append((given.trial, given.server))
        return result(given, "cancelled", "the runner was interrupted")

    monkeypatch.setattr("runner.runs.executors.local_executor.run_cell", run)
    blocks = [block(number, "good", "shell") for number in (1, 2, 3)]
    store = store_of(tmp_path, blocks)

    async def interrupted() -> None:
        executor = EXECUTORS["local"](Asked(jobs=jobs))
        task = asyncio.create_task(
            executor.run(blocks, prepared(arm("shell")), store, SILENT, SCENARIOS)
        )
        await under_way.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(interrupted())
    assert begun == [(number, "good") for number in range(1, jobs + 1)]
    assert sorted(recorded) == begun


@pytest.mark.usefixtures("engine")
def test_a_provider_that_refuses_ends_the_blocks_beside_it_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun, cancelled = asyncio.Event(), []

    async def run(given: Cell, *_: object) -> CellResult:
        if given.trial == 1:
            await begun.wait()
            raise ProviderRefused("the key is not accepted")
        begun.set()
        try:
            await asyncio.sleep(PATIENCE_SEC)
        except asyncio.CancelledError:
            cancelled.append(given.trial)
            raise
        return result(given)

    monkeypatch.setattr("runner.runs.executors.local_executor.run_cell", run)
    blocks = [block(number, "shell", "good") for number in (1, 2, 3)]
    with pytest.raises(ProviderRefused):
        execute(blocks, store_of(tmp_path, blocks), jobs=2)
    assert cancelled == [2]


@pytest.mark.usefixtures("engine")
def test_what_was_spent_is_read_once_however_many_cells_follow(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    blocks = [block(number, "shell") for number in range(1, 30)]
    store, read = store_of(tmp_path, blocks), Counter[Path]()
    for (item,) in blocks:
        begun = store.begin(item)
        (begun.path / "transcript.jsonl").write_text("")

    async def run(given: Cell, shared: Shared, *_: object) -> CellResult:
        shared.account.require_left()
        return result(given)

    def counted(path: Path) -> list[object]:
        read[path] += 1
        return []

    monkeypatch.setattr("runner.runs.executors.local_executor.run_cell", run)
    monkeypatch.setattr(spent, "usage_in", counted)
    execute(blocks, store, jobs=1)
    assert len(read) == 29
    assert set(read.values()) == {1}


def test_the_first_failure_itself_ends_a_run_not_a_group_of_it(tmp_path: Path) -> None:
    executor = EXECUTORS["local"](Asked(jobs=2))
    blocks = [block(1, "shell")]
    store = store_of(tmp_path, blocks)
    # Bound, so that nobody else can listen on the port; and not listening, so that it is refused.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        run: PreparedRun = replace(prepared(arm("shell")), engine_url=url)
        with pytest.raises(EngineError, match="no Docker Engine answers"):
            run_until_done(executor.run(blocks, run, store, SILENT, SCENARIOS))


def test_what_a_run_stands_on_can_be_sent_to_another_machine() -> None:
    run = prepared(arm("shell"), arm("good"))
    assert pickle.loads(pickle.dumps(run)) == run
