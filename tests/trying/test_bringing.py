"""Programs that a server does not bring: which its own words say that it lacks."""

from __future__ import annotations

import pytest

from runner.authoring.onboarding.server_source import Command, PypiPackage
from runner.authoring.onboarding.with_packages import (
    PROGRAMS,
    environment,
    programs_lacked,
    with_packages,
    with_program,
)
from runner.support.errors import FairtrialError

TOOL = PypiPackage(name="acme", version="")


@pytest.mark.parametrize(
    ("said", "lacked"),
    [
        ("Error: spawn pyright-langserver ENOENT", ["pyright-langserver"]),
        ("[Errno 2] No such file or directory: 'ruff'", ["ruff"]),
        ("sh: 1: eslint: not found", ["eslint"]),
        ("LSP server not found: install it (current command: clangd)", ["clangd"]),
        ("pylsp is not installed. Please run `pip install python-lsp-server`", ["pylsp"]),
        ("Failed to start typescript-language-server", ["typescript-language-server"]),
        (
            '{"engines_run": [],\n "engines_skipped": [\n  "semgrep",\n  "bandit"\n ]}',
            ["bandit", "semgrep"],
        ),
        ('{"name": "bandit",\n "category": "sast",\n "installed": false}', ["bandit"]),
        ('{"tools": {"ruff": {"available": false}, "mypy": {"available": true}}}', ["ruff"]),
        ('{"ruff": false, "mypy": true, "black": {"version": "1"}}', ["ruff"]),
        (
            "couldn't find mypy on PATH\nmypy isn't available\nno radon: not found",
            ["mypy", "radon"],
        ),
    ],
)
def test_a_program_that_a_line_says_is_not_there_is_known(said: str, lacked: list[str]) -> None:
    assert programs_lacked([said]) == lacked


@pytest.mark.parametrize(
    "said",
    [
        "ruff: 3 problems in src/flask/app.py",
        "ENOENT: no such file or directory, open '/workspace/eslint.config.js'",
        "no configuration for @acme/eslint was found",
        "spawn gopls ENOENT",
        "ruff is here\nthe symbol was not found",
        "node_modules/eslint/bin: not found",
    ],
)
def test_a_program_that_is_there_a_file_and_one_no_registry_has_are_not_brought(said: str) -> None:
    assert programs_lacked([said]) == []
    assert with_program(TOOL, [said]) is None


def test_a_program_is_brought_once_with_what_it_needs_and_for_packages_and_folders_alone() -> None:
    said = ["spawn typescript-language-server ENOENT"]
    found = with_program(TOOL, said)
    assert found is not None
    asked, name = found
    assert name == "typescript-language-server"
    assert asked == PypiPackage(name="acme", version="", programs=PROGRAMS[name])
    assert PROGRAMS[name] == ("npm:typescript-language-server", "npm:typescript")
    assert with_program(asked, said) is None
    assert with_program(Command(words=("python3", "x.py")), said) is None


def test_a_language_server_that_nothing_names_is_the_one_its_readme_speaks_of() -> None:
    readme = "Needs a language server: pylsp for Python, or typescript-language-server."
    said = ["Error: no language server is running"]
    found = with_program(TOOL, said, readme, "python")
    assert found is not None
    assert found[1] == "pylsp"
    assert with_program(TOOL, said, readme, "rust") is None
    assert with_program(TOOL, said, "It drives language servers.", "python") is None
    assert with_program(TOOL, ["3 symbols by the language server"], readme, "python") is None


def test_what_a_person_says_is_brought_and_nothing_else_if_they_say_so() -> None:
    asked = with_packages(TOOL, ("npm:pyright",))
    assert asked == PypiPackage(name="acme", version="", programs=("npm:pyright",))
    assert with_program(with_packages(TOOL, ("none",)), ["sh: ruff: not found"]) is None
    with pytest.raises(FairtrialError, match="no npm:NAME or pypi:NAME"):
        with_packages(TOOL, ("pyright",))
    with pytest.raises(FairtrialError, match="nothing can be installed beside it"):
        with_packages(Command(words=("python3", "x.py")), ("npm:pyright",))


def test_a_program_stands_behind_what_a_server_brings_itself() -> None:
    env = {"PATH": "{install}/node_modules/.bin:/usr/bin"}
    assert environment(env, ()) == env
    assert environment(env, ("npm:pyright",)) == env
    assert environment(env, ("pypi:ruff",)) == {
        "PATH": "{install}/node_modules/.bin:{install}/python/bin:/usr/bin",
        "PYTHONPATH": "{install}/python",
    }
