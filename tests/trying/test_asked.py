"""What a person names, and what a package's own words say of how it is started."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import mcp_types
import pytest

from runner.agents.models.offline.uses import uses_of
from runner.authoring.onboarding.canaries import CanarySearch, FoundCanary
from runner.authoring.onboarding.command_words import folders_called_after, variables_in
from runner.authoring.onboarding.definition_files import definition_text
from runner.authoring.onboarding.evidence import CanaryEvidence
from runner.authoring.onboarding.installed import InstalledPackage, SeveralEntries, choose_entry
from runner.authoring.onboarding.installs import own_folders
from runner.authoring.onboarding.launches import (
    SHOWN,
    Launch,
    launches,
    launches_in_help,
    secrets_in,
)
from runner.authoring.onboarding.local_server import copied_command, copied_folder
from runner.authoring.onboarding.server_source import (
    Command,
    LocalPath,
    NpmPackage,
    PypiPackage,
    read_asked,
    slug_of,
)
from runner.authoring.onboarding.server_stderr import own_words
from runner.authoring.onboarding.start_attempt import StartAttempt
from runner.authoring.onboarding.starting import About, _project_of
from runner.authoring.onboarding.targets import TargetSymbol
from runner.authoring.onboarding.telling import calls_spelled, for_setup, named_by
from runner.authoring.onboarding.tool_roles import for_looking, said_of_all, writers, writes
from runner.protocols import ToolSpec
from runner.records import Canary, McpCall, ServerSpec, WarmUp, parse_yaml
from runner.servers.example_arguments import Target, arguments_for
from runner.support.errors import FairtrialError

# --- names --------------------------------------------------------------------------------------


def test_packages_folders_and_commands_are_told_apart(tmp_path: Path) -> None:
    assert read_asked("npm:@acme/tool@1.2.0", ()) == NpmPackage(name="@acme/tool", version="1.2.0")
    assert read_asked("npm:tool", ()) == NpmPackage(name="tool", version="")
    found = read_asked("pypi:Some.Tool[cli]==2.0", ())
    assert found == PypiPackage(name="Some.Tool", version="2.0", extras="cli")
    assert found.requirement == "Some.Tool[cli]==2.0"
    assert read_asked(str(tmp_path), ()) == LocalPath(path=tmp_path)
    assert read_asked("", ("node", "x.js")) == Command(words=("node", "x.js"))


@pytest.mark.parametrize("text", ["npm:--help", "pypi:a b", "nothing-here", "docker:a@sha256:0"])
def test_what_names_nothing_is_refused_with_what_can_be_named(text: str) -> None:
    with pytest.raises(FairtrialError) as caught:
        read_asked(text, ())
    assert "npm:NAME" in caught.value.hint


def test_a_try_about_something_else_has_a_project_of_its_own(tmp_path: Path) -> None:
    about = [
        About(),
        About(scenarios=("small",)),
        About(repo=str(tmp_path)),
        About(repo=str(tmp_path), commit="v1"),
        About(repo=str(tmp_path), dirty=True),
        About(repo=f"file://{tmp_path}"),
    ]
    assert len({_project_of(tmp_path, one) for one in about}) == len(about)
    assert _project_of(tmp_path, about[2]) == _project_of(tmp_path, About(repo=f"{tmp_path}/."))


def test_a_short_name_keeps_its_scope_and_none_is_called_shell() -> None:
    assert slug_of(NpmPackage(name="@acme/mcp", version="")) == "acme-mcp"
    assert slug_of(NpmPackage(name="@acme/code-tool", version="")) == "code-tool"
    assert slug_of(NpmPackage(name="shell", version="")) == "shell-server"


# --- entry points -------------------------------------------------------------------------------


def installed(name: str, *entries: str) -> InstalledPackage:
    return InstalledPackage(name=name, version="1", entries={entry: (entry,) for entry in entries})


@pytest.mark.parametrize(
    ("name", "entries", "chosen"),
    [
        ("tool", ("other",), "other"),
        ("tool", ("tool", "tool-admin"), "tool"),
        ("analyzer", ("analyzer", "analyzer-mcp"), "analyzer-mcp"),
        ("packer", ("packer", "packer-server"), "packer-server"),
        ("@acme/server_x", ("server-x", "y"), "server-x"),
        ("z", ("z-mcp", "z-mcp-server"), "z-mcp-server"),
        ("tool", ("tool", "tool-stdio"), "tool-stdio"),
    ],
)
def test_the_entry_point_about_mcp_or_named_like_the_package_is_the_server(
    name: str, entries: tuple[str, ...], chosen: str
) -> None:
    assert choose_entry(installed(name, *entries), "") == chosen


def test_several_that_nobody_can_tell_apart_are_listed_and_end_it_as_a_usage_error() -> None:
    with pytest.raises(SeveralEntries) as caught:
        choose_entry(installed("tool", "run", "serve"), "")
    assert (caught.value.exit_code, caught.value.hint) == (2, "say which with --entry: run, serve")
    assert choose_entry(installed("tool", "run", "serve"), "serve") == "serve"


def test_of_several_entry_points_the_one_that_the_readme_configures_is_the_server() -> None:
    readme = '{"command": "uvx", "args": ["--from", "tool", "serve"]} or `run x`'
    both = replace(installed("tool", "run", "serve"), readme=readme)
    assert choose_entry(both, "") == "serve"
    alias = {"r": ("node", "x.js"), "run-it": ("node", "x.js")}
    assert choose_entry(replace(both, readme="", entries=alias), "") == "r"
    words = replace(both, readme="Let your client start it with `run mcp`; `serve` is its page.")
    assert choose_entry(words, "") == "run"


# --- how it is started --------------------------------------------------------------------------

README = """
{"mcpServers": {"tool": {
    "command": "npx",
    "args": ["-y", "@acme/tool@latest", "--mode=full", "--root=/Users/me/code", "/Users/me/code"],
    "env": {"ACME_API_KEY": "…", "ACME_ROOT": "/Users/me/code", "LEVEL": "info", "DB": "<your-db>"}
}, "other": {"command": "npx", "args": ["-y", "somebody-else", "--flag"]}}}
"""


def test_the_authors_own_configuration_is_a_way_to_start_it_with_our_folder_for_theirs() -> None:
    bare, shown, *_ = launches(README, ["@acme/tool", "tool"])
    assert bare.args == ()
    assert shown.args == ("--mode=full", "--root={workspace}", "{workspace}")
    assert shown.env == {"ACME_ROOT": "{workspace}", "LEVEL": "info"}
    assert not any("--flag" in way.args for way in launches(README, ["@acme/tool", "tool"]))
    assert secrets_in(README) == ["ACME_API_KEY"]


@pytest.mark.parametrize(
    "text",
    [
        '{"type": "stdio", "command": "uvx", "args": ["acme-tool", "--root", "/me/code",]}',
        '{"command": "uvx", "type": "stdio", "args": ["acme-tool", "--root", "/me/code"]}',
        'command = "uvx"\nargs = ["acme-tool", "--root", "/me/code"]',
        '{"command": "npx", "args": ["-y", "acme-tool",\n // yours\n "--root", "/me/code"]}',
        '{"command": "python", "args": ["-m", "acme_tool.server", "--root", "/me/code"]}',
    ],
)
def test_a_configuration_is_read_as_its_author_wrote_it(text: str) -> None:
    assert launches(text, ["acme-tool"])[1].args == ("--root", "{workspace}")


def test_the_usual_ways_follow_and_none_comes_twice() -> None:
    ways = [way.args for way in launches("", ["tool"])]
    assert ways == [
        (),
        ("{workspace}",),
        ("--mcp",),
        ("--stdio",),
        ("--project", "{workspace}"),
        ("--repository", "{workspace}"),
        ("--root", "{workspace}"),
    ]


def test_help_names_options_that_take_a_project_and_commands_that_serve() -> None:
    text = "Commands:\n  serve   start\nOptions:\n  --project-path PATH\n  --log-dir DIR\n"
    assert [way.args for way in launches_in_help(text)] == [
        ("serve",),
        ("--project-path", "{workspace}"),
    ]


def test_commands_that_end_a_server_or_tell_of_it_are_no_way_to_start_it() -> None:
    text = """usage: tool [-h] {stop,status,serve} ...
    stop      Stop the MCP server
    status    Show whether the MCP server runs
    serve     Start the MCP server
"""
    assert [way.args for way in launches_in_help(text)] == [("serve",)]


def attempt(**found: Any) -> StartAttempt:
    return StartAttempt(launch=Launch(why="bare"), **found)


def test_python_code_that_fails_in_a_box_may_be_too_old_as_well() -> None:
    boxed = "│ ❱  85     method: str = typer.Option( │"
    failed = "TypeError: Option() got an unexpected keyword argument 'click_type'"
    found = attempt(problem=failed, said=f"{boxed}\n{failed}")
    assert found.may_be_too_old
    assert not replace(found, said=failed).may_be_too_old


def test_of_several_servers_the_one_that_the_readme_names_first_is_taken_and_of_others_none() -> (
    None
):
    servers = installed("acme", "acme-audit-mcp", "acme-map-mcp")
    assert choose_entry(replace(servers, readme="Run acme-map-mcp or acme-audit-mcp."), "") == (
        "acme-map-mcp"
    )
    with pytest.raises(SeveralEntries):
        choose_entry(servers, "")
    tools = replace(installed("acme", "dump", "load"), readme="Run dump, then load.")
    with pytest.raises(SeveralEntries):
        choose_entry(tools, "")


def test_a_module_that_is_called_as_its_packages_script_is_another_program() -> None:
    spare = {"acme": ("python3", "-m", "acme"), "acme.server": ("python3", "-m", "acme.server")}
    found = replace(installed("acme", "acme"), spare=spare)
    assert list(found.commands) == ["acme", "acme.__main__", "acme.server"]
    assert found.commands["acme"] == ("acme",)
    assert found.commands["acme.__main__"] == ("python3", "-m", "acme")
    assert choose_entry(found, "") == "acme"
    assert choose_entry(found, "acme.__main__") == "acme.__main__"


def test_an_entry_point_that_nothing_awaits_is_given_up_at_once() -> None:
    said = "sys:1: RuntimeWarning: coroutine 'main' was never awaited"
    found = attempt(problem=said)
    assert (found.is_hopeless, found.may_be_too_old) == (True, False)


def test_one_that_was_refused_to_write_wants_a_folder_also_where_it_shows_something() -> None:
    refused = CanarySearch(
        errors_of={"init": "[Errno 30] Read-only file system: '/workspace/.acme'"}
    )
    canary = FoundCanary(
        call=McpCall(tool="find"),
        symbol=TargetSymbol(name="dispatch", path="a.py", line=4, text="def dispatch():", below=()),
        evidence=CanaryEvidence(contains="a.py:4", kind="line"),
        wall_sec=0.1,
    )
    found = attempt(canary=canary, wants_private=(".acme",), search=refused)
    assert own_folders(found) == (".acme",)
    assert own_folders(replace(found, search=CanarySearch())) == ()
    assert own_folders(replace(found, search=CanarySearch(), canary=None)) == (".acme",)


def test_a_command_behind_the_programs_name_is_known_and_prose_is_not() -> None:
    text = """  tool build [dir]   full build
  tool install [agent...]   wire the MCP server into agents
  tool mcp           run as an MCP server (requires `pip install tool[mcp]`)
  the server start of every day
"""
    assert [way.args for way in launches_in_help(text)] == [("mcp",)]
    told = attempt(problem=text.splitlines()[2], said=text)
    assert not told.is_hopeless
    assert replace(told, said="").is_hopeless


def test_a_usage_without_a_command_that_serves_names_no_way_to_start() -> None:
    assert launches_in_help("usage: tool [-h] {index,show}\n") == []
    assert launches_in_help("It takes {serve} as usage: of a word.\n") == []


def test_a_usage_that_names_a_list_of_folders_is_followed() -> None:
    text = "Usage: server --allowed-directories <allowed-directories>\n  --log-paths <paths>"
    (way,) = launches_in_help(text)
    assert way.args == ("--allowed-directories", "{workspace}")


def test_a_flag_and_its_value_in_one_pair_of_quotes_are_two_words() -> None:
    readme = '{"command": "npx", "args": ["-y", "tool@latest", "--roots /your/code"]}'
    ways = [way.args for way in launches(readme, ["tool"])]
    assert ways[1] == ("--roots", "{workspace}")


def test_a_program_that_misses_a_method_of_a_package_below_it_is_broken_and_not_misled() -> None:
    lost = "AttributeError: 'Server' object has no attribute 'list_tools'"
    assert attempt(problem=lost).is_broken
    assert not attempt(problem="set ACME_KEY to a key of yours").is_broken


def test_one_that_says_what_to_install_is_given_that_and_no_other_arguments() -> None:
    assert attempt(problem="the SDK is missing: uv add mcp[cli]").is_hopeless
    usage = "usage: tool FOLDER (for colours, pip install tool[rich])"
    assert not attempt(problem=usage).is_hopeless


def test_one_without_its_native_part_is_known_by_its_words_and_started_in_no_other_way() -> None:
    said = (
        "Error: Could not locate the bindings file. Tried:\n → /opt/server/node_modules/x/b.node\n"
        " → /opt/server/node_modules/x/c.node\n    at bindings (/x.js:1:2) {\n  tries: [\n  ]\n}\n"
    )
    reason = (
        "Error: Could not locate the bindings file. Tried: | → /opt/server/node_modules/x/b.node"
    )
    assert own_words(said) == reason
    found = attempt(problem=own_words(said))
    assert (found.is_hopeless, found.is_broken) == (True, False)


def test_of_a_traceback_only_the_last_words_are_the_servers() -> None:
    python = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    go()\n'
    assert own_words(f"{python}RuntimeError: set ACME_KEY\n") == "RuntimeError: set ACME_KEY"
    head = "node:internal/x:1\nconst made = binding.mkdir(\n             ^\n"
    node = f"{head}Error: no index\n    at f (a.js:1:2)\n"
    assert own_words(f"{node}\nNode.js v22.20.0\n") == "Error: no index"
    cut = 'r/python/anyio/_core/_eventloop.py", line 83, in run\nFileNotFoundError: no docs.yml\n'
    assert own_words(cut) == "FileNotFoundError: no docs.yml"
    assert own_words("") == ""


BOXES = """\x1b[33mUsage: \x1b[0mtool [OPTIONS] COMMAND [ARGS]...

╭─ Error ──────────────────────────────────────────────────────────╮
│ Missing command.                                                 │
╰──────────────────────────────────────────────────────────────────╯
╭─ Commands ───────────────────────────────────────────────────────╮
│ host       Run the shared host over MCP for several clients.     │
│ mcp-setup  Configure MCP for an editor.                          │
│ serve      Start it.                                             │
│ one        One.                                                  │
│ two        Two.                                                  │
│ three      Three.                                                │
╰──────────────────────────────────────────────────────────────────╯
"""


def test_words_in_boxes_and_in_colours_are_read_and_of_a_help_only_what_complains() -> None:
    assert own_words(BOXES) == "Usage: tool [OPTIONS] COMMAND [ARGS]... | Missing command."
    box = BOXES[BOXES.index("╭─ Error") : BOXES.index("╭─ Commands")]
    assert own_words(f"\x1b[31m{box}\x1b[0m") == "Missing command."
    inside = "│ ╭────── locals ──────╮ │\n│ ╰────────────────────╯ │\nNoSuchCommand: no 'x'"
    assert own_words(inside) == "NoSuchCommand: no 'x'"


def test_commands_in_a_box_are_found_those_that_say_they_serve_first() -> None:
    assert [way.args for way in launches_in_help(BOXES)] == [("host",), ("serve",)]


def test_variables_that_hold_a_project_are_known_by_their_names() -> None:
    readme = (
        "| `ACME_SOURCE_DIR` | … |\nACME_INDEX_PATH=…\nACME_LOG_DIR=x ACME_KEY ACME_ROOT X_REPO"
    )
    assert variables_in(readme) == ["ACME_SOURCE_DIR", "ACME_ROOT"]
    assert variables_in("set WORKSPACE_ROOTS=/a,/b") == ["WORKSPACE_ROOTS"]
    assert variables_in('"args": ["--workspace", "FULL_PATH_TO_YOUR_PROJECT"]') == []


def test_a_database_that_it_makes_is_its_own_and_no_folder() -> None:
    shown = launches("tool --db /path/to/tool.db --root=/path/to/repo", ["tool"])[1]
    assert shown.args == ("--db", "{state}/tool.db", "--root={workspace}")


IN_SHELL = """
uvx acme-tool --root /path/to/project [options]   # Python
$ ACME_CORPUS=data/sample ACME_DB=data/sample/index.db ACME_KEY=abc \\
    acme-tool serve
claude mcp add acme -- npx -y acme-tool@latest ~/code
acme-tool search "user login"
acme-tool --transport sse --port 8000
pip install acme-tool
git clone https://example.org/acme-tool && cd acme-tool
acme-tool
"""


def test_lines_of_a_shell_that_start_it_to_serve_are_ways_and_no_others() -> None:
    shown = [(way.args, way.env) for way in launches(IN_SHELL, ["acme-tool"]) if way.why == SHOWN]
    assert shown == [
        (("--root", "{workspace}"), {}),
        (("serve",), {"ACME_CORPUS": "{workspace}", "ACME_DB": "{state}/index.db"}),
        (("{workspace}",), {}),
    ]


def test_an_extra_that_is_called_after_the_protocol_makes_a_package_a_server() -> None:
    package = replace(installed("tool"), extras=("dev", "mcp-server"))
    assert package.server_extra == "mcp-server"
    assert replace(package, extras=("dev",)).server_extra == ""


# --- tools --------------------------------------------------------------------------------------


def tool(
    name: str, description: str = "", required: str = "", **annotations: bool
) -> mcp_types.Tool:
    said = mcp_types.ToolAnnotations.model_validate(annotations) if annotations else None
    schema = {"type": "object", "required": required.split()}
    return mcp_types.Tool(name=name, description=description, input_schema=schema, annotations=said)


def test_what_a_tool_says_of_itself_goes_before_its_name() -> None:
    assert not writes(tool("delete_nothing", readOnlyHint=True))
    assert writes(tool("find_symbol", readOnlyHint=False))
    assert writes(tool("delete_symbol"))
    assert not writes(tool("run_query"))
    assert not writes(tool("run_lint_check"))
    assert not writes(tool("generate_repo_map"))
    assert writes(tool("generate_and_write_map"))
    assert writes(tool("generate_tests"))


REWRITES = (
    "Transform and refactor code using AST-based find-and-replace patterns.\n\n"
    "⚠️ WARNING: This tool modifies files when auto_apply=true."
)


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("rewrite_code", REWRITES),
        ("find_and_change", REWRITES),
        ("structural", "Edits the contents of a file by replacing a block of lines."),
        ("symbol_body", "Replaces the body of the symbol with the given name_path."),
        ("codemod", "Applies a patch to the files of the project."),
        ("sr", "Search and replace across the workspace."),
        ("update_lines", "Replace lines of a file. It rewrites the file in place."),
    ],
)
def test_a_tool_that_says_it_changes_files_writes_whatever_it_is_called(
    name: str, description: str
) -> None:
    assert writes(tool(name, description))
    assert not asked_by_the_navigator(name, description)


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("find_code", "Find code in a project folder that matches the given ast-grep pattern."),
        ("analyze-imports", 'Choose "usage" to see which imports are used (great for refactoring)'),
        ("treesitter_find_usage", "output_file: If provided, writes result to this file"),
        ("get_context", "Use this before you edit a file: it replaces reading whole files."),
        ("find_references", "Find usages. Call it before refactoring; edit files with your tools."),
        ("grep", "Replaces the built-in Grep: searches the contents of files."),
        ("preview", "Shows what would change if a rename replaces the symbol. Never edits files."),
        ("find_writers", "Lists the functions that modify files or replace code."),
        ("lint", "Applies lint rules to source files and does not modify files."),
        ("history", "Edit history of a file, newest first."),
    ],
)
def test_a_tool_that_speaks_of_edits_and_makes_none_may_be_asked(
    name: str, description: str
) -> None:
    assert not writes(tool(name, description))
    assert asked_by_the_navigator(name, description)


def asked_by_the_navigator(name: str, description: str) -> bool:
    spec = ToolSpec(name=name, description=description, input_schema={}, origin="server")
    (use,) = uses_of([spec])
    return use.may_be_asked


def test_where_a_framework_calls_every_tool_one_that_writes_their_names_decide() -> None:
    names = ("read_file", "search_code", "edit_file", "run_plan")
    said = [tool(name, readOnlyHint=False, destructiveHint=True) for name in names]
    assert said_of_all(said)
    assert writers(said) == ["edit_file", "run_plan"]
    assert [item.name for item in for_looking(said)] == ["search_code", "read_file"]
    chosen = [*said, tool("list_files", readOnlyHint=True)]
    assert not said_of_all(chosen)
    assert writers(chosen) == list(names)
    assert not said_of_all([tool(name, readOnlyHint=False) for name in ("edit_file", "run_plan")])


def test_a_project_is_chosen_before_it_is_indexed_and_neither_is_a_way_to_look() -> None:
    tools = [
        tool("find_symbol", required="name"),
        tool("index_repository", required="path"),
        tool("add_code", "Scans a folder and indexes it.", required="repo_path"),
        tool("set_project_path", required="path"),
        tool("index_status"),
        tool("import_package", "Indexes a package.", required="package"),
        tool("radon", "Computes the maintainability index.", required="path"),
        tool("uv_build", required="path"),
        tool("cancel_indexing"),
        tool("git_sync"),
    ]
    named = [item.name for item in for_setup(tools)]
    assert named == ["set_project_path", "add_code", "index_repository"]
    assert "find_symbol" in [item.name for item in for_looking(tools)]
    assert not {item.name for item in for_looking(tools)} & set(named)


def test_what_says_that_it_comes_first_is_told_first_and_what_advises_so_is_not() -> None:
    tools = [
        tool("clone_repo", "Must be called before analysis tools.", required="url"),
        tool("analyze_code", "Call it before using any other tool.", required="root"),
        tool("get_overview", "Use this first to understand a project.", required="path"),
        tool("fetch", "Must be called before the others.", required="url"),
    ]
    assert [item.name for item in for_setup(tools)] == ["analyze_code", "clone_repo"]
    cloned = {"properties": {"url": {"type": "string"}}, "required": ["url"]}
    target = Target(name="x")
    assert list(arguments_for(cloned, target)) == []
    (first, *_) = arguments_for(
        cloned, target, described="Clone a repository. Must be called first"
    )
    assert first == {"url": "/workspace"}


def test_a_project_that_is_added_is_chosen_and_a_folder_or_a_file_that_is_made_is_not() -> None:
    tools = [
        tool("add_repo", required="path"),
        tool("create_workspace", required="name"),
        tool("update_allowed_directory", required="directory"),
        tool("update_directory", required="path"),
        tool("create_directory", required="path"),
        tool("add_file", required="path"),
        tool("create_project_issue", required="title"),
    ]
    named = [item.name for item in for_setup(tools)]
    assert named == ["add_repo", "create_workspace", "update_allowed_directory"]


def test_what_begins_a_job_is_told_where_others_ask_for_its_id_and_only_there() -> None:
    begins = tool("start_map", "Starts a background job.")
    by_hand = tool("start_review", "Starts a review.", required="text")
    results = tool("get_map", required="job_id")
    assert for_setup([begins, by_hand, results]) == [begins]
    assert for_setup([begins, by_hand, tool("get_map", required="path")]) == []


def test_a_repository_is_cloned_and_then_analyzed_by_what_writes_as_it_analyzes() -> None:
    tools = [
        tool("analyze_repo", required="repo_id", readOnlyHint=False),
        tool("clone_repo", required="url", readOnlyHint=False),
        tool("clone_image", required="url", readOnlyHint=False),
        tool("analyze_file", required="path", readOnlyHint=True),
    ]
    assert [item.name for item in for_setup(tools)] == ["clone_repo", "analyze_repo"]


def test_a_tool_that_an_answer_names_is_told_if_it_asks_for_no_more_than_a_place() -> None:
    tools = [
        tool("analyze_project", required="path"),
        tool("analyze_project_deeply", required="path"),
        tool("find_symbol", required="name query"),
        tool("delete_project", required="path"),
    ]
    said = [("find_symbol", "Run analyze_project first, do not use find_symbol or delete_project")]
    assert [item.name for item in named_by(said, tools)] == ["analyze_project"]
    assert named_by([("analyze_project", "call of analyze_project: no such run")], tools) == []
    assert named_by([("find_symbol", "neither is analyze_project")], tools) == []


def test_a_call_that_an_answer_spells_is_made_as_it_is_spelled() -> None:
    keys = {"properties": {"directory": {"type": "string"}, "remember": {"type": "boolean"}}}
    tools = [
        mcp_types.Tool(name=name, input_schema={"type": "object", **keys})
        for name in ("approve_directory", "delete_directory")
    ]

    def spelled(text: str) -> list[tuple[str, dict[str, Any]]]:
        return calls_spelled([("run_command", text)], tools)

    escaped = r'{"error": "use approve_directory(directory=\"/workspace\", remember=True)"}'
    assert spelled(escaped) == [
        ("approve_directory", {"directory": "/workspace", "remember": True})
    ]
    # Where it is said to somebody who has a place of his own.
    for place in ("/your/path", "~/code", "path/to/repo", "<project root>"):
        assert spelled(f"approve_directory(directory='{place}')") == [
            ("approve_directory", {"directory": "/workspace"})
        ]
    assert spelled('delete_directory(directory="/workspace")') == []
    assert spelled("approve_directory(directory=path)") == []
    assert spelled("approve_directory(directory=b'x')") == []
    assert spelled("approve_directory(directory=" + "[" * 299 + ")") == []
    assert spelled('approve_directory(place="/workspace")') == []
    assert spelled('other.approve_directory(directory="/workspace")') == []


# --- from this machine --------------------------------------------------------------------------


def test_the_files_that_a_command_names_are_copied_and_its_other_words_are_kept(
    tmp_path: Path,
) -> None:
    file = tmp_path / "server.py"
    file.write_text("print(1)\n")
    found, files = copied_command(("python3", str(file), "--fast"), "own")
    assert found.entries == {"own": ("python3", "{install}/server.py", "--fast")}
    assert files == {"server.py": "print(1)\n"}
    with pytest.raises(FairtrialError, match="no file of yours"):
        copied_command(("python3", "-m", "somewhere"), "own")


def test_a_python_folder_brings_its_files_its_needs_and_its_script(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "own"\nversion = "3"\ndependencies = ["mcp"]\n'
        '[project.scripts]\nown = "own.main:run"\n'
    )
    (tmp_path / "src/own").mkdir(parents=True)
    (tmp_path / "src/own/main.py").write_text("def run(): pass\n")
    (tmp_path / ".env").write_text("SECRET=1\n")
    copied = copied_folder(tmp_path)
    assert copied.requirements == "mcp\n"
    assert sorted(copied.files) == ["app/pyproject.toml", "app/src/own/main.py"]
    assert "from own.main import run" in copied.installed.entries["own"][-1]


def test_a_folder_that_says_nothing_of_a_server_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FairtrialError, match="nothing here says"):
        copied_folder(tmp_path)


# --- what is written ----------------------------------------------------------------------------


def test_the_definition_reads_as_it_was_found_headed_by_what_was_guessed() -> None:
    spec = ServerSpec(
        name="own",
        title="A server: with a colon",
        version="1",
        licence="MIT",
        homepage="none",
        command=("python3", "{install}/server.py"),
        files={"server.py": "import sys\nprint(1)\n"},
        warm_up=(WarmUp(call=McpCall(tool="index", arguments={"path": "{workspace}"})),),
        canaries=(Canary(repository="*", call=McpCall(tool="find"), contains="a.py:1", line=1),),
        line_base=1,
    )
    text = definition_text(spec, ["health probe find shows a.py:1 [--probe TOOL JSON TEXT]"])
    assert parse_yaml(text, ServerSpec, where="server.yaml") == spec
    assert "# - health probe find shows a.py:1 [--probe TOOL JSON TEXT]" in text


def test_a_word_behind_the_program_that_only_its_prose_names_is_tried() -> None:
    readme = "Yes: `tool mcp --transport sse` serves over HTTP. Not other-tool serve, nor toolmcp."
    ways = launches(readme, ["tool"])
    assert ("mcp",) in [way.args for way in ways]
    assert ("serve",) not in [way.args for way in ways]


def test_a_folder_is_its_own_if_it_is_called_after_the_program() -> None:
    readme = "Writes `.acme/` and .tool/cache, reads .git/, .claude/ and .other/; not x.acme-mcp/"
    assert folders_called_after(readme, ["@org/acme-mcp", "tool"]) == (".acme", ".tool")
    assert folders_called_after("writes .git/hooks", ["git-mcp"]) == ()


def test_the_program_that_a_client_is_told_to_start_by_its_path_is_the_server() -> None:
    readme = '"mcpServers": {"it": {"command": "/path/to/venv/bin/acme", "env": {"A": "b"}}}'
    package = replace(installed("acme-recall", "acme", "acme-bench", "ac"), readme=readme)
    assert choose_entry(package, "") == "acme"
    with pytest.raises(SeveralEntries):
        choose_entry(replace(package, readme=""), "")
