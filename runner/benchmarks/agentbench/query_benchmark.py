"""runs.benchmark.Benchmark for queries: one query, one model, one trial is a cell.

There is one arm, the testbed: what differs between cells is what the query needs and what is drawn
beside it. A query has no scorecard; its answer passes or fails (MCP-Eval).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from runner.agents.models import kind_name, open_model
from runner.agents.models.model_settings import ModelSettings
from runner.benchmarks.agentbench.offline_tool_caller import Guesser
from runner.benchmarks.agentbench.queries import Query
from runner.benchmarks.agentbench.query_prompts import SYSTEMS, QueryMode
from runner.benchmarks.agentbench.testbed.router import (
    TOOLS_AT_MOST,
    InstalledServer,
    Listing,
    Router,
    routed_tools,
)
from runner.benchmarks.agentbench.testbed.testbed import CellSpec, open_cell
from runner.benchmarks.agentbench.working import (
    ACTIONS,
    BUDGET,
    QueryConversation,
    RoutedTools,
    asked_as,
    instructions_of,
    request_of,
)
from runner.benchmarks.without_scorecard import WithoutScorecard, fingerprint, spending_input
from runner.protocols import Model
from runner.records import Cell, Outcome, Record, digest_of
from runner.records.run_store import write_record
from runner.runs.attempt import Attempt
from runner.runs.run_inputs import PreparedRun
from runner.sandbox.container import confinement
from runner.support.errors import SandboxError

BENCHMARK = "agentbench"
TESTBED_ARM = "testbed"
HARNESS_VERSION = 1
"""Of how a query is put to a model. Changed, it asks for new runs."""
SERVERS = "servers.json"
"""In an attempt's folder: what was offered, and which server each name stands for."""


@dataclass(frozen=True, kw_only=True)
class PreparedQueries:
    """What the cells of a run stand on."""

    queries: Mapping[str, Query]
    """By id."""
    drawn: Mapping[str, tuple[str, ...]]
    """Query -> all servers of its cells, in the order in which they are offered."""
    servers: Mapping[str, InstalledServer]
    """Every one that is drawn, with its listing."""
    mode: QueryMode
    image: str
    """Base image id: the workspace is empty."""
    seed: int
    """That servers were drawn by."""
    left_out: tuple[str, ...] = ()
    """Queries that cannot be asked, each with why."""

    def of(self, query: str) -> list[InstalledServer]:
        """The servers of its cells."""
        return [self.servers[name] for name in self.drawn[query]]

    def listings(self, query: str) -> dict[str, Listing]:
        return {one.name: one.listing for one in self.of(query) if one.listing is not None}

    def shown_digest(self, query: str) -> str:
        """Of all that a model is shown: prompts, instructions and tools."""
        listings = self.listings(query)
        tools = [tool.spec for name in listings for tool in routed_tools(name, listings[name])]
        shown = [(tool.name, tool.description, tool.input_schema) for tool in tools]
        asked = self.queries[query].query
        return digest_of([SYSTEMS[self.mode], asked, instructions_of(listings), shown])


class OfferedTool(Record):
    """One name that the model was given."""

    name: str
    server: str
    tool: str
    """As the server calls it."""


class ServersOfCell(Record):
    """servers.json"""

    servers: dict[str, str]
    """Name -> version, in the order in which they were offered."""
    own: tuple[str, ...]
    """Those that the query's reference needs."""
    seed: int
    start_sec: float
    """Until the last of them was up."""
    gone: dict[str, str]
    """Server -> why, at the cell's end."""
    tools: tuple[OfferedTool, ...]


def open_for_queries(name: str, settings: ModelSettings) -> Model:
    """As models.open_model; `offline`, which reads repositories, chooses tools by words here."""
    if kind_name(name) == "offline":
        return Guesser()
    return open_model(name, settings)


class Agentbench(WithoutScorecard):
    """runs.benchmark.Benchmark."""

    noun = "query"
    verb = BENCHMARK

    def cells(self, prepared: PreparedRun, models: Sequence[str], trials: int) -> tuple[Cell, ...]:
        """Every cell, models innermost."""
        queries = _queries_of(prepared)
        identities = {name: open_for_queries(name, prepared.models).identity for name in models}
        cells = []
        for trial, name, model in product(range(1, trials + 1), queries.drawn, models):
            inputs = {**_inputs(prepared, name), "model": identities[model]}
            inputs |= spending_input(prepared, model)
            cells.append(
                Cell(scenario=name, server=TESTBED_ARM, model=model, trial=trial, inputs=inputs)
            )
        return tuple(cells)

    def left_out(self, prepared: PreparedRun) -> tuple[str, ...]:
        """runs.benchmark.Benchmark."""
        return _queries_of(prepared).left_out

    async def run(self, attempt: Attempt) -> Outcome:
        """A container, the servers in it, and the agent's conversation."""
        if attempt.engine is None:
            raise SandboxError("a query needs an engine, and there is none")
        queries = _queries_of(attempt.prepared)
        model = open_for_queries(attempt.cell.model, attempt.prepared.models)
        shown = queries.shown_digest(attempt.cell.scenario)
        attempt.measured.task = fingerprint(attempt.cell, model, HARNESS_VERSION, shown)
        started = time.monotonic()
        attempt.log("the servers start")
        logs = attempt.folder / "servers"
        try:
            async with open_cell(
                attempt.engine, _cell_spec(attempt, queries), note=attempt.note, logs=logs
            ) as router:
                attempt.measured.initialize_sec = time.monotonic() - started
                try:
                    return await _converse(attempt, model, router)
                finally:
                    await _note_what_ends_with(attempt, router)
        finally:
            model.write_artifacts(attempt.folder)
            await model.close()


def _queries_of(prepared: PreparedRun) -> PreparedQueries:
    assert isinstance(prepared.subject, PreparedQueries)  # noqa: S101 - who names this benchmark does
    return prepared.subject


# --- one cell -----------------------------------------------------------------------------------


def _cell_spec(attempt: Attempt, queries: PreparedQueries) -> CellSpec:
    query = queries.queries[attempt.cell.scenario]
    drawn = set(queries.drawn[query.id])
    return CellSpec(
        image=queries.image,
        limits=attempt.prepared.limits,
        servers=queries.of(query.id),
        required=query.servers,
        # Twenty servers take half a minute to start, and most of them are never called.
        asleep=drawn - set(query.servers),
        labels={"fairtrial.run": attempt.run_label, "fairtrial.cell": attempt.cell.id},
        tools_at_most=TOOLS_AT_MOST,
    )


async def _converse(attempt: Attempt, model: Model, router: Router) -> Outcome:
    attempt.log("the agent works")
    queries = _queries_of(attempt.prepared)
    conversation = QueryConversation(
        model=asked_as(queries.mode, model),
        scenario=request_of(queries.queries[attempt.cell.scenario]),
        toolbox=RoutedTools(router, attempt.prepared.limits.result_chars),
        record=attempt.writer.write,
        totals=attempt.measured.totals,
        instructions=instructions_of(router.listings),
        system=SYSTEMS[queries.mode],
    )
    return await conversation.run()


async def _note_what_ends_with(attempt: Attempt, router: Router) -> None:
    """What is gone once the container is."""
    queries = _queries_of(attempt.prepared)
    query = queries.queries[attempt.cell.scenario]
    about = ServersOfCell(
        servers={one.name: one.spec.version for one in queries.of(query.id)},
        own=query.servers,
        seed=queries.seed,
        start_sec=attempt.measured.initialize_sec,
        gone=router.gone,
        tools=tuple(
            OfferedTool(name=tool.name, server=tool.server, tool=tool.own_name)
            for tool in router.tools
        ),
    )
    write_record(attempt.folder / SERVERS, about)
    try:
        attempt.measured.peak_memory_mb = await router.peak_memory_mb()
    except SandboxError as error:
        attempt.note(f"peak memory is unknown: {error.what}")


# --- what could change it -----------------------------------------------------------------------


def _inputs(prepared: PreparedRun, name: str) -> dict[str, str]:
    """Everything that could change what happens in the cell, by name; no reference is in it."""
    queries = _queries_of(prepared)
    return {
        "harness": str(HARNESS_VERSION),
        "mode": queries.mode,
        "category": queries.queries[name].category,
        "servers": " ".join(queries.drawn[name]),
        "seed": str(queries.seed),
        "shown": queries.shown_digest(name),
        "installed": digest_of([one.digest for one in queries.of(name)]),
        "base_image": queries.image,
        "limits": digest_of([prepared.limits.model_dump(), BUDGET.model_dump(), ACTIONS]),
        "confinement": digest_of(confinement(prepared.limits)),
    }
