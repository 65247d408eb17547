"""Answers laid before people without a name on them, and what they give them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from runner.records.record import Record, Sha256

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
