"""One purse for all workers: the run's account stands at the scheduler, and so do its API slots."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from dataclasses import dataclass, field
from typing import Any

from distributed import Scheduler, Semaphore, Worker
from distributed.diagnostics.plugin import SchedulerPlugin
from distributed.utils import sync

from runner.agents.models.model_settings import ApiSlots
from runner.agents.spending import Account, Spending
from runner.runs.executors.lease import Lease
from runner.support.errors import SpendingCap, WorkerCut

ANSWER_SEC = 30
"""How long a worker waits for the scheduler's answer before it counts as cut off."""


class Purse(SchedulerPlugin):
    """At the scheduler. A turn of a worker that was lost stays reserved: it may have been paid."""

    def __init__(self, *, run: str, spending: Spending, spent: tuple[int, float]) -> None:
        """`run`: a key of the run, of letters and digits. `spent`: tokens and dollars before."""
        self.name = f"fairtrial-purse-{run}"
        self._run, self._spending, self._spent = run, spending, spent

    async def start(self, scheduler: Scheduler) -> None:
        # Cells are paid for. Dask would give a lost worker's blocks to others by itself, and take
        # them for lost that had not begun: who begins a block again is decided by its leases.
        scheduler.allowed_failures = 0
        topic = topic_of(self._run)

        def told(tokens: int, usd: float) -> None:
            scheduler.log_event(topic, {"what": "spent", "tokens": tokens, "usd": usd})

        self._account = self._spending.account(*self._spent, told)
        self._turns: dict[str, Any] = {}
        self._scheduler = scheduler
        questions = (self.require_left, self.begin_turn, self.end_turn, self.joined, self.slots)
        for question in questions:
            scheduler.handlers[handler_of(self._run, question.__name__)] = question

    def require_left(self) -> tuple[str, str] | None:
        """None if another turn may begin, else SpendingCap's figures and option."""
        try:
            self._account.require_left()
        except SpendingCap as cap:
            return cap.figures, cap.option
        return None

    def begin_turn(self, turn: str) -> tuple[str, str] | None:
        refused = self.require_left()
        if refused is None:
            self._turns[turn] = reserved = self._account.turn()
            reserved.__enter__()
        return refused

    def end_turn(self, turn: str, tokens: int | None, usd: float) -> None:
        """`tokens`: None for a turn that failed. Said twice, it counts once."""
        reserved = self._turns.pop(turn, None)
        if reserved is None:
            return
        reserved.__exit__(None, None, None)
        if tokens is not None:
            self._account.add(tokens, usd)

    def joined(self, worker: str) -> None:
        """A worker may take blocks from now on: those that waited for one go to it."""
        state = self._scheduler.workers[worker]
        waiting = self._scheduler.bulk_schedule_unrunnable_after_adding_worker(state)
        self._scheduler.transitions(waiting, f"fairtrial-{self._run}")

    def slots(self) -> dict[str, int]:
        """Address of each worker -> blocks of the run that it takes at a time."""
        resource = resource_of(self._run)
        workers = self._scheduler.workers.items()
        return {address: int(state.resources.get(resource, 0)) for address, state in workers}


def topic_of(run: str) -> str:
    """Of the events that workers and scheduler tell the machine that began the run."""
    return f"fairtrial-{run}"


def resource_of(run: str) -> str:
    """What a worker has that may take the run's blocks: as much as it takes at once."""
    return f"fairtrial-{run}"


def handler_of(run: str, question: str) -> str:
    return f"fairtrial_{question}_{run}"


class RemoteAccount(Account):
    """A block's, on a worker: no turn begins without the scheduler's word and the block's lease."""

    def __init__(self, worker: Worker, run: str, lease: Lease) -> None:
        super().__init__()
        self._worker, self._run, self._lease = worker, run, lease
        self._turn = ""
        self._number = 0

    def require_left(self) -> None:
        """Raises SpendingCap as any account; WorkerCut if scheduler or lease is out of reach."""
        self._lease.require()
        self._allowed(self._ask("require_left"))

    @contextmanager
    def turn(self) -> Iterator[None]:
        self._lease.require()
        self._number += 1
        turn = f"{self._lease.note.holder} {self._number}"
        self._allowed(self._ask("begin_turn", turn=turn))
        self._turn = turn
        try:
            yield
        except BaseException:
            self._end(None, 0.0)
            raise

    def add(self, tokens: int, usd: float) -> None:
        self._end(tokens, usd)

    def _end(self, tokens: int | None, usd: float) -> None:
        try:
            self._ask("end_turn", turn=self._turn, tokens=tokens, usd=usd)
        except WorkerCut:
            # Raised, it would keep the turn's usage from being written. The next turn is refused.
            return

    def _allowed(self, refused: tuple[str, str] | None) -> None:
        if refused:
            raise SpendingCap(*refused)

    def _ask(self, question: str, **said: object) -> Any:
        ask = getattr(self._worker.scheduler, handler_of(self._run, question))
        try:
            return sync(self._worker.loop, ask, callback_timeout=ANSWER_SEC, **said)
        except (OSError, TimeoutError, RuntimeError, AttributeError) as error:
            what = f"the run's account does not answer: {error}"
            raise WorkerCut(what, where=str(self._worker.scheduler.address)) from error


@dataclass(frozen=True)
class ClusterSlots(ApiSlots):
    """Over all workers: semaphores at the scheduler, whose leases expire with their worker."""

    run: str = ""
    worker: Worker | None = field(default=None, compare=False, repr=False)
    _held: dict[str, Semaphore] = field(default_factory=dict, init=False, compare=False, repr=False)

    def of(self, provider: str) -> AbstractAsyncContextManager[object]:
        return nullcontext() if self.limit is None else self._slot(provider)

    @asynccontextmanager
    async def _slot(self, provider: str) -> AsyncIterator[None]:
        slots = self._held.get(provider) or self._held.setdefault(provider, self._new(provider))
        # In a thread: waiting here would hold up the rest of the cell, its deadlines included.
        await asyncio.to_thread(_ask_scheduler, slots.acquire)
        try:
            yield
        finally:
            await asyncio.to_thread(_ask_scheduler, slots.release)

    def _new(self, provider: str) -> Semaphore:
        worker = self.worker
        if worker is None:
            raise WorkerCut("these slots are of no worker")
        name = f"fairtrial-{self.run}-{provider}"
        return Semaphore(self.limit, name, scheduler_rpc=worker.scheduler, loop=worker.loop)


def _ask_scheduler(question: Callable[[], object]) -> None:
    try:
        question()
    except (OSError, RuntimeError) as error:
        raise WorkerCut(f"the run's API slots do not answer: {error}") from error
