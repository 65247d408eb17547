"""A conversation with one server in one cell: initialise, list its tools, call them.

Every wait has an end, and every text a bound. What a server sends that breaks the protocol is its
own fault: before it is initialised it raises ServerError, later it is an error result of the call.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import mcp_types
from mcp_types.methods import validate_server_result
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION

from runner.errors import ServerError
from runner.records import canonical_json
from runner.sandbox.container import Container, program
from runner.sandbox.ending import require_at_work, server_end
from runner.sandbox.listing import SHOWN_CHARS, listing_fault, listing_of
from runner.sandbox.places import SERVER
from runner.sandbox.transport import (
    STREAM_ENDED,
    BadAnswerError,
    ByteStream,
    Message,
    Peer,
    RefusalError,
    ServerLog,
    open_peer,
)

PAGE_LIMIT = 100
LISTING_LIMIT_BYTES = 2 * 1024 * 1024
"""Of all pages of tools/list together: more would fill any model's context."""
TOOL_LIMIT = 1000
INSTRUCTIONS_LIMIT_CHARS = 200_000
LAST_LINES = 3
CLIENT_INFO = {"name": "fairtrial", "version": "1"}


@dataclass(frozen=True, kw_only=True)
class McpResult:
    """What a tool call gave, as the model reads it."""

    text: str
    is_error: bool
    wall_sec: float


class ServerSession:
    """An initialised server."""

    def __init__(
        self,
        peer: Peer,
        introduction: mcp_types.InitializeResult,
        tools: tuple[mcp_types.Tool, ...],
        initialize_sec: float,
        cell: Container | None,
    ) -> None:
        self._cell = cell
        self._peer = peer
        self._introduction = introduction
        self.tools = tools
        self.tool_listing = listing_of(introduction, tools)
        self.initialize_sec = initialize_sec

    @property
    def log(self) -> ServerLog:
        return self._peer.log

    @property
    def instructions(self) -> str:
        return self._introduction.instructions or ""

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, timeout_sec: float
    ) -> McpResult:
        """Call one tool. A time-out, a refusal or a broken answer is an error result.

        Raises ServerError if the server is gone, SandboxError or OutOfMemory if it is not to blame.
        """
        started = time.monotonic()
        stray_lines = self.log.stray_lines
        params = {"name": tool, "arguments": dict(arguments)}
        is_error = True
        try:
            answer = await self._peer.request("tools/call", params, timeout_sec=timeout_sec)
            text = as_text(answer.result)
            is_error = answer.result.get("isError") is True
        except TimeoutError:
            await _require_at_work(self._cell)
            text = f"{tool} gave no answer in {timeout_sec:g} s"
            if self.log.stray_lines > stray_lines:
                text += _stray_lines(self.log)
        except RefusalError as error:
            text = str(error)
        except BadAnswerError as error:
            text = f"the server's result breaks the protocol: {error}"
        except ConnectionError as error:
            raise await _gone(self._cell, self.log, f"while it answered {tool}") from error
        return McpResult(text=text, is_error=is_error, wall_sec=time.monotonic() - started)


# --- a result -------------------------------------------------------------------------------


def as_text(result: Message) -> str:
    """A result as the model reads it: its text blocks, and a mark for each other block.

    Raises BadAnswerError if it is no result. Structured content is not held against the tool's
    schema of results: no model reads that, and a pattern in it may run for ever.
    """
    blocks = result.get("content")
    if not isinstance(blocks, list):
        raise BadAnswerError("its content is no list")
    structured = result.get("structuredContent")
    if blocks or structured is None:
        return "\n".join(map(_block_text, blocks))
    try:
        return canonical_json(structured)
    except (ValueError, RecursionError) as error:
        raise BadAnswerError(f"its structured content is no JSON: {error}") from error


def _block_text(block: Any) -> str:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise BadAnswerError("a block of its content has no type")
    text = block.get("text")
    if block["type"] == "resource" and isinstance(block.get("resource"), dict):
        text = block["resource"].get("text")
    if block["type"] == "text" and not isinstance(text, str):
        raise BadAnswerError("a block of text without a text")
    if isinstance(text, str):
        return text
    return f"[{block['type'][:SHOWN_CHARS]}]"  # e.g. [image]


# --- starting one ---------------------------------------------------------------------------


@asynccontextmanager
async def open_session(
    container: Container,
    argv: list[str],
    env: Mapping[str, str],
    log: ServerLog,
    *,
    initialize_timeout_sec: float,
) -> AsyncIterator[ServerSession]:
    """Start the server in the container, as user `server`, and initialise it.

    Raises ServerError if it ends, refuses, breaks the protocol, or does not answer in time, and
    SandboxError or OutOfMemory if it is not to blame.
    """
    log.ticket = secrets.token_hex(16)
    behind = [*program("server_host.py"), log.ticket, *argv]
    stream = await container.exec_stream(behind, user=SERVER, env=env, on_stderr=log.stderr.feed)
    log.exec_id = stream.exec_id
    async with session_over(
        stream, log, initialize_timeout_sec=initialize_timeout_sec, cell=container
    ) as session:
        yield session


@asynccontextmanager
async def session_over(
    stream: ByteStream,
    log: ServerLog,
    *,
    initialize_timeout_sec: float,
    cell: Container | None = None,
) -> AsyncIterator[ServerSession]:
    """Initialise the server at the other end of a stream; `cell` is where it runs, if it does.

    Raises errors as `open_session`.
    """
    async with open_peer(stream, log) as peer:
        try:
            async with asyncio.timeout(initialize_timeout_sec):
                session = await _initialised(peer, initialize_timeout_sec, cell)
        except TimeoutError as error:
            await _require_at_work(cell)
            raise _silent(log, initialize_timeout_sec) from error
        except RefusalError as error:
            refusal = _shown(error)
            raise ServerError(f"the server refused to initialise: {refusal}") from error
        except (BadAnswerError, ValueError, RecursionError) as error:
            raise ServerError(f"the server broke the protocol: {_shown(error)}") from error
        except ConnectionError as error:
            raise await _gone(cell, log, "before it was initialised") from error
        yield session


async def _initialised(peer: Peer, timeout_sec: float, cell: Container | None) -> ServerSession:
    started = time.monotonic()
    introduction = await _introduce(peer, timeout_sec)
    tools = await _list_tools(peer, str(introduction.protocol_version), timeout_sec)
    if fault := listing_fault(tools):
        raise BadAnswerError(fault)
    return ServerSession(peer, introduction, tools, time.monotonic() - started, cell)


async def _introduce(peer: Peer, timeout_sec: float) -> mcp_types.InitializeResult:
    # The handshake that every server knows: one that ignores unknown methods would cost its arm
    # ten seconds for the probe that a newer one begins with.
    params = {
        "protocolVersion": LATEST_HANDSHAKE_VERSION,
        "capabilities": {},
        "clientInfo": CLIENT_INFO,
    }
    answer = await peer.request("initialize", params, timeout_sec=timeout_sec)
    introduction = mcp_types.InitializeResult.model_validate(answer.result, by_name=False)
    version = introduction.protocol_version
    if version not in HANDSHAKE_PROTOCOL_VERSIONS:
        raise BadAnswerError(f"it speaks protocol version {str(version)[:SHOWN_CHARS]!r}")
    size_chars = len(introduction.instructions or "")
    if size_chars > INSTRUCTIONS_LIMIT_CHARS:
        limit = f"at most {INSTRUCTIONS_LIMIT_CHARS:,} are read"
        raise BadAnswerError(f"its instructions have {size_chars:,} characters; {limit}")
    await peer.notify("notifications/initialized", {})
    return introduction


async def _list_tools(peer: Peer, version: str, timeout_sec: float) -> tuple[mcp_types.Tool, ...]:
    tools: list[mcp_types.Tool] = []
    params: Message = {}
    size_bytes = 0
    # Bounded: a server that gives the same cursor again and again would keep its cell for ever.
    for _ in range(PAGE_LIMIT):
        answer = await peer.request("tools/list", params, timeout_sec=timeout_sec)
        size_bytes += answer.size_bytes
        if size_bytes > LISTING_LIMIT_BYTES:
            raise BadAnswerError(f"tools/list has more than {LISTING_LIMIT_BYTES:,} bytes")
        _require_few(len(tools), answer.result)
        validate_server_result("tools/list", version, answer.result)
        page = mcp_types.ListToolsResult.model_validate(answer.result, by_name=False)
        tools += page.tools
        if page.next_cursor is None:
            return tuple(tools)
        params = {"cursor": page.next_cursor}
    raise BadAnswerError(f"tools/list has more than {PAGE_LIMIT} pages")


def _require_few(before: int, page: Message) -> None:
    """Ahead of the records: each tool becomes some, of a kilobyte each."""
    tools = page.get("tools")
    if isinstance(tools, list) and before + len(tools) > TOOL_LIMIT:
        raise BadAnswerError(f"tools/list has more than {TOOL_LIMIT:,} tools")


# --- how one fails --------------------------------------------------------------------------


def _silent(log: ServerLog, timeout_sec: float) -> ServerError:
    return ServerError(
        f"the server did not initialise in {timeout_sec:g} s{_stray_lines(log)}",
        hint="raise initialize_timeout_sec in server.yaml?",
    )


def _shown(error: Exception) -> str:
    return str(error)[:SHOWN_CHARS]


def _stray_lines(log: ServerLog) -> str:
    """A server that writes its log to stdout looks silent to its client: show the log."""
    if not log.stray:
        return ""
    return f", {log.stray_lines} lines on stdout were not JSON-RPC (first: {log.stray[0]!r})"


async def _require_at_work(cell: Container | None) -> None:
    """Raises SandboxError if it is not the server that stands still."""
    if cell is not None:
        await require_at_work(cell)


async def _gone(cell: Container | None, log: ServerLog, when: str) -> ServerError:
    """Raises SandboxError if it was a fault of ours, OutOfMemory if the agent's."""
    reason = log.ended
    # Given up by us for what it sent, it is to blame whatever became of its process.
    if cell is not None and reason == STREAM_ENDED:
        reason = await server_end(cell, log.exec_id, log.exit_code)
    return ServerError(
        f"the server ended {when} ({reason}){_last_words(log)}",
        hint="`fairtrial server check` shows more",
    )


def _last_words(log: ServerLog) -> str:
    stderr = log.stderr.tail.decode(errors="replace").strip()
    last = stderr.splitlines()[-LAST_LINES:]
    if not last:
        return ""
    return f"; it last said: {' | '.join(last)}"
