"""A run's plan: made once, kept, and gone on with. And which of its cells are still to be run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from pydantic import TypeAdapter, ValidationError

from runner.errors import FairtrialError
from runner.records import DEFAULT_AGENT, Cell, GateStamp, Name, Plan, PriceList, digest_of
from runner.store import LoadedRun, RunStore

_NAME: TypeAdapter[str] = TypeAdapter(Name)


def check_name(name: str) -> None:
    """Raises FairtrialError unless a run can have that name, on every file system."""
    try:
        _NAME.validate_python(name)
    except ValidationError as error:
        raise FairtrialError(
            "no run can be called that",
            where=f"--run {name}",
            hint="up to 64 of a-z, 0-9, `.`, `_` and `-`, a letter or digit first",
        ) from error


def load_or_create_plan(
    store: RunStore,
    wanted: Sequence[Cell],
    *,
    ungated: bool,
    prices: PriceList | None = None,
    gate: GateStamp | None = None,
) -> LoadedRun:
    """The run as it stands, with the plan on disk or, if there is none, one of `wanted`.

    `gate`: what is open in front of a new one. Raises FairtrialError if the plan on disk is of
    other cells.
    """
    if not wanted:
        raise FairtrialError(
            "nothing to measure: every pair of scenario and server is left out",
            hint="name another server or scenario, or add a canary to the server.yaml",
        )
    if not store.has_plan():
        now = datetime.now(UTC).isoformat(timespec="seconds")
        plan = Plan(
            run=store.folder.name,
            created_at=now,
            ungated=ungated,
            cells=tuple(wanted),
            prices=prices,
            gate=gate,
        )
        store.write_plan(plan)
    plan = store.plan()
    if ungated and not plan.ungated:
        # Or a run begun behind the gate and gone on without it would look gated as a whole.
        plan = plan.model_copy(update={"ungated": True})
        store.write_plan(plan)
    if plan.cells != tuple(wanted):
        difference = _first_difference(plan.cells, wanted)
        raise FairtrialError(
            f"this run was planned with different inputs: {difference}",
            where=str(store.folder),
            hint=(
                "its finished cells stay as they are; "
                f"the same command with `--run {_free_name(store)}` starts a new run"
            ),
        )
    return store.load()


def _free_name(store: RunStore) -> str:
    """The run's name with the first number that no run beside it has."""
    stem = store.folder.name[:58]
    number = 2
    while (store.folder.parent / f"{stem}-{number}").exists():
        number += 1
    return f"{stem}-{number}"


def _first_difference(planned: Sequence[Cell], wanted: Sequence[Cell]) -> str:
    for old, new in zip(planned, wanted, strict=False):
        if _asked_for(old) != _asked_for(new):
            break
        changed = _changed_inputs(old, new)
        if changed:
            return f"{', '.join(changed)} changed since ({old.scenario} × {old.server})"
    return f"{len(planned)} cells then, {len(wanted)} now"


def _asked_for(cell: Cell) -> tuple[str, str, str, int]:
    return cell.scenario, cell.server, cell.model, cell.trial


def _changed_inputs(old: Cell, new: Cell) -> list[str]:
    names = sorted({*old.inputs, *new.inputs})
    return [name for name in names if old.inputs.get(name) != new.inputs.get(name)]


def unfinished(run: LoadedRun) -> tuple[Cell, ...]:
    """Cells that no attempt has measured: never run, cut off, or broken by a fault of ours."""
    return tuple(item.cell for item in run.cells if not item.measured)


def default_name(
    scenarios: Sequence[str],
    servers: Sequence[str],
    models: Sequence[str],
    trials: int,
    agent: str,
) -> str:
    """The same command gives the same name, so that saying it again resumes a killed run."""
    asked: list[object] = [sorted(scenarios), sorted(servers), sorted(models), trials]
    if agent != DEFAULT_AGENT:
        asked.append(agent)
    digest = digest_of(asked)
    if len(scenarios) == 1:
        subject = scenarios[0]
    else:
        subject = f"{len(scenarios)}-scenarios"
    # A scenario's own name may be as long as a run's.
    return f"{subject[:55]}-{digest[:8]}"
