"""`--compat mcpbr`: that tool's literal scores, bugs included. And where ours differ from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.benchmarks import toolbench
from runner.benchmarks.toolbench.compat import score_as_mcpbr
from runner.benchmarks.toolbench.task_scores import TaskScore
from runner.benchmarks.toolbench.task_scoring import AnsweredTask, TaskScorer
from tests.benchmarks.toolbench.records import record, task

A1 = {"name": "a", "parameters": {"x": 1}}
B2 = {"name": "b", "parameters": {"y": 2}}
FIGURES = ("resolved", "tool_selection_accuracy", "parameter_accuracy", "sequence_match")


def test_every_pair_recorded_from_that_tool_comes_out_the_same(shared_data: Path) -> None:
    pairs = json.loads((shared_data / "mcptoolbench" / "parity.json").read_text("utf-8"))

    differing = [pair["name"] for pair in pairs if not _is_same(pair)]

    assert len(pairs) >= 44
    assert not differing


def _is_same(pair: dict[str, Any]) -> bool:
    label = None if pair["expected_calls"] == "__MISSING__" else pair["expected_calls"]
    found = score_as_mcpbr(label, pair["agent_response"])
    recorded = pair["mcpbr_result"]
    if "exception" in recorded:
        return found.error == f"{recorded['exception']}: {recorded['message']}"
    if "error" in recorded:
        return not found.resolved and found.error == recorded["error"]
    return all(getattr(found, key) == recorded[key] for key in (*FIGURES, "details"))


def figures(found: TaskScore) -> tuple[bool, float, float, bool]:
    return (
        found.resolved,
        found.tool_selection_accuracy,
        found.parameter_accuracy,
        found.sequence_match,
    )


@pytest.mark.parametrize(
    ("label", "answer", "expected"),
    [
        ([A1], [A1], (True, 1.0, 1.0, True)),
        ([A1], {"tool_calls": [A1]}, (True, 1.0, 1.0, True)),
        ([A1], [A1, A1], (False, 1.0, 1.0, False)),
        ([A1, A1], [A1], (True, 1.0, 1.0, False)),
        ([A1, B2], [B2, A1], (True, 1.0, 1.0, False)),
        ([{"name": "a", "parameters": {"x": 1}}], [{"name": "a"}], (False, 1.0, 0.0, True)),
        ([{"name": "a"}], [{"name": "a"}], (False, 1.0, 0.0, True)),
        ([{"name": "a", "input": {"x": 1}}], [A1], (False, 1.0, 0.0, True)),
        ([A1], {"calls": [A1]}, (False, 0.0, 0.0, False)),
        ([A1], A1, (False, 0.0, 0.0, False)),
        (
            [A1],
            [{"name": "a", "parameters": {"x": True}}],
            (True, 1.0, 1.0, True),
        ),
        (
            [A1, {"name": "a", "parameters": {"x": 2}}],
            [A1, {"name": "a", "parameters": {"x": 2}}],
            (False, 1.0, 0.5, True),
        ),
        ([{"parameters": {"x": 1}}], [{"parameters": {"x": 1}}], (True, 1.0, 1.0, True)),
    ],
)
def test_its_behaviour_is_followed_to_the_letter(
    label: Any, answer: Any, expected: tuple[bool, float, float, bool]
) -> None:
    assert figures(score_as_mcpbr(label, json.dumps(answer))) == expected


@pytest.mark.parametrize(
    ("label", "answer", "error"),
    [
        ([A1], '{"tool_calls": "a"}', "AttributeError: 'str' object has no attribute 'get'"),
        ([A1], '[{"name": "a", "parameters": null}]', "AttributeError: 'NoneType' object"),
        ([A1], None, "TypeError: the JSON object must be str"),
        ([A1], "[" + "9" * 5_000 + "]", "ValueError: Exceeds the limit"),
        ("[]", "[1]", "AttributeError: 'str' object has no attribute 'get'"),
        ([], "[]", "No ground truth function calls provided for evaluation"),
    ],
)
def test_what_ends_it_with_a_traceback_is_an_error_here(
    label: Any, answer: Any, error: str
) -> None:
    found = score_as_mcpbr(label, answer)

    assert not found.resolved
    assert found.error.startswith(error)


# --- where the default differs ------------------------------------------------------------------

DIFFERENCES: list[tuple[str, list[Any], str, bool, bool]] = [
    ("a repeated tool", [A1, {**A1, "parameters": {"x": 2}}], "", True, False),
    ("no arguments expected", [{"name": "a", "parameters": {}}], "", True, False),
    ("the published key", [{"name": "a", "input": {"x": 1}}], "", True, False),
    ("one bare object", [A1], json.dumps(A1), True, False),
    ("a fence", [A1], f"```json\n{json.dumps([A1])}\n```", True, False),
    ("written in text", [A1], "I call a(x=1).", True, False),
    ("a BOM", [A1], "\ufeff" + json.dumps([A1]), True, False),
    (
        "OpenAI's form",
        [A1],
        json.dumps({"tool_calls": [{"function": {"name": "a", "arguments": '{"x": 1}'}}]}),
        True,
        False,
    ),
    (
        "a server's prefix",
        [A1],
        json.dumps([{"name": "mcp__s__a", "parameters": {"x": 1}}]),
        True,
        False,
    ),
    (
        "a similar tool",
        [{**A1, "similar_tools": [{"name": "b"}]}],
        json.dumps([{"name": "b", "parameters": {"x": 1}}]),
        True,
        False,
    ),
    (
        "true for 1",
        [A1],
        json.dumps([{"name": "a", "parameters": {"x": True}}]),
        False,
        True,
    ),
    ("one call for two", [A1, A1], json.dumps([A1]), False, True),
]
"""What, label, answer (empty: the label itself), resolved by ours, resolved by that tool.

Its README.md has this table in words: a row here without one there is not documented."""
DOCUMENTED = Path(toolbench.__path__[0]).joinpath("README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("what", "label", "answer", "ours", "theirs"), DIFFERENCES, ids=[row[0] for row in DIFFERENCES]
)
def test_ours_and_theirs_differ_where_it_is_documented(
    what: str, label: list[Any], answer: str, ours: bool, theirs: bool
) -> None:
    made = task(function_call_label=label, tools=[{"name": "a"}, {"name": "b"}])
    text = answer or json.dumps(
        [{"name": one["name"], "parameters": one.get("parameters", {"x": 1})} for one in label]
    )
    answered = AnsweredTask(task=made, trial=1, answer=text)

    assert TaskScorer().result(answered).resolved is ours
    assert TaskScorer(compat="mcpbr").result(answered).resolved is theirs
    assert f"| {what} |" in DOCUMENTED


def test_native_calls_are_put_before_it_as_json() -> None:
    made = task(function_call_label=[A1])

    for answer in ([A1], json.dumps([A1])):
        answered = AnsweredTask(task=made, trial=1, answer=answer)
        assert TaskScorer(compat="mcpbr").result(answered).resolved


def test_records_of_the_published_form_resolve_nothing_there_and_everything_here() -> None:
    made = task()
    text = json.dumps([{"name": "get_stock_price", "parameters": {"symbol": "AAPL"}}])
    answered = AnsweredTask(task=made, trial=1, answer=text)

    assert record()["function_call_label"][0]["input"]
    assert TaskScorer().result(answered).resolved
    assert not TaskScorer(compat="mcpbr").result(answered).resolved
