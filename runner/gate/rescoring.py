"""Is a run older than what it is scored by? What was accepted since it was planned, and what for.

A rubric can be fitted to answers that are there already, and accepted with every rule kept. So the
plan holds the generation it was made under, and a report says what came after it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from runner.catalog.catalog import CONTRAST_FILE
from runner.gate.chain import digest_of_lock
from runner.gate.changes import is_of
from runner.records import AnchorsLock, GateStamp, Plan, Since
from runner.support.tree_digest import file_changes


def stamp_of(lock: AnchorsLock) -> GateStamp:
    return GateStamp(generation=lock.generation, lock=digest_of_lock(lock))


def since(generations: Sequence[AnchorsLock], plan: Plan, judge: str) -> Since:
    """What was accepted after the plan was made. `generations`: every one, oldest first."""
    newest = generations[-1].generation
    if plan.gate is None:
        why = "its plan does not say under which generation it was made"
        return _since(plan, newest, [why], generations)
    later = generations[plan.gate.generation - 1 :]
    if not later or stamp_of(later[0]) != plan.gate:
        why = f"this chain's generation {plan.gate.generation} is not the one it was made under"
        return _since(plan, newest, [why], generations)
    scenarios = {cell.scenario for cell in plan.cells}
    rescored_under: int | None = None
    changed: set[str] = set()
    for before, after in pairwise(later):
        found = {*_changed(before, after, scenarios), *_changed_judge(later[0], after, judge)}
        if found:
            rescored_under = after.generation
            changed |= found
    return _since(plan, rescored_under, changed, later[1:])


def _since(
    plan: Plan, under: int | None, changed: Collection[str], accepted: Sequence[AnchorsLock]
) -> Since:
    return Since(
        planned=plan.gate,
        rescored_under=under,
        changed=tuple(sorted(changed)),
        accepted=tuple(
            f"{lock.date}, generation {lock.generation} ({lock.kind}): {lock.reason}"
            for lock in accepted
        ),
    )


def _changed(before: AnchorsLock, after: AnchorsLock, scenarios: Collection[str]) -> Iterator[str]:
    """What of a run's scenarios and of the scoring a generation changed."""
    for drift in file_changes(before.files, after.files):
        # Pairs for the gate: no answer of a run is held against them.
        if is_of(drift.where, scenarios) and not drift.where.endswith(f"/{CONTRAST_FILE}"):
            yield drift.where
    names = before.scoring.keys() | after.scoring.keys()
    if _by_files(before) != _by_files(after):
        # Nothing but the form of the code's digests: each weight has its name in both.
        names = before.scoring.keys() & after.scoring.keys()
    for name in names:
        if before.scoring.get(name) != after.scoring.get(name):
            yield f"scoring {name}"


def _by_files(lock: AnchorsLock) -> bool:
    """True up to the generation in which digests of definitions took the place of files'."""
    return any(name.startswith("runner.") for name in lock.scoring)


def _changed_judge(planned: AnchorsLock, after: AnchorsLock, judge: str) -> Iterator[str]:
    # Not from one generation to the next: a judge is left out until it has judged new rubrics.
    then, now = planned.judges.get(judge), after.judges.get(judge)
    if now is None:
        return
    if then is not None and _by_files(planned) != _by_files(after):
        # Its identity has another form as well: what it says of every anchor tells whether it is
        # the same.
        is_same = then.scores == now.scores
    else:
        is_same = then is not None and then.identity == now.identity
    if not is_same:
        yield f"judge {judge}"
