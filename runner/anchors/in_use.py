"""Is a run's result judged by what the gate vouches for? A report shows scorecards that were written before it."""

from __future__ import annotations

from collections.abc import Iterator

from runner.anchors.verdicts import adds_up
from runner.catalog import Catalog, pick
from runner.errors import Drift
from runner.judges.inputs import verdict_inputs
from runner.protocols import Judge
from runner.records import Scored, Verdict
from runner.store import RunStore
from runner.transcript import iter_transcript, split

SCORE_AGAIN = (
    "`fairtrial score RUN` judges its transcripts anew, with the rubrics and the judge as they are"
)


def judged_otherwise(store: RunStore, catalog: Catalog, judge: Judge) -> Iterator[Drift]:
    """Scorecards whose verdict is not of this judge, today's rubric and the cell's own transcript.

    Without this, scoring under an edited rubric and putting the rubric back would carry its figures through the gate.
    """
    for item in store.load().cells:
        counted = store.counted_attempt(item.cell.id)
        fairness = item.scorecard.fairness if item.scorecard else None
        if (
            counted is None
            or fairness is None
            or fairness.verdict is None
            or not counted[1].outcome.is_measurement
        ):
            continue
        loaded = pick(catalog.scenarios, item.cell.scenario, "scenario")
        answer, _, _ = split(iter_transcript(counted[0] / "transcript.jsonl"), loaded.scenario)
        inputs = verdict_inputs(
            loaded.rubric, answer.steps, [step.must_cite for step in loaded.scenario.steps]
        )
        where = f"cells/{item.cell.id}/scorecard.json"
        yield from _differs(where, fairness.verdict, judge, inputs)
        quality = fairness.llm_quality.value if isinstance(fairness.llm_quality, Scored) else None
        if quality != fairness.verdict.quality or not adds_up(fairness.verdict, loaded.rubric):
            yield Drift(
                where=where,
                what="its quality is not what its verdict's criteria and the rubric's weights make",
            )


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
