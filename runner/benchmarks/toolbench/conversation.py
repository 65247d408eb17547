"""One task put to a model. No tool is executed: what is measured is which calls it asks for.

The model is given what the label recorded for each expected call, so that it can go on; a call that
nobody expected is told that nothing was recorded for it. The task ends when the model does, or with
the first call beyond 1.5 times as many as are expected, which is let through and fails the task.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import floor
from typing import Literal

from runner.agents import tool_calling
from runner.agents.tools import ToolOutcome
from runner.benchmarks.toolbench.task_scores import MOST_CALLS_RATIO, bare_name
from runner.benchmarks.toolbench.tasks import Expected, Task
from runner.protocols import Call, Result, ToolMessage, ToolSpec, Turn
from runner.records import Budget, Malformed, Note, Outcome, StepEnd, ToolResult

BUDGET = Budget(tokens=1_000_000, wall_sec=300, actions=1_000_000)
"""The seed recommends 180 to 300 seconds. Calls are limited by the task's own number."""
PAUSES = 4
"""Turns beside those that call: a provider may pause a long one."""
RESULT_CHARS = 30_000
NOT_RECORDED = "Nothing is recorded for this call."


@dataclass(frozen=True)
class UnexecutedTools:
    """agents.tools.Tools: shown, and never executed."""

    specs: Sequence[ToolSpec]

    def origin(self, tool: str) -> Literal["shell", "server"]:  # noqa: ARG002 - there is no shell
        return "server"

    def is_read_only(self, tool: str) -> bool:  # noqa: ARG002
        return True

    async def call(self, call: Call, timeout_sec: float) -> ToolOutcome:
        raise NotImplementedError


@dataclass(kw_only=True)
class TaskConversation(tool_calling.Conversation):
    task: Task
    calls: int = 0
    unused: list[Expected] = field(default_factory=list)
    """Expected calls whose results were not given yet."""

    async def _run_step(self, step: int) -> Outcome:
        self.unused = list(self.task.expected)
        for number in range(self._most_calls() + 1 + PAUSES):
            over = self.totals.over(BUDGET)
            if over is not None:
                return self._cut(step, over)
            try:
                turn = await self._turn(step, number)
            except TimeoutError:
                reason = f"a turn went past {BUDGET.wall_sec} s"
                return self._cut(step, Outcome(kind="out_of_time", reason=reason))
            outcome = self._outcome(number, turn)
            if outcome is not None:
                return outcome
        return self._cut(step, Outcome(kind="answered", reason="as many turns as a task has"))

    def _most_calls(self) -> int:
        """That can still resolve."""
        return max(1, floor(len(self.task.expected) * MOST_CALLS_RATIO))

    def _outcome(self, number: int, turn: Turn) -> Outcome | None:
        """None if the conversation goes on."""
        if turn.stop == "malformed":
            self.record(Malformed(step=0, turn=number, text=turn.text, problem=turn.problem))
        if turn.stop == "refusal":
            self.record(StepEnd(step=0, stop="refusal"))
            return Outcome(kind="refused", reason="the model refused")
        if turn.stop == "context_full":
            reason = "the task no longer fits the model"
            return self._cut(0, Outcome(kind="out_of_context", reason=reason))
        self._note_calls(number, turn.calls)
        if turn.stop == "pause" and not turn.calls:
            return None
        # One more than allowed is let through: cut before it, a model could not break the limit.
        if turn.calls and self.calls <= self._most_calls():
            self._give_results(number, turn.calls)
            return None
        self._end(0, turn)
        return Outcome(kind="answered", reason=f"{self.calls} calls")

    def _note_calls(self, number: int, calls: Sequence[Call]) -> None:
        self.calls += len(calls)
        for call in calls:
            if call.problem:
                self.record(Note(text=f"{call.tool}: {call.problem}"))
            self.record(self._tool_call(0, number, call))

    # --- results ----------------------------------------------------------------------------

    def _give_results(self, number: int, calls: Sequence[Call]) -> None:
        results = []
        for call in calls:
            whole = self._recorded(call)
            text = whole[:RESULT_CHARS]
            self.record(
                ToolResult(
                    step=0,
                    turn=number,
                    call_id=call.id,
                    text=text,
                    is_error=False,
                    size_chars=len(whole),
                    digest=hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest(),
                    truncated=len(text) < len(whole),
                    wall_sec=0.0,
                )
            )
            results.append(Result(call_id=call.id, text=text, is_error=False))
        self.messages.append(ToolMessage(results=tuple(results)))

    def _recorded(self, call: Call) -> str:
        name = bare_name(call.tool, self.task)
        for place, expected in enumerate(self.unused):
            if expected.accepts(name):
                del self.unused[place]
                return expected.output or NOT_RECORDED
        return NOT_RECORDED
