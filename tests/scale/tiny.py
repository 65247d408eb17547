"""A benchmark of cells that only wait: what it takes to run ten thousand of them is ours alone."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.agents.models import open_model
from runner.agents.spending import Spending
from runner.benchmarks.without_scorecard import WithoutScorecard
from runner.protocols import Turn, UserMessage
from runner.records import (
    Cell,
    Limits,
    Outcome,
    Price,
    PriceList,
    Prose,
    StepEnd,
    Usage,
)
from runner.records.run_store import RunStore
from runner.runs.attempt import Attempt
from runner.runs.plan import RunSpec, load_or_create_plan
from runner.runs.run_inputs import PreparedRun
from tests.helpers import PATIENCE_SEC

MODEL = "anthropic:tiny"
PRICE = Price(input=1.0, cache_write=1.0, cache_read=1.0, output=1.0)
TURN_TOKENS = 10_000
"""A cent, at that price."""
ASKED_MODEL = "anthropic:claude-sonnet-4-5"
DEADLY = "deadly"
"""A server whose cells take their worker down."""


@dataclass(frozen=True, kw_only=True)
class Ground:
    """What tiny cells stand on."""

    ledger: Path
    """A line for each turn that began or ended: what was really paid."""
    turn_sec: float = 0.0
    turns: int = 2
    gate: Path | None = None
    """No turn ends before it is there."""


class Tiny(WithoutScorecard):
    """runs.benchmark.Benchmark."""

    def cells(self, prepared: PreparedRun, models: Sequence[str], trials: int) -> tuple[Cell, ...]:
        raise NotImplementedError

    def left_out(self, prepared: PreparedRun) -> tuple[str, ...]:
        return ()

    async def run(self, attempt: Attempt) -> Outcome:
        ground, totals = attempt.prepared.subject, attempt.measured.totals
        assert isinstance(ground, Ground)
        for number in range(ground.turns):
            totals.account.require_left()
            with totals.account.turn():
                note(ground.ledger, "begins", attempt, number)
                if attempt.cell.server == DEADLY and number == 1:
                    os.kill(os.getpid(), signal.SIGKILL)
                await asyncio.sleep(ground.turn_sec)
                await _opened(ground.gate)
            note(ground.ledger, "ended", attempt, number)
            turn = Turn(text="", calls=(), stop="end", input_tokens=TURN_TOKENS, output_tokens=0)
            totals.add_turn(turn, 0.0)
            attempt.writer.write(_usage(number))
        attempt.writer.write(Prose(step=0, turn=0, text=f"the answer of {attempt.cell.id}"))
        attempt.writer.write(StepEnd(step=0, stop="end"))
        return Outcome(kind="answered", reason="done")


class Asking(Tiny):
    """Each turn is a request to the provider that the run's settings name."""

    async def run(self, attempt: Attempt) -> Outcome:
        model = open_model(ASKED_MODEL, attempt.prepared.models)
        try:
            said = [UserMessage(text=attempt.cell.id)]
            turn = await model.turn("Be brief.", said, (), timeout_sec=PATIENCE_SEC)
        finally:
            await model.close()
        attempt.writer.write(Prose(step=0, turn=0, text=turn.text))
        attempt.writer.write(StepEnd(step=0, stop="end"))
        return Outcome(kind="answered", reason="done")


async def _opened(gate: Path | None) -> None:
    if gate is not None:
        async with asyncio.timeout(PATIENCE_SEC):
            while not gate.exists():
                await asyncio.sleep(0.02)


def _usage(number: int) -> Usage:
    return Usage(step=0, turn=number, input_tokens=TURN_TOKENS, output_tokens=0, wall_sec=None)


def note(ledger: Path, what: str, attempt: Attempt, number: int) -> None:
    with ledger.open("a") as file:
        file.write(f"{what} {attempt.cell.id} {attempt.folder.name.split('.')[0]} {number}\n")


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """What was really paid, by cell."""

    begun: Counter[str]
    """First turns of attempts."""
    whole: Counter[str]
    """Attempts whose last turn ended."""
    turns: int
    """That ended."""


def read_ledger(path: Path, turns: int = 2) -> Ledger:
    lines = [line.split() for line in path.read_text().splitlines()]
    return Ledger(
        begun=Counter(cell for what, cell, _, turn in lines if (what, turn) == ("begins", "0")),
        whole=Counter(
            cell for what, cell, _, turn in lines if (what, turn) == ("ended", str(turns - 1))
        ),
        turns=sum(what == "ended" for what, *_ in lines),
    )


def tiny_cells(blocks: int, servers: Sequence[str] = ("shell", "good")) -> list[Cell]:
    return [
        Cell(scenario=f"s{number:06d}", server=server, model=MODEL, trial=1, inputs={})
        for number in range(blocks)
        for server in servers
    ]


def tiny_run(
    folder: Path,
    cells: Sequence[Cell],
    ground: Ground,
    *,
    cap_usd: float | None = None,
    cap_tokens: int | None = None,
) -> tuple[RunStore, PreparedRun]:
    """A planned run, and what it stands on."""
    store = RunStore(folder)
    prices = PriceList(date="today", models={MODEL: PRICE})
    load_or_create_plan(store, RunSpec(cells=cells, ungated=True, prices=prices, benchmark="tiny"))
    prepared = PreparedRun(
        engine_url=None,
        engine_version="",
        kernel="",
        harness="1",
        agent="tool_calling",
        benchmark="tiny",
        limits=Limits(),
        arms={},
        scenarios={},
        has_containers=False,
        spending=Spending(prices=prices, run_usd=cap_usd, run_tokens=cap_tokens),
        subject=ground,
    )
    return store, prepared
