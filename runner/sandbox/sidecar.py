"""A server that brings its own image: a second container of the cell, spoken to over its stdin.

It is on the cell's network (loopback alone, where attempts are counted), and else by itself: its
own root, processes and users, so that the agent's shell sees nothing of it. Its main process is the
image's own, under a deadline. The engine closes its stdin if the runner dies, which ends a server
over stdio; see docs/container.md.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runner.records import Limits
from runner.sandbox.cell_layout import STATE, TMP, WORKSPACE
from runner.sandbox.container import (
    ENVIRONMENT,
    Container,
    ContainerSpec,
    confinement,
    remove,
)
from runner.sandbox.engine import (
    LABEL,
    Engine,
    absent_ok,
    engine_faults,
    memory_mount,
    no_log,
    owner_labels,
    volume_mount,
)
from runner.sandbox.exit_cause import POLL_SEC, SETTLE_SEC, ended_with, require_at_work
from runner.sandbox.stream import ExecStream, attach
from runner.sandbox.transport import ServerLog
from runner.sandbox.tree_volume import TOOLS, ended_in_time, lent, require_lent
from runner.support.errors import SandboxError, ServerError

if TYPE_CHECKING:
    from docker.types import Mount

GIT = {
    # The tree belongs to root: git would refuse it to any other user of the image.
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
}
NOT_ITS_OWN = ("network_mode", "dns", "tmpfs")
"""Settings that come with the cell's network, or whose place is taken by `_writable`."""
SIGNALLED_KILL = 137
BAD_REQUEST = 400
"""What the engine answers if it cannot run an image's program."""


@dataclass(frozen=True, kw_only=True)
class SidecarSpec:
    """What runs beside the cell."""

    image: str
    """The image's id on the engine."""
    args: Sequence[str] = ()
    """After what the image runs by itself."""
    env: Mapping[str, str] = field(default_factory=dict)
    """On top of the image's own."""
    private: Sequence[str] = ()
    """Folders under /workspace that it may write."""
    http: str | None = None
    """`PORT[/PATH]` at which it speaks streamable HTTP, empty for the port that it opens.

    None for stdin and stdout.
    """


# --- how it is made -------------------------------------------------------------------------


def words_of(config: Mapping[str, Any], args: Sequence[str]) -> list[str]:
    """As `docker run IMAGE ARGS` has it: arguments stand in for the image's own.

    But never for its program: an image without an entry point keeps its command, and gets them too.
    """
    entrypoint, command = list(config.get("Entrypoint") or ()), list(config.get("Cmd") or ())
    if entrypoint and args:
        return [*entrypoint, *args]
    return [*entrypoint, *command, *args]


def settings(limits: Limits) -> dict[str, Any]:
    """What it may use and reach: as the cell, whose network it gets."""
    return {key: it for key, it in confinement(limits).items() if key not in NOT_ITS_OWN}


def _mounts(cell: ContainerSpec, spec: SidecarSpec, declared: Iterable[str]) -> list[Mount]:
    """`declared`: the volumes of the image's own, which would have no bound on the disk."""
    volumes, limits = lent(cell.image, spec.private), cell.limits
    places = [STATE, *declared, *(f"{WORKSPACE}/{path}" for path in spec.private)]
    return [
        volume_mount(WORKSPACE, volumes.tree, read_only=True),
        volume_mount(TOOLS, volumes.tools, read_only=True),
        _writable(TMP, limits.tmp_mb),
        *(_writable(place, limits.state_mb) for place in dict.fromkeys(places)),
    ]


def _declared(config: Mapping[str, Any]) -> list[str]:
    """The volumes of an image, without those that it gets from us in any case.

    Raises ServerError for one in the repository's tree, where no folder can be made for it.
    """
    paths = [path.rstrip("/") for path in config.get("Volumes") or {}]
    for path in paths:
        if path.startswith(f"{WORKSPACE}/"):
            hint = "build it without that VOLUME; `private` in server.yaml may take its place"
            raise ServerError(f"the image declares a volume at {path}", hint=hint)
    return [path for path in paths if path not in (WORKSPACE, TMP)]


def _writable(place: str, size_mb: int) -> Mount:
    """In memory, bounded, and gone with the container.

    A tmpfs of the container's own would get the mode of the image's folder, which its user may not
    write. Who that is, is the image's to say, and nobody else is in there.
    """
    options = f"size={size_mb}m,mode=1777,nosuid,nodev"
    return memory_mount(place, options, {LABEL: "sidecar"})


def _create(container: Container, spec: SidecarSpec) -> str:
    """A container that is not running yet; returns its id."""
    engine, cell = container.engine, container.spec
    config = engine.images.get(spec.image).attrs["Config"]
    words = words_of(config, spec.args)
    if not words:
        raise ServerError("the image runs nothing by itself", hint="`command` in server.yaml")
    require_lent(engine, lent(cell.image, spec.private))
    declared = _declared(config)
    host = engine.api.create_host_config(
        network_mode=f"container:{container.id}",
        mounts=_mounts(cell, spec, declared),
        log_config=no_log(),
        **settings(cell.limits),
    )
    made = engine.api.create_container(
        spec.image,
        entrypoint=ended_in_time(words, cell.deadline_sec),
        command=[],
        # Attached, and closed for good once the runner's end of it is.
        stdin_open=True,
        environment={**ENVIRONMENT, **GIT, **spec.env},
        # One of the image's own would run beside the server and be counted with it.
        healthcheck={"test": ["NONE"]},
        labels={LABEL: "sidecar", **owner_labels(cell.deadline_sec), **cell.labels},
        host_config=host,
    )
    return str(made["Id"])


@asynccontextmanager
async def open_sidecar(
    container: Container, spec: SidecarSpec, log: ServerLog
) -> AsyncIterator[Sidecar]:
    """The image's program, running; removed on the way out whatever happened inside.

    Raises ServerError if the image has no program that runs, SandboxError if the engine fails.
    """
    sidecar_id = ""
    try:
        with engine_faults("cannot make the server's container"):
            sidecar_id = await asyncio.to_thread(_create, container, spec)
            # Before it starts: what it says at once would be lost.
            reader, writer = await attach(container.engine, sidecar_id)
        stream = ExecStream(reader, writer, log.stderr.feed, sidecar_id)
        container.sidecar = Sidecar(container, sidecar_id, stream)
        try:
            await asyncio.to_thread(_start, container.engine, sidecar_id)
            yield container.sidecar
        finally:
            await stream.close()
    finally:
        container.sidecar = None
        if sidecar_id:
            await remove(container.engine, sidecar_id, "the server's")


def _start(engine: Engine, sidecar_id: str) -> None:
    from docker.errors import APIError  # noqa: PLC0415 - see Engine

    with engine_faults("cannot start the server's container"):
        try:
            engine.api.start(sidecar_id)
        except APIError as error:
            if error.status_code != BAD_REQUEST:
                raise
            raise ServerError(f"the image does not run here: {error.explanation}") from error


# --- while it runs --------------------------------------------------------------------------


class Sidecar:
    """A server's own container. Made by `open_sidecar`, gone when that ends."""

    def __init__(self, container: Container, sidecar_id: str, stream: ExecStream) -> None:
        self.id = sidecar_id
        self.stream = stream
        self._container = container
        self._engine = container.engine

    async def peak_memory_mb(self) -> float | None:
        """None if the engine does not say it: with cgroup v2 it tells no peak."""

        def measured() -> Any:
            with absent_ok():
                found = self._engine.api.stats(self.id, stream=False, one_shot=True)
                return found["memory_stats"].get("max_usage")
            return None

        with engine_faults("cannot measure the server's container"):
            peak_bytes = await asyncio.to_thread(measured)
        return None if peak_bytes is None else int(peak_bytes) / 1e6

    async def require_at_work(self) -> None:
        """Raises SandboxError if the cell, this container or the engine stand still."""
        await require_at_work(self._container)
        if (state := await self._state())["Paused"]:
            raise SandboxError(f"the server's container is {state['Status']}")

    async def how_it_ended(self) -> str:
        """In words. Raises SandboxError if that was a fault of ours."""
        await require_at_work(self._container)
        give_up = time.monotonic() + SETTLE_SEC
        while (state := await self._state())["Running"]:
            if time.monotonic() > give_up:
                raise SandboxError("the engine dropped the connection to the server's container")
            await asyncio.sleep(POLL_SEC)
        if state["OOMKilled"]:
            return f"out of memory: its container has {self._container.spec.limits.memory_mb} MB"
        # Nobody in the cell can signal it, and it may do so itself: the engine knows who did.
        if state["ExitCode"] == SIGNALLED_KILL and await asyncio.to_thread(self._was_killed):
            raise SandboxError("the server's container was killed from outside")
        return ended_with(int(state["ExitCode"]))

    def _was_killed(self) -> bool:
        """By a call to the engine, which keeps the last thousand events or so."""
        asked = {"container": self.id, "event": "kill"}
        with engine_faults("cannot look at the engine's events"):
            events = self._engine.api.events(since=0, until=int(time.time()) + 1, filters=asked)
            return any(True for _ in events)

    async def _state(self) -> dict[str, Any]:
        """As the engine tells it. Raises SandboxError if it is gone."""

        def inspect() -> dict[str, Any]:
            with absent_ok():
                found: dict[str, Any] = self._engine.api.inspect_container(self.id)["State"]
                return found
            raise SandboxError("the server's container is gone")

        with engine_faults("cannot look at the server's container"):
            return await asyncio.to_thread(inspect)
