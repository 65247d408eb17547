"""`scenarios`: one scenario, one arm, one model, one trial is a cell. Our own benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from runner.agents import system_prompt
from runner.agents.models import open_model
from runner.benchmarks.scenarios.scenario_cell import run_scenario_cell
from runner.benchmarks.without_scorecard import spending_input
from runner.catalog.catalog import can_be_measured, questions_digest
from runner.protocols import Judge
from runner.records import (
    Cell,
    CellResult,
    Fingerprint,
    Outcome,
    Scorecard,
    digest_of,
)
from runner.records.transcript_files import iter_transcript
from runner.runs.run_inputs import PreparedRun
from runner.sandbox.container import confinement
from runner.scoring import rules_digest, score_cell

if TYPE_CHECKING:
    from runner.catalog.checkout import Checkout
    from runner.runs.attempt import Attempt


class ScenarioBenchmark:
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
        """The pairs of scenario and server that are not planned, each in words."""
        lines = []
        for scenario, server in product(prepared.scenarios, prepared.arms):
            if not _can_be_measured(prepared, scenario, server):
                lines.append(
                    f"{server} has no health probe for the repository of {scenario}; "
                    "add one to its server.yaml to measure it there"
                )
            elif not _is_planned(prepared, scenario, server):
                lines.append(f"{server} on {scenario}: no server is measured beside it")
        return tuple(lines)

    async def run(self, attempt: Attempt) -> Outcome:
        """A container, the arm's server in it, and the agent's conversation."""
        return await run_scenario_cell(attempt)

    def differing(
        self, cell: Cell, result: CellResult, checkout: Checkout
    ) -> dict[str, tuple[str, str]]:
        """runs.benchmark.Benchmark."""
        found = _fingerprinted(cell, result.fingerprint)
        loaded = checkout.catalog.scenarios.get(cell.scenario)
        if loaded is None:
            return {**found, "cell.scenario": (cell.scenario, "not in the catalog")}
        asked = cell.inputs.get("scenario", "")
        found["cell.inputs.scenario"] = (asked, questions_digest(loaded.scenario))
        commit = cell.inputs.get("commit", "")
        found["cell.inputs.commit"] = (commit, checkout.repository(loaded).commit)
        return found

    def basis(self, cell: Cell, checkout: Checkout) -> str:
        """runs.benchmark.Benchmark."""
        loaded = checkout.scenario(cell.scenario)
        commit = checkout.repository(loaded).commit
        asked = [loaded.scenario.model_dump(mode="json"), loaded.rubric.model_dump(mode="json")]
        return digest_of([cell.id, cell.server, commit, *asked, rules_digest()])

    def score(
        self, cell: Cell, transcript: Path, checkout: Checkout, *, judge: Judge, cache_dir: Path
    ) -> Scorecard:
        """runs.benchmark.Benchmark."""
        loaded = checkout.scenario(cell.scenario)
        return score_cell(
            iter_transcript(transcript),
            loaded.scenario,
            loaded.rubric,
            cell_id=cell.id,
            server=cell.server,
            files=checkout.files(loaded),
            judge=judge,
            cache_dir=cache_dir,
        )


_INPUTS = {
    "harness": "harness",
    "base_image": "base_image",
    "commit": "commit",
    "limits": "limits",
    "model_identity": "model",
    "server_spec": "server",
}
"""Field of a fingerprint -> the input of its cell that says the same."""


def _fingerprinted(cell: Cell, fingerprint: Fingerprint | None) -> dict[str, tuple[str, str]]:
    if fingerprint is None:
        return {}
    found = {"fingerprint.server": (fingerprint.server, cell.server)}
    for field, name in _INPUTS.items():
        value = getattr(fingerprint, field)
        found[f"fingerprint.{field}"] = (value, cell.inputs.get(name, ""))
    moved = str(fingerprint.moved_lines or "")
    found["fingerprint.moved_lines"] = (moved, cell.inputs.get("moved_lines", ""))
    return found


def _is_planned(prepared: PreparedRun, scenario: str, server: str) -> bool:
    """False too for a shell that would stand alone, though servers were asked for."""
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
    moved = {"moved_lines": str(arm.moved_lines)} if arm.moved_lines else {}
    return {
        "scenario": questions_digest(ground.scenario),
        "system_prompt": digest_of(system_prompt(prepared.agent)),
        "server": arm.digest,
        "base_image": ground.base_image,
        "commit": ground.pin.commit,
        "limits": digest_of(prepared.limits),
        "confinement": digest_of(confinement(prepared.limits)),
        "model": model_identity,
        "harness": prepared.harness,
        "agent": prepared.agent,
        **moved,
    } | spending_input(prepared, model)
