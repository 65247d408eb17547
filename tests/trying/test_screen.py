"""The screen of a try says how cells ended, what the calls were worth, and what is next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from runner.authoring.onboarding.onboarding_state import OnboardedServer
from runner.authoring.onboarding.preflight import ServerUse
from runner.authoring.onboarding.screen import screen
from runner.records import OutcomeKind, PypiSource, Step
from runner.report.build_report import build_report
from runner.report.records import Report
from tests.helpers import CARD
from tests.report.loaded import (
    GATE,
    MODEL,
    catalog,
    cell,
    loaded,
    measured,
    result,
    scenario,
    server,
)

STEPS = (Step(name="answer", prompt="Who calls it?"),)
NAMED = CARD.model_copy(update={"name": "codegraph", "tools": ("find", "read", "pack")})


def use(calls: int, errors: int, empty: int) -> ServerUse:
    return ServerUse(
        calls=calls,
        errors=errors,
        empty=empty,
        first_error='{"error": "no index"}' if errors else "",
        failure="",
        tools={"mcp__codegraph__find": calls - 1, "read": 1},
    )


def report(kind: OutcomeKind = "answered") -> Report:
    with_server = cell("alpha", "codegraph", model="offline")
    ended = replace(measured(with_server, 0.6), result=result(with_server, kind))
    run = loaded([measured(cell("alpha", model="offline"), 0.5), ended])
    return build_report(run, *catalog(run))


def shown(of: Report, used: ServerUse) -> str:
    tried = OnboardedServer(
        folder=Path(),
        server="codegraph",
        scenario="alpha",
        card=NAMED,
        guesses=(),
        writing_tools=(),
        wall_sec=1.0,
    )
    text = screen(of, tried, used, lambda more: f"fairtrial try {more} npm:codegraph", "r.html")
    assert max(map(len, text.splitlines()[:-2])) <= 80
    return " ".join(text.split())


def test_an_arm_that_ran_out_of_tokens_is_said_to_and_does_not_work_in_a_run() -> None:
    text = shown(report("out_of_tokens"), use(4, 0, 0))
    assert "codegraph, of 1 cell: 1 out_of_tokens" in text
    assert "did not end with an answer (out_of_tokens)" in text
    assert "works in a run" not in text
    assert "out_of_tokens" not in shown(report(), use(4, 0, 0))


def test_calls_that_found_nothing_and_errors_nobody_marked_are_counted_and_one_is_shown() -> None:
    text = shown(report(), use(40, 15, 24))
    assert "40 calls: 15 errors, 24 found nothing" in text
    assert '{"error": "no index"}' in text
    assert "Used: find ×39, read ×1. Never: pack." in text


def test_a_server_whose_calls_found_nothing_is_not_said_to_work() -> None:
    text = shown(report(), use(4, 1, 3))
    assert "No call found anything" in text
    assert "works in a run" not in text
    assert "next: fairtrial server tools codegraph" in text


def test_the_screen_ends_in_the_next_command_and_says_that_it_screens_once() -> None:
    text = shown(report(), use(4, 0, 0))
    assert "works in a run" in text
    assert "next: fairtrial try --model claude-ID npm:codegraph" in text
    assert text.count("SCREENING") == 1


def keyed(model: str) -> Report:
    one = PypiSource(kind="pypi", name="flask", version="3.1.2", sha256="5" * 64)
    figures = {"shell": 0.5, "codegraph": 0.7}
    cells = [
        measured(cell(f"q{place}", name, model=model), f1)
        for place in range(14)
        for name, f1 in figures.items()
    ]
    asked = {
        f"q{it}": scenario(f"q{it}", repository=one, asks="callers", steps=STEPS)
        for it in range(14)
    }
    gate = GATE.model_copy(update={"judge": "exact", "rho": None})
    return build_report(loaded(cells), asked, {"codegraph": server("codegraph")}, gate=gate)


def test_with_keys_it_ends_in_what_a_text_search_and_the_server_find() -> None:
    text = shown(keyed("offline"), use(4, 0, 0))
    assert "codegraph on 14 questions about pypi:flask==3.1.2" in text
    assert "a text search alone gets F1 0.500, and the same program with codegraph's tools" in text
    assert "tools 0.700. No language model answered" in text


def test_with_keys_and_a_model_it_ends_in_the_difference_and_its_interval() -> None:
    text = shown(keyed(MODEL), use(4, 0, 0))
    assert "F1 is 0.700, with the shell alone 0.500: 0.200 [+0.200, +0.200]" in text
    assert "higher than shell on flask" in text
    assert "RANKED by exact keys: no judge." in text
    assert "next: fairtrial try --questions 28" in text
