"""The short form of an examination: a part of the anchors and pairs, for a judge that costs.

The whole asks about some 850 answers to one step, the short form about 290. The bounds are the
same. What is drawn follows from names and hand grades alone, never from what a judge says, so
nobody can draw again until a judge passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from runner.catalog.catalog import LoadedScenario
from runner.gate import perturbations
from runner.gate.calibration_data import Anchor
from runner.gate.pairs import CONTRAST, SHUFFLED, Pair, drawn, is_junk, pairs_of, shuffled_steps
from runner.records import digest_of

ANCHORS_OF_A_SCENARIO = 7
"""The fewest with which a reader whose verdicts lie .08 beside the grades (one standard deviation)
passes what is asked about agreement nine times in ten: 95 of 100 drawn readers, and 1 with six,
where length alone orders the thirteen that are no junk with rho .87."""
PAIRS_OF_A_KIND = 20
CONTRAST_PAIRS = 40
"""Over all scenarios and kinds. A judge that wins four of five passes in one case of thirteen."""


def short_anchors(anchors: Sequence[Anchor]) -> list[Anchor]:
    """Of each scenario's, from the worst to the best by hand, one of each sixth."""
    chosen: list[Anchor] = []
    for _, own in groupby(anchors, key=lambda anchor: anchor.scenario):
        ranked = sorted(own, key=lambda anchor: (anchor.gold, anchor.name))
        chosen += _one_of_each_part(ranked, ANCHORS_OF_A_SCENARIO)
    return sorted(chosen, key=lambda anchor: anchor.name)


def _one_of_each_part(ranked: Sequence[Anchor], parts: int) -> Iterator[Anchor]:
    for number in range(parts):
        start, end = (place * len(ranked) // parts for place in (number, number + 1))
        if start < end:
            yield min(ranked[start:end], key=_lot)


def _lot(anchor: Anchor) -> str:
    return digest_of([perturbations.SEED, "short form", anchor.name])


def short_pairs(anchors: Sequence[Anchor], scenarios: Sequence[LoadedScenario]) -> list[Pair]:
    """`anchors`: those of the short form. Raises CatalogError as `pairs_of` does."""
    every = pairs_of(anchors, scenarios, most=None)
    by_hand = [pair for pair in every if pair.kind.startswith(CONTRAST)]
    # Those that are not asked are named beside the requirement, and cost nothing.
    chosen = [pair for pair in by_hand if not pair.asked]
    chosen += drawn((pair for pair in by_hand if pair.asked), CONTRAST_PAIRS)
    # Of each anchor all steps are asked about shuffled in any case: as pairs they cost nothing.
    asked = {
        step.key for anchor in anchors if not is_junk(anchor) for step in shuffled_steps(anchor)
    }
    for kind in dict.fromkeys(pair.kind for pair in every if pair not in by_hand):
        own = [pair for pair in every if pair.kind == kind]
        if kind == SHUFFLED:
            chosen += [pair for pair in own if pair.other.key in asked]
        else:
            chosen += drawn(own, PAIRS_OF_A_KIND)
    return chosen
