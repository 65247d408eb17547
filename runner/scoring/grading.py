"""A grading sheet made, and the grades of one read back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.records import (
    AnswerStep,
    GradingSheet,
    RubricStep,
    SheetGrades,
    SheetItem,
    digest_of,
    parse_json,
    read_text,
)
from runner.records.run_store import write_whole
from runner.scoring import statistics
from runner.scoring.alternative_annotator import AlternativeAnnotator, alternative_annotator
from runner.support.errors import CatalogError, FairtrialError

LIMIT_BYTES = 1_000_000
FNV_OFFSETS = (0x811C9DC5, 0x050C5D1F)
FNV_PRIME = 0x01000193
FEWEST, MOST = 50, 100
"""Items: below, the alt-test has no power; above, nobody reads the last as the first."""


@dataclass(frozen=True, kw_only=True)
class SheetEntry:
    """A step's answer before its name is taken off."""

    key: str
    """What it is, for whoever reads the grades back: an anchor's or a cell's, and the step."""
    step: RubricStep
    answer: AnswerStep


def sheet_of(of: str, seed: int, entries: Sequence[SheetEntry]) -> GradingSheet:
    """In an order that follows from the seed alone."""
    items = sorted((_item(entry, seed) for entry in entries), key=lambda item: item.id)
    whole = [of, seed, [item.model_dump(mode="json") for item in items]]
    return GradingSheet(of=of, seed=seed, digest=digest_of(whole), items=tuple(items))


def _item(entry: SheetEntry, seed: int) -> SheetItem:
    facts = []
    for fact in entry.step.facts:
        places = ", ".join(f"{place.path}:{place.line}" for place in fact.cites)
        facts.append(f"{fact.says} ({places})" if places else fact.says)
    return SheetItem(
        id=item_id(entry.key, seed),
        question=entry.answer.prompt,
        criteria=tuple(criterion.question for criterion in entry.step.criteria.values()),
        facts=tuple(facts),
        answer=entry.answer.text,
    )


def item_id(key: str, seed: int) -> str:
    return digest_of(["grading sheet", seed, key])[:16]


# --- read back ------------------------------------------------------------------------------


def read_grades(path: Path, sheet: GradingSheet) -> SheetGrades:
    """Raises FairtrialError for a file that is partial, edited, or of another sheet."""
    grades = parse_grades(path)
    if problem := problem_of(grades, sheet):
        raise FairtrialError(problem, where=str(path), hint="nothing was taken")
    return grades


def parse_grades(path: Path) -> SheetGrades:
    """Of whatever sheet. Raises CatalogError for what no sheet saves."""
    try:
        text = read_text(path, where=str(path), limit_bytes=LIMIT_BYTES)
        return parse_json(text, SheetGrades, where=str(path))
    except CatalogError as error:
        raise CatalogError(list(error.problems), hint="FILE is what a sheet saves") from error


def problem_of(grades: SheetGrades, sheet: GradingSheet) -> str:
    """Why these are no grades of a sheet; empty if they are."""
    asked = {item.id for item in sheet.items}
    if grades.seal != seal_of(grades):
        return "it was edited after the sheet had saved it"
    if (grades.sheet, grades.of) != (sheet.digest, sheet.of) or grades.grades.keys() - asked:
        return f"it grades another sheet than this one of {sheet.of}"
    if missing := asked - grades.grades.keys():
        return f"{len(missing)} of {len(asked)} answers have no grade yet"
    return ""


def seal_of(grades: SheetGrades) -> str:
    """As the sheet's script makes it."""
    listed = ";".join(f"{item}={grades.grades[item]}" for item in sorted(grades.grades))
    said = "|".join([grades.sheet, grades.of, str(grades.seed), grades.grader, grades.kind, listed])
    return "".join(f"{_fnv(said.encode(), offset):08x}" for offset in FNV_OFFSETS)


def _fnv(data: bytes, offset: int) -> int:
    value = offset
    for byte in data:
        value = ((value ^ byte) * FNV_PRIME) & 0xFFFFFFFF
    return value


def taken(folder: Path, sheet: GradingSheet) -> list[SheetGrades]:
    """What was taken of this sheet before, by the grader's name.

    Raises FairtrialError for a file there that is no longer what was taken.
    """
    return [read_grades(path, sheet) for path in sorted(folder.glob(f"{sheet.digest[:12]}-*.json"))]


def take(folder: Path, sheet: GradingSheet, paths: Sequence[Path]) -> list[SheetGrades]:
    """Keep these files beside those taken before; all or none. Returns all there are then.

    Raises FairtrialError as `read_grades` does, and for a grader, or grades, that are there twice.
    """
    known = taken(folder, sheet)
    fresh: list[SheetGrades] = []
    for path in paths:
        grades = read_grades(path, sheet)
        for other in (*known, *fresh):
            _refuse_double(grades, other, path)
        fresh.append(grades)
    for grades in fresh:
        name = "-".join(grades.grader.lower().split())
        text = grades.model_dump_json(indent=1) + "\n"
        write_whole(folder / f"{sheet.digest[:12]}-{name}.json", text)
    return [*known, *fresh]


def _refuse_double(grades: SheetGrades, other: SheetGrades, path: Path) -> None:
    same = grades.grader.lower().split() == other.grader.lower().split()
    if same or grades.grades == other.grades:
        what = f"{other.grader} has graded already" if same else f"a copy of {other.grader}'s"
        raise FairtrialError(what, where=str(path), hint="each grader grades once, by himself")


# --- what they say of a judge -----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PeoplesView:
    """What people give, among themselves and beside a judge."""

    people: int
    models: int
    items: int
    alpha: float | None
    """Krippendorff's, interval, of people alone; None of fewer than two."""
    judge: str
    against: AlternativeAnnotator | None
    """None where there is nobody to leave out, or the judge has no figure of an item."""

    def lines(self) -> Iterator[str]:
        if not self.people:
            yield "no person has graded yet"
            return
        alpha = "none" if self.alpha is None else f"{self.alpha:.3f}"
        yield f"{self.people} people graded {self.items} answers; Krippendorff's alpha {alpha}"
        if self.models:
            yield f"{self.models} language models graded too, and count for nothing here"
        if self.against is None:
            yield f"alt-test of {self.judge}: none; it leaves out one of two people or more"
        else:
            yield f"alt-test of {self.judge}: {self.against.text()}"


def peoples_view(
    judge: str, judged: Mapping[str, float], every: Sequence[SheetGrades]
) -> PeoplesView:
    """`judged`: item -> what the judge gives it, from 0 to 1."""
    people = [grades for grades in every if grades.kind == "person"]
    items = sorted(people[0].grades) if people else []
    ratings = [[grades.grades[item] / 10 for item in items] for grades in people]
    against = None
    if len(people) > 1 and all(item in judged for item in items):
        against = alternative_annotator([judged[item] for item in items], ratings)
    return PeoplesView(
        people=len(people),
        models=len(every) - len(people),
        items=len(items),
        alpha=statistics.alpha(zip(*ratings, strict=True)) if len(people) > 1 else None,
        judge=judge,
        against=against,
    )
