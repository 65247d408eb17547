"""`scenarios`: one scenario, one arm, one model, one trial is a cell. Our own benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from runner.agents.models import kind_and_argument, open_model
from runner.agents.packaged import PACKAGED
from runner.agents.packaged.packaged_agent import program_settings
from runner.benchmarks.scenarios.scenario_cell import run_scenario_cell, told
from runner.benchmarks.scenarios.scenario_evidence import ScenarioEvidence
from runner.benchmarks.without_scorecard import spending_input
from runner.catalog.catalog import can_be_measured, questions_digest
from runner.records import Cell, Outcome, digest_of
from runner.runs.attempt import Attempt
from runner.runs.run_inputs import PreparedRun
from runner.sandbox.container import confinement
from runner.support.text import some_of


class ScenarioBenchmark(ScenarioEvidence):
    """runs.benchmark.Benchmark."""

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
            if not _is_planned(prepared, scenario, server):
                continue
            inputs = _inputs(prepared, scenario, server, model, identities[model])
            cell = Cell(scenario=scenario, server=server, model=model, trial=trial, inputs=inputs)
            cells.append(cell)
        return tuple(cells)

    def left_out(self, prepared: PreparedRun) -> tuple[str, ...]:
        """Of each arm, the scenarios that are not planned, and why: a line each."""
        lines = []
        for server in prepared.arms:
            unproven = [
                it for it in prepared.scenarios if not _can_be_measured(prepared, it, server)
            ]
            alone = [
                it
                for it in prepared.scenarios
                if it not in unproven and not _is_planned(prepared, it, server)
            ]
            if unproven:
                lines.append(
                    f"{server} has no health probe for the repositories of {some_of(unproven)}; "
                    "add one to its server.yaml to measure it there"
                )
            if alone:
                lines.append(f"{server} on {some_of(alone)}: no server is measured beside it")
        return tuple(lines)

    async def run(self, attempt: Attempt) -> Outcome:
        """A container, the arm's server in it, and the agent's conversation."""
        return await run_scenario_cell(attempt)


def _is_planned(prepared: PreparedRun, scenario: str, server: str) -> bool:
    """False too for a shell that would stand alone, though servers were asked for.

    And for an arm without tools: beside nobody it says nothing.
    """
    others = [name for name, arm in prepared.arms.items() if arm.spec is not None]
    if prepared.arms[server].spec is None and others:
        # It would be compared with nobody, and its cell would be paid for.
        return any(_can_be_measured(prepared, scenario, other) for other in others)
    return _can_be_measured(prepared, scenario, server)


def _can_be_measured(prepared: PreparedRun, scenario: str, server: str) -> bool:
    return can_be_measured(prepared.arms[server].spec, prepared.scenarios[scenario].scenario)


def _inputs(
    prepared: PreparedRun, scenario: str, server: str, model: str, model_identity: str
) -> dict[str, str]:
    """Everything that could change what happens in the cell, by name."""
    ground = prepared.scenarios[scenario]
    arm = prepared.arms[server]
    environment = {"environment": ground.environment} if ground.environment else {}
    moved = {"moved_lines": str(arm.moved_lines)} if arm.moved_lines else {}
    program = {}
    if prepared.program is not None:
        settings = program_settings(
            PACKAGED[prepared.agent],
            kind_and_argument(model)[1],
            reads_repository=prepared.program.reads_repository,
        )
        program = {"program": digest_of([prepared.program.content, settings])}
    return {
        "scenario": questions_digest(ground.scenario),
        "system_prompt": digest_of(told(prepared)),
        "server": arm.digest,
        "base_image": ground.base_image,
        "commit": ground.pin.commit,
        "limits": digest_of(prepared.limits),
        "confinement": digest_of(confinement(prepared.limits)),
        "model": model_identity,
        "harness": prepared.harness,
        "agent": prepared.agent,
        **environment,
        **moved,
        **program,
    } | spending_input(prepared, model)
