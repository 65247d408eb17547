"""A run in shards: machines that do not talk each run a share of its blocks; merged, it is one run.

Each machine makes the whole plan, to the same digest, and takes the blocks that fall to it. What
each has measured lies in a folder of its own, and merging moves no evidence: results and
transcripts are copied as they were written, and held against the plan as those of any run.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from runner.agents.spending import Spending
from runner.records import Plan, Shard
from runner.records.run_store import LoadedRun, RunStore
from runner.runs.plan import blocks_of, difference_of
from runner.support.errors import FairtrialError

_PART = ".merging"
"""In the run's folder: what is being copied. Beside the attempts it would be taken for one."""


def spending_of(spending: Spending, plan: Plan, shard: Shard) -> Spending:
    """What the shard may spend of the run's caps: by its share of the blocks."""
    ours, whole = len(blocks_of(plan, shard)), len(blocks_of(plan))
    usd, tokens = spending.run_usd, spending.run_tokens
    return replace(
        spending,
        run_usd=None if usd is None else usd * ours / whole,
        run_tokens=None if tokens is None else tokens * ours // whole,
    )


def of_shard(run: LoadedRun, shard: Shard) -> LoadedRun:
    """The run with the cells alone that fall to it."""
    ours = {block.key for block in blocks_of(run.plan, shard)}
    return replace(run, cells=tuple(item for item in run.cells if item.cell.block in ours))


def api_jobs_of(api_jobs: int | None, shard: Shard | None) -> int | None:
    """Requests at a time of one shard. Raises FairtrialError for fewer than there are shards."""
    if api_jobs is None or shard is None:
        return api_jobs
    if api_jobs < shard.of:
        raise FairtrialError(
            f"{api_jobs} requests at a time cannot be shared by {shard.of} shards",
            where=f"--api-jobs {api_jobs}",
            hint=f"--api-jobs {shard.of} is one for each",
        )
    return api_jobs // shard.of


def folder_name(run: str, shard: Shard) -> str:
    """Of a shard's folder: those of one run may lie side by side."""
    return f"{run}.{shard.number}-of-{shard.of}"


# --- merging ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Merged:
    """What a run holds once shards were merged into it."""

    cells: int
    """That are planned."""
    measured: int
    arrived: int
    """Attempts that were not there before."""


def merge(shards: Sequence[RunStore], into: RunStore) -> Merged:
    """Copy every attempt, and what judges said, into one run. What is there already stays.

    Cut off, the same merge goes on. Raises FairtrialError, before anything is written, for shards
    of differing plans or harness, a run that is no shard, and a cell that two of them have run.
    """
    plans = [_sharded(store) for store in shards]
    if into.has_plan():
        shards, plans = [*shards, into], [*plans, _sharded(into)]
    for store, plan in zip(shards, plans, strict=True):
        _require_same(plans[0], plan, shards[0], store)
    sources = [store for store in shards if store.folder != into.folder]
    attempts = list(_attempts(sources, plans[0]))
    _require_run_once(attempts, into)
    into.write_plan(_merged_plan(plans))
    arrived = sum(_copy(path, into.cell_folder(cell) / path.name, into) for cell, path in attempts)
    for store in sources:
        for path in (*store.beside_plan(), *store.judged.glob("*.json")):
            _copy(path, into.folder / path.relative_to(store.folder), into)
    cells = into.load().cells
    measured = sum(cell.measured for cell in cells)
    return Merged(cells=len(cells), measured=measured, arrived=arrived)


def _sharded(store: RunStore) -> Plan:
    plan = store.plan()
    if plan.shards is None:
        hint = "`run --shard 1/2`, and so on, makes runs that can be merged"
        raise FairtrialError("this run is no shard", where=str(store.folder), hint=hint)
    return plan


def _require_same(first: Plan, plan: Plan, one: RunStore, other: RunStore) -> None:
    if first.digest == plan.digest:
        return
    raise FairtrialError(
        f"these are shards of different runs: {_what_differs(first, plan)}",
        where=f"{one.folder} and {other.folder}",
        hint=(
            "each machine has to be given the same command and the same checkout; if base_image "
            "differs, carry one machine's to the others: `docker save` there, `docker load` here"
        ),
    )


def _what_differs(first: Plan, plan: Plan) -> str:
    for field in ("run", "shards", "benchmark", "gate", "prices"):
        if getattr(first, field) != getattr(plan, field):
            return f"{field} {getattr(first, field)} there, {getattr(plan, field)} here"
    return difference_of(first, plan) or "the order of their blocks"


def _attempts(sources: Iterable[RunStore], plan: Plan) -> Iterator[tuple[str, Path]]:
    """Cell id and folder of each attempt, those that were cut off included: they were paid for."""
    for store in sources:
        for cell in plan.cells:
            for path in store.attempt_folders(cell.id):
                yield cell.id, path


def _require_run_once(attempts: Iterable[tuple[str, Path]], into: RunStore) -> None:
    """Raises FairtrialError where two folders hold other attempts at one cell.

    Which of two measurements counts must be nobody's choice.
    """
    run_by: dict[str, Path] = {}
    for cell_id, path in attempts:
        first = run_by.setdefault(cell_id, path.parent)
        there = into.cell_folder(cell_id) / path.name
        both = path.parent if first != path.parent else there if there.is_dir() else None
        if both is None or _same_attempt(path, first / path.name, there):
            continue
        raise FairtrialError(
            f"cell {cell_id} was run twice",
            where=f"{first} and {both}",
            hint="was a shard begun on two machines? leave one of its folders out",
        )


def _same_attempt(path: Path, *others: Path) -> bool:
    there = [other for other in others if other.is_dir()]
    return bool(there) and all(_content(path) == _content(other) for other in there)


def _content(attempt: Path) -> dict[str, bytes]:
    files = [path for path in attempt.rglob("*") if path.is_file()]
    return {path.relative_to(attempt).as_posix(): path.read_bytes() for path in files}


def _merged_plan(plans: Sequence[Plan]) -> Plan:
    """Ungated if one of them is; begun when the first was."""
    begun = min(plan.created_at for plan in plans)
    ungated = any(plan.ungated for plan in plans)
    return plans[0].model_copy(update={"created_at": begun, "ungated": ungated})


def _copy(path: Path, target: Path, into: RunStore) -> bool:
    """False if it is there already. Under another name until it is whole."""
    if target.exists():
        return False
    part = into.folder / _PART
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    whole = part / path.name
    if path.is_dir():
        shutil.copytree(path, whole)
    else:
        shutil.copy2(path, whole)
    target.parent.mkdir(parents=True, exist_ok=True)
    whole.rename(target)
    part.rmdir()
    return True
