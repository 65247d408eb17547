"""`scenarios`: one scenario, one arm, one model, one trial is a cell. Our own benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING

from runner.agents import system_prompt
from runner.benchmarks.scenario_cell import run_scenario_cell
from runner.catalog import can_be_measured
from runner.models import open_model
from runner.prepared import PreparedRun
from runner.records import Cell, Outcome, Scenario, Scorecard, digest_of
from runner.scoring import score_cell
from runner.transcript import iter_transcript

if TYPE_CHECKING:
    from runner.checkout import Checkout
    from runner.grounding.files import GitFiles
    from runner.run import Attempt
    from runner.store import RunStore


class Scenarios:
    """protocols.Benchmark."""

    def cells(self, prepared: PreparedRun, models: Sequence[str], trials: int) -> tuple[Cell, ...]:
        """Every cell, arms innermost.

        What drifts while a run goes on (a busy machine, a provider) then meets all arms of a trial
        alike.
        """
        identities = {name: open_model(name, prepared.models).identity for name in models}
        trial_numbers = range(1, trials + 1)
        cells = []
        for trial, scenario, model, server in product(
            trial_numbers, prepared.scenarios, models, prepared.arms
        ):
            if not _can_be_measured(prepared, scenario, server):
                continue
            inputs = _inputs(prepared, scenario, server, model, identities[model])
            cell = Cell(scenario=scenario, server=server, model=model, trial=trial, inputs=inputs)
            cells.append(cell)
        return tuple(cells)

    def left_out(self, prepared: PreparedRun) -> tuple[str, ...]:
        """The pairs of scenario and server that are not planned, each in words."""
        lines = []
        for scenario, server in product(prepared.scenarios, prepared.arms):
            if not _can_be_measured(prepared, scenario, server):
                lines.append(f"{server} has no canary for the repository of {scenario}")
        return tuple(lines)

    async def run(self, attempt: Attempt) -> Outcome:
        """A container, the arm's server in it, and the agent's conversation."""
        return await run_scenario_cell(attempt)

    def score(self, store: RunStore, checkout: Checkout) -> Iterator[Scorecard]:
        """A scorecard for every measured cell, one transcript in memory at a time."""
        files: dict[str, GitFiles] = {}
        for cell, attempt in store.measured_attempts():
            loaded = checkout.scenario(cell.scenario)
            # One git process a scenario, not one a cell: a run may have thousands of cells.
            if cell.scenario not in files:
                files[cell.scenario] = checkout.files(loaded)
            yield score_cell(
                iter_transcript(attempt.transcript),
                loaded.scenario,
                loaded.rubric,
                cell_id=cell.id,
                server=cell.server,
                files=files[cell.scenario],
                judge=checkout.judge,
                cache_dir=checkout.state / "grounding",
            )


def _can_be_measured(prepared: PreparedRun, scenario: str, server: str) -> bool:
    return can_be_measured(prepared.arms[server].spec, prepared.scenarios[scenario].scenario)


def _inputs(
    prepared: PreparedRun, scenario: str, server: str, model: str, model_identity: str
) -> dict[str, str]:
    """Everything that could change what happens in the cell, by name."""
    ground = prepared.scenarios[scenario]
    return {
        "scenario": _questions_digest(ground.scenario),
        "system_prompt": digest_of(system_prompt(prepared.agent)),
        "server": prepared.arms[server].digest,
        "base_image": ground.base_image,
        "commit": ground.pin.commit,
        "limits": digest_of(prepared.limits),
        "model": model_identity,
        "harness": prepared.harness,
        "agent": prepared.agent,
    } | _spending_input(prepared, model)


def _spending_input(prepared: PreparedRun, model: str) -> dict[str, str]:
    """Where dollars can end a cell, its price changes the outcome as much as the limit does."""
    price = prepared.spending.priced.get(model)
    if price is None or prepared.spending.cell_usd is None:
        return {}
    return {"dollars": digest_of([prepared.spending.cell_usd, price.model_dump()])}


def _questions_digest(scenario: Scenario) -> str:
    """Of what the agent is asked and allowed: a changed rubric or title asks for no new run."""
    asked = scenario.model_dump(mode="json", include={"repository", "budget"})
    return digest_of({**asked, "prompts": [step.prompt for step in scenario.steps]})
