"""What a report holds, as `report.json` keeps it. Every renderer prints this and computes nothing.

Scores are rounded to 3 decimals, seconds to 2 and MB to 1 when the report is built, so that all
four forms print the same figures.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from runner.records import (
    ArmError,
    Citation,
    Contradiction,
    Count,
    ExactKind,
    Gate,
    OutcomeKind,
    PriceList,
    Record,
    Since,
    Standing,
    TokenBreakdown,
    is_candidate,
)
from runner.records.record import unless_none

Number = Annotated[float, Field(allow_inf_nan=False)]
Judgement = Literal[
    "baseline",
    "higher",
    "lower",
    "small_difference",
    "equivalent",
    "no_worse",
    "no_difference",
    "too_few",
    "not_ranked",
    "not_compared",
]
ClusterKind = Literal["repository", "question"]
"""What means and intervals are over: repositories, or groups of questions about one file."""


class Figure(Record):
    """A mean over clusters, each the mean of its scenarios; or the reason why there is none."""

    value: Number | None
    low: Number | None = None
    """95 % interval; None if there are too few clusters for one."""
    high: Number | None = None
    cells: Count
    """Cells in the mean."""
    planned: Count
    """Cells asked for: the denominator that survives."""
    reasons: tuple[str, ...] = ()
    """Why cells are missing from the mean, each with its count."""


class Tally(Record):
    """What became of an arm's cells: planned = measured + contradicted + broken + unfinished."""

    planned: Count
    measured: Count
    unpaired: Count = 0
    """Of the measured: without a counterpart in the other arm, and so in no figure."""
    contradicted: Count = 0
    """Measured, as a file says that contradicts another: in no figure."""
    broken: Count
    unfinished: Count
    attempts: Count
    """Every attempt begun, the broken and cut ones included."""
    outcomes: dict[OutcomeKind, Count]


class HalfFigures(Record):
    """Of one half of the scorecards: the weighted sum and its parts."""

    score: Figure
    parts: dict[str, Figure]
    """By name, in the order of `FAIRNESS` or `ADOPTION`."""


class FairnessFigures(HalfFigures):
    must_cite_recall: Figure
    """Beside the sum, not part of it."""


class Delta(Record):
    """An arm's fairness less the shell's (or another's), paired by scenario and trial."""

    judgement: Judgement
    says: str
    """The judgement in words, as every form prints it."""
    value: Number | None = None
    low: Number | None = None
    """Of the interval at `level`; None if there are too few clusters for one."""
    high: Number | None = None
    level: Number | None = None
    """At which Holm's procedure tests this comparison among the run's: .95 if it is alone."""
    p: Number | None = None
    """Two-sided, adjusted by Holm for all comparisons of the run."""
    could_miss: Number | None = None
    """Of no difference detected: how large a one the interval leaves open."""
    could_gain: Number | None = unless_none()
    """Of an arm that is no worse: the F1 that the other left it to gain, less than the margin."""
    clusters: Count = 0
    cluster: ClusterKind | None = None
    scenarios: Count = 0
    pairs: Count = 0
    """Trials that both arms have."""
    noise_floor: Number | None = None
    """What duplicates alone differ by, for means over as many pairs; None if none were repeated."""


class AdoptionFigures(HalfFigures):
    """Of a server's arm. `shell` has none: it has no server to adopt."""

    server_calls: Count
    server_errors: Count
    shell_calls: Count
    shell_searches: Count


class ShiftedParts(Record):
    """What an arm's answers would score with every line moved."""

    lines: Count
    """How far."""
    weighted_rate: Number | None
    headline_rate: Number | None


class GroundingParts(Record):
    """An arm's citations, pooled over its cells: the parts of every rate."""

    total: Count
    grounded: Count
    unresolved: Count
    hallucinated: Count
    exact: Count
    suffix: Count
    ambiguous: Count
    missing: Count
    other_commit: Count
    binding: Count
    with_symbol: Count
    definition_only: Count
    weak: Count
    """Grounded, and their lines hold next to nothing of what is said of them."""
    weighted_rate: Number | None
    """Each citation counts by what it says, of all cells; None if none says anything."""
    strict_rate: Number | None
    headline_rate: Number | None
    definition_rate: Number | None
    chance_rate: Number | None
    """Weighted by each answer's citations."""
    named_rate: Number | None
    """Citations that name a symbol / total."""
    shifted: tuple[ShiftedParts, ...]


class Costs(Record):
    """Per measured cell, on average; for memory, disk and the server's texts, the largest."""

    input_tokens: Count | None
    """Uncached."""
    output_tokens: Count | None
    cache_read_tokens: Count | None = None
    """Beside the uncached."""
    cache_write_tokens: Count | None = None
    """Of the uncached."""
    new_tokens: Count | None = None
    """Each token of the conversation once, whatever cache served it."""
    all_tokens: Count | None = None
    """Uncached, read from caches, and written by the model."""
    context_tokens: Count | None = None
    """The conversation's length at its end."""
    usd: Number | None = None
    """None if the model has no price."""
    lost_tokens: Count = 0
    """Over all attempts that do not count: uncached, and written by the model."""
    lost_usd: Number | None = None
    """None if the model has no price."""
    retries: Count = 0
    """Over all cells."""
    malformed: Count = 0
    """Turns that were neither calls nor an answer, over all cells."""
    phases: TokenBreakdown | None = None
    """Tokens by what they were of."""
    tokens_estimated: bool
    """True if any cell's model counts none: they are then taken as characters / 4."""
    tokens_vs_shell: Number | None
    """Ratio over the pairs that both arms have."""
    agent_sec: Number | None
    seconds_vs_shell: Number | None
    backoff_sec: Number | None
    queued_sec: Number | None = None
    """Of backoff_sec: waiting for our own other requests to the provider."""
    create_sec: Number | None
    initialize_sec: Number | None
    warm_up_sec: Number | None
    canary_sec: Number | None
    peak_memory_mb: Number | None
    state_mb: Number | None
    schema_chars: Count | None
    schema_tokens: Count | None
    """Estimated as characters / 4."""
    instructions_chars: Count | None


class Sampled(Record):
    """What a run's plan draws from, and so what its sentences can be about."""

    cluster: ClusterKind
    """What means are over."""
    repositories: Count
    questions: Count
    """Groups of scenarios that ask about the same files."""
    least: Count
    """Clusters that a comparison of the run needs."""
    comparisons: Count
    """Of servers with the shell, over all models."""


class ArmPair(Record):
    """Two servers against each other, over the trials that both have."""

    first: str
    """Its label, as in the arms."""
    second: str
    delta: Delta
    """`first` less `second`."""


class Variation(Record):
    """What an arm's differences from the shell vary by: standard deviations of one of them."""

    repository_sd: Number | None
    """None if there was one repository."""
    scenario_sd: Number | None
    """Of a repository's scenarios; None if each has one: then it is in the one above."""
    trial_sd: Number | None
    """Of a scenario's trials; None if nothing was repeated: then it is in the one above."""
    judge_sd: Number | None
    """Of the trials': what the judge's own readings vary by; None if nothing was read twice."""
    trial_share: Number | None
    """Of the variance of the mean difference: what ever more trials would take away."""


class PairedBaseline(Record):
    """The shell over the cells of one server's pairs, where its own row is of others as well.

    Printed right under that server's row.
    """

    label: str
    fairness: FairnessFigures
    costs: Costs


class PassChance(Record):
    """Of an arm: a mean over scenarios with k scored trials at least."""

    k: Count
    all_of_k: Number
    """pass^k: that k of k trials pass."""
    low: Number | None = None
    """95 % interval of pass^k; None if there are too few scenarios for one."""
    high: Number | None = None
    any_of_k: Number
    """pass@k: that one of k passes."""
    scenarios: Count


class Trials(Record):
    """Of an arm in one scenario."""

    planned: Count
    scored: Count
    passed: Count
    mean: Number | None
    """Of fairness, as the others."""
    sd: Number | None
    """None below two trials."""
    lowest: Number | None
    highest: Number | None


class BlockOrder(Record):
    """Where an arm stood in its blocks."""

    blocks: Count
    first: Count
    last: Count
    later: Count
    """Cells that were run when their block was taken up again."""


class BlockReport(Record):
    """The cells of one scenario, model and trial."""

    scenario: str
    model: str
    trial: Count
    order: tuple[str, ...]
    """Servers, first the one that was to be run first."""
    taken_up_at: str
    """UTC, ISO 8601; empty if none of its cells is measured, or nothing was recorded."""
    span_sec: Number | None
    """From the first measured cell's beginning to the last one's end."""
    later: dict[str, str]
    """Servers whose cells were run when the block was taken up again -> when that began."""
    machines: tuple[str, ...]


class LostTurns(Record):
    """What attempts cost that are in no figure."""

    model: str
    why: Literal["cut", "broken"]
    """Cut: the runner was killed or interrupted, or ran into a cap."""
    attempts: Count
    input_tokens: Count
    """Uncached."""
    cache_read_tokens: Count
    output_tokens: Count
    usd: Number | None
    """None if the model has no price."""


class ArmReport(Record):
    label: str
    """The server's name; with the model's, if a run has several."""
    model: str
    server: str
    imported: bool = False
    """Another harness ran its cells, where nothing of ours held the arms apart."""
    title: str
    version: str
    substitutes: tuple[str, ...] = ()
    """What the server is given here that its users' is not, a sentence each."""
    tally: Tally
    fairness: FairnessFigures
    delta: Delta
    adoption: AdoptionFigures | None
    grounding: GroundingParts
    costs: Costs
    varies: Variation | None = None
    """None for the shell, and with fewer than two scenarios."""
    beside: PairedBaseline | None = None
    """None if the shell's own row is of the same pairs."""
    order: BlockOrder
    passes: tuple[PassChance, ...] = ()
    """Empty if nothing was repeated."""


class KeyedArm(Record):
    """An arm over questions with a key: F1 over places, in its parts."""

    label: str
    f1: Figure
    recall: Number | None
    """Mean over the answers to questions that have places."""
    precision: Number | None
    hard: Figure | None
    """F1 of the questions of which a text search alone gets less than half; None of none."""
    wrong_lines: Count
    """Places of whose file another line is cited."""
    near_misses: Count
    """Citations of what the keys call certainly wrong."""


class KeyedKind(Record):
    """An arm over the questions of one kind."""

    kind: ExactKind
    label: str
    f1: Figure
    """Its interval is of this kind alone; None of fewer than six groups."""
    recall: Number | None
    precision: Number | None
    delta: Number | None = None
    """Against the shell, paired; None for the shell."""
    delta_low: Number | None = None
    delta_high: Number | None = None


class KeyedQuestion(Record):
    id: str
    kind: ExactKind
    grep_f1: Number | None
    """What a text search alone gets; None where it was not measured."""
    f1: dict[str, Number | None]
    """Arm's label -> mean of its trials."""
    by_heart: tuple[str, ...] = ()
    """Models that answer it without any tool."""


class Keyed(Record):
    """What there is besides where every question has a key."""

    where: str = ""
    """How far its sentences hold, as their end: ` on shop`. Empty over sampled repositories."""
    arms: tuple[KeyedArm, ...]
    kinds: tuple[KeyedKind, ...]
    questions: tuple[KeyedQuestion, ...]


class PlacedCell(Record):
    cell_id: str
    scenario: str
    arm: str
    trial: Count


class Fault(PlacedCell):
    """A cell that is no measurement, or that the server ended: named, with the reason."""

    outcome: OutcomeKind
    is_measurement: bool
    reason: str
    attempts: Count


class Incomparable(PlacedCell):
    """A measured cell that no comparison uses, and what sets it apart from its baseline."""

    differs: tuple[str, ...]


Layer = Literal["criterion", "step", "scenario", "fairness", "judge"]
"""`judge`: what readings of one answer let its fairness vary by; the others are of trials."""


class NoiseLayer(Record):
    """How far duplicates lie apart: the same cell in several trials."""

    layer: Layer
    sd: Number
    limit: Number
    """Two single figures differ by more in 5 % of duplicates: 1.96·√2·sd."""
    groups: Count
    figures: Count


class Commentary(Record):
    """One criterion's score. It fluctuates more than a scenario's figure does, and ranks nobody."""

    step: str
    criterion: str
    score: Number
    reason: str


class ImportedCell(PlacedCell):
    """A cell that another harness ran, and what could not be carried over."""

    harness: str
    """With its version."""
    model: str
    file: str
    source: str
    """SHA256 of the file."""
    usd: Number | None
    """As the other harness says."""
    degraded: tuple[str, ...]


class CellReport(Record):
    cell_id: str
    trial: Count
    outcome: OutcomeKind | None
    """None: not finished."""
    reason: str
    fairness: Number | None = None
    unscored: str
    """Why there is no fairness; empty if there is one."""
    judge: str = ""
    commentary: tuple[Commentary, ...] = ()
    failed: tuple[Citation, ...] = ()
    """The citations that failed, the first of them."""
    failed_total: Count = 0
    cited_total: Count = 0


class ScenarioArm(Record):
    label: str
    fairness: FairnessFigures
    delta: Delta
    trials: Trials
    cells: tuple[CellReport, ...]


class ScenarioReport(Record):
    id: str
    title: str
    description: str
    slant: str
    unreviewed: str = ""
    """Why nobody vouches for its rubric; empty if somebody does."""
    repository: str
    language: str
    steps: Count
    arms: tuple[ScenarioArm, ...]
    blocks: tuple[BlockReport, ...] = ()


class Repeat(Record):
    """What a stranger needs to run this again."""

    command: str
    plan_digest: str
    evidence_digest: str
    """Of the plan and of each cell's counted result, which holds its transcript's digest. An
    attestation of the run names the same."""
    versions: dict[str, tuple[str, ...]]
    """What should be the same for all cells: name -> every value that was in use."""
    servers: dict[str, dict[str, str]]
    scenarios: dict[str, dict[str, str]]


class Report(Record):
    schema_version: Literal[3] = 3
    notices: tuple[str, ...]
    """What a reader must know first, in order."""
    ungated: bool
    gate: Gate | None = None
    """What stood in front of this result; None if nothing did."""
    since: Since | None = None
    """What was accepted after the run was planned; None without a gate."""
    keyed: Keyed | None = unless_none()
    """None if a question of the run has no key."""
    arm_errors: Annotated[tuple[ArmError, ...], Field(exclude_if=lambda value: not value)] = ()
    """Of each arm that people graded beside the shell."""
    standing: Standing = "screens"
    """What the judge may do; `screens` as well if no gate vouches for it: nobody is ranked then."""
    language_model: bool
    """Did a language model answer in every cell? Without one an arm ranks nobody."""
    question: str
    run: str
    created_at: str
    models: tuple[str, ...]
    agents: Annotated[tuple[str, ...], Field(exclude_if=lambda value: not value)] = ()
    """Those that are programs, with their versions; empty of one of ours, which has no page."""
    searched: Annotated[tuple[str, ...], Field(exclude_if=lambda value: not value)] = ()
    """Servers whose tools an agent's own search found, because it did not offer them at once."""
    language_models: tuple[str, ...]
    """Of `models`, by what answered, whatever it was called."""
    judges: tuple[str, ...]
    scenarios: tuple[str, ...]
    sampled: Sampled
    servers: tuple[str, ...]
    trials: Count
    seed: Count | None = None
    """That the order of each block was drawn by; None if none was drawn."""
    pass_at: Number
    """The fairness from which on a trial passes."""
    margin: Number | None = None
    """The difference in fairness below which none matters; None in plans that declare none."""
    lost: tuple[LostTurns, ...] = ()
    arms: tuple[ArmReport, ...]
    """Shell first, then in the plan's order; never sorted by a score."""
    between: tuple[ArmPair, ...] = ()
    """Each two servers of one model; empty of one server."""
    contradictions: tuple[Contradiction, ...] = ()
    """Where a file of the run says something else than its evidence."""
    imported: tuple[ImportedCell, ...] = ()
    """Empty if every cell was measured here."""
    faults: tuple[Fault, ...]
    incomparable: tuple[Incomparable, ...]
    noise: tuple[NoiseLayer, ...]
    """Empty if nothing was repeated: the noise floor is unknown."""
    sections: tuple[ScenarioReport, ...]
    not_concluded: tuple[str, ...]
    repeat: Repeat
    prices: PriceList | None = None
    """Of the run's models that have one, as they were when the run began."""

    @property
    def named(self) -> str:
        """The run, which program answered, and what it did not offer its model at once."""
        searched = [f"tools of {', '.join(self.searched)} found by its search"] * any(self.searched)
        return " · ".join([self.run, *self.agents, *searched])

    @property
    def rescored(self) -> str:
        """The mark of a run that is older than what scores it; empty of any other."""
        if self.since and self.since.rescored_under:
            return f"RESCORED UNDER GENERATION {self.since.rescored_under}"
        return ""

    @property
    def ranked_by(self) -> str:
        """Why a sentence of this run stands without a judge; empty of any other run."""
        tested = ("higher", "lower", "small_difference", "equivalent", "no_worse", "no_difference")
        says = {arm.delta.judgement for arm in self.arms if is_candidate(arm.server)}
        if self.keyed is None or self.standing != "ranks" or not says.intersection(tested):
            return ""
        return "RANKED by exact keys: no judge."

    @property
    def marks(self) -> tuple[str, ...]:
        """What a reader of any part of it has to know."""
        marks = {
            "UNGATED": self.ungated,
            self.rescored: bool(self.rescored),
            "IMPORTED": bool(self.imported),
            "UNRANKED" if self.keyed else "SCREENING": self.standing == "screens",
        }
        return tuple(mark for mark, holds in marks.items() if holds)

    @property
    def mark(self) -> str:
        """In front of every heading, so that whichever part is quoted takes it along."""
        return "".join(f"{mark} · " for mark in self.marks)
