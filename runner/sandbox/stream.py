"""One `exec` whose stdin, stdout and stderr travel on one connection that stays open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from runner.sandbox.engine import Engine
from runner.support.errors import EngineError, SandboxError

STDERR_LIMIT_BYTES = 8_000_000
STDERR_TAIL_BYTES = 2000
STDERR_FLOOD_BYTES = 256_000_000
"""A server that writes more to stderr is given up: reading it would slow the cells beside it."""
LINE_LIMIT_BYTES = 64_000_000
EDGE_BYTES = 256
"""What is kept of each end of a line that is thrown away: a message's id stands near one."""

_FRAME_HEADER_BYTES = 8
_FRAME_STDERR = 2
_START_BODY = b'{"Detach":false,"Tty":false}'

StreamPair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True)
class ExecStream:
    """One `exec` with open streams: a message costs a socket write, not an engine round trip."""

    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter
    _on_stderr: Callable[[bytes], None]
    exec_id: str

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


async def upgrade(engine: Engine, exec_id: str) -> StreamPair:
    """Start an exec and take its connection over.

    Raises SandboxError if the engine refuses, EngineError if its address cannot be dialled.
    """
    return await _taken_over(engine, f"/exec/{exec_id}/start", _START_BODY)


async def attach(engine: Engine, container_id: str) -> StreamPair:
    """The streams of a container's main process, which need not run yet. Raises as `upgrade`."""
    streams = "stream=1&stdin=1&stdout=1&stderr=1"
    return await _taken_over(engine, f"/containers/{container_id}/attach?{streams}", b"")


async def _taken_over(engine: Engine, path: str, body: bytes) -> StreamPair:
    # Not the SDK's own socket: its read buffer may swallow the first bytes, and every frame after
    # them would be read from the wrong place.
    reader, writer = await _dial(engine)
    writer.write(_request(engine, path, body))
    head = await reader.readuntil(b"\r\n\r\n")
    status = head.split(b" ", 2)[1]  # HTTP/1.1 101 UPGRADED
    if status not in (b"101", b"200"):
        writer.close()
        status_line = head.splitlines()[0].decode(errors="replace")
        raise SandboxError(f"the engine refused to start a process in the cell: {status_line}")
    return reader, writer


async def _dial(engine: Engine) -> StreamPair:
    from docker.transport import UnixHTTPAdapter  # noqa: PLC0415 - see Engine

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


def _request(engine: Engine, path: str, body: bytes) -> bytes:
    lines_sent = (
        f"POST /v{engine.api.api_version}{path} HTTP/1.1",
        "Host: engine",
        "Connection: Upgrade",
        "Upgrade: tcp",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join(lines_sent).encode() + b"\r\n\r\n" + body


async def lines(
    chunks: AsyncIterator[bytes], limit_bytes: int = LINE_LIMIT_BYTES
) -> AsyncIterator[bytes]:
    """Whole lines of a stream, without their newlines.

    Raises ValueError past `limit_bytes` without a newline.
    """

    async def refuse(_: int) -> None:
        raise ValueError(f"a line of more than {limit_bytes:,} bytes")

    async for line in bounded_lines(chunks, limit_bytes, refuse):
        assert isinstance(line, bytes)  # noqa: S101 - a longer one was refused
        yield line


@dataclass(frozen=True, kw_only=True)
class LongLine:
    """A line past the limit that was thrown away as it came: its size, and its two ends."""

    size_bytes: int
    head: bytes
    tail: bytes


class _PartialLine:
    """A line that is still coming."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._parts: list[bytes] = []
        self._head = b""
        self._tail = b""
        self.size_bytes = 0

    @property
    def is_long(self) -> bool:
        return self.size_bytes > self._limit_bytes

    def add(self, part: bytes) -> None:
        self.size_bytes += len(part)
        self._parts.append(part)
        if self.is_long:
            held = b"".join((self._tail, *self._parts))
            self._head = self._head or held[:EDGE_BYTES]
            self._tail = held[-EDGE_BYTES:]
            self._parts = []

    def ended(self) -> bytes | LongLine:
        """The line, whole or as what is left of it."""
        if self.is_long:
            return LongLine(size_bytes=self.size_bytes, head=self._head, tail=self._tail)
        return b"".join(self._parts)


async def bounded_lines(
    chunks: AsyncIterator[bytes],
    limit_bytes: int,
    throw_away: Callable[[int], Awaitable[None]],
) -> AsyncIterator[bytes | LongLine]:
    """Whole lines of a stream, without their newlines; of a longer one, what it was.

    `throw_away` gets the bytes of long lines as they come, and may wait, or raise, to stop a flood.
    """
    line = _PartialLine(limit_bytes)
    async for chunk in chunks:
        for number, part in enumerate(chunk.split(b"\n")):
            if number:
                yield line.ended()
                line = _PartialLine(limit_bytes)
            line.add(part)
            if line.is_long:
                await throw_away(len(part))


class StderrFile:
    """A server's stderr, kept apart from its protocol and bounded."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.size_bytes = 0
        self.tail = b""
        """The last of it, for an error's message."""

    def feed(self, data: bytes) -> None:
        """Raises ValueError past the flood limit."""
        self.tail = (self.tail + data)[-STDERR_TAIL_BYTES:]
        room_bytes = STDERR_LIMIT_BYTES - self.size_bytes
        # Without the limit, a server that logs in a loop would fill the host's disk.
        if self.path is not None and room_bytes > 0:
            with self.path.open("ab") as file:
                file.write(data[:room_bytes])
        self.size_bytes += len(data)
        if self.size_bytes > STDERR_FLOOD_BYTES:
            raise ValueError(f"more than {STDERR_FLOOD_BYTES:,} bytes on stderr")
