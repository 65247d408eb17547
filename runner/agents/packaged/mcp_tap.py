"""The server as an agent's own MCP client sees it, and what passed between them.

The server is initialised, warmed up and proven before the agent starts. Its client is given the
server's own answers to `initialize` and `tools/list`; every other request goes to the server, and
its result back, as it came.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from runner.agents.moved_lines import is_counting, with_lines_moved
from runner.agents.tools import MountedServer
from runner.records import canonical_json
from runner.sandbox.relay import McpWire
from runner.sandbox.session import as_text
from runner.sandbox.transport import (
    METHOD_NOT_FOUND,
    BadAnswerError,
    RefusalError,
    RpcMessage,
    parsed,
)

SHOWN_CHARS = 2000
"""Of a message, in the file that keeps them all."""
TIMED_OUT = -32001
BROKEN = -32603
PASSED_ON = frozenset(
    {
        *("resources/list", "resources/templates/list", "resources/read"),
        *("prompts/list", "prompts/get", "completion/complete"),
    }
)


@dataclass(frozen=True, kw_only=True)
class ServerCallMade:
    """A call that reached the server, and what it said."""

    tool: str
    """As the server calls it."""
    arguments: dict[str, Any]
    text: str
    """The whole of it, as a model would read it."""
    is_error: bool
    wall_sec: float
    moved_numbers: int | None = None

    @property
    def size_chars(self) -> int:
        return len(self.text)

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True)
class McpTap:
    """One server, for every client that the agent's program starts."""

    mounted: MountedServer
    called: Callable[[ServerCallMade], None]
    """Gets each call that reached the server."""
    keep: Callable[[str], None]
    """Gets a line for each message."""

    async def take(self, line: bytes, wire: McpWire) -> None:
        """One message of a client's. Raises ServerError, SandboxError or OutOfMemory as a call."""
        try:
            message = parsed(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return
        self._note("asked", wire, message)
        if "id" not in message:
            # Notices: the server has had its `initialized` before.
            return
        reply = await self._answer(message["method"], message.get("params") or {})
        answer = {"jsonrpc": "2.0", "id": message["id"], **reply}
        self._note("answered", wire, answer)
        await wire.send(answer)

    def _note(self, what: str, wire: McpWire, message: RpcMessage) -> None:
        text = json.dumps(message)
        about = {"client": wire.number, "at": round(time.time(), 3), "chars": len(text)}
        self.keep(json.dumps({**about, what: text[:SHOWN_CHARS]}))

    async def _answer(self, method: str, params: RpcMessage) -> RpcMessage:
        session = self.mounted.session
        if method == "initialize":
            return {"result": session.about_sent}
        if method == "tools/list":
            return {"result": {"tools": list(session.tools_sent)}}
        if method == "ping":
            return {"result": {}}
        if method == "tools/call":
            return await self._call(params)
        if method in PASSED_ON:
            return (await self._asked(method, params))[0]
        return _error(METHOD_NOT_FOUND, "not supported")

    async def _asked(self, method: str, params: RpcMessage) -> tuple[RpcMessage, str]:
        """What the client is told, and what went wrong in words."""
        limit_sec = self.mounted.call_sec
        try:
            asked = {key: value for key, value in params.items() if key != "_meta"}
            result = await self.mounted.session.ask(method, asked, timeout_sec=limit_sec)
        except TimeoutError:
            return _told(TIMED_OUT, f"no answer in {limit_sec:g} s")
        except RefusalError as error:
            return _told(BROKEN, str(error))
        except BadAnswerError as error:
            return _told(BROKEN, f"the server's result breaks the protocol: {error}")
        return {"result": result}, ""

    async def _call(self, params: RpcMessage) -> RpcMessage:
        started = time.monotonic()
        tool, arguments = str(params.get("name")), params.get("arguments") or {}
        reply, wrong = await self._asked("tools/call", params)
        text, is_error, numbers = wrong, True, None
        if "result" in reply:
            reply["result"], numbers = await self._with_lines_moved(tool, reply["result"])
            is_error = reply["result"].get("isError") is True
            try:
                text = as_text(reply["result"])
            except BadAnswerError as error:
                text, is_error = f"the server's result breaks the protocol: {error}", True
        made = ServerCallMade(
            tool=tool,
            arguments=arguments if isinstance(arguments, dict) else {},
            text=text,
            is_error=is_error,
            wall_sec=time.monotonic() - started,
            moved_numbers=numbers,
        )
        self.called(made)
        return reply

    async def _with_lines_moved(
        self, tool: str, result: RpcMessage
    ) -> tuple[RpcMessage, int | None]:
        by = self.mounted.moved_lines
        if not by or is_counting(tool):
            return result, None
        total, blocks = 0, []
        for block in result.get("content") or ():
            if isinstance(block, dict) and isinstance(block.get("text"), str):
                text, numbers = await asyncio.to_thread(with_lines_moved, block["text"], by)
                block = {**block, "text": text}  # noqa: PLW2901 - the same block, its lines moved
                total += numbers
            blocks.append(block)
        changed = {**result, "content": blocks}
        if "structuredContent" in result:
            # A client that reads it in the text's place would see the lines as they are.
            plain = canonical_json(result["structuredContent"])
            text, numbers = await asyncio.to_thread(with_lines_moved, plain, by)
            changed["structuredContent"] = json.loads(text)
        return changed, total


def _error(code: int, message: str) -> RpcMessage:
    return {"error": {"code": code, "message": message}}


def _told(code: int, message: str) -> tuple[RpcMessage, str]:
    return _error(code, message), message
