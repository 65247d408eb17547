"""The road to RANKS: a judge that costs is asked step by step, and stopped only if it has failed.

Stopping early for a pass would let a lucky start rank. So only a requirement that can no longer be
met ends it before the whole paper is read: first contrast pairs, which a judge that does not read
loses at once, then the pairs made by code, then the anchors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol, TypeGuard, runtime_checkable

from runner.catalog.catalog import load_catalog
from runner.gate import chain, qualities, requirements
from runner.gate.calibration_data import Anchor
from runner.gate.examination import Paper, paper_of, refusal, silent
from runner.gate.pairs import PERTURBATIONS, Pair, StepQuestion, questions_of
from runner.gate.requirements import (
    MIN_WON,
    by_quality,
    contrasts_asked,
    requirement_line,
    requirement_text,
    wins,
)
from runner.protocols import ByKey, Judge, Log, OpenLineSource
from runner.records import Examination
from runner.scoring.judges.judge_requests import JudgeEstimate, ToJudge
from runner.scoring.rank_agreement import ROUNDING, correlate
from runner.support.errors import AnchorsDisagree, FairtrialError

AHEAD = 2
"""Rounds of requests that are asked for together: fewer would leave slots empty, and more would be
paid for after a judge has failed."""
GOES_ON = "nothing was written; what it said is kept, and the same judge would be told the same"


@runtime_checkable
class Qualifying(Protocol):
    """A judge that costs: it can tell beforehand what it takes, and be asked for much at once."""

    at_once: int

    def estimate(self, answers: Iterable[ToJudge]) -> JudgeEstimate:
        """Asks nobody."""
        ...

    def read_ahead(self, answers: Iterable[ToJudge]) -> None:
        """Have what is missing said, so that `judge` finds it kept.

        Raises as `judge` does, but for a reply that cannot be used, which is `judge`'s to name.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Qualification:
    """A judge before its examination."""

    judge: Judge
    paper: Paper
    log: Log

    def readings(self) -> list[StepQuestion]:
        """Every answer to one step that it has to read, in the order in which it is asked."""
        asked = {question.key: question for question in _in_order(self.paper)}
        return list(asked.values())

    def estimate(self) -> JudgeEstimate:
        """What is left to ask. Raises FairtrialError for a judge that costs nothing."""
        return _costing(self.judge).estimate(map(_to_judge, self.readings()))

    def examine(self) -> None:
        """Have all of it read; afterwards every reading is kept.

        Raises AnchorsDisagree naming the requirement that can no longer be met, else as the judge
        does.
        """
        self._require_material()
        known: dict[str, float] = {}
        tallies = list(_tallies(self.paper.pairs))
        whole = self.readings()
        asked: set[str] = set()
        reader = _costing(self.judge)
        for some in _chunks(whole, AHEAD * reader.at_once):
            reader.read_ahead(map(_to_judge, some))
            known |= qualities.ask(self.judge, some, known, silent)
            asked |= {question.key for question in some}
            # One line for the whole in place of each chunk's own count.
            self.log(
                f"{self.judge.name}: {len(asked)} of {len(whole)} answers to one step are read"
            )
            for tally in tallies:
                tally.require(known, asked)
        self._require_agreement(known)

    def _require_material(self) -> None:
        """Gold on which graders differ, or too few pairs, would fail any judge once all is paid."""
        silent = [0.0] * len(self.paper.anchors)
        bare = self._examination(silent, {})
        for asked in bare.unmet:
            if asked.name.startswith("alpha") or "too few" in asked.note:
                raise _failed(requirement_text(asked))

    def _examination(self, judged: Sequence[float], known: Mapping[str, float]) -> Examination:
        paper = self.paper
        return requirements.examination(
            paper.anchors, judged, paper.pairs, known, short=paper.short
        )

    def _require_agreement(self, known: Mapping[str, float]) -> None:
        anchors = self.paper.anchors
        overall = [_quality(anchor, known) for anchor in anchors]
        read = [(anchor, it) for anchor, it in zip(anchors, overall, strict=True) if it is not None]
        if len(read) < len(anchors):
            raise _failed(f"{len(anchors) - len(read)} anchors have no verdict")
        judged = [quality for _, quality in read]
        if closed := refusal(correlate([anchor.gold for anchor in anchors], judged)):
            raise _failed(closed)
        examined = self._examination(judged, known)
        if unmet := examined.unmet:
            # All of it is paid for: what was met says where it stands, too.
            for asked in examined.requirements:
                self.log(requirement_line(asked))
            raise _failed("; ".join(map(requirement_text, unmet)))


def qualification(
    root: Path, judge: Judge, sources: OpenLineSource, log: Log, *, short: bool
) -> Qualification:
    """Raises FairtrialError for a judge that costs nothing, CatalogError as anchors do."""
    _costing(judge)
    paper = paper_of(load_catalog(root), chain.gold_weights(root), sources, short=short)
    return Qualification(judge=judge, paper=paper, log=log)


def how_to_examine(judge: Judge) -> str:
    """The hint that names the command."""
    name = judge.name
    if _costs(judge):
        words = f"`fairtrial anchors qualify --judge {name} --reason …` examines it; "
        return words + "--dry-run says for how much"
    words = f"`fairtrial anchors propose --judge {name}` examines it at no cost; "
    return words + f"`accept --judge {name} --reason …` takes it where it may be taken"


def _costing(judge: Judge) -> Qualifying:
    if not _costs(judge):
        what = f"{judge.name} is no single model behind an API"
        raise FairtrialError(what, hint=how_to_examine(judge))
    return judge


def _costs(judge: Judge) -> TypeGuard[Qualifying]:
    return isinstance(judge, Qualifying) and not isinstance(judge, ByKey)


def _in_order(paper: Paper) -> Iterator[StepQuestion]:
    """Contrast pairs first; each side next to the other, so that a pair is decided at once."""
    made = set(PERTURBATIONS)
    for pair in sorted(paper.asked_pairs, key=lambda pair: pair.kind in made):
        yield pair.better
        yield pair.other
    for anchor in paper.anchors:
        yield from questions_of(anchor)
    yield from paper.questions()


def _to_judge(question: StepQuestion) -> ToJudge:
    return ToJudge(question.rubric, (question.answer,), (question.must_find,), question.source)


def _chunks(questions: Sequence[StepQuestion], size: int) -> Iterator[list[StepQuestion]]:
    left = iter(questions)
    while some := list(islice(left, size)):
        yield some


def _quality(anchor: Anchor, known: Mapping[str, float]) -> float | None:
    steps = [known.get(question.key) for question in questions_of(anchor)]
    found = [step for step in steps if step is not None]
    return sum(found) / len(found) if len(found) == len(steps) else None


# --- failed before the end? -----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _PairsLeft:
    """Pairs of a requirement, and how many of them may still be lost."""

    name: str
    pairs: Sequence[Pair]

    def require(self, known: Mapping[str, float], asked: set[str]) -> None:
        """`asked`: keys of what has been read, with a verdict or without."""
        read = [pair for pair in self.pairs if {pair.better.key, pair.other.key} <= asked]
        lost = sum(not wins(pair, by_quality(pair, known)) for pair in read)
        most = (1 - MIN_WON) * len(self.pairs) + ROUNDING
        if lost > most:
            raise _failed(
                f"{self.name}: {lost} of {len(self.pairs)} pairs are lost, and {int(most)} may be"
            )


def _tallies(pairs: Sequence[Pair]) -> Iterator[_PairsLeft]:
    for kind in PERTURBATIONS:
        yield _PairsLeft(name=kind, pairs=[pair for pair in pairs if pair.kind == kind])
    for kind, of_kind in contrasts_asked(pairs).items():
        yield _PairsLeft(name=kind, pairs=of_kind)


def _failed(what: str) -> AnchorsDisagree:
    return AnchorsDisagree(f"it cannot rank any more: {what}", hint=GOES_ON)
