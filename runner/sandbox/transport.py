"""An MCP transport over one `exec` stream: a message in or out costs no engine call."""

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
from runner.sandbox.stream import ExecStream, StderrFile, lines

STRAY_KEPT = 20
STRAY_KEPT_CHARS = 200
STRAY_LIMIT = 10_000
STREAM_ENDED = "its stream ended"

# Most servers end by themselves at the end of their input, which is what an engine that hangs up
# gives them: its fault would look like theirs. So their input stays open whatever the engine does.
# Errors go nowhere, because a stream that a helper of ours holds would never end.
_INPUT_STAYS_OPEN = 'exec "$@" < <(exec 2>/dev/null; cat <&0; exec sleep infinity)'

Incoming = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]
"""From the server, and to it: what an `mcp.Client` takes."""


@dataclass
class ServerLog:
    """What a server process wrote outside the protocol."""

    stderr: StderrFile
    stray: list[str] = field(default_factory=list)
    """The first lines on stdout that are not JSON-RPC, each cut to 200 characters."""
    stray_lines: int = 0
    exec_id: str = ""
    """The engine's name for its process."""
    ended: str = ""
    """Why its stream ended; empty while it runs."""

    def add_stray(self, line: bytes) -> None:
        """Raises ValueError past the limit."""
        self.stray_lines += 1
        if len(self.stray) < STRAY_KEPT:
            self.stray.append(line.decode(errors="replace")[:STRAY_KEPT_CHARS])
        # A server that logs to stdout in a loop would keep its cell busy until the time-out.
        if self.stray_lines > STRAY_LIMIT:
            raise ValueError(f"more than {STRAY_LIMIT:,} lines on stdout that are not JSON-RPC")


@asynccontextmanager
async def server_streams(
    container: Container, argv: list[str], env: Mapping[str, str], log: ServerLog
) -> AsyncIterator[Streams]:
    """Start the server as user `server` and yield its streams. It ends with the container."""
    behind = ["bash", "-c", _INPUT_STAYS_OPEN, "bash", *argv]
    stream = await container.exec_stream(behind, user=SERVER, env=env, on_stderr=log.stderr.feed)
    log.exec_id = stream.exec_id
    to_session, from_server = anyio.create_memory_object_stream[Incoming](0)
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
            # Shielded: the scope is cancelled, and an unshielded await would leak the connection.
            with anyio.CancelScope(shield=True):
                await stream.close()


async def _read(stream: ExecStream, out: MemoryObjectSendStream[Incoming], log: ServerLog) -> None:
    async with out:
        try:
            async for line in lines(stream.stdout()):
                message = _message(line, log)
                if message is not None:
                    await out.send(message)
            log.ended = STREAM_ENDED
        except ValueError as error:
            log.ended = str(error)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            log.ended = "closed"


def _message(line: bytes, log: ServerLog) -> SessionMessage | None:
    if not line.strip():
        return None
    try:
        message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        # E.g. "Server listening on stdio": clients skip such a line, and so do we, but count it.
        log.add_stray(line)
        return None
    return SessionMessage(message)


async def _write(stream: ExecStream, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
    # That the server is gone, the reading side reports, with its last words: not twice.
    with suppress(ConnectionError, anyio.ClosedResourceError):
        async with messages:
            async for item in messages:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                await stream.write(text.encode() + b"\n")
