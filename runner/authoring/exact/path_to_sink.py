"""How does one get from an entry point to a sink?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runner.authoring.drafting.tree import FunctionWithCalls, Spot
from runner.authoring.exact.kind import (
    Ground,
    Kind,
    anchor,
    beside,
    near_misses,
    place_of,
    question,
)
from runner.records import MustCite
from runner.records.exact import ExactQuestion

_FEWEST, _MOST = 3, 6
"""Hops."""

Hop = tuple[FunctionWithCalls, Spot]
"""A function, and the one call of it."""


def _ask(ground: Ground, name: str) -> ExactQuestion | None:
    hops = list(_upwards(ground, name))
    files = {spot.path for _, spot in hops}
    if len(hops) < _FEWEST or len(files) < _FEWEST - 1:
        return None
    sink, entry = hops[0][0], ground.symbol(hops[-1][1].inside)
    if entry is None:
        return None
    return question(
        "path_to_sink",
        name,
        f"How does a call of `{entry.shown}` get to `{sink.shown}`? Every direct call on the way"
        " counts, from the one in the body of the first to the one of the last; outside of the"
        " tests there is at most one way. Cite where the calls are, not the definitions.",
        places=[place_of(spot, symbol.name) for symbol, spot in hops],
        optional=[*_bare(anchor(entry)), *_besides(ground, hops)],
        wrong=near_misses(ground, name),
    )


def _bare(place: MustCite) -> Iterator[MustCite]:
    yield place.model_copy(update={"symbol": None, "end": None})


def _besides(ground: Ground, hops: Sequence[Hop]) -> Iterator[MustCite]:
    for symbol, _ in hops:
        yield from _bare(anchor(symbol))
        yield from (it for it in beside(ground, symbol, symbol.own_calls) if it.end is None)


def _upwards(ground: Ground, name: str) -> Iterator[Hop]:
    """From the sink: each function, and its one call, as long as it has but one."""
    seen = {name}
    for _ in range(_MOST):
        symbol = ground.symbol(name)
        if symbol is None or len(symbol.own_calls) != 1:
            return
        (spot,) = symbol.own_calls
        above = ground.symbol(spot.inside)
        # Its only caller has to be the one function of that name, or the way may fork.
        if above is None or above.path != spot.path or above.definition.start != spot.start:
            return
        if above.name in seen:
            return
        yield symbol, spot
        name = above.name
        seen.add(name)


def _alone(asked: ExactQuestion) -> Iterator[str]:
    """Where it begins, and each call: a path within another would be asked about twice."""
    yield asked.prompt.split("`")[1]
    yield from (f"{it.path}:{it.line}" for it in asked.key.places)


KIND = Kind(kind="path_to_sink", ask=_ask, alone=_alone)
