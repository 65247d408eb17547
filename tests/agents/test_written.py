"""Agents that write their calls in text, over both SDKs where the API matters."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock

from runner.agents import FORMS, agent_told
from runner.agents.json_actions import JsonActions, schema
from runner.agents.models import open_model
from runner.agents.models.model_settings import Endpoint, ModelSettings
from runner.agents.react import React
from runner.agents.tools import SHELL_SPEC
from runner.protocols import Model, ToolSpec
from runner.records import (
    Malformed,
    Note,
    Prose,
    StepEnd,
    SystemPrompt,
    Thinking,
    ToolCall,
    ToolResult,
)
from runner.support.errors import ProviderRefused
from tests.helpers import Held, Scripted, converse_here, says, scenario, told

Hold = Callable[..., Held]


@pytest.fixture
def hold(tmp_path: Path) -> Hold:
    """Holds an agent's conversation, with this machine's shell in the test's folder."""

    def converse(agent: str, model: Model, *prompts: str, **budget: int) -> Held:
        asked = scenario(*(prompts or ("What is here?",)), **{"tokens": 10**6, **budget})
        return converse_here(agent, model, asked, tmp_path)

    return converse


def reply(reasoning: str, calls: list[Any], answer: str = "") -> str:
    return (
        f"<reasoning>{reasoning}</reasoning>\n"
        f"<tool_calls>\n{json.dumps(calls)}\n</tool_calls>\n<answer>{answer}</answer>"
    )


def shell(command: str) -> dict[str, Any]:
    return {"name": "shell", "arguments": {"command": command}}


# --- react --------------------------------------------------------------------------------------


def test_react_looks_up_and_answers_and_only_the_answer_is_prose(hold: Hold) -> None:
    model = Scripted(
        says(reply("Look.", [shell("echo one"), shell("exit 3")])),
        says(reply("Enough.", [], "It says one.")),
    )
    held = hold("react", model)
    assert held.outcome.kind == "answered"
    assert held.texts(Prose) == ["It says one."]
    assert held.texts(Thinking) == ["Look.", "Enough."]
    assert [call.arguments["command"] for call in held.only(ToolCall)] == ["echo one", "exit 3"]
    assert [result.is_error for result in held.only(ToolResult)] == [False, True]


def test_the_history_is_one_text_of_thoughts_actions_and_observations(
    hold: Hold, llmock: LLMock
) -> None:
    llmock.reply(reply("Look.", [shell("echo one")])).reply(reply("Done.", [], "One."))
    hold("react", claude(llmock))
    body = llmock.last_request.body
    (message,) = body["messages"]
    (block,) = message["content"]
    assert block["text"].split("\n\n") == [
        "Question: What is here?",
        "Thought: Look.",
        'Action: {"arguments":{"command":"echo one"},"name":"shell"}',
        "Observation:\none\n",
    ]
    assert body.get("tools", []) == [], "the calls are text"
    assert '"name":"shell"' in body["system"][0]["text"]


def claude(double: LLMock) -> Model:
    endpoint = Endpoint(key="k", url=double.base_url("anthropic"))
    return open_model("claude-test", ModelSettings(anthropic=endpoint, first_wait_sec=0.01))


def test_the_prompt_is_recorded_with_its_form_and_is_the_same_in_every_arm(hold: Hold) -> None:
    held = hold("react", Scripted(says(reply("", [], "Yes."))))
    assert held.texts(SystemPrompt) == [told("react")]
    assert "server" not in told("react").lower()
    assert "server" not in told("json_actions").lower()


MALFORMED = [
    ("Just prose about app.py.", "neither <tool_calls> nor <answer>"),
    ("<tool_calls>[{</tool_calls>", "<tool_calls> cannot be read"),
    ('<tool_calls>{"name": "shell"}</tool_calls>', "it is no list"),
    ('<tool_calls>[{"arguments": {}}]</tool_calls>', "call 1 has no name"),
    ('<tool_calls>[{"name": "shell", "arguments": [1]}]</tool_calls>', "are no object"),
    ("<tool_calls>[]</tool_calls><answer>  </answer>", "no calls and an empty <answer>"),
    (f"<tool_calls>{'[' * 3000}{']' * 3000}</tool_calls>", "nested 3000 levels deep"),
]


@pytest.mark.parametrize(("written", "problem"), MALFORMED)
def test_what_cannot_be_read_is_answered_with_what_is_wrong_and_counted(
    hold: Hold, written: str, problem: str
) -> None:
    held = hold("react", Scripted(says(written), says(reply("", [], "Now."))))
    (malformed,) = held.only(Malformed)
    assert problem in malformed.problem
    assert malformed.text == written
    assert held.texts(Prose) == ["Now."], "malformed text earns no score"
    assert held.outcome.kind == "answered"


def test_the_model_is_told_what_was_wrong(hold: Hold, llmock: LLMock) -> None:
    llmock.reply("Only prose.").reply(reply("", [], "Well-formed."))
    hold("react", claude(llmock))
    (block,) = llmock.last_request.body["messages"][0]["content"]
    assert "Reply that could not be read: Only prose." in block["text"]
    assert "Notice: Your last reply could not be read: it has neither" in block["text"]


def test_an_answer_written_beside_calls_is_not_taken_for_one(hold: Hold) -> None:
    eager = reply("", [shell("echo 1")], "Surely it says 2.")
    held = hold("react", Scripted(says(eager), says(reply("", [], "It says 1."))))
    assert held.texts(Prose) == ["It says 1."]


@pytest.mark.parametrize("wrapped", ["```json\n{}\n```", "```\n{}\n```", "{}"])
def test_calls_in_a_code_block_are_read(wrapped: str) -> None:
    calls = wrapped.replace("{}", json.dumps([shell("ls")]))
    reading = React(Scripted()).read(f"<tool_calls>{calls}</tool_calls>")
    assert reading.calls == (("shell", {"command": "ls"}),)


def test_past_the_limit_the_model_is_told_to_answer_and_its_answer_counts(hold: Hold) -> None:
    model = Scripted(
        says(reply("", [shell("true"), shell("true")])), says(reply("", [], "What I have."))
    )
    held = hold("react", model, actions=2)
    assert held.outcome.kind == "answered"
    assert held.texts(Prose) == ["What I have."]
    assert held.texts(Note) == ["told to answer at step 1: 2 of 2 tool calls"]


def test_a_model_that_goes_on_calling_past_the_limit_is_out_of_actions(hold: Hold) -> None:
    calling = says(reply("", [shell("true")]))
    held = hold("react", Scripted(calling, calling, calling), actions=1)
    assert held.outcome.kind == "out_of_actions"
    assert len(held.only(ToolCall)) == 1, "no call is made past the limit"
    assert [end.stop for end in held.only(StepEnd)] == ["cut"]


def test_a_model_that_never_finds_the_form_comes_to_an_end(hold: Hold) -> None:
    held = hold("react", Scripted(*[says("prose")] * 40))
    assert held.outcome.kind == "out_of_actions"
    assert len(held.only(Malformed)) == 32
    assert held.only(Prose) == []


# --- json actions -------------------------------------------------------------------------------


def action(tool: str, answer: str = "", **arguments: Any) -> str:
    return json.dumps({"thought": "t", "tool": tool, "arguments": arguments, "answer": answer})


@pytest.fixture(params=["anthropic", "openai"])
def opened(llmock: LLMock, request: pytest.FixtureRequest) -> Iterator[tuple[LLMock, Model]]:
    api = str(request.param)
    endpoint = Endpoint(key="k", url=llmock.base_url(api))
    chosen: dict[str, Any] = {api: endpoint, "first_wait_sec": 0.01}
    yield llmock, open_model(f"{api}:test", ModelSettings(**chosen))


def test_json_actions_work_through_both_apis(hold: Hold, opened: tuple[LLMock, Model]) -> None:
    double, model = opened
    double.reply(action("shell", command="echo one")).reply(action("answer", "It says one."))
    held = hold("json_actions", model)
    assert held.outcome.kind == "answered"
    assert held.texts(ToolResult) == ["one\n"]
    assert held.texts(Prose) == ["It says one."]
    body = double.last_request.body
    assert not body.get("tools")
    assert '"enum": ["shell", "answer"]' in json.dumps(body), "the reply is held to the schema"
    assert "result" in json.dumps(body["messages"][-1])


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("{", "it is not JSON"),
        ("[1]", "it is no JSON object"),
        ('{"tool": 1}', '"tool" is no text'),
        (action("answer", "  "), "the answer is empty"),
    ],
)
def test_a_server_that_ignores_the_schema_is_noticed(
    hold: Hold, opened: tuple[LLMock, Model], written: str, problem: str
) -> None:
    double, model = opened
    double.reply(written).reply(action("answer", "Now."))
    held = hold("json_actions", model)
    (malformed,) = held.only(Malformed)
    assert problem in malformed.problem
    assert held.texts(Prose) == ["Now."]


def test_a_model_that_cannot_be_held_to_a_schema_is_refused(hold: Hold) -> None:
    with pytest.raises(ProviderRefused, match="cannot be held to a schema"):
        hold("json_actions", Scripted(says("x")))


def test_the_schema_keeps_only_what_every_api_takes() -> None:
    awkward = {
        "type": "object",
        "properties": {
            "line": {"type": ["integer", "null"], "minimum": 1},
            "kind": {"anyOf": [{"type": "null"}, {"type": "string", "pattern": "^x"}]},
            "paths": {"type": "array", "items": {"$ref": "#/x"}, "minItems": 1},
            "mode": {"enum": ["a", "b"]},
            "deep": {"type": "object", "properties": {"a": {"type": "number"}}},
        },
    }
    tool = ToolSpec(name="t", description="", input_schema=awkward, origin="server")
    properties = schema([SHELL_SPEC, tool])["properties"]
    assert properties["tool"]["enum"] == ["shell", "t", "answer"]
    assert properties["arguments"] == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "command": {"type": "string"},
            "line": {"type": "integer"},
            "kind": {"type": "string"},
            "paths": {"type": "array", "items": {"type": "string"}},
            "mode": {"enum": ["a", "b"]},
            "deep": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"a": {"type": "number"}},
            },
        },
    }


def test_an_agent_around_a_model_is_that_model_for_the_record() -> None:
    inner = Scripted()
    for wrapped in (React(inner), JsonActions(inner)):
        assert (wrapped.name, wrapped.identity) == (inner.name, inner.identity)
        assert wrapped.language_model == inner.language_model


@pytest.mark.parametrize("agent", FORMS)
def test_a_recording_of_an_earlier_version_is_still_known_by_its_form(agent: str) -> None:
    assert agent_told("You answered questions once, under no limits.\n" + FORMS[agent]) == agent
    assert agent_told("You answered questions once.\n") == "tool_calling"
