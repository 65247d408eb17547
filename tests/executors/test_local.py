"""Cells on this machine, several at once."""

from __future__ import annotations

import asyncio
import pickle
import socket
from pathlib import Path

import pytest

from runner.errors import EngineError
from runner.executors import EXECUTORS
from runner.interrupts import run_until_done
from runner.prepared import PreparedRun
from runner.protocols import Progress
from runner.records import Cell, CellResult
from runner.store import RunStore
from tests.benchmarks.test_scenarios import arm, prepared
from tests.helpers import PATIENCE_SEC, cell
from tests.report.loaded import result

SILENT = Progress(started=lambda _: None, says=lambda *_: None, ended=lambda _: None)


class FakeEngine:
    """What `connect` gives, for cells that start no container."""

    closed = 0

    def close(self) -> None:
        self.closed += 1


class Cells:
    """Stands in for `run_cell`: each cell ends when as many as expected are under way."""

    def __init__(self, together: int) -> None:
        self.together = together
        self.under_way = 0
        self.most = 0
        self.order: list[int] = []
        self._full = asyncio.Event()

    async def run(self, given: Cell, *_: object) -> CellResult:
        self.order.append(given.trial)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        if self.under_way == self.together:
            self._full.set()
        # An executor that runs fewer at once than asked would wait here for ever.
        async with asyncio.timeout(PATIENCE_SEC):
            await self._full.wait()
        # One that runs more at once gets its chance to start them.
        await asyncio.sleep(0)
        self.under_way -= 1
        return result(given)


@pytest.mark.parametrize("jobs", [1, 3])
def test_as_many_cells_as_asked_run_at_once_and_in_the_plan_s_order(
    jobs: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine = FakeEngine()
    cells = Cells(together=jobs)
    monkeypatch.setattr("runner.executors.local.connect", lambda _: engine)
    monkeypatch.setattr("runner.executors.local.run_cell", cells.run)
    planned = [cell(trial=number) for number in range(1, 7)]
    executor = EXECUTORS["local"](jobs=jobs)
    run_until_done(executor.run(planned, prepared(arm("shell")), RunStore(tmp_path), SILENT))
    assert (cells.most, cells.order, engine.closed) == (jobs, [1, 2, 3, 4, 5, 6], 1)


def test_the_first_failure_itself_ends_a_run_not_a_group_of_it(tmp_path: Path) -> None:
    executor = EXECUTORS["local"](jobs=2)
    # Bound, so that nobody else can listen on the port; and not listening, so that it is refused.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        run = PreparedRun(**{**vars(prepared(arm("shell"))), "engine_url": url})
        with pytest.raises(EngineError, match="no Docker Engine answers"):
            run_until_done(executor.run([cell()], run, RunStore(tmp_path), SILENT))


def test_what_a_run_stands_on_can_be_sent_to_another_machine() -> None:
    run = prepared(arm("shell"), arm("good"))
    assert pickle.loads(pickle.dumps(run)) == run
