"""A checkout's scenarios and servers made ready: images built, volumes filled, servers examined."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import product

from runner.agents.packaged.program import PreparedProgram, ensure_program, is_packaged, read_agent
from runner.catalog.catalog import SHELL, LoadedScenario, LoadedServer, can_be_measured
from runner.catalog.checkout import Checkout
from runner.catalog.locks import harness_digest
from runner.records import DEFAULT_AGENT, ArmServer, KnownName, ServerCard, ServerSpec, digest_of
from runner.records.arms import NO_TOOLS_ARM
from runner.repositories.repository import Repository
from runner.runs.run_inputs import PreparedArm, PreparedRun, PreparedScenario
from runner.sandbox.engine import engine_facts, sweep
from runner.sandbox.tree_volume import ensure_tree_volumes
from runner.sandbox.workspace import WorkspaceImage, ensure_workspace
from runner.servers.environment import TestPackages, layer_of
from runner.servers.examine import check_server as examine
from runner.servers.image import ServerImage, require_image
from runner.servers.lock_checks import require_own_locks
from runner.servers.volume import ServerVolume, ensure_volume
from runner.support.errors import FairtrialError

BENCHMARK = "scenarios"


def prepare(
    checkout: Checkout,
    scenarios: Sequence[str],
    servers: Sequence[str],
    agent: str = DEFAULT_AGENT,
) -> PreparedRun:
    """Every image and volume the cells stand on; what is there is checked, not built again."""
    if NO_TOOLS_ARM in servers and is_packaged(agent):
        hint = "leave out `none`, or the agent"
        raise FairtrialError(f"{agent} brings tools of its own: no arm is without any", hint=hint)
    # A killed preparation's builders would go on filling what is filled anew here.
    sweep(checkout.engine)
    facts = engine_facts(checkout.engine)
    images: dict[tuple[str, str], WorkspaceImage] = {}
    prepared_scenarios = {name: _prepare_scenario(checkout, name, images) for name in scenarios}
    arms = {name: _prepare_arm(checkout, name) for name in servers}
    for arm, image in product(arms.values(), images.values()):
        lend(checkout, arm.spec, image.id)
    return PreparedRun(
        engine_url=checkout.engine_url,
        engine_version=facts.version,
        kernel=facts.kernel,
        machine=facts.machine,
        harness=harness_digest(),
        agent=agent,
        program=_prepare_program(checkout, agent),
        benchmark=BENCHMARK,
        limits=checkout.limits,
        scenarios=prepared_scenarios,
        arms=arms,
    )


def _prepare_program(checkout: Checkout, agent: str) -> PreparedProgram | None:
    if not is_packaged(agent):
        return None
    return ensure_program(
        checkout.engine,
        read_agent(checkout.root, agent),
        checkout.base,
        checkout.builder_env,
        checkout.log,
    )


def _prepare_scenario(
    checkout: Checkout, name: str, images: dict[tuple[str, str], WorkspaceImage]
) -> PreparedScenario:
    """`images`: by repository and packages.

    Asked of the engine for each of 300 questions, it takes minutes.
    """
    loaded = checkout.scenario(name)
    repository, packages = checkout.repository(loaded), loaded.packages
    environment = packages.digest if packages else ""
    key = loaded.scenario.repository.label, environment
    if key not in images:
        images[key] = workspace(checkout, repository, packages)
    return PreparedScenario(
        scenario=loaded.scenario,
        image=images[key].id,
        base_image=checkout.base_image,
        pin=repository.pin,
        environment=environment,
    )


def _prepare_arm(checkout: Checkout, name: str) -> PreparedArm:
    if name in (SHELL, NO_TOOLS_ARM):
        return PreparedArm(name=name, spec=None, volume=None, digest=digest_of(name))
    arm = ArmServer.of(name)
    server = checkout.server(arm.server)
    installed = install(checkout, server)
    return PreparedArm(
        name=name,
        spec=server.spec,
        volume=installed.volume,
        digest=digest_of([server.digest, installed.digest]),
        moved_lines=arm.moved_lines,
    )


def workspace(
    checkout: Checkout, repository: Repository, packages: TestPackages | None = None
) -> WorkspaceImage:
    """`packages`: what its tests need; a server is examined without them."""
    layer = None
    if packages is not None:
        lent = checkout.base, checkout.builder_env, checkout.log
        layer = layer_of(checkout.engine, packages, *lent)
    return ensure_workspace(
        checkout.engine,
        repository,
        checkout.base_image,
        state_dir=checkout.state,
        layer=layer,
        log=checkout.log,
    )


def install(checkout: Checkout, server: LoadedServer) -> ServerVolume | ServerImage:
    """Its volume, filled first if it is not; an image must be on the engine."""
    if server.spec.image is not None:
        return require_image(checkout.engine, server.spec.image, where=server.spec.name)
    # A lock that was copied or left behind would have another version measured in its name.
    require_own_locks(server)
    return ensure_volume(checkout.engine, server, checkout.base, checkout.builder_env, checkout.log)


def lend(checkout: Checkout, spec: ServerSpec | None, workspace: str) -> None:
    """What a server's own image gets of a workspace image; nothing to another server."""
    if spec is not None and spec.image is not None:
        ensure_tree_volumes(checkout.engine, workspace, spec.private)


# --- a server, examined -------------------------------------------------------------------------


def check_server(checkout: Checkout, name: str, scenario: str) -> ServerCard:
    """Examine a server in the sandbox, on the repository of a scenario.

    If none is named, on the first that the server has a health probe for.
    """
    server = checkout.server(name)
    installed = install(checkout, server)
    repository, image, known = _place_to_examine(checkout, server, scenario)
    lend(checkout, server.spec, image)
    checkout.log(f"checking {name} on {repository}")
    examination = examine(
        checkout.engine,
        server.spec,
        installed,
        image=image,
        repository=repository,
        limits=checkout.limits,
        known=known,
    )
    return asyncio.run(examination)


def _place_to_examine(
    checkout: Checkout, server: LoadedServer, scenario: str
) -> tuple[str, str, KnownName | None]:
    """A repository's label, the image that holds it, and a name in it.

    A testbed's server needs none of them.
    """
    if server.spec.name in checkout.catalog.testbed and not scenario:
        return "an empty workspace", checkout.base_image, None
    loaded = checkout.scenario(scenario) if scenario else _scenario_for(checkout, server)
    label = loaded.scenario.repository.label
    return label, workspace(checkout, checkout.repository(loaded)).id, loaded.scenario.known


def _scenario_for(checkout: Checkout, server: LoadedServer) -> LoadedScenario:
    """The first health probe decides, not the first scenario."""
    known = list(checkout.catalog.scenarios.sound().values())
    for canary in server.spec.canaries:
        for loaded in known:
            if canary.repository in (loaded.scenario.repository.label, "*") and can_be_measured(
                server.spec, loaded.scenario
            ):
                return loaded
    raise FairtrialError(
        "no scenario's repository has a health probe of this server",
        where=f"images/servers/{server.spec.name}/server.yaml",
        hint="add a health probe for a shipped repository, or name a scenario with --scenario",
    )
