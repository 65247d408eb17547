"""The deterministic navigator finds things with any arm's tools, and knows no gold answer."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from runner.agents.models.offline.findings import Finding, findings_in
from runner.agents.models.offline.navigator import Offline
from runner.agents.models.offline.prompt_names import names_in
from runner.agents.models.offline.tool_use import (
    Learned,
    choose_operations,
    fills,
    server_lookup,
    server_read,
)
from runner.agents.models.offline.uses import ROLES, askable, uses_of
from runner.agents.tools import SHELL_SPEC
from runner.authoring.exact.kind import BUILT, TAIL
from runner.authoring.exact.question_files import FILE, SUITE, read_suite
from runner.protocols import Call, Message, Result, ToolMessage, ToolSpec, Turn, UserMessage
from runner.records import ANSWER_FORM, NewTokens, Prose, ToolCall
from tests.checkout import ROOT
from tests.helpers import Ask, scenario
from tests.models.navigating import TEXT, Respond, fails, finds_nothing, found, look, says, tool

SOURCE = """\
class App:
    def dispatch(self):
        return self.finish_up(1)

    def finish_up(self, code):
        return code
"""

FILES = {"app.py": SOURCE}
NAVIGATOR = [
    f"runner.agents.models.offline.{name}"
    for name in "answer exploring findings lookups navigator prompt_names rows search server_side "
    "tool_use uses".split()
]


def answers(ask: Ask, *prompts: str) -> list[str]:
    outcome, events, _ = ask(Offline(), scenario(*prompts, tokens=10**6, actions=1000), FILES)
    assert outcome.kind == "answered"
    return [event.text for event in events if isinstance(event, Prose)]


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
    assert (
        list(inspect.signature(Offline.turn).parameters)
        == "self system conversation tools timeout_sec".split()
    )
    for module in map(import_module, NAVIGATOR):
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


def test_no_word_that_only_says_what_counts_is_looked_for_as_a_name() -> None:
    fixed = set(re.findall(r"\w+", f"{BUILT} {TAIL} {ANSWER_FORM}"))
    fixed |= {"export", "pub", "use", "__init__"}
    shipped = [read_suite(path) for path in sorted((ROOT / SUITE).glob(f"*/{FILE}"))]
    asked = [question for suite in shipped for question in suite.questions]
    assert any("node_modules" in question.prompt for question in asked)
    for question in asked:
        names = names_in(f"{question.prompt}\n\n{ANSWER_FORM}")
        # A function may be called `build`: a list of words to leave out would lose the question.
        assert names and fixed.intersection(names) <= set(question.name.split("-")), question.name


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
        (
            '{"results": [{"file": "a.py", "matches": [{"line_num": 4, "line_content": "x"}]}]}',
            [Finding(path="a.py", line=4, text="x")],
        ),
        (
            json.dumps({"content": [{"text": '[{"file": "a.py", "line": "x", "line_num": 4}]'}]}),
            [Finding(path="a.py", line=4, text="x")],
        ),
        (
            '{"file": "a.py", "line": 4, "text": "x"}\n{"file": "b.py", "line": 5, "text": "y"} {',
            [Finding(path="a.py", line=4, text="x"), Finding(path="b.py", line=5, text="y")],
        ),
        (
            'Found 1 match in:\n\nMatches:\n[{"text": "f", "range": {"byteOffset": {"start": 9},'
            ' "start": {"line": 616, "column": 4}, "end": {"line": 616, "column": 5}},'
            ' "file": "/workspace/src/a.py", "lines": "def f():"}]',
            [Finding(path="src/a.py", line=617, text="def f():")],
        ),
        (
            '[{"uri": "file:///workspace/a.ts", "range": {"start": {"line": 4, "character": 0}}}]',
            [Finding(path="a.ts", line=5, text="")],
        ),
        (
            "### src/a.go\n  5: func f() error {\n       return fmt.Errorf(x)\n"
            '       import("./src/other.ts")\n  9: }',
            [
                Finding(path="src/a.go", line=5, text=" func f() error {"),
                Finding(path="src/a.go", line=9, text=" }"),
            ],
        ),
        (
            "a.py\n1: import typing as t\nt.Any\n2: x",
            [
                Finding(path="a.py", line=1, text=" import typing as t"),
                Finding(path="a.py", line=2, text=" x"),
            ],
        ),
        (
            '## a.py\n1: x\n{"b": 1}\n2: y',
            [
                Finding(path="a.py", line=1, text=" x"),
                Finding(path="a.py", line=2, text=" y"),
            ],
        ),
        ("no match", []),
        ('{"file": "a.py", "line": 0}', []),
        ("[\n" * 100_000, []),
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
    uses = uses_of(tools)
    assert [use.tool for use in choose_operations(uses, "references")] == [
        "mcp__x__find_references"
    ]
    assert "mcp__x__delete_symbol" not in {
        use.tool for role in ROLES for use in choose_operations(uses, role)
    }


def test_a_tool_that_generates_or_says_that_it_destroys_is_never_asked() -> None:
    packs = tool("mcp__x__generate_skill", "Search, find and query text.", ("query",), query=TEXT)
    named = tool("mcp__x__find", "Find a symbol.", ("symbol",), symbol=TEXT)
    says_so = replace(named, destructive=True)
    finds = tool("mcp__x__find_text", "Search the text of files.", ("pattern",), pattern=TEXT)
    uses = uses_of([packs, says_so, finds])
    chosen = {use.tool for role in ROLES for use in choose_operations(uses, role)}
    assert chosen == {"mcp__x__find_text"}
    assert choose_operations(uses_of([packs]), "search") == []
    # Said of all of them, it says nothing of one.
    alike = [says_so, replace(finds, destructive=True)]
    assert choose_operations(uses_of(alike), "search") != []


WRITERS = [
    ("store_note", "Stores a note about a symbol.", "symbol"),
    ("record_decision", "Records an architectural decision in docs/adr.", "text"),
    ("document_symbol", "Writes a docstring for the symbol into its file.", "symbol"),
    ("inline_symbol", "Inline the symbol at all its call sites.", "symbol"),
    ("find_and_fix", "Finds occurrences of a text and fixes them.", "query"),
    ("codemod", "Applies a codemod to the pattern's matches.", "pattern"),
    ("truncate_file", "Empties a file.", "path"),
    ("purge_cache", "Purges the cache of the project.", "project_path"),
    ("export_graph", "Exports the graph to graph.json.", "project_path"),
]


@pytest.mark.parametrize(("name", "description", "key"), WRITERS)
@pytest.mark.parametrize("annotated", [True, False])
def test_a_tool_that_does_not_say_that_it_reads_is_not_called(
    name: str, description: str, key: str, annotated: bool
) -> None:
    reader = replace(tool("list_files", "", ("root",), root=TEXT), read_only=annotated)
    writer = tool(name, description, (key,), **{key: TEXT})
    for tools in ((SHELL_SPEC, reader, writer), (SHELL_SPEC, writer)):
        assert name not in look(WHERE, tools, finds_nothing).on_server


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("git_log", "Shows the commit logs"),
        ("callers", "Callers of a symbol, with their places."),
        ("digest", "Briefing for a repository. Returns what changed."),
        ("treesitter_find_usage", "Find usages of a symbol."),
        ("search", "Performs semantic search over the code."),
        ("suggest_queries", "Suggest search queries."),
        ("convert_to_text", "Convert a resource at a file: URI."),
        ("ask", "Ask about the code."),
    ],
)
def test_a_tool_whose_words_say_that_it_reads_may_be_called(name: str, description: str) -> None:
    uses = uses_of([tool(name, description, ("query",), query=TEXT), tool("list_files", "")])
    assert name in {use.tool for use in askable(uses)}


def test_a_line_that_was_cut_ends_before_a_place_and_never_inside_of_one() -> None:
    def shows_a_long_line(call: Call) -> Result:
        return says(call, f"app.py:2: def dispatch(): {'x' * 50} {'y' * 15} test_basic.py:1368")

    answer = look(WHERE, (SHELL_SPEC, SEARCH), shows_a_long_line).answer
    assert "test_basic.py" not in answer
    assert "`app.py:2` defines `dispatch`" in answer


def first_fill(asked: ToolSpec, place: Finding | None) -> dict[str, Any] | None:
    (use,) = uses_of([asked])
    return next(iter(fills(use, Learned().target("f", place))), None)


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
    assert first_fill(by_file, place) == {"filePath": "src/a.py", "symbolName": "f"}
    assert first_fill(by_file, None) is None
    absolute = tool(
        "t", "Takes an absolute path.", ("file_path", "symbol"), file_path=TEXT, symbol=TEXT
    )
    assert first_fill(absolute, place) == {"file_path": "/workspace/src/a.py", "symbol": "f"}
    several = tool("t", "d", (), pattern=TEXT, regex=TEXT, file_pattern=TEXT)
    assert first_fill(several, None) == {"pattern": "f"}
    assert first_fill(tool("t", "d", ("count",), count={"type": "integer"}), None) is None


# --- with a server ------------------------------------------------------------------------------

SEARCH = tool("mcp__x__find_symbol", "Find a symbol's definition.", ("symbol",), symbol=TEXT)
WHERE = "Trace `App.dispatch`."


def test_a_server_whose_calls_all_work_is_not_doubted() -> None:
    looked = look(WHERE, (SHELL_SPEC, SEARCH), found)
    assert "`app.py:2` defines `dispatch`" in looked.answer
    assert "the server's tools" not in looked.answer
    assert looked.commands("rg") == []


@pytest.mark.parametrize(
    ("server", "doubt"),
    [
        (fails, "Of my 2 calls of the server's tools 2 failed and 0 named no place"),
        (finds_nothing, "Of my 2 calls of the server's tools 0 failed and 2 named no place"),
    ],
)
def test_a_server_whose_calls_all_fail_costs_more_says_so_and_is_not_cited(
    server: Respond, doubt: str
) -> None:
    looked = look(WHERE, (SHELL_SPEC, SEARCH), server)
    working = look(WHERE, (SHELL_SPEC, SEARCH), found)
    assert doubt in looked.answer
    assert "bad.py" not in looked.answer
    assert "`app.py:2` defines `dispatch`" in looked.answer
    assert len(looked.calls) > len(working.calls)


def test_a_failing_server_is_followed_by_the_very_work_of_the_shells_arm() -> None:
    alone = look(WHERE, (SHELL_SPEC,), fails)
    beside = look(WHERE, (SHELL_SPEC, SEARCH), fails)
    assert sorted(beside.commands()) == sorted(alone.commands())


def test_both_arms_look_into_the_tests() -> None:
    prompt = "Which tests are there of `App.dispatch`?"
    alone = look(prompt, (SHELL_SPEC,), fails)
    beside = look(prompt, (SHELL_SPEC, SEARCH), found)
    assert alone.commands("*test*") == beside.commands("*test*")
    assert len(alone.commands("*test*")) == 2


def test_a_schema_that_is_true_is_no_argument_to_look_into() -> None:
    odd = tool("t", "d", ("symbol", "other"), symbol=TEXT, other=True)  # type: ignore[arg-type]
    assert first_fill(odd, None) == {"symbol": "f", "other": "f"}


# --- what it costs --------------------------------------------------------------------------


def new_tokens(turns: tuple[Turn, ...]) -> int:
    counted = NewTokens()
    return sum(map(counted.add, turns))


def two_turns(system: str, *tools: ToolSpec) -> tuple[Turn, Turn]:
    """A turn on a prompt, and one on what its calls gave: 400 characters."""

    async def converse() -> tuple[Turn, Turn]:
        model = Offline()
        prompt = UserMessage(text="Who calls `finish_up`?")
        first = await model.turn(system, [prompt], tools, timeout_sec=1)
        given = ToolMessage(
            results=(Result(call_id=first.calls[0].id, text="x" * 400, is_error=False),)
        )
        conversation: list[Message] = [prompt, first, given]
        return first, await model.turn(system, conversation, tools, timeout_sec=1)

    return asyncio.run(converse())


def test_schemas_and_instructions_are_new_once_and_then_as_cached_as_what_was_said() -> None:
    small = tool("find", "Find a symbol.", ("symbol",), symbol=TEXT)
    large = tool("find", "Find a symbol. " + "x" * 40_000, ("symbol",), symbol=TEXT)
    lean, heavy = two_turns("be brief", small), two_turns("be brief", large)
    told = two_turns("be brief" + "y" * 4_000, small)
    for other, tokens in ((heavy, 10_000), (told, 1_000)):
        # Of each turn a character or two more may round to a token.
        assert new_tokens(other) - new_tokens(lean) == pytest.approx(tokens, abs=2)
        assert other[0].input_tokens - lean[0].input_tokens == tokens
        assert other[1].cache_read_tokens - lean[1].cache_read_tokens == tokens
    assert all(turn.estimated for turn in lean)


def test_a_tool_that_answered_with_an_error_is_asked_otherwise_and_then_left() -> None:
    integer: dict[str, Any] = {"type": "integer"}
    found = tool("find_it", "Find.", ("symbol", "file_path"), symbol=TEXT, file_path=TEXT)
    place = Finding(path="src/a.py", line=4, text="def f")
    ways = []
    for way in range(6):
        lookup = server_lookup(
            uses_of([found]), "search", "f", place, Learned(ways={"find_it": way})
        )
        ways.append(None if lookup is None else lookup.arguments["file_path"])
    assert ways[:2] == ["src/a.py", "/workspace/src/a.py"]
    assert ways[-1] is None
    grows = uses_of([tool("grow", "", ("depth",), depth=integer)])
    assert server_lookup(grows, "search", "f", None) is None


def test_the_language_of_the_code_seen_so_far_fills_an_argument_that_asks_for_it() -> None:
    found = tool("find_usage", "Find.", ("symbol",), symbol=TEXT, language=TEXT)
    learned = Learned(ways={"find_usage": 1}, language="go")
    lookup = server_lookup(uses_of([found]), "references", "f", None, learned)
    assert lookup is not None
    assert lookup.arguments == {"symbol": "f", "language": "go"}


def test_a_server_that_only_reads_files_is_asked_to() -> None:
    place = Finding(path="src/a.py", line=4, text="def f")
    reader = tool("get_text_contents", "", ("file_path",), file_path=TEXT)
    writer = tool("write_contents", "", ("file_path",), file_path=TEXT)
    lookup = server_read(uses_of([writer, reader]), "f", place)
    assert lookup is not None
    assert (lookup.tool, lookup.arguments) == ("get_text_contents", {"file_path": "src/a.py"})


def test_a_handle_that_an_earlier_call_would_give_is_not_made_up() -> None:
    handle = tool("grep_output", "", ("outputId", "pattern"), outputId=TEXT, pattern=TEXT)
    assert server_lookup(uses_of([handle]), "search", "f", None) is None
