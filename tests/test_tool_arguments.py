"""A tool's arguments out of its schema, for a name and a place."""

from __future__ import annotations

from typing import Any

import pytest

from runner.servers.example_arguments import (
    MOST,
    Target,
    arguments_for,
    handle_for,
    handles_in,
    takes_command,
    takes_name,
    unknown_keys,
)

TARGET = Target(name="dispatch_all", path="src/app.py", line=40)


def schema(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def first(given: dict[str, Any], target: Target = TARGET, *, described: str = "") -> dict[str, Any]:
    return next(arguments_for(given, target, described=described, optional=False))


TEXT = {"type": "string"}


def test_a_shell_is_only_ever_told_to_look() -> None:
    run = schema("command", command=TEXT)
    described = "Execute a shell command in a directory"
    found = [one["command"] for one in arguments_for(run, TARGET, described=described)]
    assert found == ["grep -rnw -e dispatch_all /workspace", "cat /workspace/src/app.py"]
    hostile = Target(name="x; rm -rf /", path="a b.py")
    quoted = [one["command"] for one in arguments_for(run, hostile, described=described)]
    assert quoted == ["grep -rnw -e 'x; rm -rf /' /workspace", "cat /workspace/'a b.py'"]
    assert takes_command(run, described)
    assert takes_name(run, described)
    words = schema("command", command={"type": "array", "items": TEXT})
    assert first(words, described=described) == {
        "command": ["grep", "-rnw", "-e", "dispatch_all", "/workspace"]
    }
    mode = schema("command", command={"type": "string", "enum": ["status", "diff"]})
    assert not takes_command(mode, described)
    assert not takes_command(run, "Sends a command to the robot")
    assert not takes_name(run)


@pytest.mark.parametrize(
    ("key", "about", "value"),
    [
        ("symbol_name", TEXT, "dispatch_all"),
        ("query", TEXT, "dispatch_all"),
        ("filePath", TEXT, "src/app.py"),
        ("uri", TEXT, "file:///workspace/src/app.py"),
        ("path", {**TEXT, "description": "Directory to search"}, "/workspace"),
        ("path", {**TEXT, "description": "The file to read"}, "src/app.py"),
        ("repo_path", TEXT, "/workspace"),
        ("project_name", TEXT, "workspace"),
        ("project", TEXT, "workspace"),
        ("name_path_pattern", TEXT, "dispatch_all"),
        ("project_path", TEXT, "/workspace"),
        ("line", {"type": "integer"}, 40),
        ("language", TEXT, "python"),
        ("mode", {"enum": ["fast", "slow"]}, "fast"),
        ("names", {"type": "array", "items": TEXT}, ["dispatch_all"]),
        ("max_results", {"type": "integer", "maximum": 5}, 5),
        ("symbol", {"anyOf": [{"type": "null"}, TEXT]}, "dispatch_all"),
        ("revision", TEXT, "HEAD"),
        ("kind", {**TEXT, "description": "Whether 'local' or 'remote' ones"}, "local"),
        ("extension", TEXT, ".py"),
        ("pattern", {**TEXT, "description": "Glob pattern to match"}, "**/app.py"),
        ("label", {**TEXT, "description": "A branch, such as 'main' or 'next'"}, "HEAD"),
    ],
)
def test_a_key_gets_what_its_name_and_its_type_ask_for(
    key: str, about: dict[str, Any], value: object
) -> None:
    assert first(schema(key, **{key: about}))[key] == value


def test_an_object_behind_a_reference_is_filled_too() -> None:
    given = schema("place", place={"$ref": "#/$defs/Place"})
    given["$defs"] = {"Place": schema("file", "line", file=TEXT, line={"type": "integer"})}
    assert first(given) == {"place": {"file": "src/app.py", "line": 40}}


def test_a_schema_that_holds_itself_has_an_end() -> None:
    given = schema("node", node={"$ref": "#/$defs/Node"})
    given["$defs"] = {"Node": schema("node", node={"$ref": "#/$defs/Node"})}
    assert list(arguments_for(given, TARGET)) == []


@pytest.mark.parametrize("key", ["api_key", "url", "session_id", "handle", "token"])
def test_a_key_a_handle_and_an_address_are_unknown_and_nothing_is_made_up_for_them(
    key: str,
) -> None:
    given = schema("query", key, query=TEXT, **{key: TEXT})
    assert list(arguments_for(given, TARGET)) == []
    assert unknown_keys(given, TARGET) == [key]


def test_without_a_file_a_tool_that_requires_one_is_not_called() -> None:
    given = schema("file_path", file_path=TEXT)
    assert list(arguments_for(given, Target(name="x"))) == []


def test_every_path_is_tried_both_ways_and_no_set_comes_twice() -> None:
    given = schema("symbol", "file_path", symbol=TEXT, file_path=TEXT)
    sets = list(arguments_for(given, TARGET))
    assert [item["file_path"] for item in sets] == ["src/app.py", "/workspace/src/app.py"]


def test_there_is_a_bound_however_many_keys_a_schema_has() -> None:
    keys = {f"path_{number}": TEXT for number in range(40)}
    assert len(list(arguments_for(schema(*keys, **keys), TARGET))) <= MOST


def test_a_tool_takes_a_name_if_it_has_a_text_for_it() -> None:
    assert takes_name(schema("query", query=TEXT))
    assert not takes_name(schema("depth", depth={"type": "integer"}))
    assert not takes_name(schema("path", path=TEXT))
    assert not takes_name(schema("target", target=TEXT, branch_name=TEXT))


def test_an_optional_argument_whose_default_is_null_is_filled_if_it_is_known() -> None:
    given = schema("symbol", symbol=TEXT, language={**TEXT, "default": None}, depth={"default": 3})
    assert {"symbol": "dispatch_all", "language": "python"} in list(arguments_for(given, TARGET))


def test_what_an_answer_calls_the_project_by_is_asked_with() -> None:
    answer: dict[str, str | int] = {
        "ok": "yes",
        "repoId": "local/x",
        "session": "a",
        "count": 3,
        "job_id": 7,
    }
    assert handles_in(answer) == {"repoId": "local/x", "session": "a", "job_id": 7}
    target = Target(name="f", handles=handles_in(answer))
    asked = schema("repo_id", "job_id", repo_id=TEXT, job_id={"type": "integer"})
    assert first(asked, target) == {"repo_id": "local/x", "job_id": 7}


@pytest.mark.parametrize("known", ["text", "id", "repo.id", "opened_id"])
def test_the_only_handle_there_is_is_asked_with_by_whatever_name(known: str) -> None:
    assert handle_for("repo_id", {known: "a1", "count": 3}) == known


def test_the_only_one_of_a_list_of_projects_is_what_a_project_is_asked_for_by() -> None:
    known = handles_in({"projects.name": "app", "projects.files": 7, "users.name": "ann"})
    assert known == {"projects.name": "app"}
    assert handle_for("project", known) == handle_for("project_name", known) == "projects.name"
    # A symbol's name is not a project's.
    assert handle_for("name", known) == handle_for("project_root", known) == ""
    assert handle_for("repo", {"repos.repo": "local/app"}) == "repos.repo"


def test_of_two_handles_none_is_guessed_and_no_handle_is_put_where_a_name_is_asked_for() -> None:
    assert handle_for("session_id", {"repo_id": "a", "job_id": "b"}) == ""
    assert handle_for("symbol_name", {"repo_id": "a"}) == ""


def test_a_path_or_an_address_is_a_path_and_an_address_alone_is_unknown() -> None:
    assert first(schema("path_or_url", path_or_url=TEXT))["path_or_url"] == "/workspace"
    assert unknown_keys(schema("url", url=TEXT), TARGET) == ["url"]


def test_what_git_clones_may_be_the_folder() -> None:
    given = list(arguments_for(schema("repo_url", repo_url=TEXT), TARGET))
    assert given == [{"repo_url": "/workspace"}, {"repo_url": "file:///workspace"}]


def test_a_revision_is_a_file_at_it_where_the_tool_says_that_it_takes_one() -> None:
    given = schema("revision", revision=TEXT)
    said = "Shows a commit, or a file given as <revision>:<path>"
    assert first(given, described=said) == {"revision": "HEAD:src/app.py"}


def test_a_pattern_of_a_tool_that_finds_files_is_a_name_first_and_then_a_files() -> None:
    given = schema("pattern", pattern=TEXT)
    found = arguments_for(given, TARGET, described="Find files matching a pattern")
    assert [one["pattern"] for one in found] == ["dispatch_all", "app.py", "**/app.py", "**/*"]
    assert takes_name(given)


DOCSTRING = """
Search code.

Args:
    search_type: Type of search ("function-calls", "symbol-definitions")
    target (str): What to search for
    scope: File path, directory path, or URL to search in
    source: Path to the source file
"""


def test_what_a_docstring_says_of_an_argument_counts_as_its_description() -> None:
    given = schema(*("search_type", "target", "scope"), search_type=TEXT, target=TEXT, scope=TEXT)
    assert first(given, described=DOCSTRING) == {
        "search_type": "function-calls",
        "target": "dispatch_all",
        "scope": "src/app.py",
    }
    by_file = schema("source", source=TEXT)
    assert first(by_file, described=DOCSTRING) == {"source": "src/app.py"}


def test_a_path_that_is_said_to_be_a_files_is_no_folder() -> None:
    given = schema("path", path={**TEXT, "description": "Path to the file"})
    everywhere = [one["path"] for one in arguments_for(given, TARGET, optional=False)]
    assert everywhere == ["src/app.py", "/workspace/src/app.py"]
    assert list(arguments_for(given, Target(name="x"))) == []
