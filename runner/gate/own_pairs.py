"""Does a changed rubric keep the order of its scenario's own pairs? Most scenarios have no anchors.

The pairs are those of the generation in force, made from its reference answer: the words of each
sentence shuffled, its citations removed, and each fact that turned.yaml turns round. Whoever fits
a rubric to an arm's answers brings a reference along that earns full marks by it; the accepted
reference then earns no more than its own ruins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.catalog.catalog import CONTRAST_FILE, LoadedScenario
from runner.gate import perturbations
from runner.gate.chain_history import committed_text
from runner.protocols import Judge, LineSource
from runner.records import AnchorsLock, AnswerStep, ContrastPair, ContrastPairs, Rubric, parse_yaml
from runner.scoring.rank_agreement import ROUNDING
from runner.scoring.steps import answer_steps, must_find

MIN_KEPT = 0.9
"""Of the pairs that the accepted rubric orders as they are."""


@dataclass(frozen=True, kw_only=True)
class _Accepted:
    """A scenario's texts as the generation in force holds them."""

    rubric: Rubric
    reference: tuple[str, ...]
    contrast_pairs: tuple[ContrastPair, ...]


@dataclass(frozen=True, kw_only=True)
class _OwnPair:
    step: int
    better: str
    worse: str


def disorder(
    root: Path, lock: AnchorsLock, loaded: LoadedScenario, judge: Judge, source: LineSource | None
) -> str:
    """Which order a changed rubric loses, in words; empty if it keeps enough of it.

    Without git, or where the accepted texts are not committed, there is nothing to hold it
    against; every report says that the past was not checked.
    """
    accepted = _accepted(root, lock, loaded)
    if accepted is None or _names(accepted.rubric) != _names(loaded.rubric):
        return ""
    ordering = _Ordering(loaded=loaded, accepted=accepted, judge=judge, source=source)
    before = [pair for pair in _pairs(loaded, accepted) if ordering.keeps(accepted.rubric, pair)]
    kept = [pair for pair in before if ordering.keeps(loaded.rubric, pair)]
    if not before or len(kept) >= MIN_KEPT * len(before) - ROUNDING:
        return ""
    return (
        f"of {len(before)} answers that the accepted rubric tells from their ruins "
        f"it tells {len(kept)}; {MIN_KEPT:.0%} is the least"
    )


def _names(rubric: Rubric) -> list[str]:
    return [step.name for step in rubric.steps]


@dataclass(frozen=True, kw_only=True)
class _Ordering:
    loaded: LoadedScenario
    accepted: _Accepted
    judge: Judge
    source: LineSource | None

    def keeps(self, rubric: Rubric, pair: _OwnPair) -> bool:
        better, worse = (self._quality(rubric, pair, text) for text in (pair.better, pair.worse))
        return better > worse + ROUNDING

    def _quality(self, rubric: Rubric, pair: _OwnPair, text: str) -> float:
        """Of the one step, the others being as accepted."""
        texts = [*self.accepted.reference]
        texts[pair.step] = text
        answer: Sequence[AnswerStep] = answer_steps(self.loaded.scenario, texts)
        places = must_find(self.loaded.scenario)
        verdict = self.judge.judge(rubric, answer, places, self.source)
        return verdict.steps[pair.step].quality


def _pairs(loaded: LoadedScenario, accepted: _Accepted) -> Iterator[_OwnPair]:
    for index, text in enumerate(accepted.reference):
        for worse in (perturbations.shuffled(text), perturbations.uncited(text)):
            if worse != text:
                yield _OwnPair(step=index, better=text, worse=worse)
    numbers = {step.name: index for index, step in enumerate(loaded.scenario.steps)}
    for pair in accepted.contrast_pairs:
        index = numbers.get(pair.step, -1)
        text = accepted.reference[index] if index >= 0 else ""
        if text.count(pair.right) == 1:
            yield _OwnPair(step=index, better=text, worse=text.replace(pair.right, pair.wrong))


# --- as accepted ----------------------------------------------------------------------------


def _accepted(root: Path, lock: AnchorsLock, loaded: LoadedScenario) -> _Accepted | None:
    """None if git does not hold all of it."""
    folder = f"scenarios/{loaded.suite}/{loaded.scenario.id}"
    steps = len(loaded.scenario.steps)
    references = [f"{folder}/reference/{number}.md" for number in range(1, steps + 1)]
    rubric, contrasts = f"{folder}/rubric.yaml", f"{folder}/{CONTRAST_FILE}"
    texts: dict[str, str] = {}
    for path in (rubric, contrasts, *references):
        if path in lock.files:
            text = committed_text(root, path, lock.files[path])
            if text is None:
                return None
            texts[path] = text
    if not texts.keys() >= {rubric, *references}:
        return None
    return _Accepted(
        rubric=parse_yaml(texts[rubric], Rubric, where=rubric),
        reference=tuple(texts[path] for path in references),
        contrast_pairs=_contrast_pairs(texts, contrasts),
    )


def _contrast_pairs(texts: Mapping[str, str], path: str) -> tuple[ContrastPair, ...]:
    if path not in texts:
        return ()
    return parse_yaml(texts[path], ContrastPairs, where=path).pairs
