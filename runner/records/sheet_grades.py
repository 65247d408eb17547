"""Answers laid before people without a name on them, and what they give them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from runner.records.record import Record, Sha256

FEWEST_GRADED = 6
"""Questions: over fewer an interval holds nearly everything."""
Tenths = Annotated[int, Field(ge=0, le=10)]


class SheetItem(Record):
    """One step's answer. Nothing in it says whose it is, or what others gave it."""

    id: str
    """Digest of the sheet's seed and what the item is."""
    question: str
    """What the agent was asked."""
    criteria: tuple[str, ...]
    facts: tuple[str, ...]
    """What a right answer says, with the places that prove it."""
    answer: str


class GradingSheet(Record):
    of: str
    """`anchors`, or a run's name."""
    seed: int
    """Of the order."""
    digest: Sha256
    """Of all that is asked: grades of another sheet are another's."""
    items: tuple[SheetItem, ...]


class ArmError(Record):
    """A judge's error that a server's answers meet and the shell's do not, and what is left.

    All of quality, server minus shell; intervals are of 95 %.
    """

    arm: str
    people: int
    graded: int
    """Questions with answers of both arms that people graded."""
    questions: int
    judged: float
    """The difference as the judge sees it, over all questions."""
    error: float
    """How much of it, over the graded ones, people do not see."""
    error_low: float
    error_high: float
    p: float
    """That an error as far from 0 is chance."""
    corrected: float
    low: float
    high: float

    @property
    def refuses(self) -> bool:
        """True if the judge's word ranks nobody: its error may be all of the difference."""
        holds_none = self.low <= 0.0 <= self.high
        return not self.is_thin and (abs(self.error) >= abs(self.judged) or holds_none)

    @property
    def is_thin(self) -> bool:
        return self.graded < FEWEST_GRADED


class SheetGrades(Record):
    """The file that a sheet saves."""

    sheet: Sha256
    of: str
    seed: int
    grader: Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[\w .-]+$")]
    kind: Literal["person", "model"]
    """What the grader says it is: a language model's grades are never counted as a person's."""
    grades: dict[str, Tenths]
    """Item -> tenths of full marks."""
    seal: str
    """FNV-1a of the rest: it finds a slip of an editor, and no forger."""
