"""The tools of an arm: the shell, and those of its server."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Literal

from runner.protocols import (
    Call,
    Sandbox,
    ToolSpec,
)
from runner.records import (
    Limits,
)
from runner.sandbox.session import ServerSession
from runner.text import cut

SHELL_SPEC = ToolSpec(
    name="shell",
    description=(
        "Run one command with bash at the repository's root and get stdout and stderr. Each call is a fresh shell. There is no network, "
        "and the repository is read-only; /tmp may be written. Long output is cut in the middle, and says so."
    ),
    input_schema={
        "type": "object",
        "properties": {"command": {"type": "string", "description": "The bash command."}},
        "required": ["command"],
        "additionalProperties": False,
    },
    origin="shell",
)


@dataclass(frozen=True, kw_only=True)
class ToolOutcome:
    text: str
    is_error: bool
    size_chars: int
    digest: str
    truncated: bool
    wall_sec: float


class Toolbox:
    """What the arm offers: the shell, and a server's tools where one is mounted."""

    def __init__(
        self,
        sandbox: Sandbox,
        limits: Limits,
        *,
        server: str = "",
        session: ServerSession | None = None,
        call_sec: float = 120,
    ) -> None:
        self._sandbox, self._limits, self._session, self._call_sec = (
            sandbox,
            limits,
            session,
            call_sec,
        )
        self._names: dict[str, str] = {}
        specs = [SHELL_SPEC]
        for tool in session.tools if session else ():
            name = _unique(_tool_name(server, tool.name), self._names)
            self._names[name] = tool.name
            specs.append(
                ToolSpec(
                    name=name,
                    description=tool.description or "",
                    input_schema=tool.input_schema,
                    origin="server",
                )
            )
        self.specs = tuple(specs)

    def origin(self, tool: str) -> Literal["shell", "server"]:
        return "server" if tool in self._names else "shell"

    async def call(self, call: Call, timeout_sec: float) -> ToolOutcome:
        """Raises SandboxError where the container is gone, ServerError where the server is."""
        if call.tool in self._names and self._session is not None:
            limit = min(timeout_sec, self._call_sec)
            result = await self._session.call(
                self._names[call.tool], call.arguments, timeout_sec=limit
            )
            return _whole(result.text, result.is_error, result.wall_sec, self._limits)
        if call.tool != SHELL_SPEC.name:
            return _whole(f"there is no tool {call.tool!r}", True, 0.0, self._limits)
        command = call.arguments.get("command")
        if not isinstance(command, str) or not command.strip():
            return _whole("shell takes one argument, `command`, a text", True, 0.0, self._limits)
        return await self._shell(command, timeout_sec)

    async def _shell(self, command: str, timeout_sec: float) -> ToolOutcome:
        limit = max(1.0, min(timeout_sec, self._limits.shell_timeout_sec))
        done = await self._sandbox.shell(command, timeout_sec=limit)
        status = (
            f"[stopped after {limit:g} s]"
            if done.timed_out
            else f"[exit code {done.exit_code}]"
            if done.exit_code
            else ""
        )
        text = f"{done.output.rstrip()}\n{status}".strip() if status else done.output
        return ToolOutcome(
            text=text,
            is_error=done.timed_out or done.exit_code != 0,
            size_chars=done.size_chars,
            digest=done.digest,
            truncated=done.truncated,
            wall_sec=done.wall_sec,
        )


def _whole(text: str, is_error: bool, wall_sec: float, limits: Limits) -> ToolOutcome:
    shown, truncated = cut(text, limits.result_chars)
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    return ToolOutcome(
        text=shown,
        is_error=is_error,
        size_chars=len(text),
        digest=digest,
        truncated=truncated,
        wall_sec=wall_sec,
    )


def _tool_name(server: str, tool: str) -> str:
    """As MCP clients name it for a model, in the letters and the length that model APIs take."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", f"mcp__{server}__{tool}")[:128]


def _unique(name: str, taken: dict[str, str]) -> str:
    number, candidate = 2, name
    while candidate in taken:
        candidate = f"{name[:120]}_{number}"
        number += 1
    return candidate
