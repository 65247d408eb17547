from __future__ import annotations

import json
from typing import Any

import pytest

from runner.benchmarks.toolbench.calls import ExtractedCall, calls_of
from runner.benchmarks.toolbench.task_scores import TaskScore, equal, normal, score
from runner.benchmarks.toolbench.tasks import Task
from tests.benchmarks.toolbench.records import TOOLS, call, record, task

Asked = tuple[str, dict[str, Any]]
PRICE: Asked = ("get_stock_price", {"symbol": "AAPL", "days": 5})
RATE: Asked = ("get_exchange_rate", {"from": "USD", "to": "EUR"})
NEWS: Asked = ("get_news", {"company": "Apple"})
NOTHING: Asked = ("list_markets", {})


def scored(expected: list[Asked], asked: list[Asked], **more: Any) -> TaskScore:
    label = [call(name, arguments) for name, arguments in expected]
    return score(task(*label, **more), [ExtractedCall(*one) for one in asked])


# --- the seed's words ---------------------------------------------------------------------------


def test_the_documented_single_example_resolves() -> None:
    found = scored([PRICE], [PRICE])

    assert found.resolved
    assert found.sequence_match
    assert found.details == (
        "Tool selection: 100.0%, Parameter accuracy: 100.0%, Sequence match: True"
    )


def test_the_documented_multi_example_resolves() -> None:
    assert scored([PRICE, RATE], [PRICE, RATE]).resolved


def test_no_label_is_the_documented_error() -> None:
    found = score(task(function_call_label=[]), [ExtractedCall(*PRICE)])

    assert not found.resolved
    assert found.error == "No ground truth function calls provided for evaluation"


def test_no_call_is_the_documented_sentence_and_scores_nothing() -> None:
    found = scored([NOTHING], [])

    assert found.details == "Agent made no tool calls"
    assert (found.tool_selection_accuracy, found.parameter_accuracy) == (0.0, 0.0)


@pytest.mark.parametrize(("right", "resolved"), [(10, True), (7, True), (6, False)])
def test_seven_of_ten_arguments_are_enough(right: int, resolved: bool) -> None:
    wanted = {str(number): number for number in range(10)}
    given = {key: value if value < right else -1 for key, value in wanted.items()}

    found = scored([("a", wanted)], [("a", given)])

    assert found.parameter_accuracy == right / 10
    assert found.resolved is resolved


FIVE: list[Asked] = [
    ("find", {"q": "a", "n": 1}),
    ("open", {"id": 7}),
    ("find", {"q": "b", "n": 2}),
    ("list", {}),
    ("save", {"id": 7, "to": "x", "mode": "w"}),
]
"""A task of several calls: eight arguments, a tool that is needed twice, and one without any."""
BY_HAND: dict[str, tuple[list[Asked], tuple[bool, float, float, bool]]] = {
    "all of it": (FIVE, (True, 5 / 5, 8 / 8, True)),
    "the other way round": (FIVE[::-1], (True, 5 / 5, 8 / 8, False)),
    "all but the last: five arguments of eight are too few": (
        FIVE[:4],
        (False, 4 / 5, 5 / 8, False),
    ),
    "all but the one without arguments": (FIVE[:3] + FIVE[4:], (True, 4 / 5, 8 / 8, False)),
    "all but the second, which has one argument": (
        FIVE[:1] + FIVE[2:],
        (True, 4 / 5, 7 / 8, False),
    ),
    "all but two: three of five tools are too few": (FIVE[:3], (False, 3 / 5, 5 / 8, False)),
    "two arguments wrong": (
        [*FIVE[:4], ("save", {"id": 7, "to": "y", "mode": "a"})],
        (True, 5 / 5, 6 / 8, True),
    ),
    "three arguments wrong": (
        [*FIVE[:4], ("save", {"id": 8, "to": "y", "mode": "a"})],
        (False, 5 / 5, 5 / 8, True),
    ),
    "the repeated tool once, with what its second call wants": (
        [FIVE[1], FIVE[2], FIVE[3], FIVE[4]],
        (True, 4 / 5, 6 / 8, False),
    ),
    "the arguments of the repeated tool crossed": (
        [("find", {"q": "a", "n": 2}), FIVE[1], ("find", {"q": "b", "n": 1}), *FIVE[3:]],
        (True, 5 / 5, 6 / 8, True),
    ),
    "two calls more, of seven allowed": (FIVE + FIVE[:2], (True, 5 / 5, 8 / 8, False)),
    "three calls more": (FIVE + FIVE[:3], (False, 5 / 5, 8 / 8, False)),
    "another tool in each place": (
        [("other", arguments) for _, arguments in FIVE],
        (False, 0 / 5, 0 / 8, False),
    ),
    "another tool in the first place alone": (
        [("other", FIVE[0][1]), *FIVE[1:]],
        (True, 4 / 5, 6 / 8, False),
    ),
    "nothing": ([], (False, 0 / 5, 0 / 8, False)),
}


@pytest.mark.parametrize("what", BY_HAND)
def test_tasks_of_several_calls_score_what_the_seed_s_words_give_by_hand(what: str) -> None:
    asked, figures = BY_HAND[what]

    found = scored(FIVE, asked)

    assert (
        found.resolved,
        found.tool_selection_accuracy,
        found.parameter_accuracy,
        found.sequence_match,
    ) == figures
    assert (found.calls, found.expected) == (len(asked) if asked else 0, 5)
    shown = f"{figures[1]:.1%}, Parameter accuracy: {figures[2]:.1%}, Sequence match: {figures[3]}"
    shown += ", 8 calls, 7 allowed" if len(asked) == 8 else ""
    assert found.details == (f"Tool selection: {shown}" if asked else "Agent made no tool calls")


def test_a_task_that_fails_by_its_calls_alone_says_how_many_were_allowed() -> None:
    assert scored([PRICE], [PRICE]).details.endswith("Sequence match: True")
    assert scored([PRICE], [PRICE, PRICE]).details.endswith(
        "Sequence match: False, 2 calls, 1 allowed"
    )


@pytest.mark.parametrize("expected", range(1, 8))
def test_a_task_is_resolved_by_exactly_the_documented_thresholds(expected: int) -> None:
    """All counts of right calls and of calls beside them, against the seed's formula."""
    label: list[Asked] = [(f"t{number}", {"x": number}) for number in range(expected)]
    for right in range(expected + 1):
        for beside in range(expected + 2):
            asked = label[:right] + [NEWS] * beside
            share = right / expected
            resolved = share >= 0.8 and share >= 0.7 and len(asked) <= expected * 1.5
            assert scored(label, asked).resolved is (resolved and bool(asked)), (right, beside)


# --- what was chosen where the seed leaves room -------------------------------------------------


def test_a_repeated_tool_is_matched_by_its_arguments() -> None:
    reads: list[Asked] = [("read", {"path": path}) for path in ("a", "b", "c")]

    for asked in (reads, reads[::-1]):
        found = scored(reads, asked)
        assert (found.tool_selection_accuracy, found.parameter_accuracy) == (1.0, 1.0)


def test_a_retry_that_gets_it_right_counts() -> None:
    found = scored([PRICE, RATE], [("get_stock_price", {}), PRICE, RATE])

    assert found.resolved
    assert found.parameter_accuracy == 1.0


def test_of_all_assignments_the_best_is_taken() -> None:
    expected: list[Asked] = [
        ("f", {"x": 1, "y": 1}),
        ("f", {"x": 1, "y": 2}),
        ("f", {"x": 2, "y": 2}),
    ]
    asked: list[Asked] = [("f", {"x": 1, "y": 2}), ("f", {"x": 2, "y": 2}), ("f", {"x": 1, "y": 9})]

    assert scored(expected, asked).parameter_accuracy == 5 / 6


def test_a_right_argument_outweighs_any_number_of_nearly_right_ones() -> None:
    expected: list[Asked] = [("f", {"a": 1, "b": 1, "c": 1}), ("f", {"a": 2, "b": 2, "c": 2})]
    asked: list[Asked] = [
        ("f", {"a": "2", "b": "2", "c": "2"}),
        ("f", {"a": 2, "b": "1", "c": "1"}),
    ]

    assert scored(expected, asked).parameter_accuracy == 1 / 6


def test_each_call_is_used_once() -> None:
    found = scored([PRICE, PRICE], [PRICE])

    assert found.tool_selection_accuracy == 0.5
    assert found.wrong == (("get_stock_price", ""),)


def test_no_expected_arguments_are_all_right() -> None:
    found = scored([NOTHING], [NOTHING])

    assert found.resolved
    assert found.parameter_accuracy == 1.0


def test_a_similar_tool_stands_for_the_expected_one_and_is_reported() -> None:
    label = call("get_stock_price", {"symbol": "AAPL"}, similar_tools=[{"name": "stock_quote"}])

    found = score(task(label), [ExtractedCall("stock_quote", {"symbol": "AAPL"})])

    assert found.resolved
    assert found.sequence_match
    assert found.similar == (("get_stock_price", "stock_quote"),)


def test_of_two_equal_calls_the_one_of_the_expected_name_is_taken() -> None:
    label = call("get_stock_price", {}, similar_tools=[{"name": "stock_quote"}])
    asked = [ExtractedCall("stock_quote", {}), ExtractedCall("get_stock_price", {})]

    assert score(task(label), asked).similar == ()


def test_a_wrong_tool_is_told_with_the_one_that_it_was_taken_for() -> None:
    found = scored([PRICE, RATE], [NEWS, RATE])

    assert found.wrong == (("get_stock_price", "get_news"),)
    assert found.tool_selection_accuracy == 0.5


def test_arguments_that_nobody_expects_are_counted_and_cost_nothing() -> None:
    found = scored([NEWS], [("get_news", {"company": "Apple", "limit": 5})])

    assert found.resolved
    assert found.unasked == 1


# --- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    (
        "get_news mcp__stocks__get_news stocks__get_news stocks.get_news stocks/get_news "
        "stocks:get_news mcp__my_client__get_news mcp__big__stocks__get_news Stocks.get_news"
    ).split(),
)
def test_a_prefix_of_a_server_is_no_part_of_a_name(name: str) -> None:
    assert scored([NEWS], [(name, NEWS[1])]).resolved


@pytest.mark.parametrize(
    "name", ["Get_News", "get_news2", "news", "weather.get_news", "mcp__weather__get_news", ""]
)
def test_another_name_or_another_server_s_tool_is_another_tool(name: str) -> None:
    servers = {"stocks": [tool["name"] for tool in TOOLS], "weather": ["forecast"]}
    offered = [*TOOLS, {"name": "forecast", "description": "", "input_schema": {}}]

    found = scored([NEWS], [(name, NEWS[1])], tools=offered, mcp_tools_dict=servers)

    assert not found.resolved


def test_a_tool_whose_own_name_has_a_separator_is_found_by_it() -> None:
    for name in ("page.click", "page__click", "page/click"):
        tools = [{"name": name}]
        assert scored([(name, {})], [(name, {})], tools=tools).resolved
        assert scored([(name, {})], [(f"mcp__web__{name}", {})], tools=tools).resolved


def test_an_expected_tool_that_is_not_offered_is_found_by_its_whole_name() -> None:
    assert scored([("page__click", {})], [("page__click", {})], tools=[]).resolved


# --- values -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (5, 5.0, True),
        (1, True, False),
        (0, False, False),
        (None, False, False),
        ("", None, False),
        ("5", 5, False),
        ("AAPL", "aapl", False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [2, 1], False),
        ([1, [2, {"z": 1}]], [1, [2, {"z": 1.0}]], True),
        ({"a": True}, {"a": 1}, False),
        ([1], [1, 1], False),
        (2**53 + 1, float(2**53), False),
    ],
)
def test_values_are_compared_as_json_has_them(one: Any, other: Any, same: bool) -> None:
    assert equal(one, other) is same
    assert equal(other, one) is same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("5", 5, True),
        ("5.50", 5.5, True),
        ("1e3", 1000, True),
        (" AAPL ", "AAPL", True),
        ("False", False, True),
        ("null", None, True),
        ({"n": "2"}, {"n": 2}, True),
        (["2"], [2], True),
        ("aapl", "AAPL", False),
        ("007", "7", False),
        ("007", 7, False),
        ("12345678901234567891", "12345678901234567890", False),
        ("1", True, False),
        ("1_000", 1000, False),
        ("٣", 3, False),
        ("", None, False),
        ([1, 2], [2, 1], False),
    ],
)
def test_the_normalised_score_forgives_form_and_no_content(
    one: Any, other: Any, same: bool
) -> None:
    assert equal(normal(one), normal(other)) is same
    wanted, given = [("get_news", {"x": one})], [("get_news", {"x": other})]
    assert scored(wanted, given).normalised_accuracy == float(same)


# --- cheats -------------------------------------------------------------------------------------


def gold(made: Task) -> list[ExtractedCall]:
    return [ExtractedCall(one.name, one.arguments) for one in made.expected]


def every_tool(made: Task) -> list[ExtractedCall]:
    return [ExtractedCall(tool.name, {}) for tool in made.tools]


SINGLE = task(call(*PRICE))
MULTI = task(call(*PRICE), call(*RATE), call(*NEWS))
OTHER = task(call("get_stock_price", {"symbol": "MSFT", "days": 9}))


@pytest.mark.parametrize("made", [SINGLE, MULTI])
def test_the_label_itself_wins_and_every_cheat_loses(made: Task) -> None:
    right = gold(made)

    assert score(made, right).resolved
    for cheat in (
        right + every_tool(made),
        every_tool(made),
        right * 2,
        [ExtractedCall(one.name, {}) for one in right],
        [
            ExtractedCall(one.name, {**one.arguments, "symbol": None, "to": None})
            for one in right[:1]
        ],
        gold(OTHER),
        [ExtractedCall("get_news", one.arguments) for one in right],
        [ExtractedCall("*", {}), ExtractedCall("", {})],
    ):
        assert not score(made, cheat).resolved


def test_an_answer_that_shows_many_calls_is_counted_with_all_of_them() -> None:
    drafts = "\n".join(
        json.dumps({"name": tool.name, "parameters": {"symbol": "AAPL", "days": 5}})
        for tool in SINGLE.tools
    )

    found = score(SINGLE, calls_of(drafts, SINGLE.tool_names).calls)

    assert found.calls == len(SINGLE.tools)
    assert not found.resolved


def test_the_record_s_own_text_is_no_answer() -> None:
    quoted = json.dumps(record()["tools"])

    assert not score(SINGLE, calls_of(quoted, SINGLE.tool_names).calls).resolved


# --- a similar tool's own arguments -------------------------------------------------------------

CONVERT = {
    "name": "convert_currency",
    "description": "The rate of one currency in another.",
    "input_schema": {
        "type": "object",
        "properties": {"source": {"type": "string"}, "target": {"type": "string"}},
    },
}
"""What it does is what get_exchange_rate does, and none of its arguments has the same name."""


@pytest.mark.parametrize(
    ("arguments", "parameters"),
    [
        ({"source": "USD", "target": "EUR"}, 1.0),
        ({"target": "EUR", "source": "USD"}, 1.0),
        ({"source": "EUR", "target": "USD"}, 0.5),
        ({"source": "USD"}, 0.5),
        ({"source": "GBP", "target": "CHF"}, 0.0),
        ({"anything": "USD", "else": "EUR"}, 0.0),
    ],
)
def test_a_similar_tool_is_held_to_its_own_names_for_the_values(
    arguments: dict[str, Any], parameters: float
) -> None:
    label = call("get_exchange_rate", {"from": "USD", "to": "EUR"}, similar_tools=[CONVERT])
    asked = task(label, tools=[*TOOLS, CONVERT])

    found = score(asked, [ExtractedCall("convert_currency", arguments)])

    assert found.parameter_accuracy == parameters
    assert found.resolved is (parameters == 1.0)


def test_the_expected_tool_itself_is_still_held_to_its_names() -> None:
    label = call("get_exchange_rate", {"from": "USD", "to": "EUR"}, similar_tools=[CONVERT])
    asked = task(label, tools=[*TOOLS, CONVERT])

    found = score(asked, [ExtractedCall("get_exchange_rate", {"source": "USD", "target": "EUR"})])

    assert (found.tool_selection_accuracy, found.parameter_accuracy) == (1.0, 0.0)


ROUTE = {
    "name": "route",
    "input_schema": {
        "type": "object",
        "properties": {"to": {"type": "string"}, "by": {"type": "string"}, "from_": {}},
    },
}
"""Where the way ends comes first, unlike in the label below."""


@pytest.mark.parametrize(
    ("arguments", "parameters"),
    [
        ({"to": "Graz", "from_": "Linz"}, 1.0),
        ({"to": "Linz", "from_": "Graz"}, 0.5),
        ({"origin": "Linz", "destination": "Graz"}, 0.0),
    ],
)
def test_a_similar_tool_is_right_whichever_end_its_schema_has_first(
    arguments: dict[str, Any], parameters: float
) -> None:
    want = {"origin": "Linz", "destination": "Graz"}
    label = call("plan_route", want, similar_tools=[ROUTE])
    plan = {"name": "plan_route", "input_schema": {"properties": {key: {} for key in want}}}

    found = score(task(label, tools=[plan, ROUTE]), [ExtractedCall("route", arguments)])

    assert found.parameter_accuracy == parameters
