"""One transcript of Claude Code as a cell: what counts, whose it is, and how it ended."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from runner.records import Event, Note, Prose, Scored, StepEnd, ToolCall, ToolResult, Unscored
from runner.records.transcript_files import TranscriptWriter, iter_transcript, split
from runner.runs.importing.imported_cell import MAX_BYTES, ImportedTranscript, Session, read_session
from runner.scoring.efficiency import efficiency
from runner.support.errors import FairtrialError
from tests.importers.test_claude_code import (
    INIT,
    WITH_SERVER,
    asked,
    call,
    gave,
    result,
    said,
    spoken,
)
from tests.report.loaded import scenario

TWO_STEPS = scenario("two")
FIRST, SECOND = (step.prompt for step in TWO_STEPS.steps)


def read(*lines: dict[str, Any], server: str = "good", mounted: str = "good") -> Session:
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    return read_bytes(text.encode(), server=server, mounted=mounted)


def read_bytes(data: bytes, *, server: str = "good", mounted: str = "good") -> Session:
    recording = ImportedTranscript(data=data, file="t.json", server=server, mounted=mounted)
    return read_session(recording, TWO_STEPS)


def of_kind(session: Session, kind: type[Event]) -> list[Any]:
    return [event for event in session.events if isinstance(event, kind)]


# --- the arm --------------------------------------------------------------------------------


def test_the_arms_server_is_called_by_its_own_tools_names() -> None:
    session = read(WITH_SERVER, call("mcp__good__find"), call("Grep", "t2"), result("done"))
    calls = [(made.origin, made.tool) for made in of_kind(session, ToolCall)]
    assert calls == [("server", "find"), ("shell", "Grep")]
    _, trace, _ = split(session.events, TWO_STEPS)
    assert [made.origin for made in trace.calls] == ["server", "shell"]


def test_a_server_may_have_been_mounted_under_another_name() -> None:
    init = {**INIT, "mcp_servers": [{"name": "my rg", "status": "connected"}]}
    session = read(init, call("mcp__my_rg__search"), result("done"), mounted="my rg")
    (made,) = of_kind(session, ToolCall)
    assert (made.origin, made.tool) == ("server", "search")


def test_a_call_of_another_server_is_not_this_ones_and_is_said() -> None:
    session = read(WITH_SERVER, call("mcp__other__find"), result("done"))
    (made,) = of_kind(session, ToolCall)
    assert (made.origin, made.tool) == ("shell", "mcp__other__find")
    assert "1 calls were of other MCP servers" in " ".join(session.imported.degraded)


def test_a_transcript_with_a_server_is_no_baseline() -> None:
    with pytest.raises(FairtrialError, match=r"called mcp__good__find.*not the shell's"):
        read(WITH_SERVER, call("mcp__good__find"), result("x"), server="shell", mounted="shell")


def test_a_server_that_was_not_mounted_is_refused_with_those_that_were() -> None:
    with pytest.raises(FairtrialError, match=r"(?s)no MCP server 'serena'.*good.*--mounted"):
        read(WITH_SERVER, result("x"), server="serena", mounted="serena")


def test_a_server_that_failed_to_start_is_no_measurement_of_it() -> None:
    init = {**INIT, "mcp_servers": [{"name": "good", "status": "failed"}]}
    outcome = read(init, said("without it"), result("without it")).outcome
    assert outcome.kind == "server_not_ready" and not outcome.is_measurement


def test_other_mounted_servers_are_said() -> None:
    both = [*WITH_SERVER["mcp_servers"], {"name": "memory", "status": "connected"}]
    degraded = read({**INIT, "mcp_servers": both}, result("x")).imported.degraded
    assert "other MCP servers were mounted too: memory" in degraded


# --- how it ended ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "kind"),
    [
        (result("done"), "answered"),
        (result("", subtype="error_max_turns", is_error=True), "out_of_actions"),
        (result("", subtype="error_max_budget_usd", is_error=True), "out_of_budget"),
        (result("", subtype="error_during_execution", is_error=True), "interrupted"),
        (result("API Error: 529", is_error=True), "provider_failed"),
        (result("no", stop_reason="refusal"), "refused"),
        (said("I will now"), "interrupted"),
    ],
)
def test_how_it_ended_is_an_outcome(last: dict[str, Any], kind: str) -> None:
    assert read(INIT, said("so far"), last).outcome.kind == kind


def test_an_interrupted_file_is_said_in_words_and_is_no_measurement() -> None:
    outcome = read(INIT, asked(FIRST), said("half of an ans")).outcome
    assert not outcome.is_measurement
    assert outcome.reason.startswith("the file ends without a result")


def test_a_sessions_log_without_a_result_is_answered_if_its_last_turn_ended() -> None:
    session = read(INIT, asked(FIRST), spoken("all of it", stop_reason="end_turn"))
    assert session.outcome.kind == "answered"
    assert [end.step for end in of_kind(session, StepEnd)] == [0]


# --- steps ----------------------------------------------------------------------------------


def test_a_prompt_for_each_step_gives_each_its_own_answer() -> None:
    session = read(
        INIT, asked(FIRST), said("one"), result("one"), asked(SECOND), said("two", "m2"),
        result("two"),
    )  # fmt: skip
    answer, _, _ = split(session.events, TWO_STEPS)
    assert [(step.text, step.completed) for step in answer.steps] == [("one", True), ("two", True)]
    assert session.imported.degraded[0:] == ("it does not say how long it took",)


def test_one_prompt_for_all_steps_puts_the_whole_answer_in_each_and_says_so() -> None:
    session = read(INIT, asked(f"{FIRST}\n{SECOND}"), said("all"), result("all", duration_ms=4000))
    answer, _, effort = split(session.events, TWO_STEPS)
    assert [(step.text, step.completed) for step in answer.steps] == [("all", True)] * 2
    # Counted in each step, its seconds and tokens would be twice what they were.
    assert (effort.agent_sec, effort.output_tokens) == (4.0, 3)
    assert "one prompt asked for all 2 steps" in session.imported.degraded[0]


def test_a_session_that_never_reached_the_second_step_has_no_answer_to_it() -> None:
    session = read(INIT, asked(FIRST), said("one"), result("one"))
    answer, _, _ = split(session.events, TWO_STEPS)
    assert [step.text for step in answer.steps] == ["one", ""]


def test_more_prompts_than_steps_are_another_scenarios() -> None:
    turns = [line for number in range(3) for line in (asked(f"{number}?"), said("a", f"m{number}"))]
    with pytest.raises(FairtrialError, match="3 prompts, and two has 2 steps"):
        read(INIT, *turns)


def test_a_prompt_that_the_scenario_does_not_ask_is_said() -> None:
    degraded = read(INIT, asked(FIRST), said("a"), asked("Other?"), result("b")).imported.degraded
    assert "no prompt of it is that of step 2" in degraded


# --- tokens and seconds ---------------------------------------------------------------------


USAGE = {
    "input_tokens": 6,
    "output_tokens": 900,
    "cache_read_input_tokens": 100,
    "cache_creation_input_tokens": 50,
}


def test_a_result_corrects_what_messages_counted_when_they_began() -> None:
    _, _, effort = split(read(INIT, said("x"), result("x", usage=USAGE)).events, TWO_STEPS)
    assert (effort.input_tokens, effort.cache_write_tokens, effort.output_tokens) == (56, 50, 900)
    # The last turn's own: not what was corrected.
    assert effort.context_tokens == 56 + 100 + 3


def test_a_second_results_tokens_are_not_counted_twice_whether_they_add_up_or_not() -> None:
    once = {**USAGE, "output_tokens": 10}
    both = {name: 2 * count for name, count in once.items()}
    for second in (once, both):
        session = read(
            INIT, asked(FIRST), said("a"), result("a", usage=once), asked(SECOND), said("b", "m2"),
            result("b", usage=second),
        )  # fmt: skip
        _, _, effort = split(session.events, TWO_STEPS)
        assert (effort.input_tokens, effort.output_tokens) == (112, 20)


def test_subagents_calls_and_tokens_count_and_their_prose_is_no_answer() -> None:
    theirs = {"parent_tool_use_id": "t0"}
    session = read(
        WITH_SERVER, call("Task", "t0"), {**said("theirs", "s1"), **theirs},
        {**call("mcp__good__find", "t9"), **theirs}, {**gave("found", "t9"), **theirs},
        gave("a summary", "t0"), said("mine", "m2"), result("mine"),
    )  # fmt: skip
    answer, trace, effort = split(session.events, TWO_STEPS)
    assert answer.steps[0].text == "mine"
    assert [(made.origin, made.is_error) for made in trace.calls] == [
        ("shell", False),
        ("server", False),
    ]
    assert effort.output_tokens == 6
    assert effort.new_tokens == 2 * 156 + effort.output_tokens, "each conversation begins once"
    assert "1 turns were subagents'" in " ".join(session.imported.degraded)


def test_seconds_that_nobody_counted_are_unscored_and_never_a_quick_answer() -> None:
    _, _, effort = split(read(INIT, said("x"), result("x")).events, TWO_STEPS)
    assert effort.agent_sec is None
    assert isinstance(efficiency(effort, TWO_STEPS.budget), Unscored)
    timed = read(INIT, said("x"), result("x", duration_ms=90_000))
    _, _, effort = split(timed.events, TWO_STEPS)
    assert effort.agent_sec == 90.0
    assert isinstance(efficiency(effort, TWO_STEPS.budget), Scored)


# --- what cannot be carried over ------------------------------------------------------------


def test_images_are_left_out_and_counted() -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}
    text = {"type": "text", "text": "beside it"}
    session = read(INIT, call("Read"), gave([image, text]), result("x"))
    (shown,) = of_kind(session, ToolResult)
    assert "beside it" in shown.text and "AAAA" not in shown.text
    assert "1 images were left out" in session.imported.degraded


def test_a_result_of_a_call_that_is_not_there_and_a_repeated_line_are_left_out() -> None:
    once = {**said("a"), "uuid": "u1"}
    session = read(INIT, gave("of an earlier session", "t0"), once, once, result("a"))
    assert of_kind(session, ToolResult) == []
    assert len(of_kind(session, Prose)) == 2  # one for each step
    degraded = " ".join(session.imported.degraded)
    assert "1 results of calls that the transcript does not hold" in degraded
    assert "1 repeated lines were read once" in degraded


def test_paths_below_the_agents_folder_begin_at_the_repositorys_top() -> None:
    text = "see /Users/me/flask/src/app.py:3, not x/Users/me/flask/a.py:1"
    session = read(INIT, said(text), result(text))
    shown = of_kind(session, Prose)[0].text
    assert shown == "see src/app.py:3, not x/Users/me/flask/a.py:1"


def deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("arguments", [{"a": deep(60)}, {"a": float("nan")}, {"a": float("inf")}])
def test_arguments_that_no_transcript_could_hold_are_left_out(
    arguments: dict[str, Any], tmp_path: Any
) -> None:
    session = read(INIT, call("Bash", **arguments), result("x"))
    (made,) = of_kind(session, ToolCall)
    assert made.arguments == {}
    with TranscriptWriter(tmp_path / "t.jsonl") as writer:
        for event in session.events:
            writer.write(event)
    assert len(list(iter_transcript(tmp_path / "t.jsonl"))) == len(session.events)


def test_3000_levels_and_a_cut_line_cost_only_themselves_and_are_counted() -> None:
    whole = [json.dumps(line) for line in (INIT, said("a"), result("a"))]
    bad = '{"type": "assistant", "message": ' + "[" * 3000 + "]" * 3000 + "}"
    text = "\n".join([*whole[:2], bad, "not json", *whole[2:], '{"type": "assis'])
    session = read_bytes(text.encode())
    assert session.outcome.kind == "answered"
    assert "lines were no JSON objects" in " ".join(session.imported.degraded)
    assert any(isinstance(event, Note) for event in session.events)


def jsonl(*objects: dict[str, Any]) -> bytes:
    return "".join(f"{json.dumps(one)}\n" for one in objects).encode()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b" \n\t\n", "empty"),
        (b"\x7fELF\x00\x01", "binary"),
        (b"not json at all", "not a transcript of Claude Code"),
        (b"[" * 3000, "not a transcript of Claude Code"),
        (b"{}", "not a transcript of Claude Code"),
        (b"\xff\xfe{", "not a transcript of Claude Code"),
        (jsonl({"type": "thread.started", "thread_id": "1"}), "not a transcript of Claude Code"),
        (jsonl({"type": "prose", "step": 0, "turn": 0, "text": "ours"}), "not a transcript"),
    ],
)
def test_what_is_no_transcript_is_refused_with_a_hint(data: bytes, says: str) -> None:
    with pytest.raises(FairtrialError, match=rf"(?s){says}.*hint: record one"):
        read_bytes(data)


@pytest.mark.parametrize(
    "odd",
    [
        lambda: {**INIT, "mcp_servers": [5, {"name": None}]},
        lambda: {**INIT, "mcp_servers": "none", "model": 7, "permissionMode": []},
        lambda: result("x", usage=[1], duration_ms="long", total_cost_usd=float("nan")),
        lambda: result("x", duration_ms=-1, total_cost_usd=True, subtype=None, stop_reason={}),
        lambda: {"type": "result", "session_id": "s"},
        lambda: {"type": "user", "message": None, "session_id": "s", "uuid": []},
    ],
)
def test_odd_fields_are_an_outcome_and_no_bug(odd: Callable[[], dict[str, Any]]) -> None:
    try:
        session = read(WITH_SERVER, said("a"), odd(), server="good")
    except FairtrialError as error:
        assert error.hint
        return
    split(session.events, TWO_STEPS)


def test_the_same_bytes_give_the_same_events() -> None:
    lines = (WITH_SERVER, call("mcp__good__find"), said("a", "m2"), result("a"))
    assert read(*lines) == read(*lines)


def test_the_bound_on_a_file_is_far_above_a_real_one() -> None:
    assert MAX_BYTES > 100 * 300_000
