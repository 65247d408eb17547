"""Trajectories executed, on tools that a test writes down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

import pytest

from runner.benchmarks.agentbench.proof.execution import (
    CannotGoOn,
    ExecutedCall,
    day_shown,
    difference,
    drift,
    execute,
    recorded,
    unseen,
)
from runner.benchmarks.agentbench.proof.trajectory import steps_of
from runner.benchmarks.agentbench.queries import DeadEnd, Query, ReferenceCall
from runner.sandbox.session import McpResult
from tests.benchmarks.agentbench.material import PUMP, TRENCH, query_of, value


class Tools:
    """A `Caller`. Each tool is a function of its arguments."""

    def __init__(self, **tools: Callable[[Mapping[str, Any]], str]) -> None:
        self.tools = tools
        self.asked: list[Mapping[str, Any]] = []

    async def call(self, server: str, tool: str, arguments: Mapping[str, Any]) -> McpResult:
        self.asked.append(arguments)
        if tool not in self.tools:
            return McpResult(text=f"{server} has none", is_error=True, wall_sec=0)
        return McpResult(text=self.tools[tool](arguments), is_error=False, wall_sec=0)


def feet(arguments: Mapping[str, Any]) -> str:
    return f"{arguments['value'] * 3.28084:.4f} ft"


def total(arguments: Mapping[str, Any]) -> str:
    return f'{{"total": {arguments["length"] * arguments["each"]:.4f}}}'


CHAIN = query_of("multi-server-sequential-call")


def test_a_later_call_is_fed_what_the_earlier_one_gives_now() -> None:
    yards = Tools(convert_length=lambda _: "150.4 ft", total_price=total)
    made = asyncio.run(execute(steps_of(CHAIN), yards))
    assert made[1].arguments == {"length": 150.4, "each": 3.2}
    assert made[1].result.text == '{"total": 481.2800}'


def test_a_trajectory_that_gives_what_was_recorded_has_not_drifted() -> None:
    tools = Tools(convert_length=feet, total_price=total)
    fresh = asyncio.run(recorded(CHAIN, tools))
    assert asyncio.run(drift(fresh, tools)) == []


def test_every_result_that_drifted_is_told_with_its_call() -> None:
    tools = Tools(convert_length=lambda _: "451.1155 ft", total_price=total)
    assert asyncio.run(drift(CHAIN, tools)) == []
    longer = Tools(convert_length=lambda _: "451.1156 ft", total_price=total)
    found = asyncio.run(drift(CHAIN, longer))
    assert [key for key, _ in found] == ["calls[0].result", "calls[1].result"]


def test_a_trajectory_ends_at_the_call_that_fails() -> None:
    with pytest.raises(CannotGoOn, match="total_price failed: price_list has none") as stopped:
        asyncio.run(execute(steps_of(CHAIN), Tools(convert_length=feet)))
    assert stopped.value.key == "calls[1]"


def test_a_result_that_gives_nothing_ends_it_too() -> None:
    tools = Tools(convert_length=lambda _: "very long", total_price=total)
    assert asyncio.run(drift(CHAIN, tools)) == [
        ("calls[0]", r"gives.feet: '([\\d.]+) ft' is not found in the result")
    ]


def test_each_draft_is_executed_twice_before_it_is_believed() -> None:
    lengths = iter(["451.1155 ft", "451.1155 ft", "451.1154 ft"])
    prices = iter(['{"total": 1}', '{"total": 2}'])
    tools = Tools(convert_length=lambda _: next(lengths), total_price=lambda _: next(prices))
    with pytest.raises(CannotGoOn, match="total_price answers differently each time"):
        asyncio.run(recorded(CHAIN, tools))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"at": "2031-05-04T16:30"}', "2031-05-04"),
        ("tomorrow, 2031-05-05", "2031-05-05"),
        ("May 4, 2031", "May 4, 2031"),
        ("2031-04-04", ""),
    ],
)
def test_a_result_that_tells_the_day_is_seen(text: str, shown: str) -> None:
    today = date(2031, 5, 4)
    result = McpResult(text=text, is_error=False, wall_sec=0)
    assert day_shown(ExecutedCall(arguments={"time": "16:30"}, result=result), today) == shown
    asked = ExecutedCall(arguments={"from": [shown]}, result=result)
    assert not shown or day_shown(asked, today) == ""


def test_a_difference_is_shown_where_it_is() -> None:
    told = difference("a" * 500 + "1 km", "a" * 500 + "2 km")
    assert told == (
        f"differs from character 500 on: recorded '{'a' * 20}1 km', now '{'a' * 20}2 km'"
    )
    assert difference("12", "123").startswith("differs from character 2 on")
    assert TRENCH.gives


# --- dead ends ------------------------------------------------------------------------------

ASTRAY = query_of("multi-server-sequential-call", dead_ends=(PUMP,))
SOUND = {"convert_length": lambda _: "451.1155 ft", "total_price": total}


def test_a_dead_end_is_gone_into_first_and_the_way_back_is_open() -> None:
    tools = Tools(**SOUND, day_rate=lambda _: "there is no pump for hire")
    assert asyncio.run(drift(ASTRAY, tools)) == []
    calls = [{"value": 137.5, "from": "m", "to": "ft"}, {"length": 451.1155, "each": 3.2}]
    assert tools.asked == [*calls, {"machine": "pump"}, *calls]


def test_a_trajectory_that_needs_what_comes_of_a_dead_end_is_found() -> None:
    query = written_and_read()
    write, read = query.calls
    writing = DeadEnd(server="board", tool="write", arguments=write.arguments, result="seven")
    unwritten = query.model_copy(
        update={"calls": (read,), "values": (value("seven", 1),), "dead_ends": (writing,)}
    )
    ((key, message),) = asyncio.run(drift(unwritten, Board()))
    assert key == "calls[0].result"
    assert "recorded 'seven', now ''" in message


def test_a_dead_end_that_sees_what_the_trajectory_writes_is_found() -> None:
    early = DeadEnd(server="board", tool="look", result="nothing")
    query = written_and_read().model_copy(update={"dead_ends": (early,)})
    ((key, message),) = asyncio.run(drift(query, Board()))
    assert key == "dead_ends[0].result"
    assert "now 'seven'" in message


def test_a_dead_end_that_is_fed_is_gone_into_as_soon_as_it_can_be() -> None:
    fed = PUMP.model_copy(update={"arguments": {"machine": "pump of {{feet}} ft"}})
    query = query_of("multi-server-sequential-call", dead_ends=(fed, PUMP))
    keys = [key for key, _ in steps_of(query)]
    assert keys == ["dead_ends[1]", "calls[0]", "dead_ends[0]", "calls[1]"]
    tools = Tools(**SOUND, day_rate=lambda _: "none")
    asyncio.run(execute(steps_of(query), tools))
    assert tools.asked[2] == {"machine": "pump of 451.1155 ft"}


def test_a_dead_end_that_answers_otherwise_now_is_found() -> None:
    tools = Tools(**SOUND, day_rate=lambda _: "there is a pump for hire")
    ((key, message),) = asyncio.run(drift(ASTRAY, tools))
    assert key == "dead_ends[0].result"
    assert message.startswith("differs from character 9 on")


def test_an_error_is_a_dead_end_like_another_and_is_recorded() -> None:
    fresh = asyncio.run(recorded(ASTRAY, Tools(**SOUND)))
    assert fresh.dead_ends[0].result == "price_list has none"
    assert asyncio.run(drift(fresh, Tools(**SOUND))) == []


def test_a_dead_end_that_answers_differently_each_time_is_not_recorded() -> None:
    results = iter(["none", "one"])
    tools = Tools(**SOUND, day_rate=lambda _: next(results))
    with pytest.raises(CannotGoOn, match="day_rate answers differently each time") as stopped:
        asyncio.run(recorded(ASTRAY, tools))
    assert stopped.value.key == "dead_ends[0]"


# --- what a call is said to see of another's writing -----------------------------------------


class Board:
    """A server that keeps what it is told: `calls` of one cell see each other's writing."""

    def __init__(self) -> None:
        self.text = ""

    async def call(self, server: str, tool: str, arguments: Mapping[str, Any]) -> McpResult:
        if tool == "write":
            self.text = str(arguments["text"])
        return McpResult(text=self.text, is_error=False, wall_sec=0)


def written_and_read() -> Query:
    """A query that writes, and reads afterwards."""
    write = ReferenceCall(server="board", tool="write", arguments={"text": "seven"}, result="seven")
    read = ReferenceCall(server="board", tool="read", after=(1,), result="seven")
    return query_of(
        "single-server-sequential-call",
        calls=(write, read),
        values=(value("seven", 2),),
        reference_answer="It says seven.",
    )


def test_a_call_that_sees_what_was_written_answers_otherwise_without_it() -> None:
    assert asyncio.run(unseen(written_and_read(), Board())) == []


def test_a_call_that_is_said_to_see_a_writing_and_answers_the_same_without_it_is_found() -> None:
    already = Board()
    already.text = "seven"
    (found,) = asyncio.run(unseen(written_and_read(), already))
    assert found == ("calls[1].after", "answers the same if call 1 is left out")


def test_a_call_that_cannot_be_made_without_the_writing_needs_it() -> None:
    class Locked(Board):
        async def call(self, server: str, tool: str, arguments: Mapping[str, Any]) -> McpResult:
            told = await super().call(server, tool, arguments)
            return McpResult(text=told.text, is_error=not told.text, wall_sec=0)

    assert asyncio.run(unseen(written_and_read(), Locked())) == []


def test_a_writing_that_only_a_later_reading_shows_is_seen_by_what_stands_between() -> None:
    class Copying(Board):
        async def call(self, server: str, tool: str, arguments: Mapping[str, Any]) -> McpResult:
            told = await super().call(server, tool, arguments)
            # It says where it copied to, and not what.
            text = "copied" if tool == "copy" else told.text
            return McpResult(text=text, is_error=False, wall_sec=0)

    query = written_and_read()
    copy = ReferenceCall(server="board", tool="copy", after=(1,), result="copied")
    read = query.calls[1].model_copy(update={"after": (2,)})
    copied = query.model_copy(update={"calls": (query.calls[0], copy, read)})
    assert asyncio.run(unseen(copied, Copying())) == [
        ("calls[2].after", "answers the same if call 2 is left out")
    ]
