"""Scores, verdicts and scorecards."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from runner.records.citations import Citation, GroundingSummary
from runner.records.record import Count, Record, Sha256, UnitInterval
from runner.records.transcript import Effort


class Scored(Record):
    kind: Literal["scored"] = "scored"
    value: UnitInterval
    detail: str = ""


class Unscored(Record):
    kind: Literal["unscored"] = "unscored"
    reason: str


Score = Annotated[Scored | Unscored, Field(discriminator="kind")]


class CriterionVerdict(Record):
    score: UnitInterval
    reason: str


class StepVerdict(Record):
    name: str
    quality: UnitInterval
    """Σ weight × score."""
    criteria: dict[str, CriterionVerdict]


FactStatus = Literal["stated", "partial", "absent", "contradicted"]
Placing = Literal["right", "wrong_line", "wrong_file", "none"]
"""What the answer cites for a fact. `none`: no place, or the fact asks for none."""
Credit = Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)]


class FactVerdict(Record):
    """What an answer says of one fact of the rubric."""

    step: str
    criterion: str
    says: str
    """The fact, as the rubric has it."""
    verdict: FactStatus
    quote: str = ""
    """Of the answer: where it says or contradicts the fact; empty if it is absent."""
    place: Placing = "none"
    credit: Credit
    """Of one: what it earned of its weight, or took."""
    reason: str = ""
    """Why it earned no more; empty if it earned all."""


class FalseClaim(Record):
    """Something an answer says that the source it was judged by contradicts."""

    step: str
    criterion: str
    """That it is charged to."""
    quote: str
    """Of the answer."""
    path: str
    line: Annotated[int, Field(ge=1)]
    """Of the source that contradicts it."""
    credit: Credit


class Rating(Record):
    """One of several readings that a verdict is made of: a judge of a panel, or a duplicate."""

    judge: str
    duplicate: Annotated[int, Field(ge=1)]
    quality: UnitInterval
    steps: tuple[StepVerdict, ...]


class Judging(Record):
    """How answers are judged: runs/<run>/judge.json keeps it for the next report."""

    judges: Annotated[tuple[str, ...], Field(min_length=1)] = ("checklist",)
    """Names as `--judge` takes them; several make a panel. What follows is for models alone."""
    weights: dict[str, Sha256] = Field(default_factory=dict)
    """File name -> SHA256, of judges that are local weights: a report has no need of the files."""
    form: Literal["tool", "schema"] = "tool"
    """`tool`: a forced call with a strict schema. `schema`: a reply held to it, for models whose
    native calls fail."""
    batch: Annotated[int, Field(ge=1)] = 8
    """Facts of one request, at most."""
    seed: Count = 0
    """Of the order in which facts are asked about."""
    duplicates: Annotated[int, Field(ge=1)] = 2
    """Readings of each answer: a verdict is their mean, and their spread the judge's noise."""
    endpoints: dict[str, Sha256] = Field(default_factory=dict)
    """Model -> digest of the address at which it was asked, so that a report without that address
    knows the judge again. Empty: as it is reached now."""


class Verdict(Record):
    """What a judge says of one answer. `quality` is the mean of the steps."""

    judge: str
    identity: Sha256
    """The judge's code or prompt version, model and parameters."""
    inputs: Sha256
    """Rubric, prompts, answer and must-find set."""
    quality: UnitInterval
    steps: tuple[StepVerdict, ...]
    facts: tuple[FactVerdict, ...] = ()
    """In the rubric's order; empty if the judge does not say."""
    false_claims: tuple[FalseClaim, ...] = ()
    ratings: tuple[Rating, ...] = ()
    """What it was made of; empty if it is one reading of one judge."""


class Fairness(Record):
    """Was the answer better? `score` is the weighted sum of `parts` (docs/scores.md)."""

    score: Score
    parts: dict[str, Score]
    """By their names in `runner.scoring.FAIRNESS`, which holds their weights."""
    must_cite_recall: Score
    """The share of must_cite places that were cited; a component of the grounding part."""
    grounding: GroundingSummary
    citations: tuple[Citation, ...] = ()
    """As verified, in the answer's order: a report names those that failed, with reasons."""
    verdict: Verdict | None
    effort: Effort


class Adoption(Record):
    """Was the server used well? `shell` has no server: its scores are unscored, shown as a dash."""

    score: Score
    parts: dict[str, Score]
    """By their names in `runner.scoring.ADOPTION`, which holds their weights."""
    server_calls: Count
    server_errors: Count
    shell_calls: Count
    shell_searches: Count


class Scorecard(Record):
    """cells/<id>/scorecard.json. Side by side; there is deliberately no total."""

    cell_id: str
    fairness: Fairness
    adoption: Adoption
