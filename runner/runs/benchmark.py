"""What a benchmark is: the shape that a run asks for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from runner.catalog.checkout import Checkout
from runner.protocols import Judge
from runner.records import Cell, CellResult, Outcome, Scorecard
from runner.runs.attempt import Attempt
from runner.runs.run_inputs import PreparedRun


class Benchmark(Protocol):
    """A kind of measurement: which cells it plans, how it runs one, how it scores them."""

    def cells(self, prepared: PreparedRun, models: Sequence[str], trials: int) -> tuple[Cell, ...]:
        """Every cell, in the order in which they are run."""

    def left_out(self, prepared: PreparedRun) -> tuple[str, ...]:
        """What was asked for and is not planned, each in words."""

    async def run(self, attempt: Attempt) -> Outcome:
        """One attempt at one cell; what is measured on the way is noted on the attempt.

        Raises ServerError, SandboxError or ProviderError if that part failed.
        """

    def differing(
        self, cell: Cell, result: CellResult, checkout: Checkout
    ) -> dict[str, tuple[str, str]]:
        """Key path in the result -> what it says there, and what the cell or today's catalog says.

        Where the two are not the same, the cell's transcript is no answer to what is asked.
        """

    def basis(self, cell: Cell, checkout: Checkout) -> str:
        """Digest of all that a cell's scores follow from, but its transcript and the judge."""

    def score(
        self, cell: Cell, transcript: Path, checkout: Checkout, *, judge: Judge, cache_dir: Path
    ) -> Scorecard:
        """From the transcript alone. `cache_dir` may keep what the next cell needs again."""
