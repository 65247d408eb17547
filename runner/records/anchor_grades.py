"""Hand grades, the lock of the anchors, and what the gate says."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from runner.records.record import Count, Name, Record, Sha256, UnitInterval
from runner.records.scores import FactStatus, Judging

BY_MANIFEST = "what ships here is as the wheel's own MANIFEST has it; git's past is not beside it"
"""`history` in an installed package, whose files were compared."""


class GoldCriterion(Record):
    score: UnitInterval
    reason: str
    """A sentence: what in the answer earned or lost it. Empty if the grader gave none."""


class GoldStep(Record):
    name: str
    """Equals the scenario's step name."""
    criteria: dict[str, GoldCriterion]


class GoldTranscript(Record):
    """One frozen transcript, graded by hand."""

    transcript: str
    """File name under transcripts/."""
    graded_by: str
    graded_at: str
    """Date, ISO 8601."""
    how: str = ""
    """By what means, what the grader knew, and where the figures come from. Empty in grades of
    generations that did not ask: they have to stay readable, as their digests are locked."""
    steps: tuple[GoldStep, ...]


class GoldScores(Record):
    """scenarios/held-out/<id>/gold_scores.json: written before any judge ran.

    The gold of a transcript that has both gradings is their mean, criterion by criterion.
    """

    scenario: Name
    transcripts: tuple[GoldTranscript, ...]
    """The first grading of every transcript."""
    second: tuple[GoldTranscript, ...] = ()
    """By somebody who did not see the first."""


Standing = Literal["ranks", "screens"]
"""A judge that met every requirement may rank arms. The figures of one that did not are printed for
screening, and rank nobody."""


class JudgeLock(Record):
    """What one judge made of the anchors when the generation was accepted."""

    identity: Sha256
    """Its code or prompt version, model and parameters."""
    rho: Annotated[float, Field(ge=-1, le=1)]
    """Spearman, transcript level."""
    scores: dict[str, UnitInterval]
    """<scenario>/<transcript> -> what the judge gave it."""
    verdicts: dict[Sha256, Sha256]
    """Name under locks/verdicts/ -> digest of the file as accepted: none may be edited by hand."""
    standing: Standing | None = None
    """None if it was accepted before judges were examined: it screens."""
    examination: Sha256 | None = None
    """Digest of its file under locks/examinations/."""
    short: Literal[True] | None = None
    """It was examined on a part of the anchors and pairs (gate/short_form.py)."""
    judging: Judging | None = None
    """How it was asked, so that whoever verifies it need not say so; None of a judge that is
    code."""

    @model_serializer(mode="wrap")
    def _without_what_is_not_there(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Generations written before these fields were there have to keep their bytes.
        data: dict[str, Any] = handler(self)
        return {key: value for key, value in data.items() if value is not None}


class Chain(Record):
    """Generations that share one set of hand grades."""

    started: Annotated[int, Field(ge=1)]
    """The generation that brought the grades."""
    date: str
    reason: str


class AnchorsLock(Record):
    """locks/anchors.lock, canonical JSON; a copy stays as locks/anchors/<generation>.lock."""

    schema_version: Literal[1] = 1
    generation: Annotated[int, Field(ge=1)]
    kind: Literal["first", "accept", "regrade"]
    date: str
    """UTC, ISO 8601."""
    reason: Annotated[str, Field(min_length=1)]
    previous: Sha256 | None
    """Digest of the generation before it; None for the first alone.

    A new chain holds it too, so that no history can be dropped.
    """
    chain: Chain
    files: dict[str, Sha256]
    """Every file of every scenario: path from the checkout's top -> digest of its LF bytes."""
    scoring: dict[str, float | str]
    """Weights of both scores, and the version of what checks mean."""
    gold_weights: dict[str, dict[str, dict[str, UnitInterval]]]
    """Scenario -> step -> criterion -> weight when the grades came in.

    A rubric's later weights must not move the gold.
    """
    judges: dict[str, JudgeLock]

    @model_validator(mode="after")
    def _chain_holds_together(self) -> Self:
        is_oldest = self.generation == 1
        if (self.kind == "first") != is_oldest or (self.previous is None) != is_oldest:
            raise ValueError("generation 1, and it alone, is the first and has none before it")
        starts_a_chain = self.kind in ("first", "regrade")
        started_here = self.chain.started == self.generation
        if starts_a_chain != started_here or self.chain.started > self.generation:
            raise ValueError(
                "a chain starts with the first generation or a regrade, "
                "and an accepted one belongs to an earlier start"
            )
        return self


class OwnJudge(Record):
    """A judge that a project had examined."""

    date: str
    """UTC, ISO 8601."""
    reason: Annotated[str, Field(min_length=1)]
    generation: Annotated[int, Field(ge=1)]
    lock: Sha256
    """Digest of that generation of what ships: under another the entry says nothing."""
    judge: JudgeLock


class OwnJudges(Record):
    """A project's locks/judges.lock, canonical JSON."""

    schema_version: Literal[1] = 1
    judges: dict[str, OwnJudge]


class Correlation(Record):
    """Spearman's rho between hand grades and judged scores; None with a reason if there is none."""

    rho: float | None
    low: float | None = None
    """95 % bootstrap interval over transcripts."""
    high: float | None = None
    n: Count
    ties_gold: Count
    """Items that share their value with another."""
    ties_judged: Count
    reason: str = ""


class Concordance(Record):
    """Of the pairs that lie apart by hand, the share that a judge orders alike; ties are half."""

    share: UnitInterval | None
    """None if no two lie apart."""
    low: float | None = None
    """95 % bootstrap interval over transcripts."""
    high: float | None = None
    pairs: Count


class AnchorScore(Record):
    """One frozen transcript."""

    transcript: str
    """<scenario>/<file name>"""
    gold: UnitInterval
    judged: UnitInterval


class Disagreement(Record):
    """Two transcripts that the judge ranks the other way round."""

    better: AnchorScore
    """By hand."""
    worse: AnchorScore


class Requirement(Record):
    """One thing asked of a judge, or of the gold, before it ranks anyone."""

    name: str
    figure: float | None
    """None if there is none, for the reason in `note`."""
    n: Count
    """What it is a figure of: pairs, or transcripts."""
    bound: float
    must: Literal["at least", "above"]
    passed: bool
    note: str = ""


class TrivialRater(Record):
    """What a rater that does not read reaches over the same anchors, as figures to be above."""

    name: str
    rho: float | None
    """None if it tells none of them apart."""
    concordance: UnitInterval | None
    rho_all: float | None
    """With the junk among them, where that says how easy junk is told."""


class Examination(Record):
    """What a judge was asked before it may rank anyone (docs/gate.md)."""

    standing: Standing
    requirements: tuple[Requirement, ...]
    trivial: tuple[TrivialRater, ...]
    rho: Correlation
    """Over the anchors that are no junk."""
    concordance: Concordance
    alpha: float | None
    """Krippendorff's, interval, between the two gradings of those; None if there is none."""

    @property
    def unmet(self) -> tuple[Requirement, ...]:
        return tuple(asked for asked in self.requirements if not asked.passed)


class KeptFact(Record):
    verdict: FactStatus
    quote: str
    credit: float


class KeptReading(Record):
    """What a judge that varies read in one step's answer: it cannot be asked again and be held to
    it."""

    facts: tuple[KeptFact, ...]
    """In the rubric's order."""
    false_claims: tuple[str, ...] = ()
    """Their quotes."""


class StoredExamination(Record):
    """locks/examinations/<judge>.json: what the judge gave each side of each pair, and the end."""

    judge: str
    identity: Sha256
    examination: Examination
    qualities: dict[str, UnitInterval]
    """Key of the question (anchors/pairs.py) -> the step's quality."""
    readings: dict[str, KeptReading] = Field(default_factory=dict, exclude_if=lambda it: not it)
    """The same keys -> what was read; empty of a judge that can be asked again."""


class GateVerdict(Record):
    """What `verify-anchors` found, once every hash held."""

    judge: str
    identity: Sha256
    generation: Count
    """0 if there is no lock yet."""
    transcripts: Correlation
    steps: Correlation
    scenarios: dict[str, Correlation]
    disagreements: tuple[Disagreement, ...]
    """The pairs that disagree most, at most three."""
    scores: tuple[AnchorScore, ...]
    refusal: str
    """Why the gate is closed; empty if it is open."""
    history: str = ""
    """What git could not vouch for; empty if the lock is committed and its past was read.

    BY_MANIFEST in an installed package."""
    examination: Examination
    short: bool = False
    """It was examined on a part of the anchors and pairs."""
    people: Count = 0
    """Who have graded anchors as they are."""
    readings: Count = 0
    """Answers to one step whose reading is kept with its quotes."""
    own: str = ""
    """When and why a project's own lock took the judge; empty if what ships holds it."""
    unlocked: tuple[str, ...] = ()
    """Scenarios outside held-out that no generation holds: no gated run can use them."""


class GateStamp(Record):
    """The gate that was open when a plan was made."""

    generation: Annotated[int, Field(ge=1)]
    lock: Sha256
    """Digest of that generation."""


class Since(Record):
    """What was accepted after a run was planned, and whether it moves the run's figures."""

    planned: GateStamp | None
    """None: the plan does not say."""
    rescored_under: Annotated[int, Field(ge=1)] | None
    """The newest generation that changed what the figures follow from; None if none did."""
    changed: tuple[str, ...]
    """Files, modules and judges that did, sorted."""
    accepted: tuple[str, ...]
    """Date, generation and reason of everything accepted since."""


class Gate(Record):
    """The gate that stood in front of a result, as its report shows it."""

    judge: str
    rho: float | None
    """None of a judge that reads keys, of which no anchor says anything."""
    low: float | None
    high: float | None
    transcripts: Count
    generation: Count
    lock: Sha256
    """Digest of the generation: two reports with one digest were judged alike."""
    reason: str
    chain_started: str
    """Date of the hand grades, and the reason that was given for them."""
    chain_reason: str
    regrades: tuple[str, ...]
    """Date and reason of each regrade there has ever been."""
    standing: Standing = "screens"
    unmet: tuple[str, ...] = ()
    """The requirements that keep the judge from ranking, each with its figure, bound and n."""
    history: str = ""
    """What git could not vouch for; empty if the lock is committed and its past was read.

    BY_MANIFEST in an installed package."""
    short: bool = Field(default=False, exclude_if=lambda it: not it)
    """The judge was examined on a part of the anchors and pairs."""
    own: str = Field(default="", exclude_if=lambda it: not it)
    """When and why a project's own lock took the judge; empty if what ships holds it."""
    people: Count = Field(default=0, exclude_if=lambda it: not it)
    """Who have graded anchors as they are."""

    @property
    def stamp(self) -> GateStamp:
        """What a plan that is made behind it keeps."""
        return GateStamp(generation=self.generation, lock=self.lock)
