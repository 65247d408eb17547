"""Which servers stand beside a query's own: near 128 tools, never above, and drawn again alike."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from runner.benchmarks.agentbench.query_run import drawn_servers
from runner.benchmarks.agentbench.testbed.router import TOOLS_AT_MOST
from tests.benchmarks.agentbench.material import query_of

SINGLE = query_of("single-server-single-call")
MULTI = query_of("multi-server-parallel-call")
OWN = dict.fromkeys(MULTI.servers, 3)
SIZES = st.dictionaries(
    st.sampled_from([f"s{number}" for number in range(12)]), st.integers(1, 90), max_size=8
)


def total(names: tuple[str, ...], sizes: dict[str, int]) -> int:
    return sum(sizes[name] for name in names)


@given(SIZES, st.integers(0, 99))
def test_no_other_draw_comes_nearer_to_the_limit(sizes: dict[str, int], seed: int) -> None:
    known = {**sizes, **OWN}
    drawn = drawn_servers(MULTI, known, seed)

    subsets = [
        total(names, sizes) + total(MULTI.servers, OWN)
        for count in range(len(sizes) + 1)
        for names in combinations(sizes, count)
    ]
    assert total(drawn, known) == max(size for size in subsets if size <= TOOLS_AT_MOST)
    assert set(MULTI.servers) <= set(drawn)
    assert len(set(drawn)) == len(drawn)


def test_a_query_of_one_server_is_asked_with_that_alone() -> None:
    (own,) = SINGLE.servers
    assert drawn_servers(SINGLE, {own: 3, "other": 4}, 1) == (own,)


def test_the_same_seed_draws_alike_and_another_seed_or_query_otherwise() -> None:
    sizes = {**OWN, **{f"s{number}": 11 for number in range(30)}}
    other = MULTI.model_copy(update={"id": "another"})
    drawn = drawn_servers(MULTI, sizes, 1)
    assert drawn == drawn_servers(MULTI, dict(reversed(sizes.items())), 1)
    assert drawn != drawn_servers(MULTI, sizes, 2)
    assert set(drawn) != set(drawn_servers(other, sizes, 1))


def test_over_many_seeds_a_querys_own_servers_stand_anywhere() -> None:
    sizes = {**OWN, **{f"s{number}": 11 for number in range(30)}}
    places = {drawn_servers(MULTI, sizes, seed).index(MULTI.servers[0]) for seed in range(60)}
    # Were they always first, a model that calls the first tools would choose well.
    assert len(places) > 8
