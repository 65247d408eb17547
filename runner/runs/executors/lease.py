"""A lease on a block: one worker has it, and says again and again that it is at work.

Clocks of machines differ, so a lease says no time. Whoever finds one watches whether its count of
heartbeats goes up; if it stands still for as long as a lease holds, the block is taken up once
more, under the next number. A number can be had once, and what is not marked as ended was lost.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from runner.records import Count, Record, parse_json
from runner.runs.executors.exchange import Exchange
from runner.support.errors import FairtrialError, WorkerCut

LEASE_SEC = 60.0
"""Without a heartbeat for as long, its worker counts as lost."""
BEATS = 4
"""Heartbeats in that time."""


class LeaseNote(Record):
    """leases/<block>/<n>.json."""

    holder: str
    """The worker, and a text that is of this lease alone."""
    beats: Count = 0
    ended: bool = False


@dataclass(frozen=True, kw_only=True)
class Held:
    """A block that another worker has."""

    holder: str


@dataclass(kw_only=True)
class Lease:
    """One that is ours, until it is lost."""

    exchange: Exchange
    folder: str
    number: int
    note: LeaseNote
    sec: float
    lost: tuple[str, ...]
    """Who had the block before, and never ended."""
    _over: threading.Event = field(default_factory=threading.Event)
    _since: float = field(default_factory=time.monotonic)
    """When the last heartbeat arrived."""

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Heartbeats while inside, and the end is marked after. What ends it must not be hidden by
        a place that does not answer: without a mark the block counts as lost, and is taken up anew.
        """
        beating = threading.Thread(target=self._beat, daemon=True)
        beating.start()
        try:
            yield
        finally:
            self._over.set()
            beating.join()
            with suppress(FairtrialError):
                self._say(self.exchange, ended=True)

    def require(self) -> None:
        """Raises WorkerCut if another worker may have taken up the block: nothing more is paid."""
        if time.monotonic() - self._since > self.sec * (BEATS - 1) / BEATS:
            raise WorkerCut("the lease on its block could not be renewed", where=self.exchange.url)

    def is_newest(self) -> bool:
        """Asked of the place itself. Another worker's results must not meet ours."""
        return self.exchange.names(self.folder)[-1:] == [_name(self.folder, self.number)]

    def _beat(self) -> None:
        # A connection of its own: a thread that uses another's would mix up the answers.
        own = Exchange(self.exchange.url, patience_sec=self.sec / BEATS)
        while not self._over.wait(self.sec / BEATS):
            with suppress(FairtrialError):
                self._say(own, beats=self.note.beats + 1)
                self._since = time.monotonic()
        own.close()

    def _say(self, exchange: Exchange, **changes: object) -> None:
        self.note = self.note.model_copy(update=changes)
        exchange.put(_name(self.folder, self.number), self.note.model_dump_json().encode())


def take(exchange: Exchange, block: str, holder: str, sec: float = LEASE_SEC) -> Lease | Held:
    """A lease on a block. Waits `sec` if there is one that may be a dead worker's."""
    folder = f"leases/{block}/"
    while True:
        names = exchange.names(folder)
        notes = [_read(exchange, name) for name in names]
        if notes and not notes[-1].ended and _lives(exchange, names[-1], notes[-1], sec):
            return Held(holder=notes[-1].holder)
        note = LeaseNote(holder=holder)
        number = len(names) + 1
        if exchange.put_new(_name(folder, number), note.model_dump_json().encode()):
            lost = tuple(before.holder for before in notes if not before.ended)
            return Lease(
                exchange=exchange, folder=folder, number=number, note=note, sec=sec, lost=lost
            )


def _lives(exchange: Exchange, name: str, seen: LeaseNote, sec: float) -> bool:
    """Whether its holder gives a sign of life; as soon as it ends it, False."""
    until = time.monotonic() + sec
    while time.monotonic() < until:
        time.sleep(sec / BEATS)
        now = _read(exchange, name)
        if now.ended:
            return False
        if now != seen:
            return True
    return False


def _read(exchange: Exchange, name: str) -> LeaseNote:
    return parse_json(exchange.get(name) or b"", LeaseNote, where=name)


def _name(folder: str, number: int) -> str:
    return f"{folder}{number:06d}.json"
