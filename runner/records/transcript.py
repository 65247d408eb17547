"""The events of transcript.jsonl, and the two halves it is split into."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from runner.records.record import Count, Record, Seconds, Sha256, unless_none


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
    """What the model saw: head and tail if truncated."""
    is_error: bool
    size_chars: Count
    """Of the whole result."""
    digest: Sha256
    """Of the whole result's UTF-8."""
    truncated: bool
    wall_sec: Seconds | None
    """None if another harness ran it and does not say."""
    waited_sec: Seconds | None = None
    """What the agent waited for it: 0 if a slower call ran beside it. None: all of wall_sec."""
    moved_numbers: Count | None = unless_none()
    """Line numbers in it that the harness moved; None in an arm whose results are left alone."""


class TokenBreakdown(Record):
    """A turn's tokens by what they were of.

    The first four sum to the input, caches included; the last three to the output.
    """

    prompts: Count
    """The system prompt, a server's instructions and the steps' prompts."""
    schemas: Count
    """The tools' definitions."""
    results: Count
    """What tools returned."""
    replies: Count
    """The model's own earlier turns, given back to it."""
    thinking: Count
    prose: Count
    arguments: Count
    """Of calls, with the tools' names."""
    estimated: bool = True
    """Shared out by characters, because the provider counts no parts."""


COMPACTION = "compaction"
"""Whose turn it is that sums a conversation up, for its agent to go on from."""


class Usage(Record):
    type: Literal["usage"] = "usage"
    step: Count
    turn: Count
    input_tokens: Count
    """All that came from no cache, what was written to one included."""
    output_tokens: Count
    cache_read_tokens: Count = 0
    """Beside input_tokens."""
    cache_write_tokens: Count = 0
    """Of input_tokens."""
    dropped_tokens: Count | None = unless_none()
    """Of output_tokens: thinking that no later request holds. None: nothing says that any was."""
    subagent: str | None = unless_none()
    """Whose turn it is, in another conversation than the agent's own; COMPACTION has its name."""
    wall_sec: Seconds | None
    """The whole model turn, back-off included; None if another harness had it and does not say."""
    backoff_sec: Seconds = 0.0
    """Waits and failed attempts."""
    queued_sec: Seconds = 0.0
    """Of backoff_sec: waiting for our own other requests to the provider."""
    retries: Count = 0
    served_by: str = ""
    """The model that the provider says answered."""
    estimated: bool = False
    """True if the model counts no tokens and they are taken as characters / 4."""
    phases: TokenBreakdown | None = None
    """None in transcripts of earlier versions."""


class StepEnd(Record):
    type: Literal["step_end"] = "step_end"
    step: Count
    stop: Literal["end", "max_tokens", "refusal", "cut"]
    """Why the step ended; `cut` when a budget or a fault ended the cell inside it."""
    elapsed_sec: Seconds | None = unless_none()
    """The whole of it as another harness counted: turns, calls and waits together."""


class Malformed(Record):
    """A turn that is neither calls nor an answer, and what the model was told about it."""

    type: Literal["malformed"] = "malformed"
    step: Count
    turn: Count
    text: str
    """As the model wrote it."""
    problem: str


class Note(Record):
    """An event of the harness: a restarted shell, a stray stdout line, a network attempt."""

    type: Literal["note"] = "note"
    text: str


Event = Annotated[
    SystemPrompt
    | Prompt
    | Prose
    | Thinking
    | ToolCall
    | ToolResult
    | Malformed
    | Usage
    | StepEnd
    | Note,
    Field(discriminator="type"),
]


class AnswerStep(Record):
    name: str
    prompt: str
    text: str
    """All prose of the step; empty if there was none."""
    completed: bool
    """The model ended the step itself, with prose."""


class Answer(Record):
    """What fairness scorers see: prose alone, no tool input, no tool output, no arm.

    An agent that greps for the rubric's keywords would otherwise score for having typed them
    (docs/scores.md).
    """

    steps: tuple[AnswerStep, ...]


class TraceCall(Record):
    step: Count
    origin: Literal["shell", "server"]
    tool: str
    arguments: dict[str, Any]
    is_error: bool
    size_chars: Count
    wall_sec: Seconds | None


class ToolTrace(Record):
    """What adoption scorers see: tool calls alone."""

    steps: Count
    """Planned steps of the scenario."""
    calls: tuple[TraceCall, ...]


class Effort(Record):
    """What the answer cost."""

    input_tokens: Count
    output_tokens: Count
    agent_sec: Seconds | None
    """None if the transcript does not say."""
    backoff_sec: Seconds
    queued_sec: Seconds = 0.0
    """Of backoff_sec: waiting for our own other requests to the provider."""
    actions: Count
    steps_completed: Count
    steps: Count
    tokens_estimated: bool
    cache_read_tokens: Count = 0
    """Beside input_tokens."""
    cache_write_tokens: Count = 0
    """Of input_tokens."""
    new_tokens: Count | None = unless_none()
    """Each token of the conversation once, whatever cache served it. None in scorecards of earlier
    versions; scored again, they have it."""
    context_tokens: Count = 0
    """At the end: the last turn's input, caches included, and what it wrote."""
    malformed: Count = 0
    """Turns that were neither calls nor an answer."""
    retries: Count = 0
    phases: TokenBreakdown | None = None
    """Summed over the turns; None if none says."""
