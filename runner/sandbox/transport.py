"""An MCP transport over a held stream: one server process per cell, its messages in and out of the container without an engine call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from runner.sandbox.container import Container
from runner.sandbox.places import SERVER
from runner.sandbox.stream import HeldStream, StderrFile, lines

STRAY_KEPT = 20
STRAY_LIMIT = 10_000
Streams = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
]


@dataclass
class ServerLog:
    """What a server process said outside the protocol."""

    stderr: StderrFile
    stray: list[str] = field(default_factory=list)
    """The first lines on stdout that are not JSON-RPC, each cut to 200 characters."""
    stray_lines: int = 0
    ended: str = ""
    """Why its stream ended; empty while it runs."""

    def saw_stray(self, line: bytes) -> None:
        self.stray_lines += 1
        if len(self.stray) < STRAY_KEPT:
            self.stray.append(line.decode(errors="replace")[:200])
        if self.stray_lines > STRAY_LIMIT:
            raise ValueError(f"more than {STRAY_LIMIT:,} lines on stdout that are not JSON-RPC")


async def _read(
    stream: HeldStream, out: MemoryObjectSendStream[SessionMessage | Exception], log: ServerLog
) -> None:
    async with out:
        try:
            async for line in lines(stream.stdout()):
                if not line.strip():
                    continue
                try:
                    message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    log.saw_stray(line)
                    continue
                await out.send(SessionMessage(message))
            log.ended = "its process ended"
        except ValueError as error:
            log.ended = str(error)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            log.ended = "closed"


async def _write(stream: HeldStream, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
    with suppress(ConnectionError, anyio.ClosedResourceError):
        async with messages:
            async for item in messages:
                await stream.write(
                    item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                )


@asynccontextmanager
async def server_streams(
    container: Container, argv: list[str], env: Mapping[str, str], log: ServerLog
) -> AsyncIterator[Streams]:
    """Start the server as user `server` and yield the streams an `mcp.Client` takes. The process ends with the container."""
    stream = await container.exec_stream(argv, user=SERVER, env=env, on_stderr=log.stderr.feed)
    to_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, stream, to_session, log)
        tasks.start_soon(_write, stream, from_session)
        try:
            yield from_server, to_server
        finally:
            tasks.cancel_scope.cancel()
            from_server.close()
            to_server.close()
            with anyio.CancelScope(shield=True):
                await stream.close()
