"""What a try says to do next can be typed as it stands, and does what it says."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from runner.authoring.onboarding.more_probes import MeasuredOn
from runner.cli.main import make_parser
from runner.cli.options import RunSpending
from runner.cli.verbs.try_ import Verb, _again, _in_project

CORE = ("django-queryset-delete", "flask-error-handling")


def said(**options: Any) -> Verb:
    return Verb(root=Path(), words=("pypi:acme",), **options)


@pytest.mark.parametrize(
    "options",
    [
        {"private": (".symbol", "my logs")},
        {"args": ""},
        {"args": "--root {workspace}", "entry": "acme-mcp"},
        {"warm_up": (("index", '{"path": "{workspace}"}'), ("shell", "acme index ."))},
        {"canary": ("find", '{"name": "wsgi_app"}', "app.py:1570")},
        {"before": "2025-01-01", "scripts": "none", "bring": ("npm:pyright",), "http": ""},
        {"http": "8000/mcp", "dirty": True, "repo": "../shop", "questions": 3},
    ],
)
def test_the_same_command_with_more_holds_every_option_that_was_said(
    options: dict[str, Any],
) -> None:
    command = _again(said(**options), "--model claude-ID")
    assert "…" not in command
    read = vars(make_parser(80).parse_args(shlex.split(command)[1:]))
    # What argparse reads are lists.
    assert json.dumps({name: read[name] for name in options}) == json.dumps(options)
    assert read["words"] == ["pypi:acme"]


def test_the_next_command_asks_the_same_model_with_the_same_caps_and_trials() -> None:
    spending = RunSpending(run_usd=2.5, cell_usd=0.1, run_tokens=2_000_000)
    asked = said(models=("claude-x",), agent="react", trials=3, spending=spending)
    read = vars(make_parser(80).parse_args(shlex.split(_again(asked, "--questions 40"))[1:]))
    assert (read["models"], read["agent"], read["trials"]) == (["claude-x"], "react", 3)
    assert (read["run_usd"], read["cell_usd"], read["run_tokens"]) == (2.5, 0.1, 2_000_000)
    assert _again(asked, "--trials 9").count("--trials") == 1
    kept = said(save=Path(), models=("claude-x",), spending=RunSpending(run_usd=2.5))
    assert _in_project(kept, "fairtrial run", "--trials 3").endswith(
        "run --max-dollars=2.5 --model=claude-x --trials 3"
    )
    other = _again(said(models=("offline",)), "--model claude-ID")
    assert other == "fairtrial try --model claude-ID pypi:acme"


def test_a_variable_is_named_and_its_value_which_may_be_secret_is_not() -> None:
    assert "--env ACME_KEY=… pypi:acme" in _again(said(env=("ACME_KEY=s3cret",)), "--trials 3")


def test_in_a_project_with_scenarios_of_its_own_the_command_names_those_that_it_compares() -> None:
    own = MeasuredOn(measured=CORE, left_out=(), taken=("example-handler-lookup",))
    command = f"fairtrial run --server acme --scenario {CORE[0]} --scenario {CORE[1]}"
    first, without = own.lines("acme")
    assert first.startswith(f"`{command}` compares on 2 of 2 scenarios: {CORE[0]}")
    assert without == "  without --scenario it takes your project's own: example-handler-lookup"
    plain = MeasuredOn(measured=CORE[:1], left_out=((CORE[1], "no call shows it"),), taken=CORE)
    first, left_out = plain.lines("acme")
    assert first == f"`fairtrial run --server acme` compares on 1 of 2 scenarios: {CORE[0]}"
    assert left_out.startswith("  left out: flask-error-handling")


def test_what_was_kept_in_a_project_is_locked_and_run_there_and_not_tried_again() -> None:
    command = "fairtrial run --server acme"
    kept = said(save=Path())
    said_next = _in_project(kept, command, "--model claude-ID")
    assert said_next == f"fairtrial lock && {command} --model claude-ID"
    elsewhere = said(save=Path("../my trials"), models=("claude-x",))
    assert _in_project(elsewhere, command, "--questions 40") == (
        f"cd '../my trials' && fairtrial lock && {command} --model=claude-x"
    )
