"""What a report says, what it refuses to say, and the ways to game it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from runner.records import BY_MANIFEST, Gate, Price, PriceList, TokenBreakdown
from runner.records.run_store import LoadedCell, LoadedRun, RunStore
from runner.report import html, markdown, terminal
from runner.report.build_report import build_report
from runner.report.caveats import not_concluded
from runner.report.grid import clean
from runner.report.records import ArmReport, Report
from runner.report.report_files import FORMATS, render_json, write_report
from runner.report.tables import CELLS_SHOWN, of_scenario
from runner.report.terminal_first import render as first_screen_of
from tests.report.loaded import (
    GATE,
    MODEL,
    NAMES,
    SHELL_SCORES,
    broken,
    catalog,
    cell,
    citation,
    fingerprint,
    grounding,
    loaded,
    measured,
    result,
    scenario,
    scorecard,
    server,
    small_run,
    unfinished,
)

EXPECTED = Path(__file__).parent / "expected"


SCREENING = GATE.model_copy(
    update={"standing": "screens", "unmet": ("words shuffled: 0.57, at least 0.90, n = 60",)}
)


def report_of(run: LoadedRun, gate: Gate | None = GATE) -> Report:
    return build_report(run, *catalog(run), gate=gate)


def arm(report: Report, label: str) -> ArmReport:
    return next(one for one in report.arms if one.label == label)


def shells(scores: Sequence[float] = SHELL_SCORES, **changes: Any) -> list[LoadedCell]:
    return [
        measured(cell(name, **changes), score) for name, score in zip(NAMES, scores, strict=False)
    ]


def pairs(gain: float, *, model: str = "claude-sonnet-4", n: int = 6) -> list[LoadedCell]:
    return shells(SHELL_SCORES[:n], model=model) + [
        measured(cell(name, "codegraph", model=model), round(score + gain, 3))
        for name, score in zip(NAMES[:n], SHELL_SCORES, strict=False)
    ]


def all_forms(report: Report) -> dict[str, str]:
    return {name: render(report) for name, render in FORMATS.items()} | {
        "terminal": terminal.render(report)
    }


# --- whole output ---------------------------------------------------------------------------


def test_the_terminal_report_reads_as_expected_in_80_columns() -> None:
    text = terminal.render(report_of(small_run()))
    assert text == (EXPECTED / "terminal.txt").read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= 80


def two_cells() -> LoadedRun:
    run = [
        measured(cell("alpha", model="offline"), 0.5),
        measured(cell("alpha", "codegraph", model="offline"), "no judge was reachable"),
    ]
    return loaded(run, ungated=True)


def test_the_markdown_report_reads_as_expected() -> None:
    assert markdown.render(report_of(two_cells())) == (EXPECTED / "report.md").read_text(
        encoding="utf-8"
    )


def test_the_same_run_gives_the_same_bytes_and_reads_back_as_the_same_report(
    tmp_path: Path,
) -> None:
    report = report_of(small_run())
    paths = write_report(report, tmp_path)
    assert [path.name for path in paths] == ["report.json", "report.md", "report.html"]
    assert [path.read_text(encoding="utf-8") for path in paths] == [
        render(report_of(small_run())) for render in FORMATS.values()
    ]
    assert Report.model_validate_json(paths[0].read_bytes()) == report


def test_a_run_on_disk_is_reported_from_what_the_store_holds(tmp_path: Path) -> None:
    run, store = small_run(), RunStore(tmp_path / "flask-run")
    store.write_plan(run.plan)
    for item in run.cells[:8]:
        assert item.result is not None
        assert item.scorecard is not None
        store.finish(store.begin(item.cell), item.result)
        store.write_scorecard(item.scorecard)
    tallies = {one.label: one.tally for one in report_of(store.load()).arms}
    assert (tallies["shell"].measured, tallies["codegraph"].measured) == (7, 1)
    assert tallies["cclsp"].unfinished == 7


# --- the denominator ------------------------------------------------------------------------


def test_broken_cells_stay_in_the_denominator_and_are_named_with_their_reason() -> None:
    report = report_of(small_run())
    tally = arm(report, "cclsp").tally
    assert (tally.planned, tally.measured, tally.attempts) == (7, 6, 8)
    assert (tally.broken, tally.unfinished) == (1, 0)
    assert [(fault.scenario, fault.outcome, fault.reason) for fault in report.faults] == [
        ("golf", "sandbox_failed", "the container is gone")
    ]
    assert all(
        "6/7" in text and "the container is gone" in text
        for name, text in all_forms(report).items()
        if name != "report.json"
    )


def test_dropping_the_bad_cells_from_the_load_shows_them_as_unfinished() -> None:
    run = small_run()
    kept = tuple(item for item in run.cells if item.measured and item.cell.scenario in NAMES[:3])
    report = report_of(replace(run, cells=kept))
    assert {one.label: (one.tally.planned, one.tally.unfinished) for one in report.arms} == {
        "shell": (7, 4),
        "codegraph": (7, 4),
        "cclsp": (7, 4),
    }
    assert arm(report, "codegraph").fairness.score.planned == 7
    assert any("4 of 7 cells are not finished" in line for line in report.not_concluded)


def test_cells_that_nobody_planned_count_for_nobody() -> None:
    run = small_run()
    padded = replace(run, cells=(*run.cells, measured(cell("hotel", "codegraph"), 1.0)))
    assert report_of(padded) == report_of(run)


def test_a_scorecard_beside_a_broken_cell_is_not_believed() -> None:
    lucky = broken(cell("alpha", "codegraph"))
    lucky = replace(lucky, scorecard=scorecard(lucky.cell, 1.0))
    report = report_of(loaded([measured(cell("alpha"), 0.5), lucky]))
    found = arm(report, "codegraph")
    assert (found.fairness.score.value, found.grounding.total) == (None, 0)
    assert found.delta.judgement == "not_compared"
    shown = report.sections[0].arms[1].cells[0]
    assert (shown.fairness, shown.commentary, shown.failed_total) == (None, (), 0)


def test_a_crashed_server_is_a_measurement_that_counts_and_is_shown() -> None:
    crash = cell("alpha", "codegraph")
    died = LoadedCell(
        cell=crash,
        result=result(crash, "server_crashed", "the health probe found nothing", fingerprint=None),
        attempts=1,
        scorecard=scorecard(crash, 0.0),
    )
    report = report_of(loaded([measured(cell("alpha"), 0.5), died]))
    assert arm(report, "codegraph").fairness.score.value == 0.0
    assert arm(report, "codegraph").delta.value == -0.5
    assert [(fault.outcome, fault.is_measurement) for fault in report.faults] == [
        ("server_crashed", True)
    ]


# --- what is compared -----------------------------------------------------------------------


def test_what_a_server_is_given_in_the_place_of_its_own_stands_beside_its_figures() -> None:
    run = small_run()
    scenarios, servers = catalog(run)
    name = next(iter(servers))
    told = {"substitutes": ("Its model is another.",), "notes": ("Lines count from 0.",)}
    noted = {**servers, name: servers[name].model_copy(update=told)}
    report = build_report(run, scenarios, noted, gate=GATE)
    caveat = f"That {name} does for its users what it did here. Its model is another."
    assert caveat in report.not_concluded
    screen = first_screen_of(report, "report.html")
    assert f"{name} is not as its users have it: Its model is another." in screen
    assert "Its model is another." in terminal.render(report)
    for page in (markdown.render(report), html.render(report)):
        assert "Its model is another." in page and "Lines count from 0." in page
    plain = report_of(run)
    assert not any("for its users" in sentence for sentence in plain.not_concluded)
    assert "as its users have it" not in first_screen_of(plain, "report.html")


def test_arms_with_different_fingerprints_are_not_compared_and_what_differs_is_said() -> None:
    cells = pairs(0.3)
    odd = cells[6]
    assert odd.result is not None
    cells[6] = replace(
        odd,
        result=odd.result.model_copy(update={"fingerprint": fingerprint(odd.cell, kernel="6.5.0")}),
    )
    report = report_of(loaded(cells))
    found = arm(report, "codegraph")
    assert (found.delta.scenarios, found.fairness.score.cells) == (5, 5)
    assert found.delta.judgement == "too_few"
    assert [one.differs for one in report.incomparable] == [("kernel: 6.1.0 against 6.5.0",)]
    assert all("6.1.0 against 6.5.0" in text for text in all_forms(report).values())


def test_a_measured_cell_without_a_fingerprint_is_compared_with_nobody() -> None:
    cells = [measured(cell("alpha"), 0.5), measured(cell("alpha", "codegraph"), 0.9)]
    cells[1] = replace(cells[1], result=result(cells[1].cell, fingerprint=None))
    report = report_of(loaded(cells))
    assert arm(report, "codegraph").delta.judgement == "not_compared"
    assert "no fingerprint" in report.incomparable[0].differs[0]


def test_a_steady_gain_over_enough_scenarios_is_higher_than_shell() -> None:
    delta = arm(report_of(small_run()), "codegraph").delta
    assert (delta.judgement, delta.value, delta.scenarios, delta.pairs) == ("higher", 0.199, 7, 7)
    assert delta.low is not None
    assert delta.low > 0


def test_a_steady_loss_is_lower_than_shell() -> None:
    assert arm(report_of(loaded(pairs(-0.2))), "codegraph").delta.says == "lower than shell"


def test_an_interval_that_holds_zero_detects_nothing() -> None:
    cells = shells() + [
        measured(cell(name, "codegraph"), round(score + shift, 3))
        for name, score, shift in zip(
            NAMES, SHELL_SCORES, (0.3, -0.3, 0.2, -0.2, 0.1, -0.05, 0.0), strict=True
        )
    ]
    report = report_of(loaded(cells))
    delta = arm(report, "codegraph").delta
    assert delta.says == "no difference detected"
    assert delta.low is not None and delta.high is not None
    assert delta.could_miss == max(-delta.low, delta.high)
    for text in all_forms(report).values():
        assert f"{delta.could_miss:.3f} could have been missed" in " ".join(text.split()) or (
            text.startswith("{")
        )


def test_a_gain_inside_the_noise_of_duplicates_detects_nothing() -> None:
    cells = []
    for name in NAMES:
        for trial, swing in ((1, -0.2), (2, 0.2)):
            cells.append(measured(cell(name, trial=trial), round(0.5 + swing, 3)))
            cells.append(measured(cell(name, "codegraph", trial), round(0.55 + swing, 3)))
    delta = arm(report_of(loaded(cells)), "codegraph").delta
    assert delta.low is not None
    assert delta.noise_floor is not None
    assert delta.low > 0  # the pairs swing together: the interval alone would have called it a gain
    assert delta.noise_floor > 0.05
    assert delta.says == "no difference detected (inside the noise floor)"


def test_too_few_scenarios_are_too_few_however_many_trials_they_have() -> None:
    cells = [
        measured(cell(name, server_name, trial), score)
        for name in NAMES[:5]
        for trial in range(1, 9)
        for server_name, score in (("shell", 0.3), ("codegraph", 0.9))
    ]
    delta = arm(report_of(loaded(cells)), "codegraph").delta
    assert (delta.pairs, delta.low) == (40, None)
    assert delta.says == "too few to tell (5 of 6 repositories, or 5 of 12 groups of questions)"


def test_servers_without_a_shell_arm_are_compared_with_nothing() -> None:
    report = report_of(loaded([measured(cell("alpha", "codegraph"), 0.9)]))
    assert report.arms[0].delta.says == "not compared: the run has no shell arm"


def test_each_model_is_compared_with_its_own_shell() -> None:
    report = report_of(loaded(pairs(0.2, n=7) + pairs(-0.2, n=7, model="claude-haiku-4")))
    assert {one.label: one.delta.judgement for one in report.arms} == {
        "shell (claude-sonnet-4)": "baseline",
        "codegraph (claude-sonnet-4)": "higher",
        "shell (claude-haiku-4)": "baseline",
        "codegraph (claude-haiku-4)": "lower",
    }


def test_arms_stand_shell_first_then_as_planned_whatever_they_scored() -> None:
    cells = [
        measured(cell("alpha", "zulu"), 0.1),
        measured(cell("alpha", "codegraph"), 0.9),
        measured(cell("alpha"), 0.2),
    ]
    assert [one.label for one in report_of(loaded(cells)).arms] == ["shell", "zulu", "codegraph"]


# --- scores stay apart ----------------------------------------------------------------------


def test_adoption_never_moves_fairness() -> None:
    def with_adoption(value: float) -> Report:
        used = [
            replace(item, scorecard=scorecard(item.cell, 0.6, adoption=value))
            for item in pairs(0.1)
        ]
        return report_of(loaded(used))

    idle, busy = with_adoption(0.0), with_adoption(1.0)
    assert [(one.fairness, one.delta) for one in idle.arms] == [
        (one.fairness, one.delta) for one in busy.arms
    ]
    assert arm(idle, "codegraph").adoption != arm(busy, "codegraph").adoption


def test_there_is_no_total_anywhere() -> None:
    keys = {
        key for path, _ in leaves(report_of(small_run()).model_dump(mode="json")) for key in path
    }
    assert not keys & {"overall", "combined", "final", "rank", "winner"}
    assert {
        path[-2]
        for path, _ in leaves(report_of(small_run()).model_dump(mode="json"))
        if path[-1] == "total"
    } == {"grounding"}


def test_the_shell_has_no_adoption_and_shows_a_dash() -> None:
    report = report_of(small_run())
    assert arm(report, "shell").adoption is None
    assert re.search(r"^shell +—( +—){6}$", terminal.render(report), re.M)


def test_an_unscored_part_shows_its_reason_and_never_a_zero() -> None:
    report = report_of(two_cells())
    figure = arm(report, "codegraph").fairness.score
    assert (figure.value, figure.reasons) == (None, ("no judge was reachable (1 of 1 cells)",))
    for text in all_forms(report).values():
        assert "no judge was reachable" in text
        assert not re.search(r"\bnan\b", text, re.I)


def test_a_cell_that_was_not_scored_yet_says_so() -> None:
    cells = [
        measured(cell("alpha"), 0.5),
        replace(measured(cell("alpha", "codegraph"), 0.5), scorecard=None),
    ]
    assert arm(report_of(loaded(cells)), "codegraph").fairness.score.reasons == (
        "not scored yet (1 of 1 cells)",
    )


def test_grounding_rates_are_pooled_over_citations_not_over_cells() -> None:
    few = grounding(
        total=1,
        grounded=1,
        exact=1,
        strict_rate=1.0,
        headline_rate=1.0,
        chance_rate=0.0,
        with_symbol=0,
        definition_rate=None,
    )
    many = grounding(
        total=99, grounded=0, exact=0, strict_rate=0.0, headline_rate=0.0, chance_rate=0.1
    )
    cells = [
        measured(cell("alpha"), 0.5, grounding=few),
        measured(cell("bravo"), 0.5, grounding=many),
    ]
    parts = report_of(loaded(cells)).arms[0].grounding
    assert (parts.total, parts.chance_rate) == (100, 0.099)
    assert parts.headline_rate == parts.strict_rate == 0.01


def test_tokens_against_shell_count_only_the_trials_that_both_have() -> None:
    cells = [
        measured(cell("alpha"), 0.5),
        measured(cell("bravo"), 0.5),
        measured(cell("alpha", "codegraph"), 0.5),
    ]
    cells.append(broken(cell("bravo", "codegraph")))
    costs = arm(report_of(loaded(cells)), "codegraph").costs
    assert (costs.tokens_vs_shell, costs.seconds_vs_shell) == (1.44, 1.5)


# --- offline and ungated --------------------------------------------------------------------


def test_an_offline_report_says_first_that_it_ranks_nobody_and_then_ranks_nobody() -> None:
    report = report_of(loaded(pairs(0.4, model="offline")))
    assert terminal.render(report).startswith(
        "Made with the offline model: it checks plumbing and servers, and ranks nobody.\n"
    )
    assert markdown.render(report).startswith(
        "**Made with the offline model: it checks plumbing and servers, and ranks nobody.**\n"
    )
    assert arm(report, "codegraph").delta.judgement == "not_ranked"
    for text in all_forms(report).values():
        assert not re.search(r"higher than shell|lower than shell|winner|beats shell", text)


def test_a_replayed_report_ranks_nobody_either() -> None:
    report = report_of(loaded(pairs(0.4, model="replay:runs/old")))
    assert arm(report, "codegraph").delta.judgement == "not_ranked"
    assert "replayed recording" in report.notices[0]


def marked_forms(report: Report, mark: str) -> dict[str, str]:
    """Its forms, in which whatever is quoted alone has the mark: headings and drawings."""
    forms = all_forms(report)
    headings = [line for line in forms["report.md"].splitlines() if re.match(r"#{1,2} ", line)]
    assert len(headings) > 15
    assert all(mark in line for line in headings)
    drawing = r'<svg class="drawing.*?</svg>\s*<figcaption'
    drawings = re.findall(drawing, forms["report.html"], re.DOTALL)
    assert drawings and all(mark in it for it in drawings)
    return forms


def test_an_ungated_run_says_so_in_every_form() -> None:
    forms = marked_forms(report_of(small_run(ungated=True)), "UNGATED")
    assert json.loads(forms["report.json"])["ungated"] is True
    assert "<p><strong>UNGATED" in forms["report.html"]
    assert forms["terminal"].count("UNGATED · ") == 1
    assert "UNGATED" not in "".join(all_forms(report_of(small_run())).values())


# --- a judge that screens -------------------------------------------------------------------

RANKING_WORDS = re.compile(
    r"\b(?:better|best|worse|worst|winner|wins?|won|beats?|higher|lower|ranks|ranking|ranked)\b"
)
EXPLAINED = (
    "no arm is ranked",
    "nobody is ranked",
    "Nobody is ranked",
    "ranks nobody",
    "no pattern of wins can be told",
    "an arm beats another",
    "arm's answers are better than another's",
    "a server which is called more is better",
    "criterion scores rank anyone",
)
"""Sentences that say what may not be said."""


def read(text: str) -> str:
    """A form as its reader takes it in: no tags, no escapes, one blank between words."""
    bare = re.sub(r"<(style|script)>.*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL)
    return " ".join(unescape(bare).replace("\\", "").split())


def screened() -> Report:
    return report_of(loaded(pairs(0.4)), SCREENING)


@pytest.mark.parametrize("form", ["terminal", "report.md", "report.html", "report.json"])
def test_a_judge_that_screens_ranks_nobody_in_any_form(form: str) -> None:
    ranked = read(all_forms(report_of(loaded(pairs(0.4))))[form])
    assert "higher than shell" in ranked
    assert "SCREENING" not in ranked
    text = read(all_forms(screened())[form])
    assert "SCREENING: the judge checklist screens (requirements not met: 1)" in text
    assert "words shuffled: 0.57, at least 0.90, n = 60" in text
    for sentence in EXPLAINED:
        text = text.replace(sentence, "")
    assert not RANKING_WORDS.findall(text)


@pytest.mark.parametrize("gain", [0.4, -0.4, 0.0])
def test_whatever_the_difference_a_screening_judge_says_the_same_of_it(gain: float) -> None:
    delta = arm(report_of(loaded(pairs(gain)), SCREENING), "codegraph").delta
    assert (delta.judgement, delta.says) == ("not_ranked", "screening")
    assert delta.value == pytest.approx(gain)


def test_a_screening_report_says_so_wherever_a_part_is_quoted() -> None:
    forms = marked_forms(screened(), "SCREENING")
    assert json.loads(forms["report.json"])["standing"] == "screens"
    assert max(map(len, forms["terminal"].splitlines())) <= 80


def test_what_a_wheel_carries_is_said_to_be_as_built_and_frightens_nobody() -> None:
    report = report_of(loaded(pairs(0.4)), GATE.model_copy(update={"history": BY_MANIFEST}))
    assert not any("THE LOCK'S PAST" in notice for notice in report.notices)
    assert markdown.render(report).count(BY_MANIFEST) == 1
    beside = report_of(loaded(pairs(0.4)), GATE.model_copy(update={"history": "not checked"}))
    assert any("THE LOCK'S PAST: not checked" in notice for notice in beside.notices)


@pytest.mark.parametrize("gate", [None, GATE])
def test_a_run_that_no_gate_vouches_for_ranks_nobody(gate: Gate | None) -> None:
    report = report_of(loaded(pairs(0.4), ungated=gate is not None), gate)
    assert report.standing == "screens"
    assert arm(report, "codegraph").delta.says == "screening"
    assert any("no gate vouches for its judge" in notice for notice in report.notices)


# --- what may not be concluded --------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (pairs(0.2, model="offline"), "no language model answered"),
        (pairs(0.2, n=2), "2 were asked about, and 6 are the least"),
        (pairs(0.2, n=1), "1 groups of questions about the same files are fewer than 12"),
        (pairs(0.2), "only claude-sonnet-4 answered"),
        (pairs(0.2), "the noise floor is unknown"),
        (pairs(0.2), "every scenario has the same slant (favours indexes)"),
        (pairs(0.2), "all scenarios are in python"),
        (pairs(0.2), "the checklist judge sees those and nothing else"),
        ([*pairs(0.2, n=2), broken(cell("hotel"))], "1 of 3 cells broke"),
        ([*pairs(0.2, n=2), unfinished(cell("hotel"))], "1 of 3 cells are not finished"),
        (
            [measured(cell("alpha"), 0.5, grounding=grounding(chance_rate=0.75))],
            "random lines of the same files would reach 0.750",
        ),
        ([measured(cell("alpha"), "no judge was reachable")], "1 of 1 are in no mean"),
    ],
)
def test_a_caveat_stands_where_its_cause_does(cells: list[LoadedCell], says: str) -> None:
    assert any(says in line for line in report_of(loaded(cells)).not_concluded)


def test_a_broad_repeated_run_drops_the_caveats_it_has_earned() -> None:
    cells = [
        measured(cell(name, server_name, trial), round(score + 0.01 * trial, 3))
        for name, score in zip(NAMES, SHELL_SCORES, strict=True)
        for trial in (1, 2)
        for server_name in ("shell", "codegraph")
    ]
    run = loaded(cells)
    scenarios, servers = catalog(run)
    scenarios["bravo"] = scenario("bravo", slant="favours grep", language="typescript")
    text = " ".join(build_report(run, scenarios, servers).not_concluded)
    earned = ("noise floor", "same slant", "other languages", "other code", "sign test")
    for gone in (*earned, "broke", "UNGATED"):
        assert gone not in text


def test_a_server_whose_definition_changed_midway_is_called_two_servers() -> None:
    cells = pairs(0.2, n=2)
    last = cells[-1]
    cells[-1] = replace(
        last, result=result(last.cell, fingerprint=fingerprint(last.cell, server_spec="0" * 64))
    )
    assert any(
        "more than one definition" in line for line in report_of(loaded(cells)).not_concluded
    )


def test_tools_that_were_searched_for_and_not_offered_are_named_and_compared_all_the_same() -> None:
    def run(**of_the_server: object) -> Report:
        changed = []
        for one in pairs(0.2):
            changes = of_the_server if one.cell.server == "codegraph" else {}
            changed.append(
                replace(one, result=result(one.cell, fingerprint=fingerprint(one.cell, **changes)))
            )
        return report_of(loaded(changed))

    said = "tools of codegraph found by its search"
    searched, offered = run(tools_searched=True), run()
    assert searched.incomparable == () and searched.searched == ("codegraph",)
    assert said in first_screen_of(searched, "report.html")
    for name, text in all_forms(searched).items():
        assert said in text or '"searched": [' in text, name
    assert "found by the agent" in html.render(searched)
    assert not any("by its search" in text for text in all_forms(offered).values())


# --- scenarios and details ------------------------------------------------------------------


def test_failed_citations_are_listed_up_to_a_cap_and_the_rest_are_counted() -> None:
    wrong = tuple(citation(f"app.py:{number}") for number in range(9000, 9025))
    right = citation("app.py:10", status="grounded", start=10)
    unlined = citation("app.py", start=None, status="unresolved")
    report = report_of(loaded([measured(cell("alpha"), 0.5, citations=(right, unlined, *wrong))]))
    found = report.sections[0].arms[0].cells[0]
    assert (len(found.failed), found.failed_total) == (10, 25)
    for render in (markdown.render, html.render):
        text = render(report)
        assert "15 more of 25 are not listed" in text
        assert "app.py:9009" in text
        assert "app.py:9010" not in text


def test_a_scenario_that_left_the_catalog_is_still_reported() -> None:
    report = build_report(small_run(), {}, {})
    assert report.sections[0].slant == "unknown: no longer in the catalog"
    assert all(render(report) for render in FORMATS.values())


def test_an_empty_plan_gives_a_report_and_no_figures() -> None:
    report = report_of(loaded([]))
    assert (report.arms, report.trials) == ((), 0)
    assert all(all_forms(report).values())


def test_colour_is_there_when_asked_for_and_only_then() -> None:
    report = report_of(small_run())
    assert "\x1b[" in terminal.render(report, colour=True)
    assert (
        re.sub(r"\x1b\[[0-9;]*m", "", terminal.render(report, colour=True)).split()
        == terminal.render(report).split()
    )


# --- escaping -------------------------------------------------------------------------------

HOSTILE = (
    "</td><script>alert(1)</script>|pipe\n# heading\x1b[31m\x1b]0;title\x07\u202e`code` "
    "[x](javascript:1) & <b>" + "long" * 500
)


def hostile_run() -> tuple[Report, dict[str, str]]:
    cells = [
        measured(cell("alpha"), HOSTILE),
        measured(cell("alpha", "codegraph"), 0.5, citations=(citation(HOSTILE, HOSTILE),)),
        broken(cell("bravo"), reason=HOSTILE),
    ]
    run = loaded(cells)
    wicked = {"title": HOSTILE, "description": HOSTILE, "slant": HOSTILE}
    report = build_report(
        run, {"alpha": scenario("alpha", **wicked)}, {"codegraph": server("codegraph")}
    )
    return report, all_forms(report)


def test_untrusted_text_starts_no_element_in_the_page() -> None:
    _, forms = hostile_run()
    # Its own, which the policy knows by its digest, and no other.
    assert forms["report.html"].count("<script") == 1
    assert "<b>" not in forms["report.html"]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in forms["report.html"]


def test_untrusted_text_ends_no_markdown_cell_and_starts_no_line() -> None:
    _, forms = hostile_run()
    for line in forms["report.md"].splitlines():
        assert not line.startswith("# heading")
        assert "](javascript" not in line
        assert not re.search(r"(?<!\\)<", line)
    rows = [
        line
        for line in forms["report.md"].splitlines()
        if line.startswith("| bravo, shell, trial 1")
    ]
    assert [len(re.split(r"(?<!\\)\|", row)) for row in rows] == [7]


def test_untrusted_text_steers_no_terminal_and_turns_no_line_round() -> None:
    _, forms = hostile_run()
    for name in ("terminal", "report.md", "report.html"):
        assert not set(forms[name]) & {"\x1b", "\x07", "\u202e", "\r"}
    assert max(map(len, forms["terminal"].splitlines())) <= 80


def test_a_huge_text_is_clipped_with_its_true_size() -> None:
    assert clean("x" * 1000, 10) == "xxxxxxxxxx… (1,000 characters)"
    assert clean("a\tb\nc  d") == "a b c d"
    assert clean("\x1b[1mbold\x1b[0m \x9bx\x00") == "bold x"


# --- the page -------------------------------------------------------------------------------


class _Page(HTMLParser):
    VOID = frozenset({"meta", "rect", "line", "br", "circle", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["style"], ["script"]):
            self.words.append(data)


def test_the_page_is_one_well_formed_file_that_asks_for_nothing_else() -> None:
    page = _Page(html.render(report_of(small_run())))
    assert page.open == []
    assert not {tag for tag, _ in page.tags} & set("link img iframe object base form".split())
    assert all((attrs.get("href") or "#").startswith("#") for _, attrs in page.tags)
    assert not [
        tag
        for tag, attrs in page.tags
        if "src" in attrs or "style" in attrs or any(name.startswith("on") for name in attrs)
    ]
    bare = html.render(report_of(small_run())).replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|url\(|@import|fetch\(|XMLHttp|import\(", bare)


def test_every_table_of_the_page_names_itself_its_columns_and_its_rows() -> None:
    page = _Page(html.render(report_of(small_run())))
    tables = sum(tag == "table" for tag, _ in page.tags)
    assert tables == sum(tag == "caption" for tag, _ in page.tags) > 10
    assert {attrs.get("scope") for tag, attrs in page.tags if tag == "th"} == {"col", "row"}


def test_bars_say_in_words_what_they_show() -> None:
    labels = [
        attrs["aria-label"]
        for tag, attrs in _Page(html.render(report_of(small_run()))).tags
        if attrs.get("class") == "lane"
    ]
    assert labels[1] == "fairness 0.696, 95 % interval 0.650 to 0.740; shell 0.497"
    assert len(labels) == 4  # the shell once more, over the pairs of the one that broke


def leaves(value: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in leaves(inner, (*path, key))]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in leaves(inner, path)]
    return [(path, value)]


def shown_as(value: float) -> set[str]:
    whole = {f"{value:,.0f}"} if float(value).is_integer() else set()
    return whole | {f"{value:.3f}", f"{value:+.3f}", f"{value:,.2f}", f"{value:,.1f}"}


def test_every_figure_of_the_json_stands_in_the_page() -> None:
    cells = [
        measured(cell(name, server_name, trial), round(score + gain * trial, 3))
        for name, score in zip(NAMES, SHELL_SCORES, strict=True)
        for trial in (1, 2)
        for server_name, gain in (("shell", 0.017), ("codegraph", 0.113))
    ]
    report = report_of(loaded([*cells, broken(cell("alpha", "cclsp"))]))
    words = set(re.findall(r"[+-]?\d[\d,]*(?:\.\d+)?", " ".join(_Page(html.render(report)).words)))
    not_figures = {"schema_version", "start", "end", "distance", "definition_lines"}
    figures = [
        (path, value)
        for path, value in leaves(json.loads(render_json(report)))
        if isinstance(value, int | float)
        and not isinstance(value, bool)
        and path[-1] not in not_figures
    ]
    assert len(figures) > 300
    assert [(path, value) for path, value in figures if not shown_as(value) & words] == []


def test_a_fault_never_passes_for_a_score() -> None:
    failed = cell("alpha", "codegraph")
    report = report_of(
        loaded([measured(cell("alpha"), 0.5), broken(failed, "provider_failed", "overloaded")])
    )
    assert report.faults[0].is_measurement is False
    assert report.sections[0].arms[1].cells[0].unscored == "broken: provider_failed"


# --- what it cost -------------------------------------------------------------------------------


def phases(**changes: int) -> TokenBreakdown:
    given = {"prompts": 900, "schemas": 4000, "results": 3000, "replies": 100}
    written = {"thinking": 500, "prose": 300, "arguments": 200}
    return TokenBreakdown(estimated=True, **{**given, **written, **changes})


def with_effort(**changes: Any) -> LoadedCell:
    done = measured(cell("alpha"), 0.5)
    assert done.scorecard is not None
    effort = done.scorecard.fairness.effort.model_copy(update=changes)
    return measured(cell("alpha"), 0.5, effort=effort)


def priced(run: LoadedRun) -> LoadedRun:
    price = Price(input=10.0, cache_write=20.0, cache_read=1.0, output=100.0)
    prices = PriceList(date="2026-01-31", models={MODEL: price})
    return replace(run, plan=run.plan.model_copy(update={"prices": prices}))


def test_dollars_are_of_each_kind_of_token_at_the_runs_own_prices() -> None:
    spent = {"input_tokens": 3000, "cache_write_tokens": 1000, "cache_read_tokens": 5000}
    run = priced(loaded([with_effort(**spent, output_tokens=100, context_tokens=8100)]))
    report = report_of(run)
    (arm,) = report.arms
    # 2000 at 10, 1000 written at 20, 5000 read at 1, 100 out at 100, each per million.
    assert arm.costs.usd == 0.055
    assert (arm.costs.all_tokens, arm.costs.context_tokens) == (8100, 8100)
    assert "Dollars at prices of 2026-01-31." in markdown.render(report)
    assert "No price" not in markdown.render(report)


def test_a_model_without_a_price_is_said_and_not_guessed() -> None:
    report = report_of(loaded([with_effort()]))
    (arm,) = report.arms
    assert arm.costs.usd is None
    assert f"No price is known for {MODEL}" in markdown.render(report)


def test_tokens_are_shown_by_what_they_were_of_and_as_estimates() -> None:
    report = report_of(loaded([with_effort(phases=phases())]))
    row = next(line for line in markdown.render(report).splitlines() if "4,000" in line)
    cells = row.replace("\\", "").removesuffix(" |").split(" | ")[1:]
    assert cells == "~900 ~4,000 ~3,000 ~100 ~500 ~300 ~200".split()


# --- pairs ----------------------------------------------------------------------------------


def seven_beside_one() -> LoadedRun:
    """A server that was planned on the shell's worst scenario alone."""
    return loaded([*shells(), measured(cell(NAMES[0], "codegraph"), 0.45)])


def test_seven_cells_of_the_shell_are_not_set_beside_one_of_a_server() -> None:
    report = report_of(seven_beside_one())
    shell, codegraph = report.arms
    assert (shell.fairness.score.value, shell.fairness.score.cells) == (SHELL_SCORES[0], 1)
    assert (codegraph.fairness.score.cells, codegraph.delta.pairs) == (1, 1)
    assert (shell.tally.measured, shell.tally.unpaired) == (7, 6)
    for text in all_forms(report).values():
        assert "6 of 7 measured cells are" in re.sub(r"\s+", " ", text) or text.startswith("{")


def test_costs_are_of_pairs() -> None:
    cells = [*shells()[:1], measured(cell(NAMES[0], "codegraph"), 0.45)]
    alone = measured(cell(NAMES[1]), 0.5)
    assert alone.result is not None and alone.result.timings is not None
    timings = alone.result.timings.model_copy(update={"agent_sec": 3000.0})
    slow = replace(alone, result=alone.result.model_copy(update={"timings": timings}))
    with_it, without = report_of(loaded([*cells, slow])), report_of(loaded(cells))
    assert arm(with_it, "shell").costs == arm(without, "shell").costs


def test_a_server_with_fewer_pairs_stands_beside_the_shell_of_the_same_cells() -> None:
    report = report_of(small_run())
    beside = arm(report, "cclsp").beside
    assert beside is not None
    assert beside.fairness.score.cells == arm(report, "cclsp").fairness.score.cells == 6
    assert arm(report, "codegraph").beside is None


def test_a_cell_whose_counterpart_is_not_believed_is_unpaired() -> None:
    shell, codegraph = pairs(0.2, n=1)
    report = report_of(loaded([shell, replace(codegraph, believed=False)]))
    assert arm(report, "shell").tally.unpaired == 1
    assert arm(report, "codegraph").tally.contradicted == 1
    assert arm(report, "codegraph").delta.judgement == "not_compared"


def test_the_shell_alone_and_servers_without_it_need_no_counterpart() -> None:
    for cells in (shells(), [measured(cell(name, "codegraph"), 0.5) for name in NAMES]):
        (only,) = report_of(loaded(cells)).arms
        assert (only.tally.unpaired, only.fairness.score.cells) == (0, 7)


def test_a_name_says_nothing_of_what_answered() -> None:
    run = []
    for one in pairs(0.2):
        mark = fingerprint(one.cell, model_kind="offline")
        run.append(replace(one, result=result(one.cell, fingerprint=mark)))
    report = report_of(loaded(run))
    assert (report.language_model, report.language_models) == (False, ())
    assert report.notices[0].startswith("Made with the offline model")
    assert arm(report, "codegraph").delta.judgement == "not_ranked"


# --- a large run --------------------------------------------------------------------------------


def of_many_trials(trials: int) -> Report:
    arms = [(scenario, server) for scenario in NAMES[:2] for server in ("shell", "codegraph")]
    numbers = range(1, trials + 1)
    return report_of(loaded([measured(cell(*arm, n), 0.5) for n in numbers for arm in arms]))


def test_a_page_holds_the_first_trials_of_a_large_run_whole_and_says_how_many_more() -> None:
    report = of_many_trials(200)
    trials = CELLS_SHOWN // 4
    for section in report.sections:
        cells = of_scenario(section, report)[1]
        assert [row[1] for row in cells.rows] == [str(n + 1) for n in range(trials)] * 2
        assert cells.notes == ("100 more, with all that is said of them, are in report.json.",)
        assert len(section.arms[0].cells) == 200, "report.json holds them all"
    assert "100 more, with all" in markdown.render(report)


def test_a_page_of_as_many_cells_as_it_can_hold_leaves_none_out() -> None:
    report = of_many_trials(CELLS_SHOWN // 4)
    for section in report.sections:
        cells = of_scenario(section, report)[1]
        assert (len(cells.rows), cells.notes) == (CELLS_SHOWN // 2, ())


@pytest.mark.parametrize(
    ("judge", "model", "says"),
    [
        ("model:claude-haiku-4-5", "claude-sonnet-4-6", True),
        ("model:anthropic:claude-x", "claude-sonnet-4-6", True),
        ("panel:checklist+model:openai:gpt-5.1", "openai:gpt-6", True),
        ("model:openai:gpt-5.1", "claude-sonnet-4-6", False),
        ("checklist", "claude-sonnet-4-6", False),
    ],
)
def test_a_judge_of_the_family_of_the_agents_model_is_named(
    judge: str, model: str, says: bool
) -> None:
    changed = {"judges": (judge,), "models": (model,)}
    sentences = not_concluded(report_of(small_run()).model_copy(update=changed))
    assert says == any("its family" in it and judge in it and model in it for it in sentences)
