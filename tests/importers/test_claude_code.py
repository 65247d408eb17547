"""Claude Code's transcripts as our events, and what `ground` reads out of any file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.records import Note, Prompt, Prose, StepEnd, ToolCall, ToolResult, Usage
from runner.runs.importing.texts import read_answer_file
from runner.support.errors import FairtrialError
from tests.helpers import claude_code_events

PUBLISHED = Path(__file__).parents[3] / "shared" / "data" / "published-run"


USAGE = {
    "input_tokens": 6,
    "output_tokens": 3,
    "cache_read_input_tokens": 100,
    "cache_creation_input_tokens": 50,
}


def spoken(content: Any, **more: Any) -> dict[str, Any]:
    message = {"id": "m1", "role": "assistant", "content": content, **more}
    return {"type": "assistant", "session_id": "s", "message": message}


def said(text: str, message: str = "m1", **more: Any) -> dict[str, Any]:
    return {**spoken([{"type": "text", "text": text}], id=message, usage=USAGE), **more}


def call(tool: str, name: str = "t1", **arguments: Any) -> dict[str, Any]:
    return spoken([{"type": "tool_use", "id": name, "name": tool, "input": arguments}])


def gave(content: Any, name: str = "t1", **more: Any) -> dict[str, Any]:
    return asked([{"type": "tool_result", "tool_use_id": name, "content": content, **more}])


def asked(text: Any) -> dict[str, Any]:
    return {"type": "user", "session_id": "s", "message": {"role": "user", "content": text}}


def result(text: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": text,
        "session_id": "s",
        **more,
    }


INIT = {"type": "system", "subtype": "init", "cwd": "/Users/me/flask", "session_id": "s"}
WITH_SERVER = {**INIT, "mcp_servers": [{"name": "good", "status": "connected"}]}


def written(tmp_path: Path, *lines: dict[str, Any], name: str = "transcript.json") -> Path:
    path = tmp_path / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_the_answer_is_the_assistants_prose_per_prompt(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        INIT,
        asked("one?"),
        said("a.py:1"),
        said("b.py:2"),
        asked("two?"),
        said("c.py:3", "m2"),
        result("c.py:3"),
    )
    read = read_answer_file(path)
    assert (read.kind, read.texts, read.roots) == (
        "claude_code",
        ("a.py:1\n\nb.py:2", "c.py:3"),
        ("/Users/me/flask",),
    )


def test_a_subagents_prose_is_not_the_answer(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        INIT,
        said("mine"),
        said("theirs", parent_tool_use_id="toolu_1"),
        said("theirs", isSidechain=True),
    )
    assert read_answer_file(path).texts == ("mine",)


def test_tools_become_calls_and_results_and_never_prose(tmp_path: Path) -> None:
    back = gave([{"type": "text", "text": "a.py:9"}], is_error=True)
    called = call("mcp__serena__find_symbol", symbol="a.py:9")
    path = written(tmp_path, INIT, called, back, said("done"))
    events = claude_code_events(path)
    [tool_call] = [e for e in events if isinstance(e, ToolCall)]
    [tool_result] = [e for e in events if isinstance(e, ToolResult)]
    assert (tool_call.origin, tool_call.arguments) == ("server", {"symbol": "a.py:9"})
    assert (tool_result.is_error, tool_result.text, tool_result.size_chars) == (True, "a.py:9", 6)
    assert read_answer_file(path).texts == ("done",)


def test_a_messages_usage_counts_once_though_every_block_repeats_it(tmp_path: Path) -> None:
    events = claude_code_events(
        written(tmp_path, INIT, said("one"), said("two"), said("three", "m2"))
    )
    assert [u.output_tokens for u in events if isinstance(u, Usage)] == [3, 3]


def test_a_result_alone_is_the_answer_and_a_repeated_one_is_not_said_twice(tmp_path: Path) -> None:
    assert read_answer_file(written(tmp_path, INIT, result("a.py:1"))).texts == ("a.py:1",)
    assert read_answer_file(written(tmp_path, INIT, said("a.py:1"), result("a.py:1"))).texts == (
        "a.py:1",
    )


def test_steps_end_with_a_result_or_with_the_next_prompt(tmp_path: Path) -> None:
    lines = [
        asked("one?"),
        said("a"),
        result("a"),
        asked("two?"),
        said("b", "m2"),
        result("b", is_error=True),
    ]
    events = claude_code_events(written(tmp_path, *lines))
    assert [(e.step, e.stop) for e in events if isinstance(e, StepEnd)] == [(0, "end"), (1, "cut")]
    assert [(e.step, e.text) for e in events if isinstance(e, Prompt)] == [(0, "one?"), (1, "two?")]
    assert [(e.step, e.text) for e in events if isinstance(e, Prose)] == [(0, "a"), (1, "b")]


def test_a_line_cut_by_a_kill_costs_only_itself(tmp_path: Path) -> None:
    path = written(tmp_path, INIT, said("a.py:1"))
    path.write_text(path.read_text() + '{"type": "assistant", "mess')
    assert read_answer_file(path).texts == ("a.py:1",)


def test_a_json_array_of_the_same_events_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps([INIT, said("a.py:1")]))
    assert read_answer_file(path).texts == ("a.py:1",)


def test_our_own_transcript_is_told_by_what_it_holds(tmp_path: Path) -> None:
    prose = [
        {"type": "prompt", "step": 0, "text": "?"},
        {"type": "prose", "step": 0, "turn": 0, "text": "a.py:1"},
    ]
    read = read_answer_file(written(tmp_path, *prose, name="anything"))
    assert (read.kind, read.texts) == ("transcript", ("a.py:1",))


PLAIN = [
    "",
    "# Title\n",
    '{"file": "a.py", "line": 1}',
    "[link](a.py)",
    "{not json",
    '{"type": "assistant"}',
    "[1, 2]",
]


@pytest.mark.parametrize("text", PLAIN)
def test_anything_else_is_plain_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "answer.md"
    path.write_text(text)
    read = read_answer_file(path)
    assert (read.kind, read.texts) == ("text", (text,))


def test_what_cannot_be_read_is_said_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(FairtrialError, match=r"(?s)cannot be read.*hint: "):
        read_answer_file(tmp_path / "gone.md")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FairtrialError, match=r"(?s)not UTF-8.*hint: "):
        read_answer_file(tmp_path / "binary")


@pytest.mark.skipif(
    not PUBLISHED.is_dir(), reason="the published run's data is not beside this repository"
)
def test_every_published_transcript_is_read() -> None:
    paths = sorted(PUBLISHED.rglob("transcript.json"))
    assert paths
    for path in paths:
        read = read_answer_file(path)
        assert read.kind == "claude_code"
        assert all(len(text) > 1000 for text in read.texts)


@pytest.mark.parametrize(
    "line",
    [
        spoken("a.py:1"),
        spoken(["a.py:1"]),
        {"type": "assistant", "session_id": "s", "message": "a.py:1"},
        {"type": "assistant", "session_id": "s", "message": ["a.py:1"]},
    ],
)
def test_prose_written_as_a_plain_string_is_read_and_not_lost(
    tmp_path: Path, line: dict[str, Any]
) -> None:
    assert read_answer_file(written(tmp_path, INIT, line)).texts == ("a.py:1",)


@pytest.mark.parametrize(
    "line",
    [
        spoken(5),
        spoken([5]),
        spoken([{"type": "text", "text": {"a": 1}}]),
        spoken([{"type": "thinking", "thinking": [1]}]),
        spoken([], usage="much"),
    ],
)
def test_what_no_transcript_has_is_passed_over_and_counted(
    tmp_path: Path, line: dict[str, Any]
) -> None:
    events = claude_code_events(written(tmp_path, INIT, line, said("a.py:1")))
    assert [event.text for event in events if isinstance(event, Prose)] == ["a.py:1"]
    assert [event.text for event in events if isinstance(event, Note)] == [
        "1 parts that no transcript has were passed over"
    ]


@pytest.mark.parametrize("count", ["many", None, [1], {}, True, -1, float("nan"), 1e999, 10**400])
def test_a_count_that_is_none_counts_as_nothing(tmp_path: Path, count: object) -> None:
    line = spoken([], usage={"input_tokens": 6, "output_tokens": count})
    [usage] = [e for e in claude_code_events(written(tmp_path, INIT, line)) if isinstance(e, Usage)]
    assert (usage.input_tokens, usage.output_tokens) == (6, 0)


def test_a_type_that_is_no_text_is_no_event_and_half_a_surrogate_pair_is_no_text(
    tmp_path: Path,
) -> None:
    odd = {"type": ["assistant"], "session_id": "s", "message": {}}
    assert read_answer_file(written(tmp_path, odd)).kind == "text"
    assert read_answer_file(written(tmp_path, INIT, said("a\ud800b"))).texts == ("a?b",)
