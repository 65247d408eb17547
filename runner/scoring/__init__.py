"""Scores: from a transcript to a scorecard, with no Docker and no agent.

`FAIRNESS` and `ADOPTION` list the parts: a new one is a function and a line.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

from runner import grounding
from runner.protocols import Files, Judge
from runner.records import Event, Rubric, Scenario, Scorecard, digest_of
from runner.records.transcript_files import split
from runner.scoring.adoption import ADOPTION, score_adoption
from runner.scoring.fairness import FAIRNESS, score_fairness
from runner.support.code_digest import definitions_digest, makes_figures

__all__ = ["ADOPTION", "FAIRNESS", "rules_digest", "score_cell"]


@cache
def rules_digest() -> str:
    """Of every rule that makes a scorecard of a transcript: our code, queries and grammars."""
    languages = sorted(Path(grounding.__file__).parent.glob("languages/*/*.*"))
    texts = [path.read_text(encoding="utf-8") for path in languages]
    code = definitions_digest(score_cell, apart_from=["Judge"])
    return digest_of([code, *texts, sys.version, *_grammars()])


def _grammars() -> list[str]:
    installed = [(str(one.name), one.version) for one in distributions()]
    return [f"{name} {version}" for name, version in sorted(installed) if "tree" in name.lower()]


@makes_figures
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
