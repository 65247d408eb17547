"""The deterministic navigator finds things with any arm's tools, and knows no gold answer."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from runner.grounding import rows
from runner.models import findings, offline, open_model, tool_use
from runner.models.findings import Finding, findings_in
from runner.models.offline import Offline, names_in
from runner.models.tool_use import ROLES, choose, fill
from runner.protocols import Message, Result, ToolMessage, ToolSpec, Turn, UserMessage
from runner.records import Prose, ToolCall
from tests.helpers import Ask, scenario

SOURCE = """\
class App:
    def dispatch(self):
        return self.finish_up(1)

    def finish_up(self, code):
        return code
"""

FILES = {"app.py": SOURCE}


def answers(ask: Ask, *prompts: str) -> list[str]:
    outcome, events, _ = ask(Offline(), scenario(*prompts, tokens=10**6, actions=1000), FILES)
    assert outcome.kind == "answered"
    return [event.text for event in events if isinstance(event, Prose)]


def tool(
    name: str, description: str, required: tuple[str, ...] = (), **properties: dict[str, Any]
) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec(name=name, description=description, input_schema=schema, origin="server")


TEXT: dict[str, Any] = {"type": "string"}


@pytest.mark.docker
def test_it_finds_the_definition_and_follows_what_its_body_calls(ask: Ask) -> None:
    (answer,) = answers(ask, "Trace what `App.dispatch` calls.")
    assert "`app.py:2` defines `dispatch`" in answer
    assert "`app.py:5` defines `finish_up`" in answer


@pytest.mark.docker
def test_it_says_what_it_did_not_find(ask: Ask) -> None:
    assert (
        "I did not find `vanished_name`"
        in answers(ask, "Where is `vanished_name` used with `dispatch`?")[0]
    )


@pytest.mark.docker
def test_the_same_question_gets_the_same_answer(ask: Ask) -> None:
    first, second = (
        answers(ask, "Who calls `finish_up`?", "Which tests cover `dispatch`?") for _ in range(2)
    )
    assert first == second
    assert len(first) == 2


@pytest.mark.docker
def test_a_name_cannot_smuggle_a_command_into_the_shell(ask: Ask) -> None:
    asked = scenario(
        "What is `x'; touch owned; echo 'y` and `dispatch_it`?", tokens=10**6, actions=1000
    )
    _, events, files = ask(Offline(), asked, FILES)
    assert files == ["./app.py"]
    assert any(isinstance(event, ToolCall) for event in events)


def test_it_never_sees_a_rubric_a_check_or_a_must_cite() -> None:
    assert list(inspect.signature(Offline).parameters) == []
    assert list(inspect.signature(Offline.turn).parameters) == [
        "self",
        "system",
        "conversation",
        "tools",
        "timeout_sec",
    ]
    for module in (offline, findings, tool_use, rows):
        source = inspect.getsource(module)
        assert "open(" not in source
        assert "import os" not in source
        assert "Scenario" not in source


def test_quoted_names_come_before_shaped_ones_and_plain_words_only_where_there_are_none() -> None:
    assert names_in("Change `Flask.wsgi_app` and look at full_dispatch_request, please.") == [
        "wsgi_app",
        "Flask",
        "full_dispatch_request",
    ]
    assert "cookies" in names_in("How are cookies signed here?")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("./src/a.py:12:def f():", [Finding(path="src/a.py", line=12, text="def f():")]),
        ("src/a.py:12:8: error", [Finding(path="src/a.py", line=12, text=" error")]),
        (
            '{"file": "src/a.py", "start_line": 3, "name": "f"}',
            [Finding(path="src/a.py", line=3, text="f")],
        ),
        ('{"src/a.py": [{"line": 4, "text": "x"}]}', [Finding(path="src/a.py", line=4, text="x")]),
        (
            "## src/a.py\n  7: x = 1\n  8: y",
            [
                Finding(path="src/a.py", line=7, text=" x = 1"),
                Finding(path="src/a.py", line=8, text=" y"),
            ],
        ),
        ("no match", []),
        ('{"file": "a.py", "line": 0}', []),
        ("[" * 100_000, []),
    ],
)
def test_every_way_a_server_names_a_place_is_read(text: str, found: list[Finding]) -> None:
    assert findings_in(text) == found


def test_it_picks_a_servers_tools_by_what_they_say_and_never_one_that_writes() -> None:
    tools = [
        tool("mcp__x__delete_symbol", "Delete a symbol."),
        tool("mcp__x__find_references", "Find usages of a symbol."),
        tool("mcp__x__search_text", "Search the text of files."),
    ]
    assert [item.name for item in choose(tools, "references")] == ["mcp__x__find_references"]
    assert "mcp__x__delete_symbol" not in {
        item.name for role in ROLES for item in choose(tools, role)
    }


def test_arguments_come_from_the_schema_and_a_place_already_seen() -> None:
    place = Finding(path="src/a.py", line=4, text="def f")
    by_file = tool(
        "t",
        "d",
        ("filePath", "symbolName"),
        filePath=TEXT,
        symbolName=TEXT,
        verbose={"type": "boolean"},
    )
    assert fill(by_file, "f", place) == {"filePath": "src/a.py", "symbolName": "f"}
    assert fill(by_file, "f", None) is None
    absolute = tool(
        "t", "Takes an absolute path.", ("file_path", "symbol"), file_path=TEXT, symbol=TEXT
    )
    assert fill(absolute, "f", place) == {"file_path": "/workspace/src/a.py", "symbol": "f"}
    assert fill(tool("t", "d", (), pattern=TEXT, regex=TEXT, file_pattern=TEXT), "f", None) == {
        "pattern": "f"
    }
    assert fill(tool("t", "d", ("count",), count={"type": "integer"}), "f", None) is None


def test_a_model_nobody_has_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(Exception, match="there is no model 'gpt-9'") as caught:
        open_model("gpt-9")
    assert "offline" in str(caught.value)


# --- what it costs --------------------------------------------------------------------------


def two_turns(system: str, *tools: ToolSpec) -> tuple[Turn, Turn]:
    """A turn on a prompt, and one on what its calls gave: 400 characters."""

    async def converse() -> tuple[Turn, Turn]:
        model = Offline()
        prompt = UserMessage(text="Who calls `finish_up`?")
        first = await model.turn(system, [prompt], tools, timeout_sec=1)
        given = ToolMessage(results=(Result(call_id="call_1", text="x" * 400, is_error=False),))
        conversation: list[Message] = [prompt, first, given]
        return first, await model.turn(system, conversation, tools, timeout_sec=1)

    return asyncio.run(converse())


def test_every_turn_pays_for_the_schemas_and_the_instructions_that_it_carries() -> None:
    small = tool("find", "Find a symbol.", ("symbol",), symbol=TEXT)
    large = tool("find", "Find a symbol. " + "x" * 40_000, ("symbol",), symbol=TEXT)
    lean, heavy = two_turns("be brief", small), two_turns("be brief", large)
    for before, after in zip(lean, heavy, strict=True):
        assert after.input_tokens - before.input_tokens == 10_000
    told = two_turns("be brief" + "y" * 4_000, small)
    for before, after in zip(lean, told, strict=True):
        assert after.input_tokens - before.input_tokens == 1_000
    assert all(turn.estimated for turn in lean)
