"""Reference trajectories executed on real servers in cells, and held against what was recorded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from runner.benchmarks.agentbench.queries import Query, ReferenceCall
from runner.benchmarks.agentbench.trajectory import NotGiven, fill, given_by
from runner.errors import FairtrialError, ServerError
from runner.prepared import Arm
from runner.records import Limits
from runner.sandbox.container import ContainerSpec, open_container
from runner.sandbox.engine import Engine
from runner.sandbox.session import McpResult, ServerSession
from runner.sandbox.stream import StderrFile
from runner.sandbox.transport import ServerLog
from runner.servers import open_server

MOST_OPEN = 8
"""Servers at a time, each in a cell of its own: a hundred megabytes each."""
CELL_LIMIT_SEC = 3600
SHOWN_CHARS = 200


class Caller(Protocol):
    """What executes one call."""

    async def call(self, server: str, tool: str, arguments: Mapping[str, Any]) -> McpResult:
        """Raises FairtrialError if the server cannot be had."""
        ...


# --- one trajectory -------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Made:
    """One call, as it was made now."""

    arguments: dict[str, Any]
    """With everything fed."""
    result: McpResult


class CannotGoOn(Exception):  # noqa: N818 - it ends one trajectory, and is no fault of ours
    """A trajectory that cannot be executed: at which of its calls, from 0, and why."""

    def __init__(self, index: int, why: str) -> None:
        super().__init__(why)
        self.index = index


async def execute(calls: Sequence[ReferenceCall], caller: Caller) -> list[Made]:
    """Make the calls in order, each fed by what the earlier ones give now.

    Raises CannotGoOn at an error result, or a name that nothing gives.
    """
    given: dict[str, str] = {}
    made = []
    for index, call in enumerate(calls):
        try:
            arguments = fill(call.arguments, given)
            result = await caller.call(call.server, call.tool, arguments)
            if result.is_error:
                raise CannotGoOn(index, f"{call.tool} failed: {result.text[:SHOWN_CHARS]}")
            given |= given_by(call, result.text)
        except (NotGiven, FairtrialError) as error:
            raise CannotGoOn(index, str(error)) from error
        made.append(Made(arguments=arguments, result=result))
    return made


async def drift(query: Query, caller: Caller) -> list[tuple[str, str]]:
    """Key and message of every call that does not give what was recorded."""
    try:
        made = await execute(query.calls, caller)
    except CannotGoOn as stop:
        return [(f"calls[{stop.index}]", str(stop))]
    found = []
    for index, (call, now) in enumerate(zip(query.calls, made, strict=True)):
        if now.result.text != call.result:
            message = difference(call.result, now.result.text)
            found.append((f"calls[{index}].result", message))
    return found


def difference(recorded: str, now: str) -> str:
    """Where the two texts part, and what stands there."""
    at = 0
    while at < min(len(recorded), len(now)) and recorded[at] == now[at]:
        at += 1
    was, came = (repr(text[max(0, at - 20) : at + 60]) for text in (recorded, now))
    return f"differs from character {at} on: recorded {was}, now {came}"


async def recorded(query: Query, caller: Caller) -> Query:
    """The query with its calls' results as they are now.

    Raises CannotGoOn as `execute`, and if two executions differ: no answer would stay right.
    """
    first, second = await execute(query.calls, caller), await execute(query.calls, caller)
    calls = []
    for index, (call, made, again) in enumerate(zip(query.calls, first, second, strict=True)):
        if made.result.text != again.result.text:
            told = difference(made.result.text, again.result.text)
            raise CannotGoOn(index, f"{call.tool} answers differently each time: {told}")
        calls.append(call.model_copy(update={"result": made.result.text}))
    return query.model_copy(update={"calls": tuple(calls)})


# --- servers --------------------------------------------------------------------------------


@dataclass(kw_only=True)
class _Cell:
    """A server in a cell of its own, held open by a task."""

    session: ServerSession
    timeout_sec: float
    stop: asyncio.Event
    task: asyncio.Task[None]


@dataclass(kw_only=True)
class Cells:
    """A `Caller`: servers, each started in its cell when it is first called."""

    engine: Engine
    image: str
    limits: Limits
    arms: Mapping[str, Arm]
    """By name: every server that will be called."""
    _open: dict[str, _Cell] = field(default_factory=dict)
    """In the order of their last use."""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def call(self, server: str, tool: str, arguments: Mapping[str, Any]) -> McpResult:
        async with self._lock:
            cell = await self._cell(server)
        try:
            return await cell.session.call(tool, arguments, timeout_sec=cell.timeout_sec)
        except ServerError:
            # The next query gets a fresh one, or every other query of this server would fail too.
            await self._close(server)
            raise

    async def _cell(self, server: str) -> _Cell:
        cell = self._open.pop(server, None)
        if cell is None:
            while len(self._open) >= MOST_OPEN:
                await self._close(next(iter(self._open)))
            cell = await self._start(server)
        self._open[server] = cell
        return cell

    async def _start(self, server: str) -> _Cell:
        """Raises FairtrialError if it does not start."""
        stop = asyncio.Event()
        started: asyncio.Future[ServerSession] = asyncio.get_running_loop().create_future()
        # In a task of its own: what a cell opens has to be closed by the task that opened it.
        task = asyncio.create_task(self._hold(server, started, stop))
        session = await started
        spec = self.arms[server].spec
        timeout_sec = spec.call_timeout_sec if spec else 0
        return _Cell(session=session, timeout_sec=timeout_sec, stop=stop, task=task)

    async def _hold(
        self, server: str, started: asyncio.Future[ServerSession], stop: asyncio.Event
    ) -> None:
        try:
            async with self._session(server) as session:
                started.set_result(session)
                await stop.wait()
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    @asynccontextmanager
    async def _session(self, server: str) -> AsyncIterator[ServerSession]:
        arm = self.arms[server]
        if arm.spec is None:
            raise FairtrialError(f"{server} is no MCP server")
        spec = ContainerSpec(
            image=self.image,
            limits=self.limits,
            deadline_sec=CELL_LIMIT_SEC,
            server_volume=arm.volume,
            private=arm.spec.private,
        )
        async with (
            open_container(self.engine, spec) as container,
            open_server(container, arm.spec, ServerLog(stderr=StderrFile(None))) as ready,
        ):
            yield ready.session

    async def _close(self, server: str) -> None:
        cell = self._open.pop(server)
        cell.stop.set()
        await asyncio.gather(cell.task, return_exceptions=True)

    async def close(self) -> None:
        for server in list(self._open):
            await self._close(server)
