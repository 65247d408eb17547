"""Is a run's result judged by what the gate vouches for? Scorecards are older than the report."""

from __future__ import annotations

from collections.abc import Iterator

from runner.anchors.material import must_find
from runner.anchors.verdicts import adds_up
from runner.catalog import Catalog, LoadedScenario, pick
from runner.errors import Drift
from runner.judges.inputs import verdict_inputs
from runner.protocols import Judge
from runner.records import Fairness, Rubric, Scored, Verdict
from runner.store import EndedAttempt, RunStore
from runner.transcript import iter_transcript, split

SCORE_AGAIN = (
    "`fairtrial score RUN` judges its transcripts anew, with the rubrics and the judge as they are"
)


def judged_differently(store: RunStore, catalog: Catalog, judge: Judge) -> Iterator[Drift]:
    """Scorecards whose verdict is not of this judge, today's rubric and the cell's transcript.

    Without this, scoring under an edited rubric and putting the rubric back would carry its figures
    through the gate.
    """
    for item in store.load().cells:
        counted = store.counted_attempt(item.cell.id)
        if item.scorecard is None or counted is None or not counted.result.outcome.is_measurement:
            continue
        fairness = item.scorecard.fairness
        if fairness.verdict is None:
            continue
        loaded = pick(catalog.scenarios, item.cell.scenario, "scenario")
        where = f"cells/{item.cell.id}/scorecard.json"
        yield from _differs(where, fairness.verdict, judge, _inputs(loaded, counted))
        yield from _lifted(where, fairness, fairness.verdict, loaded.rubric)


def _inputs(loaded: LoadedScenario, attempt: EndedAttempt) -> str:
    """What a verdict would be on today, as a digest."""
    answer, _, _ = split(iter_transcript(attempt.transcript), loaded.scenario)
    return verdict_inputs(loaded.rubric, answer.steps, must_find(loaded.scenario))


def _differs(where: str, verdict: Verdict, judge: Judge, inputs: str) -> Iterator[Drift]:
    if (verdict.judge, verdict.identity) != (judge.name, judge.identity):
        yield Drift(
            where=where,
            what=f"was judged by another {verdict.judge}",
            expected=judge.identity,
            found=verdict.identity,
        )
    elif verdict.inputs != inputs:
        yield Drift(
            where=where,
            what="was judged under another rubric or on another answer",
            expected=inputs,
            found=verdict.inputs,
        )


def _lifted(where: str, fairness: Fairness, verdict: Verdict, rubric: Rubric) -> Iterator[Drift]:
    """A quality that was written by hand, in the scorecard or in its verdict."""
    quality = fairness.parts.get("llm_quality")
    is_the_verdicts = isinstance(quality, Scored) and quality.value == verdict.quality
    if not is_the_verdicts or not adds_up(verdict, rubric):
        what = "its quality is not what its verdict's criteria and the rubric's weights make"
        yield Drift(where=where, what=what)
