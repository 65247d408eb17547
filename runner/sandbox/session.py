"""A conversation with one server in one cell: initialise, list its tools, call them.

Every wait has an end, and every text a bound. What a server sends that breaks the protocol is its
own fault: before it is initialised it raises ServerError, later it is an error result of the call.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from runner.records import ToolListing, canonical_json
from runner.sandbox.cell_layout import SERVER_USER
from runner.sandbox.container import Container, program
from runner.sandbox.exit_cause import require_at_work, server_end
from runner.sandbox.listing import SHOWN_CHARS, listing_fault, listing_of
from runner.sandbox.transport import (
    STREAM_ENDED,
    BadAnswerError,
    ByteStream,
    Peer,
    RefusalError,
    RpcMessage,
    ServerLog,
    open_peer,
)
from runner.support.errors import ServerError

if TYPE_CHECKING:
    # Loading it takes as long as all of our own code, and nearly every verb reaches this module. So
    # it is imported below, before any clock of a server starts.
    import mcp_types

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
    structured: Any = None
    """The structured content that came with the text, unchecked; no model reads it."""


@dataclass(frozen=True, kw_only=True)
class ServerConnection:
    """A server's stream, and who can say whose doing its end or its silence was."""

    stream: ByteStream
    how_it_ended: Callable[[], Awaitable[str]]
    """In words. Raises SandboxError if that was a fault of ours, OutOfMemory if the agent's."""
    require_at_work: Callable[[], Awaitable[None]]
    """Raises SandboxError if no server could answer here."""


@dataclass(frozen=True, kw_only=True)
class ServerSession:
    """An initialised server, and what it said of itself before its first call, checked."""

    connection: ServerConnection
    peer: Peer
    instructions: str
    tools: tuple[mcp_types.Tool, ...]
    tool_listing: ToolListing
    initialize_sec: float
    about_sent: RpcMessage
    """The result of `initialize`, as it came."""
    tools_sent: tuple[RpcMessage, ...]
    """The tools of all pages, as they came."""
    answers: dict[str, str | int] = field(default_factory=dict)
    """What its warm-up calls answered, by key; see answers.py."""

    @property
    def log(self) -> ServerLog:
        return self.peer.log

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
        structured = None
        try:
            answer = await self.peer.request("tools/call", params, timeout_sec=timeout_sec)
            text = as_text(answer.result)
            is_error = answer.result.get("isError") is True
            structured = answer.result.get("structuredContent")
        except TimeoutError:
            await self.connection.require_at_work()
            text = f"{tool} gave no answer in {timeout_sec:g} s"
            if self.log.stray_lines > stray_lines:
                text += _stray_lines(self.log)
        except RefusalError as error:
            text = str(error)
        except BadAnswerError as error:
            text = f"the server's result breaks the protocol: {error}"
        except ConnectionError as error:
            when = f"while it answered {tool}"
            raise await _gone(self.connection, self.log, when) from error
        return McpResult(
            text=text,
            is_error=is_error,
            wall_sec=time.monotonic() - started,
            structured=structured,
        )

    async def ask(self, method: str, params: RpcMessage, *, timeout_sec: float) -> RpcMessage:
        """Any request, for a client that reads its result itself.

        Raises TimeoutError, RefusalError and BadAnswerError as the peer does; ServerError if the
        server is gone, SandboxError or OutOfMemory if it is not to blame.
        """
        try:
            answer = await self.peer.request(method, params, timeout_sec=timeout_sec)
        except TimeoutError:
            await self.connection.require_at_work()
            raise
        except ConnectionError as error:
            raise await _gone(self.connection, self.log, f"while it answered {method}") from error
        return answer.result


# --- a result -------------------------------------------------------------------------------


def only_reads(tool: mcp_types.Tool) -> bool:
    """Does the server say so? Silence means no: what may write must not run beside another."""
    return tool.annotations is not None and tool.annotations.read_only_hint is True


def as_text(result: RpcMessage) -> str:
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

    Raises ServerError if it ends, refuses, breaks the protocol, or does not answer in time;
    SandboxError or OutOfMemory if it is not to blame.
    """
    log.ticket = secrets.token_hex(16)
    behind = [*program("server_host.py"), log.ticket, *argv]
    stream = await container.exec_stream(
        behind, user=SERVER_USER, env=env, on_stderr=log.stderr.feed
    )
    log.exec_id = stream.exec_id

    async def how_it_ended() -> str:
        return await server_end(container, stream.exec_id, log.exit_code)

    connection = ServerConnection(
        stream=stream,
        how_it_ended=how_it_ended,
        require_at_work=partial(require_at_work, container),
    )
    async with session_over(connection, log, initialize_timeout_sec) as session:
        yield session


@asynccontextmanager
async def session_over(
    connection: ServerConnection, log: ServerLog, initialize_timeout_sec: float
) -> AsyncIterator[ServerSession]:
    """Initialise the server at the other end of a stream. Raises as `open_session` does."""
    import mcp_types.methods  # noqa: F401, PLC0415 - see above: the handshake is timed

    async with open_peer(connection.stream, log) as peer:
        try:
            async with asyncio.timeout(initialize_timeout_sec):
                session = await _introduced(connection, peer, initialize_timeout_sec)
        except TimeoutError as error:
            await connection.require_at_work()
            raise ServerError(
                f"the server did not initialise in {initialize_timeout_sec:g} s{_stray_lines(log)}",
                hint="raise initialize_timeout_sec in server.yaml?",
            ) from error
        except RefusalError as error:
            refusal = _shown(error)
            raise ServerError(f"the server refused to initialise: {refusal}") from error
        except (BadAnswerError, ValueError, RecursionError) as error:
            raise ServerError(f"the server broke the protocol: {_shown(error)}") from error
        except ConnectionError as error:
            raise await _gone(connection, log, "before it was initialised") from error
        yield session


async def _introduced(
    connection: ServerConnection, peer: Peer, timeout_sec: float
) -> ServerSession:
    import mcp_types  # noqa: PLC0415 - see above

    started = time.monotonic()
    about_sent = await _handshake(peer, timeout_sec)
    about = mcp_types.InitializeResult.model_validate(about_sent, by_name=False)
    tools_sent = await _list_tools(peer, str(about.protocol_version), timeout_sec)
    tools = tuple(mcp_types.Tool.model_validate(it, by_name=False) for it in tools_sent)
    # In a thread: many schemas take a good part of a second, for which every other cell would wait.
    listing = await asyncio.to_thread(_examined, about, tools)
    return ServerSession(
        connection=connection,
        peer=peer,
        instructions=about.instructions or "",
        tools=tools,
        tool_listing=listing,
        initialize_sec=time.monotonic() - started,
        about_sent=about_sent,
        tools_sent=tools_sent,
    )


def _examined(about: mcp_types.InitializeResult, tools: tuple[mcp_types.Tool, ...]) -> ToolListing:
    if fault := listing_fault(tools):
        raise BadAnswerError(fault)
    return listing_of(about, tools)


async def _handshake(peer: Peer, timeout_sec: float) -> RpcMessage:
    """What the server answers, checked."""
    import mcp_types.version  # noqa: PLC0415 - see above

    # The handshake that every server knows: one that ignores unknown methods would cost its arm
    # ten seconds for the probe that a newer one begins with.
    params = {
        "protocolVersion": mcp_types.version.LATEST_HANDSHAKE_VERSION,
        "capabilities": {},
        "clientInfo": CLIENT_INFO,
    }
    answer = await peer.request("initialize", params, timeout_sec=timeout_sec)
    about = mcp_types.InitializeResult.model_validate(answer.result, by_name=False)
    version = about.protocol_version
    if version not in mcp_types.version.HANDSHAKE_PROTOCOL_VERSIONS:
        raise BadAnswerError(f"it speaks protocol version {str(version)[:SHOWN_CHARS]!r}")
    size_chars = len(about.instructions or "")
    if size_chars > INSTRUCTIONS_LIMIT_CHARS:
        limit = f"at most {INSTRUCTIONS_LIMIT_CHARS:,} are read"
        raise BadAnswerError(f"its instructions have {size_chars:,} characters; {limit}")
    await peer.notify("notifications/initialized", {})
    return answer.result


async def _list_tools(peer: Peer, version: str, timeout_sec: float) -> tuple[RpcMessage, ...]:
    """Of all pages, checked."""
    import mcp_types.methods  # noqa: PLC0415 - see above

    tools: list[RpcMessage] = []
    params: RpcMessage = {}
    size_bytes = 0
    # Bounded: a server that gives the same cursor again and again would keep its cell for ever.
    for _ in range(PAGE_LIMIT):
        answer = await peer.request("tools/list", params, timeout_sec=timeout_sec)
        size_bytes += answer.size_bytes
        if size_bytes > LISTING_LIMIT_BYTES:
            raise BadAnswerError(f"tools/list has more than {LISTING_LIMIT_BYTES:,} bytes")
        _require_few(len(tools), answer.result)
        mcp_types.methods.validate_server_result("tools/list", version, answer.result)
        page = mcp_types.ListToolsResult.model_validate(answer.result, by_name=False)
        tools += answer.result["tools"]
        if page.next_cursor is None:
            return tuple(tools)
        params = {"cursor": page.next_cursor}
    raise BadAnswerError(f"tools/list has more than {PAGE_LIMIT} pages")


def _require_few(before: int, page: RpcMessage) -> None:
    """Ahead of the records: each tool becomes some, of a kilobyte each."""
    tools = page.get("tools")
    if isinstance(tools, list) and before + len(tools) > TOOL_LIMIT:
        raise BadAnswerError(f"tools/list has more than {TOOL_LIMIT:,} tools")


# --- how one fails --------------------------------------------------------------------------


def _shown(error: Exception) -> str:
    return str(error)[:SHOWN_CHARS]


def _stray_lines(log: ServerLog) -> str:
    """A server that writes its log to stdout looks silent to its client: show the log."""
    if not log.stray:
        return ""
    return f", {log.stray_lines} lines on stdout were not JSON-RPC (first: {log.stray[0]!r})"


async def _gone(connection: ServerConnection, log: ServerLog, when: str) -> ServerError:
    """Raises SandboxError if it was a fault of ours, OutOfMemory if the agent's."""
    reason = log.ended
    # Given up by us for what it sent, it is to blame whatever became of its process.
    if reason == STREAM_ENDED:
        reason = await connection.how_it_ended()
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
