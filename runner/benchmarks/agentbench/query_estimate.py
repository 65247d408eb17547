"""What a run of queries would send, before anything is spent: `agentbench run --dry-run`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from runner.benchmarks.agentbench.queries import Query
from runner.benchmarks.agentbench.query_prompts import SYSTEMS, QueryMode
from runner.benchmarks.agentbench.query_run import draw, servers_to_know
from runner.benchmarks.agentbench.testbed.testbed import Testbed
from runner.benchmarks.agentbench.working import ACTIONS
from runner.records import Count, Price, Record, canonical_json
from runner.support.token_estimate import estimated_tokens

if TYPE_CHECKING:
    from runner.catalog.checkout import Checkout


class QueryModelEstimate(Record):
    model: str
    cells: Count
    input_tokens: Count
    """If each cell's first request were all, estimated from characters."""
    most_input_tokens: Count
    """If each took all its actions; results and replies, which are not known before, left out."""
    usd: float | None
    """Of the first requests; None without a price."""
    most_usd: float | None


class QueryEstimate(Record):
    """`agentbench run --dry-run`."""

    models: tuple[QueryModelEstimate, ...]
    not_listed: tuple[str, ...]
    """Servers whose tools are not known yet: they are in no figure."""

    def lines(self) -> Iterator[str]:
        for one in self.models:
            usd = "no price is known"
            if one.usd is not None and one.most_usd is not None:
                usd = f"${one.usd:.2f} to ${one.most_usd:.2f} and what is written"
            tokens = f"{one.input_tokens:,} to {one.most_input_tokens:,} input tokens"
            yield f"{one.model}: {one.cells} cells, {tokens}, {usd}"
        if self.not_listed:
            names = ", ".join(self.not_listed)
            yield f"not installed yet, and in no figure: {names}"


def estimate_queries(  # noqa: PLR0913 - what a run is made of, each by its name
    checkout: Checkout,
    queries: Sequence[Query],
    mode: QueryMode,
    seed: int,
    *,
    models: Sequence[str],
    trials: int,
    prices: Mapping[str, Price],
) -> QueryEstimate:
    """From what is listed already: nothing is installed, and no engine is needed."""
    names = servers_to_know(checkout, queries)
    found = Testbed(checkout).known(names)
    drawn = draw(queries, found, seed).drawn
    first = 0
    for query in queries:
        offered = [found[name] for name in drawn.get(query.id, ()) if name in found]
        tools = sum(len(canonical_json(one.model_dump())) for one in offered)
        first += estimated_tokens(len(SYSTEMS[mode]) + len(query.query) + tools)
    return QueryEstimate(
        models=tuple(
            _of_model(model, len(queries) * trials, first * trials, prices.get(model))
            for model in models
        ),
        not_listed=tuple(name for name in names if name not in found),
    )


def _of_model(model: str, cells: int, tokens: int, price: Price | None) -> QueryModelEstimate:
    most = tokens * (ACTIONS + 1)
    usd = most_usd = None
    if price is not None:
        usd = tokens * price.input / 1_000_000
        # From the second turn on, what was sent before is read from a cache.
        most_usd = usd + (most - tokens) * price.cache_read / 1_000_000
    return QueryModelEstimate(
        model=model,
        cells=cells,
        input_tokens=tokens,
        most_input_tokens=most,
        usd=usd,
        most_usd=most_usd,
    )
