"""Several servers in one cell, each its own process, behind one interface: mcprouter's part.

Source: seed 003, section 2.1.1. A server that ends is started once more, and its call is answered
with an error that says so: tried again unseen, a call might be made twice. One that ends again is
gone. None of this keeps another server from answering.
"""

from __future__ import annotations

import asyncio
import itertools
import shlex
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.agents.tool_calling import all_of
from runner.benchmarks.agentbench.testbed.names import routed_names
from runner.protocols import ToolSpec
from runner.records import Record, ServerSpec, digest_of
from runner.sandbox.cell_layout import SERVER_USER
from runner.sandbox.container import Container
from runner.sandbox.session import McpResult, ServerSession, only_reads
from runner.sandbox.stream import StderrFile
from runner.sandbox.transport import ServerLog
from runner.servers.definition_rules import pick_canary, places_among
from runner.servers.examine import open_server, try_canary
from runner.support.errors import NotReadyError, SandboxError, ServerError

TOOLS_AT_MOST = 128
"""As most models' tool calling takes (seed 003, section 2.2)."""
STARTS_AT_ONCE = 3
RESTARTS = 1
SHELL_SEC = 60
REASON_CHARS = 300

WriteNote = Callable[[str], None]
"""Takes what happened to a server, in a sentence."""


# --- what a server offers -----------------------------------------------------------------------


class ListedTool(Record):
    """A tool as its server lists it."""

    name: str
    description: str
    input_schema: dict[str, Any]
    read_only: bool
    """Its server says so."""


class Listing(Record):
    """What a server said of itself when it was started."""

    tools: tuple[ListedTool, ...]
    instructions: str
    """Empty if it sends none."""

    @property
    def digest(self) -> str:
        return digest_of(self)


def listing_of(session: ServerSession) -> Listing:
    tools = [
        ListedTool(
            name=tool.name,
            description=tool.description or "",
            input_schema=tool.input_schema,
            read_only=only_reads(tool),
        )
        for tool in session.tools
    ]
    return Listing(tools=tuple(tools), instructions=session.instructions)


@dataclass(frozen=True, kw_only=True)
class InstalledServer:
    """A server whose packages are in a volume of their own, for a place among others."""

    spec: ServerSpec
    volume: str
    digest: str
    """Of its definition and its volume's content."""
    listing: Listing | None = None
    """As it was planned with: one that lists other tools is not that server. None: not known."""

    @property
    def name(self) -> str:
        return self.spec.name


@dataclass(frozen=True, kw_only=True)
class RoutedTool:
    """A tool behind the router, and what it stands for."""

    spec: ToolSpec
    """As a model is shown it."""
    server: str
    own_name: str
    """The server's."""

    @property
    def name(self) -> str:
        """The model's."""
        return self.spec.name


def routed_tools(server: str, listing: Listing) -> tuple[RoutedTool, ...]:
    names = routed_names(server, [tool.name for tool in listing.tools])
    return tuple(_routed(server, tool, names[tool.name]) for tool in listing.tools)


def _routed(server: str, tool: ListedTool, name: str) -> RoutedTool:
    spec = ToolSpec(
        name=name,
        description=tool.description,
        input_schema=tool.input_schema,
        origin="server",
        read_only=tool.read_only,
    )
    return RoutedTool(spec=spec, server=server, own_name=tool.name)


# --- one server ---------------------------------------------------------------------------------


class _Seat:
    """One server among the others: asleep, started, started again once, or gone."""

    def __init__(
        self, container: Container, installed: InstalledServer, note: WriteNote, stderr: Path | None
    ) -> None:
        self.installed = installed
        self.listing = installed.listing
        self.gone = ""
        """Why; empty while it lives."""
        self._container = container
        self._note = note
        self._stderr = StderrFile(stderr)
        self._session: ServerSession | None = None
        self._open = AsyncExitStack()
        self._restarts = 0
        self._mending = asyncio.Lock()

    @property
    def name(self) -> str:
        return self.installed.name

    async def open(self) -> None:
        """Raises ServerError if it does not come up, proves no life, or is not what was planned."""
        log = ServerLog(stderr=self._stderr)
        spec, places = self.installed.spec, places_among(self.name)
        async with AsyncExitStack() as opening:
            try:
                ready = await opening.enter_async_context(
                    open_server(self._container, spec, log, places)
                )
                await self._require_alive(ready.session)
                self._require_as_planned(ready.session)
            except ServerError:
                await self._end_process(log)
                raise
            self._session, self._open = ready.session, opening.pop_all()

    async def _require_alive(self, session: ServerSession) -> None:
        canary = pick_canary(self.installed.spec, "*")
        result = await try_canary(session, canary, places_among(self.name))
        if not result.passed:
            shown = result.text[:REASON_CHARS] or "(nothing)"
            what = f"canary: expected {result.wanted!r} in the result, which was: {shown}"
            raise NotReadyError(what, where=self.name)

    def _require_as_planned(self, session: ServerSession) -> None:
        found = listing_of(session)
        if self.listing is not None and found != self.listing:
            raise NotReadyError("it lists other tools than before", where=self.name)
        self.listing = found

    async def call(self, tool: str, arguments: Mapping[str, Any], timeout_sec: float) -> McpResult:
        session = await self._awake()
        started = time.monotonic()
        if session is None:
            return _failed(f"the server {self.name} is gone: {self.gone}", started)
        try:
            result = await session.call(tool, arguments, timeout_sec=timeout_sec)
        except ServerError as error:
            return _failed(await self._after_end(session, error), started)
        if result.is_error and result.wall_sec >= timeout_sec:
            self.note(f"hangs: {tool} gave no answer in {timeout_sec:g} s")
        return result

    async def _awake(self) -> ServerSession | None:
        """Its session, started first if it sleeps. None if it is gone."""
        async with self._mending:
            if self._session is None and not self.gone:
                try:
                    await self.open()
                except ServerError as error:
                    self.give_up(f"it did not start: {error.what}")
        return self._session

    async def _after_end(self, ended: ServerSession, error: ServerError) -> str:
        """What became of the server, for the model. Of several calls it left, one mends it."""
        async with self._mending:
            if self._session is ended:
                await self._replace(ended, error.what)
        if self.gone:
            return f"the server {self.name} is gone: {self.gone}"
        again = f"{self.name} was started again, and this call was not made a second time"
        return f"{error.what[:REASON_CHARS]}; {again}"

    async def _replace(self, ended: ServerSession, reason: str) -> None:
        """Start it again, or give it up. Raises SandboxError if the cell is to blame."""
        await self.close()
        await self._end_process(ended.log)
        if self._restarts == RESTARTS:
            self.give_up(f"it ended a second time: {reason}")
            return
        self._restarts += 1
        self.note(f"ended, and is started again: {reason}")
        try:
            await self.open()
        except ServerError as error:
            self.give_up(f"it ended, and did not start again: {error.what}")

    async def _end_process(self, log: ServerLog) -> None:
        # One that is given up still runs, and would take processor and memory from the others.
        if not log.ticket:
            return
        # The brackets keep the pattern from finding the shell that holds it.
        pattern = shlex.quote(f"[{log.ticket[0]}]{log.ticket[1:]}")
        command = f"pkill -KILL -f {pattern}; true"
        await self._container.shell(command, timeout_sec=SHELL_SEC, user=SERVER_USER)

    def give_up(self, reason: str) -> None:
        self.gone = reason[:REASON_CHARS]
        self.note(f"is gone: {reason}")

    def note(self, what: str) -> None:
        self._note(f"{self.name} {what}")

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None and session.log.stray_lines:
            first = session.log.stray[0]
            times = f"{session.log.stray_lines} ×"
            self.note(f"wrote to stdout what is not JSON-RPC, {times}; the first line: {first}")
        await self._open.aclose()


def _failed(text: str, started: float) -> McpResult:
    return McpResult(text=text, is_error=True, wall_sec=time.monotonic() - started)


# --- all of them --------------------------------------------------------------------------------


class Router:
    """The tools of several servers. Made by `open_router`, and gone when that ends."""

    def __init__(
        self, container: Container, seats: Sequence[_Seat], required: Collection[str]
    ) -> None:
        self._container = container
        self._seats = {seat.name: seat for seat in seats}
        self._required = required
        # One that did not start is offered as it was planned: without it, the choice were another.
        self.listings = {seat.name: seat.listing for seat in seats if seat.listing is not None}
        """Server -> what it offers."""
        offered = (routed_tools(name, listing) for name, listing in self.listings.items())
        self.tools = tuple(itertools.chain.from_iterable(offered))
        """In the servers' order."""
        self._by_name = {tool.name: tool for tool in self.tools}

    @property
    def gone(self) -> dict[str, str]:
        """Server -> why, of those that are gone."""
        return {name: seat.gone for name, seat in self._seats.items() if seat.gone}

    async def peak_memory_mb(self) -> float | None:
        """Of the whole cell so far. Raises SandboxError if it is gone."""
        return await self._container.peak_memory_mb()

    def named(self, server: str, own_name: str) -> str:
        """What a model calls a server's tool. Raises KeyError if there is none."""
        for tool in self.tools:
            if (tool.server, tool.own_name) == (server, own_name):
                return tool.name
        raise KeyError(f"{server} offers no tool {own_name!r}")

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, timeout_sec: float | None = None
    ) -> McpResult:
        """Call a tool by the model's name for it; a server that ends meanwhile is an error result.

        `timeout_sec`: at most as long as the server's definition gives a call. Raises KeyError for
        a name that is none, ServerError if a required server is gone, SandboxError if the cell is.
        """
        tool = self._by_name[name]
        seat = self._seats[tool.server]
        limit_sec: float = seat.installed.spec.call_timeout_sec
        if timeout_sec is not None:
            limit_sec = min(limit_sec, timeout_sec)
        result = await seat.call(tool.own_name, arguments, limit_sec)
        if seat.gone and seat.name in self._required:
            raise ServerError(seat.gone, where=seat.name)
        return result


@asynccontextmanager
async def open_router(  # noqa: PLR0913 - all but the first two have a default
    container: Container,
    servers: Sequence[InstalledServer],
    *,
    required: Collection[str] = (),
    asleep: Collection[str] = (),
    note: WriteNote = lambda _: None,
    logs: Path | None = None,
    tools_at_most: int | None = TOOLS_AT_MOST,
) -> AsyncIterator[Router]:
    """Start the servers, a few at a time; each proves its life by its canary.

    `required`: without these nothing can be measured; of any other it is noted that it is gone.
    `asleep`: are started when they are called first; their listings must be known.
    `logs`: a folder for what they write to stderr. Raises ServerError if a required one does not
    start or offers more tools than fit, SandboxError or OutOfMemory if no server is to blame.
    """
    seats = [_Seat(container, one, note, _stderr_file(logs, one.name)) for one in servers]
    try:
        await _make_state_folders(container, servers)
        failures = await _start_all([seat for seat in seats if seat.name not in asleep])
        failures |= await _turn_away(seats, tools_at_most)
        for seat in seats:
            if seat.name in failures:
                if seat.name in required:
                    raise failures[seat.name]
                seat.give_up(failures[seat.name].what)
        yield Router(container, seats, required)
    finally:
        # One after the other: side by side, the first that fails would leave the others open.
        for seat in seats:
            await seat.close()


def _stderr_file(logs: Path | None, name: str) -> Path | None:
    if logs is None:
        return None
    logs.mkdir(parents=True, exist_ok=True)
    return logs / f"{name}.stderr.log"


async def _make_state_folders(container: Container, servers: Sequence[InstalledServer]) -> None:
    folders = [places_among(one.name)["state"] for one in servers]
    command = f"mkdir -p -m 0700 {shlex.join(folders)}"
    done = await container.shell(command, timeout_sec=SHELL_SEC, user=SERVER_USER)
    if done.exit_code:
        raise SandboxError(f"cannot make the servers' folders: {done.output[:REASON_CHARS]}")


async def _start_all(seats: Sequence[_Seat]) -> dict[str, ServerError]:
    """Server -> why it did not start, of those that did not even when they were tried alone."""
    failures = await _start(seats, STARTS_AT_ONCE)
    late = [seat for seat in seats if seat.name in failures]
    for seat in late:
        # On a busy machine a server may be late for its neighbours' sake, and not for its own.
        seat.note(f"did not start, and is tried again: {failures[seat.name].what}")
    return await _start(late, 1)


async def _start(seats: Sequence[_Seat], at_once: int) -> dict[str, ServerError]:
    failures: dict[str, ServerError] = {}
    slots = asyncio.Semaphore(at_once)

    async def start(seat: _Seat) -> None:
        async with slots:
            try:
                await seat.open()
            except ServerError as error:
                failures[seat.name] = error

    await all_of([start(seat) for seat in seats])
    return failures


async def _turn_away(seats: Sequence[_Seat], tools_at_most: int | None) -> dict[str, ServerError]:
    """Close the servers whose tools do not fit beside those before them: name -> why."""
    failures: dict[str, ServerError] = {}
    count = 0
    for seat in seats:
        size = len(seat.listing.tools) if seat.listing else 0
        if tools_at_most is not None and count + size > tools_at_most:
            room = f"{tools_at_most - count} of at most {tools_at_most} are left"
            failures[seat.name] = ServerError(f"it has {size} tools, and {room}", where=seat.name)
            await seat.close()
            seat.listing = None
        else:
            count += size
    return failures
