"""One cell's container: how it is made, its two users, and the held streams that shell commands and MCP messages travel on.

Engine round trips of a cell: create, start, remove, and two (create, start) for each held stream. See DESIGN.md, "A cell's container".
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from docker.types import LogConfig, Mount

from runner.protocols import ShellResult
from runner.records import Limits, Sha256, digest_of
from runner.sandbox.engine import LABEL, Engine, engine_faults, owner_label, remove_container
from runner.sandbox.places import (
    AGENT,
    AGENT_UID,
    HOMES,
    INSTALL,
    KEEPER,
    SERVER,
    SERVER_UID,
    STATE,
    WORKSPACE,
)
from runner.sandbox.shell import HOST_GRACE_SEC, ShellHost
from runner.sandbox.stream import HeldStream, upgrade

ENVIRONMENT = {
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}


@dataclass(frozen=True, kw_only=True)
class ContainerSpec:
    """What a container is made from. The same in both arms of a comparison, save `server_volume` and `private`."""

    image: str
    """Workspace image id."""
    limits: Limits
    deadline_sec: int
    """The container ends itself then: a killed runner cannot leak it for ever."""
    labels: Mapping[str, str] = field(default_factory=dict)
    server_volume: str | None = None
    private: tuple[str, ...] = ()
    """Directories under /workspace that become the server's own tmpfs."""


def settings(spec: ContainerSpec) -> dict[str, Any]:
    """The container's settings as the engine gets them, without what belongs to the server under test."""
    limits = spec.limits
    return {
        "user": KEEPER,
        "network_mode": "none",
        # The engine would write the host's own resolvers into the cell; a documentation address has no route, so attempts are counted.
        "dns": ["192.0.2.1"],
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "init": True,
        "mem_limit": f"{limits.memory_mb}m",
        "memswap_limit": f"{limits.memory_mb}m",
        "nano_cpus": int(limits.cpus * 1e9),
        "pids_limit": limits.pids,
        "environment": ENVIRONMENT,
        "working_dir": WORKSPACE,
        "tmpfs": {
            "/tmp": f"rw,exec,nosuid,nodev,size={limits.tmp_mb}m,mode=1777",  # noqa: S108 - the container's own
            HOMES[
                AGENT
            ]: f"rw,exec,nosuid,nodev,size={limits.tmp_mb}m,mode=0700,uid={AGENT_UID},gid={AGENT_UID}",
            STATE: _private_tmpfs(limits),
        },
    }


def _private_tmpfs(limits: Limits) -> str:
    return (
        f"rw,exec,nosuid,nodev,size={limits.state_mb}m,mode=0700,uid={SERVER_UID},gid={SERVER_UID}"
    )


def settings_digest(spec: ContainerSpec) -> Sha256:
    """Goes into the fingerprint: two arms with different settings are not a measurement."""
    return digest_of(settings(spec))


def _create(engine: Engine, spec: ContainerSpec) -> str:
    wanted = settings(spec)
    api, tmpfs = engine.api, dict(wanted["tmpfs"])
    tmpfs |= {f"{WORKSPACE}/{path}": _private_tmpfs(spec.limits) for path in spec.private}
    mounts = (
        [Mount(INSTALL, spec.server_volume, type="volume", read_only=True, no_copy=True)]
        if spec.server_volume
        else []
    )
    host = api.create_host_config(
        tmpfs=tmpfs,
        mounts=mounts,
        auto_remove=True,
        log_config=LogConfig(type="none"),
        **{
            key: wanted[key]
            for key in wanted
            if key not in ("user", "environment", "working_dir", "tmpfs")
        },
    )
    made = api.create_container(
        spec.image,
        command=["sleep", str(spec.deadline_sec)],
        entrypoint=[],
        user=wanted["user"],
        environment=wanted["environment"],
        working_dir=WORKSPACE,
        host_config=host,
        labels={LABEL: "cell", **owner_label(), **spec.labels},
        hostname="cell",
    )
    return str(made["Id"])


class Container:
    """One cell's container (protocols.Sandbox). Made by `open_container`, gone when that ends."""

    def __init__(self, engine: Engine, spec: ContainerSpec, container_id: str) -> None:
        self._engine, self.spec, self.id = engine, spec, container_id
        self._held: list[HeldStream] = []
        self._hosts = {user: ShellHost(self._host_starter(user)) for user in (AGENT, SERVER)}

    def _host_starter(self, user: str) -> Callable[[], Awaitable[HeldStream]]:
        source = (
            resources.files("runner.sandbox").joinpath("shell_host.py").read_text(encoding="utf-8")
        )

        async def start() -> HeldStream:
            return await self.exec_stream(["python3", "-I", "-c", source], user=user)

        return start

    async def exec_stream(
        self,
        argv: list[str],
        *,
        user: str,
        env: Mapping[str, str] | None = None,
        on_stderr: Callable[[bytes], None] | None = None,
    ) -> HeldStream:
        """Start a process as `user` at the repository root and hold its streams. Raises SandboxError where the engine will not."""
        environment = {"HOME": HOMES[user], "USER": user, **(env or {})}
        with engine_faults("cannot start a process in the cell"):
            made = await asyncio.to_thread(
                self._engine.api.exec_create,
                self.id,
                argv,
                stdin=True,
                stdout=True,
                stderr=True,
                user=user,
                environment=environment,
                workdir=WORKSPACE,
            )
            reader, writer = await upgrade(self._engine, made["Id"])
        self._held.append(HeldStream(reader, writer, on_stderr or (lambda _: None)))
        return self._held[-1]

    async def shell(self, command: str, *, timeout_sec: float, user: str = AGENT) -> ShellResult:
        """Run one command at the repository root. Raises SandboxError where the container is gone."""
        return await self._hosts[user].run(
            command, timeout_sec=timeout_sec, limit_chars=self.spec.limits.result_chars
        )

    async def read(self, path: str, *, user: str = AGENT) -> str | None:
        """The first 64 KiB of a file as `user` sees it, None where it cannot be read. Costs no engine round trip."""
        answer = await self._hosts[user].ask({"read": path}, HOST_GRACE_SEC)
        return answer.get("text")

    async def peak_memory_mb(self) -> float | None:
        """Of the whole container, tmpfs included, from its cgroup (v1 or v2)."""
        for path in (
            "/sys/fs/cgroup/memory.peak",
            "/sys/fs/cgroup/memory/memory.max_usage_in_bytes",
        ):
            text = await self.read(path)
            if text is not None and text.strip().isdigit():
                return int(text) / 1e6
        return None

    @property
    def shell_restarts(self) -> int:
        return self._hosts[AGENT].restarts

    async def close(self) -> None:
        for stream in self._held:
            await stream.close()


@asynccontextmanager
async def open_container(engine: Engine, spec: ContainerSpec) -> AsyncIterator[Container]:
    """A running container, removed on the way out whatever happened inside. Raises SandboxError where the engine will not make one."""
    container_id = ""
    try:
        with engine_faults("cannot start the cell's container"):
            container_id = await asyncio.to_thread(_create, engine, spec)
            await asyncio.to_thread(engine.api.start, container_id)
        container = Container(engine, spec, container_id)
        try:
            yield container
        finally:
            await container.close()
    finally:
        if container_id:
            await asyncio.shield(asyncio.to_thread(remove_container, engine, container_id))
