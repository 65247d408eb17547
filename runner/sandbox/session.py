"""A conversation with one server in one cell: initialise, list its tools, call them.

Every wait has an end.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import mcp
import mcp_types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from runner.errors import ServerError
from runner.records import ToolListing, canonical_json, digest_of
from runner.sandbox.container import Container
from runner.sandbox.ending import require_at_work, server_end
from runner.sandbox.transport import STREAM_ENDED, ServerLog, server_streams

PAGE_LIMIT = 100
LAST_LINES = 3


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
        container: Container,
        client: mcp.Client,
        tools: tuple[mcp_types.Tool, ...],
        log: ServerLog,
        initialize_sec: float,
    ) -> None:
        self._container = container
        self._client = client
        self.tools = tools
        self.log = log
        self.initialize_sec = initialize_sec

    @property
    def instructions(self) -> str:
        return self._client.instructions or ""

    @property
    def tool_listing(self) -> ToolListing:
        """What `tools/list` and `initialize` gave, for the fingerprint."""
        shown = [_as_shown(tool) for tool in self.tools]
        return ToolListing(
            names=tuple(tool.name for tool in self.tools),
            digest=digest_of(shown),
            schema_chars=sum(len(canonical_json(tool)) for tool in shown),
            instructions_chars=len(self.instructions),
            server_info=self._server_info(),
            protocol=self._client.protocol_version,
        )

    def _server_info(self) -> str:
        info = self._client.server_info
        if info is None:
            return ""
        return f"{info.name} {info.version}"

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, timeout_sec: float
    ) -> McpResult:
        """Call one tool. A time-out or a refusal is an error result.

        Raises ServerError if the server is gone, SandboxError or OutOfMemory if it is not to blame.
        """
        started = time.monotonic()
        is_error = True
        try:
            result = await self._client.call_tool(
                tool, dict(arguments), read_timeout_seconds=timeout_sec
            )
            text = as_text(result)
            is_error = bool(result.is_error)
        except MCPError as error:
            if error.code == mcp_types.CONNECTION_CLOSED:
                raise await _gone(self._container, self.log, f"while it answered {tool}") from error
            text = _refusal(error)
            if error.code == mcp_types.REQUEST_TIMEOUT:
                await require_at_work(self._container)
                text = f"{tool} gave no answer in {timeout_sec:g} s"
        except (ValidationError, RuntimeError) as error:
            # Cut, because pydantic quotes the input: a result of megabytes would be shown whole.
            text = f"the server's result breaks the protocol: {str(error)[:500]}"
        return McpResult(text=text, is_error=is_error, wall_sec=time.monotonic() - started)


def _as_shown(tool: mcp_types.Tool) -> dict[str, Any]:
    """The part of a tool's definition that the model gets."""
    return {
        "name": tool.name,
        "description": tool.description or "",
        "inputSchema": tool.input_schema,
    }


def as_text(result: mcp_types.CallToolResult) -> str:
    """A result as the model reads it: its text blocks, and a mark for each other block."""
    if not result.content and result.structured_content is not None:
        return canonical_json(result.structured_content)
    return "\n".join(_block_text(block) for block in result.content)


def _block_text(block: mcp_types.ContentBlock) -> str:
    if isinstance(block, mcp_types.TextContent):
        return block.text
    if isinstance(block, mcp_types.EmbeddedResource):
        resource = block.resource
        if isinstance(resource, mcp_types.TextResourceContents):
            return resource.text
    return f"[{block.type}]"  # e.g. [image]


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
    """Start the server in the container and initialise it.

    Raises ServerError if it ends, refuses, or does not answer in time.
    """
    started = time.monotonic()
    client = mcp.Client(
        server_streams(container, argv, env, log),
        # A server that ignores unknown methods would cost its arm ten seconds for the probe that
        # the newer handshake begins with.
        mode="legacy",
        cache=None,
        read_timeout_seconds=initialize_timeout_sec,
    )
    initialised = False
    try:
        async with client:
            tools = await _list_tools(client)
            initialised = True
            yield ServerSession(container, client, tools, log, time.monotonic() - started)
    except (MCPError, ExceptionGroup) as error:
        cause = _innermost(error)
        if isinstance(cause, MCPError) and not initialised:
            timeout_sec = initialize_timeout_sec
            raise await _never_started(container, cause, log, timeout_sec) from error
        raise cause from error


async def _list_tools(client: mcp.Client) -> tuple[mcp_types.Tool, ...]:
    tools: list[mcp_types.Tool] = []
    cursor: str | None = None
    # Bounded: a server that gives the same cursor again and again would keep its cell for ever.
    for _ in range(PAGE_LIMIT):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            return tuple(tools)
    raise ServerError(f"tools/list has more than {PAGE_LIMIT} pages")


def _innermost(error: BaseException) -> BaseException:
    """The failure inside a task group's wrapping: callers tell outcomes apart by its type."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


# --- how one fails --------------------------------------------------------------------------


async def _never_started(
    container: Container, error: MCPError, log: ServerLog, timeout_sec: float
) -> ServerError:
    """Raises SandboxError if it was a fault of ours."""
    if error.code == mcp_types.CONNECTION_CLOSED:
        return await _gone(container, log, "before it was initialised")
    if error.code != mcp_types.REQUEST_TIMEOUT:
        return ServerError(f"the server refused to initialise: {_refusal(error)}")
    await require_at_work(container)
    return ServerError(
        f"the server did not initialise in {timeout_sec:g} s{_stray_lines(log)}",
        hint="raise initialize_timeout_sec in server.yaml?",
    )


def _refusal(error: MCPError) -> str:
    return f"error {error.code}: {error.message}"


def _stray_lines(log: ServerLog) -> str:
    """A server that writes its log to stdout looks silent to its client: show the log."""
    if not log.stray:
        return ""
    return f", {log.stray_lines} lines on stdout were not JSON-RPC (first: {log.stray[0]!r})"


async def _gone(container: Container, log: ServerLog, when: str) -> ServerError:
    """Raises SandboxError if it was a fault of ours, OutOfMemory if the agent's."""
    reason = log.ended
    if log.ended == STREAM_ENDED:
        reason = await server_end(container, log.exec_id)
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
