"""Streams that stay open: one `exec` whose stdin, stdout and stderr travel on one connection."""

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
LINE_LIMIT_BYTES = 64_000_000
FRAME_STDERR = 2


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


async def dial(engine: Engine) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    parts = urlsplit(engine.api.base_url)
    adapter = engine.api.get_adapter(engine.api.base_url)
    if isinstance(adapter, UnixHTTPAdapter):
        return await asyncio.open_unix_connection(adapter.socket_path)
    if parts.scheme == "http" and parts.hostname:
        return await asyncio.open_connection(parts.hostname, parts.port or 2375)
    raise EngineError(
        f"cannot hold a stream to an engine at {parts.scheme}://",
        hint="use the engine's unix socket",
    )


async def upgrade(
    engine: Engine, exec_id: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Start an exec and take its connection over.

    The SDK's own socket may lose the first bytes to its read buffer, and the framing with them.
    """
    reader, writer = await dial(engine)
    body = b'{"Detach":false,"Tty":false}'
    path = f"/v{engine.api.api_version}/exec/{exec_id}/start"
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
