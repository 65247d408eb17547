"""What an agent that people use brings to a cell: how it is started, and how it names things."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from runner.agents.packaged.wire_reading import Dialect, Json, ModelRequest
from runner.protocols import Call
from runner.records import Sha256, digest_of

NO_KEY = "none"
"""All that a program in a cell has for a key; the host puts the real one in its place."""
PATIENCE_SEC = 3600
"""What a program may wait for its server. The server is at work before it starts, and the cell's
own limits end what takes too long: a shorter wait would lose an arm its tools."""


@dataclass(frozen=True, kw_only=True)
class StepStart:
    """One step of a scenario, put to the program."""

    program: str
    model: str
    """The provider's id of it."""
    url: str
    """Where the program finds its provider: loopback."""
    session: str = ""
    """Of the steps before, to go on with; empty for a first step."""
    server: str = ""
    """Its name in the configuration; empty in the shell's arm."""
    shim: tuple[str, ...] = ()
    """What it starts for the server."""
    reads_repository: bool = True
    """AgentSpec.reads_repository."""


@dataclass(frozen=True, kw_only=True)
class ProgramCommand:
    """How the program is started; the prompt comes on its stdin."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    """That have to be there."""


class PackagedAgent(ABC):
    """One agent. It has no state: what it learns of a cell is kept elsewhere."""

    kind: ClassVar[str]
    """The name in MODELS of what it can ask."""
    dialect: ClassVar[Dialect]
    beside_servers: ClassVar[frozenset[str]] = frozenset()
    """Tools of its own that it offers only where a server is configured."""
    compacts_by: ClassVar[str]
    """How the text begins by which it asks for a summary of its conversation, to go on from."""

    @abstractmethod
    def command(self, start: StepStart) -> ProgramCommand: ...

    @abstractmethod
    def session_of(self, event: Json) -> str:
        """The id of its session, from an event of its stdout; empty in other events."""

    @abstractmethod
    def says(self, event: Json) -> str:
        """What it tells the user in an event of its stdout."""

    @abstractmethod
    def server_tool(self, server: str, tool: str) -> str:
        """As it offers a server's tool to the model."""

    @abstractmethod
    def conversation(self, headers: Mapping[str, str], request: ModelRequest) -> str:
        """Which conversation a request goes on with: its own, or a subagent's."""

    def is_of_a_server(self, tool: str, servers: Iterable[str]) -> bool:  # noqa: ARG002 - see opencode
        """Does a tool look like one of a server's? Asked in the shell's arm, of all of the run."""
        return tool.startswith("mcp__")

    def deferred_servers(self, system: str) -> frozenset[str]:  # noqa: ARG002 - see codex
        """Whose tools a system prompt says to be found by the agent's own search, in `plain`."""
        return frozenset()

    def own_system(self, system: str) -> str:
        """The system prompt without what a server said in it."""
        return system

    def recorded(self, call: Call) -> Call:
        """A call of one of its own tools by the names that scores know a shell's by."""
        return call

    def failed(self, text: str) -> bool:  # noqa: ARG002 - most APIs say it themselves
        """Does the result of one of its own tools say that it failed?"""
        return False


def config_name(server: str) -> str:
    """A server's name as every agent's configuration takes it."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", server)


def plain(name: str) -> str:
    """Agents spell names of servers and tools each in its own way: mcp__mcp_ripgrep__list-files."""
    return re.sub(r"[^a-z0-9]", "_", name.lower())


def program_settings(agent: PackagedAgent, model: str, *, reads_repository: bool) -> Sha256:
    """Of how it is started without a server: the same in every arm."""
    start = StepStart(program="", model=model, url="", reads_repository=reads_repository)
    started = agent.command(start)
    return digest_of([started.argv, dict(started.env)])


def renamed(call: Call, names: Mapping[str, str], arguments: Mapping[str, str]) -> Call:
    """Its tool, and keys of its arguments, by other names."""
    given = {arguments.get(key, key): value for key, value in call.arguments.items()}
    return replace(call, tool=names.get(call.tool, call.tool), arguments=given)
