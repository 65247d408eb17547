"""The turn loop and its toolbox."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import mcp_types
import pytest

from runner.agents import system_prompt
from runner.agents.prompt import SYSTEM
from runner.agents.tool_calling import Conversation
from runner.agents.tools import SHELL_SPEC, Toolbox, ToolOutcome
from runner.agents.usage import UsageTotals
from runner.protocols import Call, ShellResult, Turn
from runner.records import (
    Event,
    Limits,
    Prompt,
    Prose,
    Scenario,
    StepEnd,
    ToolCall,
    ToolResult,
    Usage,
)
from runner.records.transcript_files import split
from runner.sandbox.session import only_reads
from runner.support.errors import ProviderError, ServerError
from tests.helpers import (
    PATIENCE_SEC,
    Asked,
    Held,
    LocalSandbox,
    Scripted,
    calls,
    converse_here,
    converse_with,
    says,
    scenario,
    told,
)

Converse = Callable[[Scenario, Scripted], Held]


@pytest.fixture
def converse(tmp_path: Path) -> Converse:
    """Has a conversation whose shell is this machine's own, in the test's folder."""

    def ask(asked: Scenario, model: Scripted) -> Held:
        return converse_here("tool_calling", model, asked, tmp_path)

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
    assert model.asked == [Asked(system=told("tool_calling"), messages=1, tools=("shell",))]
    assert "server" not in SYSTEM.lower()
    assert "mcp" not in SYSTEM.lower()


def test_the_limits_are_told_once_and_are_those_that_hold() -> None:
    limits = Limits(shell_timeout_sec=7, result_chars=2345)
    text = system_prompt("tool_calling", limits, 678)
    stopped = "stopped after 7 s; you then get what had come of it"
    told = [stopped, "more than 2,345 characters", "ends after 678 tokens"]
    assert [text.count(words) for words in told] == [1, 1, 1]
    assert "cut" not in SHELL_SPEC.description
    assert "mcp" not in text.lower()


@pytest.mark.parametrize("printed", ["found so far\n", ""])
def test_a_stopped_command_keeps_its_output_and_says_that_it_was_stopped(
    tmp_path: Path, printed: str
) -> None:
    class Slow(LocalSandbox):
        async def shell(self, command: str, *, timeout_sec: float) -> ShellResult:
            done = await super().shell(f"printf '{printed}'", timeout_sec=PATIENCE_SEC)
            return replace(done, timed_out=True, exit_code=-9)

    toolbox = Toolbox(Slow(tmp_path), Limits(shell_timeout_sec=7))
    call = Call(id="1", tool="shell", arguments={"command": "find /"})
    outcome = asyncio.run(toolbox.call(call, 100))
    known = "above is what came of it" if printed else "nothing came of it yet"
    assert outcome.text == f"{printed}[stopped after 7 s; {known}]"
    assert outcome.is_error


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
    model = Scripted(calls("true", tokens=600), calls("true", tokens=1200), says("never said"))
    ended = converse(scenario("?", tokens=1000), model)
    outcome = ended.outcome
    assert (outcome.kind, outcome.reason) == ("out_of_tokens", "1,200 of 1,000 new tokens")
    assert ended.totals.new_tokens.total == 1200
    assert ended.stops == ["cut"]
    assert ended.only(Prose) == []


def test_actions_past_the_ceiling_end_the_cell(converse: Converse) -> None:
    ended = converse(scenario("?", actions=2), Scripted(calls("true", "true"), calls("true")))
    assert (ended.outcome.kind, ended.totals.actions) == ("out_of_actions", 2)


def test_a_model_that_says_the_same_to_the_same_is_ended_before_its_budget(
    converse: Converse,
) -> None:
    ended = converse(scenario("?"), Scripted(*[calls("echo here")] * 9))
    assert (ended.outcome.kind, ended.totals.actions) == ("out_of_actions", 4)
    assert "the same reply" in ended.outcome.reason
    unread = replace(says("{"), stop="malformed", problem="it is not JSON")
    assert len(converse(scenario("?"), Scripted(*[unread] * 9)).only(Usage)) == 4


def test_a_command_that_is_repeated_until_it_says_something_new_is_no_loop(
    converse: Converse,
) -> None:
    count = calls("echo x >> seen; wc -l < seen")
    ended = converse(scenario("?"), Scripted(*[count] * 9, says("nine")))
    assert (ended.outcome.kind, ended.totals.actions) == ("answered", 9)
    paused = replace(says("so far"), stop="pause")
    assert converse(scenario("?"), Scripted(*[paused] * 9, says("end"))).outcome.kind == "answered"


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

    model = Scripted(calls("first"), calls("second"), says("late"))
    toolbox = Toolbox(Slow(tmp_path), Limits(shell_timeout_sec=60_000))
    asked = scenario("?", wall_sec=2000)
    ended = converse_with("tool_calling", model, asked, toolbox, totals=totals)
    assert ended.outcome.kind == "out_of_time"
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


# --- several calls in a turn --------------------------------------------------------------------


class Tools(Toolbox):
    """A toolbox whose tools do what a test says; those named `read…` only read."""

    def __init__(self, folder: Path, do: Callable[[Call], Awaitable[ToolOutcome]]) -> None:
        super().__init__(LocalSandbox(folder), Limits())
        self.do = do

    def is_read_only(self, tool: str) -> bool:
        return tool.startswith("read")

    async def call(self, call: Call, timeout_sec: float) -> ToolOutcome:
        return await self.do(call)


def returns(text: str, wall_sec: float = 0.0) -> ToolOutcome:
    return ToolOutcome(
        text=text,
        is_error=False,
        size_chars=len(text),
        digest="0" * 64,
        truncated=False,
        wall_sec=wall_sec,
    )


def hold_with(toolbox: Toolbox, *tools: str) -> Held:
    """A turn that calls each tool once, and then an answer."""
    asked = tuple(Call(id=name, tool=name, arguments={}) for name in tools)
    calling = Turn(text="", calls=asked, stop="tool_use", input_tokens=1, output_tokens=1)
    model = Scripted(calling, says("Done."))
    return converse_with("tool_calling", model, scenario("?"), toolbox)


def test_calls_that_only_read_run_at_the_same_time_and_answer_in_order(tmp_path: Path) -> None:
    together = asyncio.Barrier(2)

    async def do(call: Call) -> ToolOutcome:
        # One after the other, the first would wait here for ever.
        await together.wait()
        await asyncio.sleep(0.1 if call.tool == "read_a" else 0)
        return returns(call.tool)

    ended = hold_with(Tools(tmp_path, do), "read_a", "read_b")
    assert ended.texts(ToolResult) == ["read_a", "read_b"]


def test_a_call_that_may_write_waits_for_those_before_it(tmp_path: Path) -> None:
    running: list[str] = []
    seen: list[tuple[str, ...]] = []

    async def do(call: Call) -> ToolOutcome:
        running.append(call.tool)
        await asyncio.sleep(0.02)
        seen.append(tuple(running))
        running.remove(call.tool)
        return returns(call.tool)

    ended = hold_with(Tools(tmp_path, do), "read_a", "write_b", "read_c", "write_d")
    assert seen == [("read_a",), ("write_b",), ("read_c",), ("write_d",)]
    assert ended.texts(ToolResult) == ["read_a", "write_b", "read_c", "write_d"]


def test_the_agent_waited_for_the_slowest_of_the_calls_beside_one_another(tmp_path: Path) -> None:
    async def do(call: Call) -> ToolOutcome:
        return returns(
            call.tool, wall_sec={"read_a": 10.0, "read_b": 60.0, "read_c": 20.0}[call.tool]
        )

    ended = hold_with(Tools(tmp_path, do), "read_a", "read_b", "read_c")
    assert [result.waited_sec for result in ended.only(ToolResult)] == [0.0, 60.0, 0.0]
    _, _, effort = split(ended.events, scenario("?"))
    assert effort.agent_sec == pytest.approx(60, abs=5)
    assert (ended.totals.actions, effort.actions) == (3, 3)


def test_a_server_lost_in_one_of_several_calls_is_the_servers_failure(tmp_path: Path) -> None:
    async def do(call: Call) -> ToolOutcome:
        if call.tool == "read_b":
            raise ServerError("gone")
        await asyncio.sleep(PATIENCE_SEC)
        return returns("never")

    with pytest.raises(ServerError, match="gone"):
        hold_with(Tools(tmp_path, do), "read_a", "read_b")


def test_only_a_server_that_says_so_has_tools_that_only_read() -> None:
    def tool(hint: bool | None) -> mcp_types.Tool:
        annotations = mcp_types.ToolAnnotations(read_only_hint=hint)
        return mcp_types.Tool(name="t", input_schema={}, annotations=annotations)

    assert [only_reads(tool(hint)) for hint in (True, False, None)] == [True, False, False]
    assert not only_reads(mcp_types.Tool(name="t", input_schema={}))
