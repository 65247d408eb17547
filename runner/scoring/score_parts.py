"""The parts of a score, and the one sum that both halves of a scorecard are made with.

No function adds the halves together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from runner.records import Score, Scored, Unscored

Scorer = TypeVar("Scorer", bound=Callable[..., Score])


@dataclass(frozen=True, kw_only=True)
class Part(Generic[Scorer]):
    """One line of FAIRNESS or ADOPTION: what scores it, what it weighs, and what it is called."""

    score: Scorer
    weight: float
    """The weights of one half sum to 1."""
    label: str
    """Its name in a report's notes."""
    short: str
    """A column's heading where room is scarce: a terminal has 80 columns for the whole table."""
    heading: str = ""
    """A column's heading where there is room; the label if empty."""
    term: str = ""
    """Its name in the formula; the label if empty."""


Parts = Mapping[str, Part[Any]]


def formula(parts: Parts) -> str:
    """The sum in words: `0.60 fluency + 0.40 discoverability`."""
    return " + ".join(f"{part.weight:.2f} {part.term or part.label}" for part in parts.values())


def weighted(scores: Mapping[str, Score], parts: Parts) -> Score:
    """Σ weight × score. Unscored if any part is, with every reason: a missing part is no zero."""
    terms = []
    missing = {}
    for name, score in scores.items():
        if isinstance(score, Scored):
            terms.append(parts[name].weight * score.value)
        else:
            missing[name] = score.reason
    if missing:
        return Unscored(reason=_why(missing, of=len(scores)))
    # Full marks in every part sum to 1.0000000000000002 with some weights, and a record refuses it.
    return Scored(value=min(1.0, math.fsum(terms)))


def _why(missing: Mapping[str, str], *, of: int) -> str:
    """`llm_quality: no verdict`; the reason alone if all parts are missing for the same one."""
    reasons = set(missing.values())
    if len(missing) == of and len(reasons) == 1:
        return reasons.pop()
    return "; ".join(f"{name}: {reason}" for name, reason in missing.items())
