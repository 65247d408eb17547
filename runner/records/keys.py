"""Places that an answer has to point at, and the key of a question that asks for places alone."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from runner.records.record import Record


class MustCite(Record):
    """A location the answer has to point at: recall's denominator."""

    path: str
    line: Annotated[int, Field(ge=1)]
    end: Annotated[int, Field(ge=1)] | None = None
    """Last line, when any line of a range will do."""
    symbol: str | None = None
    """Defined within ±5 of the lines; `fairtrial check` proves it at the commit."""

    @field_validator("path")
    @classmethod
    def _relative(cls, path: str) -> str:
        if path.startswith("/") or ".." in PurePosixPath(path).parts:
            raise ValueError("paths are relative to the repository")
        return path


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


class KnownName(Record):
    """A name of a repository and the file that defines it: a health probe may ask for it."""

    symbol: str
    path: str
    language: str
    """Of that file."""
