from __future__ import annotations

import json
from typing import Any

import pytest

from runner.benchmarks.toolbench.tasks import Expected
from tests.benchmarks.toolbench.records import PRICE, call, read, record, task

AAPL = {"symbol": "AAPL"}


def test_the_published_form_is_read_without_a_problem() -> None:
    made, problems = read(record())

    assert not problems
    assert made.id == "a-1"
    assert [tool.name for tool in made.tools][:2] == ["get_stock_price", "get_exchange_rate"]
    assert made.tools[0].server == "stocks"
    assert made.expected == (
        Expected(name="get_stock_price", server="stocks", arguments=AAPL, similar=frozenset()),
    )


@pytest.mark.parametrize("key", ["input", "parameters", "arguments"])
@pytest.mark.parametrize("as_text", [False, True])
def test_arguments_are_read_under_each_key_that_loaders_use(key: str, as_text: bool) -> None:
    given: Any = json.dumps(AAPL) if as_text else AAPL

    made, problems = read(record({"name": "get_stock_price", key: given}))

    assert not problems
    assert made.expected[0].arguments == AAPL


def test_a_label_that_is_a_json_text_is_read() -> None:
    label = json.dumps([call("get_stock_price", AAPL)])

    made, problems = read(record(function_call_label=label))

    assert not problems
    assert made.expected[0].arguments == AAPL


def test_a_label_that_is_one_call_without_a_list_is_read() -> None:
    assert task(function_call_label=call("get_news", {})).expected[0].name == "get_news"


@pytest.mark.parametrize("label", [None, [], "", "no json", 7, [None], ["get_news"], [{}]])
def test_a_label_without_a_call_leaves_nothing_expected_and_is_told(label: Any) -> None:
    made, problems = read(record(function_call_label=label))

    assert made.expected == ()
    assert any("function_call_label" in line for line in problems)


def test_the_documented_form_takes_definitions_from_the_dict_by_tool() -> None:
    raw = record(tools=["get_stock_price"], mcp_tools_dict={"get_stock_price": PRICE})

    (tool,) = read(raw)[0].tools

    assert tool.description == PRICE["description"]
    assert tool.input_schema == PRICE["input_schema"]


def test_the_documented_form_takes_definitions_from_the_dict_by_server() -> None:
    raw = record(tools=["get_stock_price"], mcp_tools_dict={"stocks": [PRICE]})

    (tool,) = read(raw)[0].tools

    assert (tool.server, tool.description) == ("stocks", PRICE["description"])


def test_tools_that_only_the_dict_names_are_offered() -> None:
    raw = record(mcp_tools_dict={"stocks": [PRICE, "get_news"]})
    del raw["tools"]

    assert [tool.name for tool in read(raw)[0].tools] == ["get_stock_price", "get_news"]


def test_a_tool_offered_twice_stands_once_and_is_told() -> None:
    made, problems = read(record(tools=[PRICE, PRICE]))

    assert len(made.tools) == 1
    assert "offered twice" in problems[0]


@pytest.mark.parametrize("tools", [[None], [{}], [{"name": 5}], [{"name": " "}], [[]], [7]])
def test_what_is_no_tool_is_told_and_offered_to_nobody(tools: Any) -> None:
    made, problems = read(record(tools=tools))

    assert made.tools == ()
    assert "no tool with a name" in problems[0]


def test_similar_tools_are_read_as_names_and_as_objects() -> None:
    similar = [{"name": "stock_quote", "mcp_server": "other"}, "quote", None, {"name": 1}, " "]

    made = task(call("get_stock_price", AAPL, similar_tools=similar))

    assert made.expected[0].similar == {"stock_quote", "quote"}


@pytest.mark.parametrize(
    ("call_type", "difficulty"),
    [("single", "easy"), ("multi", "hard"), ("SINGLE", "easy"), ("odd", "odd")],
)
def test_difficulty_follows_the_call_type(call_type: str, difficulty: str) -> None:
    assert task(call_type=call_type).difficulty == difficulty


@pytest.mark.parametrize("key", ["uuid", "query", "category", "call_type"])
@pytest.mark.parametrize("value", [None, "", "  ", 5])
def test_a_missing_text_is_told_by_its_key(key: str, value: Any) -> None:
    _, problems = read(record(**{key: value}))

    assert problems == [f"data.json [0] {key}: it is missing, empty or no text"]


def test_arguments_that_are_no_object_are_told_and_none_are_expected() -> None:
    made, problems = read(record({"name": "get_news", "input": [1, 2]}))

    assert made.expected[0].arguments == {}
    assert "no object of arguments" in problems[0]
