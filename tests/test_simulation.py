"""The tables of `just simulate` in small: fixed seeds, wide bounds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping

import pytest

from runner.records import Scenario
from runner.report.clusters import Topic
from tests import simulation
from tests.simulation import COVERAGE, FALSE_ALARM, ROWS, Chunk, Counted, Seen, main, simulate

RUNS = 60
COLUMNS = ("10", "24")
"""Repositories, and questions of one repository."""
ERRORS = 4
"""Standard errors that a share may lie beyond its bounds."""


@pytest.fixture
def fresh_templates() -> Iterator[None]:
    simulation.template_of.cache_clear()
    yield
    simulation.template_of.cache_clear()


@pytest.mark.parametrize("row", ROWS)
def test_a_report_errs_no_more_often_than_it_says(row: str) -> None:
    together: dict[tuple[str, simulation.Goal], list[Counted]] = defaultdict(list)
    for one in simulate([row], RUNS, columns=COLUMNS):
        together[one.says, one.goal].append(one)
    for (says, goal), found in together.items():
        share, runs = _pooled(found)
        assert _least(goal.low, runs) <= share <= _most(goal.high, runs), (says, share, runs)


def _pooled(found: list[Counted]) -> tuple[float, int]:
    runs = sum(one.runs for one in found)
    return sum(one.yes for one in found) / runs, runs


def _least(bound: float, runs: int) -> float:
    return bound - ERRORS * math.sqrt(bound * (1 - bound) / runs)


def _most(bound: float, runs: int) -> float:
    return bound + ERRORS * math.sqrt(bound * (1 - bound) / runs)


def _as_if_apart(scenarios: Mapping[str, Scenario]) -> dict[str, Topic]:
    """Every scenario a repository of its own."""
    return {name: Topic(repository=name) for name in scenarios}


@pytest.mark.usefixtures("fresh_templates")
def test_scenarios_counted_one_by_one_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "topics_of", _as_if_apart)
    monkeypatch.setattr(Seen, "check_report", lambda seen: None)
    share, runs = _pooled(simulate(["clusters"], RUNS, columns=COLUMNS))
    assert share > _most(FALSE_ALARM.high, runs)


@pytest.mark.usefixtures("fresh_templates")
def test_a_report_that_says_otherwise_stops_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "topics_of", _as_if_apart)
    with pytest.raises(AssertionError):
        simulate(["clusters"], 1, columns=COLUMNS)


def test_the_same_seed_draws_the_same_runs() -> None:
    chunk = Chunk(row="equal", place=1, number=0, runs=20)
    assert simulation.count_chunk(chunk) == simulation.count_chunk(chunk)


def test_a_share_misses_its_goal_by_more_than_chance_would_have_it() -> None:
    marks = {share: FALSE_ALARM.mark(share, 1_000) for share in (0.03, 0.055, 0.065, 0.08)}
    assert marks == {0.03: "ok", 0.055: "ok", 0.065: "near", 0.08: "MISSED"}
    assert COVERAGE.mark(0.91, 1_000) == "MISSED"
    assert COVERAGE.mark(0.99, 1_000) == "MISSED"


@pytest.mark.usefixtures("fresh_templates")
def test_a_missed_goal_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Seen, "check_report", lambda seen: None)
    asked = ["--only", "repository", "--workers", "1", "--json", "--runs", "20"]
    assert main(asked) == 0
    monkeypatch.setattr(
        simulation,
        "FALSE",
        simulation.Question(says="called different", goal=FALSE_ALARM, holds=lambda seen: True),
    )
    assert main(asked) == 1
    assert '"mark": "MISSED"' in capsys.readouterr().out
