"""The campaign: a short one, and that each of its counts can be other than 0."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import docker
import pytest

from runner.records import CellResult, Outcome, OutcomeKind
from runner.records.run_store import write_record
from runner.sandbox.engine import Engine
from tests.campaign import Campaign, Harm, RunUnderFire, campaign
from tests.checkout import Checkout
from tests.helpers import NO_TIME, cell
from tests.sandbox.cut_engine import CutEngine

HARMS = 10


@pytest.mark.docker
def test_random_harm_loses_nothing_repeats_nothing_and_blames_nobody_wrongly(
    engine: Engine, base_image: str, tmp_path: Path
) -> None:
    assert base_image
    tally = campaign(tmp_path, engine, harms=HARMS, seed=7, log=print)
    assert sum(tally.harms.values()) == HARMS
    assert tally.outcomes["answered"]
    assert tally.clean, str(tally)


# --- that it sees what it is there for ----------------------------------------------------------


def under_fire(root: Path, *harms: Harm, engine: Any = None) -> RunUnderFire:
    of = Campaign(
        checkout=Checkout(root, ""),
        engine=engine,
        proxy=cast("CutEngine", None),
        dice=random.Random(1),
        log=print,
    )
    return RunUnderFire(campaign=of, name="r", wanted=0, harms=list(harms))


def add_result(root: Path, kind: OutcomeKind, *, number: int = 1, said: str = "") -> Path:
    folder = root / "runs" / "r" / "cells" / "c1" / f"attempt-{number}"
    result = CellResult(
        cell=cell("good"),
        attempt=number,
        outcome=Outcome(kind=kind, reason="because"),
        fingerprint=None,
        timings=NO_TIME,
        peak_memory_mb=None,
        state_mb=None,
        started_at="2026-01-01",
        plan="a" * 64,
        ungated=True,
        transcript="b" * 64,
        events=0,
    )
    write_record(folder / "result.json", result)
    (folder / "transcript.jsonl").write_text(said)
    return folder / "result.json"


SERVER_HARMED = Harm(kind="server", cell="c1")
CONTAINER_HARMED = Harm(kind="container", cell="c1")


@pytest.mark.parametrize(
    ("kind", "harms", "blames"),
    [
        ("answered", [], 0),
        ("server_crashed", [SERVER_HARMED], 0),
        ("server_crashed", [CONTAINER_HARMED], 1),
        ("server_crashed", [Harm(kind="server", cell="another")], 1),
        ("server_crashed", [Harm(kind="cut")], 1),
        ("sandbox_failed", [Harm(kind="cut")], 0),
        ("sandbox_failed", [SERVER_HARMED], 1),
        ("cancelled", [Harm(kind="SIGTERM")], 0),
        ("cancelled", [Harm(kind="SIGKILL")], 1),
        ("runner_failed", [CONTAINER_HARMED], 1),
        ("out_of_time", [Harm(kind="cut")], 1),
    ],
)
def test_an_outcome_that_the_harm_does_not_explain_is_counted(
    tmp_path: Path, kind: OutcomeKind, harms: list[Harm], blames: int
) -> None:
    add_result(tmp_path, kind)
    run = under_fire(tmp_path, *harms)
    run.judge_outcomes()
    assert len(run.campaign.tally.misblamed) == blames


def test_an_agent_that_is_told_of_what_it_has_not_done_is_counted(tmp_path: Path) -> None:
    add_result(tmp_path, "answered", said="the shell was killed while this command ran")
    run = under_fire(tmp_path)
    run.judge_outcomes()
    assert len(run.campaign.tally.misblamed) == 1


@pytest.mark.parametrize(
    ("exit_code", "harms", "blames"),
    [
        (1, [], 0),
        (0, [], 1),
        (70, [Harm(kind="cut")], 1),
        (130, [Harm(kind="SIGHUP")], 0),
        (130, [Harm(kind="cut")], 1),
        (-9, [Harm(kind="SIGKILL")], 0),
    ],
)
def test_an_exit_that_the_harm_does_not_explain_is_counted(
    tmp_path: Path, exit_code: int, harms: list[Harm], blames: int
) -> None:
    run = under_fire(tmp_path, *harms)
    run.judge_exit(exit_code, "")
    assert len(run.campaign.tally.misblamed) == blames


def test_a_result_that_is_gone_or_changed_or_has_a_second_is_counted(tmp_path: Path) -> None:
    first = add_result(tmp_path, "answered")
    run = under_fire(tmp_path)
    run.look_at_results()
    add_result(tmp_path, "answered", number=2)
    run.look_at_results()
    first.write_text(first.read_text() + "\n")
    run.look_at_results()
    first.unlink()
    run.look_at_results()
    tally = run.campaign.tally
    assert (len(tally.repeated), len(tally.lost)) == (1, 2)


def test_a_container_that_is_left_is_counted_and_a_strangers_is_not(tmp_path: Path) -> None:
    left = {"Id": "1" * 64, "Labels": {"fairtrial": "cell", "fairtrial.run": f"{tmp_path}/runs/r"}}
    strangers = {"Id": "2" * 64, "Labels": {"fairtrial": "cell", "fairtrial.run": "/elsewhere"}}
    api = SimpleNamespace(containers=lambda **_: [left, strangers])
    run = under_fire(tmp_path, engine=cast("docker.DockerClient", SimpleNamespace(api=api)))
    run.look_for_leaks()
    assert run.campaign.tally.leaked == ["r: cell 111111111111"]
