"""What models call tools: allowed everywhere, never two alike, whatever stands beside them."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from runner.benchmarks.agentbench.testbed.names import LIMIT_CHARS, MARK_CHARS, routed_names
from runner.records import digest_of

ALLOWED = re.compile(r"[A-Za-z0-9_-]{1,64}")
PARTS = st.text(alphabet="ab_-.é/ ", min_size=1, max_size=9)
TOOLS = st.lists(PARTS | st.text(min_size=1, max_size=80), unique=True, max_size=8)


def marked(name: str) -> str:
    return digest_of(name)[:MARK_CHARS]


def test_a_plain_tool_is_called_by_its_server_and_itself() -> None:
    assert routed_names("units", ["convert", "list-units"]) == {
        "convert": "units__convert",
        "list-units": "units__list-units",
    }


def test_two_tools_that_look_alike_once_cleaned_are_told_apart() -> None:
    assert routed_names("s", ["a.b", "a/b", "c"]) == {
        "a.b": f"s__a_b_{marked('a.b')}",
        "a/b": f"s__a_b_{marked('a/b')}",
        "c": "s__c",
    }


def test_a_server_that_holds_or_ends_in_the_separator_takes_nobodys_names() -> None:
    deep = routed_names("a__b", ["c"])
    shallow = routed_names("a", ["b__c"])
    trailing = routed_names("a_", ["b"])
    leading = routed_names("a", ["_b"])
    assert shallow == {"b__c": "a__b__c"}
    assert leading == {"_b": "a___b"}
    assert deep["c"] == f"a_b_{marked('a__b')}__c"
    assert trailing["b"] == f"a_{marked('a_')}__b"


def test_a_tool_that_is_called_as_another_ones_mark_takes_nobodys_name() -> None:
    cheat = f"a_b_{marked('a.b')}"
    names = routed_names("s", ["a.b", "a/b", cheat])
    assert len(set(names.values())) == 3


@given(PARTS, PARTS, TOOLS, TOOLS)
def test_no_two_tools_of_two_servers_are_called_alike(
    one: str, other: str, first: list[str], second: list[str]
) -> None:
    names = [*routed_names(one, first).values()]
    if one != other:
        names += routed_names(other, second).values()
    assert len(set(names)) == len(names)
    assert all(ALLOWED.fullmatch(name) for name in names)


def test_long_names_are_cut_to_what_every_api_takes() -> None:
    names = routed_names("a-server-with-a-very-long-name.of-its-own", ["x" * 200, "x" * 201])
    assert {len(name) for name in names.values()} == {LIMIT_CHARS}
    assert len(set(names.values())) == 2
