"""Queries held to the paper's rules by their files alone; a cheat for each rule."""

from __future__ import annotations

from typing import Any

import pytest

from runner.benchmarks.agentbench.proof.query_rules import (
    half_of_last_digit,
    query_problems,
    unasked,
)
from runner.benchmarks.agentbench.queries import CATEGORIES, Category, Query
from tests.benchmarks.agentbench.material import (
    DIGGER,
    FEET,
    POUNDS,
    PRICE,
    PUMP,
    RENTAL,
    TOTAL,
    TRENCH,
    query_of,
    unfed,
    value,
)


def found(query: Query) -> list[str]:
    return [str(problem) for problem in query_problems(query, "q")]


def only(query: Query, *, at: str, says: str) -> None:
    """One problem, there, that says so."""
    (problem,) = query_problems(query, "q")
    assert problem.where == f"q.{at}"
    assert says in problem.message


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_sound_query_of_each_category_has_no_problem(category: Category) -> None:
    assert found(query_of(category)) == []


# --- shape ----------------------------------------------------------------------------------

WRONG: list[tuple[Category, Category, str]] = [
    ("single-server-parallel-call", "single-server-single-call", "there are 2"),
    ("single-server-single-call", "single-server-parallel-call", "two or more"),
    ("single-server-sequential-call", "single-server-parallel-call", "parallel calls wait"),
    ("single-server-parallel-call", "single-server-sequential-call", "not in the sequence"),
    ("multi-server-parallel-call", "single-server-parallel-call", "calls one"),
    ("single-server-parallel-call", "multi-server-parallel-call", "calls two or more"),
    ("single-server-sequential-call", "multi-server-sequential-call", "calls two or more"),
    ("multi-server-parallel-call", "multi-server-single-call", "calls one"),
]


@pytest.mark.parametrize(("shape", "category", "says"), WRONG)
def test_a_query_of_another_category_than_its_shape_is_found(
    shape: Category, category: Category, says: str
) -> None:
    query = query_of(shape).model_copy(update={"category": category})
    assert any(says in line for line in found(query)), found(query)


def test_in_a_sequence_over_servers_a_result_goes_from_one_to_another() -> None:
    priced = PRICE.model_copy(update={"server": "unit_calc"})
    query = query_of(
        "multi-server-sequential-call",
        calls=(TRENCH, priced, DIGGER),
        values=(TOTAL, value("212.75", 3)),
        reference_answer="1,443.57, and 212.75 a day.",
    )
    assert any("no server's result is fed to another" in line for line in found(query))


# --- each call is needed --------------------------------------------------------------------


@pytest.mark.parametrize("category", ["single-server-parallel-call", "multi-server-parallel-call"])
def test_a_call_whose_value_nobody_asks_for_is_superfluous(category: Category) -> None:
    query = query_of(category, values=(FEET,))
    only(query, at="calls[1]", says="could be left out")


def test_a_call_whose_value_another_result_holds_is_superfluous() -> None:
    both = RENTAL.model_copy(update={"result": "187.3929 lb; and 451.1155 ft of it"})
    query = query_of("single-server-parallel-call", calls=(unfed(TRENCH), both))
    only(query, at="calls[0]", says="could be left out")


def test_a_call_made_twice_is_superfluous_both_times() -> None:
    query = query_of(
        "single-server-parallel-call",
        calls=(unfed(TRENCH), unfed(TRENCH)),
        values=(FEET, value("451.1155 ft", 2)),
        reference_answer="451.12 ft, to the mark 451.1155 ft.",
    )
    assert [line.partition(":")[0] for line in found(query)] == ["q.calls[0]", "q.calls[1]"]


def test_a_sequence_whose_fed_value_the_query_says_is_none() -> None:
    query = query_of(
        "single-server-sequential-call",
        query="137.5 m of trench, that is 451.1155 feet. What does lining cost at 3.2 a foot?",
    )
    lines = found(query)
    assert any("nothing waits for it" in line for line in lines)
    assert any("q.calls[0]: could be left out" in line for line in lines)


WRITTEN = TRENCH.model_copy(update={"gives": {}, "tool": "note_length", "result": "noted"})
READ = RENTAL.model_copy(update={"tool": "read_note", "arguments": {}, "result": "451.1155 ft"})


def noted(*after: int, **changes: Any) -> Query:
    """A length is written down, and read."""
    return query_of(
        "single-server-sequential-call",
        calls=(WRITTEN, READ.model_copy(update={"after": after, **changes})),
        values=(value("451.12 ft", 2, shown="451.1155 ft"),),
        reference_answer="The note says 451.12 ft.",
    )


def test_a_call_that_sees_what_another_wrote_waits_for_it() -> None:
    assert found(noted(1)) == []
    assert any("not in the sequence" in line for line in found(noted()))
    assert any("calls[0]: could be left out" in line for line in found(noted()))


def test_a_call_sees_nothing_of_a_later_one_or_of_another_server() -> None:
    for number in (2, 99):
        message = f"calls[1].after: call {number} is not before it"
        assert any(message in line for line in found(noted(number)))
    other = found(noted(1, server="price_list"))
    assert any("calls[1].after: call 1 writes to another server" in line for line in other)


def test_parallel_calls_see_nothing_of_each_other() -> None:
    late = RENTAL.model_copy(update={"after": (1,)})
    query = query_of("single-server-parallel-call", calls=(unfed(TRENCH), late))
    assert any("sees what another wrote: parallel" in line for line in found(query))


def test_a_fed_value_that_a_third_call_gives_too_makes_one_of_them_superfluous() -> None:
    echo = unfed(DIGGER, server="unit_calc", result="digger, 451.1155 ft deep, 99.5 a day")
    query = query_of(
        "single-server-sequential-call",
        calls=(echo, TRENCH, PRICE.model_copy(update={"server": "unit_calc"})),
        values=(value("99.5"), value("1,443.57", 3, shown="1443.5696")),
        reference_answer="99.5 a day and 1,443.57.",
    )
    assert any("q.calls[1]: could be left out" in line for line in found(query))


def test_what_feeds_the_last_call_over_two_steps_is_needed() -> None:
    taxed = DIGGER.model_copy(
        update={"tool": "tax", "arguments": {"of": "{{total}}"}, "result": "274.28 tax"}
    )
    priced = PRICE.model_copy(update={"gives": {"total": r'"total": ([\d.]+)'}})
    query = query_of(
        "multi-server-sequential-call",
        calls=(TRENCH, priced, taxed),
        values=(value("274.28", 3),),
        reference_answer="274.28 of it is tax.",
    )
    assert found(query) == []


# --- feeding --------------------------------------------------------------------------------


def test_a_name_that_nothing_gives_is_found() -> None:
    query = query_of("multi-server-sequential-call", calls=(unfed(TRENCH), PRICE))
    assert any("no earlier call gives {{feet}}" in line for line in found(query))


def test_a_call_is_not_fed_by_a_later_one() -> None:
    query = query_of("multi-server-sequential-call", calls=(PRICE, TRENCH))
    assert any("no earlier call gives {{feet}}" in line for line in found(query))


def test_what_is_given_is_found_in_the_result_and_fed() -> None:
    lost = TRENCH.model_copy(update={"gives": {"feet": r"(\d+) yards"}})
    lines = found(query_of("multi-server-sequential-call", calls=(lost, PRICE)))
    assert any("is not found in the result" in line for line in lines)
    idle = query_of("single-server-single-call", calls=(TRENCH,))
    only(idle, at="calls[0].gives.feet", says="is fed to no later call")


def test_a_name_given_twice_is_found() -> None:
    again = RENTAL.model_copy(update={"gives": {"feet": r"([\d.]+) lb"}, "server": "price_list"})
    query = query_of(
        "multi-server-sequential-call",
        calls=(TRENCH, again, PRICE),
        values=(FEET, value("1,443.57", 3, shown="1443.5696")),
    )
    assert any("an earlier call gives this name too" in line for line in found(query))


def test_a_result_written_into_a_later_call_by_hand_is_found() -> None:
    priced = PRICE.model_copy(update={"arguments": {"length": 451.1155, "each": 3.2}})
    query = query_of(
        "multi-server-parallel-call", calls=(unfed(TRENCH), priced), values=(FEET, TOTAL)
    )
    assert any("'451.1155' is what call 1 gives" in line for line in found(query))


# --- dead ends ------------------------------------------------------------------------------


def astray(**changes: Any) -> Query:
    """A query with one dead end, and something else in that."""
    return query_of("multi-server-sequential-call", dead_ends=(PUMP.model_copy(update=changes),))


def test_a_way_that_the_query_suggests_and_that_leads_nowhere_is_a_dead_end() -> None:
    assert found(astray()) == []


@pytest.mark.parametrize("result", ["a pump is 1,443.57", "1443.5696 with it", "See 1443.57 in B."])
def test_a_dead_end_that_holds_a_value_is_none(result: str) -> None:
    only(astray(result=result), at="dead_ends[0].result", says="holds '1,443.57', a value")


def test_a_dead_end_whose_words_the_query_does_not_say_is_nobody_s_first_way() -> None:
    says = "no word of them stands in the query"
    only(astray(arguments={"machine": "crane"}), at="dead_ends[0].arguments", says=says)
    # Neither SQL's own words, nor what it is fed, nor the ending of a file's name.
    fed = TRENCH.model_copy(update={"gives": {"feet": r"([\d.]+) ft", "trench": r"\d+\.(\d)"}})
    told = {"query": "SELECT a FROM b WHERE LINE = 1", "file": "{{trench}}/a.foot"}
    query = query_of(
        "multi-server-sequential-call",
        query="I line 137.5 m of trench from where it begins. WHERE is a foot of it?",
        calls=(fed, PRICE),
        dead_ends=(PUMP.model_copy(update={"arguments": told}),),
    )
    assert any(f"dead_ends[0].arguments: {says}" in line for line in found(query))


def test_a_dead_end_is_not_a_way_that_the_trajectory_takes() -> None:
    taken = {"tool": RENTAL.tool, "arguments": RENTAL.arguments, "server": RENTAL.server}
    query = query_of("single-server-parallel-call", dead_ends=(PUMP.model_copy(update=taken),))
    assert any("dead_ends[0]: is a call of the trajectory" in line for line in found(query))


def test_a_dead_end_is_on_a_server_of_the_query_and_fed_by_its_calls() -> None:
    only(astray(server="tool_shed"), at="dead_ends[0].server", says="is none of the query's")
    unknown = {"machine": "pump {{yards}}"}
    only(astray(arguments=unknown), at="dead_ends[0].arguments", says="no call gives {{yards}}")
    assert found(astray(arguments={"machine": "pump {{feet}}"})) == []


def test_a_dead_end_that_nobody_has_gone_into_is_to_be_recorded() -> None:
    only(astray(result=""), at="dead_ends[0].result", says="agentbench record")


def test_a_query_that_names_the_tool_of_a_dead_end_is_found() -> None:
    query = astray().model_copy(update={"query": "Line 137.5 m at 3.2 a foot; day_rate of a pump?"})
    only(query, at="query", says="names 'day_rate'")


# --- the answer and the query ---------------------------------------------------------------


def test_a_value_that_its_result_does_not_show_is_found() -> None:
    query = query_of("single-server-single-call", values=(value("99 ft"),))
    assert any("does not stand in the result of call 1" in line for line in found(query))


def test_a_part_of_a_number_is_not_that_number() -> None:
    query = query_of(
        "single-server-single-call",
        values=(value("451.11"),),
        reference_answer="About 451.11 of them.",
    )
    assert any("'451.11' does not stand in the result" in line for line in found(query))


def test_a_value_that_is_not_what_the_result_shows_is_found() -> None:
    query = query_of(
        "single-server-single-call",
        values=(value("451.20 ft", shown="451.1155 ft"),),
        reference_answer="451.20 ft",
    )
    only(query, at="values[0]", says="not within its tolerance")
    looser = value("451.20 ft", shown="451.1155 ft", tolerance=0.1)
    assert found(query.model_copy(update={"values": (looser,)})) == []


def test_a_value_missing_in_the_reference_answer_is_found() -> None:
    query = query_of("single-server-single-call", reference_answer="It is long.")
    only(query, at="values[0]", says="does not stand in the reference answer")


def test_a_reference_answer_that_the_offline_judge_would_fail_is_found() -> None:
    query = query_of("single-server-single-call", reference_answer="It is not 451.12 ft.")
    only(query, at="values[0]", says="the offline judge calls '451.12 ft' denied")


@pytest.mark.parametrize(
    "text",
    [
        "My trench is 137.5 m, that is 451.12 ft, is it?",
        "137.5 m of trench. Somebody said 451.12 feet?",
    ],
)
def test_a_value_that_the_query_says_is_found(text: str) -> None:
    only(query_of("single-server-single-call", query=text), at="values[0]", says="in the query")


def test_a_value_that_the_call_was_told_is_found() -> None:
    query = query_of(
        "multi-server-parallel-call",
        values=(FEET, value("digger", 2), value("212.75", 2)),
        reference_answer="451.12 ft; the digger is 212.75 a day.",
    )
    only(query, at="values[1]", says="is what call 2 was told")


@pytest.mark.parametrize("name", ["convert_length", "Unit_Calc", "the MCP server", "an mcp"])
def test_a_query_that_names_a_tool_or_server_is_found(name: str) -> None:
    query = query_of("single-server-single-call", query=f"137.5 m in feet? Ask {name}.")
    (line,) = found(query)
    assert "a user knows no tools" in line


def test_a_word_that_users_say_may_be_a_tools_name_too() -> None:
    convert = unfed(TRENCH, tool="convert")
    everyday = query_of("single-server-single-call", calls=(convert,), query="Convert 137.5 m.")
    assert found(everyday) == []
    told = everyday.model_copy(update={"query": "Use the convert tool on 137.5 m."})
    only(told, at="query", says="names 'convert'")


def test_a_draft_is_told_to_be_recorded_and_nothing_else() -> None:
    query = query_of("single-server-single-call", calls=(unfed(TRENCH, result=""),))
    only(query, at="calls[0].result", says="agentbench record")


def test_a_result_that_fills_a_context_is_found() -> None:
    long = unfed(TRENCH, result="451.1155 ft " * 4000)
    only(query_of("single-server-single-call", calls=(long,)), at="calls[0].result", says="48000")


@pytest.mark.parametrize(
    ("text", "half"),
    [
        ("12.34 kg", 0.005),
        ("1,200", 0.5),
        ("6.02e23", 0.5e21),
        ("yes", 0.5),
        ("ab4523e8854", 0.5),
    ],
)
def test_a_number_is_as_exact_as_it_is_written(text: str, half: float) -> None:
    assert half_of_last_digit(text) == pytest.approx(half)


def test_a_share_may_be_shown_as_a_fraction() -> None:
    fraction: Any = unfed(TRENCH, result="0.12345")
    query = query_of(
        "single-server-single-call",
        calls=(fraction,),
        values=(value("12.3 %", shown="0.12345"),),
        reference_answer="It is 12.3 %.",
    )
    assert found(query) == []
    assert POUNDS.call == 2


def test_what_the_reference_says_and_no_value_asks_for_is_told() -> None:
    reference = (
        "Order 8.2 kΩ; the next, 9.1 kΩ, is 8.98 % off 8.35, S-3 due on 4 May 2031 at 07:52, the "
        "rest by 6 May at 09:00, or in June 2031, 5.5 to 1."
    )
    asked = query_of("single-server-single-call").model_copy(
        update={
            "query": "What do I order for 8.35 kΩ, and when is it here, on 2031-05-06 at 9:00?",
            "reference_answer": reference,
            "values": (value("8.2 kΩ"), value("8.98 %"), value("2031-06", shown="June")),
        }
    )
    assert unasked(asked) == ("9.1 kΩ", "4 May 2031", "07:52", "5.5")
