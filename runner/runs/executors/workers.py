"""A run's workers as whoever waits for the run sees them, by what they tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runner.protocols import Progress
from runner.records import Cell


@dataclass
class Workers:
    """Events may be late or lost: nothing but what is shown follows from them."""

    progress: Progress
    cells: Mapping[str, Cell]
    """By their ids."""
    _threads: dict[str, int] = field(default_factory=dict)
    """Of those that take blocks, by address."""
    _told: set[tuple[str, str]] = field(default_factory=set)

    @property
    def threads(self) -> int:
        return sum(self._threads.values())

    def keep(self, there: Mapping[str, int]) -> None:
        """Forget those that are gone."""
        for address in self._threads.keys() - there.keys():
            del self._threads[address]

    def take(self, event: tuple[float, Any]) -> None:
        _, said = event
        what, worker = said["what"], said.get("worker", "")
        if what == "spent":
            self.progress.spent(said["tokens"], said["usd"])
        elif what == "joined":
            self._threads[worker] = said["threads"]
            self._note(worker, f"takes {said['threads']} blocks at a time ({_host(said['host'])})")
        elif what == "refused":
            self._note(worker, f"takes no block: {said['why']}")
        elif what == "getting ready":
            self._note(worker, said["line"])
        elif what == "started":
            self.progress.started(self.cells[said["cell"]])
        elif what == "says":
            self.progress.says(self.cells[said["cell"]], said["line"])

    def _note(self, worker: str, line: str) -> None:
        if (worker, line) not in self._told:
            self._told.add((worker, line))
            self.progress.note(f"worker {worker.rpartition('/')[2]} {line}")


def _host(facts: Mapping[str, Any]) -> str:
    engine = f", engine {facts['engine']}" if facts["engine"] else ""
    return f"{facts['name']}: {facts['cores']} cores, {facts['memory_mb']:,} MB{engine}"
