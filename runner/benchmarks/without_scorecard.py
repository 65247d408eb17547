"""What benchmarks share whose cells have no scorecard: neither fairness nor adoption, no arm."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from runner.agents.models import ModelKind, kind_name, kind_of
from runner.catalog.checkout import Checkout
from runner.protocols import Judge, Model
from runner.records import (
    Budget,
    Cell,
    CellResult,
    Count,
    Record,
    Scorecard,
    Step,
    TaskFingerprint,
    UnitInterval,
    Usage,
    digest_of,
    parse_json,
)
from runner.records.run_store import LoadedRun, RunStore
from runner.runs.run_inputs import PreparedRun
from runner.runs.spent import usage_of
from runner.scoring.statistics import ClusterMean, mean
from runner.support.errors import FairtrialError

S = TypeVar("S", bound=Record)


class WithoutScorecard:
    """The half of runs.benchmark.Benchmark that looks back at a cell."""

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
        """runs.benchmark.Benchmark."""
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


@dataclass(frozen=True, kw_only=True)
class OneStep:
    """tool_calling.Assignment: what is put to a model in one message."""

    steps: tuple[Step]
    budget: Budget


def one_step(name: str, prompt: str, budget: Budget) -> OneStep:
    return OneStep(steps=(Step(name=name, prompt=prompt),), budget=budget)


def fingerprint(cell: Cell, model: Model, harness: int, shown: str) -> TaskFingerprint:
    """Of what answers the cell; `shown`: digest of all that it is shown."""
    return TaskFingerprint(
        harness=str(harness),
        model=cell.model,
        model_kind=kind_name(cell.model),
        model_identity=model.identity,
        shown=shown,
    )


# --- a run of such cells --------------------------------------------------------------------


def setup_in(store: RunStore, verb: str, file: str, noun: str, record: type[S]) -> S:
    """What lies beside a run's plan. Raises FairtrialError if the run is none of the verb's."""
    path = store.folder / file
    if store.plan().benchmark != verb or not path.is_file():
        hint = f"`fairtrial report` shows other runs; `fairtrial {verb} run` makes one"
        raise FairtrialError(f"this is no run of {noun}", where=str(store.folder), hint=hint)
    return parse_json(path.read_bytes(), record, where=str(path))


def kinds_of(models: Iterable[str]) -> list[ModelKind]:
    """Each once, in their order; a name that no kind has is left out."""
    return [kind for kind in map(kind_of, dict.fromkeys(map(kind_name, models))) if kind]


class ModelSpending(Record):
    """By a model, in every attempt at some cells."""

    input_tokens: Count
    output_tokens: Count
    usd: float | None
    """None without a price."""


def spent_on(cells: Iterable[Cell], model: str, store: RunStore, run: LoadedRun) -> ModelSpending:
    spent: list[Usage] = [usage for cell in cells for usage in usage_of(store, cell)]
    price = run.plan.prices.models.get(model) if run.plan.prices else None
    return ModelSpending(
        input_tokens=sum(usage.input_tokens for usage in spent),
        output_tokens=sum(usage.output_tokens for usage in spent),
        usd=None if price is None else sum(map(price.cost_usd, spent)),
    )


class Rate(Record):
    """A share or a mean, with its 95 % interval; None where there is nothing to take it of."""

    value: UnitInterval | None
    low: UnitInterval | None = None
    high: UnitInterval | None = None


def rate_of(trials: Iterable[Sequence[float]]) -> Rate:
    """The mean over questions of the means over trials, which are not independent of each other."""
    shares = list(map(mean, trials))
    if not shares:
        return Rate(value=None)
    if set(shares) <= {0.0, 1.0}:
        low, high = wilson(round(sum(shares)), len(shares))
    elif interval := ClusterMean(figures=tuple(shares)).interval():
        low, high = max(0.0, interval.low), min(1.0, interval.high)
    else:
        return Rate(value=mean(shares))
    return Rate(value=mean(shares), low=low, high=high)


_NORMAL_97_5 = 1.959963984540054
"""Below it lie 97.5 % of the standard normal distribution."""


def wilson(passed: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share: of 20 passes in 20 it says more than 100–100 %.

    Source: Wilson 1927, doi:10.1080/01621459.1927.10502953.
    """
    # As scipy.stats.binomtest reckons it, to the last bit; a report would wait a second for that.
    share, square = passed / n, _NORMAL_97_5**2
    both = 2 * (n + square)
    middle = (2 * n * share + square) / both
    half = _NORMAL_97_5 / both * math.sqrt(4 * n * share * (1 - share) + square)
    # At its own end an interval is open by a rounding otherwise, and no share is below 0.
    low = 0.0 if passed == 0 else middle - half
    high = 1.0 if passed == n else middle + half
    return low, high


def mean_of(values: Iterable[float]) -> float | None:
    """None of none."""
    figures = list(values)
    return mean(figures) if figures else None
