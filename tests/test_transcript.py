from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from runner.records import (
    Answer,
    Event,
    Note,
    Prompt,
    Prose,
    StepEnd,
    SystemPrompt,
    Thinking,
    ToolCall,
    ToolResult,
    ToolTrace,
    Usage,
)
from runner.records.transcript_files import (
    Extent,
    TranscriptWriter,
    extent_of,
    iter_transcript,
    read_transcript,
    split,
)
from runner.scoring import score_cell
from runner.support.errors import FairtrialError
from tests.scoring.material import GOOD, RUBRIC, SCENARIO, TREE

ROOT = Path(__file__).resolve().parents[1]


def call(call_id: str, *, step: int = 0, origin: str = "server", **arguments: object) -> ToolCall:
    return ToolCall.model_validate(
        {
            "step": step,
            "turn": 0,
            "call_id": call_id,
            "origin": origin,
            "tool": "find_symbol",
            "arguments": arguments,
        }
    )


def result(
    call_id: str, text: str = "found", *, step: int = 0, is_error: bool = False
) -> ToolResult:
    return ToolResult(
        step=step,
        turn=0,
        call_id=call_id,
        text=text,
        is_error=is_error,
        size_chars=len(text),
        digest="0" * 64,
        truncated=False,
        wall_sec=0.5,
    )


def usage(step: int = 0, **changes: object) -> Usage:
    plain = {
        "step": step,
        "turn": 0,
        "input_tokens": 100,
        "output_tokens": 20,
        "wall_sec": 3.0,
        "backoff_sec": 1.0,
    }
    return Usage.model_validate(plain | changes)


WHOLE: tuple[Event, ...] = (
    SystemPrompt(text="You are an agent.", instructions="Use find_symbol."),
    Prompt(step=0, text=SCENARIO.steps[0].prompt),
    Thinking(step=0, turn=0, text="NotImplementedError must be somewhere"),
    Prose(step=0, turn=0, text="I look for it."),
    usage(),
    call("a", name="SECRET_QUERY"),
    result("a", "SECRET_RESULT shop/queue.py:11"),
    Prose(step=0, turn=1, text=GOOD[0]),
    usage(turn=1, cache_read_tokens=900),
    StepEnd(step=0, stop="end"),
    Prompt(step=1, text=SCENARIO.steps[1].prompt),
    call("a", step=1, origin="shell", command="rg x"),
    result("a", step=1, is_error=True),
    Prose(step=1, turn=0, text=GOOD[1]),
    usage(step=1, estimated=True),
    StepEnd(step=1, stop="end"),
    Note(text="the shell was started again"),
)


def written(path: Path, events: tuple[Event, ...] = WHOLE) -> Path:
    with TranscriptWriter(path) as transcript:
        for event in events:
            transcript.write(event)
    return path


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    assert read_transcript(written(tmp_path / "t.jsonl")) == WHOLE


def test_a_writer_knows_the_digest_and_the_lines_of_what_it_wrote(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    for events in (WHOLE[:2], WHOLE[2:]):
        with TranscriptWriter(path) as writer:
            for event in events:
                writer.write(event)
        # The second goes on after what the first left.
        assert extent_of(path) == Extent(digest=writer.digest, events=writer.events)
    assert writer.events == len(WHOLE)


def test_a_transcript_that_is_gone_has_no_digest(tmp_path: Path) -> None:
    assert extent_of(tmp_path / "t.jsonl") == Extent(digest="", events=0)


def test_a_line_cut_by_a_kill_is_dropped_and_the_rest_kept(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl")
    path.write_bytes(path.read_bytes()[:-20])
    assert read_transcript(path) == WHOLE[:-1]


def test_appending_after_a_cut_line_spoils_no_event(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl")
    path.write_bytes(path.read_bytes()[:-20])
    with TranscriptWriter(path) as transcript:
        transcript.write(WHOLE[-1])
    assert read_transcript(path) == WHOLE


ENDLESS = """
import sys
from pathlib import Path
from runner.records import Prose
from runner.records.transcript_files import TranscriptWriter
writer = TranscriptWriter(Path(sys.argv[1]))
for turn in range(10**9):
    writer.write(Prose(step=0, turn=turn, text="x" * (turn % 5000)))
    if turn == 500:
        print("well begun", flush=True)
"""


def test_a_writer_killed_at_any_moment_leaves_a_readable_transcript(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    command = [sys.executable, "-c", ENDLESS, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        # It goes on writing while we read this, so the kill falls anywhere in a line.
        assert process.stdout.readline() == "well begun\n"
        process.kill()
    turns = [event.turn for event in iter_transcript(path) if isinstance(event, Prose)]
    assert len(turns) > 500
    assert turns == list(range(len(turns)))


@pytest.mark.parametrize(
    "bad",
    [
        '{"type":"prose","step":0}',
        "not json",
        '{"type":"verdict"}',
        "",
        '{"type":"note","text":"x","more":1}',
    ],
)
def test_a_malformed_line_is_named_by_its_number(tmp_path: Path, bad: str) -> None:
    path = written(tmp_path / "t.jsonl", WHOLE[:2])
    path.write_text(path.read_text() + bad + "\n" + path.read_text())
    with pytest.raises(FairtrialError, match="line 3: not an event"):
        read_transcript(path)


def test_a_missing_transcript_says_which(tmp_path: Path) -> None:
    with pytest.raises(FairtrialError, match=r"gone\.jsonl: the transcript cannot be read"):
        read_transcript(tmp_path / "gone.jsonl")


def test_a_folder_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FairtrialError, match="hint: free some space"):
        TranscriptWriter(tmp_path / "no" / "folder.jsonl")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk_is_an_error_of_the_user_and_not_a_crash(tmp_path: Path) -> None:
    link = tmp_path / "t.jsonl"
    link.symlink_to("/dev/full")
    with (
        pytest.raises(FairtrialError, match="the transcript cannot be written: No space left"),
        TranscriptWriter(link) as writer,
    ):
        writer.write(WHOLE[0])


def test_half_a_surrogate_pair_and_odd_line_ends_survive_as_one_line(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", (Prose(step=0, turn=0, text="a\u2028b\x85c\r\nd"),))
    with TranscriptWriter(path) as transcript:
        transcript.write(Note.model_construct(type="note", text="half \ud800 pair"))
    assert [getattr(event, "text", "") for event in read_transcript(path)] == [
        "a\u2028b\x85c\r\nd",
        "half ? pair",
    ]


# --- the fence ------------------------------------------------------------------------------


def test_tool_inputs_and_outputs_and_thinking_never_reach_the_answer() -> None:
    said, trace, _ = split(WHOLE, SCENARIO)
    for secret in ("SECRET_QUERY", "SECRET_RESULT", "somewhere", "find_symbol"):
        assert secret not in said.model_dump_json()
    assert said.steps[0].text == f"I look for it.\n\n{GOOD[0]}"
    assert "I look" not in trace.model_dump_json() and GOOD[1] not in trace.model_dump_json()


def test_a_keyword_in_a_tool_call_scores_nothing() -> None:
    # The cheat: grep for the rubric's keywords, and say nothing (docs/scores.md).
    searched = call("a", pattern="deliver|retry_failed|OSError")
    events = (
        Prompt(step=0, text="p"),
        searched,
        result("a", " ".join(GOOD)),
        StepEnd(step=0, stop="end"),
    )
    card = score_cell(
        events, SCENARIO, RUBRIC, cell_id="c", server="codegraph", files=TREE, judge=None
    )
    assert card.fairness.parts["keyword_coverage"].model_dump()["value"] == 0.0
    assert card.fairness.citations == ()


def test_tool_results_repeated_as_prose_are_prose() -> None:
    events = (
        call("a"),
        result("a", "deliver"),
        Prose(step=0, turn=0, text="deliver"),
        StepEnd(step=0, stop="end"),
    )
    assert split(events, SCENARIO)[0].steps[0].text == "deliver"


def test_a_step_that_was_never_reached_stands_empty_in_the_answer() -> None:
    said, trace, cost = split(WHOLE[:10], SCENARIO)
    assert (said.steps[1].text, said.steps[1].completed) == ("", False)
    assert (trace.steps, cost.steps, cost.steps_completed) == (2, 2, 1)


@pytest.mark.parametrize("stop", ["max_tokens", "refusal", "cut"])
def test_a_step_that_something_else_ended_is_not_completed(stop: str) -> None:
    end = StepEnd.model_validate({"step": 0, "stop": stop})
    answer, _, _ = split((Prose(step=0, turn=0, text="half an"), end), SCENARIO)
    assert not answer.steps[0].completed


def test_a_step_without_prose_is_not_completed() -> None:
    events = (call("a"), result("a"), StepEnd(step=0, stop="end"))
    answer, _, _ = split(events, SCENARIO)
    assert not answer.steps[0].completed


def test_effort_leaves_the_provider_s_waiting_out_and_counts_cached_tokens_nowhere() -> None:
    _, _, cost = split(WHOLE, SCENARIO)
    assert (cost.input_tokens, cost.output_tokens, cost.actions) == (300, 60, 2)
    # Two answered calls of 0.5 s; three turns of 3 s, each with 1 s of the provider's waiting.
    assert cost.agent_sec == pytest.approx(3 * 2.0 + 2 * 0.5) and cost.backoff_sec == 3.0
    assert cost.tokens_estimated


def test_a_call_that_nothing_answered_did_not_succeed() -> None:
    _, trace, _ = split((call("a"), StepEnd(step=0, stop="cut")), SCENARIO)
    assert trace.calls[0].is_error


def test_a_call_id_used_again_belongs_to_its_own_result() -> None:
    # In WHOLE both steps have a call "a": the second failed, the first did not.
    _, trace, _ = split(WHOLE, SCENARIO)
    assert [call.is_error for call in trace.calls] == [False, True]


def test_a_transcript_of_another_scenario_is_refused() -> None:
    with pytest.raises(
        FairtrialError, match="speaks of step 2, but the scenario's steps are 0 to 1"
    ):
        split((Prose(step=2, turn=0, text="x"),), SCENARIO)


def test_a_result_without_its_call_is_refused() -> None:
    with pytest.raises(FairtrialError, match="'ghost', which it never made"):
        split((result("ghost"),), SCENARIO)


def test_the_halves_share_no_field_but_the_number_of_steps() -> None:
    assert set(Answer.model_fields) & set(ToolTrace.model_fields) == {"steps"}


# --- size -----------------------------------------------------------------------------------


def test_a_long_transcript_is_read_as_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    big = result("a", "y" * 200_000).model_dump(mode="json")
    path.write_text(f"{json.dumps(big)}\n" * 200)
    tracemalloc.start()
    count = 0
    for _ in iter_transcript(path):
        count += 1
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 200
    # All of them at once are 40 MB.
    assert peak_bytes < 5_000_000
