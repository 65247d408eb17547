"""A run's workers as whoever waits for the run sees them, by what they tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runner.protocols import Progress
from runner.records import Cell

MOST_NAMED = 6
"""Workers in a line."""


@dataclass
class Workers:
    """Events may be late or lost: nothing but what is shown follows from them."""

    progress: Progress
    cells: Mapping[str, Cell]
    """By their ids."""
    _slots: dict[str, int] = field(default_factory=dict)
    """Address of each that takes blocks -> how many at a time."""
    _begun: Counter[str] = field(default_factory=Counter)
    """Cells, by address."""
    _refused: dict[str, str] = field(default_factory=dict)
    """Why others take none."""
    _told: set[tuple[str, str]] = field(default_factory=set)
    all_refuse: bool = False
    """There are workers, and none of them will ever take a block."""

    @property
    def slots(self) -> int:
        return sum(self._slots.values())

    def take_slots(self, slots: Mapping[str, int]) -> None:
        """As the scheduler has it: what an event says may be old by now."""
        self._slots = {worker: count for worker, count in slots.items() if count}
        self._refused = {worker: why for worker, why in self._refused.items() if worker in slots}
        self.all_refuse = bool(slots) and self._refused.keys() == slots.keys()
        self.progress.workers(str(self))

    def reasons(self) -> str:
        """Why those that take no block take none, each once."""
        return "; ".join(sorted(set(self._refused.values())))

    def __str__(self) -> str:
        """`2 at work, cells begun: 192.0.2.3:4412 120, 192.0.2.4:3311 98; 1 take none`."""
        named = [f"{_short(worker)} {self._begun[worker]}" for worker in self._slots]
        more = [f"and {len(named) - MOST_NAMED} more"] if len(named) > MOST_NAMED else []
        listed = ", ".join(named[:MOST_NAMED] + more)
        text = f"{len(named)} at work, cells begun: {listed}" if named else "no worker takes blocks"
        why = f"; {len(self._refused)} take none" if self._refused else ""
        return text + why

    def take(self, event: tuple[float, Any]) -> None:
        _, said = event
        what, worker = said["what"], said.get("worker", "")
        if what == "spent":
            self.progress.spent(said["tokens"], said["usd"])
        elif what == "joined":
            self._note(worker, f"takes {said['threads']} blocks at a time ({_host(said['host'])})")
        elif what == "refused":
            self._refused[worker] = said["why"]
            self._note(worker, f"takes no block: {said['why']}")
        elif what == "getting ready":
            self._note(worker, said["line"])
        elif what == "started":
            self._begun[worker] += 1
            cell = self.cells[said["cell"]]
            self.progress.started(cell)
            self.progress.says(cell, f"on {_short(worker)}")
        elif what == "says":
            self.progress.says(self.cells[said["cell"]], f"on {_short(worker)}: {said['line']}")

    def _note(self, worker: str, line: str) -> None:
        if (worker, line) not in self._told:
            self._told.add((worker, line))
            self.progress.note(f"worker {_short(worker)} {line}")


def _short(worker: str) -> str:
    return worker.rpartition("/")[2]


def _host(facts: Mapping[str, Any]) -> str:
    engine = f", engine {facts['engine']}" if facts["engine"] else ""
    return f"{facts['name']}: {facts['cores']} cores, {facts['memory_mb']:,} MB{engine}"
