"""A server's tools and one call of them, in the sandbox: what a probe is made of by hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.authoring.onboarding.canaries import CanarySearch, FoundCanary, find_canary
from runner.authoring.onboarding.onboarding_state import DEFAULT_SCENARIO
from runner.authoring.onboarding.starting import last_try
from runner.authoring.onboarding.targets import symbols_of
from runner.authoring.onboarding.tool_roles import writers
from runner.catalog.catalog import LoadedScenario, LoadedServer
from runner.catalog.checkout import Checkout
from runner.records import Canary, McpCall
from runner.runs.prepare import install, lend, workspace
from runner.sandbox.container import ContainerSpec, open_container
from runner.sandbox.session import McpResult, ServerSession
from runner.sandbox.stream import StderrFile
from runner.sandbox.transport import ServerLog
from runner.servers.definition_rules import PLACEHOLDERS, fill_call, private_in_cell
from runner.servers.examine import open_server

if TYPE_CHECKING:
    import mcp_types

DEADLINE_SEC = 3600


@dataclass(frozen=True, kw_only=True)
class Stand:
    """A server, and the repository it is started on."""

    checkout: Checkout
    server: LoadedServer
    loaded: LoadedScenario

    def tools(self) -> tuple[mcp_types.Tool, ...]:
        """Raises ServerError if it does not start."""

        async def listed() -> tuple[mcp_types.Tool, ...]:
            async with self.session() as session:
                return session.tools

        return asyncio.run(listed())

    def call(self, tool: str, arguments: Mapping[str, Any]) -> McpResult:
        """After its warm-up, as in a cell."""

        async def answered() -> McpResult:
            async with self.session() as session:
                limit_sec = self.server.spec.call_timeout_sec
                wanted = McpCall(tool=tool, arguments=dict(arguments))
                filled = fill_call(wanted, PLACEHOLDERS, session.answers)
                return await session.call(tool, filled, timeout_sec=limit_sec)

        return asyncio.run(answered())

    def find_probe(self) -> Canary | None:
        """A health probe of this repository, looked for after the warm-up.

        Raises ServerError if it does not start, or a tool of it ends it.
        """
        files = self.checkout.files(self.loaded)
        symbols = symbols_of(files, self.loaded.scenario.language)
        search = CanarySearch()

        async def found() -> FoundCanary | None:
            async with self.session() as session:
                search.learn(session.answers)
                return await find_canary(session, symbols, frozenset(files.paths()), search)

        canary = asyncio.run(found())
        return canary.as_canary(self.loaded.scenario.repository.label) if canary else None

    @asynccontextmanager
    async def session(self) -> AsyncIterator[ServerSession]:
        """In a fresh cell, after its warm-up. Raises ServerError if it does not start."""
        it, spec = self.checkout, self.server.spec
        image = workspace(it, it.repository(self.loaded)).id
        cell = ContainerSpec(
            image=image,
            limits=it.limits,
            deadline_sec=DEADLINE_SEC,
            server_volume=install(it, self.server).volume,
            private=private_in_cell(spec),
        )
        lend(it, spec, image)
        log = ServerLog(stderr=StderrFile(None))
        async with (
            open_container(it.engine, cell) as container,
            open_server(container, spec, log) as ready,
        ):
            yield ready.session


def stand(checkout: Checkout, name: str, scenario: str) -> Stand:
    """A server that ships, is the project's, or was tried last. Raises FairtrialError."""
    ships = name in {*checkout.catalog.servers, *checkout.catalog.testbed}
    if not ships and (tried := last_try(checkout.state / "tries" / name)):
        checkout = checkout.over(tried)
    server = checkout.server(name)
    loaded = checkout.scenario(scenario or _scenario_of(checkout, server))
    return Stand(checkout=checkout, server=server, loaded=loaded)


def _scenario_of(checkout: Checkout, server: LoadedServer) -> str:
    """The first whose repository it has a health probe for; the quickest if it fits any."""
    labels = {canary.repository for canary in server.spec.canaries}
    for name, loaded in checkout.catalog.scenarios.sound().items():
        if loaded.scenario.repository.label in labels:
            return name
    return DEFAULT_SCENARIO


def tools_lines(tools: Sequence[mcp_types.Tool]) -> list[str]:
    """Of each its name, what it takes, and the first line of what it says of itself."""
    writing = writers(tools)
    return [line for tool in tools for line in _tool_lines(tool, writes=tool.name in writing)]


def _tool_lines(tool: mcp_types.Tool, *, writes: bool) -> list[str]:
    lines = [f"{tool.name}{' (writes)' if writes else ''}"]
    described = (tool.description or "").strip().splitlines()
    if described:
        lines.append(f"    {described[0][:110]}")
    properties = tool.input_schema.get("properties") or {}
    required = tool.input_schema.get("required") or []
    for key, schema in properties.items():
        lines.append(f"    {_argument(key, schema, is_required=key in required)}")
    return lines


def _argument(key: str, schema: Any, *, is_required: bool) -> str:
    about = schema if isinstance(schema, dict) else {}
    kind = about.get("type") or "any"
    if about.get("enum"):
        kind = " | ".join(map(str, about["enum"][:8]))
    need = "" if is_required else ", optional"
    described = " ".join(str(about.get("description", "")).split())[:70]
    return f"{key}: {kind}{need}{'  ' if described else ''}{described}"
