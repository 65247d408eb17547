"""Which servers a query is asked with: its own alone, or others beside them.

Source: seed 003, section 2.2: in the multi-server categories servers are drawn at random, so that
their tools together come near what most models' tool calling takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runner.benchmarks.agentbench.queries import Query
from runner.benchmarks.agentbench.testbed.router import TOOLS_AT_MOST
from runner.records import digest_of


def drawn_servers(query: Query, sizes: Mapping[str, int], seed: int) -> tuple[str, ...]:
    """The query's servers and those that are drawn beside them, in an order that is drawn too.

    `sizes`: tools of every server that may be drawn, and of the query's own. Of the sets with as
    many tools as can be had, the one is taken whose servers were drawn first. By digests: every
    Python draws the same.
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
