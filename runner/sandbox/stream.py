"""One `exec` whose stdin, stdout and stderr travel on one connection that stays open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from docker.transport import UnixHTTPAdapter

from runner.errors import EngineError, SandboxError
from runner.sandbox.engine import Engine

STDERR_LIMIT_BYTES = 8_000_000
STDERR_TAIL_BYTES = 2000
LINE_LIMIT_BYTES = 64_000_000

_FRAME_HEADER_BYTES = 8
_FRAME_STDERR = 2
_START_BODY = b'{"Detach":false,"Tty":false}'

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class ExecStream:
    """One `exec` with open streams: a message costs a socket write, not an engine round trip."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        on_stderr: Callable[[bytes], None],
        exec_id: str,
    ) -> None:
        self.exec_id = exec_id
        self._reader = reader
        self._writer = writer
        self._on_stderr = on_stderr

    async def write(self, data: bytes) -> None:
        """Raises ConnectionError if the process is gone."""
        self._writer.write(data)
        await self._writer.drain()

    async def stdout(self) -> AsyncIterator[bytes]:
        """Chunks of stdout until the process ends; stderr goes to its sink on the way.

        Docker's multiplexed stream: a frame is one byte for the stream, three empty ones, four
        for the size (big-endian), then that many bytes.
        """
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                header = await self._reader.readexactly(_FRAME_HEADER_BYTES)
                size_bytes = int.from_bytes(header[4:], "big")
                data = await self._reader.readexactly(size_bytes)
                if header[0] == _FRAME_STDERR:
                    self._on_stderr(data)
                else:
                    yield data

    async def close(self) -> None:
        self._writer.close()
        # A connection that the engine has reset already is closed: no reason to lose the outcome.
        with suppress(OSError):
            await self._writer.wait_closed()


async def upgrade(engine: Engine, exec_id: str) -> Connection:
    """Start an exec and take its connection over.

    Raises SandboxError if the engine refuses, EngineError if its address cannot be dialled.
    """
    # Not the SDK's own socket: its read buffer may swallow the first bytes, and every frame after
    # them would be read from the wrong place.
    reader, writer = await _dial(engine)
    writer.write(_start_request(engine, exec_id))
    head = await reader.readuntil(b"\r\n\r\n")
    if not _is_started(head):
        writer.close()
        status_line = head.splitlines()[0].decode(errors="replace")
        raise SandboxError(f"the engine refused to start a process in the cell: {status_line}")
    return reader, writer


def _is_started(head: bytes) -> bool:
    status = head.split(b" ", 2)[1]  # HTTP/1.1 101 UPGRADED
    return status in (b"101", b"200")


async def _dial(engine: Engine) -> Connection:
    url = engine.api.base_url
    adapter = engine.api.get_adapter(url)
    if isinstance(adapter, UnixHTTPAdapter):
        return await asyncio.open_unix_connection(adapter.socket_path)
    parts = urlsplit(url)
    if parts.scheme == "http" and parts.hostname:
        return await asyncio.open_connection(parts.hostname, parts.port or 2375)
    raise EngineError(
        f"cannot open a stream to an engine at {parts.scheme}://",
        hint="use the engine's unix socket",
    )


def _start_request(engine: Engine, exec_id: str) -> bytes:
    lines_sent = (
        f"POST /v{engine.api.api_version}/exec/{exec_id}/start HTTP/1.1",
        "Host: engine",
        "Connection: Upgrade",
        "Upgrade: tcp",
        "Content-Type: application/json",
        f"Content-Length: {len(_START_BODY)}",
    )
    return "\r\n".join(lines_sent).encode() + b"\r\n\r\n" + _START_BODY


async def lines(
    chunks: AsyncIterator[bytes], limit_bytes: int = LINE_LIMIT_BYTES
) -> AsyncIterator[bytes]:
    """Whole lines of a stream, without their newlines.

    Raises ValueError past `limit_bytes` without a newline.
    """
    parts: list[bytes] = []
    size_bytes = 0
    async for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            yield b"".join((*parts, piece))
            parts = []
            size_bytes = 0
        parts.append(rest)
        size_bytes += len(rest)
        # A server that writes "xxxx…" without an end would fill the host's memory.
        if size_bytes > limit_bytes:
            raise ValueError(f"a line of more than {limit_bytes:,} bytes")


class StderrFile:
    """A server's stderr, kept apart from its protocol and bounded."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.size_bytes = 0
        self.tail = b""
        """The last of it, for an error's message."""

    def feed(self, data: bytes) -> None:
        self.tail = (self.tail + data)[-STDERR_TAIL_BYTES:]
        room_bytes = STDERR_LIMIT_BYTES - self.size_bytes
        # Without the limit, a server that logs in a loop would fill the host's disk.
        if self.path is not None and room_bytes > 0:
            with self.path.open("ab") as file:
                file.write(data[:room_bytes])
        self.size_bytes += len(data)
