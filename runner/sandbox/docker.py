"""One cell's container: how it is made, its two users, and the held streams that shell commands and MCP messages travel on.

Engine round trips of a cell: create, start, remove, and two (create, start) for each held stream. See DESIGN.md, "A cell's container".
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import docker
import docker.errors
import requests
from docker.transport import UnixHTTPAdapter
from docker.types import LogConfig, Mount

from runner.errors import EngineError, SandboxError
from runner.protocols import ShellResult
from runner.records import Limits, Sha256, digest_of

LABEL = "fairtrial"
WORKSPACE, INSTALL, STATE = "/workspace", "/opt/server", "/var/lib/server"
AGENT, SERVER, KEEPER = "agent", "server", "nobody"
AGENT_UID, SERVER_UID = 10001, 10002
HOST_GRACE_SEC = 10.0
STDERR_LIMIT_BYTES = 8_000_000
LINE_LIMIT_BYTES = 64_000_000
FRAME_STDERR = 2
ENVIRONMENT = {
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
HOMES = {AGENT: "/home/agent", SERVER: STATE}


def connect(url: str | None = None) -> docker.DockerClient:
    """A client of the engine at `url`, or of the one the environment names. Raises EngineError where none answers."""
    hint = "`./justw demo` starts one on Debian and Ubuntu; elsewhere start Docker yourself"
    client: docker.DockerClient | None = None
    try:
        client = (
            docker.DockerClient(base_url=url, timeout=600) if url else docker.from_env(timeout=600)
        )
        client.ping()
    except (docker.errors.DockerException, requests.RequestException) as error:
        if client is not None:
            client.close()
        raise EngineError("no Docker Engine answers", hint=hint) from error
    return client


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


def _create(client: docker.DockerClient, spec: ContainerSpec) -> str:
    wanted = settings(spec)
    api, tmpfs = client.api, dict(wanted["tmpfs"])
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
        labels={LABEL: "cell", **_owner(), **spec.labels},
        hostname="cell",
    )
    return str(made["Id"])


def _owner() -> dict[str, str]:
    pid = os.getpid()
    return {f"{LABEL}.owner": f"{socket.gethostname()}:{pid}:{_started(pid)}"}


def _started(pid: int) -> str:
    """A process's start tick: tells a process from a later one with the same number. Empty where it is gone or cannot be told."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[19]
    return ""


def _orphaned(owner: str) -> bool:
    host, _, rest = owner.partition(":")
    pid, _, started = rest.partition(":")
    return host == socket.gethostname() and pid.isdigit() and _started(int(pid)) != started


def sweep(client: docker.DockerClient, *, run: str | None = None) -> int:
    """Remove what killed runners left: every cell of `run` (whose hold we have), and every cell whose owner is gone. Returns how many."""
    removed = 0
    for item in client.api.containers(all=True, filters={"label": f"{LABEL}=cell"}):
        labels = item.get("Labels") or {}
        if (run is not None and labels.get(f"{LABEL}.run") == run) or _orphaned(
            labels.get(f"{LABEL}.owner", "")
        ):
            _remove(client, item["Id"])
            removed += 1
    return removed


def remove_all(client: docker.DockerClient) -> Iterator[str]:
    """Remove every container, volume and image with our label, a living runner's too. Yields what was removed."""
    for item in client.api.containers(all=True, filters={"label": LABEL}):
        _remove(client, item["Id"])
        yield f"removed container {item['Id'][:12]}"
    for volume in client.volumes.list(filters={"label": LABEL}):
        volume.remove(force=True)
        yield f"removed volume {volume.name}"
    for image in client.images.list(filters={"label": LABEL}):
        client.api.remove_image(str(image.id), force=True)
        yield f"removed image {next(iter(image.tags), image.short_id)}"


def _remove(client: docker.DockerClient, container_id: str) -> None:
    # A container that is already being removed (its deadline came, or another sweep) answers 404 or 409: both mean it is gone.
    with suppress(docker.errors.NotFound):
        try:
            client.api.remove_container(container_id, force=True, v=True)
        except docker.errors.APIError as error:
            if error.status_code != 409:
                raise
            client.api.wait(container_id, condition="removed", timeout=60)


class HeldStream:
    """One `exec` whose stdin, stdout and stderr stay open: messages cost a socket write, not an engine round trip."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        on_stderr: Callable[[bytes], None],
    ) -> None:
        self._reader, self._writer, self._on_stderr = reader, writer, on_stderr

    async def write(self, data: bytes) -> None:
        """Raises ConnectionError where the process is gone."""
        self._writer.write(data)
        await self._writer.drain()

    async def stdout(self) -> AsyncIterator[bytes]:
        """Chunks of stdout until the process ends; stderr goes to its sink on the way (Docker's multiplexed stream format)."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                header = await self._reader.readexactly(8)
                data = await self._reader.readexactly(int.from_bytes(header[4:], "big"))
                if header[0] == FRAME_STDERR:
                    self._on_stderr(data)
                else:
                    yield data

    async def close(self) -> None:
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


async def _dial(client: docker.DockerClient) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    parts = urlsplit(client.api.base_url)
    adapter = client.api.get_adapter(client.api.base_url)
    if isinstance(adapter, UnixHTTPAdapter):
        return await asyncio.open_unix_connection(adapter.socket_path)
    if parts.scheme == "http" and parts.hostname:
        return await asyncio.open_connection(parts.hostname, parts.port or 2375)
    raise EngineError(
        f"cannot hold a stream to an engine at {parts.scheme}://",
        hint="use the engine's unix socket",
    )


async def _upgrade(
    client: docker.DockerClient, exec_id: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Start an exec and take its connection over.

    The SDK's own socket may lose the first bytes to its read buffer, and the framing with them.
    """
    reader, writer = await _dial(client)
    body = b'{"Detach":false,"Tty":false}'
    path = f"/v{client.api.api_version}/exec/{exec_id}/start"
    writer.write(
        f"POST {path} HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
    head = await reader.readuntil(b"\r\n\r\n")
    status = head.split(b" ", 2)[1]
    if status not in (b"101", b"200"):
        writer.close()
        raise SandboxError(
            f"the engine refused to start a process in the cell: {head.splitlines()[0].decode(errors='replace')}"
        )
    return reader, writer


def _engine_fault(action: str, error: Exception) -> SandboxError:
    detail = getattr(error, "explanation", None) or error
    return SandboxError(
        f"{action}: {detail}",
        hint="`docker info` and the engine's log say more; `fairtrial run` tries the cell again",
    )


class ShellHost:
    """Runs shell commands as one user over one held stream.

    A command that kills it gets an error for an answer, and the next command a fresh host: what an agent does to its own shell is the
    agent's result. Only a cell that cannot start a fresh one is a fault of ours.
    """

    def __init__(self, start: Callable[[], Awaitable[HeldStream]]) -> None:
        self._start = start
        self._stream: HeldStream | None = None
        self._lines: AsyncIterator[bytes] = _nothing()
        self._ids = itertools.count(1)
        self._one_at_a_time = asyncio.Lock()
        self.restarts = 0

    async def ask(self, request: dict[str, Any], timeout_sec: float) -> dict[str, Any]:
        """The host's answer, or {"error": text}. Raises SandboxError where not even a fresh host answers."""
        async with self._one_at_a_time:
            try:
                async with asyncio.timeout(timeout_sec):
                    return await self._exchange(request)
            except (ConnectionError, TimeoutError, ValueError):
                await self.close()
                self.restarts += 1
            try:
                async with asyncio.timeout(HOST_GRACE_SEC):
                    await self._exchange({"read": "/proc/self/status"})
            except (ConnectionError, TimeoutError, ValueError) as error:
                raise SandboxError(
                    f"the cell's shell is gone: {error or 'no answer in time'}"
                ) from error
            return {"error": "the shell was killed while this command ran"}

    async def _exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._stream is None:
            self._stream = await self._start()
            self._lines = lines(self._stream.stdout())
        number = next(self._ids)
        await self._stream.write((json.dumps({"id": number, **request}) + "\n").encode())
        async for line in self._lines:
            answer: dict[str, Any] = json.loads(line)
            if answer["id"] == number:
                return answer
        raise ConnectionError("its process ended")

    async def run(self, command: str, *, timeout_sec: float, limit_chars: int) -> ShellResult:
        request = {"command": command, "timeout_sec": timeout_sec, "limit_chars": limit_chars}
        started = time.monotonic()
        answer = await self.ask(request, timeout_sec + HOST_GRACE_SEC)
        if "error" in answer:
            return _no_output(answer["error"], time.monotonic() - started)
        text, truncated = join_cut(
            answer["head"], answer["tail"], answer["size_chars"], limit_chars
        )
        return ShellResult(
            output=text,
            truncated=truncated,
            **{
                key: answer[key]
                for key in ("exit_code", "timed_out", "size_chars", "digest", "wall_sec")
            },
        )

    async def close(self) -> None:
        if self._stream is not None:
            await self._stream.close()
            self._stream = None


def _no_output(error: str, wall_sec: float) -> ShellResult:
    digest = hashlib.sha256(error.encode()).hexdigest()
    return ShellResult(
        output=error,
        exit_code=-1,
        timed_out=False,
        size_chars=len(error),
        digest=digest,
        truncated=False,
        wall_sec=wall_sec,
    )


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""


async def lines(
    chunks: AsyncIterator[bytes], limit_bytes: int = LINE_LIMIT_BYTES
) -> AsyncIterator[bytes]:
    """Whole lines of a stream. Raises ValueError past `limit_bytes` without a newline: an endless line would fill the host's memory."""
    parts: list[bytes] = []
    size = 0
    async for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            yield b"".join((*parts, piece))
            parts, size = [], 0
        parts.append(rest)
        size += len(rest)
        if size > limit_bytes:
            raise ValueError(f"a line of more than {limit_bytes:,} bytes")


def join_cut(head: str, tail: str, size_chars: int, limit_chars: int) -> tuple[str, bool]:
    """Head and tail of a text of `size_chars`, as the model sees it; True where something was left out, which the text then says.

    `head` and `tail` hold up to `limit_chars` each: all of the text where it is no longer than both together.
    """
    if size_chars <= limit_chars:
        return head + tail, False
    keep = limit_chars // 2
    first, last = _to_line_end(head[:keep]), _from_line_start((head[keep:] + tail)[-keep:])
    left_out = size_chars - len(first) - len(last)
    return (
        f"{first}\n[... {left_out:,} of {size_chars:,} characters left out here ...]\n{last}",
        True,
    )


def _to_line_end(text: str) -> str:
    """Half a line reads as another line: a path cut short is another path, which nobody wrote."""
    end = text.rfind("\n")
    return text[:end] if end > len(text) // 2 else text


def _from_line_start(text: str) -> str:
    start = text.find("\n")
    return text[start + 1 :] if 0 <= start < len(text) // 2 else text


def cut(text: str, limit_chars: int) -> tuple[str, bool]:
    """The same for a text that is here in full."""
    return join_cut(text[:limit_chars], text[limit_chars:], len(text), limit_chars)


class StderrFile:
    """A server's stderr, kept apart from its protocol and bounded."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.size_bytes, self.tail = path, 0, b""

    def feed(self, data: bytes) -> None:
        self.tail = (self.tail + data)[-2000:]
        if self.path is not None and self.size_bytes < STDERR_LIMIT_BYTES:
            with self.path.open("ab") as file:
                file.write(data[: STDERR_LIMIT_BYTES - self.size_bytes])
        self.size_bytes += len(data)


class Container:
    """One cell's container (protocols.Sandbox). Made by `open_container`, gone when that ends."""

    def __init__(self, client: docker.DockerClient, spec: ContainerSpec, container_id: str) -> None:
        self._client, self.spec, self.id = client, spec, container_id
        self._held: list[HeldStream] = []
        self._hosts = {user: ShellHost(self._host_starter(user)) for user in (AGENT, SERVER)}

    def _host_starter(self, user: str) -> Callable[[], Awaitable[HeldStream]]:
        source = (
            resources.files("runner.sandbox").joinpath("shell_host.py").read_text(encoding="utf-8")
        )

        async def start() -> HeldStream:
            return await self.hold(["python3", "-I", "-c", source], user=user)

        return start

    async def hold(
        self,
        argv: list[str],
        *,
        user: str,
        env: Mapping[str, str] | None = None,
        on_stderr: Callable[[bytes], None] | None = None,
    ) -> HeldStream:
        """Start a process as `user` at the repository root and hold its streams. Raises SandboxError where the engine will not."""
        environment = {"HOME": HOMES[user], "USER": user, **(env or {})}
        try:
            made = await asyncio.to_thread(
                self._client.api.exec_create,
                self.id,
                argv,
                stdin=True,
                stdout=True,
                stderr=True,
                user=user,
                environment=environment,
                workdir=WORKSPACE,
            )
            reader, writer = await _upgrade(self._client, made["Id"])
        except (
            docker.errors.APIError,
            requests.RequestException,
            OSError,
            asyncio.IncompleteReadError,
        ) as error:
            raise _engine_fault("cannot start a process in the cell", error) from error
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
async def open_container(
    client: docker.DockerClient, spec: ContainerSpec
) -> AsyncIterator[Container]:
    """A running container, removed on the way out whatever happened inside. Raises SandboxError where the engine will not make one."""
    container_id = ""
    try:
        try:
            container_id = await asyncio.to_thread(_create, client, spec)
            await asyncio.to_thread(client.api.start, container_id)
        except (docker.errors.DockerException, requests.RequestException) as error:
            raise _engine_fault("cannot start the cell's container", error) from error
        container = Container(client, spec, container_id)
        try:
            yield container
        finally:
            await container.close()
    finally:
        if container_id:
            await asyncio.shield(asyncio.to_thread(_remove, client, container_id))


@dataclass(frozen=True, kw_only=True)
class EngineFacts:
    """What the fingerprint says of the engine."""

    version: str
    kernel: str


def engine_facts(client: docker.DockerClient) -> EngineFacts:
    told = client.version()
    return EngineFacts(version=str(told["Version"]), kernel=str(told["KernelVersion"]))
