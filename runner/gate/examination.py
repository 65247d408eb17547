"""What the judge says of the anchors, beside the hand grades: the figures that the gate goes by."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.catalog.catalog import Catalog, LoadedScenario, load_catalog
from runner.gate import calibration_data, qualities, requirements, verdicts
from runner.gate.calibration_data import Anchor
from runner.gate.exact_examination import examine_keys
from runner.gate.pairs import Pair, StepQuestion, is_junk, pairs_of, shuffled_steps
from runner.gate.requirements import ExaminationMode
from runner.protocols import ByKey, Judge, Log, OpenLineSource
from runner.records import (
    AnchorScore,
    AnchorsLock,
    Correlation,
    Examination,
    GateVerdict,
    JudgeLock,
    Verdict,
)
from runner.scoring import rank_agreement
from runner.support.code_digest import makes_figures

MIN_RHO = 0.85
"""docs/gate.md. Equality passes."""
MIN_TRANSCRIPTS = 12
"""Over three anchors rho can only be ±1 or ±0.5; below a dozen one pair decides it."""

NO_ANCHORS = "it reads keys, and no anchor has one"


def silent(_: str) -> None:
    """Nobody waits."""


@dataclass(frozen=True, kw_only=True)
class Examined:
    """The anchors, what the judge said of each, and what follows."""

    anchors: tuple[Anchor, ...]
    judged: tuple[Verdict, ...]
    """Of each anchor, in their order."""
    qualities: Mapping[str, float]
    """Of each side of each pair, by key."""
    verdict: GateVerdict


@makes_figures
def examine(  # noqa: PLR0913 - what a judge is examined with, each by its name
    root: Path,
    judge: Judge,
    lock: AnchorsLock | None,
    sources: OpenLineSource | None = None,
    *,
    pairs: ExaminationMode,
    log: Log = silent,
    catalog: Catalog | None = None,
    in_use: Collection[str] | None = None,
) -> Examined:
    """Judge every anchor under the rubrics as they are, and every pair as `pairs` says.

    `lock` gives the gold's weights and the verdicts to believe; None takes the rubrics' weights and
    no stored verdict. `in_use`: shipped questions that a judge by key is to vouch for; None for
    all. Raises CatalogError, AnchorsDrifted or NoVerdict as what it reads does.
    """
    gold_weights = None
    locked: JudgeLock | None = None
    generation = 0
    if lock:
        gold_weights = lock.gold_weights
        generation = lock.generation
        locked = lock.judges.get(judge.name)
    catalog = catalog or load_catalog(root)
    if isinstance(judge, ByKey):
        known, by_keys = examine_keys(
            root, judge, locked, sources, catalog=catalog, asking=pairs, in_use=in_use, log=log
        )
        return _by_keys(judge, generation, known, by_keys)
    anchors = calibration_data.load_anchors(catalog, gold_weights, sources)
    judged = verdicts.verdicts_of(root, judge, anchors, locked.verdicts if locked else {})
    asked = _JudgeExaminer(root=root, judge=judge, locked=locked, log=log)
    figures, examination = asked.examined(
        anchors, judged, calibration_data.held_out(catalog), pairs
    )
    verdict = _gate_verdict(judge, anchors, judged, generation, examination)
    return Examined(
        anchors=tuple(anchors), judged=tuple(judged), qualities=figures, verdict=verdict
    )


def _by_keys(
    judge: Judge, generation: int, known: Mapping[str, float], examination: Examination
) -> Examined:
    """Of a judge that no anchor says anything of."""
    none = _correlate([]).model_copy(update={"reason": NO_ANCHORS})
    verdict = GateVerdict(
        judge=judge.name,
        identity=judge.identity,
        generation=generation,
        transcripts=none,
        steps=none,
        scenarios={},
        disagreements=(),
        scores=(),
        refusal="",
        examination=examination,
    )
    return Examined(anchors=(), judged=(), qualities=known, verdict=verdict)


@dataclass(frozen=True, kw_only=True)
class _JudgeExaminer:
    """A judge, and what the lock holds of its examination."""

    root: Path
    judge: Judge
    locked: JudgeLock | None
    log: Log

    def examined(
        self,
        anchors: Sequence[Anchor],
        judged: Sequence[Verdict],
        scenarios: Sequence[LoadedScenario],
        asking: ExaminationMode,
    ) -> tuple[Mapping[str, float], Examination]:
        """The figure of each side of each pair, and what follows."""
        accepted = qualities.stored(self.root, self.judge, self.locked)
        known = accepted.qualities if accepted else {}
        if asking == "none":
            return known, accepted.examination if accepted else requirements.not_examined()
        pairs = pairs_of(anchors, scenarios)
        if asking == "new" or self.judge.deterministic:
            known = self._answers(anchors, pairs, known, asking)
        overall = [verdict.quality for verdict in judged]
        return known, requirements.examination(anchors, overall, pairs, known)

    def _answers(
        self,
        anchors: Sequence[Anchor],
        pairs: Sequence[Pair],
        accepted: Mapping[str, float],
        asking: ExaminationMode,
    ) -> dict[str, float]:
        known = {} if self.judge.deterministic else accepted
        figures = qualities.ask(self.judge, _questions(anchors, pairs), known, self.log)
        figures |= qualities.compare_pairs(self.judge, pairs, known, self.log)
        if asking == "again":
            qualities.refuse_others(self.judge, figures, accepted)
        return figures


def _questions(anchors: Sequence[Anchor], pairs: Sequence[Pair]) -> Iterator[StepQuestion]:
    """Both sides of each pair, and every anchor that is no junk with its words shuffled."""
    for pair in pairs:
        yield pair.better
        yield pair.other
    for anchor in anchors:
        if not is_junk(anchor):
            yield from shuffled_steps(anchor)


def _gate_verdict(
    judge: Judge,
    anchors: Sequence[Anchor],
    judged: Sequence[Verdict],
    generation: int,
    examination: Examination,
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
        disagreements=rank_agreement.disagreements(scores),
        scores=tuple(scores),
        refusal=refusal(overall),
        examination=examination,
    )


def _correlate(scores: Sequence[AnchorScore]) -> Correlation:
    return rank_agreement.correlate(
        [score.gold for score in scores], [score.judged for score in scores]
    )


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
    return rank_agreement.correlate(gold, qualities, transcripts)


def refusal(overall: Correlation) -> str:
    """Why the gate stays closed on the correlation over transcripts; empty if it opens."""
    if overall.n < MIN_TRANSCRIPTS:
        return (
            f"{overall.n} frozen transcripts are too few to rank by; {MIN_TRANSCRIPTS} is the least"
        )
    if overall.rho is None:
        return f"there is no rank correlation: {overall.reason}"
    # A rho of exactly 0.85 can come out as 0.8499999999999999.
    if overall.rho < MIN_RHO - rank_agreement.ROUNDING:
        return (
            "Spearman's rho between judged scores and hand grades "
            f"is {overall.rho:.3f}, below {MIN_RHO}"
        )
    return ""
