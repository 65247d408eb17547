"""One query's conversation: thirty actions, then an answer, in both modes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from runner.agents.prompt import FINAL
from runner.benchmarks.agentbench.query_prompts import SYSTEMS, QueryMode
from runner.benchmarks.agentbench.testbed.router import Listing
from runner.benchmarks.agentbench.working import (
    ACTIONS,
    QueryConversation,
    RoutedTools,
    asked_as,
    instructions_of,
    request_of,
)
from runner.protocols import Call, Model, ToolSpec, Turn, UserMessage
from runner.records import Event, Note, Outcome, Prose, ToolResult
from runner.sandbox.session import McpResult
from tests.benchmarks.agentbench.material import query_of
from tests.benchmarks.conversations import of
from tests.helpers import Scripted, says

QUERY = query_of("single-server-single-call")
ECHO = ToolSpec(name="s__echo", description="", input_schema={"type": "object"}, origin="server")


class Behind:
    """What of a router a conversation uses; it counts the calls that reach it."""

    def __init__(self) -> None:
        self.made = 0
        self.tools = (type("Tool", (), {"spec": ECHO, "name": ECHO.name}),)

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, timeout_sec: float
    ) -> McpResult:
        self.made += 1
        return McpResult(text=f"{name} {arguments['text']}", is_error=False, wall_sec=0.0)


def asks(*texts: str, tool: str = "s__echo") -> Turn:
    made = tuple(
        Call(id=f"c{number}", tool=tool, arguments={"text": text})
        for number, text in enumerate(texts)
    )
    return Turn(text="", calls=made, stop="tool_use", input_tokens=1, output_tokens=1)


def pauses() -> Turn:
    return Turn(text="hm", calls=(), stop="pause", input_tokens=1, output_tokens=1)


def work(
    model: Model, router: Behind | None = None, mode: QueryMode = "tc"
) -> tuple[Outcome, list[Event]]:
    events: list[Event] = []
    behind: Any = router or Behind()
    conversation = QueryConversation(
        model=asked_as(mode, model),
        scenario=request_of(QUERY),
        toolbox=RoutedTools(behind, 200),
        record=events.append,
        system=SYSTEMS[mode],
    )
    return asyncio.run(conversation.run()), events


def tagged(calls: str, answer: str = "") -> Turn:
    return says(
        f"<reasoning>r</reasoning><tool_calls>{calls}</tool_calls><answer>{answer}</answer>"
    )


CALL = '[{"name": "s__echo", "arguments": {"text": "x"}}]'


def test_it_ends_with_the_first_reply_that_calls_nothing() -> None:
    model = Scripted(asks("a", "b"), says("It is done."), says("never"))
    outcome, events = work(model)
    assert (outcome.kind, [prose.text for prose in of(Prose, events)]) == (
        "answered",
        ["It is done."],
    )
    assert [result.text for result in of(ToolResult, events)] == ["s__echo a", "s__echo b"]
    assert len(model.turns) == 1


def test_there_is_no_shell_and_the_request_stands_in_its_tags() -> None:
    model = Scripted(asks("ls", tool="shell"), says("No."))
    _, events = work(model)
    assert model.asked[0].tools == ("s__echo",)
    assert of(ToolResult, events)[0].text == "there is no tool 'shell'"
    assert request_of(QUERY).steps[0].prompt == f"<user_query>\n{QUERY.query}\n</user_query>"


@pytest.mark.parametrize("mode", ["tc", "react"])
def test_past_thirty_calls_it_is_told_to_answer_and_may(mode: QueryMode) -> None:
    more, last = asks("x"), says("At last.")
    if mode == "react":
        more, last = tagged(CALL), tagged("[]", "At last.")
    router = Behind()
    outcome, events = work(Scripted(*[more] * ACTIONS, last), router, mode)
    assert (outcome.kind, router.made) == ("answered", ACTIONS)
    assert of(Note, events)[-1].text.startswith("told to answer at step 1: 30 ")
    assert of(Prose, events)[-1].text == "At last."


def test_the_directive_is_what_the_model_reads() -> None:
    read: list[str] = []

    class Reading(Scripted):
        async def turn(self, system: Any, conversation: Any, tools: Any, **rest: Any) -> Turn:
            last = conversation[-1]
            if isinstance(last, UserMessage):
                read.append(last.text)
            return await super().turn(system, conversation, tools, **rest)

    work(Reading(*[asks("x")] * ACTIONS, says("At last.")))
    assert read == [request_of(QUERY).steps[0].prompt, FINAL]


def test_one_that_never_answers_is_out_of_actions() -> None:
    outcome, _ = work(Scripted(*[asks("x")] * 40))
    assert outcome.kind == "out_of_actions"


def test_replies_without_a_call_are_actions_too() -> None:
    router = Behind()
    turns = [turn for _ in range(20) for turn in (asks("x"), pauses())]
    work(Scripted(*turns, says("late")), router)
    # Counted apart, calls and replies would be fifty-nine.
    assert router.made == ACTIONS // 2


def test_calls_past_the_limit_in_one_reply_are_not_made() -> None:
    router = Behind()
    _, events = work(Scripted(asks(*"x" * 50), says("Enough.")), router)
    assert router.made == ACTIONS
    refused = [result for result in of(ToolResult, events) if result.is_error]
    assert len(refused) == 20
    assert "30 actions are the limit" in refused[0].text


def test_a_long_result_is_cut_in_the_middle_and_says_so() -> None:
    _, events = work(Scripted(asks("x" * 10_000), says("Long.")))
    (result,) = of(ToolResult, events)
    assert (result.truncated, result.size_chars) == (True, 10_008)
    assert "characters left out here" in result.text


def test_what_servers_say_of_themselves_is_given_under_their_names_and_bounded() -> None:
    listings = {
        "quiet": Listing(tools=(), instructions=""),
        "long": Listing(tools=(), instructions="use me " * 2000),
    }
    text = instructions_of(listings)
    assert text.startswith("# Instructions of the MCP server long\n\nuse me")
    assert "characters left out here" in text
    assert "quiet" not in text
    assert instructions_of({}) == ""
