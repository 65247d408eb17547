"""What a repository's own tests need, laid into its image: they run in a cell, offline."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
import yaml

from runner.catalog.catalog import load_catalog
from runner.catalog.checkout import Checkout as Opened
from runner.records import Limits
from runner.records.run_store import RunStore
from runner.runs.prepare import workspace
from runner.sandbox.cell_layout import AGENT_USER, SERVER_USER
from runner.sandbox.container import ContainerSpec, open_container
from runner.support.errors import CatalogError
from tests.checkout import ROOT, SESSION, Checkout, make
from tests.helpers import PATIENCE_SEC

PACKAGE = """\
iniconfig==2.3.1 \\
    --hash=sha256:67f4b9c50da0dedf52af349e7749a80a9057a5031199791b906c3bb3ae878960 \\
    --hash=sha256:9121e2c1fdb355232495be3194c8dfe87ccc2d5dee45947b78e68f499790d7a7
"""
RUNS = "python3 -c 'import iniconfig, app; assert app.App().dispatch_all() == 1'"
FILE = "scenarios/core/small/scenario.yaml"
LOCK = "scenarios/core/small/environment/requirements.txt"
ENVIRONMENT = {
    "tests": RUNS,
    "files": {
        "python/lib/python3.11/site-packages/checkout.pth": "{workspace}\n",
        # Another session's volume would be this one's, and be removed under it.
        "session.txt": SESSION,
    },
}


def opened_at(checkout: Checkout) -> Opened:
    return Opened(
        root=checkout.root, state=checkout.root / ".fairtrial", environ=os.environ, log=print
    )


def say(checkout: Checkout, **environment: object) -> None:
    said = yaml.safe_load((checkout.root / FILE).read_text())
    checkout.write(FILE, {**said, "environment": {**ENVIRONMENT, **environment}})


@pytest.fixture(scope="module")
def checkout(
    tmp_path_factory: pytest.TempPathFactory, engine: docker.DockerClient, base_image: str
) -> Iterator[Checkout]:
    assert base_image  # it is there before any checkout needs it
    made = make(tmp_path_factory.mktemp("environment") / "checkout")
    say(made)
    made.write(LOCK, PACKAGE)
    yield made
    made.remove(engine)


# --- in a cell ----------------------------------------------------------------------------------


@pytest.mark.docker
def test_check_runs_a_repositorys_tests_in_a_cell(checkout: Checkout) -> None:
    done = checkout.said("check", "small")
    assert "running the tests of small in a cell" in done.stderr
    assert "environment.tests" not in done.stdout


@pytest.mark.docker
@pytest.mark.parametrize(
    ("tests", "said"),
    [
        ("python3 -c 'import missing_here'", "No module named 'missing_here'"),
        (
            "python3 -c \"import socket; socket.create_connection(('192.0.2.9', 80), 3)\"",
            "Network is unreachable",
        ),
    ],
)
def test_tests_that_do_not_run_there_are_a_problem_of_the_scenario(
    checkout: Checkout, tests: str, said: str
) -> None:
    say(checkout, tests=tests)
    done = checkout.said("check", "small")
    say(checkout)
    assert done.returncode == 1
    assert "small/scenario.yaml environment.tests: exit 1" in done.stdout and said in done.stdout


@pytest.mark.docker
def test_it_is_the_agents_to_use_and_nobodys_to_change(checkout: Checkout) -> None:
    async def work() -> tuple[str, str]:
        opened = opened_at(checkout)
        loaded = opened.scenario("small")
        image = workspace(opened, opened.repository(loaded), loaded.packages).id
        spec = ContainerSpec(image=image, limits=Limits(cpus=1), deadline_sec=600)
        async with open_container(opened.engine, spec) as container:
            script = "touch /opt/environment/x /opt/environment/python/x; git status --porcelain"
            ran = await container.shell(script, timeout_sec=PATIENCE_SEC, user=AGENT_USER)
            # A server that lacks a package would else find the repository's.
            plain = ["python3", "-c", "import iniconfig"]
            said: list[bytes] = []
            stream = await container.exec_stream(plain, user=SERVER_USER, on_stderr=said.append)
            _ = [chunk async for chunk in stream.stdout()]
            return ran.output, b"".join(said).decode()

    changed, served = asyncio.run(work())
    assert changed.count("touch: cannot touch") == 2 and len(changed.splitlines()) == 2
    assert "No module named 'iniconfig'" in served


@pytest.mark.docker
def test_cells_with_other_packages_are_other_cells(checkout: Checkout) -> None:
    inputs = []
    for name, tests in (("with", RUNS), ("without", "")):
        if not tests:
            _without(checkout)
        done = checkout.said("run", "--ungated", "--run", name, "--server", "shell")
        assert done.returncode == 0, done.stderr
        inputs.append(RunStore(checkout.run_folder(name)).plan().cells[0].inputs)
    say(checkout)
    checkout.write(LOCK, PACKAGE)
    assert inputs[0].keys() - inputs[1].keys() == {"environment"}


def _without(checkout: Checkout) -> None:
    _say_nothing(checkout)
    (checkout.root / LOCK).unlink()
    (checkout.root / LOCK).parent.rmdir()


# --- its files ----------------------------------------------------------------------------------


def problems(root: Path) -> str:
    with pytest.raises(CatalogError) as found:
        load_catalog(root).scenarios["small"]
    return str(found.value)


def test_an_environment_needs_a_lock_and_a_lock_an_environment(tmp_path: Path) -> None:
    checkout = make(tmp_path / "checkout")
    say(checkout)
    assert "holds no lock: one of requirements.txt, package-lock.json" in problems(checkout.root)
    checkout.write("scenarios/core/small/environment/requirments.txt", PACKAGE)
    assert "did you mean requirements.txt?" in problems(checkout.root)
    (checkout.root / "scenarios/core/small/environment/requirments.txt").unlink()
    checkout.write(LOCK, PACKAGE)
    assert load_catalog(checkout.root).scenarios["small"].packages is not None
    _say_nothing(checkout)
    assert "says nothing of an `environment`" in problems(checkout.root)


def _say_nothing(checkout: Checkout) -> None:
    said = yaml.safe_load((checkout.root / FILE).read_text())
    del said["environment"]
    checkout.write(FILE, said)


@pytest.mark.parametrize("name", sorted(it.name for it in (ROOT / "scenarios/core").iterdir()))
def test_each_core_scenarios_tests_have_their_packages_under_a_lock(name: str) -> None:
    loaded = load_catalog(ROOT).scenarios[name]
    assert loaded.scenario.environment is not None and loaded.packages is not None
    locked = loaded.packages.folder
    lines = [path.read_text() for path in locked.glob("*.txt")]
    # pip takes none of them without a hash; npm takes one whose lock names none.
    assert all("--hash=sha256:" in text for text in lines)
    for path in locked.glob("package-lock.json"):
        found = yaml.safe_load(path.read_text())["packages"]
        assert all("integrity" in it for name, it in found.items() if name)
