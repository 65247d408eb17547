"""run_cell: sandbox -> server -> agent -> transcript -> outcome. And `run_all`, which keeps several cells going at once."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from runner.agents.prompt import SYSTEM
from runner.agents.tool_calling import Conversation
from runner.agents.tools import Toolbox
from runner.agents.usage import UsageTotals
from runner.errors import ProviderError, SandboxError, ServerError
from runner.models import open_model
from runner.models.replay import Differences, Replay
from runner.prepared import Arm, PreparedRun, PreparedScenario
from runner.protocols import Model
from runner.records import (
    Cell,
    CellResult,
    Fingerprint,
    Note,
    Outcome,
    Scenario,
    ServerSpec,
    Timings,
    ToolsSeen,
    digest_of,
)
from runner.sandbox.container import Container, ContainerSpec, open_container, settings_digest
from runner.sandbox.places import SERVER, STATE, WORKSPACE
from runner.sandbox.session import ServerSession
from runner.sandbox.stream import StderrFile
from runner.sandbox.transport import ServerLog
from runner.servers import open_server, prove
from runner.store import RunStore, write_record, write_whole
from runner.transcript import TranscriptWriter

SLACK_SEC = 3600
"""For API back-off and a busy machine: a container that ends itself under a living cell would be a fault of ours."""


@dataclass(kw_only=True)
class Attempt:
    """One attempt at a cell, and what is known of it so far: whatever ends it, this much is recorded."""

    cell: Cell
    prepared: PreparedRun
    folder: Path
    writer: TranscriptWriter
    log: Callable[[str], None]
    create_sec: float = 0.0
    initialize_sec: float = 0.0
    warm_up_sec: float = 0.0
    canary_sec: float = 0.0
    peak_memory_mb: float | None = None
    state_mb: float | None = None
    fingerprint: Fingerprint | None = None
    totals: UsageTotals = field(default_factory=UsageTotals)

    @property
    def ground(self) -> PreparedScenario:
        return self.prepared.grounds[self.cell.scenario]

    @property
    def arm(self) -> Arm:
        return self.prepared.arms[self.cell.server]

    def note(self, text: str) -> None:
        self.writer.write(Note(text=text))

    async def run(self) -> Outcome:
        """Raises ServerError, SandboxError or ProviderError where a part failed."""
        model, spec, started = open_model(self.cell.model), self._spec(), time.monotonic()
        async with open_container(self.prepared.client, spec) as container:
            self.create_sec = time.monotonic() - started
            async with self._mounted(container) as session:
                self.fingerprint = self._fingerprint(spec, model, session.seen if session else None)
                try:
                    return await self._converse(model, container, session)
                finally:
                    await self._look_back(container)
                    _write_differences(model, self.folder)

    def _spec(self) -> ContainerSpec:
        server = self.arm.spec
        labels = {
            "fairtrial.run": run_label(self.folder.parents[2]),
            "fairtrial.cell": self.cell.id,
        }
        return ContainerSpec(
            image=self.ground.image,
            limits=self.prepared.limits,
            deadline_sec=deadline_sec(self.ground.scenario, server),
            labels=labels,
            server_volume=self.arm.volume,
            private=server.private if server else (),
        )

    async def _converse(
        self, model: Model, container: Container, session: ServerSession | None
    ) -> Outcome:
        self.log("the agent works")
        call_sec = self.arm.spec.call_timeout_sec if self.arm.spec else 0
        toolbox = Toolbox(
            container,
            self.prepared.limits,
            server=self.arm.name,
            session=session,
            call_sec=call_sec,
        )
        conversation = Conversation(
            model=model,
            scenario=self.ground.scenario,
            toolbox=toolbox,
            record=self.writer.write,
            totals=self.totals,
            instructions=_instructions(self.arm.name, session),
        )
        return await conversation.run()

    @asynccontextmanager
    async def _mounted(self, container: Container) -> AsyncIterator[ServerSession | None]:
        """The arm's server: started, warmed up and proven alive before the agent's first turn. None for `shell`."""
        spec = self.arm.spec
        if spec is None:
            yield None
            return
        self.log("the server starts and indexes")
        log = ServerLog(stderr=StderrFile(self.folder / "server.stderr.log"))
        try:
            async with open_server(container, spec, log) as ready:
                self.initialize_sec, self.warm_up_sec = (
                    ready.session.initialize_sec,
                    ready.warm_up_sec,
                )
                self.canary_sec = (
                    await prove(ready.session, spec, self.ground.scenario.repository.label)
                ).wall_sec
                self.state_mb = await _state_mb(container)
                yield ready.session
        finally:
            if log.ended:
                self.note(f"the server's stream ended: {log.ended}")
            if log.stray_lines:
                self.note(
                    f"{log.stray_lines} lines on the server's stdout were not JSON-RPC; the first: {log.stray[0]}"
                )

    async def _look_back(self, container: Container) -> None:
        """What the container's end would take with it."""
        try:
            self.peak_memory_mb = await container.peak_memory_mb()
        except SandboxError as error:
            self.note(f"peak memory is unknown: {error.what}")
        if container.shell_restarts:
            self.note(f"the agent's shell was started again {container.shell_restarts} times")

    def _fingerprint(
        self, spec: ContainerSpec, model: Model, tools: ToolsSeen | None
    ) -> Fingerprint:
        ground, arm, prepared = self.ground, self.arm, self.prepared
        return Fingerprint(
            harness=prepared.harness,
            base_image=ground.base_image,
            workspace_image=ground.image,
            commit=ground.pin.commit,
            tree=ground.pin.tree,
            prompts=digest_of([SYSTEM, *(step.prompt for step in ground.scenario.steps)]),
            limits=digest_of(prepared.limits),
            container=settings_digest(spec),
            engine=prepared.engine.version,
            kernel=prepared.engine.kernel,
            model=model.name,
            model_identity=model.identity,
            server=arm.name,
            server_spec=arm.digest,
            tools=tools,
            server_version=arm.spec.version if arm.spec else "",
        )

    def result(self, outcome: Outcome, started_at: datetime, total_sec: float) -> CellResult:
        timings = Timings(
            create_sec=self.create_sec,
            initialize_sec=self.initialize_sec,
            warm_up_sec=self.warm_up_sec,
            canary_sec=self.canary_sec,
            agent_sec=self.totals.agent_sec,
            backoff_sec=self.totals.backoff_sec,
            total_sec=total_sec,
        )
        return CellResult(
            cell=self.cell,
            attempt=int(self.folder.stem.split("-")[1]),
            outcome=outcome,
            fingerprint=self.fingerprint,
            timings=timings,
            peak_memory_mb=self.peak_memory_mb,
            state_mb=self.state_mb,
            started_at=started_at.isoformat(timespec="seconds"),
        )


async def run_cell(
    cell: Cell, prepared: PreparedRun, store: RunStore, log: Callable[[str], None]
) -> CellResult:
    """One attempt at one cell, recorded whatever happens in it. Raises only where the disk does not take the record."""
    started, started_at = time.monotonic(), datetime.now(UTC)
    folder = store.begin(cell)
    with TranscriptWriter(folder / "transcript.jsonl") as writer:
        attempt = Attempt(cell=cell, prepared=prepared, folder=folder, writer=writer, log=log)
        outcome = await _outcome_of(attempt.run(), folder)
    result = attempt.result(outcome, started_at, time.monotonic() - started)
    store.finish(folder, result)
    return result


async def _outcome_of(work: Awaitable[Outcome], folder: Path) -> Outcome:
    """The one place that catches broadly: a cell's cause is recorded here, and told apart into the arm's failures and ours."""
    try:
        return await work
    except ServerError as error:
        return Outcome(kind="server_crashed", reason=str(error))
    except SandboxError as error:
        return Outcome(kind="sandbox_failed", reason=str(error))
    except ProviderError as error:
        return Outcome(kind="provider_failed", reason=str(error))
    except asyncio.CancelledError:
        return Outcome(kind="cancelled", reason="the runner was interrupted")
    except Exception as error:
        write_whole(folder / "runner.log", traceback.format_exc())
        return Outcome(kind="runner_failed", reason=f"{type(error).__name__}: {error}"[:500])


async def _state_mb(container: Container) -> float | None:
    places = " ".join([STATE, *(f"{WORKSPACE}/{path}" for path in container.spec.private)])
    done = await container.shell(
        f"du -sk {places} 2>/dev/null | awk '{{sum += $1}} END {{print sum}}'",
        timeout_sec=60,
        user=SERVER,
    )
    return int(done.output) * 1024 / 1e6 if done.output.strip().isdigit() else None


def _instructions(server: str, session: ServerSession | None) -> str:
    return (
        f"# Instructions of the MCP server {server}\n\n{session.instructions}"
        if session and session.instructions
        else ""
    )


def _write_differences(model: Model, folder: Path) -> None:
    if isinstance(model, Replay):
        write_record(
            folder / "differences.json",
            Differences(compared=model.compared, differences=tuple(model.differences)),
        )


def run_label(folder: Path) -> str:
    """The label by which a run's containers are found; the same for every runner that resumes it."""
    return str(folder.resolve())


def deadline_sec(scenario: Scenario, server: ServerSpec | None) -> int:
    """When a cell's container ends itself, should its runner have died."""
    ready = (
        sum(step.timeout_sec for step in server.warm_up) + server.initialize_timeout_sec
        if server
        else 0
    )
    return scenario.budget.wall_sec + ready + SLACK_SEC
