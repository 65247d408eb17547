"""The agent: one conversation over a scenario's steps, by native tool calling. It knows a model and a toolbox, and no arm."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from runner.agents.prompt import SYSTEM
from runner.agents.tools import Toolbox
from runner.agents.usage import UsageTotals
from runner.protocols import (
    Call,
    Message,
    Model,
    Result,
    ToolMessage,
    Turn,
    UserMessage,
)
from runner.records import (
    Event,
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


@dataclass
class Conversation:
    """One cell's conversation. `record` gets every event as it happens."""

    model: Model
    scenario: Scenario
    toolbox: Toolbox
    record: Callable[[Event], None]
    totals: UsageTotals = field(default_factory=UsageTotals)
    messages: list[Message] = field(default_factory=list)
    instructions: str = ""

    async def run(self) -> Outcome:
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
        left = self.scenario.budget.wall_sec - self.totals.agent_sec
        system = f"{SYSTEM}\n{self.instructions}".rstrip() if self.instructions else SYSTEM
        turn = await self.model.turn(
            system, self.messages, self.toolbox.specs, timeout_sec=max(1.0, left)
        )
        wall_sec = time.monotonic() - started
        self.messages.append(turn)
        self.totals.tokens += turn.input_tokens + turn.output_tokens
        self.totals.backoff_sec += turn.backoff_sec
        self.totals.agent_sec += max(0.0, wall_sec - turn.backoff_sec)
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
            left = self.scenario.budget.wall_sec - self.totals.agent_sec
            done = await self.toolbox.call(call, max(1.0, left))
            self.totals.agent_sec += time.monotonic() - started
            self.totals.actions += 1
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
        budget, totals = self.scenario.budget, self.totals
        if totals.agent_sec >= budget.wall_sec:
            return Outcome(
                kind="out_of_time", reason=f"{totals.agent_sec:.0f} s of {budget.wall_sec} s"
            )
        if totals.tokens >= budget.tokens:
            return Outcome(
                kind="out_of_tokens", reason=f"{totals.tokens:,} of {budget.tokens:,} tokens"
            )
        if totals.actions >= budget.actions:
            return Outcome(
                kind="out_of_actions", reason=f"{totals.actions} of {budget.actions} tool calls"
            )
        return None
