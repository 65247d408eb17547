"""What a run would take, before anything is spent: `fairtrial run --dry-run`.

Ceilings follow from the scenarios' budgets. What is likely is known only from earlier cells of the
same model, and said to be unknown without them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path

from runner.agents.models import is_language_model, kind_name
from runner.agents.spending import Spending
from runner.benchmarks.estimate import Amounts, Estimate, ModelEstimate
from runner.benchmarks.scenarios.scenario_power import (
    ASSUMED,
    ASSUMED_IN_F1,
    Differences,
    PlannedRun,
    Power,
    power_of,
    spread_of,
)
from runner.catalog.catalog import SHELL, Catalog, can_be_measured, pick
from runner.records import (
    DEFAULT_AGENT,
    Budget,
    Count,
    Effort,
    Price,
    Scenario,
    ServerSpec,
    is_candidate,
    server_of,
)
from runner.records.arms import NO_TOOLS_ARM
from runner.records.run_store import LoadedCell, LoadedRun, RunStore
from runner.report.clusters import Clusters, Topic, topics_of
from runner.report.figures import key_f1, values, whole_fairness
from runner.scoring import statistics
from runner.support.errors import FairtrialError
from runner.support.text import counted, some_of

DETECT = 0.05
"""A difference in fairness that matters to most, as --margin has it."""


class ScenarioEstimate(Estimate):
    scenarios: Count
    arms: Count
    trials: Count
    blocks: Count
    """What `--jobs` shares out: all arms of one scenario, model and trial."""
    power: Power | None
    """None if no server is measured beside the shell."""

    def lines(self) -> Iterator[str]:
        cells = sum(model.cells for model in self.models)
        yield (
            f"{counted(cells, 'cell')}: {counted(self.scenarios, 'scenario')} × "
            f"{counted(self.arms, 'arm')} × {counted(len(self.models), 'model')} × "
            f"{counted(self.trials, 'trial')}, less what has no health probe"
        )
        yield f"{self.blocks} blocks: the arms of one scenario, model and trial, one after another"
        yield from super().lines()
        if self.power is not None:
            yield from self.power.lines()


@dataclass(frozen=True, kw_only=True)
class EstimateRequest:
    """What a dry run is asked about."""

    scenarios: Sequence[str]
    servers: Sequence[str]
    models: Sequence[str]
    trials: int
    jobs: int
    spending: Spending
    agent: str = DEFAULT_AGENT
    """A name in AGENTS or PACKAGED: another agent's cells say nothing of its."""
    program: str = ""
    """Of an agent in PACKAGED, its title and version."""
    to_come: frozenset[str] = frozenset()
    """Servers that are not defined yet: each is taken to show every repository."""
    detect: float = DETECT
    """A difference in fairness; the estimate says what finding it would take."""


@dataclass(frozen=True, kw_only=True)
class PlannedPairs:
    """Which server is measured on which scenario."""

    scenarios: Mapping[str, Scenario]
    servers: Sequence[str]
    """Those asked for, without the shell."""
    catalog: Catalog
    to_come: frozenset[str] = frozenset()

    @cached_property
    def measured(self) -> dict[str, list[str]]:
        """Server -> its scenarios."""
        found: dict[str, list[str]] = {}
        for server, (name, scenario) in product(self.servers, self.scenarios.items()):
            if can_be_measured(self._spec(server), scenario):
                found.setdefault(server, []).append(name)
        return found

    def _spec(self, arm: str) -> ServerSpec | None:
        if arm == NO_TOOLS_ARM or server_of(arm) in self.to_come:
            return None
        return pick(self.catalog.servers, server_of(arm), "server").spec

    @property
    def compared(self) -> dict[str, Scenario]:
        """Scenarios on which any server is measured."""
        names = set().union(*self.measured.values())
        return {name: scenario for name, scenario in self.scenarios.items() if name in names}

    def cells(self, name: str) -> int:
        """Of a scenario's block."""
        measured = sum(name in scenarios for scenarios in self.measured.values())
        # The shell alone is planned only where no server was asked for.
        return measured + 1 if measured or not self.servers else 0

    def left_out(self) -> Iterator[str]:
        for server in self.servers:
            missing = [it for it in self.scenarios if it not in self.measured.get(server, ())]
            if missing:
                yield f"left out: {server} has no health probe for {some_of(missing)}"


def estimate_scenarios(asked: EstimateRequest, catalog: Catalog, runs: Path) -> ScenarioEstimate:
    """`runs`: the folder of earlier runs."""
    earlier = list(_earlier(runs))
    known = {name: pick(catalog.scenarios, name).scenario for name in asked.scenarios}
    servers = [name for name in asked.servers if name != SHELL]
    pairs = PlannedPairs(scenarios=known, servers=servers, catalog=catalog, to_come=asked.to_come)
    budgets: list[Budget] = []
    for name, scenario in known.items():
        budgets += [scenario.budget] * (pairs.cells(name) * asked.trials)
    blocks = sum(pairs.cells(name) > 0 for name in known) * asked.trials * len(asked.models)
    # More at a time than there are blocks makes nothing faster.
    asked = replace(asked, jobs=min(asked.jobs, max(1, blocks)))
    models = tuple(_of_model(asked, model, budgets, earlier) for model in asked.models)
    return ScenarioEstimate(
        scenarios=len(asked.scenarios),
        arms=len(asked.servers),
        trials=asked.trials,
        blocks=blocks,
        models=models,
        prices_date=asked.spending.prices_date,
        notes=(*_notes_on(asked), *pairs.left_out()),
        power=_power(asked, pairs, models, earlier, topics_of(catalog.sound_scenarios())),
    )


def _power(
    asked: EstimateRequest,
    pairs: PlannedPairs,
    models: Sequence[ModelEstimate],
    earlier: Sequence[LoadedRun],
    topics: Mapping[str, Topic],
) -> Power | None:
    measured = {arm: own for arm, own in pairs.measured.items() if is_candidate(arm)}
    if not measured:
        return None
    planned = PlannedRun(
        clusters=Clusters(
            topics={name: topics[name] for name in pairs.compared},
            comparisons=len(measured) * len(models),
        ),
        measured=measured,
        trials=asked.trials,
        cells=sum(model.cells for model in models),
        usd=_usd(asked, models),
        usd_is_likely=all(model.likely for model in models),
    )
    by_keys = planned.clusters.by_keys
    arms: list[Differences] = []
    for run, model in product(earlier, asked.models):
        if _is_by_keys(run, topics) == by_keys:
            arms += _differences(run, model, asked.agent, topics)
    spread = spread_of(arms, ASSUMED_IN_F1 if by_keys else ASSUMED)
    return power_of(planned, spread, asked.detect)


def _is_by_keys(run: LoadedRun, topics: Mapping[str, Topic]) -> bool:
    """F1 varies otherwise than fairness does."""
    known = [topics.get(cell.cell.scenario) for cell in run.cells]
    return all(topic is not None and topic.asks is not None for topic in known)


def _usd(asked: EstimateRequest, models: Sequence[ModelEstimate]) -> float | None:
    """Of the plan: likely, else at most. None if a price is missing, or a cap hides what it is."""
    amounts = [model.likely or model.at_most for model in models]
    known = [one.usd for one in amounts if one is not None and one.usd is not None]
    if len(known) < len(models) or asked.spending.is_capped:
        return None
    return math.fsum(known)


# --- one model ------------------------------------------------------------------------------


def _of_model(
    asked: EstimateRequest, model: str, budgets: Sequence[Budget], earlier: Sequence[LoadedRun]
) -> ModelEstimate:
    price = asked.spending.priced.get(model)
    known: list[LoadedCell] = []
    for run in earlier:
        known += [cell for cell in run.cells if _is_of(cell, model, asked.agent)]
    likely = None
    if known:
        likely = _likely_amounts(known, price, len(budgets), asked.jobs)
    return ModelEstimate(
        model=model,
        cells=len(budgets),
        at_most=_ceiling(asked, model, price, budgets),
        likely=likely,
        earlier_cells=len(known),
    )


def _notes_on(asked: EstimateRequest) -> Iterator[str]:
    if asked.program:
        yield (
            f"{asked.program} runs in each cell, with its own prompt and tools; npm fetches it "
            "if this machine has not got it yet"
        )
    for server in sorted(asked.to_come):
        yield (
            f"{server} is neither installed nor started for an estimate: the run does that, and "
            "ends there if it cannot see the repository"
        )


def _is_of(cell: LoadedCell, model: str, agent: str) -> bool:
    fingerprint = cell.result.fingerprint if cell.result else None
    if fingerprint is not None and fingerprint.agent != agent:
        return False
    return cell.cell.model == model and cell.measured and cell.scorecard is not None


def _ceiling(
    asked: EstimateRequest, model: str, price: Price | None, budgets: Sequence[Budget]
) -> Amounts:
    tokens = sum(budget.tokens for budget in budgets)
    dollars = None
    if price is not None:
        dollars = sum(_ceiling_usd(asked.spending, price, budget) for budget in budgets)
        if asked.spending.run_usd is not None:
            dollars = min(dollars, asked.spending.run_usd)
    elif not is_language_model(kind_name(model)):
        dollars = 0.0
    return Amounts(
        calls=sum(budget.actions for budget in budgets),
        tokens=tokens
        if asked.spending.run_tokens is None
        else min(tokens, asked.spending.run_tokens),
        usd=dollars,
        hours=sum(budget.wall_sec for budget in budgets) / 3600 / asked.jobs,
    )


def _ceiling_usd(spending: Spending, price: Price, budget: Budget) -> float:
    """Every token at the dearest price, and all read again, by a cache, with every call."""
    dearest = max(price.input, price.cache_write, price.output)
    read_again = budget.tokens * budget.actions * price.cache_read
    dollars = (budget.tokens * dearest + read_again) / 1_000_000
    limit = spending.cell_limit_usd(budget.usd)
    return dollars if limit is None else min(dollars, limit)


def _likely_amounts(
    cells: Sequence[LoadedCell], price: Price | None, count: int, jobs: int
) -> Amounts:
    efforts = [cell.scorecard.fairness.effort for cell in cells if cell.scorecard]
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


def _tokens(effort: Effort) -> int:
    # A scorecard of an earlier version has what was billed, which is near enough for a guess.
    return effort.new_tokens or effort.input_tokens + effort.output_tokens


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


def _differences(
    run: LoadedRun, model: str, agent: str, topics: Mapping[str, Topic]
) -> Iterator[Differences]:
    """Of each arm, from the shell's."""
    if not is_language_model(kind_name(model)):
        return
    cells = [cell for cell in run.cells if _is_of(cell, model, agent)]
    score_of = key_f1 if _is_by_keys(run, topics) else whole_fairness
    repositories = {cell.cell.scenario: _repository(cell, topics) for cell in cells}
    fairness = {}
    for arm in dict.fromkeys(cell.cell.server for cell in cells):
        own = [cell for cell in cells if cell.cell.server == arm]
        fairness[arm] = values(own, score_of)
    shell = fairness.pop(SHELL, {})
    for figures in fairness.values():
        found: dict[tuple[str, str], list[float]] = {}
        for (scenario, _), difference in statistics.trial_differences(shell, figures).items():
            found.setdefault((repositories[scenario], scenario), []).append(difference)
        yield found


def _repository(cell: LoadedCell, topics: Mapping[str, Topic]) -> str:
    """Of a scenario that left the catalog: the tree that its cell saw."""
    known = topics.get(cell.cell.scenario)
    fingerprint = cell.result.fingerprint if cell.result else None
    if known is None:
        return fingerprint.tree if fingerprint else ""
    return known.repository
