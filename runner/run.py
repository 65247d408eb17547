"""run_cell: sandbox -> server -> agent -> transcript -> outcome. And `run_all`, which keeps several cells going at once."""

from __future__ import annotations

import asyncio
import signal
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import docker

from runner.agent import SYSTEM, Conversation, Spent, Toolbox
from runner.errors import ProviderError, SandboxError, ServerError
from runner.models import open_model
from runner.models.replay import Differences, Replay
from runner.protocols import Model
from runner.records import (
    Cell,
    CellResult,
    Fingerprint,
    Limits,
    Note,
    Outcome,
    RepoPin,
    Scenario,
    ServerSpec,
    Timings,
    ToolsSeen,
    digest_of,
)
from runner.sandbox.docker import (
    SERVER,
    STATE,
    WORKSPACE,
    Container,
    ContainerSpec,
    EngineFacts,
    StderrFile,
    open_container,
    settings_digest,
)
from runner.sandbox.session import ServerSession
from runner.sandbox.transport import ServerLog
from runner.servers import open_server, prove
from runner.store import RunStore, write_record, write_whole
from runner.transcript import TranscriptWriter

SLACK_SEC = 3600
"""For API back-off and a busy machine: a container that ends itself under a living cell would be a fault of ours."""


@dataclass(frozen=True, kw_only=True)
class Arm:
    """The server of an arm, installed and pinned. `spec` is None for `shell`."""

    name: str
    spec: ServerSpec | None
    volume: str | None
    digest: str
    """Of its definition and its locks."""


@dataclass(frozen=True, kw_only=True)
class Ground:
    """What a scenario's cells stand on: the same for every arm."""

    scenario: Scenario
    image: str
    """Workspace image id."""
    base_image: str
    pin: RepoPin


@dataclass(frozen=True, kw_only=True)
class Site:
    """All that is ready before the first cell: engine, images, volumes, limits."""

    client: docker.DockerClient
    engine: EngineFacts
    harness: str
    limits: Limits
    arms: dict[str, Arm]
    grounds: dict[str, Ground]


@dataclass(kw_only=True)
class Attempt:
    """One attempt at a cell, and what is known of it so far: whatever ends it, this much is recorded."""

    cell: Cell
    site: Site
    folder: Path
    writer: TranscriptWriter
    say: Callable[[str], None]
    create_sec: float = 0.0
    initialize_sec: float = 0.0
    warm_up_sec: float = 0.0
    canary_sec: float = 0.0
    peak_memory_mb: float | None = None
    state_mb: float | None = None
    fingerprint: Fingerprint | None = None
    spent: Spent = field(default_factory=Spent)

    @property
    def ground(self) -> Ground:
        return self.site.grounds[self.cell.scenario]

    @property
    def arm(self) -> Arm:
        return self.site.arms[self.cell.server]

    def note(self, text: str) -> None:
        self.writer.write(Note(text=text))

    async def run(self) -> Outcome:
        """Raises ServerError, SandboxError or ProviderError where a part failed."""
        model, spec, started = open_model(self.cell.model), self._spec(), time.monotonic()
        async with open_container(self.site.client, spec) as container:
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
            limits=self.site.limits,
            deadline_sec=deadline_sec(self.ground.scenario, server),
            labels=labels,
            server_volume=self.arm.volume,
            private=server.private if server else (),
        )

    async def _converse(
        self, model: Model, container: Container, session: ServerSession | None
    ) -> Outcome:
        self.say("the agent works")
        call_sec = self.arm.spec.call_timeout_sec if self.arm.spec else 0
        toolbox = Toolbox(
            container, self.site.limits, server=self.arm.name, session=session, call_sec=call_sec
        )
        conversation = Conversation(
            model=model,
            scenario=self.ground.scenario,
            toolbox=toolbox,
            record=self.writer.write,
            spent=self.spent,
            instructions=_instructions(self.arm.name, session),
        )
        return await conversation.hold()

    @asynccontextmanager
    async def _mounted(self, container: Container) -> AsyncIterator[ServerSession | None]:
        """The arm's server: started, warmed up and proven alive before the agent's first turn. None for `shell`."""
        spec = self.arm.spec
        if spec is None:
            yield None
            return
        self.say("the server starts and indexes")
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
        ground, arm, site = self.ground, self.arm, self.site
        return Fingerprint(
            harness=site.harness,
            base_image=ground.base_image,
            workspace_image=ground.image,
            commit=ground.pin.commit,
            tree=ground.pin.tree,
            prompts=digest_of([SYSTEM, *(step.prompt for step in ground.scenario.steps)]),
            limits=digest_of(site.limits),
            container=settings_digest(spec),
            engine=site.engine.version,
            kernel=site.engine.kernel,
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
            agent_sec=self.spent.agent_sec,
            backoff_sec=self.spent.backoff_sec,
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
    cell: Cell, site: Site, store: RunStore, say: Callable[[str], None]
) -> CellResult:
    """One attempt at one cell, recorded whatever happens in it. Raises only where the disk does not take the record."""
    started, started_at = time.monotonic(), datetime.now(UTC)
    folder = store.begin(cell)
    with TranscriptWriter(folder / "transcript.jsonl") as writer:
        attempt = Attempt(cell=cell, site=site, folder=folder, writer=writer, say=say)
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


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What `run_all` tells while it works."""

    started: Callable[[Cell], None]
    says: Callable[[Cell, str], None]
    ended: Callable[[CellResult], None]


async def run_all(
    cells: Sequence[Cell], site: Site, store: RunStore, progress: Progress, *, jobs: int
) -> None:
    """Every cell once, at most `jobs` at a time, in the plan's order. Cancelled, it records the cells under way as such."""
    gate = asyncio.Semaphore(jobs)

    async def one(cell: Cell) -> None:
        async with gate:
            progress.started(cell)
            progress.ended(
                await run_cell(cell, site, store, lambda text: progress.says(cell, text))
            )

    async with asyncio.TaskGroup() as tasks:
        for cell in cells:
            tasks.create_task(one(cell))


def run_until_done(work: Coroutine[object, object, None]) -> None:
    """Run it; SIGINT and SIGTERM cancel it in order (cells recorded, containers removed) and end in KeyboardInterrupt.

    Raises the first failure itself, out of its group.
    """

    async def main() -> None:
        task = asyncio.current_task()
        if task is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        await work

    try:
        asyncio.run(main())
    except asyncio.CancelledError as error:
        raise KeyboardInterrupt from error
    except ExceptionGroup as group:
        first = group.exceptions[0]
        raise first from group
