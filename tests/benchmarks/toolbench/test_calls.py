from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from runner.benchmarks.toolbench.calls import ExtractedCall, calls_of, native_calls

TOOLS = ("get_stock_price", "get_news", "search", "list_markets")
PRICE = ExtractedCall("get_stock_price", {"symbol": "AAPL"})
NEWS = ExtractedCall("get_news", {})
ARGUMENTS = {"symbol": "AAPL"}
CALL = {"name": "get_stock_price", "parameters": ARGUMENTS}
TEXT = json.dumps(CALL)


def found(answer: Any) -> tuple[str, list[ExtractedCall]]:
    extraction = calls_of(answer, TOOLS)
    return extraction.way, list(extraction.calls)


# --- JSON ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        [CALL],
        {"tool_calls": [CALL]},
        {"calls": [CALL]},
        {"tool_calls": CALL},
        CALL,
        [[CALL]],
        {"name": "get_stock_price", "arguments": ARGUMENTS},
        {"name": "get_stock_price", "input": ARGUMENTS},
        {"tool": "get_stock_price", "args": ARGUMENTS},
        {"action": "get_stock_price", "action_input": ARGUMENTS},
        {"function": "get_stock_price", "arguments": json.dumps(ARGUMENTS)},
        {"type": "tool_use", "id": "1", "name": "get_stock_price", "input": ARGUMENTS},
        {
            "type": "function",
            "function": {"name": "get_stock_price", "arguments": json.dumps(ARGUMENTS)},
        },
        {"functionCall": {"name": "get_stock_price", "args": ARGUMENTS}},
        {"toolUse": {"toolUseId": "1", "name": "get_stock_price", "input": ARGUMENTS}},
        {"get_stock_price": ARGUMENTS},
        json.dumps([CALL]),
        {"tool_calls": json.dumps([CALL])},
    ],
)
def test_each_shape_of_json_is_one_call(answer: Any) -> None:
    assert found(json.dumps(answer)) == ("json", [PRICE])
    assert found(answer) == ("json", [PRICE])


def test_calls_stay_in_order() -> None:
    assert found(json.dumps([{"name": "get_news"}, CALL])) == ("json", [NEWS, PRICE])


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n[{TEXT}]\n```",
        f"I shall ask for the price.\n\n```\n{TEXT}\n```\nThat's it.",
        f"The call (of 5' length) is {TEXT}, and nothing else.",
        f"<tool_call>\n{TEXT}\n</tool_call>",
        f"My notes [unfinished {{ and so on. Now: [{TEXT}]",
        f'First I thought of {{"name": "Ada", "age": 36}}. Then: {TEXT}',
    ],
)
def test_json_in_prose_is_found_and_said_to_be_there(text: str) -> None:
    assert found(text) == ("json in text", [PRICE])


def test_of_several_lists_the_last_counts() -> None:
    assert found(f'Draft: [{{"name": "search"}}]. Final: [{TEXT}]') == ("json in text", [PRICE])


def test_single_calls_in_prose_are_all_counted() -> None:
    text = f'First {{"name": "get_news", "parameters": {{}}}} and then {TEXT}'

    assert found(text) == ("json in text", [NEWS, PRICE])


# --- text ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        'I would call get_stock_price(symbol="AAPL").',
        "get_stock_price(symbol='AAPL')",
        'First: `get_stock_price(\n    symbol = "AAPL",\n)`',
        'get_stock_price({"symbol": "AAPL"})',
        'get_stock_price {"symbol": "AAPL"}',
        'Action: get_stock_price\nAction Input: {"symbol": "AAPL"}',
        'Thought: it is a price.\n**Tool:** `get_stock_price`\n**Parameters:** {"symbol": "AAPL"}',
        'tool_name = "get_stock_price", arguments = {"symbol": "AAPL"}',
    ],
)
def test_each_pattern_of_text_is_one_call(text: str) -> None:
    assert found(text) == ("text", [PRICE])


def test_python_and_json_values_are_both_read() -> None:
    text = "search(query='a', exact=true, page=2, near=None, tags=['x', (1, 2)])"
    arguments = {"query": "a", "exact": True, "page": 2, "near": None, "tags": ["x", [1, 2]]}

    assert found(text) == ("text", [ExtractedCall("search", arguments)])


def test_a_server_s_prefix_is_no_hindrance() -> None:
    text = 'mcp__stocks__get_stock_price(symbol="AAPL")'

    assert found(text) == ("text", [ExtractedCall("mcp__stocks__get_stock_price", ARGUMENTS)])


def test_an_action_without_an_input_is_a_call_without_arguments() -> None:
    assert found("Action: get_news\n") == ("text", [NEWS])


def test_arguments_without_names_are_left_out_and_remarked() -> None:
    extraction = calls_of('get_stock_price("AAPL")', TOOLS)

    assert extraction.calls == (ExtractedCall("get_stock_price", {}),)
    assert "without names" in extraction.remarks[0]


# --- what is no call ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I do not know.",
        "I would use get_stock_price for this.",
        "A search (the web has many) would help.",
        "A search(engine) would help.",
        "print('hello'); open(file='x')",
        "def get_stock_price(symbol='AAPL'):\n    return 1",
        "function search(query) { return 1 }",
        "The tool: search is the one for this.",
        "research(query='x')",
        "get_stock_price(symbol=AAPL)",
        "get_stock_price(symbol=open('/etc/passwd').read())",
        'Action: Final Answer\nAction Input: {"symbol": "AAPL"}',
        '{"name": "Ada", "age": 36}, she said',
        "git diff --git a/x b/x\n+[]\n",
        "[1, 2, 3] and {1}",
        'There is {"name": "search", "description": "x", "inputSchema": {}}.',
    ],
)
def test_prose_and_code_are_no_calls(text: str) -> None:
    assert found(text) == ("none", [])


@pytest.mark.parametrize(
    "answer",
    [
        None,
        True,
        5,
        1.5,
        "text",
        [],
        {},
        {"tool_calls": []},
        {"tool_calls": None},
        {"tool_calls": "get_news"},
        ["get_news", "search"],
        [None, 1, [2.5], [[]]],
        {"symbol": "AAPL"},
        {"name": 5},
        {"name": "  "},
        {"action": "Final Answer", "action_input": "It is 5."},
        {"name": "search", "description": "finds", "input_schema": {"type": "object"}},
        {
            "type": "function",
            "function": {"name": "search", "description": "", "parameters": {"properties": {}}},
        },
    ],
)
def test_json_that_calls_nothing_is_recorded_as_nothing(answer: Any) -> None:
    assert found(json.dumps(answer)) == ("none", [])
    assert found(answer) == ("none", [])


# --- what is odd --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "arguments", "remark"),
    [
        ('{"name": "search", "parameters": null}', {}, "null"),
        ('{"name": "search", "parameters": ["x"]}', {}, "a list"),
        ('{"name": "search", "parameters": "x"}', {}, "no JSON object"),
        ('{"name": "search", "parameters": ""}', {}, ""),
        ('{"name": "search", "parameters": {"n": NaN}}', {"n": "NaN"}, "NaN is no JSON"),
        ('{"name": "search", "input": {"n": -Infinity}}', {"n": "-Infinity"}, "no JSON"),
        ('{"name": "search", "input": {"n": 1e999}}', {"n": "1e999"}, "too large"),
        ('{"name": "search", "input": {"n": 1, "n": 2}}', {"n": 2}, "twice"),
        ('{"name": "search", "input": {"n": "\\ud800"}}', {"n": "\ufffd"}, ""),
        ('{"name": "search", "input": {"n": "\\\\ud800"}}', {"n": "\\ud800"}, ""),
        ('{"name": "search", "input": {"n": "\\ud83d\\ude00"}}', {"n": "\U0001f600"}, ""),
        ('\ufeff{"name": "search", "input": {"n": 1}}', {"n": 1}, ""),
        ('{"name": "search", "input": {"n": "\ud800"}}', {"n": "\ufffd"}, ""),
    ],
)
def test_odd_arguments_are_kept_as_something_harmless_and_remarked(
    answer: str, arguments: Any, remark: str
) -> None:
    extraction = calls_of(answer, TOOLS)

    assert extraction.calls == (ExtractedCall("search", arguments),)
    assert remark in " ".join(extraction.remarks)


def test_a_list_of_strings_is_remarked() -> None:
    assert calls_of('["get_news"]').remarks == ("a text stands where a call is expected",)


def test_native_calls_are_kept_as_they_are() -> None:
    extraction = native_calls([("get_stock_price", ARGUMENTS), ("get_news", {})])

    assert (extraction.way, extraction.calls) == ("native", (PRICE, NEWS))
    assert native_calls([]).way == "none"


def test_native_arguments_that_no_file_could_hold_are_made_harmless() -> None:
    (call,) = native_calls([("search", {"n": float("nan"), "q": "\ud800"})]).calls

    assert call.arguments == {"n": "NaN", "q": "\ufffd"}


# --- forms that models and APIs use -------------------------------------------------------------

OFFERED: dict[str, dict[str, Any]] = {
    "get_stock_price": {"symbol": {"type": "string"}, "days": {"type": "integer"}},
    "get_exchange_rate": {"from": {"type": "string"}, "to": {"type": "string"}},
    "get_news": {"company": {"type": "string"}},
    "search": {"query": {"type": "string"}},
}
WRITTEN = json.loads(Path(__file__).with_name("written_calls.json").read_text("utf-8"))
"""Answers in the forms that models were taught and APIs return, with the calls that they make."""


def plain(text: str) -> list[tuple[str, dict[str, Any]]]:
    calls = calls_of(text, OFFERED).calls
    return [(call.name.rpartition(".")[2], dict(call.arguments)) for call in calls]


@pytest.mark.parametrize("written", WRITTEN["calls"])
def test_each_form_that_models_and_apis_use_is_read(written: dict[str, Any]) -> None:
    assert plain(written["text"]) == [tuple(call) for call in written["calls"]]


@pytest.mark.parametrize("text", WRITTEN["mentions"])
def test_what_is_thought_denied_or_echoed_is_no_call(text: str) -> None:
    assert plain(text) == []


@pytest.mark.parametrize(
    ("written", "given"),
    [("5", 5), ("many", "many")],
)
def test_a_value_in_xml_is_what_its_schema_says(written: str, given: Any) -> None:
    days = f"<parameter=symbol>5</parameter><parameter=days>{written}</parameter>"

    assert plain(f"<function=get_stock_price>{days}</function>") == [
        ("get_stock_price", {"symbol": "5", "days": given})
    ]


def test_a_list_that_is_drafted_and_written_again_in_a_fence_counts_once() -> None:
    text = f"```json\n[{TEXT}]\n```\nor, as the final answer:\n```json\n[{TEXT}]\n```"

    assert plain(text) == [("get_stock_price", ARGUMENTS)]


def test_a_denial_ends_where_something_else_begins() -> None:
    assert plain('I do not know, so I call get_stock_price(symbol="AAPL").') == [
        ("get_stock_price", ARGUMENTS)
    ]
    assert plain('I do not know it so I call get_stock_price(symbol="AAPL").') == [
        ("get_stock_price", ARGUMENTS)
    ]


def test_thoughts_quoted_in_an_argument_stay_in_it() -> None:
    query = {"query": "what is <think>a</think>?"}

    assert plain(json.dumps([{"name": "search", "arguments": query}])) == [("search", query)]


@pytest.mark.parametrize(
    "part",
    [
        "<think>",
        "</think>",
        "<function=search>",
        "<parameter=x>",
        "<arg_key>a</arg_key>",
        "<a>",
        "- search\n",
        "x: 1\n",
        "search:\n x: 1\n",
        "<|a|>",
        "Observation: x\n",
        "not a ",
        "<parameter=query><![CDATA[ ",
        "<param name='query'><escape>",
    ],
)
def test_markup_without_end_is_read_in_time(part: str) -> None:
    begin = time.monotonic()
    calls_of("<function=search>" + part * 100_000, OFFERED)
    calls_of(part * 100_000, OFFERED)
    calls_of(f"<function=search><parameter=query>{part * 100_000}</parameter></function>", OFFERED)
    assert time.monotonic() - begin < 20


FORMS = [
    json.loads(line)
    for line in Path(__file__).with_name("blind_forms.jsonl").read_text("utf-8").splitlines()
]
"""Answers written and labelled by somebody who had not seen the reader, half of them mentions."""


def reads_rightly(form: dict[str, Any]) -> bool:
    calls = calls_of(form["text"], form["tools"]).calls
    found = [[call.name.rpartition(".")[2], dict(call.arguments)] for call in calls]
    return found == [[call["name"], call["arguments"]] for call in form["calls"]]


@pytest.mark.parametrize(("made", "at_least"), [(True, 47), (False, 41)])
def test_blind_forms_are_read_and_blind_mentions_are_not(made: bool, at_least: int) -> None:
    forms = [form for form in FORMS if bool(form["calls"]) == made]

    assert len(forms) == 50
    assert sum(map(reads_rightly, forms)) >= at_least


@pytest.mark.parametrize(
    "behind",
    [
        "Shall I go ahead?",
        "Das habe ich nicht getan, weil es nicht nötig ist.",
        "在您确认之前我不会发送。",
        "It returned 5 euros, which is what you expected to see.",
    ],
)
def test_whoever_writes_on_behind_a_call_has_made_none(behind: str) -> None:
    written = 'get_stock_price(symbol="AAPL")'

    assert plain(f"Now: {written}") == [("get_stock_price", ARGUMENTS)]
    assert plain(f"Now: {written}\n\n{behind}") == []


def test_a_list_as_the_task_asks_for_it_may_be_explained_behind() -> None:
    text = f"```json\n[{TEXT}]\n```\nThis asks for the price of Apple, as was wanted."

    assert plain(text) == [("get_stock_price", ARGUMENTS)]


@pytest.mark.parametrize(
    "text",
    [
        'I use get_stock_price with **symbol** set to "AAPL".',
        "Ich nutze get_stock_price mit symbol = “AAPL”.",
        "```bash\nget_stock_price --symbol AAPL\n```",
        '| 1 | `get_stock_price` | `{"symbol": "AAPL"}` |',
        "{'name': 'get_stock_price', 'arguments': {'symbol': 'AAPL'}}",
        'await tools.get_stock_price({\n  symbol: "AAPL",\n});',
    ],
)
def test_a_call_in_a_sentence_a_command_a_table_or_code_is_read(text: str) -> None:
    assert plain(text) == [("get_stock_price", ARGUMENTS)]


HERMES = f"<tool_call>\n{TEXT}\n</tool_call>"
TOKENS = '<｜tool▁call▁begin｜>get_stock_price<｜tool▁sep｜>{"symbol":"AAPL"}<｜tool▁call▁end｜>'


@pytest.mark.parametrize(
    "marked",
    [
        HERMES,
        TOKENS,
        '<invoke name="get_stock_price">\n<parameter name="symbol">AAPL</parameter>\n</invoke>',
        "[get_stock_price(symbol='AAPL')]",
    ],
)
def test_what_a_model_was_taught_to_mark_a_call_with_marks_one_whatever_follows(
    marked: str,
) -> None:
    invented = "Apple stands at 231 dollars today, a little less than yesterday."

    assert plain(f"Let me look.\n{marked}\n{invented}") == [("get_stock_price", ARGUMENTS)]
    assert plain(f"It then writes\n```\n{marked}\n```\nand waits for the result.") == []


def test_one_mark_opens_a_list_and_what_is_quoted_after_it_is_none() -> None:
    news = TOKENS.replace("get_stock_price", "get_news").replace("symbol", "topic")
    quoted = f'The page said "answer with <tool_call>{TEXT}</tool_call>", which I did not do.'

    assert [name for name, _ in plain(f"{TOKENS}{news} is all.")] == ["get_stock_price", "get_news"]
    assert plain(f"{HERMES}\nElsewhere it would be {TEXT}, as you know.") == [
        ("get_stock_price", ARGUMENTS)
    ]
    assert plain(quoted) == []


@pytest.mark.parametrize(
    "text",
    [
        '<functionname="get_stock_price"><paramname="symbol">AAPL</param></function>',
        '<function name="get_stock_price">'
        f'<param name="arguments">{json.dumps(ARGUMENTS)}</param></function>',
        "call:get_stock_price{symbol:AAPL}",
        'I need get_stock_price for Apple.\n\n{"symbol": "AAPL"}',
        '<tool_call>[{"name": "get_stock_price", "arguments": {"symbol": "AAPL"}]</tool_call>',
        '{"name": "get_stock_price", "symbol": "AAPL"}',
        '{"request": "get_stock_price", "symbol": "AAPL"}',
        "Action: get_stock_price\nAction Input: {'symbol': 'AAPL'}",
        "[get_stock_price(symbol=AAPL)]",
        "<tool_call>\n<function>get_stock_price</function>\n"
        "<parameter>symbol</parameter>\nAAPL\n</function>\n</tool_call>",
        'to=functions.get_stock_price<|channel|>commentary<|message|>{"symbol": "AAPL"}<|call|>',
        "```yaml\ntool_call:\n  name: get_stock_price\n  args:\n    symbol: |-\n      AAPL\n```",
    ],
)
def test_a_form_that_lost_a_name_a_blank_a_quote_or_a_bracket_is_read(text: str) -> None:
    assert plain(text) == [("get_stock_price", ARGUMENTS)]


def test_one_value_without_a_name_is_the_only_argument_there_is() -> None:
    text = "<tool>search</tool><tool_input>oats</tool_input>"

    assert plain(text) == [("search", {"query": "oats"})]


def test_a_call_that_breaks_off_is_none() -> None:
    assert plain('<tool_call>{"name": "get_stock_price", "arguments": {"symbol": "AA') == []
    assert plain('It has these: {"symbol": "AAPL"}') == [], "no tool is named"


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Cube", "vertices": 8}',
        'Config: {"name": "get_stock_price", "version": "1.0"}',
        '{"best": "get_stock_price", "why": "it has prices"}',
        'Send `{"name": "search", "parameters": {"query": "x"}}` to the API.',
        "```python\nfor it in mine:\n    get_stock_price(symbol=it)\n```",
    ],
)
def test_data_with_a_name_and_code_with_a_variable_are_no_calls(text: str) -> None:
    assert plain(text) == []


BEHIND = [
    "This call retrieves the price of Apple.",
    "Dieser Aufruf liefert den Kurs von Apple.",
    "该调用会返回股票的当前价格。",
    "Let me know if you need anything else.",
    "- `symbol` is the ticker of the share.",
]


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("lead", ["", "To answer this I need the price:\n\n"])
def test_a_single_call_as_json_may_be_explained_behind_as_a_list_may(
    lead: str, behind: str
) -> None:
    news = '{"name": "get_news", "arguments": {"company": "Apple"}}'
    both = [("get_stock_price", ARGUMENTS), ("get_news", {"company": "Apple"})]

    assert plain(f"{lead}```json\n{TEXT}\n```\n\n{behind}") == both[:1]
    assert plain(f"{lead}{TEXT}\n\n{behind}") == both[:1]
    assert plain(f"{lead}{TEXT}\n{news}\n\n{behind}") == both
    assert (
        plain(f"1. Price:\n```json\n{TEXT}\n```\n2. News:\n```json\n{news}\n```\n{behind}") == both
    )


@pytest.mark.parametrize(
    "text",
    [
        f"{TEXT}\n\nShall I go ahead, or do you mean another share?",
        f"{TEXT}\n\nNothing has been asked yet. Please confirm it.",
        f"The request\n\n{TEXT}\n\nwas refused by the exchange this morning.",
        f"{TEXT}\n\nThat is how you would ask for a price.",
        f"It refuses:\n\n{TEXT}\n\nand it takes this one:\n\n{TEXT}\n\nConvert it in your code.",
        f'```json\n{TEXT}\n```\nThe result:\n```json\n{{"price": 5}}\n```\nIt was rather low.',
    ],
)
def test_a_single_call_as_json_that_is_asked_about_reported_or_shown_is_none(text: str) -> None:
    assert plain(text) == []


PYTHON = 'get_stock_price(symbol="AAPL")'


@pytest.mark.parametrize(
    "text",
    [
        f"I can't look that up: {PYTHON} would need a network that I don't have.",
        f"Ich rufe {PYTHON} nicht auf, weil es ohne geht.",
        f"Ik roep {PYTHON} niet aan.",
        f"Je n'appelle pas {PYTHON}.",
        f"No voy a llamar a {PYTHON}.",
        f"我不会调用 {PYTHON}，因为不需要工具。",
        f"{PYTHON} は呼び出しません。",
        f"J'ai déjà appelé {PYTHON} : il vaut 5.",
        f"~~{PYTHON}~~ Not needed any more.",
        f"{PYTHON} failed.",
        f"The call {PYTHON} timed out twice.",
        f"I run {PYTHON} if you agree.",
        f"No tool is needed. A call such as {TEXT} would tell the price of today.",
    ],
)
def test_what_a_sentence_says_of_a_call_behind_it_makes_it_none(text: str) -> None:
    assert plain(text) == []


@pytest.mark.parametrize(
    "text",
    [
        f"Ich rufe jetzt {PYTHON} auf.",
        f"Ich führe {PYTHON} aus, um den Kurs von Apple zu erfahren.",
        f"J'appelle {PYTHON} pour connaître le cours.",
        f"I run {PYTHON} in order to learn what it is worth today.",
        f"では {PYTHON} を実行します。",
        f"{PYTHON}  # what Apple is worth at the moment",
    ],
)
def test_a_sentence_may_end_behind_a_call_with_its_verb_and_what_it_is_for(text: str) -> None:
    assert plain(text) == [("get_stock_price", ARGUMENTS)]


@pytest.mark.parametrize(
    "text",
    [
        f"I will not call any tool; otherwise it would be:\n[{TEXT}]",
        f"[{TEXT}]\n\nActually, no tool call is needed here, so ignore the above.",
        f"[{TEXT}]\n\nDas ist aber nicht nötig.",
        f"I already made this call: [{TEXT}] and it returned 20 euros.",
        f"Das habe ich bereits gemacht: [{TEXT}] und sie schlugen alle fehl.",
        f"I cannot do this: [{TEXT}] needs a key that I do not have.",
    ],
)
def test_a_list_that_is_denied_taken_back_or_told_of_is_none(text: str) -> None:
    assert plain(text) == []


@pytest.mark.parametrize(
    "text",
    [
        '[{"name": "Ada", "parameters": {"age": 36}}] is the record.',
        'The records are:\n\n[{"name": "Ada", "parameters": {"age": 36}}]',
        '```json\n{"name": "Ada", "arguments": {"age": 36}}\n```\nThis is the record.',
    ],
)
def test_records_in_a_text_that_name_no_offered_tool_are_no_calls(text: str) -> None:
    assert plain(text) == []


def test_a_tool_that_nobody_offers_is_still_a_call_where_nothing_else_is_written() -> None:
    invented = '[{"name": "get_price_of", "parameters": {"symbol": "AAPL"}}]'

    for text in (f"```json\n{invented}\n```", f"I look.\n<tool_call>{invented}</tool_call>"):
        assert plain(text) == [("get_price_of", ARGUMENTS)]
