"""`tool_calling`: one conversation over a scenario's steps, by the model's native tool calls."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from runner.agents.prompt import SYSTEM
from runner.agents.tools import Toolbox, ToolOutcome
from runner.agents.usage import UsageTotals
from runner.protocols import Call, Message, Model, Result, ToolMessage, Turn, UserMessage
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


@dataclass(kw_only=True)
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
        """All steps, or until a limit ends them.

        Raises SandboxError, ServerError or ProviderError if that part failed.
        """
        self.record(SystemPrompt(text=SYSTEM, instructions=self.instructions))
        for number, step in enumerate(self.scenario.steps):
            self.record(Prompt(step=number, text=step.prompt))
            self.messages.append(UserMessage(text=step.prompt))
            outcome = await self._run_step(number)
            if outcome is not None:
                return outcome
        return Outcome(kind="answered", reason=f"all {len(self.scenario.steps)} steps")

    async def _run_step(self, step: int) -> Outcome | None:
        """Turn after turn until the model calls no tool. None if the conversation goes on."""
        number = 0
        while True:
            over = self.totals.over(self.scenario.budget)
            if over is not None:
                self.record(StepEnd(step=step, stop="cut"))
                return over
            try:
                turn = await self._turn(step, number)
            except TimeoutError:
                self.record(StepEnd(step=step, stop="cut"))
                reason = f"the model's turn went past {self.scenario.budget.wall_sec} s"
                return Outcome(kind="out_of_time", reason=reason)
            if turn.stop == "refusal":
                self.record(StepEnd(step=step, stop="refusal"))
                return Outcome(kind="refused", reason=f"the model refused at step {step + 1}")
            if not turn.calls:
                self.record(_own_end(step, turn))
                return None
            await self._call_tools(step, number, turn.calls)
            number += 1

    async def _turn(self, step: int, number: int) -> Turn:
        started = time.monotonic()
        turn = await self.model.turn(
            self._system(),
            self.messages,
            self.toolbox.specs,
            timeout_sec=self.totals.seconds_left(self.scenario.budget),
        )
        wall_sec = time.monotonic() - started
        self.messages.append(turn)
        self.totals.add_turn(turn, wall_sec)
        if turn.thinking:
            self.record(Thinking(step=step, turn=number, text=turn.thinking))
        if turn.text:
            self.record(Prose(step=step, turn=number, text=turn.text))
        self.record(_usage(step, number, turn, wall_sec))
        return turn

    def _system(self) -> str:
        if not self.instructions:
            return SYSTEM
        return f"{SYSTEM}\n{self.instructions}".rstrip()

    async def _call_tools(self, step: int, turn: int, calls: tuple[Call, ...]) -> None:
        results = []
        for call in calls:
            self.record(self._tool_call(step, turn, call))
            started = time.monotonic()
            # The time left reaches the call: a hung tool would outlive the budget it is charged to.
            left_sec = self.totals.seconds_left(self.scenario.budget)
            outcome = await self.toolbox.call(call, left_sec)
            self.totals.add_call(time.monotonic() - started)
            self.record(_tool_result(step, turn, call, outcome))
            results.append(Result(call_id=call.id, text=outcome.text, is_error=outcome.is_error))
        self.messages.append(ToolMessage(results=tuple(results)))

    def _tool_call(self, step: int, turn: int, call: Call) -> ToolCall:
        return ToolCall(
            step=step,
            turn=turn,
            call_id=call.id,
            origin=self.toolbox.origin(call.tool),
            tool=call.tool,
            arguments=call.arguments,
        )


def _own_end(step: int, turn: Turn) -> StepEnd:
    if turn.stop == "max_tokens":
        # An answer cut by the provider's limit is told apart from one the model ended itself.
        return StepEnd(step=step, stop="max_tokens")
    return StepEnd(step=step, stop="end")


def _usage(step: int, number: int, turn: Turn, wall_sec: float) -> Usage:
    return Usage(
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


def _tool_result(step: int, turn: int, call: Call, outcome: ToolOutcome) -> ToolResult:
    return ToolResult(
        step=step,
        turn=turn,
        call_id=call.id,
        text=outcome.text,
        is_error=outcome.is_error,
        size_chars=outcome.size_chars,
        digest=outcome.digest,
        truncated=outcome.truncated,
        wall_sec=outcome.wall_sec,
    )
