"""questions.yaml: questions about one repository whose whole answer is a set of places."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from runner.records.record import Name, Record, UnitInterval
from runner.records.repositories import Source
from runner.records.scenarios import Budget, MustCite

ExactKind = Literal[
    "callers",
    "test_callers",
    "overriders",
    "uses",
    "signature_edits",
    "which_definition",
    "public_names",
    "path_to_sink",
    "past_fix",
]
"""Who calls it; which tests do; who overrides or implements it; where a constant, setting or field
is used; what a new parameter changes; which of several definitions a call reaches; where a private
thing is re-exported; every hop from an entry to a sink; what else a past fix changed."""


class ExactKey(Record):
    """All of a right answer. A key without places says that there is none."""

    kind: ExactKind
    places: tuple[MustCite, ...] = ()
    """What has to be cited, each once; `symbol` is what stands there, in the answer's words."""
    optional: tuple[MustCite, ...] = ()
    """Counts neither for nor against: the definition itself, comments, generated twins, strings."""
    wrong: tuple[MustCite, ...] = ()
    """Near misses, each certainly wrong: the same name elsewhere."""

    @model_validator(mode="after")
    def _each_place_once(self) -> Self:
        known = [(it.path, it.line) for it in (*self.places, *self.optional, *self.wrong)]
        if len(set(known)) < len(known):
            raise ValueError("a place stands in the key twice")
        return self


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
