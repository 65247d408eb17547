"""The turn loop and its toolbox."""

from __future__ import annotations

import asyncio
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


def converse(
    given: Scenario, model: Scripted, folder: Path
) -> tuple[Outcome, list[Event], UsageTotals]:
    events: list[Event] = []
    toolbox = Toolbox(LocalSandbox(folder), Limits())
    conversation = Conversation(model=model, scenario=given, toolbox=toolbox, record=events.append)
    return asyncio.run(conversation.run()), events, conversation.totals


def only(kind: type[E], events: list[Event]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


# --- a conversation -----------------------------------------------------------------------------


def test_steps_follow_one_another_in_one_conversation(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    model = Scripted(calls("cat a.py"), says("It sets x, a.py:1."), says("Nothing else."))
    outcome, events, _ = converse(scenario("What does a.py do?", "And?"), model, tmp_path)
    assert outcome.kind == "answered"
    prompts = [event.text for event in only(Prompt, events)]
    assert prompts == ["What does a.py do?", "And?"]
    answers = [event.text for event in only(Prose, events)]
    assert answers == ["It sets x, a.py:1.", "Nothing else."]
    assert [event.text for event in only(ToolResult, events)] == ["x = 1\n"]
    assert [asked.messages for asked in model.asked] == [1, 3, 5]
    assert [event.stop for event in only(StepEnd, events)] == ["end", "end"]


def test_the_prompt_is_the_same_text_in_every_arm(tmp_path: Path) -> None:
    model = Scripted(says("ok"))
    converse(scenario("Why?"), model, tmp_path)
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


def test_a_failing_command_is_an_error_the_model_sees_with_its_exit_code(tmp_path: Path) -> None:
    model = Scripted(calls("ls no-such-file"), says("gone"))
    _, events, _ = converse(scenario("?"), model, tmp_path)
    (result,) = only(ToolResult, events)
    assert result.is_error
    assert result.text.endswith("[exit code 2]")


@pytest.mark.parametrize("command", ["", "   "])
def test_an_empty_command_is_refused_and_the_conversation_goes_on(
    tmp_path: Path, command: str
) -> None:
    model = Scripted(calls(command), says("well"))
    outcome, events, _ = converse(scenario("?"), model, tmp_path)
    assert outcome.kind == "answered"
    (result,) = only(ToolResult, events)
    assert result.text == "shell takes one argument, `command`, a text"


def test_a_tool_nobody_offered_is_an_error_result(tmp_path: Path) -> None:
    model = Scripted(calls("x", tool="grep"), says("well"))
    _, events, _ = converse(scenario("?"), model, tmp_path)
    (result,) = only(ToolResult, events)
    assert (result.text, result.is_error) == ("there is no tool 'grep'", True)


# --- limits -------------------------------------------------------------------------------------


def test_tokens_past_the_ceiling_end_the_cell_inside_the_step(tmp_path: Path) -> None:
    model = Scripted(calls("true", tokens=600), calls("true", tokens=600), says("never said"))
    outcome, events, totals = converse(scenario("?", tokens=1000), model, tmp_path)
    assert (outcome.kind, outcome.reason) == ("out_of_tokens", "1,200 of 1,000 tokens")
    assert totals.tokens == 1200
    assert [event.stop for event in only(StepEnd, events)] == ["cut"]
    assert only(Prose, events) == []


def test_actions_past_the_ceiling_end_the_cell(tmp_path: Path) -> None:
    model = Scripted(calls("true", "true"), calls("true"))
    outcome, _, totals = converse(scenario("?", actions=2), model, tmp_path)
    assert (outcome.kind, totals.actions) == ("out_of_actions", 2)


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


def test_a_model_turn_past_the_deadline_is_out_of_time(tmp_path: Path) -> None:
    outcome, events, _ = converse(scenario("?"), Scripted(TimeoutError()), tmp_path)
    assert outcome.kind == "out_of_time"
    assert isinstance(events[-1], StepEnd)


# --- what the provider does ---------------------------------------------------------------------


def test_a_refusal_is_a_measurement(tmp_path: Path) -> None:
    refusal = Turn(text="No.", calls=(), stop="refusal", input_tokens=1, output_tokens=1)
    outcome, _, _ = converse(scenario("?", "??"), Scripted(refusal), tmp_path)
    assert (outcome.kind, outcome.is_measurement) == ("refused", True)


def test_back_off_is_not_charged_to_the_arm(tmp_path: Path) -> None:
    slept = Turn(
        text="at last", calls=(), stop="end", input_tokens=1, output_tokens=1, backoff_sec=3600
    )
    outcome, events, totals = converse(scenario("?", wall_sec=5), Scripted(slept), tmp_path)
    assert outcome.kind == "answered"
    assert totals.agent_sec < 5
    assert totals.backoff_sec == 3600
    assert [event.backoff_sec for event in only(Usage, events)] == [3600]


def test_a_provider_that_fails_is_not_the_arms_failure(tmp_path: Path) -> None:
    with pytest.raises(ProviderError):
        converse(scenario("?"), Scripted(ProviderError("overloaded")), tmp_path)
