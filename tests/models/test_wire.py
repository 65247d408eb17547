"""Tools and arguments as APIs take and send them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.agents.models.wire import SEED, fit, parse_arguments, without_surrogates
from runner.protocols import ToolSpec


def tool(name: str, schema: dict[str, Any] | None = None, **changes: Any) -> ToolSpec:
    plain = {"type": "object", "properties": {"q": {"type": "string"}}}
    given = {"description": "d", "input_schema": plain if schema is None else schema}
    return ToolSpec(**{"name": name, "origin": "server", **given, **changes})


@given(st.lists(st.text(min_size=1), unique=True, max_size=20))
def test_every_name_becomes_one_that_apis_take_and_leads_back(names: list[str]) -> None:
    fitted = fit([tool(name) for name in names], name_chars=64)
    for wire in fitted.tools:
        assert re.fullmatch("[A-Za-z0-9_-]{1,64}", wire.name)
    assert [fitted.ours[wire.name] for wire in fitted.tools] == names


def test_long_names_that_begin_alike_stay_apart() -> None:
    names = ["mcp__server__" + "x" * 90 + end for end in "ab"]
    fitted = fit([tool(name) for name in names], name_chars=64)
    assert len({wire.name for wire in fitted.tools}) == 2


@pytest.mark.parametrize(
    ("schema", "change"),
    [
        ({}, ""),
        ({"type": "object"}, ""),
        ({"type": "string"}, "type 'string' became 'object'"),
        ({"type": "object", "anyOf": [{"required": ["a"]}]}, "anyOf moved into the description"),
    ],
)
def test_a_schema_apis_reject_is_changed_and_the_change_is_said(
    schema: dict[str, Any], change: str
) -> None:
    fitted = fit([tool("t", schema)], name_chars=64)
    (wire,) = fitted.tools
    assert wire.input_schema["type"] == "object"
    assert "properties" in wire.input_schema
    assert "anyOf" not in wire.input_schema
    notes = [f"the schema of t was changed for the API: {change}"] if change else []
    assert list(fitted.notes) == notes
    if "anyOf" in schema:
        assert '"required": ["a"]' in wire.description


def test_more_tools_than_an_api_takes_are_drawn_by_a_seed_that_is_said() -> None:
    tools = [tool("shell", origin="shell"), *(tool(f"t{number}") for number in range(199))]
    fitted, again = (fit(tools, name_chars=64, most=128) for _ in range(2))
    kept = [wire.name for wire in fitted.tools]
    assert len(kept) == 128
    assert "shell" in kept
    assert kept == [wire.name for wire in again.tools]
    (note,) = fitted.notes
    assert f"128 of 200 tools; left out by seed {SEED}:" in note
    left_out = note.partition(f"seed {SEED}: ")[2].split(", ")
    assert sorted([*left_out, *kept]) == sorted(item.name for item in tools)


@pytest.mark.parametrize(
    ("written", "arguments"), [("", {}), ("  ", {}), ("{}", {}), ('{"a": [1]}', {"a": [1]})]
)
def test_arguments_are_read(written: str, arguments: dict[str, Any]) -> None:
    assert parse_arguments(written) == (arguments, "")


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ('{"a": ', "cannot be read"),
        ("[1]", "no JSON object"),
        ('{"a": NaN}', "NaN is no JSON number"),
        ('{"a": ' + "9" * 5000 + "}", "cannot be read"),
        ('{"a":' * 3000 + "1" + "}" * 3000, "nested 3000 levels deep"),
        ("[" * 100_000, "nested 100000 levels deep"),
    ],
)
def test_arguments_that_cannot_be_read_say_why(written: str, problem: str) -> None:
    arguments, why = parse_arguments(written)
    assert arguments == {}
    assert problem in why
    assert len(why) < 400, "megabytes of it would go into the transcript"


def test_brackets_inside_texts_are_no_levels() -> None:
    assert parse_arguments('{"a": "' + "[" * 500 + '\\""}')[1] == ""


def test_what_utf8_cannot_hold_is_replaced_wherever_it_is() -> None:
    assert without_surrogates({"\udc80": ["\ud83d", {"a": ("b", 1)}]}) == {
        "?": ["?", {"a": ["b", 1]}]
    }
