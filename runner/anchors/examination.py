"""What the judge says of the anchors, beside the hand grades: the figures that the gate goes by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.anchors import agreement, material, verdicts
from runner.anchors.material import Anchor
from runner.catalog import Catalog, load_catalog
from runner.protocols import Judge, Sources
from runner.records import AnchorScore, AnchorsLock, Correlation, GateVerdict, Verdict

MIN_RHO = 0.85
"""DESIGN.md, The gate. Equality passes."""
MIN_TRANSCRIPTS = 12
"""Over three anchors rho can only be ±1 or ±0.5; below a dozen one pair decides it."""


@dataclass(frozen=True, kw_only=True)
class Examined:
    """The anchors, what the judge said of each, and what follows."""

    anchors: tuple[Anchor, ...]
    judged: tuple[Verdict, ...]
    """Of each anchor, in their order."""
    verdict: GateVerdict


def examine(
    root: Path,
    judge: Judge,
    lock: AnchorsLock | None,
    sources: Sources | None = None,
    *,
    catalog: Catalog | None = None,
) -> Examined:
    """Judge every anchor under the rubrics as they are.

    `lock` gives the gold's weights and the verdicts to believe; None takes the rubrics' weights and
    no stored verdict. Raises CatalogError, AnchorsDrifted or NoVerdict as what it reads does.
    """
    gold_weights = None
    accepted: dict[str, str] = {}
    generation = 0
    if lock:
        gold_weights = lock.gold_weights
        generation = lock.generation
        if judge.name in lock.judges:
            accepted = lock.judges[judge.name].verdicts
    anchors = material.load_anchors(catalog or load_catalog(root), gold_weights, sources)
    judged = verdicts.verdicts_of(root, judge, anchors, accepted)
    verdict = _gate_verdict(judge, anchors, judged, generation)
    return Examined(anchors=tuple(anchors), judged=tuple(judged), verdict=verdict)


def _gate_verdict(
    judge: Judge, anchors: Sequence[Anchor], judged: Sequence[Verdict], generation: int
) -> GateVerdict:
    scores = []
    for anchor, verdict in zip(anchors, judged, strict=True):
        scores.append(AnchorScore(transcript=anchor.name, gold=anchor.gold, judged=verdict.quality))
    overall = _correlate(scores)
    return GateVerdict(
        judge=judge.name,
        identity=judge.identity,
        generation=generation,
        transcripts=overall,
        steps=_correlate_steps(anchors, judged),
        scenarios=_correlate_scenarios(anchors, scores),
        disagreements=agreement.disagreements(scores),
        scores=tuple(scores),
        refusal=refusal(overall),
    )


def _correlate(scores: Sequence[AnchorScore]) -> Correlation:
    return agreement.correlate([score.gold for score in scores], [score.judged for score in scores])


def _correlate_scenarios(
    anchors: Sequence[Anchor], scores: Sequence[AnchorScore]
) -> dict[str, Correlation]:
    """Scenario -> the correlation over its transcripts, sorted by scenario."""
    by_scenario: dict[str, list[AnchorScore]] = {}
    for anchor, score in zip(anchors, scores, strict=True):
        by_scenario.setdefault(anchor.scenario, []).append(score)
    return {name: _correlate(of_one) for name, of_one in sorted(by_scenario.items())}


def _correlate_steps(anchors: Sequence[Anchor], judged: Sequence[Verdict]) -> Correlation:
    """Over every step of every transcript; steps of one transcript are drawn together."""
    gold: list[float] = []
    qualities: list[float] = []
    transcripts: list[int] = []
    for index, (anchor, verdict) in enumerate(zip(anchors, judged, strict=True)):
        gold += anchor.gold_steps
        qualities += [step.quality for step in verdict.steps]
        transcripts += [index] * len(anchor.gold_steps)
    return agreement.correlate(gold, qualities, transcripts)


def refusal(overall: Correlation) -> str:
    """Why the gate stays closed on the correlation over transcripts; empty if it opens."""
    if overall.n < MIN_TRANSCRIPTS:
        return (
            f"{overall.n} frozen transcripts are too few to rank by; {MIN_TRANSCRIPTS} is the least"
        )
    if overall.rho is None:
        return f"there is no rank correlation: {overall.reason}"
    # A rho of exactly 0.85 can come out as 0.8499999999999999.
    if overall.rho < MIN_RHO - agreement.ROUNDING:
        return (
            "Spearman's rho between judged scores and hand grades "
            f"is {overall.rho:.3f}, below {MIN_RHO}"
        )
    return ""
