"""One question to both arms says whether the server is used, and what to do if it is not."""

from __future__ import annotations

from typing import Any

import mcp_types
import pytest

from runner.authoring.onboarding.preflight import (
    ServerUse,
    _telling,
    ends_uncalled,
    remarks,
    require_used,
    says_that_it_failed,
    what_lacks,
)
from runner.servers.tool_answers import finds_nothing
from runner.support.errors import NotReadyError
from runner.support.text import counted, first_line

TEXT = {"type": "string"}


def used(calls: int, errors: int, *, failure: str = "") -> ServerUse:
    return ServerUse(calls=calls, errors=errors, first_error="no such id", failure=failure)


def tool(name: str, *required: str) -> mcp_types.Tool:
    properties: dict[str, Any] = dict.fromkeys(required, TEXT)
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return mcp_types.Tool(name=name, input_schema=schema)


READ = tool("read_output", "output_id", "pattern")
FIND = tool("find_symbol", "symbol", "file_path")
WRITE = tool("write_note", "note_id")


def advice(use: ServerUse, *models: str) -> list[str]:
    return list(require_used(use, models, "mine", lambda: [READ, FIND, WRITE]))


def test_offline_it_ends_where_every_call_failed_and_says_what_is_unknown() -> None:
    use = used(3, 3)
    with pytest.raises(NotReadyError) as caught:
        advice(use, "offline")
    (remark,) = remarks(use, 0)
    first, *lacking = str(caught.value.what).splitlines()
    assert first == remark
    assert lacking == ["  read_output needs output_id, of which nothing is known"]
    assert "--model NAME" in caught.value.hint
    assert "fairtrial server call mine TOOL" in caught.value.hint


def test_what_the_program_could_not_call_is_no_error_and_no_run_follows() -> None:
    assert advice(used(0, 0), "offline") == []
    assert ends_uncalled(used(0, 0), ["offline"])
    assert not ends_uncalled(used(0, 0), ["offline", "claude-x"])
    assert not ends_uncalled(used(0, 0, failure="the sandbox is gone"), ["offline"])
    assert not ends_uncalled(used(3, 3), ["offline"])


def test_a_language_model_chooses_for_itself_so_it_goes_on_and_says_so() -> None:
    lacking, goes_on = advice(used(0, 0), "offline", "claude-x")
    assert lacking.startswith("read_output needs output_id")
    assert "the offline model asked; it goes on" in goes_on


def test_a_server_that_answered_once_is_not_doubted_and_its_tools_are_not_listed() -> None:
    def listed() -> list[mcp_types.Tool]:
        raise AssertionError

    assert list(require_used(used(3, 2), ["offline"], "mine", listed)) == []
    assert list(remarks(used(3, 2), 0)) == [
        "3 calls of its tools, 2 errors, 0 found nothing",
        "such as: no such id",
    ]


def test_an_error_that_ends_where_it_would_say_why_is_not_the_one_that_is_shown() -> None:
    ends = "Error: Failed to search code: Command failed with exit code 1: "
    assert _telling([ends, "Error: this is\n no pattern"]) == "Error: this is no pattern"
    assert _telling([ends]) == ends.strip()
    assert _telling([]) == ""
    assert first_line("\n It failed:\n\n  no such file\nmore") == "It failed: no such file"
    assert first_line("no index\n  run build") == "no index"
    assert first_line("") == ""


def test_one_is_one_and_not_several() -> None:
    assert next(remarks(used(1, 0), 0)) == "1 call of its tools, 0 errors, 0 found nothing"
    assert [counted(n, "repository", "repositories") for n in (1, 2)] == [
        "1 repository",
        "2 repositories",
    ]


def test_a_cell_that_is_no_measurement_says_why_and_ends_nothing() -> None:
    broken = used(0, 0, failure="the sandbox is gone")
    assert advice(broken, "offline") == []
    assert list(remarks(broken, 2)) == [
        "its cell is no measurement: the sandbox is gone",
        "2 network attempts were refused: a cell has no network",
    ]


def test_many_tools_that_lack_something_are_counted_and_not_all_named() -> None:
    said = list(what_lacks([tool(f"get_{number}", "session_id") for number in range(9)]))
    assert len(said) == 5
    assert said[-1] == "and 5 more tools alike"


def test_a_server_all_of_whose_tools_write_is_told_that_a_cell_is_read_only() -> None:
    assert list(what_lacks([WRITE])) == [
        "all of its tools write, and a cell's repository may only be read"
    ]


@pytest.mark.parametrize(
    ("text", "nothing"),
    [
        ("", True),
        ("[]", True),
        ('{"query": "dispatch", "results": [], "total": 0}', True),
        ('{"result": "No matches found"}', True),
        ("No symbols found for dispatch", True),
        ("Symbol `dispatch` was not found", True),
        ("app.py:3: def dispatch():", False),
        ('[{"file": "app.py", "line": 3}]', False),
        ('{"name": "dispatch", "file": "app.py"}', False),
        ('{"files": [], "text": "class App:\\n    pass"}', False),
        ("0", False),
        ("false", False),
        ("null", True),
        ('{"a": {}, "b": [[], null, ""]}', True),
        ('{"row": 3, "column": 0}', False),
        (
            '{"type": "class", "start": {"row": 3, "column": 8}, "end": {"row": 3, "column": 13}}',
            False,
        ),
        ('{"id": 7, "children": [], "start": {"row": 3, "column": 8}}', False),
        ('{"exists": false}', False),
        ('{"results": [], "count": 0, "root": "/srv", "refresh": {"hint": "call it anew"}}', True),
        ('{"found": false, "name": "x", "stats": {"elapsed_ms": 12}}', True),
        ('{"matches": [], "meta": {"query": "x"}}', True),
        ('{"stats": {"functions": 12, "classes": 3}}', False),
        ('{"error": null, "index": {"files": 12}}', False),
        ('{"results": [], "definition": {"text": "def dispatch(self):"}}', False),
        ('{"success": true, "message": "No matches found"}', True),
        ('{"count": 0, "results": []}', True),
        ('{"query": "dispatch", "total": 0}', True),
        ('{"results": [], "page": {"limit": 50, "offset": 0, "total": 0, "more": false}}', True),
        ('{"files": 0, "lines": 0}', False),
        ("no results are cached here: " + "x = 1; " * 80, False),
    ],
)
def test_an_answer_without_content_is_known_and_code_that_says_no_is_not(
    text: str, nothing: bool
) -> None:
    assert finds_nothing(text) is nothing


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("Error: no index", True),
        ("❌ Error executing tool find: no index", True),
        ('{"success": false, "message": "no index"}', True),
        ("error_handler_spec: app.py:3", False),
        ("app.py:3: error: str = ''", False),
        ("No results", False),
    ],
)
def test_an_answer_that_says_it_failed_counts_as_an_error_that_is_marked(
    text: str, failed: bool
) -> None:
    assert says_that_it_failed(text) is failed
