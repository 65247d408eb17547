"""The turn loop and its toolbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import pytest

from runner.agents.prompt import SYSTEM
from runner.agents.tool_calling import Conversation
from runner.agents.tools import Toolbox
from runner.agents.usage import UsageTotals
from runner.errors import ProviderError
from runner.protocols import ShellResult, Turn
from runner.records import (
    Event,
    Limits,
    Outcome,
    Prompt,
    Prose,
    Scenario,
    StepEnd,
    ToolCall,
    ToolResult,
    Usage,
)
from tests.helpers import Asked, LocalSandbox, Scripted, calls, says, scenario

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A conversation that has ended, and what is known of it."""

    outcome: Outcome
    events: list[Event]
    totals: UsageTotals

    def only(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    def texts(self, kind: type[Prompt] | type[Prose] | type[ToolResult]) -> list[str]:
        return [event.text for event in self.only(kind)]

    @property
    def stops(self) -> list[str]:
        """How each step ended."""
        return [event.stop for event in self.only(StepEnd)]


Converse = Callable[[Scenario, Scripted], Ended]


@pytest.fixture
def converse(tmp_path: Path) -> Converse:
    """Has a conversation whose shell is this machine's own, in the test's folder."""

    def ask(asked: Scenario, model: Scripted) -> Ended:
        events: list[Event] = []
        conversation = Conversation(
            model=model,
            scenario=asked,
            toolbox=Toolbox(LocalSandbox(tmp_path), Limits()),
            record=events.append,
        )
        outcome = asyncio.run(conversation.run())
        return Ended(outcome=outcome, events=events, totals=conversation.totals)

    return ask


# --- a conversation -----------------------------------------------------------------------------


def test_steps_follow_one_another_in_one_conversation(converse: Converse, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    model = Scripted(calls("cat a.py"), says("It sets x, a.py:1."), says("Nothing else."))
    ended = converse(scenario("What does a.py do?", "And?"), model)
    assert ended.outcome.kind == "answered"
    assert ended.texts(Prompt) == ["What does a.py do?", "And?"]
    assert ended.texts(Prose) == ["It sets x, a.py:1.", "Nothing else."]
    assert ended.texts(ToolResult) == ["x = 1\n"]
    assert [asked.messages for asked in model.asked] == [1, 3, 5]
    assert ended.stops == ["end", "end"]


def test_the_prompt_is_the_same_text_in_every_arm(converse: Converse) -> None:
    model = Scripted(says("ok"))
    converse(scenario("Why?"), model)
    assert model.asked == [Asked(system=SYSTEM, messages=1, tools=("shell",))]
    assert "server" not in SYSTEM.lower()
    assert "mcp" not in SYSTEM.lower()


def test_every_call_is_recorded_before_it_is_made(tmp_path: Path) -> None:
    class Broken(LocalSandbox):
        async def shell(self, command: str, *, timeout_sec: float) -> ShellResult:
            raise ProviderError("the cell is gone")

    events: list[Event] = []
    conversation = Conversation(
        model=Scripted(calls("boom")),
        scenario=scenario("?"),
        toolbox=Toolbox(Broken(tmp_path), Limits()),
        record=events.append,
    )
    with pytest.raises(ProviderError):
        asyncio.run(conversation.run())
    assert isinstance(events[-1], ToolCall)


# --- calls that go wrong ------------------------------------------------------------------------


def test_a_failing_command_is_an_error_the_model_sees_with_its_exit_code(
    converse: Converse,
) -> None:
    ended = converse(scenario("?"), Scripted(calls("ls no-such-file"), says("gone")))
    (result,) = ended.only(ToolResult)
    assert result.is_error
    assert result.text.endswith("[exit code 2]")


@pytest.mark.parametrize("command", ["", "   "])
def test_an_empty_command_is_refused_and_the_conversation_goes_on(
    converse: Converse, command: str
) -> None:
    ended = converse(scenario("?"), Scripted(calls(command), says("well")))
    assert ended.outcome.kind == "answered"
    assert ended.texts(ToolResult) == ["shell takes one argument, `command`, a text"]


def test_a_tool_nobody_offered_is_an_error_result(converse: Converse) -> None:
    ended = converse(scenario("?"), Scripted(calls("x", tool="grep"), says("well")))
    (result,) = ended.only(ToolResult)
    assert (result.text, result.is_error) == ("there is no tool 'grep'", True)


# --- limits -------------------------------------------------------------------------------------


def test_tokens_past_the_ceiling_end_the_cell_inside_the_step(converse: Converse) -> None:
    model = Scripted(calls("true", tokens=600), calls("true", tokens=600), says("never said"))
    ended = converse(scenario("?", tokens=1000), model)
    outcome = ended.outcome
    assert (outcome.kind, outcome.reason) == ("out_of_tokens", "1,200 of 1,000 tokens")
    assert ended.totals.tokens == 1200
    assert ended.stops == ["cut"]
    assert ended.only(Prose) == []


def test_actions_past_the_ceiling_end_the_cell(converse: Converse) -> None:
    ended = converse(scenario("?", actions=2), Scripted(calls("true", "true"), calls("true")))
    assert (ended.outcome.kind, ended.totals.actions) == ("out_of_actions", 2)


def test_the_time_left_reaches_the_tool_call(tmp_path: Path) -> None:
    totals = UsageTotals()
    timeouts: list[float] = []

    class Slow(LocalSandbox):
        async def shell(self, command: str, *, timeout_sec: float) -> ShellResult:
            timeouts.append(timeout_sec)
            # Twenty minutes pass on the cell's account. Slept, they would have to be short, and
            # then a busy machine's own seconds would count beside them.
            totals.agent_sec += 1200
            return await super().shell("true", timeout_sec=timeout_sec)

    events: list[Event] = []
    conversation = Conversation(
        model=Scripted(calls("first"), calls("second"), says("late")),
        scenario=scenario("?", wall_sec=2000),
        toolbox=Toolbox(Slow(tmp_path), Limits(shell_timeout_sec=60_000)),
        record=events.append,
        totals=totals,
    )
    outcome = asyncio.run(conversation.run())
    assert outcome.kind == "out_of_time"
    assert timeouts == [pytest.approx(2000, abs=300), pytest.approx(800, abs=300)]


def test_a_model_turn_past_the_deadline_is_out_of_time(converse: Converse) -> None:
    ended = converse(scenario("?"), Scripted(TimeoutError()))
    assert ended.outcome.kind == "out_of_time"
    assert isinstance(ended.events[-1], StepEnd)


# --- what the provider does ---------------------------------------------------------------------


def test_a_refusal_is_a_measurement(converse: Converse) -> None:
    refusal = Turn(text="No.", calls=(), stop="refusal", input_tokens=1, output_tokens=1)
    outcome = converse(scenario("?", "??"), Scripted(refusal)).outcome
    assert (outcome.kind, outcome.is_measurement) == ("refused", True)


def test_back_off_is_not_charged_to_the_arm(converse: Converse) -> None:
    ended = converse(scenario("?", wall_sec=5), Scripted(replace(says("ok"), backoff_sec=3600)))
    assert ended.outcome.kind == "answered"
    assert ended.totals.agent_sec < 5
    assert ended.totals.backoff_sec == 3600
    (usage,) = ended.only(Usage)
    assert usage.backoff_sec == 3600


def test_a_provider_that_fails_is_not_the_arms_failure(converse: Converse) -> None:
    with pytest.raises(ProviderError):
        converse(scenario("?"), Scripted(ProviderError("overloaded")))
