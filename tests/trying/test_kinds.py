"""The repository is one that the server can read, as its own words say."""

from __future__ import annotations

import pytest

from runner.authoring.onboarding.repository_choice import (
    Kind,
    fitting,
    kind_at_once,
    kind_by_failing,
    other_kind,
)

SHIPPED = {"deletes": "python", "errors": "python", "parser": "rust", "schemas": "typescript"}


@pytest.mark.parametrize(
    ("name", "title", "language"),
    [
        ("@acme/ts-graph", "Call graphs of TypeScript projects", "typescript"),
        ("acme-react-tools", "Finds components", ""),
        ("cargo-mcp", "Asks cargo about a crate", "rust"),
        ("gopls-mcp", "Symbols of Go code", "go"),
        ("code-map", "A map of Python and TypeScript code", ""),
        ("code-map", "A fast code index, written in Rust", ""),
        ("code-map", "A TypeScript implementation of a code index", ""),
        ("code-map", "TypeScript MCP server for git", ""),
        ("code-map", "A map of code", ""),
    ],
)
def test_a_name_or_a_title_that_says_what_is_read_chooses_at_once(
    name: str, title: str, language: str
) -> None:
    found = kind_at_once(name, title, "python")
    assert (found.language if found else "") == language


def test_what_is_tried_already_is_not_chosen_again() -> None:
    assert kind_at_once("ts-graph", "TypeScript call graphs", "typescript") is None
    assert kind_at_once("ts-graph", "TypeScript call graphs", "javascript") is None
    assert kind_by_failing(["TypeScript. " * 9], ["tsconfig.json"], "javascript") is None


def test_one_that_failed_is_known_by_the_file_it_asked_for() -> None:
    found = kind_by_failing(["Python, Python and Python"], ["package.json"], "python")
    assert found == Kind(language="typescript", why="it asks for package.json")


def test_one_that_failed_is_known_by_what_its_readme_names_again_and_again() -> None:
    said = "Reads TypeScript projects. Finds TypeScript symbols. Knows `tsconfig`. Needs python."
    found = kind_by_failing([said], [], "python")
    assert found is not None
    assert "TypeScript" in found.why
    assert kind_by_failing([f"{said} Python too. Python, python."], [], "python") is None
    assert kind_by_failing(["```typescript\n```\n" * 5], [], "python") is None


def test_the_first_scenario_in_that_language_fits_and_none_in_one_that_does_not_ship() -> None:
    assert fitting(Kind(language="typescript", why=""), SHIPPED) == "schemas"
    assert fitting(Kind(language="rust", why=""), SHIPPED) == "parser"
    assert fitting(Kind(language="go", why=""), SHIPPED) == ""


def test_one_that_answers_and_shows_nothing_is_asked_about_another_kind_of_code() -> None:
    assert other_kind("python").language == "typescript"
    assert other_kind("javascript").language == "python"
    assert "Python" in other_kind("python").why
