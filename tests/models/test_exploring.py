"""A server none of whose tools finds names is used as somebody would who sees it first."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from runner.agents.models.offline.findings import Finding, lines_of_file
from runner.agents.models.offline.lookups import Lookup
from runner.agents.models.offline.search import CALLS_PER_TURN, EXPLORED
from runner.agents.models.offline.server_side import PATIENCE, ServerSide
from runner.agents.models.offline.uses import uses_of
from runner.agents.tools import SHELL_SPEC
from runner.protocols import Call, Result, ToolSpec
from tests.models.navigating import TEXT, Looked, fails, found, look, look_on, says, tool

WHERE = "Trace `App.dispatch`."
REPO = {"repo_path": TEXT}


def answering(**answers: str) -> Callable[[Call], Result]:
    """What each tool answers; of any other it is an error."""
    return lambda call: says(
        call, answers.get(call.tool, "there is no such thing"), is_error=call.tool not in answers
    )


def reads(spec: ToolSpec) -> ToolSpec:
    return replace(spec, read_only=True)


def test_a_tool_that_wants_a_file_beside_the_name_is_asked_once_the_shell_has_shown_one() -> None:
    schema = {"properties": {"name": TEXT, "file_path": TEXT}, "required": ["name", "file_path"]}
    says_of_itself = "Find all usages/references of a symbol (identifier) in a source file."
    usage = replace(tool("treesitter_find_usage", says_of_itself), input_schema=schema)
    looked = look(WHERE, (SHELL_SPEC, usage), found)
    assert looked.of("treesitter_find_usage")[0] == {"name": "dispatch", "file_path": "app.py"}
    # It comes on top: none of the shell's work is left out for it.
    assert looked.commands() == look(WHERE, (SHELL_SPEC,), fails).commands()


# --- the repository as a whole ------------------------------------------------------------------

LOG = tool("git_log", "Shows the commit logs", ("repo_path",), **REPO)
STATUS = tool("git_status", "Shows the working tree status", ("repo_path",), **REPO)
ADD = tool("git_add", "Adds files", ("repo_path", "files"), **REPO, files=TEXT)
FETCH = tool("list_remote", "Lists what is at an address", ("repo_path",), **REPO)


def test_what_lists_it_and_tells_its_state_is_called_and_nothing_that_changes_it() -> None:
    looked = look(WHERE, (SHELL_SPEC, ADD, FETCH, LOG, STATUS), found)
    assert looked.of("git_log") == looked.of("git_status") == [{"repo_path": "/workspace"}]
    assert set(looked.on_server) == {"git_log", "git_status"}


def test_what_reads_the_project_as_a_whole_is_called_and_what_reads_a_file_is_not_yet() -> None:
    whole = tool("read_context", "Reads a project", ("project_root",), project_root=TEXT)
    file = tool("read_note", "Reads a note", ("path",), path=TEXT)
    looked = look(WHERE, (SHELL_SPEC, whole, file), found)
    assert looked.of("read_context") == [{"project_root": "/workspace"}]
    assert "read_note" not in looked.on_server[:1]


def test_where_some_tools_say_that_they_only_read_the_others_are_left() -> None:
    looked = look(WHERE, (SHELL_SPEC, reads(LOG), STATUS), found)
    assert set(looked.on_server) == {"git_log"}


def test_a_step_makes_few_such_calls_and_the_next_one_others() -> None:
    many = [tool(f"list_{kind}", "", ("root",), root=TEXT) for kind in "abcdefgh"]
    first, second = look_on([WHERE, WHERE], (SHELL_SPEC, *many), found)
    assert len(first.on_server) == len(second.on_server) == EXPLORED
    assert not set(first.on_server) & set(second.on_server)


def test_they_are_made_in_the_first_turns_and_none_of_the_shells_work_is_left_out() -> None:
    alone = look(WHERE, (SHELL_SPEC,), fails)
    beside = look(WHERE, (SHELL_SPEC, LOG, STATUS), fails)
    assert beside.calls[0].tool != "shell"
    assert beside.commands() == alone.commands()


def test_a_server_that_finds_names_is_asked_for_them_and_not_explored() -> None:
    find = tool("find_symbol", "Find a symbol.", ("symbol",), symbol=TEXT)
    assert set(look(WHERE, (SHELL_SPEC, LOG, find), found).on_server) == {"find_symbol"}


@pytest.mark.parametrize("refusal", ["Error: not absolute", '{"error": "not absolute"}'])
def test_an_error_that_is_not_marked_as_one_is_mended_by_other_arguments(refusal: str) -> None:
    def server(call: Call) -> Result:
        return says(call, "a.py" if call.arguments["root"] == "." else refusal)

    looked = look(WHERE, (SHELL_SPEC, tool("list_files", "", ("root",), root=TEXT)), server)
    assert looked.of("list_files") == [{"root": "/workspace"}, {"root": "."}]


# --- what one call gives another ----------------------------------------------------------------

PACK = reads(tool("pack_code", "Pack a directory.", ("directory",), directory=TEXT))
ATTACH = reads(tool("attach_output", "Attach a packed directory.", ("directory",), directory=TEXT))
GREP = reads(tool("grep_output", "", ("outputId", "pattern"), outputId=TEXT, pattern=TEXT))


def test_an_id_that_packing_gives_is_searched_with_and_in_the_next_step_too() -> None:
    shown = json.dumps({"outputId": "14c7288dea5dbf58"})
    server = answering(pack_code=shown, grep_output="app.py:2:    def dispatch(self):")
    steps = look_on([WHERE, WHERE], (SHELL_SPEC, ATTACH, PACK, GREP), server)
    assert [len(step.of("pack_code")) for step in steps] == [1, 0]
    assert not any(step.of("attach_output") for step in steps)
    asked = {"outputId": "14c7288dea5dbf58", "pattern": "dispatch"}
    assert all(asked in step.of("grep_output") for step in steps)


def test_without_an_id_nothing_is_searched_with_one_made_up() -> None:
    looked = look(WHERE, (SHELL_SPEC, PACK, GREP), answering(pack_code="It is packed."))
    assert looked.on_server == ["pack_code"]


def test_an_error_gives_no_id() -> None:
    def server(call: Call) -> Result:
        return says(call, '{"error": "busy", "outputId": "none-yet"}', is_error=True)

    looked = look(WHERE, (SHELL_SPEC, PACK, GREP), server)
    assert set(looked.on_server) == {"pack_code"}


# --- files ----------------------------------------------------------------------------------------

CONVERT = tool("convert_to_text", "Convert a resource at a file: URI.", ("uri",), uri=TEXT)
FILE = """\
class App:
    def dispatch(self):
        return self.finish_up(1)

again = App.dispatch
"""


def test_what_takes_a_file_reads_it_and_its_lines_are_cited_with_their_numbers() -> None:
    looked = look(WHERE, (SHELL_SPEC, CONVERT), answering(convert_to_text=FILE))
    assert looked.of("convert_to_text") == [{"uri": "file:///workspace/app.py"}]
    assert "`app.py:5` has `again = App.dispatch`" in looked.answer


def test_a_text_that_is_not_the_file_is_cited_nowhere() -> None:
    other = "def made_up():\n    return App.dispatch\n"
    looked = look(WHERE, (SHELL_SPEC, CONVERT), answering(convert_to_text=other))
    assert looked.of("convert_to_text")
    assert "made_up" not in looked.answer
    assert "return App.dispatch" not in looked.answer


def test_an_error_that_shows_the_file_is_cited_nowhere() -> None:
    looked = look(WHERE, (SHELL_SPEC, CONVERT), lambda call: says(call, FILE, is_error=True))
    assert "again" not in looked.answer


def finding(line: int, text: str) -> Finding:
    return Finding(path="a.py", line=line, text=text)


SEEN = [finding(11, "def first_one():"), finding(12, "    return second_one")]


@pytest.mark.parametrize(
    "shown",
    [
        "def first_one():\n    return second_one\nx",
        "   1\tdef first_one():\n   2\t    return second_one\n   3\tx",
        json.dumps({"content": "def first_one():\n    return second_one\nx"}),
    ],
)
def test_a_piece_of_a_file_is_numbered_by_lines_seen_elsewhere(shown: str) -> None:
    assert lines_of_file(shown, "a.py", SEEN)[-1] == finding(13, "x")


@pytest.mark.parametrize(
    "shown",
    [
        "def first_one():\nx",
        "    return second_one\ndef first_one():\nx",
        "other\ntext",
    ],
)
def test_lines_that_agree_too_little_number_nothing(shown: str) -> None:
    assert lines_of_file(shown, "a.py", SEEN) == []


# --- tools that do several things ---------------------------------------------------------------

ACTIONS = {"type": "string", "enum": ["delete_file", "list_files", "find_symbol", "references"]}
FACADE = tool("code", "Works on code.", ("action",), action=ACTIONS, symbol=TEXT, path=TEXT)


def called(looked: Looked) -> set[Any]:
    return {arguments["action"] for arguments in looked.of("code")}


def test_a_tool_that_is_told_what_to_do_finds_names_and_deletes_nothing() -> None:
    looked = look(WHERE, (SHELL_SPEC, FACADE), found)
    assert called(looked) == {"find_symbol", "references"}
    assert {"action": "find_symbol", "symbol": "dispatch"} in looked.of("code")


def test_what_it_may_be_told_may_stand_in_its_description_alone() -> None:
    action = {**TEXT, "description": "One of 'find_symbol', 'delete_file'"}
    facade = tool("code", "", ("action",), action=action, symbol=TEXT)
    assert called(look(WHERE, (SHELL_SPEC, facade), found)) == {"find_symbol"}


def test_a_tool_that_is_told_what_to_do_and_finds_no_names_lists() -> None:
    action = {"type": "string", "enum": ["delete_all", "list_files", "write_file"]}
    facade = tool("code", "", ("action", "path"), action=action, path=TEXT)
    assert called(look(WHERE, (SHELL_SPEC, facade), found)) == {"list_files"}


def test_a_mode_that_says_nothing_of_names_or_files_makes_no_tools_of_one() -> None:
    mode = {"type": "string", "enum": ["fast", "slow"]}
    facade = tool("search", "", ("query", "mode"), query=TEXT, mode=mode)
    assert look(WHERE, (SHELL_SPEC, facade), found).of("search")[0]["mode"] == "fast"


# --- what is of no use --------------------------------------------------------------------------


def test_a_tool_that_never_shows_a_place_is_left_and_others_are_tried() -> None:
    search = tool("search_all", "Search for a pattern.", ("pattern",), pattern=TEXT)
    prompts = [f"Where is `name_{number}`?" for number in range(PATIENCE + 2)]
    server = answering(search_all="No matches found", git_log="commit 1")
    steps = look_on(prompts, (SHELL_SPEC, search, LOG), server)
    assert sum(len(step.of("search_all")) for step in steps) == PATIENCE
    assert [len(step.of("git_log")) for step in steps] == [0] * (PATIENCE - 1) + [1, 0, 0]


# --- reading errors -------------------------------------------------------------------------------


def test_an_argument_that_an_error_asks_for_is_given_as_soon_as_it_is_known() -> None:
    usage = tool("find_usage", "", ("symbol",), symbol=TEXT, file_path=TEXT, language=TEXT)

    def server(call: Call) -> Result:
        if "language" in call.arguments:
            return found(call)
        return says(call, "Either language or file_path must be provided", is_error=True)

    first, second = look_on(
        ["Trace `App.dispatch`.", "Who calls `finish_up`?"], (SHELL_SPEC, usage), server
    )
    assert {frozenset(call) for call in first.of("find_usage")} >= {frozenset({"symbol"})}
    assert second.of("find_usage")
    assert all(call["language"] == "python" for call in second.of("find_usage"))


SIGNATURE = tool("get_symbol_signature", "", ("symbol_name",), symbol_name=TEXT, path=TEXT)


def test_an_error_about_the_name_leaves_the_arguments_as_they_are() -> None:
    def server(call: Call) -> Result:
        name = call.arguments["symbol_name"]
        if name == "dispatch" and "path" not in call.arguments:
            return found(call)
        return says(call, f"Symbol '{name}' not found under /workspace.", is_error=True)

    looked = look("Trace `response`, `exception` and `dispatch`.", (SHELL_SPEC, SIGNATURE), server)
    asked = looked.of("get_symbol_signature")
    assert asked == [{"symbol_name": name} for name in ("response", "exception", "dispatch")]


def test_a_name_that_an_error_proposes_is_asked_for_once() -> None:
    def server(call: Call) -> Result:
        name = call.arguments["symbol_name"]
        if name == "app.App.dispatch":
            return found(call)
        return says(call, f"'{name}' is ambiguous; use app.App.{name}, b.{name}", is_error=True)

    looked = look("Trace `dispatch`.", (SHELL_SPEC, SIGNATURE), server)
    asked = [call["symbol_name"] for call in looked.of("get_symbol_signature")]
    assert asked[0] == "dispatch"
    assert asked.count("app.App.dispatch") == 1


def test_after_many_names_that_it_does_not_know_it_is_asked_otherwise() -> None:
    def server(call: Call) -> Result:
        name, path = call.arguments["symbol_name"], call.arguments.get("path")
        return found(call) if path else says(call, f"no symbol {name}", is_error=True)

    prompts = [f"Where is `name_{number}`?" for number in range(PATIENCE + 1)]
    steps = look_on(prompts, (SHELL_SPEC, SIGNATURE), server)
    assert "path" not in steps[0].of("get_symbol_signature")[0]
    assert "path" in steps[-1].of("get_symbol_signature")[0]


def test_calls_that_wait_take_what_the_first_ones_error_has_taught() -> None:
    text = tool("find_text", "", ("project", "pattern"), project=TEXT, pattern=TEXT)

    def server(call: Call) -> Result:
        return says(call, "[]", is_error=call.arguments["project"] != "/workspace")

    prompt = "Trace `one_a`, `two_b`, `three_c`, `four_d` and `five_e`."
    projects = [
        call["project"] for call in look(prompt, (SHELL_SPEC, text), server).of("find_text")
    ]
    assert projects == ["workspace"] * CALLS_PER_TURN + ["/workspace"] * 5


def test_what_one_tool_answers_to_as_the_project_the_others_are_asked_with() -> None:
    find = tool("find_text", "", ("project", "pattern"), project=TEXT, pattern=TEXT)
    usage = tool("find_usage", "", ("project", "symbol"), project=TEXT, symbol=TEXT)
    side = ServerSide(uses=uses_of([find, usage]))
    given = {"project": "/workspace", "pattern": "f"}
    asked = Lookup(tool="find_text", arguments=given, kind="find", name="f", use="find_text")
    for is_error, project in ((True, "workspace"), (False, "/workspace")):
        side.take_in(asked, Result(call_id="c", text="a.py:1:f", is_error=is_error), [])
        lookup = side.references("f", None)
        assert lookup is not None
        assert lookup.arguments == {"project": project, "symbol": "f"}
    # One that has answered is asked as it was.
    assert lookup is not None
    side.take_in(lookup, Result(call_id="d", text="a.py:1:f", is_error=False), [])
    assert side.references("f", None) == lookup


def registered(*names: str) -> Callable[[Call], Result]:
    """A server that knows the repository by a name of its own, and lists that."""

    def answers(call: Call) -> Result:
        if call.tool == "list_repos":
            return says(call, json.dumps({"repos": [{"repo": name} for name in names]}))
        known = call.arguments.get("repo") in names
        return says(call, "app.py:1:class App:" if known else "no such owner", is_error=not known)

    return answers


FIND_IN_REPO = tool("find_text", "", ("repo", "pattern"), repo=TEXT, pattern=TEXT)
REPOS = tool("list_repos", "Lists the indexed repositories")


def test_what_a_server_calls_the_repository_is_asked_of_its_list_once_names_are_refused() -> None:
    looked = look(WHERE, (SHELL_SPEC, FIND_IN_REPO, REPOS), registered("local/app"))
    asked = [call["repo"] for call in looked.of("find_text")]
    assert looked.on_server.count("list_repos") == 1
    assert asked[0] == "/workspace"
    assert asked[-1] == "local/app"


def test_a_list_of_several_repositories_is_not_guessed_from_nor_is_one_asked_for_that_works() -> (
    None
):
    several = look(WHERE, (SHELL_SPEC, FIND_IN_REPO, REPOS), registered("local/a", "local/b"))
    assert not {call["repo"] for call in several.of("find_text")} & {"local/a", "local/b"}
    works = look(WHERE, (SHELL_SPEC, FIND_IN_REPO, REPOS), registered("/workspace"))
    assert "list_repos" not in works.on_server


def test_a_tool_that_reads_files_is_not_explored_with_a_folder() -> None:
    read = tool("read_text", "", ("path",), path=TEXT)
    looked = look("Where is `nowhere_at_all`?", (SHELL_SPEC, read, LOG), found)
    assert set(looked.on_server) == {"git_log"}


# --- what is asked of which tool ------------------------------------------------------------------

BY_NAME = [
    "Recursively search for files and directories matching a pattern.",
    "Find files by glob pattern.",
    "Fast file name search over the index.",
]


@pytest.mark.parametrize("said", BY_NAME)
def test_a_search_among_file_names_is_not_asked_for_what_stands_in_the_files(said: str) -> None:
    names = tool("search_files", said, ("pattern",), pattern=TEXT)
    text = tool("search_text", "Search the text of files.", ("query",), query=TEXT)
    looked = look(WHERE, (SHELL_SPEC, names, text), found)
    assert not looked.of("search_files")
    assert looked.of("search_text")


def test_a_tool_of_files_that_looks_into_them_is_asked() -> None:
    grep = tool("search_files", "Search for files whose content matches.", ("regex",), regex=TEXT)
    assert look(WHERE, (SHELL_SPEC, grep), found).of("search_files")


def test_a_search_that_may_look_at_names_or_contents_is_told_to_look_at_contents() -> None:
    kind = {"type": "string", "enum": ["files", "content"], "default": "files"}
    said = "Find files by name, or search in files for text."
    either = tool("start_search", said, ("pattern",), pattern=TEXT, searchType=kind)
    given = look(WHERE, (SHELL_SPEC, either), found).of("start_search")
    assert given and all(arguments["searchType"] == "content" for arguments in given)


def test_words_of_the_prompt_are_looked_for_as_text_and_never_as_symbols() -> None:
    symbols = tool("find_symbol", "Find a symbol.", ("symbol",), symbol=TEXT)
    references = tool("find_references", "Who uses a symbol.", ("symbol",), symbol=TEXT)
    text = tool("search_text", "Search the text of files.", ("query",), query=TEXT)
    tools = (SHELL_SPEC, symbols, references, text)
    looked = look("Why would caching go wrong where anything is different?", tools, found)
    assert not [call for call in looked.on_server if call != "search_text"]
    asked = {arguments["query"] for arguments in looked.of("search_text")}
    assert "caching" in asked and not asked & {"anything", "different"}
    assert look(WHERE, tools, found).of("find_symbol")
