"""What the judge says of the anchors, beside the hand grades: the figures that the gate goes by."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from runner.catalog.catalog import Catalog, LoadedScenario, load_catalog
from runner.gate import calibration_data, qualities, requirements, verdicts
from runner.gate.calibration_data import Anchor, CriterionWeights
from runner.gate.exact_examination import examine_keys
from runner.gate.pairs import Pair, StepQuestion, is_junk, pairs_of, shuffled_steps
from runner.gate.requirements import ExaminationMode
from runner.gate.short_form import short_anchors, short_pairs
from runner.protocols import ByKey, Judge, Log, OpenLineSource
from runner.records import (
    AnchorScore,
    AnchorsLock,
    Correlation,
    Examination,
    GateVerdict,
    JudgeLock,
    KeptReading,
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
    readings: Mapping[str, KeptReading] = field(default_factory=dict)
    """The same keys, of a judge that varies."""
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
    short: bool | None = None,
) -> Examined:
    """Judge every anchor under the rubrics as they are, and every pair as `pairs` says.

    `short`: those of the short form alone; None as the judge was accepted.

    `lock` gives the gold's weights and the verdicts to believe; None takes the rubrics' weights and
    no stored verdict. `in_use`: shipped questions that a judge by key is to vouch for; None for
    all. `root`: where verdicts and examinations are kept, and the catalog if none is given. Raises
    CatalogError, AnchorsDrifted or NoVerdict as what it reads does.
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
    if short is None:
        short = bool(locked and locked.short)
    paper = paper_of(catalog, gold_weights, sources, short=short)
    judged = verdicts.verdicts_of(root, judge, paper.anchors, locked.verdicts if locked else {})
    asked = _JudgeExaminer(root=root, judge=judge, locked=locked, log=log)
    said, examination = asked.examined(paper, judged, pairs)
    verdict = _gate_verdict(judge, paper.anchors, judged, generation, examination)
    return Examined(
        anchors=tuple(paper.anchors),
        judged=tuple(judged),
        qualities=said.qualities,
        readings=said.readings,
        verdict=verdict.model_copy(update={"short": short, "readings": len(said.readings)}),
    )


@dataclass(frozen=True, kw_only=True)
class Paper:
    """What a judge is examined on."""

    anchors: Sequence[Anchor]
    scenarios: Sequence[LoadedScenario]
    """The held-out ones."""
    short: bool

    # Made when asked for: a gate that believes an accepted examination has no use for them.
    @cached_property
    def pairs(self) -> Sequence[Pair]:
        make = short_pairs if self.short else pairs_of
        return make(self.anchors, self.scenarios)

    @property
    def asked_pairs(self) -> Iterator[Pair]:
        return (pair for pair in self.pairs if pair.asked)

    def questions(self) -> Iterator[StepQuestion]:
        """Both sides of each asked pair, and every anchor that is no junk with words shuffled."""
        for pair in self.asked_pairs:
            yield pair.better
            yield pair.other
        for anchor in self.anchors:
            if not is_junk(anchor):
                yield from shuffled_steps(anchor)


def paper_of(
    catalog: Catalog,
    gold_weights: Mapping[str, CriterionWeights] | None,
    sources: OpenLineSource | None,
    *,
    short: bool,
) -> Paper:
    """Raises CatalogError as what it reads does."""
    anchors = calibration_data.load_anchors(catalog, gold_weights, sources)
    if short:
        anchors = short_anchors(anchors)
    return Paper(anchors=anchors, scenarios=calibration_data.held_out(catalog), short=short)


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
class _KeptAnswers:
    qualities: Mapping[str, float]
    readings: Mapping[str, KeptReading]


@dataclass(frozen=True, kw_only=True)
class _JudgeExaminer:
    """A judge, and what the lock holds of its examination."""

    root: Path
    judge: Judge
    locked: JudgeLock | None
    log: Log

    def examined(
        self, paper: Paper, judged: Sequence[Verdict], asking: ExaminationMode
    ) -> tuple[_KeptAnswers, Examination]:
        """The figure of each side of each pair, and what follows."""
        accepted = qualities.stored(self.root, self.judge, self.locked)
        said = _KeptAnswers(qualities={}, readings={})
        if accepted:
            said = _KeptAnswers(qualities=accepted.qualities, readings=accepted.readings)
        if asking == "none":
            return said, accepted.examination if accepted else requirements.not_examined()
        if asking == "new" or self.judge.deterministic:
            said = self._answers(paper, said, asking)
        else:
            qualities.refuse_invented(self.judge, paper.questions(), said.readings)
        overall = [verdict.quality for verdict in judged]
        return said, requirements.examination(
            paper.anchors, overall, paper.pairs, said.qualities, short=paper.short
        )

    def _answers(
        self, paper: Paper, accepted: _KeptAnswers, asking: ExaminationMode
    ) -> _KeptAnswers:
        if self.judge.deterministic:
            known, readings = {}, None
        else:
            known, readings = dict(accepted.qualities), dict(accepted.readings)
        figures = qualities.ask(self.judge, paper.questions(), known, self.log, readings=readings)
        figures |= qualities.compare_pairs(self.judge, paper.asked_pairs, known, self.log)
        if asking == "again":
            qualities.refuse_others(self.judge, figures, accepted.qualities)
        return _KeptAnswers(qualities=figures, readings=readings or {})


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
