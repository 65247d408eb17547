"""The shapes the product is made of, on one page.

A new model, agent, judge, executor, benchmark or scorer is a file, and a line in the dict at its
room's door: MODELS, AGENTS, JUDGES, EXECUTORS, BENCHMARKS, FAIRNESS, ADOPTION.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from runner.records import (
    AnswerStep,
    Cell,
    CellResult,
    Citation,
    MustCite,
    Outcome,
    Rubric,
    Score,
    TokenBreakdown,
    ToolTrace,
    Verdict,
)

Log = Callable[[str], None]
"""Takes a line for the person who waits: what is being done, and how far it is."""


# --- the model ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """One tool the model may call."""

    name: str
    description: str
    input_schema: dict[str, Any]
    origin: Literal["shell", "server"]
    read_only: bool = False
    """Its server says so: such calls of one turn may run at the same time."""
    destructive: bool = False
    """Its server says so, in as many words."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool call the model asks for."""

    id: str
    tool: str
    arguments: dict[str, Any]
    problem: str = ""
    """Why it cannot be made, such as arguments that are no JSON; the model is told."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a tool call returned, as the model sees it."""

    call_id: str
    text: str
    is_error: bool


@dataclass(frozen=True, kw_only=True)
class UserMessage:
    """A step's prompt, or a notice of ours."""

    text: str
    notice: bool = False
    """About the last reply: its form was wrong, or it is time to answer."""


@dataclass(frozen=True, kw_only=True)
class ToolMessage:
    """The results of one turn's calls, in the calls' order."""

    results: tuple[Result, ...]


Stop = Literal["end", "tool_use", "max_tokens", "refusal", "pause", "context_full", "malformed"]
"""`pause`: it wants to go on. `context_full`: the conversation is longer than the model takes.
`malformed`: it wrote something that is neither calls nor an answer."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One model turn."""

    text: str
    calls: tuple[Call, ...]
    stop: Stop
    input_tokens: int
    """All that came from no cache, what was written to one included."""
    output_tokens: int
    """Thinking included."""
    cache_read_tokens: int = 0
    """Beside input_tokens."""
    cache_write_tokens: int = 0
    """Of input_tokens, those that were written to a cache."""
    thinking: str = ""
    thinking_tokens: int | None = None
    """Of output_tokens; None if the provider does not say."""
    dropped_tokens: int | None = None
    """Of output_tokens: thinking that no later request holds. None: nothing says that any was."""
    backoff_sec: float = 0.0
    """Waits and failed attempts: no work of the agent's."""
    queued_sec: float = 0.0
    """Of backoff_sec: waiting for our own other requests to the provider."""
    retries: int = 0
    problem: str = ""
    """What is wrong with its form, if `stop` is `malformed`; the model is told."""
    served_by: str = ""
    """The model that the provider says answered."""
    notes: tuple[str, ...] = ()
    """What had to be done differently from what was asked, for the record."""
    estimated: bool = False
    """True if the model counts no tokens and they are estimated from characters."""
    phases: TokenBreakdown | None = None
    """What its tokens were of, where that is known already."""
    raw: Any = field(default=None, compare=False)
    """The provider's own content blocks, given back to it unchanged on the next turn."""


Message = UserMessage | ToolMessage | Turn


class Model(Protocol):
    """What answers. One instance serves one cell."""

    name: str
    """As the user wrote it: `offline`, `replay:<path>`, or a provider's model id."""
    identity: str
    """SHA256 of everything that could change its behaviour: version, parameters, recording."""
    language_model: bool
    """False for a stand-in that follows a program: its results rank nobody."""

    async def turn(
        self,
        system: str,
        conversation: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        timeout_sec: float,
    ) -> Turn:
        """The next turn.

        Raises ProviderError if the provider fails, TimeoutError past the deadline.
        """

    def write_artifacts(self, folder: Path) -> None:
        """Write what the model itself has to keep of the cell, beside its transcript."""

    async def close(self) -> None:
        """Let go of connections."""


@runtime_checkable
class OfCells(Protocol):
    """A model that has an answer of its own for each cell. A language model is told no arm."""

    def take_cell(self, cell: Cell) -> None:
        """The cell that it is to answer in. Raises ProviderError if it has nothing for it."""


# --- the sandbox --------------------------------------------------------------------------------


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
        """Run one command as `agent` at the repository root.

        Raises SandboxError if the container is gone.
        """


# --- the agent ----------------------------------------------------------------------------------


class Agent(Protocol):
    """One cell's conversation over its scenario's steps."""

    async def run(self) -> Outcome:
        """All steps, or until a limit ends them.

        Raises SandboxError, ServerError or ProviderError if that part failed.
        """


# --- scorers ------------------------------------------------------------------------------------


class Files(Protocol):
    """The files of one commit, as the citation verifier reads them."""

    commit: str

    def paths(self) -> frozenset[str]:
        """Every file at the commit."""

    def read(self, path: str) -> bytes:
        """A file's bytes at the commit. Raises KeyError if there is no such file."""

    def blob_sha(self, path: str) -> str:
        """The blob's SHA. Raises KeyError if there is no such file."""


class AdoptionScorer(Protocol):
    """Sees the tool trace, and nothing of the answer."""

    def __call__(self, trace: ToolTrace) -> Score: ...


class LineSource(Protocol):
    """What a judge may read of a scenario's repository, at its commit."""

    def lines(self, path: str, line: int, end: int) -> str:
        """Lines `line` to `end`, the first of a file being 1. Raises NoVerdict if it has none."""


@runtime_checkable
class HoldsFiles(Protocol):
    """A source of lines that has the whole commit: a judge of places resolves paths by it."""

    def files(self) -> Files: ...


OpenLineSource = Callable[[str], LineSource]
"""A scenario's id -> its source. Nothing is fetched until lines are asked for."""


class Judge(Protocol):
    """A name, an identity, and a function from rubric, answer and must-find set to a verdict.

    It sees no tool trace and no arm's name.
    """

    name: str
    identity: str
    """SHA256 of its code or prompt version, model and parameters."""
    deterministic: bool
    """True if judging again costs nothing and gives the same: stored verdicts are not needed."""

    def judge(
        self,
        rubric: Rubric,
        answer: Sequence[AnswerStep],
        must_find: Sequence[Sequence[MustCite]],
        source: LineSource | None = None,
    ) -> Verdict:
        """`source`: the lines that facts cite; a judge that does without them ignores it.

        Raises NoVerdict if the judge cannot be reached, or needs a source and has none.
        """


@runtime_checkable
class Comparing(Protocol):
    """A judge that also compares two answers to one step; the gate asks it both ways round."""

    def prefers(
        self,
        rubric: Rubric,
        answers: tuple[AnswerStep, AnswerStep],
        must_find: Sequence[MustCite],
        source: LineSource | None = None,
    ) -> Literal["first", "second", "tie"]:
        """`rubric`: of the one step. Raises NoVerdict as `judge` does."""


@runtime_checkable
class ByKey(Protocol):
    """A judge of questions with a key. Anchors say nothing of it: the gate examines it on those."""

    def verdict(
        self,
        rubric: Rubric,
        answer: Sequence[AnswerStep],
        must_find: Sequence[Sequence[MustCite]],
        cited: Sequence[Sequence[Citation]],
    ) -> Verdict:
        """`cited`: of each step, as verified. Raises NoVerdict for a rubric without keys."""


# --- benchmarks and executors -------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What an executor tells while it works."""

    started: Callable[[Cell], None]
    says: Callable[[Cell, str], None]
    ended: Callable[[CellResult], None]
    spent: Callable[[int, float], None]
    """New tokens and dollars of a turn; 0 dollars without a price."""
    note: Callable[[str], None] = lambda _: None
    """A line about no cell: where a dashboard is, why a worker takes no block."""
    workers: Callable[[str], None] = lambda _: None
    """In a line, how much each worker has begun, and which take nothing; again when it changes."""
