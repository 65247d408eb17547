"""scenarios/agentbench/<category>.yaml: queries, and how each reference answer came about.

A draft has calls without results, until `fairtrial agentbench record` has filled them in. What one
call gives, a later one is fed by `{{name}}`, as a text by `{{name|text}}` where it looks like a
number (an identifier, a binary figure), and as a JSON value by `{{name|json}}` (a list).
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, field_validator, model_validator

from runner.records.record import Name, Record

Category = Literal[
    "single-server-single-call",
    "single-server-parallel-call",
    "single-server-sequential-call",
    "multi-server-single-call",
    "multi-server-parallel-call",
    "multi-server-sequential-call",
]
"""Server scope and call dependency (the paper's section 2.1.2)."""
CATEGORIES: tuple[Category, ...] = get_args(Category)
GIVEN = re.compile(r"\{\{([a-z][a-z0-9_]*)(?:\|(text|json))?\}\}")
"""`{{mass}}` in an argument: what an earlier call of the trajectory gave under that name."""
Dependency = Literal["single", "parallel", "sequential"]
ServerScope = Literal["single-server", "multi-server"]


class ReferenceCall(Record):
    """One call of the trajectory that the reference answer comes from."""

    server: Name
    tool: Annotated[str, Field(min_length=1)]
    arguments: dict[str, Any] = Field(default_factory=dict)
    """A text that is `{{name}}` alone stands for the number or text given; `{{name|text}}` for the
    text even of a number, `{{name|json}}` for a JSON value. Inside a longer text it is replaced."""
    gives: dict[str, str] = Field(default_factory=dict)
    """Name -> regular expression with one group, found in the result: what later calls are fed."""
    after: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """Earlier calls, the first being 1, that changed what this one sees: a file or row written."""
    result: str = ""
    """As it was recorded: the whole text that the tool answered. Empty in a draft."""

    @field_validator("gives")
    @classmethod
    def _one_group(cls, gives: dict[str, str]) -> dict[str, str]:
        for name, pattern in gives.items():
            try:
                groups = re.compile(pattern).groups
            except re.error as error:
                raise ValueError(f"{name}: {pattern!r} is no regular expression") from error
            if groups != 1:
                raise ValueError(f"{name}: {pattern!r} has {groups} groups, and needs one")
            if not GIVEN.fullmatch(f"{{{{{name}}}}}"):
                raise ValueError(f"{name!r} is no name: lower-case letters, digits and _")
        return gives


class DeadEnd(Record):
    """A call that somebody would reasonably make first, and from which they have to turn back.

    The file is not where the user says, the row is closed, the name is spelt otherwise, or the tool
    refuses what it is asked.
    """

    server: Name
    """One of the query's: another may not be offered."""
    tool: Annotated[str, Field(min_length=1)]
    arguments: dict[str, Any] = Field(default_factory=dict)
    """As a `ReferenceCall`'s: it may be fed by what the trajectory gives."""
    result: str = ""
    """As it was recorded, be it an answer or an error. Empty in a draft."""


class ReferenceValue(Record):
    """One thing that a right answer says: what makes it right."""

    text: Annotated[str, Field(min_length=1)]
    """As the reference answer writes it: `12.34 kg`, `2031-05-04`, `aspirin`."""
    call: Annotated[int, Field(ge=1)]
    """The call, the first being 1, whose result it is from."""
    shown: Annotated[str, Field(min_length=1)] | None = None
    """As that result writes it, if it differs: `12.3400001`."""
    tolerance: Annotated[float, Field(ge=0)] | None = None
    """Of a number, absolute. None: half of the last digit that `text` shows."""


class Query(Record):
    """What one user asks, in one message."""

    id: Name
    category: Category
    query: Annotated[str, Field(min_length=1)]
    """In character, with all that is needed in it; it names no tool."""
    servers: Annotated[tuple[Name, ...], Field(min_length=1)]
    """Those that the trajectory calls; others are drawn beside them (docs/agentbench.md)."""
    reference_answer: Annotated[str, Field(min_length=1)]
    values: Annotated[tuple[ReferenceValue, ...], Field(min_length=1)]
    calls: Annotated[tuple[ReferenceCall, ...], Field(min_length=1)]
    """The reference trajectory, in order."""
    dead_ends: tuple[DeadEnd, ...] = ()
    """Ways that look right and lead to no value; the trajectory takes none of them."""
    provenance: Annotated[str, Field(min_length=1)]
    """Who wrote it and who has read it; a generated one names its model."""
    unreviewed: bool = False
    """Generated, and read by nobody yet: no suite takes it."""

    @property
    def scope(self) -> ServerScope:
        return "single-server" if self.category.startswith("single-server") else "multi-server"

    @property
    def dependency(self) -> Dependency:
        if "-parallel-" in self.category:
            return "parallel"
        return "sequential" if "-sequential-" in self.category else "single"

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        called = {call.server for call in self.calls}
        if called != set(self.servers):
            raise ValueError(f"servers are {sorted(self.servers)}, the calls' are {sorted(called)}")
        if stray := [value.text for value in self.values if value.call > len(self.calls)]:
            raise ValueError(f"there are {len(self.calls)} calls: of none is {stray[0]!r}")
        return self


class Queries(Record):
    """One file of queries."""

    queries: tuple[Query, ...]
