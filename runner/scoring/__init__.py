"""Scores: from a transcript to a scorecard, with no Docker and no agent.

`FAIRNESS` and `ADOPTION` list the parts: a new one is a function and a line.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from runner.protocols import Files, Judge
from runner.records import Event, Rubric, Scenario, Scorecard
from runner.scoring.adoption import ADOPTION, score_adoption
from runner.scoring.fairness import FAIRNESS, score_fairness
from runner.transcript import split

__all__ = ["ADOPTION", "FAIRNESS", "score_cell"]


def score_cell(  # noqa: PLR0913 - six different things make a scorecard, and each call names them
    events: Iterable[Event],
    scenario: Scenario,
    rubric: Rubric,
    *,
    cell_id: str,
    server: str,
    files: Files,
    judge: Judge | None,
    cache_dir: Path | None = None,
) -> Scorecard:
    """Both halves, side by side. The fairness half is told neither the server nor the calls.

    `cache_dir` keeps parsed files between calls; without it, every cell parses again what it cites.
    """
    answer, trace, effort = split(events, scenario)
    return Scorecard(
        cell_id=cell_id,
        fairness=score_fairness(
            scenario, rubric, answer, effort, files=files, judge=judge, cache_dir=cache_dir
        ),
        adoption=score_adoption(trace, server=server),
    )
