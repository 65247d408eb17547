"""scenarios × servers × models × trials -> cells, and which of them are still to be run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import product

from runner.agents.prompt import SYSTEM
from runner.errors import FairtrialError
from runner.models import open_model
from runner.prepared import PreparedRun
from runner.records import Cell, Plan, digest_of
from runner.store import LoadedRun, RunStore


def cells(prepared: PreparedRun, models: Sequence[str], trials: int) -> tuple[Cell, ...]:
    """Every cell, arms innermost: what drifts while a run goes on (a busy machine, a provider) meets all arms of a trial alike."""
    identities = {name: open_model(name).identity for name in models}
    wanted = product(range(1, trials + 1), prepared.grounds, models, prepared.arms)
    return tuple(
        Cell(
            scenario=scenario,
            server=server,
            model=model,
            trial=trial,
            inputs=_inputs(prepared, scenario, server, identities[model]),
        )
        for trial, scenario, model, server in wanted
        if has_canary(prepared, scenario, server)
    )


def has_canary(prepared: PreparedRun, scenario: str, server: str) -> bool:
    """A server that nothing can prove alive on a repository is not measured on it: its silence there would pass for its answer."""
    spec, label = prepared.arms[server].spec, prepared.grounds[scenario].scenario.repository.label
    return spec is None or any(canary.repository in (label, "*") for canary in spec.canaries)


def left_out(prepared: PreparedRun) -> tuple[str, ...]:
    """The pairs that are not planned, each in words."""
    pairs = product(prepared.grounds, prepared.arms)
    return tuple(
        f"{server} has no canary for the repository of {name}"
        for name, server in pairs
        if not has_canary(prepared, name, server)
    )


def _inputs(
    prepared: PreparedRun, scenario: str, server: str, model_identity: str
) -> dict[str, str]:
    ground, arm = prepared.grounds[scenario], prepared.arms[server]
    asked = ground.scenario.model_dump(mode="json", include={"repository", "budget"})
    return {
        "scenario": digest_of(
            {**asked, "prompts": [step.prompt for step in ground.scenario.steps]}
        ),
        "system_prompt": digest_of(SYSTEM),
        "server": arm.digest,
        "base_image": ground.base_image,
        "commit": ground.pin.commit,
        "limits": digest_of(prepared.limits),
        "model": model_identity,
        "harness": prepared.harness,
    }


def load_or_create_plan(store: RunStore, wanted: Sequence[Cell], *, ungated: bool) -> LoadedRun:
    """The run's plan: made now, or the one on disk where it asks for the same. Raises FairtrialError where it asks for something else."""
    if not (store.folder / "plan.json").is_file():
        now = datetime.now(UTC).isoformat(timespec="seconds")
        store.write_plan(
            Plan(run=store.folder.name, created_at=now, ungated=ungated, cells=tuple(wanted))
        )
    plan = store.plan()
    if ungated and not plan.ungated:
        # Or a run begun behind the gate and gone on without it would look gated as a whole.
        store.write_plan(plan := plan.model_copy(update={"ungated": True}))
    if plan.cells != tuple(wanted):
        raise FairtrialError(
            f"this run was planned otherwise: {_first_difference(plan.cells, wanted)}",
            where=str(store.folder),
            hint="its finished cells stay as they are; choose another name with --run for the new plan",
        )
    return store.load()


def _first_difference(planned: Sequence[Cell], wanted: Sequence[Cell]) -> str:
    for old, new in zip(planned, wanted, strict=False):
        if (old.scenario, old.server, old.model, old.trial) != (
            new.scenario,
            new.server,
            new.model,
            new.trial,
        ):
            break
        changed = [
            key
            for key in sorted({*old.inputs, *new.inputs})
            if old.inputs.get(key) != new.inputs.get(key)
        ]
        if changed:
            return f"{', '.join(changed)} changed since ({old.scenario} × {old.server})"
    return f"{len(planned)} cells then, {len(wanted)} now"


def unfinished(run: LoadedRun) -> tuple[Cell, ...]:
    """Cells that no attempt has measured yet: those never run, cut off, or broken by a fault of ours."""
    return tuple(item.cell for item in run.cells if not item.measured)


def default_name(
    scenarios: Sequence[str], servers: Sequence[str], models: Sequence[str], trials: int
) -> str:
    """The same command gives the same name: so a killed run is resumed by saying it again."""
    asked = digest_of([sorted(scenarios), sorted(servers), sorted(models), trials])[:8]
    return f"{scenarios[0] if len(scenarios) == 1 else f'{len(scenarios)}-scenarios'}-{asked}"
