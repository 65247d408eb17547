"""What a person asked for: one frozen record per verb, made by arguments.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from runner.agents.models.model_settings import Weights
from runner.records import Judging

GatePolicy = Literal["require", "skip", "prefer"]
"""`require`: refuse while the gate is closed. `skip`: go on without it, and mark the result.
`prefer`: go behind the gate if it is open; if not, go on and mark the result."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What every verb is told."""

    root: Path
    """The folder that holds scenarios/, images/ and locks/."""


@dataclass(frozen=True, kw_only=True)
class JudgedRequest(Request):
    """A verb that has answers judged."""

    judging: Judging | None = None
    """None: as the run was judged before, else by the default."""
    weights: Mapping[str, Weights] = field(default_factory=dict, repr=False)
    """By their file names: what judges that are local weights answer from."""
    prices: Path | None = None
    """A price file; None for the one that is shipped."""
    run_usd: float | None = None
    """What may be spent, a run's earlier spending counted; None without a cap."""


@dataclass(frozen=True, kw_only=True)
class RunRequest(JudgedRequest):
    """`run`, and `demo` and `cell`, which are runs with most of it filled in."""

    scenarios: tuple[str, ...]
    """Empty for all of scenarios/core."""
    servers: tuple[str, ...]
    """Empty for all."""
    models: tuple[str, ...]
    agent: str
    """How it converses: a name in AGENTS; empty for the models' own."""
    threads: int
    """Of the server of local weights."""
    context_tokens: int
    """That local weights are given room for."""
    thinking_tokens: int
    """Of one turn, at most; 0 for none."""
    output_tokens: int
    """Of one turn, at most, thinking apart."""
    cell_usd: float | None
    """What a cell may cost; None without a cap."""
    dry_run: bool
    """Say what it would take, and do nothing."""
    trials: int
    jobs: int
    """Blocks at a time."""
    api_jobs: int | None = None
    """Requests under way at one provider; None for as many as there are cells at work."""
    seed: int | None = None
    """That the order of each block is drawn by; None for the run's own."""
    pass_at: float | None = None
    """The fairness from which on a trial passes; None for the run's own."""
    executor: str
    name: str
    """The run's folder under runs/; empty for one made from what is asked."""
    gate: GatePolicy
    full: bool = False
    """Every table, not the first screen."""
    json: bool


@dataclass(frozen=True, kw_only=True)
class TryRequest(RunRequest):
    """`try`: of RunRequest all but the servers, which it makes."""

    asked: str
    """`npm:NAME`, `pypi:NAME` or a path; empty for a command."""
    command: tuple[str, ...]
    args: str | None
    """As a shell would read them; None to have them guessed."""
    env: tuple[str, ...]
    """NAME=VALUE each."""
    entry: str
    warm_up: tuple[tuple[str, str], ...]
    """A tool, and its arguments as JSON."""
    canary: tuple[str, str, str] | None
    """A tool, its arguments as JSON, and a text its answer must contain."""
    scripts: str
    """npm packages whose install scripts are run, between commas; `none`; empty to guess them."""
    bring: tuple[str, ...]
    """`npm:NAME` or `pypi:NAME` of programs that it runs and does not bring, or `none`."""
    before: str
    """A date; empty for today's packages."""
    http: str | None
    """`PORT[/PATH]`, empty for the port that it opens; None to have it guessed."""
    repo: str
    """A path or URL to ask about; empty for a scenario's."""
    commit: str | None
    """None for HEAD."""
    dirty: bool
    """Take the files of a folder as they are."""
    save: Path | None
    """A project that takes the server's folder."""


@dataclass(frozen=True, kw_only=True)
class ServerToolsRequest(Request):
    """`server tools` and `server call`."""

    name: str
    tool: str
    """Empty to list them."""
    arguments: str
    """JSON."""
    scenario: str
    """Whose repository to mount; empty for one that the server has a canary for."""
    json: bool


@dataclass(frozen=True, kw_only=True)
class ScoreRequest(JudgedRequest):
    run: str
    json: bool


@dataclass(frozen=True, kw_only=True)
class ImportRequest(Request):
    files: tuple[str, ...]
    """A path each; `SERVER=PATH` for another arm than `server`."""
    scenario: str
    server: str
    """Empty if every file names its own."""
    mounted: str
    """What the other harness called the server; empty for its name."""
    name: str
    """The run's folder under runs/; empty for the scenario's name."""
    gate: GatePolicy
    full: bool = False
    """Every table, not the first screen."""
    json: bool


@dataclass(frozen=True, kw_only=True)
class ImportScenarioRequest(Request):
    file: Path
    rubric: Path | None
    """None for the file beside it."""
    repo: str
    """A path or URL."""
    commit: str | None
    """Of a URL the full one; None for a path's HEAD."""
    label: str
    """What tracked files call a path; empty for a number of ours."""
    id: str
    """Empty for the file's own name."""
    language: str
    tokens: int | None
    wall_sec: int | None
    """Ceilings; None for what the other harness documents for the repository."""
    json: bool


@dataclass(frozen=True, kw_only=True)
class NewScenarioRequest(Request):
    repo: str
    """A path or URL."""
    commit: str | None
    """None for HEAD."""
    dirty: bool
    """Take a folder's files as they are."""
    id: str
    """Empty for one made from what is asked."""
    label: str
    """What a folder is called in tracked files; empty for one of our own."""
    questions: int
    """Steps, at most."""
    symbol: str
    """To ask about; empty for the best."""
    from_history: int
    """Scenarios to make of commits; 0 for one of the tree."""
    into: Path | None
    """A project; None for the folder that the command works in."""
    json: bool


@dataclass(frozen=True, kw_only=True)
class ReportRequest(JudgedRequest):
    run: str
    gate: GatePolicy
    full: bool = False
    """Every table, not the first screen."""
    json: bool


@dataclass(frozen=True, kw_only=True)
class AttestRequest(JudgedRequest):
    run: str
    gate: GatePolicy
    output: Path | None
    """None for stdout."""


@dataclass(frozen=True, kw_only=True)
class VerifyReportRequest(JudgedRequest):
    file: Path
    run: str
    """Empty for the run that the file names, under runs/."""
    json: bool


@dataclass(frozen=True, kw_only=True)
class CheckRequest(Request):
    scenarios: tuple[str, ...]
    """Empty for all."""
    json: bool


@dataclass(frozen=True, kw_only=True)
class InitRequest(Request):
    folder: Path


@dataclass(frozen=True, kw_only=True)
class LockRequest(Request):
    check: bool
    """Change nothing, and fail if a lock is out of date."""


@dataclass(frozen=True, kw_only=True)
class ServerRequest(Request):
    action: Literal["list", "check"]
    names: tuple[str, ...]
    """Empty for all."""
    testbed: bool
    """All is then MCP-AgentBench's testbed."""
    scenario: str
    """Whose repository to mount; empty for one that the server has a canary for."""
    json: bool


@dataclass(frozen=True, kw_only=True)
class VerifyAnchorsRequest(JudgedRequest):
    require: Literal["screens", "ranks"]
    json: bool


@dataclass(frozen=True, kw_only=True)
class AnchorsRequest(JudgedRequest):
    action: Literal["propose", "accept", "regrade"]
    reason: str


@dataclass(frozen=True, kw_only=True)
class GroundRequest(Request):
    repo: str
    """A path or URL."""
    commit: str
    roots: tuple[str, ...]
    """Absolute paths by which the text calls the repository."""
    files: tuple[Path, ...]
    strict: bool
    """A hallucination fails the verb."""
    json: bool


@dataclass(frozen=True, kw_only=True)
class TaskChoice:
    """Which tasks of MCPToolBench++."""

    data: tuple[str, ...]
    """Files, folders or URLs."""
    difficulties: tuple[str, ...]
    """Empty for all."""
    categories: tuple[str, ...]
    """Empty for all."""
    limit: int | None
    """Tasks, the first of those that the filters leave."""

    @property
    def is_one_source(self) -> bool:
        """All of it: a run's own choice of tasks is made, and takes no filter."""
        chosen = (*self.difficulties, *self.categories)
        return len(self.data) == 1 and not chosen and self.limit is None


@dataclass(frozen=True, kw_only=True)
class ToolbenchRequest(Request):
    """`toolbench score` and `check`."""

    chosen: TaskChoice
    responses: Path | None
    list: bool
    """Say what is there, and do nothing else."""
    compat: Literal["", "mcpbr"]
    json: bool


@dataclass(frozen=True, kw_only=True)
class ToolbenchRunRequest(RunRequest):
    """`toolbench run`: of RunRequest, what belongs to models, money, trials and the run's name."""

    chosen: TaskChoice
    mode: Literal["native", "json"]
    prompt: Path | None
    """None for the mode's own."""
    variant: Path | None
    list: bool


@dataclass(frozen=True, kw_only=True)
class ToolbenchReportRequest(Request):
    run: str
    compat: Literal["", "mcpbr"]
    json: bool


@dataclass(frozen=True, kw_only=True)
class ConfuseRequest(Request):
    sources: tuple[str, ...]
    """Runs, and servers in any runs; with responses, files or folders of data, or URLs."""
    responses: tuple[Path, ...]
    servers: tuple[str, ...]
    """Whose tools are shown; empty for all."""
    variant: Path | None
    """Only runs that measured it."""
    json: bool


@dataclass(frozen=True, kw_only=True)
class JudgeRequest(JudgedRequest):
    run: str
    """Empty if an answer is judged."""
    scenario: str
    answer: Path | None
    """A transcript, or JSON: see runner/runs/judging.py."""
    dry_run: bool
    pairwise: bool
    """Compare close arms side by side as well."""
    json: bool


@dataclass(frozen=True, kw_only=True)
class JudgeNoiseRequest(Request):
    run: str
    json: bool


@dataclass(frozen=True, kw_only=True)
class AgentbenchRunRequest(RunRequest):
    """`agentbench run`: of RunRequest, what belongs to models, money, trials and the run's name.

    `servers`: only queries that need one of these.
    """

    suite: Path | None
    """A folder of `<category>.yaml`, or one file; None for the shipped suite."""
    ids: tuple[str, ...]
    categories: tuple[str, ...]
    """Empty for all, as ids."""
    limit: int | None
    """Queries, the first of those that the filters leave."""
    mode: Literal["tc", "react"]
    list: bool
    """Say what is there, and do nothing else."""


@dataclass(frozen=True, kw_only=True)
class AgentbenchReportRequest(JudgedRequest):
    run: str
    verdicts: Path | None
    """A CSV to write, for people's columns and `agreement`."""
    json: bool


@dataclass(frozen=True, kw_only=True)
class QueriesRequest(Request):
    """`agentbench check`."""

    source: Path | None
    """A folder of `<category>.yaml`, or one file; None for the shipped suite."""
    ids: tuple[str, ...]
    categories: tuple[str, ...]
    """Empty for all, as ids."""
    unreviewed: bool
    """Take queries that nobody has read, too."""
    static: bool
    """Execute nothing."""
    json: bool


@dataclass(frozen=True, kw_only=True)
class AgreementRequest(Request):
    file: Path
    people: tuple[str, ...]
    """Columns whose majority is taken for the truth; empty if all raters are equals."""
    raters: tuple[str, ...]
    """Columns; empty for all that are left."""
    item: str
    """A column; empty for the first."""
    category: str
    """A column; empty for `category`, if there is one."""
    json: bool


@dataclass(frozen=True, kw_only=True)
class RecordRequest(Request):
    file: Path
    ids: tuple[str, ...]
    """Empty for all that lack a result."""


@dataclass(frozen=True, kw_only=True)
class DraftsRequest(Request):
    """What `agentbench generate` and `annotate` ask of a model, and where drafts are kept."""

    file: Path
    model: str
    threads: int
    context_tokens: int
    thinking_tokens: int
    output_tokens: int
    """As in RunRequest."""
    prices: Path | None
    run_usd: float | None
    """What the verb may cost; None without a cap."""


@dataclass(frozen=True, kw_only=True)
class GenerateRequest(DraftsRequest):
    servers: tuple[str, ...]
    """That drafts may be planned with; empty for the testbed."""
    categories: tuple[str, ...]
    """Empty for all."""
    count: int
    """Of each category."""
    seed: int


@dataclass(frozen=True, kw_only=True)
class AnnotateRequest(DraftsRequest):
    ids: tuple[str, ...]
    """Empty for all that were not tried."""
    mode: Literal["tc", "react"]
    tries: int
    judge: str
    """`rules`, or `model:<id>`."""


@dataclass(frozen=True, kw_only=True)
class ReviewRequest(Request):
    file: Path
    id: str
    """Empty to list the queue."""
    action: Literal["", "accept", "revise", "refine", "author", "reject"]
    """Empty to show the draft."""
    reviewer: str
    note: str
    query: str
    edited: Path | None
    edit_to: Path | None
    """Where what is to be edited is written."""
    into: Path | None
    """A file or folder of queries that takes what is accepted."""
    static: bool
    """Execute no trajectory."""


@dataclass(frozen=True, kw_only=True)
class CleanRequest(Request):
    everything: bool
