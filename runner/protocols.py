"""The shapes the product is made of, on one page. A new model, judge or scorer is a file, and a line in the dict at its room's door."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from runner.records import (
    AnswerStep,
    Event,
    MustCite,
    Outcome,
    Rubric,
    Scenario,
    Score,
    ToolTrace,
    Verdict,
)

if TYPE_CHECKING:
    from runner.agents.tools import Toolbox
    from runner.agents.usage import UsageTotals

Log = Callable[[str], None]
"""Takes a line for the person who waits: what is being done, and how far it is."""


# --- the model -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """One tool the model may call."""

    name: str
    description: str
    input_schema: dict[str, Any]
    origin: Literal["shell", "server"]


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool call the model asks for."""

    id: str
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came back, as the model sees it."""

    call_id: str
    text: str
    is_error: bool


@dataclass(frozen=True, kw_only=True)
class UserMessage:
    text: str


@dataclass(frozen=True, kw_only=True)
class ToolMessage:
    results: tuple[Result, ...]


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One model turn."""

    text: str
    calls: tuple[Call, ...]
    stop: Literal["end", "tool_use", "max_tokens", "refusal"]
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    thinking: str = ""
    backoff_sec: float = 0.0
    estimated: bool = False
    raw: Any = field(default=None, compare=False)
    """The provider's own content blocks, given back to it unchanged on the next turn."""


Message = UserMessage | ToolMessage | Turn


class Model(Protocol):
    """What answers. One instance serves one cell."""

    name: str
    """As the user wrote it: `offline`, `replay:<path>`, or an Anthropic model id."""
    identity: str
    """SHA256 of everything that could change its behaviour: version, parameters, recording."""

    async def turn(
        self,
        system: str,
        conversation: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        timeout_sec: float,
    ) -> Turn:
        """The next turn. Raises ProviderError when the provider fails, TimeoutError past the deadline."""
        ...


# --- the sandbox ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ShellResult:
    """Output is stdout and stderr in one stream, as a terminal shows them."""

    output: str
    exit_code: int
    timed_out: bool
    size_chars: int
    """Of the whole output, before it was cut."""
    digest: str
    """SHA256 of the whole output's bytes."""
    truncated: bool
    wall_sec: float


class Sandbox(Protocol):
    """One cell's container."""

    async def shell(self, command: str, *, timeout_sec: float) -> ShellResult:
        """Run one command as `agent` at the repository root. Raises SandboxError where the container is gone."""
        ...


# --- scorers --------------------------------------------------------------------------------


class Files(Protocol):
    """The files of one commit, as the citation verifier reads them."""

    commit: str

    def paths(self) -> frozenset[str]:
        """Every file at the commit."""
        ...

    def read(self, path: str) -> bytes:
        """A file's bytes at the commit. Raises KeyError where there is no such file."""
        ...

    def blob_sha(self, path: str) -> str:
        """The blob's SHA. Raises KeyError where there is no such file."""
        ...


class AdoptionScorer(Protocol):
    """Sees the tool trace, and nothing of the answer."""

    def __call__(self, trace: ToolTrace) -> Score: ...


class Judge(Protocol):
    """A judge is a name, an identity digest, and a function from rubric, prompts, answer and must-find set to a verdict.

    It sees no tool trace and no arm's name.
    """

    name: str
    identity: str
    """SHA256 of its code or prompt version, model and parameters."""
    deterministic: bool
    """True where judging again costs nothing and says the same: the gate then believes no stored verdict."""

    def judge(
        self, rubric: Rubric, answer: Sequence[AnswerStep], must_find: Sequence[Sequence[MustCite]]
    ) -> Verdict:
        """Raises NoVerdict where the judge cannot be reached."""
        ...


# --- agents -------------------------------------------------------------------------------------


class Agent(Protocol):
    """One cell's conversation over its scenario's steps."""

    async def run(self) -> Outcome:
        """All steps, or until a limit ends them.

        Raises SandboxError, ServerError or ProviderError if that part failed.
        """
        ...


class AgentFactory(Protocol):
    """What `AGENTS` holds. An agent knows a model and a toolbox, and no arm."""

    def __call__(
        self,
        *,
        model: Model,
        scenario: Scenario,
        toolbox: Toolbox,
        record: Callable[[Event], None],
        totals: UsageTotals,
        instructions: str,
    ) -> Agent: ...
