"""An MCP server as a process of this machine: for what a server sends, no container is needed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from runner.sandbox.session import ServerConnection, ServerSession, session_over
from runner.sandbox.stream import StderrFile
from runner.sandbox.transport import ServerLog
from tests.helpers import PATIENCE_SEC

CHUNK_BYTES = 32_768
SCRIPTED = (Path(__file__).parent / "sandbox/scripted_server.py.txt").read_text(encoding="utf-8")
Script = Mapping[str, str]
"""A method's or a tool's name -> what the server runs when it is asked for."""


class LocalStream:
    """transport.ByteStream over a process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._out = process.stdout
        self._in = process.stdin

    async def stdout(self) -> AsyncIterator[bytes]:
        assert self._out is not None
        while chunk := await self._out.read(CHUNK_BYTES):
            yield chunk

    async def write(self, data: bytes) -> None:
        assert self._in is not None
        self._in.write(data)
        await self._in.drain()

    async def close(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        # Read to its end: a pipe left full would keep the process's end from being seen.
        async for _ in self.stdout():
            pass
        await self._process.wait()

    async def how_it_ended(self) -> str:
        return "its process ended"

    async def require_at_work(self) -> None:
        """This machine always is."""


@asynccontextmanager
async def local_server(
    *argv: str, log: ServerLog | None = None, timeout_sec: float = PATIENCE_SEC
) -> AsyncIterator[ServerSession]:
    """Start a Python program, and initialise it as an MCP server."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    server_log = log or ServerLog(stderr=StderrFile(None))
    stream = LocalStream(process)
    connection = ServerConnection(
        stream=stream, how_it_ended=stream.how_it_ended, require_at_work=stream.require_at_work
    )
    async with session_over(connection, server_log, timeout_sec) as session:
        yield session
