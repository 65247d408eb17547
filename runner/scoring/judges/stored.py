"""A verdict given earlier, in place of a judge that would answer otherwise today."""

from __future__ import annotations

import math
from collections.abc import Sequence

from runner.protocols import Judge, LineSource
from runner.records import AnswerStep, MustCite, Rubric, RubricStep, StepVerdict, Verdict
from runner.scoring.judges.inputs import verdict_inputs
from runner.scoring.rank_agreement import ROUNDING
from runner.support.errors import NoVerdict


class Stored:
    """protocols.Judge. It repeats the verdict, if that is of this judge, rubric and answer."""

    deterministic = True

    def __init__(self, judge: Judge, verdict: Verdict | None) -> None:
        self.name, self.identity = judge.name, judge.identity
        self._verdict = verdict

    def judge(
        self,
        rubric: Rubric,
        answer: Sequence[AnswerStep],
        must_find: Sequence[Sequence[MustCite]],
        source: LineSource | None = None,  # noqa: ARG002 - it has read it before
    ) -> Verdict:
        """Raises NoVerdict if there is none, or it was given on something else."""
        verdict = self._verdict
        if verdict is None:
            raise NoVerdict("not judged yet")
        asked = (self.name, self.identity, verdict_inputs(rubric, answer, must_find))
        if (verdict.judge, verdict.identity, verdict.inputs) != asked:
            raise NoVerdict("the stored verdict is of another judge, rubric or answer")
        if not adds_up(verdict, rubric):
            raise NoVerdict("the stored verdict's figures do not follow from its criteria")
        return verdict


def adds_up(verdict: Verdict, rubric: Rubric) -> bool:
    """Each step is Σ weight × score of the rubric's criteria, the whole the mean of the steps."""
    if [step.name for step in verdict.steps] != [step.name for step in rubric.steps]:
        return False
    for judged, asked in zip(verdict.steps, rubric.steps, strict=True):
        if not _step_adds_up(judged, asked):
            return False
    mean = math.fsum(step.quality for step in verdict.steps) / len(verdict.steps)
    return abs(verdict.quality - mean) <= ROUNDING


def _step_adds_up(judged: StepVerdict, asked: RubricStep) -> bool:
    # A criterion left out, or one made up, would shift weight to the others.
    if judged.criteria.keys() != asked.criteria.keys():
        return False
    weighed = [
        asked.criteria[name].weight * criterion.score for name, criterion in judged.criteria.items()
    ]
    return abs(judged.quality - min(1.0, math.fsum(weighed))) <= ROUNDING
