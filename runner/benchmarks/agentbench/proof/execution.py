"""Reference trajectories executed on real servers in cells, and held against what was recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Protocol, TypeVar

from runner.benchmarks.agentbench.proof.trajectory import (
    NotGiven,
    Step,
    as_text,
    fill_feeds,
    given_by,
    steps_of,
)
from runner.benchmarks.agentbench.queries import DeadEnd, Query, ReferenceCall
from runner.benchmarks.agentbench.testbed.router import Router
from runner.sandbox.session import McpResult
from runner.support.errors import FairtrialError

MOST_TOGETHER = 8
"""Servers in a cell; a hundred megabytes each."""
SHOWN_CHARS = 200
C = TypeVar("C", ReferenceCall, DeadEnd)


class Caller(Protocol):
    """What executes one call."""

    async def call(self, server: str, tool: str, arguments: Mapping[str, Any]) -> McpResult:
        """Raises FairtrialError if the server, or its tool, cannot be had."""


# --- one trajectory -------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ExecutedCall:
    """One call, as it was made now."""

    arguments: dict[str, Any]
    """With everything fed."""
    result: McpResult


class CannotGoOn(Exception):  # noqa: N818 - it ends one trajectory, and is no fault of ours
    """A trajectory that cannot be executed: at which key of its query, and why."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(why)
        self.key = key


async def execute(steps: Sequence[Step], caller: Caller) -> list[ExecutedCall]:
    """Make the calls in order, each fed by what the earlier ones give now.

    Raises CannotGoOn at a name that nothing gives, or an error result of the trajectory: a dead end
    may well be one.
    """
    given: dict[str, str] = {}
    made = []
    for key, call in steps:
        try:
            arguments = fill_feeds(call.arguments, given)
            result = await caller.call(call.server, call.tool, arguments)
            if isinstance(call, ReferenceCall):
                if result.is_error:
                    raise CannotGoOn(key, f"{call.tool} failed: {result.text[:SHOWN_CHARS]}")
                given |= given_by(call, result.text)
        except (NotGiven, FairtrialError) as error:
            raise CannotGoOn(key, str(error)) from error
        made.append(ExecutedCall(arguments=arguments, result=result))
    return made


async def drift(query: Query, caller: Caller) -> list[tuple[str, str]]:
    """Key and message of every call and dead end that does not give what was recorded.

    Without the dead ends first: nothing that the trajectory needs may come of them.
    """
    found = await _drift_of(query.model_copy(update={"dead_ends": ()}), caller)
    if query.dead_ends and not found:
        found = await _drift_of(query, caller)
    return found


async def _drift_of(query: Query, caller: Caller) -> list[tuple[str, str]]:
    steps = steps_of(query)
    try:
        made = await execute(steps, caller)
    except CannotGoOn as stop:
        return [(stop.key, str(stop))]
    found = []
    for (key, call), now in zip(steps, made, strict=True):
        if now.result.text != call.result:
            message = difference(call.result, now.result.text)
            found.append((f"{key}.result", message))
    return found


async def unseen(query: Query, caller: Caller) -> list[tuple[str, str]]:
    """Key and message of every `after` that nothing comes of: the call, and those after it, answer
    the same without.

    To be asked before the whole trajectory is executed, and the first calls left out first: what
    has been written once stays for as long as the cell.
    """
    found = []
    for number in sorted({number for call in query.calls for number in call.after}):
        results = await _results_without(query.calls, number - 1, caller)
        same = {i for i, call in enumerate(query.calls) if results.get(i) == call.result}
        for index, call in enumerate(query.calls):
            if number in call.after and _and_after(query.calls, index) <= same:
                message = f"answers the same if call {number} is left out"
                found.append((f"calls[{index}].after", message))
    return found


def _and_after(calls: Sequence[ReferenceCall], index: int) -> set[int]:
    """A call, and those that see what it wrote: a copied range shows its cells when it is read."""
    found = {index}
    for later, call in enumerate(calls):
        if any(number - 1 in found for number in call.after):
            found.add(later)
    return found


async def _results_without(
    calls: Sequence[ReferenceCall], left_out: int, caller: Caller
) -> dict[int, str]:
    """What the other calls answer; those that fail, or cannot be fed, are missing."""
    given: dict[str, str] = {}
    results: dict[int, str] = {}
    for index, call in enumerate(calls):
        if index == left_out:
            continue
        try:
            arguments = fill_feeds(call.arguments, given)
            result = await caller.call(call.server, call.tool, arguments)
            if not result.is_error:
                results[index] = result.text
                given |= given_by(call, result.text)
        except (NotGiven, FairtrialError):
            continue
    return results


def difference(recorded: str, now: str) -> str:
    """Where the two texts part, and what stands there."""
    at = 0
    while at < min(len(recorded), len(now)) and recorded[at] == now[at]:
        at += 1
    was, came = (repr(text[max(0, at - 20) : at + 60]) for text in (recorded, now))
    return f"differs from character {at} on: recorded {was}, now {came}"


def day_shown(made: ExecutedCall, today: date) -> str:
    """Today's date, or another time zone's, if it is in the result and was not asked for.

    Twice within a second a tool that reads the clock may well answer the same.
    """
    asked = as_text(made.arguments)
    for days in (-1, 0, 1):
        day = today + timedelta(days=days)
        for written in (day.isoformat(), f"{day:%b} {day.day}, {day.year}", f"{day:%Y%m%d}"):
            if written in made.result.text and written not in asked:
                return written
    return ""


async def recorded(query: Query, caller: Caller) -> Query:
    """The query with the results of its calls and dead ends as they are now.

    Raises CannotGoOn as `execute`, and if two executions differ or show today's date: no answer
    would stay right.
    """
    steps = steps_of(query)
    first, second = await execute(steps, caller), await execute(steps, caller)
    results = {}
    for (key, call), made, again in zip(steps, first, second, strict=True):
        if made.result.text != again.result.text:
            told = difference(made.result.text, again.result.text)
            raise CannotGoOn(key, f"{call.tool} answers differently each time: {told}")
        if day := day_shown(made, date.today()):
            raise CannotGoOn(key, f"{call.tool} tells the day, {day}: tomorrow it will differ")
        results[key] = made.result.text
    calls = _with_results("calls", query.calls, results)
    dead_ends = _with_results("dead_ends", query.dead_ends, results)
    return query.model_copy(update={"calls": calls, "dead_ends": dead_ends})


def _with_results(key: str, calls: Sequence[C], results: Mapping[str, str]) -> tuple[C, ...]:
    return tuple(
        call.model_copy(update={"result": results[f"{key}[{index}]"]})
        for index, call in enumerate(calls)
    )


# --- cells ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class RouterCaller:
    """A `Caller` over the servers of one cell."""

    router: Router

    async def call(self, server: str, tool: str, arguments: Mapping[str, Any]) -> McpResult:
        """Raises FairtrialError for a server that is gone, or has no such tool: that is no answer
        of its, which a dead end might be."""
        try:
            name = self.router.named(server, tool)
        except KeyError as error:
            what = self.router.gone.get(server) or str(error.args[0])
            raise FairtrialError(f"{tool} failed: {what}") from error
        return await self.router.call(name, arguments)


Servers = frozenset[str]


def cells_for(wanted: Iterable[Servers]) -> list[Servers]:
    """Sets of servers, few and none too large, so that one of them holds each that is wanted.

    Each server is started once for each set that it is in.
    """
    cells: list[Servers] = []
    for servers in sorted(set(wanted), key=lambda servers: (-len(servers), sorted(servers))):
        fitting = [cell for cell in cells if len(cell | servers) <= MOST_TOGETHER]
        best = min(fitting, key=lambda cell: len(servers - cell), default=None)
        if best is None:
            cells.append(servers)
        else:
            cells[cells.index(best)] = best | servers
    return cells
