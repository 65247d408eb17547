"""JSON-RPC with a server over one `exec` stream: a message in or out costs no engine call.

Whatever a server writes is bounded before it is parsed. The client of MCP's own SDK holds a message
three times over as objects, starts a task for each notification, and runs the patterns of the
server's schemas on its results: one server could fill the runner's memory, or stop its clock, for
every other cell.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from runner.sandbox.stream import EDGE_BYTES, LongLine, StderrFile, bounded_lines

MESSAGE_LIMIT_BYTES = 8 * 1024 * 1024
VALUE_LIMIT = 100_000
"""Values in a message. An empty object of three bytes takes seventy in memory."""
WASTE_LIMIT_BYTES = 256_000_000
"""Of what answers nothing, between two answers: the server's stream is given up past it."""
WASTE_LIMIT_MESSAGES = 100_000
WASTE_SLICE_BYTES = 1_000_000
WASTE_SLICE_MESSAGES = 1000
WASTE_PAUSE_SEC = 0.05
"""After each slice of waste: a server that floods waits on its pipe, and no other cell on it."""
STRAY_KEPT = 20
STRAY_KEPT_CHARS = 200
STRAY_LIMIT = 10_000
LAST_WORDS_SEC = 2.0
"""After a process's end, until its streams end: another process may hold them open."""
METHOD_NOT_FOUND = -32601
STREAM_ENDED = "its stream ended"
CANCEL_SEC = 1.0
"""What telling a server of a call given up may take: it may have stopped reading."""

RpcMessage = dict[str, Any]


class ByteStream(Protocol):
    """A process's streams: an ExecStream, or whatever a test puts in its place."""

    def stdout(self) -> AsyncIterator[bytes]: ...
    async def write(self, data: bytes) -> None: ...
    async def close(self) -> None: ...


class RefusalError(Exception):
    """The server answered with a JSON-RPC error. Its code says nothing of the connection."""


class BadAnswerError(Exception):
    """What the server answered breaks the protocol, or is more than is read."""


@dataclass(frozen=True, kw_only=True)
class RpcResponse:
    """The result of one request, as JSON, and the bytes it came in."""

    result: RpcMessage
    size_bytes: int


# --- what is thrown away --------------------------------------------------------------------


@dataclass
class Waste:
    """What has come since the last answer and answered nothing."""

    size_bytes: int = 0
    messages: int = 0

    def clear(self) -> None:
        self.size_bytes = self.messages = 0

    async def add(self, size_bytes: int, *, messages: int = 0) -> None:
        """Pauses after each slice. Raises ValueError past the limits."""
        slices = self._slices()
        self.size_bytes += size_bytes
        self.messages += messages
        if self.size_bytes > WASTE_LIMIT_BYTES or self.messages > WASTE_LIMIT_MESSAGES:
            raise ValueError(
                f"{self.size_bytes:,} bytes and {self.messages:,} messages in a row "
                "on stdout that answered nothing"
            )
        if self._slices() > slices:
            await asyncio.sleep(WASTE_PAUSE_SEC)

    def _slices(self) -> int:
        return self.size_bytes // WASTE_SLICE_BYTES + self.messages // WASTE_SLICE_MESSAGES


@dataclass
class ServerLog:
    """What a server process wrote outside the protocol."""

    stderr: StderrFile
    stray: list[str] = field(default_factory=list)
    """The first lines on stdout that are not JSON-RPC, each cut to 200 characters."""
    stray_lines: int = 0
    exec_id: str = ""
    """The engine's name for its process."""
    ticket: str = ""
    """Repeated by server_host.py when it says how the process ended."""
    exit_code: int | None = None
    """Of its process, negative for a signal; None while it runs, or if the stream was cut."""
    ended: str = ""
    """Why its stream ended; empty while it runs."""

    def add_stray(self, line: bytes) -> None:
        """Raises ValueError past the limit."""
        self.stray_lines += 1
        if len(self.stray) < STRAY_KEPT:
            # Cut first: decoding a line of megabytes for its first words would cost it twice.
            start = line[: 4 * STRAY_KEPT_CHARS]
            self.stray.append(start.decode(errors="replace")[:STRAY_KEPT_CHARS])
        # A server that logs to stdout in a loop would keep its cell busy until the time-out.
        if self.stray_lines > STRAY_LIMIT:
            raise ValueError(f"more than {STRAY_LIMIT:,} lines on stdout that are not JSON-RPC")


# --- the peer -------------------------------------------------------------------------------


class Peer:
    """One server. Requests go out in order; each is answered, refused, or given up in time."""

    def __init__(self, stream: ByteStream, log: ServerLog) -> None:
        self.log = log
        self._stream = stream
        self._ids = itertools.count(1)
        self._pending: dict[int, asyncio.Future[RpcResponse]] = {}
        self._waste = Waste()
        self._reader = asyncio.create_task(self._read())
        self._reader.add_done_callback(self._end)

    async def request(self, method: str, params: RpcMessage, *, timeout_sec: float) -> RpcResponse:
        """Raises TimeoutError past the time, and ConnectionError if the stream has ended.

        Raises RefusalError for the server's error, BadAnswerError for an answer that is none.
        """
        number = next(self._ids)
        future: asyncio.Future[RpcResponse] = asyncio.get_running_loop().create_future()
        self._pending[number] = future
        try:
            async with asyncio.timeout(timeout_sec):
                if self._reader.done():
                    raise self._ending(self._reader)
                # That the server is gone, the reading side reports, with its last words.
                with suppress(ConnectionError):
                    await self._send({"id": number, "method": method, "params": params})
                return await future
        except TimeoutError:
            await self._call_off(number, method)
            raise
        finally:
            del self._pending[number]

    async def notify(self, method: str, params: RpcMessage) -> None:
        """Raises ConnectionError if the process is gone."""
        await self._send({"method": method, "params": params})

    async def _call_off(self, number: int, method: str) -> None:
        """Tell the server that nobody waits any more. The protocol forbids it of `initialize`."""
        if method == "initialize":
            return
        with suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(CANCEL_SEC):
                await self.notify("notifications/cancelled", {"requestId": number})

    async def _send(self, message: RpcMessage) -> None:
        text = json.dumps({"jsonrpc": "2.0", **message})
        await self._stream.write(text.encode() + b"\n")

    async def close(self) -> None:
        self._reader.cancel()
        with suppress(asyncio.CancelledError):
            await self._reader
        await self._stream.close()

    # --- reading --------------------------------------------------------------------------------

    async def _read(self) -> None:
        chunks = self._stream.stdout()
        try:
            async for line in bounded_lines(chunks, MESSAGE_LIMIT_BYTES, self._waste.add):
                await self._take(line)
                if self.log.exit_code is not None:
                    await self._hear_out(chunks)
                    break
            self.log.ended = STREAM_ENDED
        except ValueError as error:
            self.log.ended = str(error)
        except ConnectionError:
            self.log.ended = STREAM_ENDED

    async def _hear_out(self, chunks: AsyncIterator[bytes]) -> None:
        """What the process still had to say on stderr comes on another pipe, and may come late."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS_SEC):
                async for _ in chunks:
                    pass

    def _end(self, reader: asyncio.Task[None]) -> None:
        for future in self._pending.values():
            if not future.done():
                future.set_exception(self._ending(reader))

    def _ending(self, reader: asyncio.Task[None]) -> BaseException:
        """What a request gets that can no longer be answered."""
        if not reader.cancelled():
            bug = reader.exception()
            # Ours, since the server's own are caught: called the server's, it would be scored.
            if bug is not None:
                return bug
        return ConnectionError(self.log.ended)

    async def _take(self, line: bytes | LongLine) -> None:
        if isinstance(line, LongLine):
            limit = f"at most {MESSAGE_LIMIT_BYTES:,} are read"
            await self._refuse(line, f"its answer has {line.size_bytes:,} bytes; {limit}")
        elif not line.strip():
            await self._waste.add(len(line), messages=1)
        elif has_too_many_values(line):
            limit = f"at most {VALUE_LIMIT:,} values are read"
            await self._refuse(long_line(line), f"its answer has {len(line):,} bytes; {limit}")
        else:
            await self._take_message(line)

    async def _refuse(self, line: LongLine, what: str) -> None:
        """Answer the request that a line answers which is not parsed."""
        number = request_number(line)
        if number is None and len(self._pending) == 1:
            # No id near either end, and one request that it can be the answer to.
            number = next(iter(self._pending))
        await self._settle(number, BadAnswerError(what), line.size_bytes)

    async def _take_message(self, line: bytes) -> None:
        message: Any = None
        try:
            message = parsed(line)
        except NotFiniteError as error:
            await self._refuse(long_line(line), f"its answer holds {error}")
            return
        except (ValueError, RecursionError):
            pass
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            # E.g. "Server listening on stdio": clients skip such a line, and so do we, but count.
            self.log.add_stray(line)
            await self._waste.add(len(line), messages=1)
        elif self._is_end(message):
            self.log.exit_code = message["params"]["exit_code"]
        elif "method" in message:
            await self._waste.add(len(line), messages=1)
            await self._answer(message)
        else:
            await self._settle(as_number(message.get("id")), outcome(message, line), len(line))

    def _is_end(self, message: RpcMessage) -> bool:
        """A server that says so itself claims nothing but its own crash."""
        params = message.get("params")
        if message.get("method") != "fairtrial/ended" or not isinstance(params, dict):
            return False
        # It can read the ticket: a code that is none would be an exception of ours.
        if not isinstance(params.get("exit_code"), int):
            return False
        return bool(self.log.ticket) and params.get("ticket") == self.log.ticket

    async def _settle(
        self, number: int | None, outcome: RpcResponse | Exception, size_bytes: int
    ) -> None:
        """Give a request its answer. One that nobody waits for is waste, like any other line."""
        future = self._pending.get(number or 0)
        if future is None or future.done():
            await self._waste.add(size_bytes, messages=1)
            return
        self._waste.clear()
        if isinstance(outcome, RpcResponse):
            future.set_result(outcome)
        else:
            future.set_exception(outcome)

    async def _answer(self, asked: RpcMessage) -> None:
        """A server may ask whether its client lives; whatever else it asks, nobody promised."""
        number = asked.get("id")
        if not isinstance(number, (int, str)):
            return
        if asked["method"] == "ping":
            reply: RpcMessage = {"result": {}}
        else:
            reply = {"error": {"code": METHOD_NOT_FOUND, "message": "not supported"}}
        # Awaited here: a server that asks without reading its answers stops being read.
        await self._send({"id": number, **reply})


@asynccontextmanager
async def open_peer(stream: ByteStream, log: ServerLog) -> AsyncIterator[Peer]:
    """Read the stream until the block ends, and close it then."""
    peer = Peer(stream, log)
    try:
        yield peer
    finally:
        # Shielded: a cancelled cell would leak the connection.
        await asyncio.shield(peer.close())


# --- one message ----------------------------------------------------------------------------

_ID = rb'"id"\s*:\s*"?(\d{1,15})"?'
# {"jsonrpc": "2.0", "id": 7, "result": …
_ID_FIRST = re.compile(rb'\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*' + _ID)
# … }, "jsonrpc": "2.0", "id": 7}
_ID_LAST = re.compile(rb",\s*" + _ID + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def long_line(line: bytes) -> LongLine:
    """Of a line that is here, and is not parsed."""
    return LongLine(size_bytes=len(line), head=line[:EDGE_BYTES], tail=line[-EDGE_BYTES:])


def request_number(line: LongLine) -> int | None:
    """Which request a message answers, from its two ends."""
    found = _ID_FIRST.match(line.head) or _ID_LAST.search(line.tail)
    if found is None:
        return None
    return int(found[1])


class NotFiniteError(ValueError):
    """NaN or an infinity, which JSON does not have."""


def parsed(line: bytes) -> Any:
    """Raises ValueError or RecursionError if it is no JSON, NotFiniteError for NaN in it."""
    value = json.loads(line.decode(errors="replace"), parse_constant=_refuse_constant)
    if _SURROGATE.search(line):
        # Half a character, where a server cut its text: no file and no digest could hold it.
        whole = json.dumps(value, ensure_ascii=False).encode(errors="replace")
        return json.loads(whole)
    return value


def _refuse_constant(name: str) -> Any:
    raise NotFiniteError(f"{name}, which is not JSON")


def has_too_many_values(line: bytes) -> bool:
    """Counted in bytes, before a parser would make an object of each."""
    if _marks(line) <= VALUE_LIMIT:
        return False
    # Most of them may stand inside of strings: a long text of code is one value.
    bare = line.replace(b"\\\\", b"").replace(b'\\"', b"")
    if bare.count(b'"') > 4 * VALUE_LIMIT:
        return True
    outside = b"".join(bare.split(b'"')[::2])
    return _marks(outside) > VALUE_LIMIT


def _marks(line: bytes) -> int:
    """Each value but the first stands behind a comma or at the opening of an array or object."""
    return line.count(b",") + line.count(b"[") + line.count(b"{")


def as_number(number: Any) -> int | None:
    """The id of one of our requests; some servers give it back as a text."""
    if isinstance(number, str) and number.isascii() and number.isdigit() and len(number) < 16:
        return int(number)
    # True is 1 to a dict: an answer to no request would pass for the first's.
    if isinstance(number, int) and not isinstance(number, bool):
        return number
    return None


def outcome(message: RpcMessage, line: bytes) -> RpcResponse | Exception:
    """What a response says."""
    result = message.get("result")
    if isinstance(result, dict):
        return RpcResponse(result=result, size_bytes=len(line))
    error = message.get("error")
    if isinstance(error, dict):
        return RefusalError(f"error {error.get('code')}: {error.get('message')}")
    return BadAnswerError("its answer has neither a result nor an error")
