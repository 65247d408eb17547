"""Whatever a model writes ends in a result: nothing raises, and nothing takes more than seconds."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.benchmarks.toolbench.calls import LONGEST_TEXT, MOST_CALLS, calls_of
from runner.benchmarks.toolbench.compat import score_as_mcpbr
from runner.benchmarks.toolbench.task_results import TaskResult
from runner.benchmarks.toolbench.task_scoring import AnsweredTask, TaskScorer
from tests.benchmarks.toolbench.records import call, task

TASK = task(call("get_stock_price", {"symbol": "AAPL"}), call("get_news", {"company": "Apple"}))
TOOLS = TASK.tool_names


def scored(answer: Any) -> TaskResult:
    result = TaskScorer().result(AnsweredTask(task=TASK, trial=1, answer=answer))
    # A result that cannot be written, or read again, is no record of anything.
    text = json.dumps(result.model_dump(mode="json"), allow_nan=False, ensure_ascii=False)
    assert TaskResult.model_validate_json(text.encode("utf-8")) == result
    return result


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def deep_call(levels: int) -> str:
    return '{"name": "get_news", "parameters": {"company": ' + nested(levels) + "}}"


def wrapped(key: str, levels: int) -> str:
    return f'{{"{key}": ' * levels + "1" + "}" * levels


@pytest.mark.parametrize(
    "answer",
    [
        nested(90),
        nested(150),
        nested(900),
        nested(3_000),
        deep_call(90),
        deep_call(900),
        deep_call(3_000),
        wrapped("tool_calls", 900),
        wrapped("function", 900),
        wrapped("parameters", 3_000),
        f"I call {deep_call(150)}, then {deep_call(3_000)}.",
        '{"name": "get_news", "parameters": {"n": ' + "9" * 5_000 + "}}",
        '{"name": "get_news", "parameters": {"n": -1e400}}',
        '{"name": "get_news", "parameters": "' + "\\\\" * 500 + '"}',
        "\x00\ud800\udc00\udfff",
        "\ufeff\ufeff[]",
    ],
)
def test_what_is_deep_long_or_broken_ends_in_a_result(answer: str) -> None:
    scored(answer)
    score_as_mcpbr(TASK.raw_label, answer)


def test_nesting_beyond_what_is_read_is_remarked() -> None:
    for levels in (150, 3_000):
        assert "levels deep is not read" in scored(nested(levels)).remarks[0]


def test_values_that_were_read_by_another_reader_end_in_a_result() -> None:
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]

    for answer in (deep, [float("inf")], {"name": "\ud800"}, {"get_news": deep}, {1: 2}, {(1,): 2}):
        scored(answer)


BOMBS: dict[str, Callable[[], str]] = {
    "brackets": lambda: "[" * 2_500_000,
    "braces": lambda: "{" * 2_500_000,
    "pairs": lambda: "[]" * 250_000,
    "objects": lambda: "{}," * 150_000,
    "quotes": lambda: '"' * 500_000,
    "backslashes": lambda: "[" + "\\" * 500_000,
    "escapes": lambda: '["' + "\\u" * 250_000,
    "halves": lambda: '["' + "\\ud800" * 80_000 + '"]',
    "words": lambda: "a" * 500_000,
    "dashes": lambda: "a-" * 250_000,
    "dots": lambda: "a." * 250_000,
    "underscores": lambda: "__" * 250_000,
    "spaces": lambda: " " * 500_000,
    "lines": lambda: "\n" * 500_000,
    "labels": lambda: "tool: " * 80_000,
    "actions": lambda: "action: get_news\ninput: {\n" * 17_500,
    "unclosed calls": lambda: "get_news(" * 50_000,
    "calls": lambda: 'get_news(company="x") ' * 22_500,
    "calls that are none": lambda: "get_news(x y) " * 35_000,
    "listed": lambda: "[" + ",".join(['{"name": "get_news"}'] * 22_500) + "]",
    "prefixes": lambda: '[{"name": "' + "a__" * 150_000 + '"}]',
    "nothing but a call's name": lambda: "get_news {" + "'" * 450_000,
    "stars": lambda: "tool" + "*" * 450_000,
}
WITHIN_SEC = 10.0
"""Of processor time, for half a million characters or 2.5 million brackets. Most take a quarter of
a second, the longest 1.6 on a slow machine; work that grows with the square takes minutes."""


@pytest.mark.parametrize("name", BOMBS)
def test_half_a_million_characters_are_read_in_linear_time(name: str) -> None:
    text = BOMBS[name]()
    begun = time.process_time()

    scored(text)

    assert time.process_time() - begun < WITHIN_SEC


def test_an_answer_past_the_limit_is_not_read_and_says_so() -> None:
    assert "not read" in scored("x" * (LONGEST_TEXT + 1)).remarks[0]


def test_calls_past_the_limit_are_not_counted_and_it_is_said() -> None:
    result = scored(json.dumps([{"name": "get_news"}] * (MOST_CALLS + 5)))

    assert len(result.calls) == MOST_CALLS
    assert "the rest was not read" in result.remarks[0]


@pytest.mark.parametrize(
    "inside",
    [
        "(" * 19_000,
        "x=" + "-" * 19_000 + "1",
        "x=" + "not " * 4_000 + "1",
        "x=" + "1+" * 9_000 + "1",
        "x=" + "a." * 9_000 + "b",
        "x=" + "lambda:" * 2_500 + "1",
        "x=" + "[" * 9_000 + "]" * 9_000,
        "x=" + "{1:" * 4_000 + "1" + "}" * 4_000,
        "x=9**9**9**9",
        "x='a'*999999999",
        "x=" + "9" * 10_000,
        "x=f'{1}'",
        "x=b'1', y={1, 2}, z=1j, w=...",
        "**{'a': 1}",
        "*[1, 2]",
        "x=1, x=2",
        "x='\\ud800'",
        "x=1) or (y=2",
        "x=__import__('os').system('true')",
    ],
)
def test_code_that_would_break_its_reader_ends_in_a_result(inside: str) -> None:
    scored(f"get_news({inside})")


# --- anything at all ----------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["name", "tool", "function", "parameters", "input", "arguments", "tool_calls", "x"]
            ),
            inner | st.sampled_from(["get_news", "get_stock_price", '{"company": "Apple"}']),
            max_size=4,
        )
    ),
    max_leaves=12,
)
PIECES = st.lists(
    st.sampled_from(
        [
            *"(){}[]\"'\\,:=\n 1\ufeff\ud800",
            *("get_news", "name", "Action: ", "Input: ", "```json\n", "```", "NaN"),
            '{"name": "get_news", "parameters": {}}',
        ]
    ),
    max_size=30,
).map("".join)


@given(JSON)
@settings(max_examples=150, deadline=None)
def test_any_json_is_scored(answer: Any) -> None:
    scored(answer)
    scored(json.dumps(answer))


@given(PIECES | st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_text_is_scored(answer: str) -> None:
    scored(answer)
    score_as_mcpbr(TASK.raw_label, answer)


@given(PIECES, PIECES)
@settings(max_examples=100, deadline=None)
def test_a_call_as_json_is_found_unless_what_stands_around_opens_brackets(
    before: str, behind: str
) -> None:
    if set(before + behind) & set("[]{}()\"'\\"):
        return

    found = calls_of(f'{before}\n[{{"name": "get_news"}}]\n{behind}', TOOLS)

    assert [one.name for one in found.calls] == ["get_news"]


@given(JSON, JSON)
@settings(max_examples=100, deadline=None)
def test_scores_are_shares_whatever_is_expected_and_called(label: Any, answer: Any) -> None:
    odd = task(call("get_news", {"company": label}), uuid="x")

    result = TaskScorer().result(AnsweredTask(task=odd, trial=1, answer=answer))

    assert 0 <= result.parameter_accuracy <= result.normalised_accuracy <= 1
