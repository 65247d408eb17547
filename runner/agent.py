"""The agent: one conversation over a scenario's steps, by native tool calling. It knows a model and a toolbox, and no arm."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from runner.protocols import (
    Call,
    Message,
    Model,
    Result,
    Sandbox,
    ToolMessage,
    ToolSpec,
    Turn,
    UserMessage,
)
from runner.records import (
    Event,
    Limits,
    Outcome,
    Prompt,
    Prose,
    Scenario,
    StepEnd,
    SystemPrompt,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)
from runner.sandbox.docker import cut
from runner.sandbox.session import ServerSession

SYSTEM = """\
You answer questions about a source repository that is checked out, read-only, at /workspace, your working directory. It has no network.
The reader is another coding agent, who will work from your answer with small, targeted look-ups and no fresh exploration.

- Look things up with the tools you have before you answer. Several questions follow one another in one conversation.
- Support what you say about the code with citations in the form path/to/file.ext:line, the path relative to the repository's root and the
  line counted from 1. Cite what you have seen; a wrong line is worse than none.
- Say what each place does and why it matters, and say plainly what you could not establish.
- When you have enough, write the answer and call no tool. That ends the step.
"""
SHELL_SPEC = ToolSpec(
    name="shell",
    description=(
        "Run one command with bash at the repository's root and get stdout and stderr. Each call is a fresh shell. There is no network, "
        "and the repository is read-only; /tmp may be written. Long output is cut in the middle, and says so."
    ),
    input_schema={
        "type": "object",
        "properties": {"command": {"type": "string", "description": "The bash command."}},
        "required": ["command"],
        "additionalProperties": False,
    },
    origin="shell",
)


@dataclass(frozen=True, kw_only=True)
class ToolOutcome:
    text: str
    is_error: bool
    size_chars: int
    digest: str
    truncated: bool
    wall_sec: float


class Toolbox:
    """What the arm offers: the shell, and a server's tools where one is mounted."""

    def __init__(
        self,
        sandbox: Sandbox,
        limits: Limits,
        *,
        server: str = "",
        session: ServerSession | None = None,
        call_sec: float = 120,
    ) -> None:
        self._sandbox, self._limits, self._session, self._call_sec = (
            sandbox,
            limits,
            session,
            call_sec,
        )
        self._names: dict[str, str] = {}
        specs = [SHELL_SPEC]
        for tool in session.tools if session else ():
            name = _unique(_tool_name(server, tool.name), self._names)
            self._names[name] = tool.name
            specs.append(
                ToolSpec(
                    name=name,
                    description=tool.description or "",
                    input_schema=tool.input_schema,
                    origin="server",
                )
            )
        self.specs = tuple(specs)

    def origin(self, tool: str) -> Literal["shell", "server"]:
        return "server" if tool in self._names else "shell"

    async def call(self, call: Call, timeout_sec: float) -> ToolOutcome:
        """Raises SandboxError where the container is gone, ServerError where the server is."""
        if call.tool in self._names and self._session is not None:
            limit = min(timeout_sec, self._call_sec)
            result = await self._session.call(
                self._names[call.tool], call.arguments, timeout_sec=limit
            )
            return _whole(result.text, result.is_error, result.wall_sec, self._limits)
        if call.tool != SHELL_SPEC.name:
            return _whole(f"there is no tool {call.tool!r}", True, 0.0, self._limits)
        command = call.arguments.get("command")
        if not isinstance(command, str) or not command.strip():
            return _whole("shell takes one argument, `command`, a text", True, 0.0, self._limits)
        return await self._shell(command, timeout_sec)

    async def _shell(self, command: str, timeout_sec: float) -> ToolOutcome:
        limit = max(1.0, min(timeout_sec, self._limits.shell_timeout_sec))
        done = await self._sandbox.shell(command, timeout_sec=limit)
        status = (
            f"[stopped after {limit:g} s]"
            if done.timed_out
            else f"[exit code {done.exit_code}]"
            if done.exit_code
            else ""
        )
        text = f"{done.output.rstrip()}\n{status}".strip() if status else done.output
        return ToolOutcome(
            text=text,
            is_error=done.timed_out or done.exit_code != 0,
            size_chars=done.size_chars,
            digest=done.digest,
            truncated=done.truncated,
            wall_sec=done.wall_sec,
        )


def _whole(text: str, is_error: bool, wall_sec: float, limits: Limits) -> ToolOutcome:
    shown, truncated = cut(text, limits.result_chars)
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    return ToolOutcome(
        text=shown,
        is_error=is_error,
        size_chars=len(text),
        digest=digest,
        truncated=truncated,
        wall_sec=wall_sec,
    )


def _tool_name(server: str, tool: str) -> str:
    """As MCP clients name it for a model, in the letters and the length that model APIs take."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", f"mcp__{server}__{tool}")[:128]


def _unique(name: str, taken: dict[str, str]) -> str:
    number, candidate = 2, name
    while candidate in taken:
        candidate = f"{name[:120]}_{number}"
        number += 1
    return candidate


@dataclass
class Spent:
    """What the cell has used so far, against its budget."""

    tokens: int = 0
    actions: int = 0
    agent_sec: float = 0.0
    backoff_sec: float = 0.0


@dataclass
class Conversation:
    """One cell's conversation. `record` gets every event as it happens."""

    model: Model
    scenario: Scenario
    toolbox: Toolbox
    record: Callable[[Event], None]
    spent: Spent = field(default_factory=Spent)
    messages: list[Message] = field(default_factory=list)
    instructions: str = ""

    async def hold(self) -> Outcome:
        """All steps, or until a ceiling. Raises SandboxError, ServerError or ProviderError where a part failed."""
        self.record(SystemPrompt(text=SYSTEM, instructions=self.instructions))
        for number, step in enumerate(self.scenario.steps):
            self.record(Prompt(step=number, text=step.prompt))
            self.messages.append(UserMessage(text=step.prompt))
            outcome = await self._step(number)
            if outcome is not None:
                return outcome
        return Outcome(kind="answered", reason=f"all {len(self.scenario.steps)} steps")

    async def _step(self, number: int) -> Outcome | None:
        turn_number = 0
        while True:
            over = self._over_budget()
            if over is not None:
                self.record(StepEnd(step=number, stop="cut"))
                return over
            try:
                turn = await self._turn(number, turn_number)
            except TimeoutError:
                self.record(StepEnd(step=number, stop="cut"))
                return Outcome(
                    kind="out_of_time",
                    reason=f"the model's turn went past {self.scenario.budget.wall_sec} s",
                )
            if turn.stop == "refusal":
                self.record(StepEnd(step=number, stop="refusal"))
                return Outcome(kind="refused", reason=f"the model refused at step {number + 1}")
            if not turn.calls:
                self.record(
                    StepEnd(step=number, stop="max_tokens" if turn.stop == "max_tokens" else "end")
                )
                return None
            await self._call_tools(number, turn_number, turn.calls)
            turn_number += 1

    async def _turn(self, step: int, number: int) -> Turn:
        started = time.monotonic()
        left = self.scenario.budget.wall_sec - self.spent.agent_sec
        system = f"{SYSTEM}\n{self.instructions}".rstrip() if self.instructions else SYSTEM
        turn = await self.model.turn(
            system, self.messages, self.toolbox.specs, timeout_sec=max(1.0, left)
        )
        wall_sec = time.monotonic() - started
        self.messages.append(turn)
        self.spent.tokens += turn.input_tokens + turn.output_tokens
        self.spent.backoff_sec += turn.backoff_sec
        self.spent.agent_sec += max(0.0, wall_sec - turn.backoff_sec)
        if turn.thinking:
            self.record(Thinking(step=step, turn=number, text=turn.thinking))
        if turn.text:
            self.record(Prose(step=step, turn=number, text=turn.text))
        self.record(
            Usage(
                step=step,
                turn=number,
                input_tokens=turn.input_tokens,
                output_tokens=turn.output_tokens,
                cache_read_tokens=turn.cache_read_tokens,
                cache_write_tokens=turn.cache_write_tokens,
                wall_sec=wall_sec,
                backoff_sec=turn.backoff_sec,
                estimated=turn.estimated,
            )
        )
        return turn

    async def _call_tools(self, step: int, turn: int, calls: tuple[Call, ...]) -> None:
        results = []
        for call in calls:
            origin = self.toolbox.origin(call.tool)
            self.record(
                ToolCall(
                    step=step,
                    turn=turn,
                    call_id=call.id,
                    origin=origin,
                    tool=call.tool,
                    arguments=call.arguments,
                )
            )
            started = time.monotonic()
            # The time left reaches the call itself: a hung tool must not outlive the budget it is charged to.
            left = self.scenario.budget.wall_sec - self.spent.agent_sec
            done = await self.toolbox.call(call, max(1.0, left))
            self.spent.agent_sec += time.monotonic() - started
            self.spent.actions += 1
            self.record(
                ToolResult(
                    step=step,
                    turn=turn,
                    call_id=call.id,
                    text=done.text,
                    is_error=done.is_error,
                    size_chars=done.size_chars,
                    digest=done.digest,
                    truncated=done.truncated,
                    wall_sec=done.wall_sec,
                )
            )
            results.append(Result(call_id=call.id, text=done.text, is_error=done.is_error))
        self.messages.append(ToolMessage(results=tuple(results)))

    def _over_budget(self) -> Outcome | None:
        budget, spent = self.scenario.budget, self.spent
        if spent.agent_sec >= budget.wall_sec:
            return Outcome(
                kind="out_of_time", reason=f"{spent.agent_sec:.0f} s of {budget.wall_sec} s"
            )
        if spent.tokens >= budget.tokens:
            return Outcome(
                kind="out_of_tokens", reason=f"{spent.tokens:,} of {budget.tokens:,} tokens"
            )
        if spent.actions >= budget.actions:
            return Outcome(
                kind="out_of_actions", reason=f"{spent.actions} of {budget.actions} tool calls"
            )
        return None
