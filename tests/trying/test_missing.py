"""What a server says it lacks is added under the name that its registry knows it by."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runner.authoring.onboarding.flow import at_version
from runner.authoring.onboarding.installing import offline_variables
from runner.authoring.onboarding.launches import Launch
from runner.authoring.onboarding.missing import with_missing
from runner.authoring.onboarding.repository_choice import files_lacked
from runner.authoring.onboarding.server_source import NpmPackage, PypiPackage
from runner.authoring.onboarding.start_attempt import StartAttempt

TOOL = PypiPackage(name="acme-tool", version="")
NODE = NpmPackage(name="@acme/tool", version="")


def test_one_that_has_its_extra_and_asks_for_it_still_gets_the_older_protocol() -> None:
    said = "MCP dependencies not installed. Install with: | pip install 'acme-tool[mcp]'"
    first = with_missing(TOOL, said)
    assert first is not None and isinstance(first[0], PypiPackage)
    assert (first[0].extras, first[0].also) == ("mcp", ())
    second = with_missing(first[0], said)
    assert second is not None
    assert second[0].also == ("mcp<2",)
    assert with_missing(second[0], said) is None
    other = "Install with: pip install 'acme-tool[all]'"
    assert with_missing(replace(TOOL, extras="all"), other) is None


@pytest.mark.parametrize(
    ("problem", "name"),
    [
        ("ModuleNotFoundError: No module named 'tqdm'", "tqdm"),
        ("ModuleNotFoundError: No module named 'yaml'", "pyyaml"),
        ("ModuleNotFoundError: No module named 'tree_sitter'", "tree-sitter"),
        ("Error: the MCP SDK is missing: run 'uv add mcp[cli]'", "mcp[cli]<2"),
        ('pip install "mcp>=1"', "mcp<2"),
        ("RuntimeError: The 'mcp' package is required to run the MCP server.", "mcp<2"),
        ("ImportError: the yaml library is not installed", "pyyaml"),
        ("ImportError: cannot import name 'gone' from 'mcp.client.x' (/opt/x.py)", "mcp<2"),
        ("Error: 'Server' object has no attribute 'list_tools'", "mcp<2"),
        ("AttributeError: 'Tool' object has no attribute 'inputSchema'", "mcp<2"),
        ("FastMCP.run() got an unexpected keyword argument 'port'", "mcp<2"),
        ("No module named 'mcp.server.fastmcp'. This is mcp 2.x: pin 'mcp<2' to keep it", "mcp<2"),
    ],
)
def test_a_python_package_that_is_missing_is_added(problem: str, name: str) -> None:
    found = with_missing(TOOL, problem)
    assert found is not None
    assert isinstance(found[0], PypiPackage)
    assert (found[0].also, found[1]) == ((name,), name)


def test_a_package_that_was_too_new_is_added_once_more_and_older() -> None:
    newest = with_missing(TOOL, "No module named 'mcp'")
    assert newest is not None and newest[0].also == ("mcp",)
    assert with_missing(newest[0], "No module named 'mcp'") is None
    older = with_missing(newest[0], "No module named 'mcp.server.fastmcp'. Pin 'mcp<2'")
    assert older is not None and older[0].also == ("mcp<2",)
    assert with_missing(older[0], "No module named 'mcp.server.fastmcp'. Pin 'mcp<2'") is None


def test_a_node_package_that_is_missing_is_added() -> None:
    for problem in (
        "Error: Cannot find module '@acme/core/dist/x.js'",
        "Error [ERR_MODULE_NOT_FOUND]: Cannot find package '@acme/core' imported from /x",
    ):
        found = with_missing(NODE, problem)
        assert found is not None
        assert found[0].also == ("@acme/core",)


def test_its_own_extra_is_asked_for_if_it_says_so() -> None:
    found = with_missing(TOOL, "MCP is not installed: pip install acme_tool[mcp]")
    assert found is not None
    assert found[0] == PypiPackage(name="acme-tool", version="", extras="mcp")


@pytest.mark.parametrize(
    "problem",
    [
        "ModuleNotFoundError: No module named 'src'",
        "ModuleNotFoundError: No module named 'other.server'",
        "ModuleNotFoundError: No module named 'acme_tool'",
        "usage: acme-tool FOLDER",
        "pip install acme-tool",
    ],
)
def test_a_part_of_a_package_and_a_name_that_is_anybodys_are_not_fetched(problem: str) -> None:
    assert with_missing(TOOL, problem) is None


def test_a_file_of_its_own_is_no_package_and_what_was_added_is_not_added_again() -> None:
    assert with_missing(NODE, "Error: Cannot find module '/opt/server/x.js'") is None
    assert with_missing(NODE, "Error: Cannot find module './x.js'") is None
    found = with_missing(TOOL, "No module named 'tqdm'")
    assert found is not None
    assert with_missing(found[0], "No module named 'tqdm'") is None


def test_with_a_package_more_it_stays_the_version_that_it_was() -> None:
    assert at_version(TOOL, "14.1.0") == replace(TOOL, version="14.1.0")
    assert at_version(NODE, "2.0.0") == replace(NODE, version="2.0.0")
    chosen = replace(TOOL, version="13.0")
    assert at_version(chosen, "14.1.0") == chosen


def test_a_file_that_a_complaint_names_and_the_repository_has_not_is_named() -> None:
    said = ["Error: no package.json in /workspace", "read pyproject.toml", "/opt/package.json.bak"]
    assert files_lacked(said, ["a/pyproject.toml", "b.py"]) == ["package.json"]


def test_a_library_that_would_ask_for_its_models_again_and_again_is_told_of_no_network(
    tmp_path: Path,
) -> None:
    lock = tmp_path / "requirements.txt"
    assert offline_variables(tmp_path) == {}
    lock.write_text("mcp==1.2.0\n# huggingface-hub==1.0\n")
    assert offline_variables(tmp_path) == {}
    lock.write_text("mcp==1.2.0\nhuggingface-hub==1.0 \\\n    --hash=sha256:0\n")
    assert offline_variables(tmp_path) == {"HF_HUB_OFFLINE": "1"}


ESM = (
    "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/opt/server/node_modules/acme-mcp/dist/"
    "Utils.js' imported from /opt/server/node_modules/acme-mcp/dist/index.js"
)
CJS = (
    "Error: Cannot find module './Utils'\nRequire stack:\n"
    "- /opt/server/node_modules/acme-mcp/dist/index.js"
)


@pytest.mark.parametrize("said", [ESM, CJS, "ModuleNotFoundError: No module named 'acme_mcp.Util'"])
def test_a_file_of_its_own_that_is_not_there_is_no_fault_of_its_packages(said: str) -> None:
    attempt = StartAttempt(launch=Launch(why="bare"), problem=said.splitlines()[0], said=said)
    assert attempt.may_be_too_old, "a package may break so, too"
    assert attempt.lacks_own_file("acme-mcp")
    assert not attempt.lacks_own_file("other-mcp")


@pytest.mark.parametrize(
    "said",
    [
        ESM.replace("node_modules/acme-mcp/dist/U", "node_modules/acme-mcp/node_modules/zod/U"),
        CJS.replace("./Utils", "zod"),
        "ModuleNotFoundError: No module named 'mcp.server.fastmcp'",
    ],
)
def test_a_part_of_another_package_may_be_there_in_an_older_one(said: str) -> None:
    attempt = StartAttempt(launch=Launch(why="bare"), problem=said.splitlines()[0], said=said)
    assert not attempt.lacks_own_file("acme-mcp")
