"""The turn loop and its toolbox."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runner.agents.prompt import SYSTEM
from runner.agents.tool_calling import Conversation
from runner.agents.tools import Toolbox
from runner.agents.usage import UsageTotals
from runner.errors import ProviderError
from runner.protocols import Turn
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
from tests.helpers import LocalSandbox, Scripted, calls, says, scenario


def hold(
    given: Scenario, model: Scripted, folder: Path, limits: Limits | None = None
) -> tuple[Outcome, list[Event], UsageTotals]:
    events: list[Event] = []
    toolbox = Toolbox(LocalSandbox(folder), limits or Limits())
    conversation = Conversation(model=model, scenario=given, toolbox=toolbox, record=events.append)
    return asyncio.run(conversation.run()), events, conversation.totals


def test_steps_follow_one_another_in_one_conversation(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    model = Scripted(calls("cat a.py"), says("It sets x, a.py:1."), says("Nothing else."))
    outcome, events, _ = hold(scenario("What does a.py do?", "And?"), model, tmp_path)
    assert outcome.kind == "answered"
    assert [event.text for event in events if isinstance(event, Prompt)] == [
        "What does a.py do?",
        "And?",
    ]
    assert [event.text for event in events if isinstance(event, Prose)] == [
        "It sets x, a.py:1.",
        "Nothing else.",
    ]
    assert [event.text for event in events if isinstance(event, ToolResult)] == ["x = 1\n"]
    assert [length for _, length, _ in model.seen] == [1, 3, 5]
    assert [event.stop for event in events if isinstance(event, StepEnd)] == ["end", "end"]


def test_the_prompt_is_the_same_text_in_every_arm(tmp_path: Path) -> None:
    model = Scripted(says("ok"))
    hold(scenario("Why?"), model, tmp_path)
    assert model.seen == [(SYSTEM, 1, ("shell",))]
    assert "server" not in SYSTEM.lower()
    assert "mcp" not in SYSTEM.lower()


def test_a_failing_command_is_an_error_the_model_sees_with_its_exit_code(tmp_path: Path) -> None:
    _, events, _ = hold(scenario("?"), Scripted(calls("ls no-such-file"), says("gone")), tmp_path)
    result = next(event for event in events if isinstance(event, ToolResult))
    assert result.is_error
    assert result.text.endswith("[exit code 2]")


@pytest.mark.parametrize("command", ["", "   "])
def test_an_empty_command_is_refused_and_the_conversation_goes_on(
    tmp_path: Path, command: str
) -> None:
    outcome, events, _ = hold(scenario("?"), Scripted(calls(command), says("well")), tmp_path)
    assert outcome.kind == "answered"
    assert (
        next(event for event in events if isinstance(event, ToolResult)).text
        == "shell takes one argument, `command`, a text"
    )


def test_a_tool_nobody_offered_is_an_error_result(tmp_path: Path) -> None:
    _, events, _ = hold(scenario("?"), Scripted(calls("x", tool="grep"), says("well")), tmp_path)
    result = next(event for event in events if isinstance(event, ToolResult))
    assert (result.text, result.is_error) == ("there is no tool 'grep'", True)


def test_tokens_past_the_ceiling_end_the_cell_inside_the_step(tmp_path: Path) -> None:
    model = Scripted(calls("true", tokens=600), calls("true", tokens=600), says("never said"))
    outcome, events, totals = hold(scenario("?", tokens=1000), model, tmp_path)
    assert (outcome.kind, outcome.reason) == ("out_of_tokens", "1,200 of 1,000 tokens")
    assert totals.tokens == 1200
    assert [event.stop for event in events if isinstance(event, StepEnd)] == ["cut"]
    assert not [event for event in events if isinstance(event, Prose)]


def test_actions_past_the_ceiling_end_the_cell(tmp_path: Path) -> None:
    outcome, _, totals = hold(
        scenario("?", actions=2), Scripted(calls("true", "true"), calls("true")), tmp_path
    )
    assert (outcome.kind, totals.actions) == ("out_of_actions", 2)


def test_the_time_left_reaches_the_tool_call(tmp_path: Path) -> None:
    class Slow(LocalSandbox):
        asked: list[float] = []  # noqa: RUF012 - one test's notebook

        async def shell(self, command: str, *, timeout_sec: float):  # type: ignore[no-untyped-def]
            self.asked.append(timeout_sec)
            await asyncio.sleep(1.2)
            return await super().shell("true", timeout_sec=5)

    events: list[Event] = []
    toolbox = Toolbox(Slow(tmp_path), Limits(shell_timeout_sec=60))
    conversation = Conversation(
        model=Scripted(calls("sleep"), calls("sleep"), says("late")),
        scenario=scenario("?", wall_sec=2),
        toolbox=toolbox,
        record=events.append,
    )
    outcome = asyncio.run(conversation.run())
    assert outcome.kind == "out_of_time"
    assert Slow.asked[0] == pytest.approx(2, abs=0.3)
    assert Slow.asked[1] == pytest.approx(1, abs=0.3)


def test_a_model_turn_past_the_deadline_is_out_of_time(tmp_path: Path) -> None:
    outcome, events, _ = hold(scenario("?"), Scripted(TimeoutError()), tmp_path)
    assert outcome.kind == "out_of_time"
    assert isinstance(events[-1], StepEnd)


def test_a_refusal_is_a_measurement(tmp_path: Path) -> None:
    refusal = Turn(text="No.", calls=(), stop="refusal", input_tokens=1, output_tokens=1)
    outcome, _, _ = hold(scenario("?", "??"), Scripted(refusal), tmp_path)
    assert (outcome.kind, outcome.is_measurement) == ("refused", True)


def test_back_off_is_not_charged_to_the_arm(tmp_path: Path) -> None:
    slept = Turn(
        text="at last", calls=(), stop="end", input_tokens=1, output_tokens=1, backoff_sec=3600
    )
    outcome, events, totals = hold(scenario("?", wall_sec=5), Scripted(slept), tmp_path)
    assert outcome.kind == "answered"
    assert totals.agent_sec < 5
    assert totals.backoff_sec == 3600
    assert [event.backoff_sec for event in events if isinstance(event, Usage)] == [3600]


def test_a_provider_that_fails_is_not_the_arms_failure(tmp_path: Path) -> None:
    with pytest.raises(ProviderError):
        hold(scenario("?"), Scripted(ProviderError("overloaded")), tmp_path)


def test_every_call_is_recorded_before_it_is_made(tmp_path: Path) -> None:
    events: list[Event] = []

    class Broken(LocalSandbox):
        async def shell(self, command: str, *, timeout_sec: float):  # type: ignore[no-untyped-def]
            raise ProviderError("the cell is gone")

    conversation = Conversation(
        model=Scripted(calls("boom")),
        scenario=scenario("?"),
        toolbox=Toolbox(Broken(tmp_path), Limits()),
        record=events.append,
    )
    with pytest.raises(ProviderError):
        asyncio.run(conversation.run())
    assert isinstance(events[-1], ToolCall)
