"""A run of queries: what it is made of, and what it stands on.

runs/<run>/ is as every run's (runner/records/run_store.py), and beside its plan lies
agentbench.json: the queries themselves with their references, and which servers were drawn for
each. A run can so be judged and reported where the suite has gone on since.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from runner.agents.models.model_settings import ModelSettings
from runner.agents.spending import Spending
from runner.benchmarks.agentbench.queries import CATEGORIES, Query
from runner.benchmarks.agentbench.query_benchmark import BENCHMARK, HARNESS_VERSION, PreparedQueries
from runner.benchmarks.agentbench.query_prompts import SYSTEMS, QueryMode
from runner.benchmarks.agentbench.testbed.router import TOOLS_AT_MOST, Listing
from runner.benchmarks.agentbench.testbed.testbed import Testbed, cell_limits
from runner.benchmarks.agentbench.working import ACTIONS
from runner.benchmarks.estimate import Amounts, Estimate, ModelEstimate
from runner.benchmarks.without_scorecard import setup_in
from runner.catalog.checkout import Checkout
from runner.records import Count, Price, Record, canonical_json, digest_of
from runner.records.run_store import LoadedRun, RunStore, write_record
from runner.runs.run_inputs import PreparedRun
from runner.sandbox.engine import engine_facts
from runner.support.token_estimate import estimated_tokens

SETUP = "agentbench.json"


class QueryRunSetup(Record):
    """runs/<run>/agentbench.json: what the run asks, and with which servers."""

    schema_version: int = 1
    mode: QueryMode
    seed: Count
    """That servers were drawn by."""
    queries: tuple[Query, ...]
    drawn: dict[str, tuple[str, ...]]
    """Query -> the servers of its cells; of one that is not here, nothing could be asked."""
    tools: dict[str, Count]
    """Server -> tools that it offers."""


# --- what is asked ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Draw:
    """The servers of each query, as far as they are known."""

    drawn: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...]
    """Queries that cannot be asked, each with why."""


def draw(
    queries: Iterable[Query],
    found: Mapping[str, Listing],
    seed: int,
    silent: Mapping[str, str] | None = None,
) -> Draw:
    """`silent`: servers that do not start -> why."""
    sizes = {name: len(listing.tools) for name, listing in found.items()}
    drawn: dict[str, tuple[str, ...]] = {}
    left_out = []
    for query in queries:
        if reason := _why_not(query, sizes, silent or {}):
            left_out.append(f"{query.id}: {reason}")
        else:
            drawn[query.id] = drawn_servers(query, sizes, seed)
    return Draw(drawn=drawn, left_out=tuple(left_out))


def _why_not(query: Query, sizes: Mapping[str, int], silent: Mapping[str, str]) -> str:
    for name in query.servers:
        if name not in sizes:
            return f"{name} does not start: {silent.get(name, 'nobody has tried')}"
    count = sum(sizes[name] for name in query.servers)
    if count > TOOLS_AT_MOST:
        return f"its servers have {count} tools, and {TOOLS_AT_MOST} are the most"
    return ""


def counted(queries: Sequence[Query]) -> Iterator[str]:
    """How many there are of each category, for `--list`."""
    found = Counter(query.category for query in queries)
    width = max(map(len, CATEGORIES))
    for category in CATEGORIES:
        yield f"{category.ljust(width)}  {found[category]}"
    servers = {server for query in queries for server in query.servers}
    yield f"{len(queries)} queries on {len(servers)} servers"


def drawn_servers(query: Query, sizes: Mapping[str, int], seed: int) -> tuple[str, ...]:
    """The query's servers and those that are drawn beside them, in an order that is drawn too.

    `sizes`: tools of every server that may be drawn, and of the query's own. Of the sets with as
    many tools as can be had, the one is taken whose servers were drawn first. By digests: every
    Python draws the same.

    Source: seed 003, section 2.2: in the multi-server categories servers are drawn at random, so
    that their tools together come near what most models' tool calling takes.
    """
    own = set(query.servers)
    chosen = list(query.servers)
    if query.scope == "multi-server":
        others = _shuffled([name for name in sizes if name not in own], query, seed)
        room = TOOLS_AT_MOST - sum(sizes[name] for name in own)
        chosen += _filling(others, sizes, room)
    # Drawn as well: were a query's own the first, their place would give them away.
    return tuple(_shuffled(chosen, query, seed))


def _shuffled(names: Sequence[str], query: Query, seed: int) -> list[str]:
    return sorted(names, key=lambda name: digest_of([seed, query.id, name]))


def _filling(names: Sequence[str], sizes: Mapping[str, int], room: int) -> list[str]:
    """The first of these servers with which the room is filled as far as it can be."""
    # What the servers from each place on can sum to, from the last place to the first.
    sums = [{0}]
    for name in reversed(names):
        more = {total + sizes[name] for total in sums[-1]}
        sums.append(sums[-1] | {total for total in more if total <= room})
    left = max(sums.pop())
    chosen = []
    for name in names:
        after = sums.pop()
        if left - sizes[name] in after:
            chosen.append(name)
            left -= sizes[name]
    return chosen


def endings(run: LoadedRun) -> Iterator[str]:
    """How cells ended, by category, and each that is to be run again. Whether answers pass is a
    judge's to say."""
    measured = sum(item.measured for item in run.cells)
    yield f"{run.plan.run}: {measured} of {len(run.cells)} cells are measured"
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    broken = []
    for item in run.cells:
        kind, reason = "not run", ""
        if item.result is not None:
            kind, reason = item.result.outcome.kind, item.result.outcome.reason
        kinds[item.cell.inputs["category"]][kind] += 1
        if not item.measured:
            broken.append(f"{item.cell.scenario} × {item.cell.model}: {kind} {reason}".rstrip())
    for category, found in kinds.items():
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(found.items()))
        yield f"  {category}: {counts}"
    yield from broken


def default_name(
    queries: Sequence[Query], mode: QueryMode, models: Sequence[str], trials: int
) -> str:
    """The same command gives the same name, so that saying it again resumes a killed run."""
    asked = [[query.id for query in queries], mode, sorted(models), trials]
    return f"agentbench-{digest_of(asked)[:8]}"


def servers_to_know(checkout: Checkout, queries: Iterable[Query]) -> list[str]:
    """Every server that the queries need, or that may be drawn for one of them."""
    names = [name for query in queries for name in query.servers]
    if any(query.scope == "multi-server" for query in queries):
        names += checkout.catalog.testbed.sound()
    return sorted(set(names))


# --- what it would send -------------------------------------------------------------------------

OF_ESTIMATE = "tools' results and what is written, which are not known before, come on top"


def estimate_queries(  # noqa: PLR0913 - what a run is made of, each by its name
    checkout: Checkout,
    queries: Sequence[Query],
    mode: QueryMode,
    seed: int,
    *,
    models: Sequence[str],
    trials: int,
    spending: Spending,
) -> Estimate:
    """From what is listed already: nothing is installed, and no engine is needed."""
    names = servers_to_know(checkout, queries)
    found = Testbed(checkout).known(names)
    drawn = draw(queries, found, seed).drawn
    first = 0
    for query in queries:
        offered = [found[name] for name in drawn.get(query.id, ()) if name in found]
        tools = sum(len(canonical_json(one.model_dump())) for one in offered)
        first += estimated_tokens(len(SYSTEMS[mode]) + len(query.query) + tools)
    cells, notes = len(queries) * trials, [OF_ESTIMATE]
    if not_listed := [name for name in names if name not in found]:
        notes.append(f"not installed yet, and in no figure: {', '.join(not_listed)}")
    return Estimate(
        models=tuple(
            _of_model(model, cells, first * trials, spending.priced.get(model)) for model in models
        ),
        prices_date=spending.prices_date,
        notes=tuple(notes),
    )


def _of_model(model: str, cells: int, tokens: int, price: Price | None) -> ModelEstimate:
    """At most: if each cell took all its actions."""
    most = tokens * (ACTIONS + 1)
    usd = most_usd = None
    if price is not None:
        usd = tokens * price.input / 1_000_000
        # From the second turn on, what was sent before is read from a cache.
        most_usd = usd + (most - tokens) * price.cache_read / 1_000_000
    return ModelEstimate(
        model=model,
        cells=cells,
        at_least=Amounts(tokens=tokens, usd=usd),
        at_most=Amounts(tokens=most, usd=most_usd),
    )


# --- made ready ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PreparedQueryRun:
    """All that a run's cells stand on, and what it writes beside its plan."""

    prepared: PreparedRun
    setup: QueryRunSetup


def make_ready(
    checkout: Checkout, queries: Sequence[Query], mode: QueryMode, seed: int
) -> PreparedQueryRun:
    """Servers installed, listed and drawn. Raises FairtrialError if one cannot be installed."""
    testbed = Testbed(checkout)
    found = testbed.listings(servers_to_know(checkout, queries))
    for name, why in found.silent.items():
        checkout.log(f"{name} does not start, and is drawn for no query: {why}")
    chosen = draw(queries, found.of, seed, found.silent)
    needed = sorted({name for names in chosen.drawn.values() for name in names})
    prepared = PreparedQueries(
        queries={query.id: query for query in queries},
        drawn=chosen.drawn,
        servers={
            # With its listing: one that offers something else by then is not what was planned.
            name: replace(one, listing=found.of[name])
            for name, one in testbed.install_all(needed).items()
        },
        mode=mode,
        image=checkout.base_image,
        seed=seed,
        left_out=chosen.left_out,
    )
    setup = QueryRunSetup(
        mode=mode,
        seed=seed,
        queries=tuple(queries),
        drawn=dict(chosen.drawn),
        tools={name: len(listing.tools) for name, listing in found.of.items()},
    )
    return PreparedQueryRun(prepared=_prepared_run(checkout, prepared), setup=setup)


def _prepared_run(checkout: Checkout, queries: PreparedQueries) -> PreparedRun:
    facts = engine_facts(checkout.engine)
    return PreparedRun(
        engine_url=checkout.engine_url,
        engine_version=facts.version,
        kernel=facts.kernel,
        machine=facts.machine,
        harness=str(HARNESS_VERSION),
        agent=AGENT_OF[queries.mode],
        benchmark=BENCHMARK,
        limits=cell_limits(checkout.limits),
        arms={},
        scenarios={},
        spending=Spending(),
        models=ModelSettings(),
        subject=queries,
    )


AGENT_OF: dict[QueryMode, str] = {"tc": "tool_calling", "react": "react"}
"""Names in AGENTS."""


def write_setup(store: RunStore, setup: QueryRunSetup) -> None:
    write_record(store.folder / SETUP, setup)


def read_setup(store: RunStore) -> QueryRunSetup:
    """Raises FairtrialError if the run is none of queries."""
    return setup_in(store, BENCHMARK, SETUP, "queries", QueryRunSetup)
