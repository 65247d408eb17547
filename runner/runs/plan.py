"""A run's plan: made once, kept, and gone on with. And which of its cells are still to be run.

All that could be turned by a look at results is fixed in it: cells, trials, the order of each block
and what passes. There is no rule that stops a run when its figures please: tested at each look,
two equal arms are found different far more often than once in twenty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import TypeAdapter, ValidationError

from runner.records import (
    DEFAULT_AGENT,
    Block,
    BlockKey,
    Cell,
    GateStamp,
    HostFacts,
    Name,
    Placement,
    Plan,
    PriceList,
    Shard,
    Study,
    digest_of,
)
from runner.records.run_store import LoadedRun, RunStore
from runner.support.errors import FairtrialError

_NAME: TypeAdapter[str] = TypeAdapter(Name)
PASS_AT = 0.5
"""Half of what fairness can be. A proven scenario's reference earns 0.72 of it at least before
efficiency, and silence nothing."""
MARGIN = 0.05
"""A difference in fairness that is worth a server's tokens to few."""


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """What a command asks a run to be."""

    cells: Sequence[Cell]
    ungated: bool
    prices: PriceList | None = None
    seed: int | None = None
    """None: as the run has it, or by its name if it is new."""
    pass_at: float | None = None
    """None: as the run has it, or PASS_AT if it is new."""
    margin: float | None = None
    """None: as the run has it, or MARGIN if it is new."""
    benchmark: str | None = None
    """A name in BENCHMARKS; None for scenarios."""
    gate: GateStamp | None = None
    """What is open in front of a new one; a run that is there keeps its own."""
    shard: Shard | None = None
    """The share of it that is run here; None for the whole."""
    run: str = ""
    """Its name; empty for its folder's."""


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


def load_or_create_plan(store: RunStore, wanted: RunSpec) -> LoadedRun:
    """The run as it stands, with the plan on disk or, if there is none, a new one.

    Raises FairtrialError if the plan on disk is another than what is wanted.
    """
    if not wanted.cells:
        raise FairtrialError(
            "nothing to measure: every pair of scenario and server is left out",
            hint="name another server or scenario, or add a health probe to the server.yaml",
        )
    if not store.has_plan():
        store.write_plan(_new_plan(wanted.run or store.folder.name, wanted))
    plan = store.plan()
    if wanted.ungated and not plan.ungated:
        # Or a run begun behind the gate and gone on without it would look gated as a whole.
        plan = plan.model_copy(update={"ungated": True})
        store.write_plan(plan)
    difference = _difference(plan, wanted)
    if difference:
        raise FairtrialError(
            f"this run was planned with different inputs: {difference}",
            where=str(store.folder),
            hint=(
                "its finished cells stay as they are; "
                f"the same command with `--run {_free_name(store)}` starts a new run"
            ),
        )
    return store.load()


def _new_plan(name: str, wanted: RunSpec) -> Plan:
    seed = seed_of(name) if wanted.seed is None else wanted.seed
    return Plan(
        run=name,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        ungated=wanted.ungated,
        cells=tuple(wanted.cells),
        prices=wanted.prices,
        gate=wanted.gate,
        shards=wanted.shard.of if wanted.shard else None,
        benchmark=wanted.benchmark,
        study=Study(
            seed=seed,
            pass_at=PASS_AT if wanted.pass_at is None else wanted.pass_at,
            blocks=draw_blocks(wanted.cells, seed),
            margin=MARGIN if wanted.margin is None else wanted.margin,
        ),
    )


def difference_of(plan: Plan, other: Plan) -> str:
    """What two plans have otherwise in their cells or study; empty if nothing."""
    wanted = RunSpec(
        cells=other.cells,
        ungated=True,
        seed=other.study.seed if other.study else None,
        pass_at=pass_at_of(other),
        margin=margin_of(other),
    )
    return _difference(plan, wanted)


def _difference(plan: Plan, wanted: RunSpec) -> str:
    """What a plan has otherwise than it is wanted; empty if nothing."""
    if plan.cells != tuple(wanted.cells):
        return _first_difference(plan.cells, wanted.cells)
    if wanted.shard is not None and wanted.shard.of != plan.shards:
        return f"{plan.shards or 1} shards then, {wanted.shard.of} now"
    asked = {"seed": wanted.seed, "pass_at": wanted.pass_at, "margin": wanted.margin}
    for name, value in asked.items():
        planned = getattr(plan.study, name, None)
        if value is not None and value != planned:
            return f"--{name.replace('_', '-')} {planned} then, {value} now"
    return ""


# --- blocks ---------------------------------------------------------------------------------


def seed_of(name: str) -> int:
    """The seed of a run that is given none: the same command draws the same orders again."""
    return int(digest_of(name)[:8], 16)


def draw_blocks(cells: Sequence[Cell], seed: int) -> tuple[Block, ...]:
    """The cells' blocks in the cells' order, each with an order of its arms.

    Were the shell always first, whatever changes while a block goes on (a cache that warms up, a
    provider's load) would pass for the servers' doing. Of as many blocks of a model as there are
    arms, each arm comes first in one: the order is drawn for the first of them, and turned by one
    for each further. By digests: every Python draws the same.
    """
    servers = list(dict.fromkeys(cell.server for cell in cells))
    seen: Counter[str] = Counter()
    blocks = []
    for key, own in _servers_by_block(cells).items():
        _, model, _ = key
        turns, turn = divmod(seen[model], len(servers))
        drawn = _shuffled(servers, [seed, model, turns])
        turned = drawn[turn:] + drawn[:turn]
        blocks.append(_block(key, [server for server in turned if server in own]))
        seen[model] += 1
    return tuple(blocks)


def _shuffled(servers: Sequence[str], by: Sequence[object]) -> list[str]:
    return sorted(servers, key=lambda server: digest_of([*by, server]))


def pass_at_of(plan: Plan) -> float:
    return PASS_AT if plan.study is None else plan.study.pass_at


def margin_of(plan: Plan) -> float | None:
    """None of an earlier version's plan: declared now, it could be chosen by the results."""
    return None if plan.study is None else plan.study.margin


def blocks_of(plan: Plan, shard: Shard | None = None) -> tuple[Block, ...]:
    """As they were drawn; of an earlier version's plan, as its cells stand. Of a shard: its own."""
    if plan.study is not None:
        blocks = plan.study.blocks
    else:
        by_block = _servers_by_block(plan.cells)
        blocks = tuple(_block(key, servers) for key, servers in by_block.items())
    if shard is None:
        return blocks
    dealt = _dealt(plan, shard)
    return tuple(block for block in blocks if block.key in dealt)


def _dealt(plan: Plan, shard: Shard) -> frozenset[BlockKey]:
    """The keys of the blocks that fall to a shard, by what their cells are.

    Dealt out in the order of their digests: shares differ by one block at most, and trials of one
    scenario or model are spread over them.
    """
    contents: dict[BlockKey, list[str]] = {}
    for cell in plan.cells:
        contents.setdefault(cell.block, []).append(cell.id)
    dealt = sorted(contents, key=lambda key: digest_of(sorted(contents[key])))
    return frozenset(dealt[shard.number - 1 :: shard.of])


def _servers_by_block(cells: Sequence[Cell]) -> dict[BlockKey, list[str]]:
    servers: dict[BlockKey, list[str]] = {}
    for cell in cells:
        servers.setdefault(cell.block, []).append(cell.server)
    return servers


def _block(key: BlockKey, order: Sequence[str]) -> Block:
    scenario, model, trial = key
    return Block(scenario=scenario, model=model, trial=trial, order=tuple(order))


def placement(
    plan: Plan, cell: Cell, *, taken_up_at: str, machine: str, host: HostFacts | None = None
) -> Placement | None:
    """None for a plan of an earlier version."""
    if plan.study is None:
        return None
    block = plan.study.by_key[cell.block]
    return Placement(
        place=block.order.index(cell.server) + 1,
        of=len(block.order),
        seed=plan.study.seed,
        taken_up_at=taken_up_at,
        machine=machine,
        host=host,
    )


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


def unfinished(run: LoadedRun) -> tuple[tuple[Cell, ...], ...]:
    """Cells that no attempt has measured: never run, cut off, or broken by a fault of ours.

    Block by block, each in its order; a block without such cells is left out.
    """
    to_do = {(it.cell.block, it.cell.server): it.cell for it in run.cells if not it.measured}
    blocks = []
    for block in blocks_of(run.plan):
        in_order = [to_do.get((block.key, server)) for server in block.order]
        blocks.append(tuple(filter(None, in_order)))
    return tuple(filter(None, blocks))


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
