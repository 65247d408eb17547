"""The one sum both halves of a scorecard are made with. There is no function that adds the halves together."""

from __future__ import annotations

import math
from collections.abc import Mapping

from runner.records import Score, Scored, Unscored


def weighted(parts: Mapping[str, Score], weights: Mapping[str, float]) -> Score:
    """Σ weight × part. Unscored, with every reason, where a part is: a missing part is no zero."""
    missing = {name: part.reason for name, part in parts.items() if isinstance(part, Unscored)}
    if missing and len(set(missing.values())) == 1 and len(missing) == len(parts):
        return Unscored(reason=next(iter(missing.values())))
    if missing:
        return Unscored(reason="; ".join(f"{name}: {reason}" for name, reason in missing.items()))
    return Scored(
        value=min(
            1.0,
            math.fsum(
                weights[name] * part.value
                for name, part in parts.items()
                if isinstance(part, Scored)
            ),
        )
    )
