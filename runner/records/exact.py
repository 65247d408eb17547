"""questions.yaml: questions about one repository whose whole answer is a set of places."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from runner.records.keys import ExactKey, ExactKind
from runner.records.record import Name, Record, UnitInterval
from runner.records.repositories import Source
from runner.records.scenarios import Budget

__all__ = ["ANSWER_FORM", "ExactKey", "ExactKind", "ExactQuestion", "ExactQuestions"]

ANSWER_FORM = """\
Cite each of these places once, as path:line from the top of the repository, and no other place.
End with one line, FOUND: and how many there are. If there is none, cite no place and end with
FOUND: 0"""
"""Stands under every question's prompt, in every arm: words before it are free, in any language."""


class ExactQuestion(Record):
    """One question: a scenario of one step, with its key in the place of a rubric."""

    name: Name
    """The scenario's id is `<folder>.<name>`."""
    prompt: Annotated[str, Field(min_length=1)]
    key: ExactKey
    drawn: bool = False
    """Drawn by the seed from all that fit, and not for a spread of kinds."""
    held_back: bool = False
    """In no example of the documentation."""
    grep_f1: UnitInterval | None = None
    """What the offline model gets with the shell alone; None where it was not measured."""
    confirmed_by: tuple[str, ...] = ()
    """Programs that know the language and found the same places: `pyright 1.1.400`."""


class ExactQuestions(Record):
    """scenarios/exact/<repository>/questions.yaml"""

    title: str
    repository: Source
    licence: str
    language: str
    seed: int
    """Of the draw."""
    budget: Budget
    """Of each question's cell."""
    questions: Annotated[tuple[ExactQuestion, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _each_name_once(self) -> Self:
        names = [it.name for it in self.questions]
        if len(set(names)) < len(names):
            raise ValueError("two questions have one name")
        return self
