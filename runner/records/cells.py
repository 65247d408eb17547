"""Cells, their limits, outcomes, fingerprints and results, and the plan of a run."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal, Protocol, Self, get_args

from pydantic import Field, model_validator

from runner.records.anchor_grades import GateStamp
from runner.records.arms import ArmName
from runner.records.record import (
    CommitSha,
    Count,
    Name,
    NonNegative,
    Record,
    Seconds,
    Sha256,
    UnitInterval,
    digest_of,
    unless_none,
)

BlockKey = tuple[str, str, int]
"""Scenario, model and trial."""
DEFAULT_AGENT = "tool_calling"
"""Converses by the model's native tool calls."""


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
    """Of one tool result as the model sees it, head and tail; the same for shell and server."""


class Cell(Record):
    """scenario × server × model × trial, and the digests of what could change the outcome."""

    scenario: Name
    server: ArmName
    model: str
    trial: Annotated[int, Field(ge=1)]
    inputs: dict[str, str]
    """Input name -> digest. Of a scenario: prompts, source, budget; of a server: spec and lock."""

    @property
    def block(self) -> BlockKey:
        return self.scenario, self.model, self.trial

    @cached_property
    def id(self) -> str:
        """First 16 hex digits of the digest of the whole record."""
        return digest_of(self)[:16]


_Measured = Literal[
    "answered",
    "out_of_time",
    "out_of_tokens",
    "out_of_budget",
    "out_of_actions",
    "out_of_context",
    "out_of_memory",
    "refused",
    "server_crashed",
    "agent_crashed",
]
OutcomeKind = Literal[
    _Measured,
    "agent_not_treated",
    "server_not_ready",
    "sandbox_failed",
    "provider_failed",
    "runner_failed",
    "cancelled",
    "interrupted",
]
MEASUREMENTS: frozenset[str] = frozenset(get_args(_Measured))


class Outcome(Record):
    """How a cell ended."""

    kind: OutcomeKind
    reason: str

    @property
    def is_measurement(self) -> bool:
        """False for a fault of ours, and for a server that was not ready.

        Such a cell is run again, never scored as zero, and stays in the denominator.
        """
        return self.kind in MEASUREMENTS


class ToolListing(Record):
    """What `tools/list` and `initialize` gave."""

    names: tuple[str, ...]
    digest: Sha256
    """Of the canonical JSON of every tool's name, description and input schema."""
    schema_chars: Count
    instructions_chars: Count
    server_info: str
    protocol: str


class ProgramFingerprint(Record):
    """An agent that is a program, as the provider saw it; what is the server's is left out."""

    title: str
    version: str
    package: Sha256
    """Of its install volume's content."""
    settings: Sha256
    """Of its arguments, its environment and its configuration."""
    system: Sha256
    """Of its system prompt, without dates."""
    tools: tuple[str, ...]
    """Those that it brings itself, by their names."""
    schemas: Sha256
    """Of those tools."""


class Fingerprint(Record):
    """Proof that two arms differ in the server alone.

    `server`, `server_*` and `tools` may differ; anything else may not.
    """

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
    model_kind: str
    """What answered, by its name in `MODELS`: a recording of a language model is a `replay`."""
    model_identity: Sha256
    agent: str = DEFAULT_AGENT
    """How it converses: a name in AGENTS or in PACKAGED."""
    program: ProgramFingerprint | None = unless_none()
    """Of a name in PACKAGED, once it has asked the model."""
    cache: str | None = unless_none()
    """Who may serve the turns before: `provider`, `local`, or `none`. None in earlier versions."""
    jobs: Annotated[int, Field(ge=1)] | None = unless_none()
    """Cells beside one another, where they share a cache and a machine's cores: local weights."""
    server: ArmName
    server_version: str
    server_spec: Sha256
    tools: ToolListing | None
    moved_lines: int | None = unless_none()
    """Added to the line numbers in the server's results; None where they are shown as they came."""
    tools_searched: Literal[True] | None = unless_none()
    """The model was offered none of the server's tools: it finds them by the agent's own search."""


class TaskFingerprint(Record):
    """What answered a task of MCPToolBench++, and what it was shown. There is no container."""

    harness: str
    model: str
    model_kind: str
    """As in Fingerprint."""
    model_identity: Sha256
    shown: Sha256
    """Of the prompts and the tools offered."""


class Timings(Record):
    """Where a cell's seconds went; only agent_sec is charged to the arm."""

    create_sec: Seconds
    initialize_sec: Seconds
    warm_up_sec: Seconds
    canary_sec: Seconds
    """From the canary's first call until the server was ready, or was given up."""
    agent_sec: Seconds
    """Model turns and tool calls, API back-off taken out."""
    backoff_sec: Seconds
    total_sec: Seconds


class Imported(Record):
    """Where a cell comes from that another harness ran: no figure of a sandbox of ours is in it."""

    harness: str
    """`claude-code`."""
    harness_version: str
    """As its transcript says; empty if it does not."""
    model: str
    permissions: str
    """Its permission mode; empty if it is not said."""
    prompts: Sha256 | None
    """Of the prompts as recorded; None if the transcript holds none."""
    file: str
    """Name of the file, without its folders."""
    source: Sha256
    """Of the file's bytes, which lie beside the transcript."""
    usd: Annotated[float, Field(ge=0)] | None
    """What the other harness says it cost; None if it says nothing."""
    importer: Sha256
    """Of the code that read it: another may read it otherwise."""
    degraded: tuple[str, ...]
    """What could not be carried over, each in words."""


class HostFacts(Record):
    """A worker's machine when it took up a block."""

    name: str
    cpu: str
    """The processor's, as it calls itself."""
    cores: Count
    memory_mb: Count
    free_mb: Count
    """On the fuller of its own disk and its engine's."""
    engine: str
    """Version; empty where cells have no container."""
    kernel: str
    load: NonNegative
    """Processes that ran or waited for a processor, over the last minute."""


class Placement(Record):
    """When and where an attempt stood in its block."""

    place: Annotated[int, Field(ge=1)]
    """In the block's order, from 1."""
    of: Annotated[int, Field(ge=1)]
    """Cells of the block."""
    seed: Count
    """That the order was drawn by."""
    taken_up_at: str
    """UTC, ISO 8601: when a runner began with the block. Cells of one block that say otherwise were
    run later."""
    machine: str
    """The engine's own id for itself, digested."""
    host: HostFacts | None = unless_none()
    """None if it ran on the machine that began the run, with no worker."""


class CellResult(Record):
    """How an attempt ended, and what it was."""

    cell: Cell
    attempt: Annotated[int, Field(ge=1)]
    outcome: Outcome
    fingerprint: Fingerprint | None
    """None if the cell broke before it was known, was imported, or is a task."""
    timings: Timings | None
    """None if it ran elsewhere: a zero would pass for a cell that took no time."""
    peak_memory_mb: float | None
    """Of the whole container, from its cgroup."""
    state_mb: float | None
    """The server's private directory and mounts after warm-up: what the index costs on disk."""
    network_attempts: Count | None = unless_none()
    """Refused while the agent worked, its server's among them. None where nobody counted."""
    started_at: str
    """UTC, ISO 8601; empty if nobody knows."""
    plan: Sha256
    """Of the plan it is a part of: a result of another run counts for nothing in this one."""
    ungated: bool
    """True if no gate stood in front of it."""
    transcript: Sha256
    """Of transcript.jsonl, as it was written."""
    events: Count
    """Lines of transcript.jsonl."""
    imported: Imported | None = unless_none()
    """None if it was measured here."""
    block: Placement | None = unless_none()
    """None in runs of a version that drew no order."""
    task: TaskFingerprint | None = unless_none()
    """In the place of a fingerprint, where the cell is a task."""

    @property
    def digest_found(self) -> str:
        """Of all fields but a recorded digest."""
        return digest_of(self.model_dump(mode="json", exclude={"digest"}))


class RecordedResult(CellResult):
    """cells/<id>/result.json: written last, so its presence means the attempt ended."""

    digest: Sha256
    """Of all other fields. It shows an accident or a careless edit, and is no signature."""


class TokenCounts(Protocol):
    """What counts tokens: a turn, its usage, a cell's effort."""

    @property
    def input_tokens(self) -> int: ...
    @property
    def output_tokens(self) -> int: ...
    @property
    def cache_read_tokens(self) -> int: ...
    @property
    def cache_write_tokens(self) -> int: ...


class Price(Record):
    """Of a million tokens, in US dollars."""

    input: Annotated[float, Field(ge=0)]
    cache_write: Annotated[float, Field(ge=0)]
    cache_read: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]

    def cost_usd(self, spent: TokenCounts) -> float:
        """Input that no cache held, cache writes and reads, and output, each at its own price."""
        plain_tokens = spent.input_tokens - spent.cache_write_tokens
        million_usd = (
            plain_tokens * self.input
            + spent.cache_write_tokens * self.cache_write
            + spent.cache_read_tokens * self.cache_read
            + spent.output_tokens * self.output
        )
        return million_usd / 1_000_000


class PriceList(Record):
    """A price file."""

    date: str
    """As of when its prices hold."""
    models: dict[str, Price]
    """Name of a model, as `--model` takes it with its kind -> price."""


class Block(Record):
    """The cells of one scenario, model and trial: run one after another, on one machine."""

    scenario: Name
    model: str
    trial: Annotated[int, Field(ge=1)]
    order: tuple[ArmName, ...]
    """Their servers, first the one that is run first."""

    @property
    def key(self) -> BlockKey:
        return self.scenario, self.model, self.trial


class Shard(Record):
    """A share of a run's blocks, for a machine that talks to no other."""

    number: Annotated[int, Field(ge=1)]
    of: Annotated[int, Field(ge=2)]

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @model_validator(mode="after")
    def _is_one_of_them(self) -> Self:
        """Raises ValueError for a share that nobody would take, or two would."""
        if self.number > self.of:
            raise ValueError(f"there is no shard {self.number} of {self.of}")
        return self


class Study(Record):
    """What was fixed before the first cell, so that no result could move it."""

    seed: Count
    """That the order of each block was drawn by."""
    pass_at: UnitInterval
    """The fairness from which on a trial passes."""
    blocks: tuple[Block, ...]
    """In the order in which they are taken up."""
    margin: UnitInterval | None = unless_none()
    """The difference in fairness below which none matters; None in plans of earlier versions."""

    @cached_property
    def by_key(self) -> dict[BlockKey, Block]:
        return {block.key: block for block in self.blocks}


class Plan(Record):
    """runs/<run>/plan.json: every cell that was asked for.

    The denominator that a report prints.
    """

    run: Name
    created_at: str
    """UTC, ISO 8601."""
    ungated: bool
    """True if no gate stood in front of the run; every page of its report says so."""
    cells: tuple[Cell, ...]
    prices: PriceList | None = None
    """Of the run's models, by the names they were asked for, as they were when it began."""
    study: Study | None = unless_none()
    """None in runs of a version that drew no order: their cells are run as they are planned."""

    benchmark: str | None = unless_none()
    """A name in BENCHMARKS; None for scenarios."""
    gate: GateStamp | None = unless_none()
    """None for a run that was planned without a gate, or before plans said it."""
    shards: Annotated[int, Field(ge=2)] | None = unless_none()
    """Over how many machines; each makes this plan for itself."""

    @model_validator(mode="after")
    def _blocks_hold_its_cells(self) -> Self:
        """Raises ValueError for blocks of other cells: those left out would never be run."""
        if self.study is not None:
            placed = [(block.key, server) for block in self.study.blocks for server in block.order]
            planned = [(cell.block, cell.server) for cell in self.cells]
            if sorted(placed) != sorted(planned):
                raise ValueError("the blocks hold other cells than the plan")
        return self

    @property
    def digest(self) -> str:
        """Of all but `ungated`, which a run that goes on without its gate turns on.

        Of shards also without `created_at`: they are one plan, made on each machine in its moment.
        """
        moving = {"ungated", "created_at"} if self.shards else {"ungated"}
        return digest_of(self.model_dump(mode="json", exclude=moving))


class Contradiction(Record):
    """A file of a run that says something else than the evidence does."""

    where: str
    """From the run's folder."""
    field: str
    """Its key path; empty for the file itself."""
    says: str
    found: str

    def __str__(self) -> str:
        return f"{f'{self.where} {self.field}'.strip()}: says {self.says}, found {self.found}"
