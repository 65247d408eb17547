"""What has to be edited if it takes one more argument?"""

from __future__ import annotations

from collections.abc import Sequence

from runner.authoring.exact.kind import (
    MOST,
    Ground,
    Kind,
    anchor,
    beside,
    near_misses,
    place_of,
    question,
)
from runner.records.exact import ExactQuestion

_FEWEST_CALLS = 2


def _subjects(ground: Ground) -> Sequence[str]:
    return ground.names


def _ask(ground: Ground, name: str) -> ExactQuestion | None:
    symbol = ground.symbol(name)
    if symbol is None or symbol.doubtful_tests:
        return None
    spots = (*symbol.declared, *symbol.calls)
    if not _FEWEST_CALLS <= len({(it.path, it.line) for it in spots}) < MOST:
        return None
    return question(
        "signature_edits",
        name,
        f"`{symbol.shown}` will take one more required argument. Which lines have to be edited?"
        " Count its definition, its declarations if it has any, and every direct call of it in"
        " this repository, tests included; no imports, no comments, nothing inside its body.",
        places=[
            anchor(symbol).model_copy(update={"end": None}),
            *(place_of(it, name) for it in spots),
        ],
        optional=beside(ground, symbol),
        wrong=near_misses(ground, name),
    )


KIND = Kind(kind="signature_edits", subjects=_subjects, ask=_ask)
