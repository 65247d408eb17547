"""What a run of queries would send, before anything is spent: `agentbench run --dry-run`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from runner.agents.spending import Spending
from runner.benchmarks.agentbench.queries import Query
from runner.benchmarks.agentbench.query_prompts import SYSTEMS, QueryMode
from runner.benchmarks.agentbench.query_run import draw, servers_to_know
from runner.benchmarks.agentbench.testbed.testbed import Testbed
from runner.benchmarks.agentbench.working import ACTIONS
from runner.benchmarks.estimate import Amounts, Estimate, ModelEstimate
from runner.records import Price, canonical_json
from runner.support.token_estimate import estimated_tokens

if TYPE_CHECKING:
    from runner.catalog.checkout import Checkout

NOTE = "tools' results and what is written, which are not known before, come on top"


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
    cells, notes = len(queries) * trials, [NOTE]
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
