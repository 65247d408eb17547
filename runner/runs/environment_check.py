"""Do a repository's own tests run in a cell, offline, as its scenario says?"""

from __future__ import annotations

import asyncio

from runner.catalog.catalog import LoadedScenario
from runner.catalog.checkout import Checkout
from runner.protocols import ShellResult
from runner.runs.prepare import workspace
from runner.sandbox.container import ContainerSpec, open_container
from runner.support.errors import Problem

LIMIT_SEC = 600
DEADLINE_SEC = LIMIT_SEC + 120
LAST_LINES = 8


def problems_of_tests(checkout: Checkout, loaded: LoadedScenario) -> list[Problem]:
    """Runs them as the agent would. Nothing is run of a scenario without `environment`."""
    environment = loaded.scenario.environment
    if environment is None:
        return []
    checkout.log(f"running the tests of {loaded.scenario.id} in a cell")
    ran = asyncio.run(_run(checkout, loaded, environment.tests))
    if ran.exit_code == 0:
        return []
    how = "did not end in" if ran.timed_out else f"exit {ran.exit_code} within"
    lines = "".join(f"\n  {line}" for line in ran.output.splitlines()[-LAST_LINES:])
    where = f"{loaded.scenario.id}/scenario.yaml environment.tests"
    return [Problem(where=where, message=f"{how} {LIMIT_SEC} s in a cell{lines}")]


async def _run(checkout: Checkout, loaded: LoadedScenario, command: str) -> ShellResult:
    image = workspace(checkout, checkout.repository(loaded), loaded.packages)
    spec = ContainerSpec(image=image.id, limits=checkout.limits, deadline_sec=DEADLINE_SEC)
    async with open_container(checkout.engine, spec) as container:
        return await container.shell(command, timeout_sec=LIMIT_SEC)
