"""What a server says has to be run first is taken from its own words."""

from __future__ import annotations

from runner.authoring.onboarding.installed import InstalledPackage
from runner.authoring.onboarding.installing import draft
from runner.authoring.onboarding.programs import (
    Ran,
    commands_named,
    commands_shown,
    flag_without_embeddings,
    runnable,
    says_unbuilt,
    wants_embeddings,
)


def test_the_command_said_most_often_is_first() -> None:
    texts = ['[DB] none. Run "tool build" first to analyze.', "run `tool init`", "Run: tool build"]
    assert commands_named(texts, {}) == ["tool build", "tool init"]


def test_a_program_that_is_named_by_its_file_or_alone_is_known_by_its_name() -> None:
    names = {"tool-index": "tool-index", "make_index.py": "tool-index"}
    texts = [
        "no graph at /x/graph.db - run make_index.py /workspace first",
        "Run `tool-index` first",
    ]
    assert commands_named(texts, names) == ["tool-index {workspace}", "tool-index"]
    assert commands_named(["use `find_symbol`", "Run `make_index.py`"], {}) == []
    both = "Ask the user to run `tool init` then `tool build`, then retry the call."
    assert commands_named([both], {}) == ["tool init", "tool build"]
    assert commands_named(["Use 'tool stop' to stop it", "Run `tool status`"], {}) == []


def test_a_complaint_of_a_missing_index_is_told_from_another() -> None:
    for text in (
        "no graph DB at /x",
        "Index not found: missing index",
        "run tool build first",
        "sqlite3.OperationalError: no such table: nodes",
    ):
        assert says_unbuilt(text)
    for text in ("error: unknown option '--mcp'", "ModuleNotFoundError: No module named 'mcp'"):
        assert not says_unbuilt(text)


def test_what_never_ends_and_what_is_no_command_is_not_run() -> None:
    texts = [
        "Run `tool serve` in another shell",
        "use `path`",
        "Try 'tool --help' for help.",
        'Run "tool build; rm -rf x" first',
    ]
    assert commands_named(texts, {}) == []


def test_an_index_that_wants_a_model_elsewhere_is_asked_for_the_flag_that_leaves_it_out() -> None:
    failed = Ran(good=False, output="No Embedding provider configured", failed="tool index: 1")
    assert wants_embeddings(failed)
    assert not wants_embeddings(Ran(good=True, output="embeddings: none"))
    assert flag_without_embeddings("[--model M] [--no-embeddings]") == "--no-embeddings"
    assert flag_without_embeddings("[--embedding-model M] [--no-detect-embedded-sql]") == ""


def test_a_program_that_another_process_shuts_out_is_told_from_one_that_fails() -> None:
    for said in (
        "Another CGC process already has this embedded database open.",
        "sqlite3.OperationalError: database is locked",
        "Could not set lock on file /x/kuzu.db",
    ):
        assert Ran(good=False, output=said, failed="tool index ends with 1").is_shut_out
        assert not Ran(good=True, output=said).is_shut_out
    for said in ("package-lock.json is missing", "no such file: blocked.py", "a lockfile"):
        assert not Ran(good=False, output=said, failed="tool index ends with 1").is_shut_out


def test_a_python_packages_tool_is_run_by_the_python_of_the_cell() -> None:
    spec = draft("tool", InstalledPackage(name="tool", version="1", entries={}), {})
    python = spec.model_copy(update={"env": {"PYTHONPATH": "{install}/python"}})
    assert runnable("tool init", python) == "python3 {install}/python/bin/tool init"
    assert runnable("tool init", spec) == "tool init"


def test_what_it_says_to_create_something_with_is_run_and_what_it_only_speaks_of_is_not() -> None:
    said = "No config found in: /workspace/tool.json\nCreate one with: tool init\n"
    assert commands_named([said], {"tool": "tool"}) == ["tool init"]
    assert commands_named(["Created with tool init, see above"], {"tool": "tool"}) == []


README = """
Run it:

```bash
$ tool init
npx tool index . --full   # once
tool serve
other build
tool build && rm -rf /
```
Then `tool init` is done, and tool index grows.
"""


def test_a_readmes_own_path_is_the_workspace_and_a_program_may_be_named_for_what_it_does() -> None:
    readme = "tool-index /path/to/repo\ntool init --force ~/code\ntool-index x.db; rm y\n"
    assert commands_shown("tool index --watch\ntool index . --dry-run", ["tool"]) == []
    made = "tool reindex . --db /path/to/tool.db  # builds it\ntool bootstrap --brief\n"
    own = ["tool reindex . --db {state}/tool.db", "tool bootstrap --brief"]
    assert commands_shown(made, ["tool"]) == own
    shown = commands_shown(readme, ["tool-index", "tool"])
    assert shown == ["tool-index {workspace}", "tool init --force {workspace}"]


def test_a_command_inside_a_sentence_is_shown_too_and_none_that_updates_the_program() -> None:
    readme = "Code needs no key: `tool extract` and, after a pull, `tool update .` (`tool update`)"
    assert commands_shown(readme, ["tool"]) == ["tool extract", "tool update ."]


def test_a_readmes_own_lines_that_build_an_index_are_known_and_nothing_else_is() -> None:
    assert commands_shown(README, ["tool", "tool-mcp"]) == ["tool init", "tool index . --full"]
    assert commands_shown(README, []) == []
