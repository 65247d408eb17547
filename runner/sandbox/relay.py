"""The host's end of the relay: an agent's program in the cell speaks to loopback, and we answer.

One `exec` stream that stays open carries all of it; see relay_host.py, which runs in the cell.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

from runner.sandbox import relay_host
from runner.sandbox.cell_layout import AGENT_UID, KEEPER_USER
from runner.sandbox.container import Container, program
from runner.sandbox.relay_host import HEADER
from runner.sandbox.stream import ExecStream
from runner.support.errors import SandboxError

START_SEC = 60.0
AT_ONCE_LIMIT = 256
"""Requests and messages under way: an agent that floods waits for us."""
FRAME_LIMIT_BYTES = relay_host.BODY_LIMIT_BYTES + 1_000_000
DRAIN_SEC = 30.0


@dataclass(frozen=True, kw_only=True)
class RelayedRequest:
    """A request as the agent's program made it."""

    method: str
    path: str
    headers: dict[str, str]
    """By names in small letters."""
    body: bytes


class RelayedReply:
    """Where its answer goes, piece by piece."""

    def __init__(self, relay: Relay, number: int) -> None:
        self._relay = relay
        self._number = number
        self.begun = False

    async def head(self, status: int, headers: dict[str, str]) -> None:
        self.begun = True
        about = json.dumps({"status": status, "headers": headers}).encode()
        await self._relay.send(relay_host.HEAD, self._number, about)

    async def body(self, data: bytes) -> None:
        await self._relay.send(relay_host.BODY, self._number, data)

    async def end(self) -> None:
        await self._relay.send(relay_host.END, self._number)

    async def cut(self) -> None:
        """Break the connection off, as a provider's that breaks."""
        await self._relay.send(relay_host.CUT, self._number)

    async def whole(self, status: int, body: bytes, kind: str = "application/json") -> None:
        await self.head(status, {"content-type": kind})
        await self.body(body)
        await self.end()


class McpWire:
    """Where messages to one shim go, a line each."""

    def __init__(self, relay: Relay, number: int) -> None:
        self._relay = relay
        self.number = number

    async def send(self, message: dict[str, Any]) -> None:
        line = json.dumps(message).encode() + b"\n"
        await self._relay.send(relay_host.ANSWER, self.number, line)

    async def hang_up(self) -> None:
        await self._relay.send(relay_host.END, self.number)


class Answering(Protocol):
    """What stands behind the relay. What it raises is a bug of ours, and ends the cell."""

    async def answer(self, asked: RelayedRequest, reply: RelayedReply) -> None:
        """One request, until its answer is whole."""

    async def take_line(self, line: bytes, wire: McpWire) -> None:
        """One message of a shim's."""

    def refused(self, user: str) -> None:
        """Somebody else in the cell tried to speak to the relay."""

    def failed(self, error: BaseException) -> None:
        """One of the above raised."""


class Relay:
    """At work from `open_relay` until that ends."""

    def __init__(self, stream: ExecStream, answering: Answering) -> None:
        self._stream = stream
        self._answering = answering
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(AT_ONCE_LIMIT)
        self._ready: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self._reader = asyncio.create_task(self._read())

    async def ports(self) -> tuple[int, int]:
        """Of HTTP and of MCP, in the cell. Raises SandboxError if it does not start."""
        try:
            async with asyncio.timeout(START_SEC):
                http, mcp = await asyncio.shield(self._ready)
        except TimeoutError as error:
            raise SandboxError("the relay of the agent's requests did not start") from error
        return http, mcp

    async def send(self, kind: int, number: int, payload: bytes = b"") -> None:
        # A cell that is gone is told of by whoever waits for its program.
        with suppress(ConnectionError):
            await self._stream.write(HEADER.pack(kind, number, len(payload)) + payload)

    async def _read(self) -> None:
        held = bytearray()
        async for chunk in self._stream.stdout():
            held += chunk
            while len(held) >= HEADER.size:
                kind, number, size_bytes = HEADER.unpack_from(held)
                if size_bytes > FRAME_LIMIT_BYTES:
                    self._answering.failed(SandboxError("the relay in the cell sends no frames"))
                    return
                if len(held) < HEADER.size + size_bytes:
                    break
                payload = bytes(held[HEADER.size : HEADER.size + size_bytes])
                del held[: HEADER.size + size_bytes]
                await self._take(kind, number, payload)

    async def _take(self, kind: int, number: int, payload: bytes) -> None:
        if kind == relay_host.READY:
            self._ready.set_result(json.loads(payload))
        elif kind == relay_host.REQUEST:
            await self._begin(self._answering.answer(_request(payload), RelayedReply(self, number)))
        elif kind == relay_host.LINE:
            await self._begin(self._answering.take_line(payload, McpWire(self, number)))
        elif kind == relay_host.REFUSED:
            self._answering.refused(payload.decode(errors="replace"))

    async def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        await self._slots.acquire()
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._slots.release()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._answering.failed(error)

    async def settle(self) -> None:
        """Wait for what is under way: a reply that nobody reads any more is paid for all the same.

        What takes longer is given up.
        """
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=DRAIN_SEC)

    async def close(self) -> None:
        tasks = {self._reader, *self._tasks}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._stream.close()


def _request(payload: bytes) -> RelayedRequest:
    about, _, body = payload.partition(b"\n")
    return RelayedRequest(**json.loads(about), body=body)


@asynccontextmanager
async def open_relay(container: Container, answering: Answering) -> AsyncIterator[Relay]:
    """The relay, at work in the cell. Raises SandboxError if the engine does not start it."""
    argv = [*program("relay_host.py"), str(AGENT_UID)]
    stream = await container.exec_stream(argv, user=KEEPER_USER)
    relay = Relay(stream, answering)
    try:
        yield relay
    finally:
        # Shielded: a cancelled cell would leak the connection.
        await asyncio.shield(relay.close())
