"""The screen of a try says how cells ended, what the calls were worth, and what is next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from runner.authoring.onboarding.copying import SUBSTITUTE
from runner.authoring.onboarding.onboarding_state import OnboardedServer
from runner.authoring.onboarding.preflight import CellPair, ServerUse, ToolsShare, share_of
from runner.authoring.onboarding.screen import screen
from runner.records import Event, OutcomeKind, Prose, Step, ToolCall
from runner.report.build_report import build_report
from runner.report.records import Report
from tests.helpers import CARD
from tests.report.loaded import (
    FLASK,
    KEYS,
    MODEL,
    answered,
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


def report(kind: OutcomeKind = "answered", *, copied: bool = False) -> Report:
    with_server = cell("alpha", "codegraph", model="offline")
    ended = replace(measured(with_server, 0.6), result=result(with_server, kind))
    run = loaded([measured(cell("alpha", model="offline"), 0.5), ended])
    scenarios, servers = catalog(run)
    if copied:
        on_copy = servers["codegraph"].model_copy(update={"substitutes": (SUBSTITUTE,)})
        servers = {**servers, "codegraph": on_copy}
    return build_report(run, scenarios, servers)


def test_what_works_on_a_copy_is_told_with_the_option_that_lends_it_a_folder_instead() -> None:
    text = shown(report(copied=True), use(4, 0, 0))
    assert "If all that it writes lies in one folder, --private FOLDER lends it that" in text
    assert "--private" not in shown(report(), use(4, 0, 0))


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
    placeholder = "claude-ID stands for a model's name, and needs an API key of yours."
    assert placeholder in text
    assert placeholder not in shown(keyed(MODEL), use(4, 0, 0))


def keyed(model: str) -> Report:
    figures = {"shell": 0.5, "codegraph": 0.7}
    cells = [
        measured(cell(f"q{place}", name, model=model), f1)
        for place in range(14)
        for name, f1 in figures.items()
    ]
    asked = {
        f"q{it}": scenario(f"q{it}", repository=FLASK, asks="callers", steps=STEPS)
        for it in range(14)
    }
    return build_report(loaded(cells), asked, {"codegraph": server("codegraph")}, gate=KEYS)


def test_with_keys_it_ends_in_what_a_text_search_and_the_server_find() -> None:
    text = shown(keyed("offline"), use(4, 0, 0))
    assert "codegraph on 14 questions about pypi:flask==3.1.2" in text
    assert "a text search alone gets F1 0.500, and the same program with codegraph's tools" in text
    assert "tools 0.700. It searches by words in both arms. No language model answered" in text


def call_of(origin: Literal["shell", "server"], text: str, *, error: bool = False) -> list[Event]:
    made = ToolCall(step=1, turn=1, call_id=text, origin=origin, tool="find", arguments={})
    return [made, answered(made, text, is_error=error)]


def answers(*places: str) -> Prose:
    listed = "".join(f"- `{place}` has `finish_up()`\n" for place in places)
    return Prose(step=1, turn=2, text=f"{listed}\nFOUND: {len(places)}")


def test_what_both_arms_cite_alike_is_said_to_show_nothing_of_the_tools() -> None:
    alone = [*call_of("shell", "app.py:5: finish_up()"), answers("app.py:5", "app.py:9")]
    idle = [*call_of("server", "app.py:9: finish_up()", error=True), *alone]
    helped = [*call_of("server", "app.py:9: finish_up()"), *alone]
    more = [*call_of("server", "b.py:3: finish_up()"), answers("app.py:5", "app.py:9", "b.py:3")]
    asked = {
        name: CellPair(question=name, alone=alone, with_server=events)
        for name, events in {"idle": idle, "helped": helped, "more": more}.items()
    }
    nothing = share_of([asked["idle"], asked["helped"]])
    assert nothing == ToolsShare(questions=2, same=2, cited=4, read=1)
    text = shown(keyed("offline"), replace(use(4, 0, 0), share=nothing))
    assert "of 4 places that it cited with them it had read 1 in the tools' answers" in text
    assert "the same without them in 2 of 2 questions, so nothing follows about the tools." in text
    whole = ToolCall(
        step=1, turn=1, call_id="r", origin="server", tool="read", arguments={"path": "app.py"}
    )
    reader = [whole, answered(whole, "def f():\n    finish_up()\n"), *alone]
    reads = share_of([CellPair(question="reads", alone=alone, with_server=reader)])
    assert reads.read == 2
    some = share_of(list(asked.values()))
    assert some == ToolsShare(questions=3, same=2, cited=7, read=2)
    text = shown(keyed("offline"), replace(use(4, 0, 0), share=some))
    assert "in 2 of 3 questions. No language model answered" in text


def test_with_keys_and_a_model_it_ends_in_the_difference_and_its_interval() -> None:
    text = shown(keyed(MODEL), use(4, 0, 0))
    assert "F1 is 0.700, with the shell alone 0.500: 0.200 [+0.200, +0.200]" in text
    assert "higher than shell on flask" in text
    assert "RANKED by exact keys: no judge." in text
    assert "next: fairtrial try --questions 28" in text
