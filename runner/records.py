"""Every frozen record that touches disk. Units ride in the names; `digest` is always a SHA256 of canonical JSON or bytes, in hex."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, Self, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from runner.errors import CatalogError, Problem

R = TypeVar("R", bound="Record")
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
CommitSha = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
Unit = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal bytes, on every machine. NaN is a ValueError."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def digest_of(value: Any) -> str:
    """SHA256 of the canonical JSON of a value or record."""
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return hashlib.sha256(canonical_json(plain).encode()).hexdigest()


class Record(BaseModel):
    """Frozen, strict, and no key it does not know: a misspelt key is an error, never ignored."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True, allow_inf_nan=False
    )


# --- repositories ---------------------------------------------------------------------------


class GitSource(Record):
    kind: Literal["git"]
    url: str
    """Anything `git fetch` takes; a local path is fine."""
    commit: CommitSha
    """Full SHA: a branch or tag can move."""

    @field_validator("url")
    @classmethod
    def _no_option_and_no_password(cls, url: str) -> str:
        if not url or url.startswith("-"):
            raise ValueError("a URL is not empty and does not begin with a dash")
        if re.match(r"[a-z+]+://[^/@]*:[^/@]*@", url, re.IGNORECASE):
            raise ValueError(
                "a password in a URL would end up in locks and reports; give it to git's credential helper"
            )
        return url

    @property
    def label(self) -> str:
        return f"git:{self.url}@{self.commit}"


class PypiSource(Record):
    kind: Literal["pypi"]
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$")]
    version: Annotated[str, Field(pattern=r"^[0-9][A-Za-z0-9.!+]*$")]
    sha256: Sha256
    """Of the sdist."""

    @property
    def label(self) -> str:
        return f"pypi:{self.name}=={self.version}"


class NpmSource(Record):
    kind: Literal["npm"]
    name: Annotated[
        str, Field(pattern=r"^(@[a-z0-9~][a-z0-9._~-]*/)?[A-Za-z0-9~][A-Za-z0-9._~-]*$")
    ]
    version: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+([+-][A-Za-z0-9.+-]+)?$")]
    """Exact: a range or a tag can move."""
    integrity: Annotated[str, Field(pattern=r"^sha512-[A-Za-z0-9+/]{86}==$")]
    """Subresource integrity of the tarball, as npm records it."""

    @property
    def label(self) -> str:
        return f"npm:{self.name}@{self.version}"


Source = Annotated[GitSource | PypiSource | NpmSource, Field(discriminator="kind")]


class RepoPin(Record):
    """What `locks/repos.lock` holds per source: the same on every machine, or the source is refused."""

    commit: CommitSha
    tree: CommitSha
    files: Count


# --- scenarios ------------------------------------------------------------------------------


class Check(Record):
    """One keyword check, on the answer only (DESIGN.md, Scores; seed 002, step 2)."""

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


class Step(Record):
    """One user turn."""

    name: str
    prompt: str
    checks: tuple[Check, ...] = ()
    must_cite: tuple[MustCite, ...] = ()


class Budget(Record):
    """Ceilings of one cell (all steps together). Efficiency is measured against tokens and wall_sec; all four end a cell."""

    tokens: Annotated[int, Field(ge=1)]
    """Uncached input + output."""
    wall_sec: Annotated[int, Field(ge=1)]
    """The agent's own seconds."""
    actions: Annotated[int, Field(ge=1)]
    """Tool calls."""
    usd: Annotated[float, Field(gt=0)] | None = None
    """Spend, where the model has a price."""


class Scenario(Record):
    """scenario.yaml"""

    id: Name
    title: str
    description: str
    repository: Source
    language: str
    slant: str
    """Which kind of server this scenario favours, said by its author."""
    budget: Budget
    steps: Annotated[tuple[Step, ...], Field(min_length=1)]


class Fact(Record):
    """One thing a right answer says, checkable without a model.

    Met when a single passage of the answer (a sentence, list item or table row) matches one pattern of every group in `terms`, and,
    where `cites` is given, that passage cites one of those locations (±5 lines). What falls short of that: runner/scoring/judge.py.
    """

    says: str
    """The fact in plain words; printed as the judge's reason."""
    terms: Annotated[
        tuple[Annotated[tuple[str, ...], Field(min_length=1)], ...], Field(min_length=1)
    ]
    """Groups of alternatives: any one of each group, whole words, case-insensitive; `*` after a letter for any ending."""
    cites: tuple[MustCite, ...] = ()
    never: tuple[str, ...] = ()
    """Wordings of the opposite: a sentence that holds one, and a pattern of the first group, takes the fact's credit away."""
    weight: Annotated[float, Field(gt=0)] = 1.0

    @model_validator(mode="after")
    def _terms_say_something(self) -> Self:
        empty = [
            term
            for group in (*self.terms, self.never)
            for term in group
            if not term.strip(" \t\n*`")
        ]
        if empty:
            raise ValueError(f"the term {empty[0]!r} would match every answer")
        return self


class Criterion(Record):
    weight: Unit
    question: str
    """What a judge that is a model is asked."""
    facts: Annotated[tuple[Fact, ...], Field(min_length=1)]
    """What the `checklist` judge checks."""


class RubricStep(Record):
    name: str
    """Equals the scenario's step name."""
    criteria: dict[str, Criterion]

    @model_validator(mode="after")
    def _weights_sum_to_one(self) -> Self:
        total = sum(c.weight for c in self.criteria.values())
        if abs(total - 1) > 1e-9:
            raise ValueError(f"criterion weights of step {self.name!r} sum to {total:g}, not 1")
        return self


class Rubric(Record):
    """rubric.yaml"""

    audience: str
    steps: Annotated[tuple[RubricStep, ...], Field(min_length=1)]


# --- servers --------------------------------------------------------------------------------


class McpCall(Record):
    tool: str
    arguments: dict[str, Any] = {}


class WarmUp(Record):
    """One step that makes a server ready, run in every cell before the agent: a shell command as `server`, or an MCP call."""

    shell: str | None = None
    call: McpCall | None = None
    timeout_sec: Annotated[int, Field(ge=1, le=3600)] = 300

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if (self.shell is None) == (self.call is None):
            raise ValueError("a warm-up step is either `shell` or `call`")
        return self


class Canary(Record):
    """Proof of life: offline degradation is silent (isError false, an empty list), so the canary checks content."""

    repository: str
    """Label of the source it is written for, e.g. `pypi:flask==3.1.2`; `*` for any."""
    call: McpCall
    contains: Annotated[str, Field(min_length=1)]
    line: Annotated[int, Field(ge=1)] | None = None
    """The 1-based line that `contains` shows, in whatever base the server counts: a canary that passes then measures its line base."""
    timeout_sec: Annotated[int, Field(ge=1, le=600)] = 60


class ServerSpec(Record):
    """images/servers/<name>/server.yaml. `{workspace}`, `{install}` and `{state}` are replaced in command, env, files and warm-up."""

    name: Name
    title: str
    version: str
    """The package's own: `serverInfo.version` is often the SDK's."""
    licence: str
    homepage: str
    notes: tuple[str, ...] = ()
    """Traps that a reader of the report should know."""
    command: Annotated[tuple[str, ...], Field(min_length=1)]
    env: dict[str, str] = {}
    files: dict[str, str] = {}
    """Path under {install} -> text: wrappers and configuration, written at build time."""
    apt: tuple[str, ...] = ()
    """Debian packages the base image must already hold; checked, never installed in a cell."""
    private: tuple[str, ...] = ()
    """Directories in the workspace the server insists on writing; each becomes a private mount (tmpfs, mode 0700)."""
    warm_up: tuple[WarmUp, ...] = ()
    canaries: Annotated[tuple[Canary, ...], Field(min_length=1)]
    line_base: Annotated[int, Field(ge=0, le=1)]
    """The first line's number in its results; 0-based servers invite off-by-one citations."""
    initialize_timeout_sec: Annotated[int, Field(ge=1, le=600)] = 60
    call_timeout_sec: Annotated[int, Field(ge=1, le=3600)] = 120


class ServerCard(Record):
    """What the doctor found: the server started in the sandbox, without network, on one repository (`fairtrial server check`)."""

    name: Name
    version: str
    licence: str
    server_info: str
    """Name and version as `initialize` gives them."""
    protocol: str
    tools: tuple[str, ...]
    schema_chars: Count
    """Names, descriptions and input schemas, as the model gets them."""
    schema_tokens: Count
    """Estimated: characters / 4."""
    instructions_chars: Count
    initialize_sec: Seconds
    warm_up_sec: Seconds
    """Indexing, where the server has any."""
    answer_sec: Seconds
    """The canary's call."""
    peak_memory_mb: float | None
    """Of the whole container, its tmpfs included."""
    state_mb: float
    """The server's own directory and private mounts, after the canary."""
    install_mb: float
    install_digest: Sha256
    files_written: Count
    paths_written: tuple[str, ...]
    """The first of them, sorted."""
    network_attempts: Count
    """Packets and connections that had no route. One name looked up is two or more; IPv6 may go unseen."""
    stray_lines: Count
    """Lines on stdout that are not JSON-RPC."""
    stray: tuple[str, ...]
    line_base: int
    """As declared."""
    line_base_measured: int | None
    """None where the canary shows no line, or failed."""
    repository: str
    canary_passed: bool
    canary_wanted: str
    canary_text: str
    """The first characters of what came."""


# --- cells ----------------------------------------------------------------------------------


class Limits(Record):
    """What every cell's container gets; byte-identical in both arms."""

    memory_mb: Annotated[int, Field(ge=64)] = 3072
    cpus: Annotated[float, Field(gt=0)] = 2.0
    pids: Annotated[int, Field(ge=16)] = 512
    tmp_mb: Annotated[int, Field(ge=1)] = 256
    state_mb: Annotated[int, Field(ge=1)] = 2048
    """The server's private writable directory."""
    shell_timeout_sec: Annotated[int, Field(ge=1)] = 60
    result_chars: Annotated[int, Field(ge=200)] = 30_000
    """Characters of one tool result the model sees, head and tail; the same for shell and server."""


class Cell(Record):
    """scenario × server × model × trial, and the digest of every input that could change what happens."""

    scenario: Name
    server: Name
    model: str
    trial: Annotated[int, Field(ge=1)]
    inputs: dict[str, str]
    """Input name -> digest: scenario (prompts, source, budget), server (spec and lock), base, commit, prompt, limits, model, harness."""

    @property
    def id(self) -> str:
        """First 16 hex digits of the digest of the whole record."""
        return digest_of(self)[:16]


OutcomeKind = Literal[
    "answered",
    "out_of_time",
    "out_of_tokens",
    "out_of_budget",
    "out_of_actions",
    "refused",
    "server_crashed",
    "sandbox_failed",
    "provider_failed",
    "runner_failed",
    "cancelled",
]
MEASUREMENTS: frozenset[str] = frozenset(
    {
        "answered",
        "out_of_time",
        "out_of_tokens",
        "out_of_budget",
        "out_of_actions",
        "refused",
        "server_crashed",
    }
)


class Outcome(Record):
    """How a cell ended."""

    kind: OutcomeKind
    reason: str

    @property
    def is_measurement(self) -> bool:
        """False for a fault of ours: such a cell is run again, never scored as zero, and stays in the denominator."""
        return self.kind in MEASUREMENTS


class ToolsSeen(Record):
    """What `tools/list` and `initialize` gave."""

    names: tuple[str, ...]
    digest: Sha256
    """Of the canonical JSON of every tool's name, description and input schema."""
    schema_chars: Count
    instructions_chars: Count
    server_info: str
    protocol: str


class Fingerprint(Record):
    """Proof that two arms differ in the server alone. `server_*` and `tools` may differ; anything else may not."""

    harness: str
    base_image: str
    workspace_image: str
    commit: CommitSha
    tree: CommitSha
    prompts: Sha256
    limits: Sha256
    container: Sha256
    """Of the container's settings, the server's mounts and private directories left out."""
    engine: str
    kernel: str
    model: str
    model_identity: Sha256
    server: Name
    server_version: str
    server_spec: Sha256
    tools: ToolsSeen | None


class Timings(Record):
    """Where a cell's seconds went; only agent_sec is charged to the arm."""

    create_sec: Seconds
    initialize_sec: Seconds
    warm_up_sec: Seconds
    canary_sec: Seconds
    agent_sec: Seconds
    """Model turns and tool calls, API back-off taken out."""
    backoff_sec: Seconds
    total_sec: Seconds


class CellResult(Record):
    """cells/<id>/result.json: written last, so its presence means the attempt ended."""

    cell: Cell
    attempt: Annotated[int, Field(ge=1)]
    outcome: Outcome
    fingerprint: Fingerprint | None
    """None where the cell broke before it was known."""
    timings: Timings
    peak_memory_mb: float | None
    """Of the whole container, from its cgroup."""
    state_mb: float | None
    """The server's private directory and mounts after warm-up: what the index costs on disk."""
    started_at: str
    """UTC, ISO 8601."""


class Plan(Record):
    """runs/<run>/plan.json: every cell that was asked for, in the order it is run. The denominator that a report prints."""

    run: Name
    created_at: str
    """UTC, ISO 8601."""
    ungated: bool
    """True where no gate stood in front of the run; every page of its report says so."""
    cells: tuple[Cell, ...]


# --- transcript -----------------------------------------------------------------------------


class Prompt(Record):
    type: Literal["prompt"] = "prompt"
    step: Count
    """0-based."""
    text: str


class SystemPrompt(Record):
    type: Literal["system"] = "system"
    text: str
    """The harness's prompt: the same text in every arm."""
    instructions: str = ""
    """What the server sent with `initialize`, given to the model after it."""


class Prose(Record):
    type: Literal["prose"] = "prose"
    step: Count
    turn: Count
    text: str


class Thinking(Record):
    type: Literal["thinking"] = "thinking"
    step: Count
    turn: Count
    text: str


class ToolCall(Record):
    type: Literal["tool_call"] = "tool_call"
    step: Count
    turn: Count
    call_id: str
    origin: Literal["shell", "server"]
    tool: str
    """As the model knows it."""
    arguments: dict[str, Any]


class ToolResult(Record):
    type: Literal["tool_result"] = "tool_result"
    step: Count
    turn: Count
    call_id: str
    text: str
    """What the model saw: head and tail where truncated."""
    is_error: bool
    size_chars: Count
    """Of the whole result."""
    digest: Sha256
    """Of the whole result's UTF-8."""
    truncated: bool
    wall_sec: Seconds


class Usage(Record):
    type: Literal["usage"] = "usage"
    step: Count
    turn: Count
    input_tokens: Count
    """Uncached."""
    output_tokens: Count
    cache_read_tokens: Count = 0
    cache_write_tokens: Count = 0
    wall_sec: Seconds
    """The whole model turn, back-off included."""
    backoff_sec: Seconds = 0.0
    estimated: bool = False
    """True where the model counts no tokens and they are taken as characters / 4."""


class StepEnd(Record):
    type: Literal["step_end"] = "step_end"
    step: Count
    stop: Literal["end", "max_tokens", "refusal", "cut"]
    """Why the step ended; `cut` when a budget or a fault ended the cell inside it."""


class Note(Record):
    """Something the harness saw: a restarted shell, a server's stray stdout line, a network attempt."""

    type: Literal["note"] = "note"
    text: str


Event = Annotated[
    SystemPrompt | Prompt | Prose | Thinking | ToolCall | ToolResult | Usage | StepEnd | Note,
    Field(discriminator="type"),
]


class AnswerStep(Record):
    name: str
    prompt: str
    text: str
    """All prose of the step; empty where there was none."""
    completed: bool
    """The model ended the step itself, with prose."""


class Answer(Record):
    """What fairness scorers see: prose alone. No tool input, no tool output, no arm (seed 002, pitfall 1)."""

    steps: tuple[AnswerStep, ...]


class TraceCall(Record):
    step: Count
    origin: Literal["shell", "server"]
    tool: str
    arguments: dict[str, Any]
    is_error: bool
    size_chars: Count
    wall_sec: Seconds


class ToolTrace(Record):
    """What adoption scorers see: tool calls alone."""

    steps: Count
    """Planned steps of the scenario."""
    calls: tuple[TraceCall, ...]


class Effort(Record):
    """What the answer cost."""

    input_tokens: Count
    output_tokens: Count
    agent_sec: Seconds
    backoff_sec: Seconds
    actions: Count
    steps_completed: Count
    steps: Count
    tokens_estimated: bool


# --- citations ------------------------------------------------------------------------------


Resolution = Literal["exact", "suffix", "ambiguous", "missing", "other_commit"]
Status = Literal["grounded", "unresolved", "hallucinated"]


class Citation(Record):
    """One citation of an answer, verified against a commit (DESIGN.md, Citations)."""

    written: str
    """As it stands in the text."""
    path: str
    """The file in the repository or, unresolved, the path as normalised."""
    start: int | None
    """First line as written; None for a file cited without a line (listed, not counted)."""
    end: int | None
    symbol: str | None
    resolution: Resolution
    status: Status
    reason: str
    held_by: Literal["definition", "use", "span", "text"] | None
    """What put the named symbol within reach."""
    definition_lines: tuple[int, ...]
    """Where the symbol really is."""
    distance: int | None
    """Lines between the citation's interval and what held it (or the nearest, where nothing did)."""
    definition_distance: int | None = None
    """Lines to the nearest definition, its header included; None where there is none."""
    use_distance: int | None = None
    """Lines to the nearest use in code."""
    span_distance: int | None = None
    """Lines to the nearest definition's span; 0 inside it."""


class GroundingSummary(Record):
    """Parts of the grounding rates. Rates are None where nothing was counted."""

    total: Count
    """Citations with a line, each once."""
    grounded: Count
    unresolved: Count
    hallucinated: Count
    exact: Count
    suffix: Count
    ambiguous: Count
    missing: Count
    other_commit: Count
    definition_only: Count
    """Grounded ones with a symbol that a definition held."""
    with_symbol: Count
    strict_rate: Unit | None
    """Grounded and exact / total."""
    headline_rate: Unit | None
    """Grounded (exact or suffix) / total."""
    definition_rate: Unit | None
    """Symbols held by a definition / citations with a symbol."""
    chance_rate: Unit | None
    """What random lines of the same files would have scored."""


# --- scores ---------------------------------------------------------------------------------


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


# --- anchors --------------------------------------------------------------------------------


class GoldCriterion(Record):
    score: Unit
    reason: str
    """A sentence: what in the answer earned or lost it."""


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
    steps: tuple[GoldStep, ...]


class GoldScores(Record):
    """scenarios/held-out/<id>/gold_scores.json: written before any judge ran."""

    scenario: Name
    transcripts: tuple[GoldTranscript, ...]


class JudgeLock(Record):
    """What one judge made of the anchors when the generation was accepted."""

    identity: Sha256
    """Its code or prompt version, model and parameters."""
    rho: Annotated[float, Field(ge=-1, le=1)]
    """Spearman, transcript level."""
    scores: dict[str, Unit]
    """<scenario>/<transcript> -> what the judge gave it."""
    verdicts: dict[Sha256, Sha256]
    """Name under locks/verdicts/ -> digest of the file: a verdict edited by hand is not the one that was accepted."""


class Chain(Record):
    """Generations that share one set of hand grades."""

    started: Annotated[int, Field(ge=1)]
    """The generation that brought the grades."""
    date: str
    reason: str


class AnchorsLock(Record):
    """locks/anchors.lock, canonical JSON; each generation's copy stays as locks/anchors/<generation>.lock."""

    schema_version: Literal[1] = 1
    generation: Annotated[int, Field(ge=1)]
    kind: Literal["first", "accept", "regrade"]
    date: str
    """UTC, ISO 8601."""
    reason: Annotated[str, Field(min_length=1)]
    previous: Sha256 | None
    """Digest of the generation before it; None for the first alone. A new chain holds it too, so that no history can be dropped."""
    chain: Chain
    files: dict[str, Sha256]
    """Path from the checkout's top -> digest of the bytes with LF line ends: every file of every scenario."""
    scoring: dict[str, float | str]
    """Weights of both scores, and the version of what checks mean."""
    gold_weights: dict[str, dict[str, dict[str, Unit]]]
    """Scenario -> step -> criterion -> weight when the grades came in: a rubric's later weights must not move the gold."""
    judges: dict[str, JudgeLock]

    @model_validator(mode="after")
    def _chain_holds_together(self) -> Self:
        starts = self.kind in ("first", "regrade")
        if (self.kind == "first") != (self.generation == 1) or (self.previous is None) != (
            self.generation == 1
        ):
            raise ValueError("generation 1, and it alone, is the first and has none before it")
        if (
            starts != (self.chain.started == self.generation)
            or self.chain.started > self.generation
        ):
            raise ValueError(
                "a chain starts with the first generation or a regrade, and an accepted one belongs to an earlier start"
            )
        return self


class Correlation(Record):
    """Spearman's rho between hand grades and judged scores; `rho` is None where there is none, with the reason."""

    rho: float | None
    low: float | None = None
    """95 % bootstrap interval over transcripts."""
    high: float | None = None
    n: Count
    ties_gold: Count
    """Items that share their value with another."""
    ties_judged: Count
    reason: str = ""


class AnchorScore(Record):
    """One frozen transcript."""

    transcript: str
    """<scenario>/<file name>"""
    gold: Unit
    judged: Unit


class Disagreement(Record):
    """Two transcripts that the judge ranks the other way round."""

    better: AnchorScore
    """By hand."""
    worse: AnchorScore


class GateVerdict(Record):
    """What `verify-anchors` found, once every hash held."""

    judge: str
    identity: Sha256
    generation: Count
    """0 where there is no lock yet."""
    transcripts: Correlation
    steps: Correlation
    scenarios: dict[str, Correlation]
    disagreements: tuple[Disagreement, ...]
    """The pairs that disagree most, at most three."""
    scores: tuple[AnchorScore, ...]
    refusal: str
    """Why the gate is closed; empty where it is open."""
    unlocked: tuple[str, ...] = ()
    """Scenarios outside held-out that no generation holds: no gated run can use them."""


class Gate(Record):
    """The gate that stood in front of a result, as its report shows it."""

    judge: str
    rho: float
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


# --- reading and writing --------------------------------------------------------------------


class _UniqueKeyLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # libyaml's is ten times quicker, and optional
    """YAML's duplicate keys and merges let two readers see two documents: refused."""

    def construct_mapping(self, node: yaml.nodes.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.YAMLError(
                    f"line {key_node.start_mark.line + 1}: key {key!r} is given twice"
                )
            seen.add(key)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        return mapping


def _refuse_tricks(text: str) -> None:
    """A few lines of aliases of aliases stand for gigabytes; brackets in brackets take the parser minutes."""
    depth = 0
    for event in yaml.parse(text, Loader=_UniqueKeyLoader):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.events.AliasEvent):
            raise yaml.YAMLError(f"line {line}: aliases (*name) are not allowed")
        depth += isinstance(event, yaml.events.CollectionStartEvent) - isinstance(
            event, yaml.events.CollectionEndEvent
        )
        if depth > 50:
            raise yaml.YAMLError(f"line {line}: nested deeper than 50 levels")


def parse_yaml(text: str, record: type[R], *, where: str) -> R:
    """YAML text as a record. Raises CatalogError with every problem, each with file and key path."""
    try:
        _refuse_tricks(text)
        data = yaml.load(text, Loader=_UniqueKeyLoader)  # noqa: S506 - a SafeLoader, stricter
        as_json = json.dumps(data, allow_nan=False)
    except (yaml.YAMLError, TypeError, ValueError, RecursionError) as error:
        raise CatalogError([Problem(where=where, message=f"not usable YAML: {error}")]) from error
    return parse_json(as_json, record, where=where)


def parse_json(text: str | bytes, record: type[R], *, where: str) -> R:
    """JSON text as a record. Raises CatalogError with every problem, each with file and key path."""
    try:
        return record.model_validate_json(text)
    except ValidationError as error:
        problems = [
            Problem(where=f"{where} {_key_path(e['loc'])}".rstrip(), message=_say(e, record))
            for e in error.errors()
        ]
        raise CatalogError(problems) from error


def _key_path(loc: tuple[int | str, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).lstrip(".")


def _say(error: Any, record: type[BaseModel]) -> str:
    if error["type"] != "extra_forbidden":
        return str(error["msg"])
    key, known = str(error["loc"][-1]), _keys_of(record)
    if key in known:
        return f"no such key here; it belongs to {known[key]}"
    closest = difflib.get_close_matches(key, known, n=1)
    return (
        f"no such key; did you mean `{closest[0]}`?"
        if closest
        else "no such key; check its spelling"
    )


def _keys_of(annotation: Any) -> dict[str, str]:
    """Every key a record and the records inside it know -> the record's name."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        inner = [
            _keys_of(part)
            for field in annotation.model_fields.values()
            for part in (field.annotation, *field.metadata)
        ]
        return {k: v for keys in inner for k, v in keys.items()} | dict.fromkeys(
            annotation.model_fields, annotation.__name__
        )
    return {k: v for part in get_args(annotation) for k, v in _keys_of(part).items()}
