"""What benchmarks share whose cells have no scorecard: neither fairness nor adoption, no arm."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.agents.models import kind_name
from runner.protocols import Judge
from runner.records import Cell, CellResult, Scorecard, digest_of
from runner.support.errors import FairtrialError

if TYPE_CHECKING:
    from runner.catalog.checkout import Checkout
    from runner.runs.run_inputs import PreparedRun


class WithoutScorecard:
    """The half of protocols.Benchmark that looks back at a cell."""

    noun: str
    """What a cell puts to a model: `task`, `query`."""
    verb: str
    """The command whose `report` shows what such cells have instead."""

    def differing(
        self,
        cell: Cell,
        result: CellResult,
        checkout: Checkout,  # noqa: ARG002 - what was asked is in no catalog
    ) -> dict[str, tuple[str, str]]:
        """protocols.Benchmark."""
        if result.task is None:
            return {"task": ("nothing", "what answered it")}
        return {
            "task.harness": (result.task.harness, cell.inputs.get("harness", "")),
            "task.model": (result.task.model, cell.model),
            "task.model_kind": (result.task.model_kind, kind_name(cell.model)),
            "task.model_identity": (result.task.model_identity, cell.inputs.get("model", "")),
            "task.shown": (result.task.shown, cell.inputs.get("shown", "")),
        }

    def basis(self, cell: Cell, checkout: Checkout) -> str:  # noqa: ARG002
        """Raises FairtrialError, as `score` does."""
        raise self._no_scorecard(cell)

    def score(
        self,
        cell: Cell,
        transcript: Path,  # noqa: ARG002
        checkout: Checkout,  # noqa: ARG002
        *,
        judge: Judge,  # noqa: ARG002
        cache_dir: Path,  # noqa: ARG002
    ) -> Scorecard:
        """Raises FairtrialError with where its figures are."""
        raise self._no_scorecard(cell)

    def _no_scorecard(self, cell: Cell) -> FairtrialError:
        hint = f"`fairtrial {self.verb} report RUN` shows its figures"
        return FairtrialError(f"a {self.noun} has no scorecard", where=cell.scenario, hint=hint)


def spending_input(prepared: PreparedRun, model: str) -> dict[str, str]:
    """Where dollars can end a cell, its price changes the outcome as much as the limit does."""
    price = prepared.spending.priced.get(model)
    if price is None or prepared.spending.cell_usd is None:
        return {}
    return {"dollars": digest_of([prepared.spending.cell_usd, price.model_dump()])}
