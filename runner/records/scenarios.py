"""scenario.yaml and rubric.yaml."""

from __future__ import annotations

from itertools import chain
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from runner.records.keys import ExactKey, ExactKind, KnownName, MustCite
from runner.records.record import Name, Record, UnitInterval, unless_none
from runner.records.repositories import Source


class Check(Record):
    """One keyword check, on the answer only (docs/scores.md)."""

    kind: Literal["word", "phrase", "contains", "exact", "starts_with", "min_files"]
    value: str | int
    """Text to find; for `min_files` a whole number of distinct files cited."""
    required: bool = True
    """A bonus check (false) weighs half."""

    @model_validator(mode="after")
    def _value_fits_kind(self) -> Self:
        if (self.kind == "min_files") != isinstance(self.value, int):
            raise ValueError("min_files takes a whole number, every other kind takes text")
        if self.value in ("", 0):
            raise ValueError("an empty value would match every answer")
        return self


class Step(Record):
    """One user turn."""

    name: str
    prompt: str
    checks: tuple[Check, ...] = ()
    must_cite: tuple[MustCite, ...] = ()


class Budget(Record):
    """Ceilings of one cell, all steps together.

    Efficiency is measured against tokens and wall_sec; all four end a cell.
    """

    tokens: Annotated[int, Field(ge=1)]
    """New ones: each of the conversation once."""
    wall_sec: Annotated[int, Field(ge=1)]
    """The agent's own seconds."""
    actions: Annotated[int, Field(ge=1)]
    """Tool calls."""
    usd: Annotated[float, Field(gt=0)] | None = None
    """Spend, if the model has a price."""


class Environment(Record):
    """What the repository's own tests need beside it, under /opt/environment of every cell.

    Its packages are locked in the scenario's folder `environment/`: requirements.txt, or
    package.json and package-lock.json.
    """

    tests: str
    """A shell command at the repository's root that runs its tests. `fairtrial check` runs it in a
    cell, as the agent would."""
    files: dict[str, str] = Field(default_factory=dict)
    """Path under /opt/environment -> text, such as a .pth that puts the repository on Python's
    path."""


class Scenario(Record):
    """scenario.yaml"""

    id: Name
    title: str
    description: str
    repository: Source
    language: str
    slant: str
    """Which kind of server this scenario favours, said by its author."""
    unreviewed: str = ""
    """Where it was imported from and what it lacks. Such a one may have no facts, no must_cite and
    no reference; its quality is not scored, and nothing proves it."""
    budget: Budget
    steps: Annotated[tuple[Step, ...], Field(min_length=1)]
    known: KnownName | None = unless_none()
    """For servers that have no health probe for this repository, and one for any."""
    environment: Environment | None = unless_none()
    asks: ExactKind | None = unless_none()
    """Of a question with a key."""
    grep_f1: UnitInterval | None = unless_none()
    """What the offline model got for it with the shell alone."""


class Fact(Record):
    """One thing a right answer says, checkable without a model.

    Met if a single passage of the answer (a sentence, list item or table row) matches one pattern
    of every group in `terms` and, if `cites` is given, cites one of those locations (±5 lines).
    What falls short of that earns less: runner/scoring/judges/checklist/checklist.py.
    """

    says: str
    """The fact in plain words; printed as the judge's reason."""
    terms: Annotated[
        tuple[Annotated[tuple[str, ...], Field(min_length=1)], ...], Field(min_length=1)
    ]
    """Groups of alternatives: any one of each group, whole words, case-insensitive.

    `*` after a letter stands for any ending.
    """
    cites: tuple[MustCite, ...] = ()
    also: Annotated[tuple[MustCite, ...], Field(exclude_if=lambda it: not it)] = ()
    """Where it stands as well: another test that holds it, another caller.

    As right as `cites`, but asked of nobody, and not among the lines that a model judge is shown.
    """
    never: tuple[str, ...] = ()
    """Wordings of the opposite.

    A sentence that holds one, and a pattern of the first group, takes the fact's credit away.
    """
    weight: Annotated[float, Field(gt=0)] = 1.0

    @property
    def places(self) -> tuple[MustCite, ...]:
        """Any of them shows the fact."""
        return (*self.cites, *self.also)

    @model_validator(mode="after")
    def _also_beside_cites(self) -> Self:
        if self.also and not self.cites:
            raise ValueError("also: a fact without cites asks for no place")
        return self

    @model_validator(mode="after")
    def _terms_say_something(self) -> Self:
        for term in chain(*self.terms, self.never):
            if not term.strip(" \t\n*`"):
                raise ValueError(f"the term {term!r} would match every answer")
        return self


class Criterion(Record):
    weight: UnitInterval
    question: str
    """What a judge that is a model is asked."""
    facts: tuple[Fact, ...]
    """What the `checklist` judge checks; none in a scenario that nobody has reviewed."""


class RubricStep(Record):
    name: str
    """Equals the scenario's step name."""
    criteria: dict[str, Criterion] = Field(default_factory=dict)
    key: ExactKey | None = unless_none()
    """All of a right answer, in the place of criteria."""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Of every criterion, in order."""
        return tuple(chain.from_iterable(made.facts for made in self.criteria.values()))

    @model_validator(mode="after")
    def _weights_sum_to_one(self) -> Self:
        if self.key is not None:
            if self.criteria:
                raise ValueError(f"step {self.name!r} has a key: it needs no criteria")
            return self
        total = sum(c.weight for c in self.criteria.values())
        if abs(total - 1) > 1e-9:
            raise ValueError(f"criterion weights of step {self.name!r} sum to {total:g}, not 1")
        return self


class Rubric(Record):
    """rubric.yaml"""

    audience: str
    steps: Annotated[tuple[RubricStep, ...], Field(min_length=1)]

    @property
    def is_keyed(self) -> bool:
        """Every step has a key: no judge has to be asked."""
        return all(step.key is not None for step in self.steps)


ContrastAspect = Literal["roles", "order", "condition", "negation", "quantity", "cause", "place"]
"""What was made false: who does what to whom, before and after, "only if" and "unless", a "not",
a number, a reason, or where it stands."""


class ContrastPair(Record):
    """A step's reference answer, and the same with one fact made false.

    A judge that reads gives the first more. `right` stands exactly once in the step's answer
    (reference/N.md), and `wrong` takes its place.
    """

    step: str
    """Equals the scenario's step name."""
    kind: ContrastAspect
    right: Annotated[str, Field(min_length=1)]
    wrong: Annotated[str, Field(min_length=1)]
    why: Annotated[str, Field(min_length=1)]
    """path:line at the commit, and what holds there."""
    facts: tuple[Annotated[str, Field(min_length=1)], ...] | None = None
    """`says` of each of the step's facts that `right` states. Empty if none asks for what is
    turned: a reader of facts cannot see it, and no judge is asked. None if nobody has looked."""

    @property
    def is_asked(self) -> bool:
        return self.facts is None or len(self.facts) > 0

    @model_validator(mode="after")
    def _says_something_else(self) -> Self:
        # No judge could win such a pair, and each would lower the share of those won.
        if self.right.split() == self.wrong.split():
            raise ValueError("`wrong` says the same as `right`")
        return self


class ContrastPairs(Record):
    """turned.yaml, written by hand; optional."""

    pairs: Annotated[tuple[ContrastPair, ...], Field(min_length=1)]
