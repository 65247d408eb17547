"""The repository is one that the server can read, by what it asks for in vain."""

from __future__ import annotations

import mcp_types

from runner.authoring.onboarding import searching
from runner.authoring.onboarding.canaries import CanarySearch
from runner.authoring.onboarding.launches import Launch
from runner.authoring.onboarding.repository_choice import (
    LanguageGuess,
    fitting,
    kind_by_files,
    other_kind,
)
from runner.authoring.onboarding.start_attempt import StartAttempt

SHIPPED = {"deletes": "python", "errors": "python", "parser": "rust", "schemas": "typescript"}


def test_one_that_failed_is_known_by_the_file_it_asked_for() -> None:
    found = kind_by_files(["Makefile", "package.json"], "python")
    assert found == LanguageGuess(language="typescript", why="it asks for package.json")
    assert kind_by_files(["tsconfig.json"], "javascript") is None


def test_the_first_scenario_in_that_language_fits_and_none_in_one_that_does_not_ship() -> None:
    assert fitting(LanguageGuess(language="typescript", why=""), SHIPPED) == "schemas"
    assert fitting(LanguageGuess(language="rust", why=""), SHIPPED) == "parser"
    assert fitting(LanguageGuess(language="go", why=""), SHIPPED) == ""


def test_one_that_answers_and_shows_nothing_is_asked_about_another_kind_of_code() -> None:
    assert other_kind("python").language == "typescript"
    assert other_kind("javascript").language == "python"
    # It speaks of our calls, and not of the server.
    assert other_kind("python").why == "no call of ours showed one in Python"


def test_where_calls_were_errors_one_of_them_is_shown() -> None:
    search = CanarySearch(calls=92, errors=92, errors_of={"find": "No index:\n run build"})
    tool = mcp_types.Tool(name="find", input_schema={"type": "object"})
    said: list[str] = []
    searching._say(
        said.append, StartAttempt(launch=Launch(why="bare"), tools=(tool,), search=search)
    )
    assert said[0].endswith("none of 92 calls showed the repository (92 errors)")
    assert said[1:] == ["    such as find: No index: run build"]
