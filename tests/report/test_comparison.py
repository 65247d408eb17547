"""What a comparison says: of which clusters, beside which others, and by which margin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from runner.records import GitSource, MustCite, NpmSource, Scenario, Step, Study
from runner.records.run_store import LoadedCell, LoadedRun
from runner.report.build_report import build_report
from runner.report.clusters import Clusters, Topic, repository_name
from runner.report.records import Delta, Report
from runner.report.terminal_first import render as first_screen
from tests.report.loaded import FLASK, GATE, MODEL, SEED, cell, loaded, measured, scenario, server
from tests.report.test_report import SCREENING, all_forms, arm

Differences = Mapping[str, Sequence[float]]
"""Server -> its difference from the shell in each scenario."""


def run_of(differences: Differences, *, margin: float | None = None, **more: Any) -> LoadedRun:
    """Scenarios `s0`, `s1`, …"""
    scenarios = max(map(len, differences.values()))
    cells: list[LoadedCell] = []
    for place in range(scenarios):
        cells.append(measured(cell(f"s{place}"), 0.5))
        for name, gaps in differences.items():
            cells.append(measured(cell(f"s{place}", name), 0.5 + gaps[place]))
    return loaded(cells, margin=margin, **more)


def report_of(run: LoadedRun, **changes: Any) -> Report:
    """`changes`: of every scenario."""
    names = dict.fromkeys(one.scenario for one in run.plan.cells)
    servers = dict.fromkeys(one.server for one in run.plan.cells if one.server != "shell")
    gate = changes.pop("gate", GATE)
    scenarios = {name: scenario(name, **changes) for name in names}
    return build_report(run, scenarios, {name: server(name) for name in servers}, gate=gate)


def delta_of(differences: Differences, label: str = "x", **more: Any) -> Delta:
    margin = more.pop("margin", None)
    return arm(report_of(run_of(differences, margin=margin), **more), label).delta


GAINS = (0.10, 0.12, 0.09, 0.11, 0.08, 0.10, 0.13)

# --- clusters -------------------------------------------------------------------------------


def test_questions_about_one_repository_are_one_cluster() -> None:
    delta = delta_of({"x": GAINS}, repository=FLASK)
    assert delta.judgement == "too_few"
    assert delta.says == "too few to tell (1 of 6 repositories, or 7 of 12 groups of questions)"
    assert delta_of({"x": GAINS}).judgement == "higher"


def test_twelve_groups_of_questions_speak_of_their_repository_and_no_other() -> None:
    report = report_of(run_of({"x": GAINS + GAINS}), repository=FLASK)
    delta = arm(report, "x").delta
    assert delta.says == "higher than shell on flask"
    assert (delta.clusters, delta.cluster) == (14, "question")
    assert any("Anything about other repositories: 1 were" in one for one in report.not_concluded)


def test_questions_about_one_file_are_one_group() -> None:
    """The cheat: one lucky question, asked in fourteen wordings."""
    place = MustCite(path="src/app.py", line=3)
    asked = Step(name="one", prompt="Where?", must_cite=(place,))
    delta = delta_of({"x": GAINS + GAINS}, repository=FLASK, steps=(asked,))
    assert delta.judgement == "too_few"
    assert delta.clusters == 1


def test_groups_are_joined_over_the_files_between_them() -> None:
    files = {"a": "1", "b": "2", "c": "12", "d": "3", "e": ""}
    topics = {name: Topic(repository="r", files=frozenset(own)) for name, own in files.items()}
    clusters = Clusters(topics=topics)
    assert clusters.means({"a": 0.0, "b": 0.0, "c": 0.9, "d": 1.0, "e": 0.5}) == pytest.approx(
        (0.3, 1.0, 0.5)
    )


def test_a_repository_with_many_questions_outvotes_no_other() -> None:
    sources = [FLASK] * 20 + [FLASK.model_copy(update={"name": f"r{n}"}) for n in range(5)]
    run = run_of({"x": [0.5] * 20 + [0.0] * 5})
    scenarios: dict[str, Scenario] = {
        f"s{place}": scenario(f"s{place}", repository=source)
        for place, source in enumerate(sources)
    }
    delta = arm(build_report(run, scenarios, {}, gate=GATE), "x").delta
    assert delta.value == pytest.approx(0.5 / 6, abs=1e-3)
    assert delta.judgement == "no_difference"


def test_a_repository_is_the_same_from_wherever_it_comes() -> None:
    git = GitSource(kind="git", url="https://example.org/pallets/Flask.git", commit="a" * 40)
    npm = NpmSource(
        kind="npm", name="@pallets/flask", version="1.0.0", integrity=f"sha512-{'A' * 86}=="
    )
    newer = FLASK.model_copy(update={"version": "4.0"})
    assert {repository_name(source) for source in (FLASK, newer, git, npm)} == {"flask"}


# --- several servers ------------------------------------------------------------------------


def test_each_comparison_pays_for_the_others() -> None:
    alone = delta_of({"x": GAINS[:6]})
    beside = delta_of({"x": GAINS[:6], "y": GAINS[:6]})
    assert (alone.judgement, alone.p, alone.level) == ("higher", 0.0312, 0.95)
    assert (beside.judgement, beside.low) == ("too_few", None)
    assert beside.says == "too few to tell (6 of 7 repositories, or 6 of 12 groups of questions)"
    seven = delta_of({"x": GAINS, "y": GAINS})
    assert (seven.judgement, seven.p, seven.level) == ("higher", 0.0312, 0.975)


def test_intervals_of_a_judge_that_screens_pay_as_well() -> None:
    alone = delta_of({"x": GAINS}, gate=SCREENING)
    others = {f"y{n}": [0.0, 0.1, -0.1, 0.05, -0.05, 0.02, -0.02] for n in range(2)}
    beside = delta_of({"x": GAINS, **others}, gate=SCREENING)
    assert alone.says == beside.says == "screening"
    assert alone.low is not None and beside.low is not None
    assert beside.low < alone.low


def test_a_server_that_broke_is_still_paid_for() -> None:
    """The cheat: nine servers that fail to start, and the tenth is alone in its report."""
    whole = run_of({"x": GAINS, **{f"y{n}": GAINS for n in range(9)}})
    kept = tuple(one for one in whole.cells if one.cell.server in ("shell", "x"))
    delta = arm(report_of(replace(whole, cells=kept)), "x").delta
    assert delta.judgement == "too_few"
    assert "of 9 repositories" in delta.says


def test_twins_cannot_be_told_apart_though_their_words_differ() -> None:
    lucky = (0.02, 0.03, 0.01, 0.02, 0.04, 0.01, 0.02)
    twin = (0.03, 0.01, 0.02, 0.04, -0.01, 0.02, 0.01)
    report = report_of(run_of({"x": lucky, "y": twin}))
    assert arm(report, "x").delta.judgement == "higher"
    assert arm(report, "y").delta.judgement == "no_difference"
    (pair,) = report.between
    assert (pair.first, pair.second, pair.delta.judgement) == ("x", "y", "no_difference")
    assert "x and y cannot be told apart." in " ".join(first_screen(report, "page").split())
    assert all(
        "Servers against each other" in text or text.startswith("{")
        for text in (all_forms(report).values())
    )


def test_one_server_is_set_against_no_other() -> None:
    assert report_of(run_of({"x": GAINS})).between == ()


# --- a margin -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("differences", "judgement", "says"),
    [
        ((0.01, -0.01, 0.02, 0.0, -0.02, 0.01, 0.0), "equivalent", "equivalent to shell within"),
        ((-0.02, 0.09, 0.03, 0.08, -0.01, 0.09, -0.03), "no_worse", "no worse than shell by"),
        ((0.01, 0.02, 0.015, 0.01, 0.02, 0.01, 0.02), "small_difference", "higher than shell, by"),
        ((-0.01, -0.02, -0.01, -0.01, -0.02, -0.01, -0.02), "small_difference", "lower than"),
        (GAINS, "higher", "higher than shell"),
        ((-0.3, 0.3, 0.2, -0.2, 0.1, -0.1, 0.0), "no_difference", "no difference detected"),
    ],
)
def test_a_declared_margin_gives_a_difference_its_size(
    differences: Sequence[float], judgement: str, says: str
) -> None:
    delta = delta_of({"x": differences}, margin=0.05)
    assert delta.judgement == judgement
    assert delta.says.startswith(says)


def test_without_a_margin_in_the_plan_nothing_is_no_worse() -> None:
    """The cheat: a margin chosen once the figures are known."""
    level = (0.01, -0.01, 0.02, 0.0, -0.02, 0.01, 0.0)
    assert delta_of({"x": level}).judgement == "no_difference"
    old = Study(seed=SEED, pass_at=0.5, blocks=())
    assert old.margin is None
    assert "margin" not in old.model_dump(mode="json", exclude_none=True)


def test_the_verdict_is_read_off_the_ends_that_are_printed() -> None:
    hair = (0.0001, 0.0002, 0.0001, 0.0003, 0.0001, 0.0002, 0.0001)
    delta = delta_of({"x": hair})
    assert (delta.low, delta.judgement) == (0.0, "no_difference")
    assert delta.p is not None and delta.p < 0.05


def test_what_differences_vary_by_is_split() -> None:
    cells = []
    for place in range(6):
        for trial in (1, 2):
            swing = 0.05 if trial == 1 else -0.05
            cells.append(measured(cell(f"s{place}", trial=trial), 0.5))
            cells.append(measured(cell(f"s{place}", "x", trial), 0.6 + 0.01 * place + swing))
    varies = arm(report_of(loaded(cells)), "x").varies
    assert varies is not None
    assert varies.trial_sd == pytest.approx(0.071, abs=1e-3)
    assert (varies.repository_sd, varies.scenario_sd) == (0.0, None)
    assert varies.trial_share == 1.0
    assert arm(report_of(loaded(cells)), "shell").varies is None


def test_cells_of_a_scenario_that_left_the_catalog_are_of_the_tree_they_saw() -> None:
    report = build_report(run_of({"x": GAINS}), {}, {}, gate=GATE)
    assert report.sampled.repositories == 1
    assert MODEL in report.models


def test_trials_without_a_score_are_told_from_trials_that_one_arm_lacks() -> None:
    why = "the rubric is unreviewed: it has criteria without facts"
    both = [measured(cell("alpha", server), why) for server in ("shell", "codegraph")]
    said = arm(report_of(loaded(both)), "codegraph").delta.says
    assert said == f"not compared: no trial has a score in both arms ({why})"
    apart = [measured(cell("alpha"), why), measured(cell("beta", "codegraph"), why)]
    said = arm(report_of(loaded(apart)), "codegraph").delta.says
    assert said == "not compared: no trial that both arms have"
