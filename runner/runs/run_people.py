"""What people graded of a run, beside its judge: the error that each arm alone meets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from runner.catalog.catalog import SHELL
from runner.records import ArmError, Cell, SheetGrades
from runner.records.run_store import LoadedRun
from runner.runs.audit import Audit
from runner.runs.run_sheet import item_key, run_sheet
from runner.scoring import grading
from runner.scoring.arm_errors import Graded, arm_error
from runner.scoring.grading import item_id

PEOPLE_OF_RUN = "people"
BlockName = tuple[str, str, int]


def arm_errors(audit: Audit, run: LoadedRun) -> tuple[ArmError, ...]:
    """Of each server's arm that people graded beside the shell; empty without their grades.

    Raises FairtrialError for a file that is not what was taken of this run's sheet.
    """
    every = list(_taken(audit))
    people = [grades for grades in every if grades.kind == "person"]
    if not people:
        return ()
    judged = _qualities(run)
    given = {cell: _given(cell, run, people) for cell in (item.cell for item in run.cells)}
    return tuple(_errors(judged, given, len(people)))


def _taken(audit: Audit) -> Iterator[SheetGrades]:
    folder = audit.store.folder / PEOPLE_OF_RUN
    seeds = {grading.parse_grades(path).seed for path in sorted(folder.glob("*.json"))}
    for seed in sorted(seeds):
        yield from grading.taken(folder, run_sheet(audit, seed))


def _qualities(run: LoadedRun) -> dict[Cell, float]:
    found = {}
    for item in run.cells:
        if item.scorecard and item.scorecard.fairness.verdict:
            found[item.cell] = item.scorecard.fairness.verdict.quality
    return found


def _given(cell: Cell, run: LoadedRun, people: Sequence[SheetGrades]) -> float | None:
    """The mean of people's grades of a cell's steps; None unless each step has one."""
    [item] = [it for it in run.cells if it.cell == cell]
    verdict = item.scorecard.fairness.verdict if item.scorecard else None
    if verdict is None:
        return None
    steps = []
    for step in verdict.steps:
        key = item_key(cell, step.name)
        tenths = [one.grades.get(item_id(key, one.seed)) for one in people]
        known = [it / 10 for it in tenths if it is not None]
        if not known:
            return None
        steps.append(sum(known) / len(known))
    return sum(steps) / len(steps)


def _errors(
    judged: Mapping[Cell, float], given: Mapping[Cell, float | None], people: int
) -> Iterator[ArmError]:
    for label in sorted({(cell.server, cell.model) for cell in judged if cell.server != SHELL}):
        pairs = list(_pairs(judged, label))
        by_question: dict[str, list[tuple[float | None, float]]] = {}
        for server, shell in pairs:
            one, other = given.get(server), given.get(shell)
            seen = judged[server] - judged[shell]
            both = None if one is None or other is None else one - other
            by_question.setdefault(server.scenario, []).append((both, seen))
        graded = list(_graded(by_question.values()))
        others = [
            _mean([seen for _, seen in rows])
            for rows in by_question.values()
            if all(both is None for both, _ in rows)
        ]
        if len(graded) > 1:
            yield arm_error(f"{label[0]} × {label[1]}", graded, others, people)


def _graded(questions: Iterable[Sequence[tuple[float | None, float]]]) -> Iterator[Graded]:
    for rows in questions:
        known = [(both, seen) for both, seen in rows if both is not None]
        if known:
            yield _mean([both for both, _ in known]), _mean([seen for _, seen in known])


def _pairs(judged: Mapping[Cell, float], label: tuple[str, str]) -> Iterator[tuple[Cell, Cell]]:
    shells = {_block(cell): cell for cell in judged if cell.server == SHELL}
    for cell in judged:
        if (cell.server, cell.model) == label and _block(cell) in shells:
            yield cell, shells[_block(cell)]


def _block(cell: Cell) -> BlockName:
    return cell.scenario, cell.model, cell.trial


def _mean(figures: Sequence[float]) -> float:
    return sum(figures) / len(figures)
