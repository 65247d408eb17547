"""Machines differ: a worker shows what it is, and takes no block if it could not run it alike."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import docker
import pytest

from runner.catalog.checkout import Checkout
from runner.records import HostFacts
from runner.runs.executors import hosts
from runner.runs.executors.hosts import Host, code_here, host_here, why_not
from runner.runs.prepare import BENCHMARK
from runner.runs.run_inputs import PreparedRun
from runner.sandbox.engine import LABEL, OWNER_LABEL, engine_facts, owner_labels
from runner.support.errors import FairtrialError
from tests.benchmarks.test_scenarios import arm, prepared
from tests.conftest import ROOT
from tests.helpers import PATIENCE_SEC
from tests.scale.farm import Farm, free_port
from tests.scale.telling import Told, execute, measured
from tests.scale.tiny import Ground, tiny_cells, tiny_run

FACTS = HostFacts(
    name="here",
    cpu="a processor",
    cores=2,
    memory_mb=1000,
    free_mb=50_000,
    engine="20.10",
    kernel="6.1",
    load=0.5,
)
WANTED = prepared(arm("shell"), arm("good"))


def host(run: PreparedRun = WANTED, **facts: object) -> Host:
    return Host(prepared=run, facts=FACTS.model_copy(update=facts))


def other_image() -> PreparedRun:
    first, *_ = WANTED.scenarios
    ground = replace(WANTED.scenarios[first], base_image="sha256:other")
    return replace(WANTED, scenarios={**WANTED.scenarios, first: ground})


def other_server() -> PreparedRun:
    good = replace(WANTED.arms["good"], digest="f" * 64)
    return replace(WANTED, arms={**WANTED.arms, "good": good})


def test_the_same_machine_may_take_blocks() -> None:
    assert why_not(host(), WANTED, code_here()) == ""


@pytest.mark.parametrize(
    ("here", "code", "reason"),
    [
        (host(free_mb=10), "", "its disk is full: 10 MB are free"),
        (host(), "another", "its fairtrial is another one"),
        (host(replace(WANTED, harness="2" * 64)), "", "another harness"),
        (host(other_image()), "", "another base image"),
        (host(other_server()), "", "another server good"),
    ],
)
def test_a_machine_that_would_run_cells_otherwise_takes_no_block(
    here: Host, code: str, reason: str
) -> None:
    assert reason in why_not(here, WANTED, code or code_here())


def test_another_engine_without_a_checkout_makes_no_images(engine: docker.DockerClient) -> None:
    elsewhere = replace(WANTED, machine="not this one")
    with pytest.raises(FairtrialError, match="has no checkout"):
        host_here(elsewhere, None, print)
    machine = engine_facts(engine).machine
    with pytest.raises(FairtrialError, match="has no checkout"):
        # An engine of a copied machine, which gives the same id.
        host_here(replace(WANTED, machine=machine), None, print)
    here = replace(WANTED, machine=machine, scenarios={}, arms={"shell": WANTED.arms["shell"]})
    found = host_here(here, None, print)
    assert found.facts.engine == engine_facts(engine).version
    assert found.facts.cores == os.cpu_count()


def test_a_worker_on_another_engine_makes_what_the_locks_say(
    engine: docker.DockerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[list[str], list[str]]] = []

    def prepare(_: Checkout, scenarios: list[str], servers: list[str]) -> PreparedRun:
        made.append((scenarios, servers))
        return replace(WANTED, machine=engine_facts(engine).machine)

    monkeypatch.setattr(hosts, "prepare", prepare)
    checkout = Checkout(root=ROOT, state=ROOT / ".fairtrial", environ={}, log=print)
    found = host_here(replace(WANTED, machine="not this one"), checkout, print)
    assert made == [(list(WANTED.scenarios), list(WANTED.arms))]
    assert WANTED.benchmark == BENCHMARK
    assert why_not(found, WANTED, code_here()) == ""


def test_a_run_whose_workers_all_refuse_ends_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.runs.executors.dask_executor.GONE_SEC", 2.0)
    store, planned = tiny_run(tmp_path / "run", tiny_cells(2), Ground(ledger=tmp_path / "ledger"))
    with Farm(tmp_path, workers=0) as farm:
        farm.add_worker({"DOCKER_HOST": f"tcp://127.0.0.1:{free_port()}"})
        farm.wait(PATIENCE_SEC)
        told = Told()
        with pytest.raises(FairtrialError, match="no worker takes a block") as refused:
            execute(farm, store, replace(planned, has_containers=True), told)
    assert "no Docker Engine answers" in refused.value.hint
    assert measured(store) == 0
    assert any("takes no block" in note for note in told.notes)


@pytest.fixture
def left_over(engine: docker.DockerClient, base_image: str) -> Iterator[dict[str, str]]:
    """Ids of a container of a process that is gone, and of one of a living."""
    gone = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, text=True, check=True)
    living = owner_labels(600)
    host_name = living[OWNER_LABEL].partition(":")[0]
    owners = {
        "gone": {**living, OWNER_LABEL: f"{host_name}:{gone.stdout.strip()}:1"},
        "living": living,
    }
    made = {
        name: engine.containers.create(base_image, "true", labels={LABEL: "cell", **labels})
        for name, labels in owners.items()
    }
    yield {name: str(container.id) for name, container in made.items()}
    for container in made.values():
        try:
            container.remove(force=True)
        except docker.errors.NotFound:
            continue


def test_a_worker_without_an_engine_takes_no_block_and_the_other_sweeps_what_a_lost_one_left(
    engine: docker.DockerClient, left_over: dict[str, str], tmp_path: Path
) -> None:
    farm = Farm(tmp_path, workers=1)
    try:
        farm.add_worker({"DOCKER_HOST": f"tcp://127.0.0.1:{free_port()}"})
        farm.wait(PATIENCE_SEC)
        ground = Ground(ledger=tmp_path / "ledger", turn_sec=0.01)
        store, planned = tiny_run(tmp_path / "run", tiny_cells(4), ground)
        machine = engine_facts(engine).machine
        told = Told()
        execute(farm, store, replace(planned, has_containers=True, machine=machine), told)
    finally:
        farm.stop()
    assert measured(store) == 8
    (refusal,) = [line for line in told.notes if "takes no block" in line]
    assert "no Docker Engine answers" in refusal
    there = {container.id for container in engine.containers.list(all=True)}
    assert left_over["gone"] not in there
    assert left_over["living"] in there
    for item in store.load().cells:
        assert item.result is not None
        placed = item.result.block
        assert placed is not None
        assert placed.host is not None
        assert placed.host.engine == engine_facts(engine).version
