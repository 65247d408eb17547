"""A verdict given earlier, in place of a judge that would answer otherwise today."""

from __future__ import annotations

from collections.abc import Sequence

from runner.gate.verdicts import adds_up
from runner.protocols import Judge, Source
from runner.records import AnswerStep, MustCite, Rubric, Verdict
from runner.scoring.judges.inputs import verdict_inputs
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
        source: Source | None = None,  # noqa: ARG002 - it has read it before
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
