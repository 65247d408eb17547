"""A grading sheet of anchors, for people: steps of the short form, which a judge has read too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runner.catalog.catalog import load_catalog
from runner.gate import chain, own_judges, verdicts
from runner.gate.calibration_data import Anchor, load_anchors
from runner.gate.short_form import short_anchors
from runner.protocols import Judge, OpenLineSource
from runner.records import GradingSheet
from runner.scoring import grading
from runner.scoring.grading import SheetEntry, item_id, sheet_of

ANCHORS_SHEET = "anchors"
PEOPLE = "locks/people"


def anchors_to_grade(root: Path, sources: OpenLineSource | None = None) -> list[Anchor]:
    return short_anchors(load_anchors(load_catalog(root), chain.gold_weights(root), sources))


def anchor_sheet(anchors: Sequence[Anchor], seed: int) -> GradingSheet:
    entries = []
    for anchor in anchors:
        for step, answer in zip(anchor.rubric.steps, anchor.answer, strict=True):
            if answer.text.strip():
                key = f"{anchor.name}, {step.name}"
                entries.append(SheetEntry(key=key, step=step, answer=answer))
    return sheet_of(ANCHORS_SHEET, seed, entries)


def judged_items(
    root: Path, project: Path | None, judge: Judge, anchors: Sequence[Anchor], seed: int
) -> dict[str, float]:
    """Item -> the step's quality, as the lock has it; nothing of a judge that no lock holds."""
    lock, kept, _ = own_judges.laid_over(root, project, chain.read_chain(root)[-1], judge)
    entry = lock.judges.get(judge.name)
    if entry is None:
        return {}
    found = verdicts.verdicts_of(kept, judge, anchors, entry.verdicts)
    figures = {}
    for anchor, verdict in zip(anchors, found, strict=True):
        for step in verdict.steps:
            figures[item_id(f"{anchor.name}, {step.name}", seed)] = step.quality
    return figures


def people_of(root: Path, folder: Path) -> int:
    """How many people have graded the anchors as they are, by files that are as they were taken."""
    if not any(folder.glob("*.json")):
        return 0
    anchors = anchors_to_grade(root)
    people = set[str]()
    for path in folder.glob("*.json"):
        grades = grading.parse_grades(path)
        sheet = anchor_sheet(anchors, grades.seed)
        if not grading.problem_of(grades, sheet) and grades.kind == "person":
            people.add(grades.grader)
    return len(people)
