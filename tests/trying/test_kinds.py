"""The repository is one that the server can read, by what it asks for in vain."""

from __future__ import annotations

from runner.authoring.onboarding.repository_choice import (
    LanguageGuess,
    fitting,
    kind_by_files,
    other_kind,
)

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
    assert "Python" in other_kind("python").why
