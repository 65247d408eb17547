from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from runner.benchmarks.toolbench.defects import defects, unresolved_gold
from runner.benchmarks.toolbench.responses import read_responses
from runner.benchmarks.toolbench.task_results import ToolbenchReport
from runner.benchmarks.toolbench.task_scoring import TaskScorer, answers_to, report_of
from runner.benchmarks.toolbench.tasks import Task
from runner.benchmarks.without_scorecard import rate_of, wilson
from runner.support.errors import FairtrialError
from tests.benchmarks.toolbench.records import NEWS, PRICE, call, task

RIGHT = [{"name": "get_stock_price", "parameters": {"symbol": "AAPL"}}]
WRONG = [{"name": "get_news", "parameters": {}}]


def report(tasks: Sequence[Task], by_task: dict[str, Any]) -> ToolbenchReport:
    scorer = TaskScorer()
    results = [scorer.result(one) for one in answers_to(tasks, by_task)]
    return report_of(tasks, results, compat="", problems=[])


def tasks() -> list[Task]:
    return [
        task(uuid="f1"),
        task(uuid="f2"),
        task(uuid="b1", category="browser"),
        task(call("get_news", {}), call("list_markets"), uuid="b2", category="browser"),
    ]


def test_figures_are_of_each_category_and_difficulty() -> None:
    found = report(tasks(), {"f1": [RIGHT], "f2": [WRONG], "b1": [RIGHT], "b2": [WRONG]})

    assert {one.group: one.resolved.value for one in found.by_category} == {
        "browser": 0.5,
        "finance": 0.5,
    }
    by_difficulty = {one.group: one.resolved.value for one in found.by_difficulty}
    assert by_difficulty == {"easy": pytest.approx(2 / 3), "hard": 0.0}
    assert found.total.resolved.value == 0.5


def test_a_task_without_an_answer_is_not_resolved_and_is_counted() -> None:
    found = report(tasks(), {"f1": [RIGHT]})

    assert (found.total.tasks, found.total.unanswered) == (4, 3)
    assert found.total.resolved.value == 0.25


def test_a_task_without_a_label_is_in_no_rate_and_is_counted() -> None:
    found = report([task(uuid="f1"), task(uuid="x", function_call_label=[])], {"f1": [RIGHT]})

    assert found.total.unlabelled == 1
    assert found.total.resolved.value == 1.0


def test_an_answer_that_ends_mcpbr_with_a_traceback_is_in_its_rates() -> None:
    made, scorer = [task(uuid="f1")], TaskScorer(compat="mcpbr")
    results = [scorer.result(one) for one in answers_to(made, {"f1": ['{"tool_calls": "x"}']})]

    found = report_of(made, results, compat="mcpbr", problems=[])

    assert results[0].error.startswith("AttributeError")
    assert found.total.resolved.value == 0.0


def test_pass_at_k_is_the_unbiased_estimator_over_trials() -> None:
    found = report([task(uuid="f1")], {"f1": [RIGHT, WRONG, WRONG, WRONG]})

    assert found.total.pass_at == {
        1: pytest.approx(1 / 4),
        2: pytest.approx(1 / 2),
        3: pytest.approx(3 / 4),
        4: pytest.approx(1.0),
    }


def test_trials_of_one_task_count_as_one_in_the_interval() -> None:
    many = report([task(uuid="f1"), task(uuid="f2")], {"f1": [RIGHT] * 50, "f2": [WRONG] * 50})
    few = report([task(uuid="f1"), task(uuid="f2")], {"f1": [RIGHT], "f2": [WRONG]})

    assert many.total.resolved == few.total.resolved


@pytest.mark.parametrize(
    ("passed", "n", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (1, 1, 0.2065, 1.0)],
)
def test_intervals_of_shares_are_wilson_s(passed: int, n: int, low: float, high: float) -> None:
    assert wilson(passed, n) == pytest.approx((low, high), abs=1e-4)


def test_no_interval_differs_from_scipy_s_in_its_last_bit() -> None:
    from scipy.stats import binomtest  # every worker collects this file

    for n in range(1, 40):
        for passed in range(n + 1):
            theirs = binomtest(passed, n).proportion_ci(method="wilson")
            assert wilson(passed, n) == (theirs.low, theirs.high)


def test_arguments_are_held_against_the_tool_s_schema() -> None:
    valid = [{"name": "get_stock_price", "parameters": {"symbol": "AAPL"}}]
    invalid = [{"name": "get_stock_price", "parameters": {"symbol": 5}}]
    unknown = [{"name": "no_such_tool", "parameters": {}}]
    made = [task(uuid=name) for name in ("a", "b", "c")]

    found = report(made, {"a": [valid], "b": [invalid], "c": [unknown]})

    assert [one.valid_calls for one in found.results] == [1, 0, 0]
    assert [one.checked_calls for one in found.results] == [1, 1, 0]
    assert found.total.valid_arguments == 0.5


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "#/nowhere"},
        {"$ref": "#"},
        {"properties": {"symbol": {"pattern": "["}}},
        {"properties": 5},
    ],
)
def test_a_schema_that_is_none_checks_nothing_and_breaks_nothing(schema: dict[str, Any]) -> None:
    made = task(tools=[{**PRICE, "input_schema": schema}])

    assert report([made], {"a-1": [RIGHT]}).total.resolved.value == 1.0


def test_ways_and_similar_tools_are_counted() -> None:
    label = call("get_stock_price", {"symbol": "AAPL"}, similar_tools=[NEWS])
    answers = {"f1": [RIGHT, f"so: {json.dumps(RIGHT)}", 'get_news(symbol="AAPL")', "none"]}

    found = report([task(label, uuid="f1")], answers)

    assert found.total.ways == {"json": 1, "json in text": 1, "none": 1, "text": 1}
    assert found.total.similar == 1


def test_schema_tokens_are_those_of_all_tools_offered() -> None:
    few, many = (report([task(tools=tools)], {}) for tools in ([NEWS], [NEWS, PRICE]))

    assert few.total.schema_tokens is not None
    assert many.total.schema_tokens is not None
    assert 10 < few.total.schema_tokens < many.total.schema_tokens


# --- responses ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"f1": RIGHT}),
        json.dumps({"f1": json.dumps(RIGHT)}),
        json.dumps([{"uuid": "f1", "response": RIGHT}]),
        json.dumps({"uuid": "f1", "answer": RIGHT}),
        "\ufeff" + json.dumps({"id": "f1", "tool_calls": RIGHT}) + "\n\n",
        json.dumps({"task_id": "f1", "output": json.dumps(RIGHT)}) + "\n",
    ],
)
def test_each_form_of_responses_is_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.json").write_text(text, encoding="utf-8")

    responses = read_responses(tmp_path / "r.json")

    assert report([task(uuid="f1")], dict(responses.by_task)).total.resolved.value == 1.0


def test_a_task_answered_several_times_has_trials(tmp_path: Path) -> None:
    lines = [json.dumps({"uuid": "f1", "response": answer}) for answer in (RIGHT, WRONG)]
    (tmp_path / "r.jsonl").write_text("\n".join(lines), encoding="utf-8")

    assert len(read_responses(tmp_path / "r.jsonl").by_task["f1"]) == 2


def test_rows_without_a_task_and_answers_to_no_task_are_told(tmp_path: Path) -> None:
    rows = [{"response": RIGHT}, {"uuid": "zz", "response": RIGHT}]
    (tmp_path / "r.json").write_text(json.dumps(rows), encoding="utf-8")

    responses = read_responses(tmp_path / "r.json")

    assert "no task is named" in str(responses.problems[0])
    assert responses.unknown([task()]) == ["an answer to 'zz', which is no task"]


@pytest.mark.parametrize("text", ["", "[]", "{}", "nonsense", "5", '"text"', '{"a": 1}\n{"b": '])
def test_a_file_without_answers_is_an_error_that_shows_the_form(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.json").write_text(text, encoding="utf-8")

    with pytest.raises(FairtrialError) as error:
        read_responses(tmp_path / "r.json")

    assert "uuid" in error.value.hint


@pytest.mark.parametrize("levels", [95, 102, 150, 900, 3_000, 300_000])
@pytest.mark.parametrize("form", ['{{"f1": {deep}, "f2": {right}}}', "{line1}\n{line2}\n"])
def test_an_answer_nested_too_deeply_is_one_result_and_costs_the_others_nothing(
    tmp_path: Path, levels: int, form: str
) -> None:
    deep, right = "[" * levels + "]" * levels, json.dumps(RIGHT)
    line1, line2 = (f'{{"uuid": "f1", "response": {deep}}}', f'{{"id": "f2", "calls": {right}}}')
    text = form.format(deep=deep, right=right, line1=line1, line2=line2)
    (tmp_path / "r.json").write_text(text, encoding="utf-8")

    by_task = dict(read_responses(tmp_path / "r.json").by_task)
    first, second = report([task(uuid="f1"), task(uuid="f2")], by_task).results

    assert (first.answered, first.way, first.resolved, second.resolved) == (
        True,
        "none",
        False,
        True,
    )
    assert ("levels deep is not read" in "".join(first.remarks)) == (levels > 100)


def test_brackets_in_the_text_of_an_answer_are_no_nesting(tmp_path: Path) -> None:
    answers = {"f1": json.dumps(RIGHT) + "[" * 500, "f2": '"\\' * 300, "deep": "@"}
    text = json.dumps(answers).replace('"@"', "[" * 3_000 + "]" * 3_000)
    (tmp_path / "r.json").write_text(text, encoding="utf-8")

    by_task = read_responses(tmp_path / "r.json").by_task

    assert (by_task["f1"], by_task["f2"]) == ((answers["f1"],), (answers["f2"],))


@pytest.mark.parametrize("text", ["[" * 5_000, '{"a": ' * 5_000 + "1", "[" * 3_000 + "]" * 2_999])
def test_nesting_that_nothing_closes_is_an_error_that_shows_the_form(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "r.json").write_text(text, encoding="utf-8")

    with pytest.raises(FairtrialError, match="it is no JSON"):
        read_responses(tmp_path / "r.json")


def test_what_is_odd_in_a_file_of_responses_is_told_with_its_place(tmp_path: Path) -> None:
    lines = [
        '{"id": "f1", "text": "x"}',
        '{"id": "f1", "id": "f2", "text": "x"}',
        '{"id": "f3", "text": NaN}',
    ]
    (tmp_path / "r.jsonl").write_text("\n".join(lines), encoding="utf-8")

    told = list(map(str, read_responses(tmp_path / "r.jsonl").problems))

    assert len(told) == 2
    assert "line 2: a key stands twice" in told[0]
    assert "line 3: NaN is no JSON" in told[1]


# --- check --------------------------------------------------------------------------------------


def told(*made: Task) -> str:
    return "\n".join(map(str, defects(made)))


def test_gold_resolves_in_every_form_of_record_and_of_answer() -> None:
    arguments = {"symbol": "AAPL"}
    forms = [
        *tasks(),
        task({"name": "get_stock_price", "parameters": arguments}),
        task({"name": "get_stock_price", "arguments": json.dumps(arguments)}),
        task(function_call_label=json.dumps([call("get_stock_price", arguments)])),
        task(tools=["get_stock_price"], mcp_tools_dict={"get_stock_price": PRICE}),
        task(call("get_news", {"company": 'a "b" [c] {d}'}), call("get_news", {"company": "\\"})),
        task(call("get_news", {}), call("get_news", {})),
    ]

    assert not list(unresolved_gold(forms))
    assert not told(*forms[:3])


def test_a_task_without_a_label_is_no_gold() -> None:
    (problem,) = unresolved_gold([task(function_call_label=[])])

    assert "no label" in str(problem)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (task(call("get_stock_price", {"symbol": 5})), "breaks its schema"),
        (task(call("get_stock_price", {"symbol": "A", "days": "2"})), "'2' is not of type"),
        (task(call("get_stock_price", {})), "'symbol' is a required property"),
        (task(call("get_news", {"firm": "x"})), "gives firm, which its schema does not know"),
        (task(call("forecast", {})), "calls forecast, which is not offered"),
        (task(call_type="triple"), "call_type is 'triple'"),
        (task(call("get_news"), call("get_news"), call_type="single"), "its label has 2"),
        (task(tools=[{**PRICE, "input_schema": {"type": 5}}]), "is no JSON Schema"),
    ],
)
def test_each_defect_of_the_data_is_told_and_none_is_repaired(made: Task, words: str) -> None:
    assert words in told(made)


def test_one_query_with_two_labels_is_told_with_both_tasks() -> None:
    other = task(call("get_news", {}), uuid="a-2")

    assert "a-1, a-2" in told(task(), other)
    assert "2 different labels" in told(task(), other)
    assert "different labels" not in told(task(), task(uuid="a-3"))


def test_a_rate_of_too_few_questions_for_an_interval_is_still_their_mean() -> None:
    rate = rate_of([[0.5], [0.25, 0.75], [1.0, 0.6]])
    assert rate.value == pytest.approx(0.6)
    assert (rate.low, rate.high) == (None, None)
