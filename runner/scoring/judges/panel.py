"""Several judges as one: each criterion's score is their median."""

from __future__ import annotations

from collections.abc import Sequence

from runner.protocols import Judge, LineSource
from runner.records import AnswerStep, MustCite, Rating, Rubric, Verdict, digest_of
from runner.scoring.judges.combining import combined, median


class Panel:
    """protocols.Judge. Which judge said what stays in the verdict's ratings."""

    def __init__(self, judges: Sequence[Judge]) -> None:
        self.judges = tuple(judges)
        self.name = "panel:" + "+".join(judge.name for judge in judges)
        self.identity = digest_of(["panel", *(judge.identity for judge in judges)])
        self.deterministic = all(judge.deterministic for judge in judges)

    def judge(
        self,
        rubric: Rubric,
        answer: Sequence[AnswerStep],
        must_find: Sequence[Sequence[MustCite]],
        source: LineSource | None = None,
    ) -> Verdict:
        """Raises NoVerdict if one of them gives none: the median of fewer is another judge."""
        verdicts = [judge.judge(rubric, answer, must_find, source) for judge in self.judges]
        ratings: list[Rating] = []
        for verdict in verdicts:
            ratings += verdict.ratings or [_only(verdict)]
        return combined(rubric, verdicts, median, judge=self, ratings=ratings)


def _only(verdict: Verdict) -> Rating:
    return Rating(judge=verdict.judge, duplicate=1, quality=verdict.quality, steps=verdict.steps)
