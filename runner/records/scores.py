"""Scores, verdicts and scorecards."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from runner.records.base import Count, Record, Sha256, Unit
from runner.records.citations import Citation, GroundingSummary
from runner.records.transcript import Effort


class Scored(Record):
    kind: Literal["scored"] = "scored"
    value: Unit
    detail: str = ""


class Unscored(Record):
    kind: Literal["unscored"] = "unscored"
    reason: str


Score = Annotated[Scored | Unscored, Field(discriminator="kind")]


class CriterionVerdict(Record):
    score: Unit
    reason: str


class StepVerdict(Record):
    name: str
    quality: Unit
    """Σ weight × score."""
    criteria: dict[str, CriterionVerdict]


class Verdict(Record):
    """What a judge says of one answer. `quality` is the mean of the steps."""

    judge: str
    identity: Sha256
    """The judge's code or prompt version, model and parameters."""
    inputs: Sha256
    """Rubric, prompts, answer and must-find set."""
    quality: Unit
    steps: tuple[StepVerdict, ...]


class Fairness(Record):
    """Was the answer better? 0.10·keyword_coverage + 0.55·llm_quality + 0.15·citation_grounding + 0.20·efficiency (seed 002, step 3)."""

    score: Score
    keyword_coverage: Score
    llm_quality: Score
    citation_grounding: Score
    efficiency: Score
    must_cite_recall: Score
    """Which must_cite places were cited. With the grounding rate (precision) it makes citation_grounding, as their harmonic mean."""
    grounding: GroundingSummary
    citations: tuple[Citation, ...] = ()
    """The answer's citations as verified, in its order: a report names the ones that failed, with reasons."""
    verdict: Verdict | None
    effort: Effort


class Adoption(Record):
    """Was the server used well? 0.60·tool_fluency + 0.40·discoverability. For `shell` structurally 0 and shown as a dash."""

    score: Score
    tool_fluency: Score
    discoverability: Score
    server_calls: Count
    server_errors: Count
    shell_calls: Count
    shell_searches: Count


class Scorecard(Record):
    """cells/<id>/scorecard.json. Side by side; there is deliberately no total."""

    cell_id: str
    fairness: Fairness
    adoption: Adoption
