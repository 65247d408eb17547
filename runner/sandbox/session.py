"""A conversation with one server in one cell: initialise, list its tools, call them. Every wait has an end."""

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
from runner.records import ToolsSeen, canonical_json, digest_of
from runner.sandbox.container import Container
from runner.sandbox.transport import ServerLog, server_streams

TIMED_OUT, LOST = -32001, -32000
PAGE_LIMIT = 100


@dataclass(frozen=True, kw_only=True)
class McpResult:
    text: str
    is_error: bool
    wall_sec: float


class ServerSession:
    """An initialised server."""

    def __init__(
        self,
        client: mcp.Client,
        tools: tuple[mcp_types.Tool, ...],
        log: ServerLog,
        initialize_sec: float,
    ) -> None:
        self._client, self.tools, self.log, self.initialize_sec = client, tools, log, initialize_sec

    @property
    def instructions(self) -> str:
        return self._client.instructions or ""

    @property
    def seen(self) -> ToolsSeen:
        """What the server told of itself, for the fingerprint."""
        shown = [
            {"name": t.name, "description": t.description or "", "inputSchema": t.input_schema}
            for t in self.tools
        ]
        info = self._client.server_info
        return ToolsSeen(
            names=tuple(t.name for t in self.tools),
            digest=digest_of(shown),
            schema_chars=sum(len(canonical_json(tool)) for tool in shown),
            instructions_chars=len(self.instructions),
            server_info=f"{info.name} {info.version}" if info else "",
            protocol=self._client.protocol_version,
        )

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, timeout_sec: float
    ) -> McpResult:
        """Call one tool. A time-out or a refusal is an error result; raises ServerError where the server is gone."""
        started = time.monotonic()
        try:
            result = await self._client.call_tool(
                tool, dict(arguments), read_timeout_seconds=timeout_sec
            )
            text, is_error = as_text(result), bool(result.is_error)
        except MCPError as error:
            if error.code == LOST:
                raise gone(self.log, f"while it answered {tool}") from error
            timed_out = error.code == TIMED_OUT
            text, is_error = (
                f"{tool} gave no answer in {timeout_sec:g} s"
                if timed_out
                else f"error {error.code}: {error.message}",
                True,
            )
        except (ValidationError, RuntimeError) as error:
            text, is_error = f"the server's result breaks the protocol: {str(error)[:500]}", True
        return McpResult(text=text, is_error=is_error, wall_sec=time.monotonic() - started)


def gone(log: ServerLog, when: str) -> ServerError:
    last = log.stderr.tail.decode(errors="replace").strip().splitlines()[-3:]
    said = f"; it last said: {' | '.join(last)}" if last else ""
    return ServerError(
        f"the server ended {when} ({log.ended or 'connection lost'}){said}",
        hint="`fairtrial server check` shows more",
    )


def as_text(result: mcp_types.CallToolResult) -> str:
    """A result as the model reads it: its text blocks, and a mark for what is no text."""
    parts = []
    for block in result.content:
        if isinstance(block, mcp_types.TextContent):
            parts.append(block.text)
        elif isinstance(block, mcp_types.EmbeddedResource) and isinstance(
            block.resource, mcp_types.TextResourceContents
        ):
            parts.append(block.resource.text)
        else:
            parts.append(f"[{block.type}]")
    if not parts and result.structured_content is not None:
        parts.append(canonical_json(result.structured_content))
    return "\n".join(parts)


async def _list_tools(client: mcp.Client) -> tuple[mcp_types.Tool, ...]:
    tools: list[mcp_types.Tool] = []
    cursor: str | None = None
    for _ in range(PAGE_LIMIT):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            return tuple(tools)
    raise ServerError(f"tools/list has more than {PAGE_LIMIT} pages")


@asynccontextmanager
async def open_session(
    container: Container,
    argv: list[str],
    env: Mapping[str, str],
    log: ServerLog,
    *,
    initialize_timeout_sec: float,
) -> AsyncIterator[ServerSession]:
    """Start the server in the container and initialise it. Raises ServerError where it dies, or never answers."""
    started = time.monotonic()
    # "legacy": a server that ignores unknown methods would cost its arm ten seconds for the newer handshake's probe.
    client = mcp.Client(
        server_streams(container, argv, env, log),
        mode="legacy",
        cache=None,
        read_timeout_seconds=initialize_timeout_sec,
    )
    entered = False
    try:
        async with client:
            tools = await _list_tools(client)
            entered = True
            yield ServerSession(client, tools, log, time.monotonic() - started)
    except (MCPError, ExceptionGroup) as error:
        cause = _first(error)
        if isinstance(cause, MCPError) and not entered:
            raise _never_started(cause, log, initialize_timeout_sec) from error
        raise cause from error


def _never_started(error: MCPError, log: ServerLog, timeout_sec: float) -> ServerError:
    if error.code == TIMED_OUT:
        said = (
            f", {log.stray_lines} lines on stdout were not JSON-RPC (first: {log.stray[0]!r})"
            if log.stray
            else ""
        )
        return ServerError(
            f"the server did not initialise in {timeout_sec:g} s{said}",
            hint="raise initialize_timeout_sec in server.yaml?",
        )
    if error.code == LOST:
        return gone(log, "before it was initialised")
    return ServerError(f"the server refused to initialise: error {error.code}: {error.message}")


def _first(error: BaseException) -> BaseException:
    """The failure inside a task group's wrapping: callers tell outcomes apart by its type."""
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
