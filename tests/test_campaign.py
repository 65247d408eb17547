"""The campaign: a short one, and that each of its counts can be other than 0."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import docker
import pytest

from runner.records import CellResult, Outcome, OutcomeKind
from runner.records.run_store import write_record
from runner.sandbox.engine import Engine
from tests.campaign import (
    DEFAULT_HARMS,
    SHARES,
    Campaign,
    Harm,
    Life,
    RunUnderFire,
    campaign,
)
from tests.campaign_provider import Provider
from tests.checkout import Checkout
from tests.helpers import NO_TIME, cell
from tests.sandbox.cut_engine import CutEngine

HARMS = 8


@pytest.mark.docker
def test_random_harm_loses_nothing_repeats_nothing_and_blames_nobody_wrongly(
    engine: Engine, base_image: str, tmp_path: Path
) -> None:
    assert base_image
    tally = campaign(tmp_path, engine, harms=HARMS, seed=7, log=print, trials=2)
    assert all(tally.harms[name] for name in ("container", "server", "provider", "disk", "judge"))
    assert tally.outcomes["answered"]
    assert tally.clean, str(tally)


def test_what_the_recipe_asks_for_has_enough_of_each_kind() -> None:
    wanted = {name: ceil(share * DEFAULT_HARMS) for name, share in SHARES.items()}
    assert sum(wanted.values()) >= 200
    assert min(wanted["container"], wanted["server"]) >= 40
    assert min(wanted["judge"], wanted["provider"], wanted["disk"]) >= 10


# --- that it sees what it is there for ----------------------------------------------------------


def under_fire(root: Path, *harms: Harm, engine: Any = None) -> RunUnderFire:
    of = Campaign(
        checkout=Checkout(root, ""),
        engine=engine,
        proxy=cast("CutEngine", None),
        provider=cast("Provider", None),
        dice=random.Random(1),
        log=print,
    )
    return RunUnderFire(campaign=of, name="r", harms=list(harms))


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
        started_at=datetime.fromtimestamp(BEGAN, UTC).isoformat(),
        plan="a" * 64,
        ungated=True,
        transcript="b" * 64,
        events=0,
    )
    write_record(folder / "result.json", result)
    (folder / "transcript.jsonl").write_text(said)
    os.utime(folder / "result.json", (BEGAN + 60, BEGAN + 60))
    return folder / "result.json"


BEGAN = 1_800_000_000.0
"""When the attempt of these tests began; it took a minute."""


def harmed(kind: str, cell: str = "", after_sec: float = 30, made_after_sec: float = 1) -> Harm:
    at = BEGAN + after_sec
    return Harm(kind=kind, cell=cell, made=BEGAN + made_after_sec, began=at, ended=at + 0.1)


SERVER_HARMED = harmed("server", "c1")
CONTAINER_HARMED = harmed("container", "c1")
LATER = 300


@pytest.mark.parametrize(
    ("kind", "harms", "blames"),
    [
        ("answered", [], 0),
        ("server_crashed", [SERVER_HARMED], 0),
        ("server_crashed", [CONTAINER_HARMED], 1),
        ("server_crashed", [harmed("server", "another")], 1),
        ("server_crashed", [harmed("server", "c1", LATER)], 1),
        ("server_crashed", [harmed("cut")], 1),
        ("sandbox_failed", [harmed("cut")], 0),
        ("sandbox_failed", [harmed("cut", after_sec=LATER)], 1),
        ("sandbox_failed", [harmed("cut", after_sec=-30)], 1),
        ("sandbox_failed", [CONTAINER_HARMED], 0),
        ("sandbox_failed", [harmed("container", "another")], 1),
        ("sandbox_failed", [harmed("container", "c1", -30)], 1),
        ("sandbox_failed", [harmed("container", "c1", -0.5, made_after_sec=-20)], 1),
        ("sandbox_failed", [harmed("container", "c1", 0.01, made_after_sec=-20)], 1),
        ("sandbox_failed", [harmed("cut", after_sec=-0.5)], 0),
        ("server_crashed", [harmed("server", "c1", -0.5, made_after_sec=-20)], 1),
        ("sandbox_failed", [SERVER_HARMED], 1),
        ("cancelled", [harmed("SIGTERM")], 0),
        ("cancelled", [replace(harmed("SIGTERM", after_sec=-0.5), process_ended=BEGAN + 1)], 0),
        ("cancelled", [harmed("SIGTERM", after_sec=-0.5)], 1),
        ("cancelled", [harmed("SIGKILL")], 1),
        ("provider_failed", [harmed("provider")], 0),
        ("provider_failed", [harmed("provider", after_sec=LATER)], 1),
        ("provider_failed", [harmed("provider", after_sec=-0.5)], 1),
        ("provider_failed", [harmed("cut")], 1),
        ("runner_failed", [harmed("disk")], 0),
        ("runner_failed", [CONTAINER_HARMED], 1),
        ("out_of_time", [harmed("cut")], 1),
    ],
)
def test_an_outcome_that_its_own_harm_does_not_explain_is_counted(
    tmp_path: Path, kind: OutcomeKind, harms: list[Harm], blames: int
) -> None:
    add_result(tmp_path, kind)
    run = under_fire(tmp_path, *harms)
    run.judge_outcomes()
    assert len(run.campaign.tally.misblamed) == blames


def test_an_answer_without_its_verdict_is_counted(tmp_path: Path) -> None:
    add_result(tmp_path, "answered")
    run = under_fire(tmp_path)
    run.look_at_results()
    run.look_at_verdicts()
    assert run.campaign.tally.unjudged == ["r: c1/attempt-1"]
    assert not run.campaign.tally.clean


def test_an_agent_that_is_told_of_what_it_has_not_done_is_counted(tmp_path: Path) -> None:
    add_result(tmp_path, "answered", said="the shell was killed while this command ran")
    run = under_fire(tmp_path)
    run.judge_outcomes()
    assert len(run.campaign.tally.misblamed) == 1


@pytest.mark.parametrize(
    ("exit_code", "harms", "blames"),
    [
        (1, [], 1),
        (1, [harmed("disk")], 0),
        (1, [harmed("cut", after_sec=LATER)], 1),
        (0, [], 1),
        (70, [harmed("cut")], 1),
        (130, [harmed("SIGHUP")], 0),
        (130, [harmed("SIGHUP", after_sec=-30)], 1),
        (130, [harmed("cut")], 1),
        (-9, [harmed("SIGKILL")], 0),
        (-9, [harmed("judge")], 0),
        (-9, [harmed("disk")], 1),
    ],
)
def test_an_exit_that_the_harm_of_its_own_process_does_not_explain_is_counted(
    tmp_path: Path, exit_code: int, harms: list[Harm], blames: int
) -> None:
    run = under_fire(tmp_path, *harms)
    run.judge_exit(exit_code, "", Life(began=BEGAN, ended=BEGAN + 60))
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
