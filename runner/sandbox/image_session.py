"""A conversation with a server in a container of its own: over its stdin, or over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from runner.sandbox.container import Container, program
from runner.sandbox.session import ServerConnection, ServerSession, open_session, session_over
from runner.sandbox.sidecar import Sidecar, SidecarSpec, open_sidecar
from runner.sandbox.stream import ExecStream
from runner.sandbox.transport import ServerLog


@asynccontextmanager
async def open_image_session(
    container: Container, spec: SidecarSpec, log: ServerLog, *, initialize_timeout_sec: float
) -> AsyncIterator[ServerSession]:
    """Start the image beside the cell and initialise its server. Raises as `open_session` does."""
    async with open_sidecar(container, spec, log) as sidecar:
        if spec.http is not None:
            async with _over_http(container, spec.http, sidecar, log, initialize_timeout_sec) as it:
                yield it
            return
        connection = ServerConnection(
            stream=sidecar.stream,
            how_it_ended=sidecar.how_it_ended,
            require_at_work=sidecar.require_at_work,
        )
        async with session_over(connection, log, initialize_timeout_sec) as session:
            yield session


@asynccontextmanager
async def _over_http(
    container: Container, where: str, sidecar: Sidecar, log: ServerLog, limit_sec: float
) -> AsyncIterator[ServerSession]:
    """Through a bridge in the cell, which shares the server's loopback."""
    argv = [*program("http_bridge.py"), *([where] if where else []), "--"]
    reading = asyncio.create_task(_read(sidecar.stream, log))
    try:
        async with open_session(container, argv, {}, log, initialize_timeout_sec=limit_sec) as it:
            yield it
    finally:
        reading.cancel()


async def _read(stream: ExecStream, log: ServerLog) -> None:
    """What it prints is its log. Left unread, a server would stand still at a full pipe."""
    with suppress(ValueError):
        async for chunk in stream.stdout():
            log.stderr.feed(chunk)
