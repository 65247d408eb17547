"""What calls give and are fed, and texts that stand in texts."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from runner.benchmarks.agentbench.proof.trajectory import (
    NotGiven,
    fed_names,
    fill_feeds,
    given_by,
    numbers,
    one_number,
    stands,
    stands_in,
)
from runner.benchmarks.agentbench.queries import ReferenceCall

GIVEN = {"mass": "12.5", "code": "0042", "bits": "1010", "list": "[3, 4]", "yes": "true"}


@pytest.mark.parametrize(
    ("argument", "fed"),
    [
        ("{{mass}}", 12.5),
        ("{{bits}}", 1010),
        ("{{bits|text}}", "1010"),
        ("{{code}}", "0042"),
        ("{{list}}", "[3, 4]"),
        ("{{list|json}}", [3, 4]),
        ("{{yes}}", "true"),
        ("{{yes|json}}", True),
        ("{{mass}} kg of {{bits|text}}", "12.5 kg of 1010"),
        (["{{mass}}", {"deep": "{{code}}"}], [12.5, {"deep": "0042"}]),
        ("{not} {{ a name }} {{Mass}}", "{not} {{ a name }} {{Mass}}"),
        (7, 7),
    ],
)
def test_an_argument_is_fed_what_was_given(argument: Any, fed: Any) -> None:
    assert fill_feeds({"x": argument}, GIVEN) == {"x": fed}


@pytest.mark.parametrize(
    "argument", ["{{volume}}", "a {{volume}}", ["{{volume}}"], "{{code|json}}"]
)
def test_what_was_not_given_is_fed_to_nobody(argument: Any) -> None:
    with pytest.raises(NotGiven):
        fill_feeds(argument, GIVEN)


def test_a_call_is_fed_by_the_names_in_its_arguments_however_deep() -> None:
    call = ReferenceCall(
        server="s", tool="t", arguments={"a": ["{{x}}", {"b": "{{y|text}} and {{z}}"}], "n": 1}
    )
    assert fed_names(call) == {"x", "y", "z"}


def test_a_pattern_finds_its_group_on_any_line() -> None:
    call = ReferenceCall(server="s", tool="t", gives={"total": r"^Total: (\d+)$"})
    assert given_by(call, "Items: 3\nTotal: 42\n") == {"total": "42"}
    with pytest.raises(NotGiven, match=r"gives\.total"):
        given_by(call, "Grand Total: 42")


@pytest.mark.parametrize("gives", [{"a": "("}, {"a": "no group"}, {"a": "(x)(y)"}, {"A b": "(x)"}])
def test_a_pattern_that_could_feed_nothing_is_refused(gives: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        ReferenceCall(server="s", tool="t", gives=gives)


@pytest.mark.parametrize(
    ("wanted", "text", "there"),
    [
        ("12.3", "it is 12.3.", True),
        ("12.3", "12.34", False),
        ("12.3", "112.3", False),
        ("12", "12.3", False),
        ("12", "1,012", False),
        ("12", "12,5", False),
        ("12", "12, 5", True),
        ("234", "1,234", False),
        ("07:52", "8a,29,07:52,9", True),
        ("2031-05-04", "1,2031-05-04,12", True),
        ("67400", "2031-05-04,67400", True),
        ("12", "-12", False),
        ("12", "x: -12", False),
        ("12", "7-12", True),
        ("-12", "x: -12", True),
        ("Aspirin", "an ASPIRIN a day", True),
        ("car", "scar", False),
        ("car", "cars", False),
        ("4 May", "on 4\n  May", True),
        ("C#", "in C# or so", True),
        ("(a)", "f(a)", True),
        ("", "anything", False),
    ],
)
def test_a_text_stands_somewhere_as_a_whole(wanted: str, text: str, there: bool) -> None:
    assert stands(wanted, text) is there


@pytest.mark.parametrize(
    ("wanted", "text", "there"),
    [
        ("1,234.5 kg", '{"mass": 1234.5}', True),
        ("1,234.5 kg", "1234.50 kilograms", True),
        ("3 kg", "3 stations", False),
        ("100 kg", "100 people", False),
        ("250 kg", "250 people", False),
        ("12:30", "at 1230", False),
    ],
)
def test_a_long_number_is_held_however_it_is_written(wanted: str, text: str, there: bool) -> None:
    assert stands_in(text, wanted) is there


def test_numbers_are_read_as_people_and_programs_write_them() -> None:
    assert numbers("1,234.5 of -3 and 6.02e23, 12kg, v1.2.3 abc123") == [1234.5, -3, 6.02e23, 12]
    assert one_number("2031-05-04") is None
    assert numbers("100.64.77.140, 1.2.3 and 12.5.") == [12.5]
    assert one_number("12.34 kg") == 12.34
