"""Which cells a run plans, and what makes one cell another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from runner.benchmarks import BENCHMARKS
from runner.records import Canary, Limits, McpCall, RepoPin, Scenario
from runner.runs.run_inputs import PreparedArm, PreparedRun, PreparedScenario
from runner.sandbox import container
from tests.helpers import COMMIT, scenario
from tests.report.loaded import server

SCENARIOS = BENCHMARKS["scenarios"]


def arm(name: str, *, repository: str = "*") -> PreparedArm:
    if name == "shell":
        return PreparedArm(name=name, spec=None, volume=None, digest="0" * 64)
    canary = Canary(repository=repository, call=McpCall(tool="find"), contains="def")
    spec = server(name).model_copy(update={"canaries": (canary,)})
    return PreparedArm(name=name, spec=spec, volume=f"volume-of-{name}", digest="a" * 64)


def ground(asked: Scenario) -> PreparedScenario:
    pin = RepoPin(commit=COMMIT, tree="2" * 40, files=1)
    return PreparedScenario(scenario=asked, image="sha256:1", base_image="sha256:0", pin=pin)


def prepared(*arms: PreparedArm, **scenarios: Scenario) -> PreparedRun:
    scenarios = scenarios or {"one": scenario("Who calls it?"), "two": scenario("Why?")}
    return PreparedRun(
        engine_url=None,
        engine_version="20.10",
        kernel="6.1",
        harness="1" * 64,
        agent="tool_calling",
        benchmark="scenarios",
        limits=Limits(),
        arms={item.name: item for item in arms},
        scenarios={name: ground(asked) for name, asked in scenarios.items()},
    )


def test_all_arms_of_a_trial_are_run_one_after_the_other() -> None:
    cells = SCENARIOS.cells(prepared(arm("shell"), arm("good")), ["offline"], trials=2)
    assert [(item.trial, item.scenario, item.server) for item in cells] == [
        (1, "one", "shell"),
        (1, "one", "good"),
        (1, "two", "shell"),
        (1, "two", "good"),
        (2, "one", "shell"),
        (2, "one", "good"),
        (2, "two", "shell"),
        (2, "two", "good"),
    ]
    assert len({item.id for item in cells}) == 8


def test_a_server_that_nothing_proves_alive_on_a_repository_is_left_out_by_name() -> None:
    run = prepared(arm("shell"), arm("elsewhere", repository="pypi:flask==3.1.2"))
    assert SCENARIOS.cells(run, ["offline"], trials=1) == ()
    add = "; add one to its server.yaml to measure it there"
    assert SCENARIOS.left_out(run) == (
        "shell on one, two: no server is measured beside it",
        f"elsewhere has no health probe for the repositories of one, two{add}",
    )


def test_the_shell_is_run_where_a_server_is_measured_beside_it_and_nowhere_else() -> None:
    there = scenario("Why?")
    repository = there.repository.model_copy(update={"url": "file:///elsewhere"})
    away = there.model_copy(update={"repository": repository})
    only = arm("only", repository=there.repository.label)
    run = prepared(arm("shell"), only, one=there, two=away)
    planned = SCENARIOS.cells(run, ["offline"], trials=1)
    assert [(item.scenario, item.server) for item in planned] == [("one", "shell"), ("one", "only")]


def test_the_shell_alone_is_run_everywhere() -> None:
    planned = SCENARIOS.cells(prepared(arm("shell")), ["offline"], trials=1)
    assert [item.scenario for item in planned] == ["one", "two"]


def only_id(run: PreparedRun) -> str:
    (cell,) = SCENARIOS.cells(run, ["offline"], trials=1)
    return cell.id


def test_a_changed_title_asks_for_no_new_cell() -> None:
    asked = scenario("Who calls it?")
    retitled = asked.model_copy(update={"title": "Another title", "slant": "none at all"})
    assert only_id(prepared(arm("shell"), one=asked)) == only_id(
        prepared(arm("shell"), one=retitled)
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"harness": "2" * 64},
        {"limits": Limits(memory_mb=64)},
        {"arms": {"shell": PreparedArm(name="shell", spec=None, volume=None, digest="f" * 64)}},
        {"scenarios": {"one": ground(scenario("Who calls it now?"))}},
        {"scenarios": {"one": ground(scenario("Who calls it?", tokens=1))}},
    ],
)
def test_whatever_could_change_the_outcome_makes_another_cell(changed: dict[str, Any]) -> None:
    run = prepared(arm("shell"), one=scenario("Who calls it?"))
    assert only_id(replace(run, **changed)) != only_id(run)


def test_a_cell_that_is_confined_in_another_way_is_another_cell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = prepared(arm("shell"), arm("good"))
    (before, *_) = SCENARIOS.cells(run, ["offline"], trials=1)
    monkeypatch.setattr(container, "seccomp_option", lambda: "seccomp=unconfined")
    (after, *_) = SCENARIOS.cells(run, ["offline"], trials=1)
    assert before.id != after.id
