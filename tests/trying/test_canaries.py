"""A health probe is taken if only the repository could have given it: every cheat loses."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from runner.authoring.onboarding.canaries import CanarySearch, FoundCanary, find_canary
from runner.authoring.onboarding.evidence import CanaryEvidence, evidence_in
from runner.authoring.onboarding.targets import TargetSymbol
from tests.local_server import SCRIPTED, local_server

SYMBOL = TargetSymbol(
    name="dispatch_all",
    path="src/app.py",
    line=40,
    text="def dispatch_all(self, request):",
    below=("return self.finish_up(request, 1)",),
    beside=("finish_quietly",),
)
PROSE = ("docs/quickstart.rst", "docs/templating.rst", "docs/patternsandmore.rst")
PATHS = ("src/app.py", "src/acme/parts/router.py", "src/acme/parts/index.ts", *PROSE)


# --- evidence -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("src/app.py:40: def dispatch_all(self, request):", 1),
        ('{"name": "dispatch_all", "start_line": 39}', 0),
        ("40: def dispatch_all(self, request):", 1),
        ("dispatch_all\nFile: src/app.py\nLine: 40", 1),
    ],
)
def test_the_symbols_line_shows_the_repository_and_from_where_lines_are_counted(
    text: str, base: int
) -> None:
    found = evidence_in(text, {"symbol": "dispatch_all"}, SYMBOL)
    assert found is not None
    assert (found.kind, found.line_base) == ("line", base)
    assert found.contains in text


def test_a_file_that_every_project_has_shows_nothing() -> None:
    note = replace(SYMBOL, name="quickstart", path="README.md", text="A quickstart is there.")
    settings = '{"patterns": ["quickstart", "README.md", "*.lock"]}'
    assert evidence_in(settings, {"query": "quickstart"}, note) is None
    deeper = replace(note, path="docs/index.md")
    assert evidence_in("see docs/index.md", {"query": "quickstart"}, deeper) is not None


@pytest.mark.parametrize(
    "arguments",
    [
        {"symbol": "dispatch_all"},
        {"path": "src/app.py", "query": "def dispatch_all(self, request):"},
    ],
)
def test_a_request_that_is_said_again_shows_nothing(arguments: dict[str, Any]) -> None:
    echo = f"You asked for {arguments}. No results were found."
    assert evidence_in(echo, arguments, SYMBOL, PATHS) is None


@pytest.mark.parametrize("said", [39, 40, 41])
def test_a_line_that_was_asked_for_shows_nothing_nor_do_its_neighbours(said: int) -> None:
    arguments = {"file": "src/app.py", "line": said}
    assert evidence_in('{"line": 40, "file": "src/app.py"}', arguments, SYMBOL) is None


def test_a_linter_that_finds_the_word_it_was_given_on_line_1_shows_nothing() -> None:
    note = replace(SYMBOL, name="githubusercontent", path="docs/icons.rst", line=1)
    said = '{"line": 1, "message": "undefined name githubusercontent"}'
    assert evidence_in(said, {"code": "githubusercontent"}, note) is None
    placed = said.replace("undefined", "icons.rst")
    found = evidence_in(placed, {"query": "githubusercontent"}, note)
    assert found is not None
    assert found.kind == "line"


def test_a_line_inside_of_json_in_json_shows_the_repository_too() -> None:
    symbol = replace(SYMBOL, line=4, text="class Gone extends \\RuntimeException")
    inner = json.dumps([{"file": symbol.path, "line": symbol.text, "line_num": 4}])
    text = json.dumps({"content": [{"type": "text", "text": inner}]})
    found = evidence_in(text, {"pattern": symbol.name, "paths": symbol.path}, symbol)
    assert found is not None
    assert (found.kind, found.line_base) == ("line", 1)
    assert found.contains in text


def test_two_bases_in_one_answer_measure_neither() -> None:
    text = 'src/app.py:40 dispatch_all {"line": 39}'
    assert evidence_in(text, {}, SYMBOL) is None or evidence_in(text, {}, SYMBOL).kind != "line"  # type: ignore[union-attr]


def test_a_number_without_the_file_the_name_or_the_code_is_luck() -> None:
    assert evidence_in('{"line": 40}', {"query": "x"}, SYMBOL) is None


def test_a_body_and_a_listing_of_files_show_the_repository_and_no_line() -> None:
    body = "    return self.finish_up(request, 1)\n"
    assert evidence_in(body, {"path": "src/app.py"}, SYMBOL) == CanaryEvidence(
        contains="return self.finish_up(request, 1)", kind="code"
    )
    listed = evidence_in("\n".join(PROSE), {"path": "."}, SYMBOL, PATHS)
    assert listed == CanaryEvidence(contains="patternsandmore.rst", kind="listing")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("finish_quietly: complexity 3", CanaryEvidence(contains="finish_quietly", kind="name")),
        (
            "/workspace/src/acme/parts/router.py:12: TODO",
            CanaryEvidence(contains="src/acme/parts/router.py", kind="path"),
        ),
        ("dispatch_all: complexity 3", None),
        ("src/acme/parts/index.ts: TODO", None),
    ],
)
def test_a_name_beside_and_another_files_path_show_the_repository(
    text: str, found: CanaryEvidence | None
) -> None:
    asked = {"path": "src/app.py"}
    assert evidence_in(text, asked, SYMBOL, PATHS) == found
    assert evidence_in(text, asked, SYMBOL, PATHS, requests=text) is None


def test_names_that_any_project_has_show_nothing_however_many_are_listed() -> None:
    usual = ("pyproject.toml", "package-lock.json", ".pre-commit-config.yaml", "CONTRIBUTING.md")
    said = "Looks for " + ", ".join(usual)
    assert evidence_in(said, {"path": "."}, SYMBOL, [*PATHS, *usual]) is None


# --- the search ---------------------------------------------------------------------------------

ANSWERING = """
calls = globals().get("calls", 0) + 1
def answer(name, asked):
{body}
said = answer(name, asked["params"]["arguments"])
shown = {{"type": "text", "text": str(said)}}
result({{"content": [shown], "isError": isinstance(said, Exception)}})
"""
FIND = {
    "name": "find_symbol",
    "description": "Find a symbol.",
    "inputSchema": {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    },
}
LINE = "src/app.py:40: def dispatch_all(self, request):"


def search_in(body: str, *tools: dict[str, Any]) -> tuple[FoundCanary | None, CanarySearch]:
    """What is found on a real process whose `answer` has this body."""
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    listed = list(tools) or [FIND]
    script = {
        "tools/list": f"result({{'tools': {listed!r}}})",
        "tools/call": ANSWERING.format(body=indented),
    }
    search = CanarySearch()

    async def found() -> FoundCanary | None:
        async with local_server("-c", SCRIPTED, json.dumps(script)) as session:
            return await find_canary(session, [SYMBOL], PATHS, search)

    return asyncio.run(found()), search


def test_a_server_that_shows_the_line_three_times_has_a_canary() -> None:
    found, search = search_in(f"return {LINE!r}")
    assert found is not None
    assert found.call.arguments == {"name": "dispatch_all"}
    canary = found.as_canary("git:x")
    assert (canary.contains, canary.line) == ("app.py:40", 40)
    assert search.calls == 3


PLACES = {key: {"type": "string"} for key in ("symbol", "file", "path")}
WANTING = [
    {
        "name": f"find_symbol_{number}",
        "description": "Find a symbol.",
        "inputSchema": {"type": "object", "properties": PLACES, "required": [*PLACES]},
    }
    for number in range(25)
]


def test_tools_that_only_give_errors_do_not_keep_the_others_from_their_turn() -> None:
    summary = {**FIND, "name": "summary", "description": "Of a symbol."}
    body = f"return {LINE!r} if name == 'summary' else OSError('not indexed')"
    found, search = search_in(body, *WANTING, summary)
    assert found is not None
    assert found.call.tool == "summary"
    assert search.errors == 3 * len(WANTING)


def test_a_tool_has_its_other_turn_when_the_others_had_theirs() -> None:
    body = f"return {LINE!r} if calls > 4 else OSError('busy')"
    found, _ = search_in(body, *WANTING[:1])
    assert found is not None


LOG = {
    "name": "get_logs",
    "description": "What was asked so far.",
    "inputSchema": {"type": "object", "properties": {}},
}
READ = {
    "name": "definition_in_file",
    "description": "Find a symbol's definition in a file.",
    "inputSchema": {
        "type": "object",
        "properties": {"file": {"type": "string"}},
        "required": ["file"],
    },
}


def test_a_log_of_what_was_asked_and_answered_shows_nothing() -> None:
    """In a fresh session it is empty, and no cell would ever be ready."""
    body = "heard = globals().setdefault('HEARD', [])\nheard.append(str(asked))\nreturn heard"
    found, search = search_in(body, READ, LOG)
    assert found is None
    assert "{}" in search.requests and any("src/app.py" in asked for asked in search.requests)


def test_a_tool_that_takes_nothing_and_shows_the_code_has_a_canary() -> None:
    found, _ = search_in(f"return {LINE!r}", LOG)
    assert found is not None
    assert (found.call.arguments, found.evidence.kind) == ({}, "line")


def test_two_passes_of_three_are_no_canary() -> None:
    found, _ = search_in(f"return {LINE!r} if calls % 3 else 'nothing yet'")
    assert found is None


def test_an_echo_is_no_canary_however_often_it_is_asked() -> None:
    found, search = search_in("return f'{name} {asked}: no results'")
    assert found is None
    assert search.calls > 0


def test_a_tool_that_writes_is_never_called() -> None:
    writer = {**FIND, "name": "rename_symbol", "annotations": {"readOnlyHint": False}}
    by_name = {**FIND, "name": "delete_symbol"}
    found, search = search_in(f"return {LINE!r}", writer, by_name)
    assert (found, search.calls) == (None, 0)


@pytest.mark.parametrize("name", ["knip-run", "run_pylint", "runComplexity", "run_analysis"])
def test_a_tool_that_runs_a_check_is_asked(name: str) -> None:
    found, _ = search_in(f"return {LINE!r}", {**FIND, "name": name})
    assert found is not None


@pytest.mark.parametrize("name", ["run_command", "run_tests", "run", "run_and_delete_report"])
def test_a_tool_that_runs_anything_else_is_not(name: str) -> None:
    found, search = search_in(f"return {LINE!r}", {**FIND, "name": name})
    assert (found, search.calls) == (None, 0)


def test_a_tool_that_wants_a_handle_is_not_called_with_one_that_was_made_up() -> None:
    handle = {"type": "object", "properties": {"session_id": {"type": "string"}}}
    facade = {**FIND, "inputSchema": {**handle, "required": ["session_id"]}}
    found, search = search_in(f"return {LINE!r}", facade)
    assert (found, search.calls) == (None, 0)


def test_a_line_is_preferred_to_a_body_that_another_tool_shows_first() -> None:
    body = {**FIND, "name": "get_symbol_body"}
    code = "    return self.finish_up(request, 1)"
    text = f"return {LINE!r} if name == 'search' else {code!r}"
    found, _ = search_in(text, body, {**FIND, "name": "search"})
    assert found is not None
    assert found.call.tool == "search"
