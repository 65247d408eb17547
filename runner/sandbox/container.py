"""One cell's container: how it is made, its two users, and the streams into it.

Shell commands and MCP messages travel on streams that stay open. Engine round trips of a cell:
create, attach, start, remove, and two (create, start) for each stream. See docs/container.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Any, Protocol

from runner.protocols import ShellResult
from runner.records import Limits, Sha256, digest_of
from runner.sandbox.cell_layout import (
    AGENT_UID,
    AGENT_USER,
    HOMES,
    INSTALL,
    KEEPER_USER,
    SERVER_UID,
    SERVER_USER,
    SHARED_MEMORY,
    SHELL_PYTHON,
    STATE,
    TMP,
    WORKSPACE,
)
from runner.sandbox.engine import (
    LABEL,
    Engine,
    engine_faults,
    no_log,
    owner_labels,
    remove_container,
    volume_mount,
)
from runner.sandbox.exit_cause import require_at_work, shell_end
from runner.sandbox.seccomp import seccomp_option
from runner.sandbox.shell import HOST_GRACE_SEC, ExecStarter, ShellHost
from runner.sandbox.stream import ExecStream, attach, upgrade
from runner.support.errors import SandboxError

if TYPE_CHECKING:
    from docker.types import Mount


PROBE_SEC = 30.0

ENVIRONMENT = {
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "LANG": "C.UTF-8",
    # A fresh seed per process would order sets, and with them results, differently in each trial.
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    # `git status` would try to refresh the index of a repository that it cannot write.
    "GIT_OPTIONAL_LOCKS": "0",
}
_PROCESS: dict[str, Any] = {
    "user": KEEPER_USER,
    "environment": ENVIRONMENT,
    "working_dir": WORKSPACE,
}
_PEAK_MEMORY_FILES = (
    "/sys/fs/cgroup/memory.peak",  # cgroup v2
    "/sys/fs/cgroup/memory/memory.max_usage_in_bytes",  # cgroup v1
)


class Beside(Protocol):
    """A server's own container, beside the cell's."""

    id: str
    """Of the container, as the engine knows it."""

    async def peak_memory_mb(self) -> float | None: ...


@dataclass(frozen=True, kw_only=True)
class ContainerSpec:
    """What a container is made from.

    The arms of a comparison share all of it but the volumes and `private`.
    """

    image: str
    """Workspace image id."""
    limits: Limits
    deadline_sec: int
    """The container ends itself then: a killed runner cannot leak it for ever."""
    labels: Mapping[str, str] = field(default_factory=dict)
    server_volume: str | None = None
    volumes: Mapping[str, str] = field(default_factory=dict)
    """Of several servers: place -> install volume."""
    private: tuple[str, ...] = ()
    """Directories under /workspace that become the server's own tmpfs."""


# --- how it is made -------------------------------------------------------------------------


def settings(spec: ContainerSpec) -> dict[str, Any]:
    """The settings that every arm shares, without what belongs to the server under test."""
    return {**_PROCESS, **confinement(spec.limits)}


def settings_digest(spec: ContainerSpec) -> Sha256:
    """For the fingerprint: two arms with different settings are not a measurement."""
    return digest_of(settings(spec))


def confinement(limits: Limits) -> dict[str, Any]:
    """What the container may use and reach, in the terms of the engine's host configuration."""
    memory = f"{limits.memory_mb}m"
    return {
        "network_mode": "none",
        # Otherwise the engine writes the host's own resolvers into the cell. A documentation
        # address has no route, so that each look-up that a server tries is counted.
        "dns": ["192.0.2.1"],
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges", seccomp_option()],
        # Without an init, the orphans of a killed command would stay as zombies and eat pids.
        "init": True,
        "mem_limit": memory,
        # Equal to mem_limit: a cell that swaps would be slow rather than out of memory.
        "memswap_limit": memory,
        "nano_cpus": int(limits.cpus * 1e9),
        "pids_limit": limits.pids,
        "tmpfs": {
            TMP: _tmpfs(limits.tmp_mb, "mode=1777"),
            HOMES[AGENT_USER]: _tmpfs(limits.tmp_mb, _owned_by(AGENT_UID)),
            STATE: _private_tmpfs(limits),
        },
    }


def _tmpfs(size_mb: int, access: str) -> str:
    return f"rw,exec,nosuid,nodev,size={size_mb}m,{access}"


def _owned_by(uid: int) -> str:
    return f"mode=0700,uid={uid},gid={uid}"


def _private_tmpfs(limits: Limits) -> str:
    return _tmpfs(limits.state_mb, _owned_by(SERVER_UID))


def _host_config(engine: Engine, spec: ContainerSpec) -> dict[str, Any]:
    """The shared settings, and the server's own mounts on top."""
    confined = confinement(spec.limits)
    for path in spec.private:
        confined["tmpfs"][f"{WORKSPACE}/{path}"] = _private_tmpfs(spec.limits)
    host: dict[str, Any] = engine.api.create_host_config(
        mounts=_server_mounts(spec),
        auto_remove=True,
        log_config=no_log(),
        **confined,
    )
    return host


def _server_mounts(spec: ContainerSpec) -> list[Mount]:
    volumes = dict(spec.volumes)
    if spec.server_volume:
        volumes[INSTALL] = spec.server_volume
    return [volume_mount(place, volume, read_only=True) for place, volume in volumes.items()]


def _create(engine: Engine, spec: ContainerSpec) -> str:
    """A container that is not running yet; returns its id."""
    made = engine.api.create_container(
        spec.image,
        # It ends when it is told to. A connection that is cut tells it nothing.
        command=["timeout", str(spec.deadline_sec), "sh", "-c", "read _ || exec sleep infinity"],
        entrypoint=[],
        stdin_open=True,
        host_config=_host_config(engine, spec),
        labels={LABEL: "cell", **owner_labels(spec.deadline_sec), **spec.labels},
        hostname="cell",
        **_PROCESS,
    )
    return str(made["Id"])


@asynccontextmanager
async def open_container(engine: Engine, spec: ContainerSpec) -> AsyncIterator[Container]:
    """A running container, removed on the way out whatever happened inside.

    Raises SandboxError if the engine does not make one.
    """
    container_id, main = "", None
    try:
        with engine_faults("cannot start the cell's container"):
            container_id = await asyncio.to_thread(_create, engine, spec)
            main = ExecStream(*await attach(engine, container_id), _ignore, container_id)
            await asyncio.to_thread(engine.api.start, container_id)
        container = Container(engine, spec, container_id)
        try:
            yield container
        finally:
            await container.close()
    finally:
        if main:
            await _end(main)
        if container_id:
            await remove(engine, container_id, "the cell's")


async def _end(main: ExecStream) -> None:
    """Without the engine's help: while it waits for a process that was stopped as it started
    (`kill -STOP -1`), it removes nothing, and the cell would stay until its deadline.
    """
    with suppress(OSError):
        await main.write(b"\n")
    await main.close()


async def remove(engine: Engine, container_id: str, whose: str) -> None:
    """Raises SandboxError if the engine keeps it."""
    # Shielded: a cancelled cell (Ctrl-C, a time-out) would leave its container until the deadline.
    with engine_faults(f"cannot remove {whose} container"):
        await asyncio.shield(asyncio.to_thread(remove_container, engine, container_id))


# --- what runs inside -----------------------------------------------------------------------


class Container:
    """One cell's container (protocols.Sandbox). Made by `open_container`, gone when that ends."""

    def __init__(self, engine: Engine, spec: ContainerSpec, container_id: str) -> None:
        self.spec = spec
        self.id = container_id
        self.engine = engine
        self.sidecar: Beside | None = None
        """The container of a server that brings its own image, while it runs."""
        self._streams: list[ExecStream] = []
        self._shells = {
            AGENT_USER: self._shell_host(AGENT_USER),
            SERVER_USER: self._shell_host(SERVER_USER),
        }

    def _shell_host(self, user: str) -> ShellHost:
        return ShellHost(
            self._shell_starter(user), partial(shell_end, self), partial(require_at_work, self)
        )

    def _shell_starter(self, user: str) -> ExecStarter:
        argv = program("shell_host.py", SHELL_PYTHON)
        if user == AGENT_USER:
            argv.append("alone")
        return partial(self.exec_stream, argv, user=user)

    @property
    def memory_limit_mb(self) -> int:
        return self.spec.limits.memory_mb

    async def memory_use(self) -> str:
        """What memory_probe.py prints. Raises SandboxError if the container does not take it."""
        places = (HOMES[AGENT_USER], TMP, SHARED_MEMORY)
        argv = [*program("memory_probe.py"), str(AGENT_UID), *places]
        try:
            async with asyncio.timeout(PROBE_SEC):
                stream = await self.exec_stream(argv, user=KEEPER_USER)
                printed = [chunk async for chunk in stream.stdout()]
        except TimeoutError as error:
            raise SandboxError(f"the cell's container does not answer in {PROBE_SEC} s") from error
        return b"".join(printed).decode()

    async def state(self) -> str:
        """`running`, `paused`, `removing` and so on, in the engine's words; `removed` after it."""

        def listed() -> str:
            # Not `inspect`: where a process was stopped while it started (`kill -STOP -1`), that
            # waits for it and holds the container, which could then not even be removed.
            found = self.engine.api.containers(all=True, filters={"id": self.id})
            return str(found[0]["State"]) if found else "removed"

        with engine_faults("cannot look at the cell's container"):
            return await asyncio.to_thread(listed)

    async def exit_code(self, exec_id: str) -> int | None:
        """None while the process runs. Raises SandboxError if the engine does not know it."""
        with engine_faults("cannot look at a process in the cell"):
            state = await asyncio.to_thread(self.engine.api.exec_inspect, exec_id)
        if state["Running"] or state["ExitCode"] is None:
            return None
        return int(state["ExitCode"])

    async def exec_stream(
        self,
        argv: list[str],
        *,
        user: str,
        env: Mapping[str, str] | None = None,
        on_stderr: Callable[[bytes], None] | None = None,
    ) -> ExecStream:
        """Start a process as `user` at the repository root and keep its streams open.

        Raises SandboxError if the engine does not start it.
        """
        environment = {"HOME": HOMES.get(user, "/"), "USER": user, **(env or {})}
        with engine_faults("cannot start a process in the cell"):
            exec_id = await asyncio.to_thread(self._create_exec, argv, user, environment)
            reader, writer = await upgrade(self.engine, exec_id)
        stream = ExecStream(reader, writer, on_stderr or _ignore, exec_id)
        self._streams.append(stream)
        return stream

    def _create_exec(self, argv: list[str], user: str, environment: Mapping[str, str]) -> str:
        """A process that is not running yet; returns the id of its exec."""
        made = self.engine.api.exec_create(
            self.id,
            argv,
            stdin=True,
            stdout=True,
            stderr=True,
            user=user,
            environment=dict(environment),
            workdir=WORKSPACE,
        )
        return str(made["Id"])

    async def shell(
        self, command: str, *, timeout_sec: float, user: str = AGENT_USER
    ) -> ShellResult:
        """Run one command at the repository root. Raises SandboxError if the container is gone."""
        return await self._shells[user].run(
            command, timeout_sec=timeout_sec, limit_chars=self.spec.limits.result_chars
        )

    async def read(self, path: str, *, user: str = AGENT_USER) -> str | None:
        """The first 64 KiB of a file as `user` sees it, None if it cannot be read.

        Costs no engine round trip.
        """
        answer = await self._shells[user].ask({"read": path}, HOST_GRACE_SEC)
        return answer.get("text")

    async def peak_memory_mb(self) -> float | None:
        """Of the whole container, tmpfs included, and of the server's own beside it.

        None if a cgroup does not say.
        """
        own_mb = await self._own_peak_mb()
        if own_mb is None or self.sidecar is None:
            return own_mb
        beside_mb = await self.sidecar.peak_memory_mb()
        return None if beside_mb is None else own_mb + beside_mb

    async def _own_peak_mb(self) -> float | None:
        for path in _PEAK_MEMORY_FILES:
            text = await self.read(path)
            if text is not None and text.strip().isdigit():
                return int(text) / 1e6
        return None

    @property
    def shell_restarts(self) -> int:
        """How often the agent's shell was killed and started again."""
        return self._shells[AGENT_USER].restarts

    async def close(self) -> None:
        for stream in self._streams:
            await stream.close()


def program(name: str, python: str = "python3") -> list[str]:
    """The command of a program of ours that runs inside the container, on its own Python."""
    source = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return [python, "-I", "-c", source]


def _ignore(_: bytes) -> None:
    pass
