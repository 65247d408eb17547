"""What a run would take, before anything is spent: `fairtrial run --dry-run`.

Ceilings follow from the scenarios' budgets. What is likely is known only from earlier cells of the
same model, and said to be unknown without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from runner.agents.models import is_language_model, kind_name
from runner.agents.spending import Spending
from runner.catalog.catalog import SHELL, Catalog, can_be_measured, pick
from runner.records import Budget, Count, Effort, Price, Record, server_of
from runner.records.run_store import LoadedCell, LoadedRun, RunStore
from runner.report.figures import values, whole_fairness
from runner.scoring import statistics
from runner.support.errors import FairtrialError

ASSUMED_SD = 0.10
"""Of a scenario's difference between two arms, where no earlier run shows it."""
FEWEST_DIFFERENCES = 3
"""Scenarios that a spread is read from."""


class Amounts(Record):
    """What some cells take."""

    calls: Count
    """Of tools."""
    tokens: Count
    """Uncached input and output."""
    usd: float | None
    """None if the model has no price."""
    hours: float


class ScenarioModelEstimate(Record):
    model: str
    cells: Count
    at_most: Amounts
    """By the scenarios' budgets. What is read from caches comes on top of the tokens; the dollars
    hold it."""
    likely: Amounts | None
    """As earlier cells of the model took; None if there are none."""
    earlier_cells: Count


class ScenarioEstimate(Record):
    scenarios: Count
    arms: Count
    trials: Count
    blocks: Count
    """What `--jobs` shares out: all arms of one scenario, model and trial."""
    models: tuple[ScenarioModelEstimate, ...]
    prices_date: str
    sd: float
    """Of a scenario's difference between two arms."""
    sd_is_assumed: bool
    smallest_difference: float | None
    """In fairness; None: with so few scenarios no pattern can be told from a coin."""

    def lines(self) -> Iterator[str]:
        """As a person reads it."""
        cells = sum(model.cells for model in self.models)
        yield (
            f"{cells} cells: {self.scenarios} scenarios × {self.arms} arms × "
            f"{len(self.models)} models × {self.trials} trials, less what has no health probe"
        )
        yield f"{self.blocks} blocks: the arms of one scenario, model and trial, one after another"
        for model in self.models:
            yield f"{model.model}, {model.cells} cells"
            yield f"  at most   {_amounts(model.at_most)}"
            yield f"  likely    {_likely(model)}"
        yield f"prices of {self.prices_date}"
        yield self._detectable()

    def _detectable(self) -> str:
        basis = "assumed" if self.sd_is_assumed else "as in earlier runs"
        if self.smallest_difference is None:
            least = statistics.MIN_SCENARIOS
            return f"no difference could be told from a coin: {least} scenarios are the least"
        return (
            f"smallest difference in fairness it would find 4 times in 5: "
            f"{self.smallest_difference:.3f} (if scenarios' differences spread by "
            f"{self.sd:.3f}, {basis})"
        )


def _amounts(amounts: Amounts) -> str:
    dollars = "no price" if amounts.usd is None else f"${amounts.usd:,.2f}"
    return (
        f"{amounts.calls:,} calls, {amounts.tokens:,} tokens, {dollars}, {amounts.hours:,.1f} hours"
    )


def _likely(model: ScenarioModelEstimate) -> str:
    if model.likely is None:
        return "unknown: no cell of this model has been measured here; a run of one cell shows it"
    return f"{_amounts(model.likely)} (as {model.earlier_cells} earlier cells)"


@dataclass(frozen=True, kw_only=True)
class EstimateRequest:
    """What a dry run is asked about."""

    scenarios: Sequence[str]
    servers: Sequence[str]
    models: Sequence[str]
    trials: int
    jobs: int
    spending: Spending


def estimate_scenarios(asked: EstimateRequest, catalog: Catalog, runs: Path) -> ScenarioEstimate:
    """`runs`: the folder of earlier runs."""
    earlier = list(_earlier(runs))
    of_scenarios = list(filter(None, (_budgets(asked, catalog, name) for name in asked.scenarios)))
    budgets = [budget for block in of_scenarios for budget in block] * asked.trials
    blocks = len(of_scenarios) * asked.trials * len(asked.models)
    # More at a time than there are blocks makes nothing faster.
    asked = replace(asked, jobs=min(asked.jobs, max(1, blocks)))
    sd = _spread(earlier, asked.models)
    smallest = statistics.smallest_difference(
        ASSUMED_SD if sd is None else sd, len(asked.scenarios)
    )
    date = asked.spending.prices.date if asked.spending.prices else "no file"
    return ScenarioEstimate(
        scenarios=len(asked.scenarios),
        arms=len(asked.servers),
        trials=asked.trials,
        blocks=blocks,
        models=tuple(_of_model(asked, model, budgets, earlier) for model in asked.models),
        prices_date=date,
        sd=ASSUMED_SD if sd is None else sd,
        sd_is_assumed=sd is None,
        smallest_difference=smallest,
    )


def _budgets(asked: EstimateRequest, catalog: Catalog, name: str) -> list[Budget]:
    """Of every cell of a scenario's block."""
    servers = [
        pick(catalog.servers, server_of(arm), "server").spec
        for arm in asked.servers
        if arm != SHELL
    ]
    scenario = pick(catalog.scenarios, name, "scenario").scenario
    measured = sum(can_be_measured(server, scenario) for server in servers)
    # The shell alone is planned only where no server was asked for.
    shell = 1 if measured or not servers else 0
    return [scenario.budget] * (measured + shell)


# --- one model ------------------------------------------------------------------------------


def _of_model(
    asked: EstimateRequest, model: str, budgets: Sequence[Budget], earlier: Sequence[LoadedRun]
) -> ScenarioModelEstimate:
    price = asked.spending.priced.get(model)
    known: list[LoadedCell] = []
    for run in earlier:
        known += [cell for cell in run.cells if _is_of(cell, model)]
    likely = None
    if known:
        likely = _likely_amounts(known, price, len(budgets), asked.jobs)
    return ScenarioModelEstimate(
        model=model,
        cells=len(budgets),
        at_most=_ceiling(asked, model, price, budgets),
        likely=likely,
        earlier_cells=len(known),
    )


def _is_of(cell: LoadedCell, model: str) -> bool:
    return cell.cell.model == model and cell.measured and cell.scorecard is not None


def _ceiling(
    asked: EstimateRequest, model: str, price: Price | None, budgets: Sequence[Budget]
) -> Amounts:
    dollars = None
    if price is not None:
        dollars = sum(_ceiling_usd(asked.spending, price, budget) for budget in budgets)
        if asked.spending.run_usd is not None:
            dollars = min(dollars, asked.spending.run_usd)
    elif not is_language_model(kind_name(model)):
        dollars = 0.0
    return Amounts(
        calls=sum(budget.actions for budget in budgets),
        tokens=sum(budget.tokens for budget in budgets),
        usd=dollars,
        hours=sum(budget.wall_sec for budget in budgets) / 3600 / asked.jobs,
    )


def _ceiling_usd(spending: Spending, price: Price, budget: Budget) -> float:
    """Every token at the dearest price, and all of them read again with every call."""
    dearest = max(price.input, price.cache_write, price.output)
    read_again = budget.tokens * budget.actions * price.cache_read
    dollars = (budget.tokens * dearest + read_again) / 1_000_000
    limit = spending.cell_limit_usd(budget.usd)
    return dollars if limit is None else min(dollars, limit)


def _likely_amounts(
    cells: Sequence[LoadedCell], price: Price | None, count: int, jobs: int
) -> Amounts:
    efforts = list(filter(None, map(_effort, cells)))
    times = [cell.result.timings for cell in cells if cell.result]
    seconds = [time.total_sec for time in times if time]
    each_usd = None
    if price is not None:
        each_usd = statistics.mean([price.cost_usd(effort) for effort in efforts])
    return Amounts(
        calls=round(count * statistics.mean([effort.actions for effort in efforts])),
        tokens=round(count * statistics.mean([_tokens(effort) for effort in efforts])),
        usd=None if each_usd is None else count * each_usd,
        hours=count * statistics.mean(seconds) / 3600 / jobs,
    )


def _effort(cell: LoadedCell) -> Effort | None:
    return cell.scorecard.fairness.effort if cell.scorecard else None


def _tokens(effort: Effort) -> int:
    return effort.input_tokens + effort.output_tokens


# --- earlier runs ---------------------------------------------------------------------------


def _earlier(runs: Path) -> Iterator[LoadedRun]:
    for path in sorted(runs.glob("*/plan.json")):
        try:
            yield _with_scorecards(RunStore(path.parent))
        except FairtrialError:
            # A run of another version tells nothing here, and is no reason to refuse an estimate.
            continue


def _with_scorecards(store: RunStore) -> LoadedRun:
    """As the files say. Nothing of it is a result: it only guesses what a run will take."""
    run = store.load()
    cells = [replace(cell, scorecard=store.stored_scorecard(cell.cell.id)) for cell in run.cells]
    return replace(run, cells=tuple(cells))


def _spread(earlier: Sequence[LoadedRun], models: Sequence[str]) -> float | None:
    """How far scenarios' differences from the shell lie apart, pooled over runs and arms."""
    groups: list[list[float]] = []
    for run in earlier:
        for model in models:
            groups += _differences(run, model)
    pooled = statistics.repeatability(groups)
    return pooled.sd if pooled else None


def _differences(run: LoadedRun, model: str) -> Iterator[list[float]]:
    """Of each arm that has enough of them."""
    if not is_language_model(kind_name(model)):
        return
    cells = [cell for cell in run.cells if _is_of(cell, model)]
    arms = dict.fromkeys(cell.cell.server for cell in cells)
    fairness = {}
    for arm in arms:
        own = [cell for cell in cells if cell.cell.server == arm]
        fairness[arm] = values(own, whole_fairness)
    for arm in arms:
        if arm != "shell" and "shell" in fairness:
            differences = statistics.paired_differences(fairness["shell"], fairness[arm])
            if len(differences) >= FEWEST_DIFFERENCES:
                yield list(differences.values())
