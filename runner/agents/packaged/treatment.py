"""Treated, or not measured: the model is offered the arm's server, and in the shell's arm none.

An agent that starts before its server is there asks its first turn without the server's tools, and
its cell would be scored as the server's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from runner.agents.packaged.packaged_agent import PackagedAgent, plain
from runner.agents.packaged.wire_reading import ModelRequest, ToolOffer
from runner.records import digest_of
from runner.support.errors import NotTreatedError

SHOWN = 5
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\b[A-Z][a-z]{2} [A-Z][a-z]{2} \d{1,2} \d{4}\b")
"""2026-11-25, Wed Nov 25 2026: a run that goes on over midnight is still one."""


@dataclass(frozen=True, kw_only=True)
class SeenProgram:
    """What the provider saw of the program itself, in its first request with tools."""

    system: str
    """Digest."""
    tools: tuple[str, ...]
    schemas: str
    """Digest."""
    tools_searched: bool
    """Are the server's tools found by the agent's own search, and not offered?"""


@dataclass(kw_only=True)
class Treatment:
    """One cell's."""

    agent: PackagedAgent
    server: str
    """Of the arm, as the agent's configuration calls it; empty for the shell's."""
    server_tools: dict[str, str]
    """As the agent should offer them -> as the server calls them; names offered are set right."""
    run_servers: Sequence[str] = ()
    """All of the run: none may be offered in the shell's arm."""
    keep: Callable[[bytes], object] = lambda _body: None
    """Told the request that is looked at."""
    seen: Callable[[SeenProgram], None] = lambda _program: None
    note: Callable[[str], None] = lambda _text: None
    is_shown: bool = field(default=False, init=False)
    """Has a request with tools been seen?"""

    def require(self, request: ModelRequest, body: bytes) -> None:
        """Looks at the first request that offers tools. Raises NotTreatedError."""
        if self.is_shown or not request.tools:
            return
        self.is_shown = True
        self.keep(body)
        own, found = self._own_tools(request), self._is_searched(request)
        if found:
            self.note(f"the tools of {self.server} are found by the agent's own search for tools")
        offered = [tool for tool in own if tool.name not in self.agent.beside_servers]
        seen = SeenProgram(
            system=digest_of(_DATE.sub("DATE", self.agent.own_system(request.system))),
            tools=tuple(sorted(tool.name for tool in offered)),
            schemas=digest_of(sorted(digest_of(tool.definition) for tool in offered)),
            tools_searched=found,
        )
        self.seen(seen)

    def _own_tools(self, request: ModelRequest) -> list[ToolOffer]:
        tools, deferred = request.tools, self.agent.deferred_servers(request.system)
        if not self.server:
            foreign = [
                it.name for it in tools if self.agent.is_of_a_server(it.name, self.run_servers)
            ]
            foreign += deferred
            if foreign:
                listed = ", ".join(foreign[:SHOWN])
                raise NotTreatedError(f"the shell's arm was offered tools of a server: {listed}")
            return list(tools)
        if self._is_searched(request):
            return list(tools)
        return self._without_servers(tools)

    def _is_searched(self, request: ModelRequest) -> bool:
        return plain(self.server) in self.agent.deferred_servers(request.system)

    def _without_servers(self, tools: Sequence[ToolOffer]) -> list[ToolOffer]:
        wanted = {plain(offered): offered for offered in self.server_tools}
        own = []
        for tool in tools:
            offered = wanted.pop(plain(tool.name), None)
            if offered is None:
                own.append(tool)
            else:
                self.server_tools[tool.name] = self.server_tools.pop(offered)
        if len(wanted) == len(self.server_tools):
            raise NotTreatedError(
                f"the model was offered no tool of {self.server}",
                hint="the attempt's agent.stderr.log and server.stderr.log may say why",
            )
        if wanted:
            listed = ", ".join(sorted(wanted.values())[:SHOWN])
            self.note(f"{len(wanted)} of the server's tools were not offered: {listed}")
        return own
