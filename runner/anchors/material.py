"""Transcripts and hand grades of the held-out scenarios, as answers with gold."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.catalog import HELD_OUT, Catalog, LoadedScenario
from runner.errors import CatalogError, Problem
from runner.records import AnswerStep, GoldScores, GoldTranscript, MustCite, Rubric, parse_json
from runner.transcript import iter_transcript, split

GOLD = "gold_scores.json"
TRANSCRIPTS = "transcripts"
Weights = Mapping[str, Mapping[str, float]]
"""Step -> criterion -> weight."""


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """One frozen transcript."""

    scenario: str
    transcript: str
    """File name."""
    rubric: Rubric
    answer: tuple[AnswerStep, ...]
    must_find: tuple[tuple[MustCite, ...], ...]
    gold_steps: tuple[float, ...]
    """In the scenario's order."""

    @property
    def name(self) -> str:
        return f"{self.scenario}/{self.transcript}"

    @property
    def gold(self) -> float:
        return math.fsum(self.gold_steps) / len(self.gold_steps)


def rubric_weights(rubric: Rubric) -> dict[str, dict[str, float]]:
    return {
        step.name: {name: criterion.weight for name, criterion in step.criteria.items()}
        for step in rubric.steps
    }


def held_out(catalog: Catalog) -> list[LoadedScenario]:
    """Raises CatalogError with every problem of every held-out folder."""
    problems: list[Problem] = []
    loaded = []
    for name, folder in catalog.scenarios.folders.items():
        if folder.parent.name == HELD_OUT:
            try:
                loaded.append(catalog.scenarios[name])
            except CatalogError as error:
                problems += error.problems
    if problems:
        raise CatalogError(problems)
    return loaded


def load_anchors(catalog: Catalog, gold_weights: Mapping[str, Weights] | None) -> list[Anchor]:
    """Every anchor, sorted. `gold_weights`: as the lock holds them; None takes today's rubrics', which only new grades may.

    Raises CatalogError with every problem of every gold file.
    """
    anchors: list[Anchor] = []
    problems: list[Problem] = []
    for loaded in held_out(catalog):
        weights = (
            rubric_weights(loaded.rubric)
            if gold_weights is None
            else gold_weights.get(loaded.scenario.id, {})
        )
        try:
            anchors += _anchors_of(loaded, weights)
        except CatalogError as error:
            problems += error.problems
    if problems:
        raise CatalogError(
            problems,
            hint="a grade is a number from 0 to 1 for every criterion of every step of every transcript",
        )
    return anchors


def _anchors_of(loaded: LoadedScenario, weights: Weights) -> Iterator[Anchor]:
    where = f"scenarios/{HELD_OUT}/{loaded.scenario.id}/{GOLD}"
    gold = read_gold(loaded.folder / GOLD, where)
    problems = [
        Problem(where=where, message=message) for message in _misfits(gold, loaded, weights)
    ]
    if problems:
        raise CatalogError(problems)
    for graded in sorted(gold.transcripts, key=lambda graded: graded.transcript):
        answer, _, _ = split(
            iter_transcript(loaded.folder / TRANSCRIPTS / graded.transcript), loaded.scenario
        )
        yield Anchor(
            scenario=loaded.scenario.id,
            transcript=graded.transcript,
            rubric=loaded.rubric,
            answer=answer.steps,
            must_find=tuple(step.must_cite for step in loaded.scenario.steps),
            gold_steps=gold_steps(graded, weights),
        )


def gold_steps(graded: GoldTranscript, weights: Weights) -> tuple[float, ...]:
    """Σ weight × grade of each step, as a judge's quality is made."""
    return tuple(
        min(
            1.0,
            math.fsum(
                weights[step.name][name] * criterion.score
                for name, criterion in step.criteria.items()
            ),
        )
        for step in graded.steps
    )


def read_gold(path: Path, where: str) -> GoldScores:
    """Raises CatalogError; a grade of NaN, and a key given twice, are errors."""
    try:
        text = path.read_text(encoding="utf-8")
        json.loads(text, object_pairs_hook=_once)
    except OSError as error:
        raise CatalogError(
            [Problem(where=where, message=f"cannot be read: {error.strerror}")]
        ) from error
    except ValueError as error:
        raise CatalogError([Problem(where=where, message=f"not usable JSON: {error}")]) from error
    return parse_json(text, GoldScores, where=where)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key given twice would let a reader see one grade and the gate another."""
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"a key is given twice among {keys}")
    return dict(pairs)


def _misfits(gold: GoldScores, loaded: LoadedScenario, weights: Weights) -> Iterator[str]:
    """What of the grades does not fit the scenario, its transcripts, or the weights they are summed with."""
    if gold.scenario != loaded.scenario.id:
        yield f"grades {gold.scenario!r}, but lies in {loaded.scenario.id!r}"
    folder = loaded.folder / TRANSCRIPTS
    there = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    graded = sorted(item.transcript for item in gold.transcripts)
    if there != graded:
        yield f"grades {graded}, but {TRANSCRIPTS}/ holds {there}"
    expected = {step.name: sorted(weights.get(step.name, {})) for step in loaded.scenario.steps}
    for item in gold.transcripts:
        found = {step.name: sorted(step.criteria) for step in item.steps}
        if list(found.items()) != list(expected.items()) or len(item.steps) != len(expected):
            yield f"{item.transcript}: grades {found}, expected {expected}, in that order"
