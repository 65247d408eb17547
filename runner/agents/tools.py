"""The tools of an arm: the shell, and those of its server."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from runner.agents.moved_lines import is_counting, with_lines_moved
from runner.protocols import Call, Sandbox, ShellResult, ToolSpec
from runner.records import Limits
from runner.sandbox.session import ServerSession, only_reads
from runner.support.text import cut

SHELL_SPEC = ToolSpec(
    name="shell",
    description=(
        "Run one command with bash at the repository's root and get stdout and stderr. "
        "Each call is a fresh shell, and what it started ends with it. There is no network, "
        "and the repository is read-only; /tmp may be written."
    ),
    input_schema={
        "type": "object",
        "properties": {"command": {"type": "string", "description": "The bash command."}},
        "required": ["command"],
        "additionalProperties": False,
    },
    origin="shell",
)
NAME_LIMIT_CHARS = 128
"""Of a tool's name, as model APIs take it."""


@dataclass(frozen=True, kw_only=True)
class ToolOutcome:
    """What a call returned: `text` as the model sees it, the other figures of the whole result."""

    text: str
    is_error: bool
    size_chars: int
    digest: str
    truncated: bool
    wall_sec: float
    moved_numbers: int | None = None
    """Line numbers in it that were moved; None where none are to be."""


class Tools(Protocol):
    """What an agent may call."""

    @property
    def specs(self) -> Sequence[ToolSpec]: ...

    def origin(self, tool: str) -> Literal["shell", "server"]:
        """Whose tool it is, for the record."""

    def is_read_only(self, tool: str) -> bool:
        """Calls of one turn that only read may be made at the same time."""

    async def call(self, call: Call, timeout_sec: float) -> ToolOutcome:
        """Raises SandboxError if the container is gone, ServerError if the server is."""


@dataclass(frozen=True, kw_only=True)
class MountedServer:
    """The server of an arm, at work."""

    session: ServerSession
    name: str
    """In its tools' names."""
    call_sec: float = 120
    """That a call may take at most."""
    moved_lines: int = 0
    """Added to every line number in its results."""


class Toolbox:
    """What the arm offers: the shell, unless it has no tool, and a server's if one is mounted."""

    def __init__(
        self,
        sandbox: Sandbox,
        limits: Limits,
        mounted: MountedServer | None = None,
        *,
        has_shell: bool = True,
    ) -> None:
        self._sandbox = sandbox
        self._limits = limits
        self._mounted = mounted
        self._server_names = tool_names(mounted) if mounted else {}
        """The model's name of a tool -> the server's."""
        shell = (SHELL_SPEC,) if has_shell else ()
        self.specs = (*shell, *self._server_specs())

    def _server_specs(self) -> list[ToolSpec]:
        specs: list[ToolSpec] = []
        if self._mounted is None:
            return specs
        for name, tool in zip(self._server_names, self._mounted.session.tools, strict=True):
            spec = ToolSpec(
                name=name,
                description=tool.description or "",
                input_schema=tool.input_schema,
                origin="server",
                read_only=only_reads(tool),
                destructive=bool(tool.annotations and tool.annotations.destructive_hint),
            )
            specs.append(spec)
        return specs

    def origin(self, tool: str) -> Literal["shell", "server"]:
        if tool in self._server_names:
            return "server"
        return "shell"

    def is_read_only(self, tool: str) -> bool:
        return any(spec.name == tool and spec.read_only for spec in self.specs)

    async def call(self, call: Call, timeout_sec: float) -> ToolOutcome:
        """Raises SandboxError if the container is gone, ServerError if the server is."""
        if call.problem:
            return self._refusal(call.problem)
        if call.tool in self._server_names and self._mounted is not None:
            return await self._call_server(self._mounted, call, timeout_sec)
        if call.tool != SHELL_SPEC.name or SHELL_SPEC not in self.specs:
            return self._refusal(f"there is no tool {call.tool!r}")
        command = call.arguments.get("command")
        if not isinstance(command, str) or not command.strip():
            return self._refusal("shell takes one argument, `command`, a text")
        return await self._call_shell(command, timeout_sec)

    async def _call_server(
        self, mounted: MountedServer, call: Call, timeout_sec: float
    ) -> ToolOutcome:
        limit_sec = min(timeout_sec, mounted.call_sec)
        name = self._server_names[call.tool]
        result = await mounted.session.call(name, call.arguments, timeout_sec=limit_sec)
        text, numbers = result.text, None
        if mounted.moved_lines and not is_counting(name):
            # Before the cut: half of a JSON result is no JSON. In a thread: a megabyte takes two
            # seconds, for which every other cell would wait.
            text, numbers = await asyncio.to_thread(with_lines_moved, text, mounted.moved_lines)
        shown = self._shown(text, is_error=result.is_error, wall_sec=result.wall_sec)
        return replace(shown, moved_numbers=numbers)

    async def _call_shell(self, command: str, timeout_sec: float) -> ToolOutcome:
        limit_sec = max(1.0, min(timeout_sec, self._limits.shell_timeout_sec))
        result = await self._sandbox.shell(command, timeout_sec=limit_sec)
        return ToolOutcome(
            text=_with_status(result, limit_sec),
            is_error=result.timed_out or result.exit_code != 0,
            size_chars=result.size_chars,
            digest=result.digest,
            truncated=result.truncated,
            wall_sec=result.wall_sec,
        )

    def _refusal(self, text: str) -> ToolOutcome:
        """For a call that no tool can take; the model may try again."""
        return self._shown(text, is_error=True, wall_sec=0.0)

    def _shown(self, text: str, *, is_error: bool, wall_sec: float) -> ToolOutcome:
        limit_chars = self._limits.result_chars
        return shown_outcome(text, limit_chars, is_error=is_error, wall_sec=wall_sec)


def shown_outcome(
    text: str, limit_chars: int, *, is_error: bool, wall_sec: float = 0.0
) -> ToolOutcome:
    """A tool's text as the model sees it, cut in the middle, with the figures of the whole."""
    shown, truncated = cut(text, limit_chars)
    # A server may send lone surrogates, which UTF-8 cannot hold: a digest must not fail there.
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    return ToolOutcome(
        text=shown,
        is_error=is_error,
        size_chars=len(text),
        digest=digest,
        truncated=truncated,
        wall_sec=wall_sec,
    )


def _with_status(result: ShellResult, limit_sec: float) -> str:
    """The output, and a last line that says so if the command was stopped or failed."""
    if result.timed_out:
        # perl and others with buffers of their own are stopped with what these hold back.
        printed = "above is what came of it" if result.size_chars else "nothing came of it yet"
        status = f"[stopped after {limit_sec:g} s; {printed}]"
    elif result.exit_code:
        status = f"[exit code {result.exit_code}]"
    else:
        return result.output
    return f"{result.output.rstrip()}\n{status}".strip()


def tool_names(mounted: MountedServer) -> dict[str, str]:
    """The model's name of each tool, in their order -> the server's."""
    names: dict[str, str] = {}
    for tool in mounted.session.tools:
        names[_unique(_model_name(mounted.name, tool.name), names)] = tool.name
    return names


def _model_name(server: str, tool: str) -> str:
    """As MCP clients name it for a model, in the letters and the length that model APIs take."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", f"mcp__{server}__{tool}")
    return name[:NAME_LIMIT_CHARS]


def _unique(name: str, taken: Collection[str]) -> str:
    # Two tools with one name after cutting and cleaning: the second would hide the first.
    candidate = name
    number = 2
    while candidate in taken:
        candidate = f"{name[:120]}_{number}"
        number += 1
    return candidate
