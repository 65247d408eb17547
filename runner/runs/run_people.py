"""A run laid before people, and what their grades say of its judge: the error of each arm alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from runner.catalog.catalog import SHELL
from runner.records import ArmError, BlockKey, Cell, GradingSheet, SheetGrades, digest_of
from runner.records.run_store import LoadedCell, LoadedRun
from runner.records.transcript_files import iter_transcript, split
from runner.runs.audit import Audit
from runner.scoring import grading
from runner.scoring.arm_errors import Graded, arm_error
from runner.scoring.grading import MOST, SheetEntry, item_id, sheet_of
from runner.scoring.statistics import mean
from runner.support.errors import FairtrialError

PEOPLE_OF_RUN = "people"
_Differences = tuple[float | None, float]
"""A pair's, as people see it and as the judge does."""


# --- whole blocks, so that every arm's answers are graded alike ----------------------------------


def run_sheet(audit: Audit, seed: int) -> GradingSheet:
    """Of as many blocks, drawn by lot, as give no more than MOST answers to one step.

    Raises FairtrialError for a run without an answer that a rubric is for.
    """
    entries: list[SheetEntry] = []
    try:
        for cells in _by_lot(audit, seed):
            block = [entry for cell in cells for entry in _entries(audit, cell)]
            if entries and len(entries) + len(block) > MOST:
                break
            entries += block
    finally:
        audit.checkout.close_files()
    if not entries:
        raise FairtrialError("no cell has an answer to grade", where=audit.store.folder.name)
    return sheet_of(audit.store.folder.name, seed, entries)


def item_key(cell: Cell, step: str) -> str:
    return f"{cell.id}, {step}"


def _by_lot(audit: Audit, seed: int) -> Sequence[list[Cell]]:
    blocks: dict[BlockKey, list[Cell]] = {}
    for item in audit.evidence().cells:
        if item.believed and item.measured:
            blocks.setdefault(item.cell.block, []).append(item.cell)
    # Of a block with one arm left nothing could be compared.
    whole = {block: cells for block, cells in blocks.items() if len(cells) > 1}
    lots = sorted(whole, key=lambda block: digest_of(["blocks to grade", seed, *block]))
    return [whole[block] for block in lots]


def _entries(audit: Audit, cell: Cell) -> Iterator[SheetEntry]:
    loaded = audit.checkout.scenario(cell.scenario)
    counted = audit.store.counted_attempt(cell.id)
    if loaded.rubric.is_keyed or counted is None:
        return
    answer, _, _ = split(iter_transcript(counted.transcript), loaded.scenario)
    for step, text in zip(loaded.rubric.steps, answer.steps, strict=True):
        if step.facts:
            yield SheetEntry(key=item_key(cell, step.name), step=step, answer=text)


# --- what their grades say ------------------------------------------------------------------


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
