"""Why answers fail: signs that rules find, and the label of a judge."""

from __future__ import annotations

import pytest

from runner.benchmarks.agentbench.judging.errors_of import (
    RESULT_CHARS,
    FailureDiagnosis,
    label_ask,
    read_label,
    signs_of,
    told_in,
)
from runner.benchmarks.agentbench.judging.mcp_eval import Judgment, ValuesJudge
from runner.benchmarks.agentbench.queries import Query
from runner.records import Note, Outcome, Prose
from runner.scoring.judges.form import BrokenReply
from tests.benchmarks.agentbench.answered import HEAT, MASS
from tests.benchmarks.agentbench.judged_run import Said, events_of
from tests.benchmarks.agentbench.test_mcp_eval import judge_of, reply, saying
from tests.judges.reader import block


def failure(query: Query, said: Said) -> FailureDiagnosis:
    told = told_in(events_of(said))
    (judged,) = ValuesJudge().judge([(query, told.answer)])
    assert isinstance(judged, Judgment) and not judged.passed
    return signs_of(query, told, Outcome(kind=said.outcome, reason=""), judged)


def test_an_answer_from_memory_shows_that_no_tool_was_called() -> None:
    assert failure(MASS, Said(answer="About 13 kg.")).signs == ("no tool called",)


def test_silence_and_the_limit_show() -> None:
    found = failure(MASS, Said(answer="", results=["x"] * 3, outcome="out_of_actions"))
    assert found.signs == ("no answer", "limit reached")
    told = Said(
        answer="I ran out.", results=["x"], more=[Note(text="told to answer at step 1: 30")]
    )
    assert failure(MASS, told).signs == ("limit reached",)


def test_a_value_that_a_tool_gave_and_the_answer_lacks_was_left_out() -> None:
    found = failure(HEAT, Said(answer="Porto: 15.2 °C.", results=["15.2 °C", "8.6 °C"]))
    assert found.signs == ("left out what a tool said",)


def test_a_figure_that_no_tool_and_no_query_has_is_from_nowhere() -> None:
    said = Said(answer="27.2 lb are 13.579 kg, more than in 2019.", results=["12.34 kg"])
    found = failure(MASS, said)
    assert found.strange == ("13.579 kg", "2019")
    assert "figure from nowhere" in found.signs


def test_a_rounded_or_converted_figure_is_from_somewhere() -> None:
    said = Said(answer="It is 1,234 g too little: 5 kg", results=["1.23377 kg and 1234"])
    assert failure(MASS, said).strange == ()


def test_calls_that_all_failed_show() -> None:
    found = failure(MASS, Said(answer="No tool worked.", failed=["boom", "bang"]))
    assert found.signs == ("every call failed",)


def test_one_call_that_worked_is_enough_for_that() -> None:
    found = failure(MASS, Said(answer="No tool worked.", failed=["boom"], results=["nothing"]))
    assert found.signs == ()


# --- transcripts --------------------------------------------------------------------------------


def test_the_answer_is_the_prose_of_the_turn_that_called_nothing() -> None:
    early = Prose(step=0, turn=0, text="Let me look: 12.34 kg perhaps.")
    told = told_in([*events_of(Said(answer="13 kg", results=["x"], tokens=7)), early])
    assert (told.answer, told.actions, told.tokens) == ("13 kg", 2, 14)
    (call,) = told.calls
    assert (call.tool, call.result, call.is_error) == ("lab__look", "x", False)


def test_prose_beside_the_last_call_is_no_answer() -> None:
    beside = Prose(step=0, turn=0, text="12.34 kg")
    assert told_in([*events_of(Said(answer="", results=["x"])), beside]).answer == ""


# --- a judge's word -----------------------------------------------------------------------------


def test_a_label_is_read_from_the_last_tag_and_is_one_of_four() -> None:
    found = read_label("<kind>refusal</kind><reason>It left it out.</reason><kind>omission</kind>")
    assert (found.kind, found.reason) == ("omission", "It left it out.")
    with pytest.raises(BrokenReply, match="misinterpretation, refusal, omission, hallucination"):
        read_label("<kind>laziness</kind>")
    with pytest.raises(BrokenReply, match="no <kind> tag"):
        read_label("It is an omission.")


def test_the_judge_of_failures_sees_calls_shortened_with_a_mark() -> None:
    told = told_in(events_of(Said(answer="13 kg", results=["a" * 9000], failed=["boom"])))
    with saying(reply("fail")) as reader:
        ask = label_ask(judge_of(reader).model, MASS, told, Judgment(passed=False, reason="r"), 0)
    calls = block(ask.request.text, "CALLS")
    assert f"{9000 - RESULT_CHARS:,} characters" in calls and "error: boom" in calls
    assert len(calls) < 2 * RESULT_CHARS
