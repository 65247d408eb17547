"""The alt-test: may a judge stand in for a person? Calderon, Reichart and Dror (2025), ACL.

"The Alternative Annotator Test for LLM-as-a-Judge", arXiv 2501.10970. Each person is left out once.
On every item the judge and that person are held against the others, by minus the root of the mean
squared difference. W is 1 where the one is at least as near as the other: for the judge (f) and for
the person (h), so that both win a tie.

    rho_j = mean of W_f           d_i = W_h - W_f
    H0: mean of d >= epsilon      one-sided t-test; Benjamini and Yekutieli over the people, q = .05
    omega = share of the people for whom H0 falls; the judge passes with omega >= .5
    advantage = mean of rho_j
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

EPSILON = 0.2
"""What a person's cost may be worth in won items: the paper's figure for experts."""
Q = 0.05
PASSES = 0.5
FEWEST_PEOPLE, FEWEST_ITEMS = 3, 30
"""With fewer the paper draws no conclusion."""


@dataclass(frozen=True, kw_only=True)
class AlternativeAnnotator:
    omega: float
    """Share of the people in whose place the judge may stand."""
    advantage: float
    """How often the judge is at least as near to the others as the person left out."""
    people: int
    items: int
    epsilon: float

    @property
    def enough(self) -> bool:
        return self.people >= FEWEST_PEOPLE and self.items >= FEWEST_ITEMS

    @property
    def passes(self) -> bool:
        return self.enough and self.omega >= PASSES

    def text(self) -> str:
        end = "it may stand in for a person" if self.passes else "it may not stand in for a person"
        if not self.enough:
            end = f"no conclusion from fewer than {FEWEST_PEOPLE} people and {FEWEST_ITEMS} items"
        return (
            f"omega {self.omega:.2f} of {self.people} people, advantage probability "
            f"{self.advantage:.2f}, epsilon {self.epsilon:g}: {end}"
        )


def alternative_annotator(
    judged: Sequence[float], people: Sequence[Sequence[float]], epsilon: float = EPSILON
) -> AlternativeAnnotator:
    """`judged`: of each item; `people`: of each person, the same items. Two people at least."""
    ps, advantages = [], []
    for number, left_out in enumerate(people):
        others = [ratings for place, ratings in enumerate(people) if place != number]
        wins = [_wins(item, judged, left_out, others) for item in range(len(judged))]
        advantages.append(sum(won for won, _ in wins) / len(wins))
        ps.append(_p_less([person - won for won, person in wins], epsilon))
    return AlternativeAnnotator(
        omega=sum(_rejected(ps)) / len(people),
        advantage=sum(advantages) / len(people),
        people=len(people),
        items=len(judged),
        epsilon=epsilon,
    )


def _wins(
    item: int,
    judged: Sequence[float],
    left_out: Sequence[float],
    others: Sequence[Sequence[float]],
) -> tuple[int, int]:
    """Of the judge, and of the person."""
    given = [ratings[item] for ratings in others]
    judge, person = (_distance(rating[item], given) for rating in (judged, left_out))
    # A sum in another order differs in its last place, and would turn a tie.
    close = math.isclose(judge, person, abs_tol=1e-9)
    return int(close or judge < person), int(close or person < judge)


def _distance(rating: float, given: Sequence[float]) -> float:
    return math.sqrt(math.fsum((rating - other) ** 2 for other in given) / len(given))


def _p_less(figures: Sequence[float], bound: float) -> float:
    """That a mean as low comes from one of `bound` or more."""
    from scipy import stats  # noqa: PLC0415 - `--help` would wait for it

    if len(set(figures)) == 1:
        # Without spread there is no t: it is as it is on every item.
        return 0.0 if figures[0] < bound else 1.0
    return float(stats.ttest_1samp(figures, bound, alternative="less").pvalue)


def _rejected(ps: Sequence[float]) -> list[bool]:
    """Benjamini and Yekutieli (2001): the false discovery rate, whatever depends on what."""
    from scipy import stats  # noqa: PLC0415 - see above

    return [bool(p <= Q) for p in stats.false_discovery_control(list(ps), method="by")]
