"""Queries proved: each by its file, and by its trajectory executed again; and drafts recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.benchmarks.agentbench.proof.execution import (
    Caller,
    CannotGoOn,
    RouterCaller,
    cells_for,
    drift,
    recorded,
    unseen,
)
from runner.benchmarks.agentbench.proof.query_rules import query_problems, unasked
from runner.benchmarks.agentbench.proof.suite import LoadedQuery, read_queries, where_of
from runner.benchmarks.agentbench.proof.yaml_records import write_yaml
from runner.benchmarks.agentbench.queries import Queries, Query
from runner.benchmarks.agentbench.testbed.testbed import CellSpec, Testbed, open_cell
from runner.catalog.catalog import pick
from runner.catalog.checkout import Checkout
from runner.support.errors import FairtrialError, Problem
from runner.support.interrupts import run_until_done
from runner.support.text import counted


@dataclass(frozen=True, kw_only=True)
class QueryProof:
    """What was found of one query."""

    id: str
    category: str
    calls: int
    executed: bool
    """False if its file alone was looked at."""
    wall_sec: float
    """Of its calls, and of its servers' starts."""
    problems: tuple[Problem, ...]
    unasked: tuple[str, ...] = ()
    """Figures of its reference answer that no value has: no problem, but for the author to see."""

    def as_text(self) -> str:
        verdict = "FAIL" if self.problems else "ok  "
        lines = [f"{verdict} {self.id}"]
        if self.executed:
            lines[0] += f" ({counted(self.calls, 'call')}, {self.wall_sec:.1f} s)"
        for problem in self.problems:
            lines.append(f"     {problem}")
        if self.unasked:
            figures = ", ".join(self.unasked)
            lines.append(f"     no value asks for {figures} of the reference answer")
        return "\n".join(lines)

    def as_json(self) -> dict[str, object]:
        found = [{"where": item.where, "message": item.message} for item in self.problems]
        return {
            "query": self.id,
            "category": self.category,
            "calls": self.calls,
            "executed": self.executed,
            "wall_sec": round(self.wall_sec, 3),
            "problems": found,
            "unasked": list(self.unasked),
        }


def summary(proofs: Sequence[QueryProof], wall_sec: float) -> str:
    """`120 of 120 queries prove themselves; 214 calls executed in 143 s`."""
    sound = sum(not proof.problems for proof in proofs)
    calls = sum(proof.calls for proof in proofs if proof.executed)
    unexecuted = sum(not proof.executed for proof in proofs)
    text = f"{sound} of {len(proofs)} queries prove themselves"
    if calls:
        text += f"; {counted(calls, 'call')} executed in {wall_sec:.0f} s"
    if unexecuted:
        noun = "trajectory was" if unexecuted == 1 else "trajectories were"
        text += f"; {unexecuted} {noun} not executed"
    return text


# --- proving --------------------------------------------------------------------------------


def prove_files(queries: Sequence[LoadedQuery]) -> list[QueryProof]:
    """By their files alone: needs no engine, and executes nothing."""
    return [_proof(loaded, query_problems(loaded.query, loaded.where)) for loaded in queries]


async def prove_query(loaded: LoadedQuery, caller: Caller) -> QueryProof:
    """By its file, and by executing its trajectory."""
    started = time.monotonic()
    found = query_problems(loaded.query, loaded.where)
    for key, message in [*await unseen(loaded.query, caller), *await drift(loaded.query, caller)]:
        found.append(Problem(where=f"{loaded.where}.{key}", message=message))
    return _proof(loaded, found, wall_sec=time.monotonic() - started)


def _proof(
    loaded: LoadedQuery, found: Sequence[Problem], wall_sec: float | None = None
) -> QueryProof:
    query = loaded.query
    return QueryProof(
        id=query.id,
        category=query.category,
        calls=len(query.calls),
        executed=wall_sec is not None,
        wall_sec=wall_sec or 0.0,
        problems=tuple(found),
        unasked=unasked(query),
    )


def prove_executed(
    checkout: Checkout, queries: Sequence[LoadedQuery], told: Callable[[QueryProof], None]
) -> None:
    """By their files, and by executing each trajectory on the testbed's servers.

    `told` gets each proof as it is found: those of one cell after one another. Raises EngineError
    if no engine answers.
    """
    by_query = {loaded.query.id: loaded for loaded in queries}

    async def prove_one(query: Query, caller: Caller) -> None:
        told(await prove_query(by_query[query.id], caller))

    in_cells(checkout, [loaded.query for loaded in queries], prove_one)


QueryWork = Callable[[Query, Caller], Coroutine[object, object, None]]


def in_cells(checkout: Checkout, queries: Sequence[Query], work: QueryWork) -> None:
    """Do it for each query, beside a cell that holds its servers; a server is started seldom."""
    wanted = {query.id: frozenset(call.server for call in query.calls) for query in queries}
    names = sorted(frozenset().union(*wanted.values()))
    for name in names:
        if name not in checkout.catalog.servers:
            pick(checkout.catalog.testbed, name, "server of the testbed")
    testbed = Testbed(checkout)
    done: set[str] = set()
    for servers in cells_for(wanted.values()):
        now = [query for query in queries if wanted[query.id] <= servers and query.id not in done]
        done.update(query.id for query in now)
        checkout.log(f"starting {', '.join(sorted(servers))}")
        run_until_done(_in_cell(checkout, testbed.cell(sorted(servers)), now, work))


async def _in_cell(
    checkout: Checkout, spec: CellSpec, queries: Sequence[Query], work: QueryWork
) -> None:
    async with open_cell(checkout.engine, spec) as router:
        for query in queries:
            await work(query, RouterCaller(router))


# --- recording ------------------------------------------------------------------------------


Recorded = Callable[[str, Sequence[Problem]], None]
"""Takes a query's id and its problems, those of its file included: what to mend before a suite
takes it."""


def record_file(checkout: Checkout, file: Path, ids: Collection[str], told: Recorded) -> None:
    """Fill the results of a file's queries in, each trajectory executed twice.

    `ids`: which; all that lack a result if none is named. Raises FairtrialError for an unknown one.
    """
    queries = read_queries(file).queries
    if unknown := sorted(set(ids) - {query.id for query in queries}):
        raise FairtrialError(f"no query is called {', '.join(unknown)}", where=str(file))

    async def record_one(query: Query, caller: Caller) -> None:
        told(query.id, await record(file, query.id, caller))

    in_cells(checkout, [query for query in queries if _is_wanted(query, ids)], record_one)


async def record(file: Path, name: str, caller: Caller) -> list[Problem]:
    """Fill the results of one of the file's queries in, and say what is wrong with it now."""
    queries = list(read_queries(file).queries)
    index = [query.id for query in queries].index(name)
    where = f"{where_of(file)} queries[{index}]"
    try:
        queries[index] = await recorded(queries[index], caller)
    except CannotGoOn as stop:
        return [Problem(where=f"{where}.{stop.key}", message=str(stop))]
    # Each at once: what is recorded must outlive whatever ends the next one.
    write_yaml(file, Queries(queries=tuple(queries)))
    return query_problems(queries[index], where)


def _is_wanted(query: Query, ids: Collection[str]) -> bool:
    if ids:
        return query.id in ids
    return any(not call.result for call in query.calls)
