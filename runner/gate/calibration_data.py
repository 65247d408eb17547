"""Transcripts and hand grades of the held-out scenarios, as answers with gold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.catalog.catalog import HELD_OUT, Catalog, LoadedScenario
from runner.protocols import LineSource, OpenLineSource
from runner.records import (
    AnswerStep,
    GoldScores,
    GoldStep,
    GoldTranscript,
    MustCite,
    Rubric,
    load_json,
    parse_json,
    read_text,
)
from runner.records.transcript_files import iter_transcript, split
from runner.scoring.statistics import mean
from runner.scoring.steps import must_find
from runner.support.errors import CatalogError, Problem
from runner.support.tree_digest import MAX_FILE_BYTES

GOLD = "gold_scores.json"
TRANSCRIPTS = "transcripts"
CriterionWeights = Mapping[str, Mapping[str, float]]
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
    """In the scenario's order; the mean of both gradings where there are two."""
    gradings: tuple[float, ...]
    """The whole by each grading, the first one first: one or two."""
    source: LineSource | None = None

    @property
    def name(self) -> str:
        return f"{self.scenario}/{self.transcript}"

    @property
    def gold(self) -> float:
        return mean(self.gold_steps)


def rubric_weights(rubric: Rubric) -> dict[str, dict[str, float]]:
    """Step -> criterion -> weight."""
    weights: dict[str, dict[str, float]] = {}
    for step in rubric.steps:
        weights[step.name] = {name: criterion.weight for name, criterion in step.criteria.items()}
    return weights


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


# --- anchors --------------------------------------------------------------------------------


def load_anchors(
    catalog: Catalog,
    gold_weights: Mapping[str, CriterionWeights] | None,
    sources: OpenLineSource | None = None,
) -> list[Anchor]:
    """Every anchor, sorted. Raises CatalogError with every problem of every gold file.

    `gold_weights`: as the lock holds them. None takes today's rubrics', which only new grades may:
    the rubric's editor would otherwise move the gold as well.
    """
    anchors: list[Anchor] = []
    problems: list[Problem] = []
    for loaded in held_out(catalog):
        weights: CriterionWeights = rubric_weights(loaded.rubric)
        if gold_weights is not None:
            weights = gold_weights.get(loaded.scenario.id, {})
        try:
            anchors += _anchors_of(loaded, weights, sources)
        except CatalogError as error:
            problems += error.problems
    if problems:
        hint = (
            "a grade is a number from 0 to 1 for every criterion of every step of every transcript"
        )
        raise CatalogError(problems, hint=hint)
    return anchors


def _anchors_of(
    loaded: LoadedScenario, weights: CriterionWeights, sources: OpenLineSource | None
) -> Iterator[Anchor]:
    where = f"scenarios/{HELD_OUT}/{loaded.scenario.id}/{GOLD}"
    gold = read_gold(loaded.folder / GOLD, where)
    if messages := list(_misfits(gold, loaded, weights)):
        raise CatalogError([Problem(where=where, message=message) for message in messages])
    second = {item.transcript: item for item in gold.second}
    for first in sorted(gold.transcripts, key=lambda graded: graded.transcript):
        gradings = [first]
        if first.transcript in second:
            gradings.append(second[first.transcript])
        steps = [gold_steps(graded, weights) for graded in gradings]
        yield _anchor(loaded, first.transcript, steps, sources)


def _anchor(
    loaded: LoadedScenario,
    transcript: str,
    gradings: Sequence[tuple[float, ...]],
    sources: OpenLineSource | None,
) -> Anchor:
    """`gradings`: each one's steps."""
    events = iter_transcript(loaded.folder / TRANSCRIPTS / transcript)
    answer, _, _ = split(events, loaded.scenario)
    return Anchor(
        scenario=loaded.scenario.id,
        transcript=transcript,
        rubric=loaded.rubric,
        answer=answer.steps,
        must_find=must_find(loaded.scenario),
        gold_steps=tuple(map(mean, zip(*gradings, strict=True))),
        gradings=tuple(map(mean, gradings)),
        source=sources(loaded.scenario.id) if sources else None,
    )


def gold_steps(graded: GoldTranscript, weights: CriterionWeights) -> tuple[float, ...]:
    """Of each step Σ weight × grade, as a judge's quality is made."""
    return tuple(_weighed(step, weights[step.name]) for step in graded.steps)


def _weighed(step: GoldStep, weights: Mapping[str, float]) -> float:
    # Added plainly, 0.6 + 0.3 + 0.1 is 0.9999999999999999: a tie would be broken by nothing.
    total = math.fsum(weights[name] * criterion.score for name, criterion in step.criteria.items())
    return min(1.0, total)


# --- hand grades ----------------------------------------------------------------------------


def read_gold(path: Path, where: str) -> GoldScores:
    """Raises CatalogError; a grade of NaN, and a key given twice, are errors."""
    text = read_text(path, where=where, limit_bytes=MAX_FILE_BYTES)
    try:
        load_json(text)  # for its refusal: pydantic takes the last of two equal keys
    except ValueError as error:
        raise CatalogError([Problem(where=where, message=f"not usable JSON: {error}")]) from error
    return parse_json(text, GoldScores, where=where)


def _misfits(gold: GoldScores, loaded: LoadedScenario, weights: CriterionWeights) -> Iterator[str]:
    """What of the grades does not fit the scenario, its transcripts, or the weights."""
    if gold.scenario != loaded.scenario.id:
        yield f"grades {gold.scenario!r}, but lies in {loaded.scenario.id!r}"
    graded = sorted(item.transcript for item in gold.transcripts)
    files = _transcript_names(loaded.folder / TRANSCRIPTS)
    # Without this the worst anchor could be left ungraded, or a good one graded twice.
    if graded != files:
        yield f"grades {graded}, but {TRANSCRIPTS}/ holds {files}"
    yield from _misfit_second(gold)
    expected = {step.name: sorted(weights.get(step.name, {})) for step in loaded.scenario.steps}
    for item in (*gold.transcripts, *gold.second):
        yield from _misfit_steps(item, expected)


def _misfit_second(gold: GoldScores) -> Iterator[str]:
    first = {item.transcript: item for item in gold.transcripts}
    seen: set[str] = set()
    for item in gold.second:
        other = first.get(item.transcript)
        if other is None:
            yield f"second: grades {item.transcript}, which has no first grading"
        elif (other.graded_by, other.how) == (item.graded_by, item.how):
            # A copy of the first grading would agree with it perfectly.
            yield f"second: {item.transcript} was graded by the same, in the same way, as the first"
        if item.transcript in seen:
            yield f"second: grades {item.transcript} twice"
        seen.add(item.transcript)


def _misfit_steps(item: GoldTranscript, expected: Mapping[str, list[str]]) -> Iterator[str]:
    """`expected`: step -> its criteria, sorted; steps in the scenario's order."""
    found = {step.name: sorted(step.criteria) for step in item.steps}
    in_order = list(found) == list(expected)
    twice = len(item.steps) != len(found)
    if found != expected or not in_order or twice:
        yield f"{item.transcript}: grades {found}, expected {expected}, in that order"


def _transcript_names(folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    return sorted(path.name for path in folder.iterdir())
