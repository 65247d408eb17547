"""How a cell of a scenario is run: container, server, conversation, and what is read back after."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from runner.agents import AGENTS, system_prompt
from runner.agents.models import cache_and_jobs, kind_name, open_model
from runner.agents.models.remote import RemoteModel
from runner.agents.packaged import PACKAGED
from runner.agents.packaged.packaged_agent import program_settings
from runner.agents.packaged.packaged_conversation import PackagedConversation
from runner.agents.packaged.program import PreparedProgram
from runner.agents.packaged.treatment import SeenProgram
from runner.agents.prompt import SYSTEM
from runner.agents.tools import MountedServer, Toolbox
from runner.protocols import Model, OfCells
from runner.records import (
    ArmServer,
    Fingerprint,
    Outcome,
    ProgramFingerprint,
    Scenario,
    ServerSpec,
    digest_of,
)
from runner.runs.attempt import Attempt
from runner.runs.run_inputs import PreparedArm, PreparedRun
from runner.sandbox.cell_layout import AGENT_INSTALL, AGENT_USER
from runner.sandbox.container import Container, ContainerSpec, open_container, settings_digest
from runner.sandbox.session import ServerSession
from runner.sandbox.stream import StderrFile
from runner.sandbox.transport import ServerLog
from runner.servers.definition_rules import private_in_cell
from runner.servers.examine import (
    canary_limit_sec,
    network_attempts,
    open_server,
    require_canary,
    state_mb,
)
from runner.support.errors import SandboxError

SLACK_SEC = 3600
"""For API back-off and a busy machine.

A container that ends itself under a living cell would be a fault of ours.
"""


async def run_scenario_cell(attempt: Attempt) -> Outcome:
    """Raises ServerError, SandboxError or ProviderError if that part failed."""
    if attempt.engine is None:
        raise SandboxError("a scenario needs an engine, and there is none")
    model = open_model(attempt.cell.model, attempt.prepared.models)
    if isinstance(model, OfCells):
        model.take_cell(attempt.cell)
    spec = _container_spec(attempt)
    started = time.monotonic()
    async with open_container(attempt.engine, spec) as container:
        attempt.measured.create_sec = time.monotonic() - started
        async with _mounted_server(attempt, container) as session:
            # Before the conversation: a cell that breaks in it must still say what it was.
            attempt.measured.fingerprint = _fingerprint(attempt, spec, model, session)
            # Of the server's start; in a new container nobody has tried yet.
            refused_before = await network_attempts(container) if session else 0
            try:
                return await _converse(attempt, model, container, session)
            finally:
                await _note_what_ends_with(container, attempt, refused_before)
                model.write_artifacts(attempt.folder)
                await model.close()


def told(prepared: PreparedRun) -> str:
    """The system prompt of every cell of a run, whatever its arm."""
    if prepared.program is not None:
        # It has a shell, and limits, of its own.
        return SYSTEM
    return system_prompt(prepared.agent, prepared.limits, prepared.models.output_tokens)


def _container_spec(attempt: Attempt) -> ContainerSpec:
    server = attempt.arm.spec
    program = attempt.prepared.program
    return ContainerSpec(
        image=attempt.scenario.image,
        limits=attempt.prepared.limits,
        deadline_sec=deadline_sec(attempt.scenario.scenario, server),
        labels={"fairtrial.run": attempt.run_label, "fairtrial.cell": attempt.cell.id},
        server_volume=attempt.arm.volume,
        volumes={AGENT_INSTALL: program.volume} if program else {},
        private=private_in_cell(server),
    )


def deadline_sec(scenario: Scenario, server: ServerSpec | None) -> int:
    """When a cell's container ends itself, in case its runner has died."""
    ready_sec = 0
    if server is not None:
        warm_up_sec = sum(step.timeout_sec for step in server.warm_up)
        ready_sec = server.initialize_timeout_sec + warm_up_sec + canary_limit_sec(server)
    return scenario.budget.wall_sec + ready_sec + SLACK_SEC


@asynccontextmanager
async def _mounted_server(
    attempt: Attempt, container: Container
) -> AsyncIterator[ServerSession | None]:
    """The arm's server: started, warmed up and proven alive before the agent's first turn.

    None for `shell`.
    """
    spec = attempt.arm.spec
    if spec is None:
        yield None
        return
    attempt.log("the server starts and indexes")
    log = ServerLog(stderr=StderrFile(attempt.folder / "server.stderr.log"))
    measured = attempt.measured
    try:
        async with open_server(container, spec, log) as ready:
            measured.initialize_sec = ready.session.initialize_sec
            measured.warm_up_sec = ready.warm_up_sec
            await _wait_until_ready(attempt, ready.session, spec)
            measured.state_mb = await state_mb(container)
            yield ready.session
    finally:
        # Of a server that crashed in its warm-up, these notes are all there is.
        _note_server_log(attempt, log)


async def _wait_until_ready(attempt: Attempt, session: ServerSession, spec: ServerSpec) -> None:
    started = time.monotonic()
    try:
        scenario = attempt.scenario.scenario
        await require_canary(session, spec, scenario.repository.label, scenario.known)
    finally:
        attempt.measured.canary_sec = time.monotonic() - started


def _note_server_log(attempt: Attempt, log: ServerLog) -> None:
    if log.ended:
        attempt.note(f"the server's stream ended: {log.ended}")
    if log.stray_lines:
        count = f"{log.stray_lines} lines on the server's stdout were not JSON-RPC"
        attempt.note(f"{count}; the first: {log.stray[0]}")


async def _converse(
    attempt: Attempt, model: Model, container: Container, session: ServerSession | None
) -> Outcome:
    attempt.log("the agent works")
    if attempt.arm.moved_lines:
        attempt.note(f"the model is shown {ArmServer.of(attempt.arm.name).describe()}")
    mounted = _mounted(attempt.arm, session)
    if attempt.prepared.program is not None:
        return await _packaged(attempt, attempt.prepared.program, model, container, mounted).run()
    limits, has_shell = attempt.prepared.limits, attempt.arm.has_tools
    agent = AGENTS[attempt.prepared.agent](
        model=model,
        scenario=attempt.scenario.scenario,
        toolbox=Toolbox(container, limits, mounted, has_shell=has_shell),
        record=attempt.writer.write,
        totals=attempt.measured.totals,
        system=told(attempt.prepared),
        instructions=_instructions(attempt.arm.shown_name, session),
    )
    return await agent.run()


def _packaged(
    attempt: Attempt,
    program: PreparedProgram,
    model: Model,
    container: Container,
    mounted: MountedServer | None,
) -> PackagedConversation:
    assert isinstance(model, RemoteModel)  # noqa: S101 - `require_fitting` came before
    agent, measured = PACKAGED[attempt.prepared.agent], attempt.measured

    def seen(by_provider: SeenProgram) -> None:
        fingerprint = ProgramFingerprint(
            title=program.title,
            version=program.version,
            package=program.content,
            settings=program_settings(
                agent, model.model, reads_repository=program.reads_repository
            ),
            system=by_provider.system,
            tools=by_provider.tools,
            schemas=by_provider.schemas,
        )
        if measured.fingerprint is not None:
            searched = by_provider.tools_searched or None
            measured.fingerprint = measured.fingerprint.model_copy(
                update={"program": fingerprint, "tools_searched": searched}
            )

    return PackagedConversation(
        agent=agent,
        title=program.title,
        program=program.command,
        reads_repository=program.reads_repository,
        model=model,
        scenario=attempt.scenario.scenario,
        container=container,
        mounted=mounted,
        run_servers=[arm.shown_name for arm in attempt.prepared.arms.values() if arm.spec],
        record=attempt.writer.write,
        seen=seen,
        totals=measured.totals,
        folder=attempt.folder,
    )


def _mounted(arm: PreparedArm, session: ServerSession | None) -> MountedServer | None:
    if arm.spec is None or session is None:
        return None
    return MountedServer(
        session=session,
        name=arm.shown_name,
        call_sec=arm.spec.call_timeout_sec,
        moved_lines=arm.moved_lines,
    )


def _instructions(server: str, session: ServerSession | None) -> str:
    """What the server sends with `initialize`, under a heading; empty if it sends nothing."""
    if session is None or not session.instructions:
        return ""
    return f"# Instructions of the MCP server {server}\n\n{session.instructions}"


async def _note_what_ends_with(container: Container, attempt: Attempt, refused_before: int) -> None:
    """Figures that are gone once the container is."""
    measured = attempt.measured
    try:
        measured.peak_memory_mb = await container.peak_memory_mb()
        refused = await network_attempts(container, AGENT_USER) - refused_before
        measured.network_attempts = max(0, refused)
    except SandboxError as error:
        attempt.note(f"peak memory and network attempts are unknown: {error.what}")
    if measured.network_attempts:
        attempt.note(f"{measured.network_attempts} network attempts were refused")
    if container.shell_restarts:
        times = container.shell_restarts
        attempt.note(f"the agent's shell was started again {times} times")


def _fingerprint(
    attempt: Attempt, spec: ContainerSpec, model: Model, session: ServerSession | None
) -> Fingerprint:
    prepared = attempt.prepared
    scenario = attempt.scenario
    prompts = [step.prompt for step in scenario.scenario.steps]
    cache, jobs = cache_and_jobs(attempt.cell.model, prepared.models)
    return Fingerprint(
        harness=prepared.harness,
        base_image=scenario.base_image,
        workspace_image=scenario.image,
        commit=scenario.pin.commit,
        tree=scenario.pin.tree,
        prompts=digest_of([told(prepared), *prompts]),
        limits=digest_of(prepared.limits),
        container=settings_digest(spec),
        engine=prepared.engine_version,
        kernel=prepared.kernel,
        model=attempt.cell.model,
        model_kind=kind_name(attempt.cell.model),
        model_identity=model.identity,
        agent=prepared.agent,
        cache=cache,
        jobs=jobs,
        server=attempt.arm.name,
        server_spec=attempt.arm.digest,
        tools=session.tool_listing if session else None,
        server_version=attempt.arm.spec.version if attempt.arm.spec else "",
        moved_lines=attempt.arm.moved_lines or None,
    )
