"""`tool_calling`: one conversation over a scenario's steps, by the model's native tool calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from runner.agents.prompt import FINAL, SYSTEM, malformed
from runner.agents.token_breakdown import token_breakdown
from runner.agents.tools import ToolOutcome, Tools
from runner.agents.usage import UsageTotals, usage_of
from runner.protocols import Call, Message, Model, Result, ToolMessage, Turn, UserMessage
from runner.records import (
    Budget,
    Event,
    Malformed,
    Note,
    Outcome,
    Prompt,
    Prose,
    Step,
    StepEnd,
    SystemPrompt,
    Thinking,
    ToolCall,
    ToolResult,
)

T = TypeVar("T")


class Assignment(Protocol):
    """What a conversation is about: a scenario, or whatever else has steps and a budget."""

    @property
    def budget(self) -> Budget: ...
    @property
    def steps(self) -> Sequence[Step]: ...


@dataclass(kw_only=True)
class Conversation:
    """One cell's conversation. `record` gets every event as it happens."""

    model: Model
    scenario: Assignment
    toolbox: Tools
    record: Callable[[Event], None]
    totals: UsageTotals = field(default_factory=UsageTotals)
    messages: list[Message] = field(default_factory=list)
    instructions: str = ""
    system: str = SYSTEM
    turns_per_step: int | None = None
    """Past it, or past the tool calls it has, the model is told to answer. None: the cell ends."""

    async def run(self) -> Outcome:
        """All steps, or until a limit ends them.

        Raises SandboxError, ServerError or ProviderError if that part failed.
        """
        self.record(SystemPrompt(text=self.system, instructions=self.instructions))
        for number, step in enumerate(self.scenario.steps):
            self.record(Prompt(step=number, text=step.prompt))
            self.messages.append(UserMessage(text=step.prompt))
            outcome = await self._run_step(number)
            if outcome is not None:
                return outcome
        return Outcome(kind="answered", reason=f"all {len(self.scenario.steps)} steps")

    async def _run_step(self, step: int) -> Outcome | None:
        """Turn after turn until the model calls no tool. None if the conversation goes on."""
        pressed = 0
        exchanges: list[object] = []
        while True:
            over = self._over(exchanges)
            if over is not None:
                if pressed == PRESSED_AT_MOST or not self._may_answer(over):
                    return self._cut(step, over)
                self._press(step, over)
                pressed += 1
            try:
                turn = await self._turn(step, len(exchanges))
            except TimeoutError:
                reason = f"the model's turn went past {self.scenario.budget.wall_sec} s"
                return self._cut(step, Outcome(kind="out_of_time", reason=reason))
            if turn.stop in _ENDS_OF_A_CELL:
                return self._ended_by_model(step, turn)
            if not turn.calls and turn.stop not in _GO_ON:
                self._end(step, turn)
                return None
            await self._answer_turn(step, len(exchanges), turn, may_call=not pressed)
            exchanges.append(_exchange(turn, self.messages[-1]))

    async def _answer_turn(self, step: int, number: int, turn: Turn, *, may_call: bool) -> None:
        """Make its calls, or tell the model what is wrong; a pause needs no answer."""
        if turn.stop == "malformed":
            self._answer_form(step, number, turn, turn.problem)
        elif turn.calls and not may_call:
            self._answer_form(step, number, turn, NO_MORE_CALLS)
        elif turn.calls:
            await self._call_tools(step, number, turn.calls)

    def _cut(self, step: int, outcome: Outcome) -> Outcome:
        self.record(StepEnd(step=step, stop="cut"))
        return outcome

    def _end(self, step: int, turn: Turn) -> None:
        # An answer cut by the provider's limit is told apart from one the model ended itself.
        self.record(StepEnd(step=step, stop="max_tokens" if turn.stop == "max_tokens" else "end"))

    def _press(self, step: int, over: Outcome) -> None:
        """Tell the model that it is time to answer."""
        self.record(Note(text=f"told to answer at step {step + 1}: {over.reason}"))
        self.messages.append(UserMessage(text=FINAL, notice=True))

    def _over(self, exchanges: Sequence[object]) -> Outcome | None:
        """What limit the cell, or its step of so many exchanges, has met."""
        over = self.totals.over(self.scenario.budget)
        if over is not None:
            return over
        if self.turns_per_step is not None:
            if len(exchanges) < self.turns_per_step:
                return None
            reason = f"{len(exchanges)} turns in one step"
            return Outcome(kind="out_of_actions", reason=reason)
        last = exchanges[-SAME_AT_MOST:]
        if len(last) == SAME_AT_MOST and all(exchange == last[0] for exchange in last):
            reason = f"the same reply, answered by the same, {SAME_AT_MOST} times in a row"
            return Outcome(kind="out_of_actions", reason=reason)
        return None

    def _may_answer(self, over: Outcome) -> bool:
        return over.kind == "out_of_actions" and self.turns_per_step is not None

    def _answer_form(self, step: int, number: int, turn: Turn, problem: str) -> None:
        """Tell the model what is wrong with its reply, and count it."""
        text = turn.text or "".join(call.tool for call in turn.calls)
        self.record(Malformed(step=step, turn=number, text=text, problem=problem))
        self.messages[-1] = replace(turn, stop="malformed", calls=(), text=text)
        self.messages.append(UserMessage(text=malformed(problem), notice=True))

    def _ended_by_model(self, step: int, turn: Turn) -> Outcome:
        if turn.stop == "refusal":
            self.record(StepEnd(step=step, stop="refusal"))
            return Outcome(kind="refused", reason=f"the model refused at step {step + 1}")
        reason = f"the conversation no longer fits the model at step {step + 1}"
        return self._cut(step, Outcome(kind="out_of_context", reason=reason))

    async def _turn(self, step: int, number: int) -> Turn:
        started = time.monotonic()
        with self.totals.account.turn():
            turn = await self.model.turn(
                self._system(),
                self.messages,
                self.toolbox.specs,
                timeout_sec=self.totals.seconds_left(self.scenario.budget),
            )
        wall_sec = time.monotonic() - started
        phases = turn.phases
        if phases is None:
            phases = token_breakdown(self._system(), self.messages, self.toolbox.specs, turn)
        self.messages.append(turn)
        self.totals.add_turn(turn, wall_sec)
        for note in turn.notes:
            self.record(Note(text=note))
        if turn.thinking:
            self.record(Thinking(step=step, turn=number, text=turn.thinking))
        if turn.text and turn.stop != "malformed":
            self.record(Prose(step=step, turn=number, text=turn.text))
        self.record(usage_of(turn, step, number, wall_sec, phases))
        return turn

    def _system(self) -> str:
        if not self.instructions:
            return self.system
        return f"{self.system}\n{self.instructions}".rstrip()

    async def _call_tools(self, step: int, turn: int, calls: tuple[Call, ...]) -> None:
        results = []
        for batch in self._batches(calls):
            for call in batch:
                self.record(self._tool_call(step, turn, call))
            for call, outcome, waited_sec in await self._call_together(batch):
                self.record(_tool_result(step, turn, call, outcome, waited_sec))
                result = Result(call_id=call.id, text=outcome.text, is_error=outcome.is_error)
                results.append(result)
        self.messages.append(ToolMessage(results=tuple(results)))

    def _batches(self, calls: tuple[Call, ...]) -> Iterator[list[Call]]:
        """Neighbours that only read, together; any other call alone. The order stays."""
        reading: list[Call] = []
        for call in calls:
            if self.toolbox.is_read_only(call.tool):
                reading.append(call)
                continue
            if reading:
                yield reading
                reading = []
            yield [call]
        if reading:
            yield reading

    async def _call_together(self, batch: list[Call]) -> list[tuple[Call, ToolOutcome, float]]:
        """Each call with what it returned and the seconds that the agent waited for it.

        Of calls beside one another the agent waited for the slowest alone: it carries the batch's
        seconds, or a parallel turn would be charged like a sequence.
        """
        started = time.monotonic()
        # The time left reaches the call: a hung tool would outlive the budget it is charged to.
        left_sec = self.totals.seconds_left(self.scenario.budget)
        outcomes = await all_of([self.toolbox.call(call, left_sec) for call in batch])
        self.totals.add_calls(len(batch), time.monotonic() - started)
        slowest = max(range(len(batch)), key=lambda place: outcomes[place].wall_sec)
        waited = []
        for place, (call, outcome) in enumerate(zip(batch, outcomes, strict=True)):
            waited.append((call, outcome, outcome.wall_sec if place == slowest else 0.0))
        return waited

    def _tool_call(self, step: int, turn: int, call: Call) -> ToolCall:
        return ToolCall(
            step=step,
            turn=turn,
            call_id=call.id,
            origin=self.toolbox.origin(call.tool),
            tool=call.tool,
            arguments=call.arguments,
        )


NO_MORE_CALLS = "it asks for calls, and none is made any more"
SAME_AT_MOST = 4
"""A model that says the same to the same would go on until its tokens or its time are spent."""
PRESSED_AT_MOST = 2
"""Times a step's model is told to answer."""
_ENDS_OF_A_CELL = ("refusal", "context_full")
_GO_ON = ("pause", "malformed")
"""Stops of a turn without calls that do not end its step."""


def _exchange(turn: Turn, answer: Message) -> object:
    """A turn and what answered it, but for the ids of its calls: equal if nothing is new."""
    calls = [(call.tool, call.arguments) for call in turn.calls]
    if isinstance(answer, ToolMessage):
        return turn.text, calls, [(result.text, result.is_error) for result in answer.results]
    # A pause is answered by nothing, and an API may pause as often as it likes.
    return object() if answer is turn else (turn.text, calls, answer)


async def all_of(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The outcomes in order. Raises the first failure itself; the others are cancelled."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(item) for item in work]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    return [task.result() for task in tasks]


def _tool_result(
    step: int, turn: int, call: Call, outcome: ToolOutcome, waited_sec: float
) -> ToolResult:
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
        waited_sec=waited_sec,
        moved_numbers=outcome.moved_numbers,
    )
