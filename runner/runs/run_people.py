"""What people graded of a run, beside its judge: the error that each arm alone meets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from runner.catalog.catalog import SHELL
from runner.records import ArmError, Cell, SheetGrades
from runner.records.run_store import LoadedCell, LoadedRun
from runner.runs.audit import Audit
from runner.runs.run_sheet import item_key, run_sheet
from runner.scoring import grading
from runner.scoring.arm_errors import Graded, arm_error
from runner.scoring.grading import item_id
from runner.scoring.statistics import mean

PEOPLE_OF_RUN = "people"
_Differences = tuple[float | None, float]
"""A pair's, as people see it and as the judge does."""


def arm_errors(audit: Audit, run: LoadedRun) -> tuple[ArmError, ...]:
    """Of each server's arm that people graded beside the shell; empty without their grades.

    Raises FairtrialError for a file that is not what was taken of this run's sheet.
    """
    every = list(_taken(audit))
    people = [grades for grades in every if grades.kind == "person"]
    if not people:
        return ()
    graded = [_read(item, people) for item in run.cells]
    return tuple(_errors([item for item in graded if item], len(people)))


def _taken(audit: Audit) -> Iterator[SheetGrades]:
    folder = audit.store.folder / PEOPLE_OF_RUN
    seeds = {grading.parse_grades(path).seed for path in sorted(folder.glob("*.json"))}
    for seed in sorted(seeds):
        yield from grading.taken(folder, run_sheet(audit, seed))


@dataclass(frozen=True, kw_only=True)
class _ReadCell:
    cell: Cell
    judged: float
    given: float | None
    """By people; None unless each step has a grade."""


def _read(item: LoadedCell, people: Sequence[SheetGrades]) -> _ReadCell | None:
    """None of a cell without a verdict."""
    verdict = item.scorecard.fairness.verdict if item.scorecard else None
    if verdict is None:
        return None
    steps = [_of_step(item_key(item.cell, step.name), people) for step in verdict.steps]
    known = [step for step in steps if step is not None]
    given = mean(known) if known and len(known) == len(steps) else None
    return _ReadCell(cell=item.cell, judged=verdict.quality, given=given)


def _of_step(key: str, people: Sequence[SheetGrades]) -> float | None:
    tenths = [grades.grades.get(item_id(key, grades.seed)) for grades in people]
    known = [it / 10 for it in tenths if it is not None]
    return mean(known) if known else None


def _errors(cells: Sequence[_ReadCell], people: int) -> Iterator[ArmError]:
    arms = {(it.cell.server, it.cell.model) for it in cells if it.cell.server != SHELL}
    for server, model in sorted(arms):
        questions: dict[str, list[_Differences]] = {}
        for one, shell in _pairs(cells, server, model):
            given = None
            if one.given is not None and shell.given is not None:
                given = one.given - shell.given
            rows = questions.setdefault(one.cell.scenario, [])
            rows.append((given, one.judged - shell.judged))
        graded = list(_graded(questions.values()))
        if len(graded) > 1:
            others = list(_ungraded(questions.values()))
            yield arm_error(f"{server} × {model}", graded, others, people)


def _ungraded(questions: Iterable[Sequence[_Differences]]) -> Iterator[float]:
    for rows in questions:
        if all(given is None for given, _ in rows):
            yield mean([judged for _, judged in rows])


def _graded(questions: Iterable[Sequence[_Differences]]) -> Iterator[Graded]:
    for rows in questions:
        known = [(both, seen) for both, seen in rows if both is not None]
        if known:
            yield mean([both for both, _ in known]), mean([seen for _, seen in known])


def _pairs(
    cells: Sequence[_ReadCell], server: str, model: str
) -> Iterator[tuple[_ReadCell, _ReadCell]]:
    """Each of an arm's cells with the shell's of its block."""
    shells = {it.cell.block: it for it in cells if it.cell.server == SHELL}
    for it in cells:
        own = it.cell
        if (own.server, own.model) == (server, model) and own.block in shells:
            yield it, shells[own.block]
