"""Fairness: was the answer better, faster, cheaper? (seed 002, step 3)

    fairness = 0.10·keyword_coverage + 0.55·llm_quality + 0.15·citation_grounding + 0.20·efficiency

These scorers see the answer and what it cost. They see no tool call, and no arm's name.

Citation grounding is the harmonic mean (F1) of two parts, both printed beside it:

- precision: grounded citations / citations. In a step that cites more than 80 places, or six times those it asks for, the grounded ones
  lose their worth with the square: one can cite every line of a file, and each of them exists;
- recall, wherever the scenario lists `must_cite`: the share of those places that a grounded citation of that step points at. Without it
  one safe citation would score 1.0.

Where nothing is listed it is the precision. No citations score 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runner.errors import NoVerdict
from runner.protocols import Files, Judge
from runner.records import (
    Answer,
    Citation,
    Effort,
    Fairness,
    GroundingSummary,
    Rubric,
    Scenario,
    Score,
    Scored,
    Unscored,
    Verdict,
)
from runner.scoring.efficiency import efficiency
from runner.scoring.judge import points_at, spray_share
from runner.scoring.keywords import keyword_coverage
from runner.scoring.weights import weighted

WEIGHTS = {"keyword_coverage": 0.10, "llm_quality": 0.55, "citation_grounding": 0.15, "efficiency": 0.20}
"""DESIGN.md, Scores: the published weights of the harness that seed 002 describes."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All a fairness scorer may look at."""

    scenario: Scenario
    answer: Answer
    effort: Effort
    citations: tuple[tuple[Citation, ...], ...]
    """Per step, as verified at the commit."""
    verdict: Verdict | Unscored


def _keywords(evidence: Evidence) -> Score:
    return keyword_coverage(evidence.scenario, evidence.answer, [files_cited(step) for step in evidence.citations])


def _quality(evidence: Evidence) -> Score:
    verdict = evidence.verdict
    return verdict if isinstance(verdict, Unscored) else Scored(value=verdict.quality, detail=f"judged by {verdict.judge}")


def _efficiency(evidence: Evidence) -> Score:
    return efficiency(evidence.effort, evidence.scenario.budget)


def citation_grounding(evidence: Evidence) -> Score:
    """F1 of spray-aware precision and must-cite recall; see the module's docstring."""
    precision, recall = precision_of(evidence), must_cite_recall(evidence)
    if precision is None:
        return Scored(value=0.0, detail="no citations")
    if isinstance(recall, Unscored):
        return Scored(value=precision, detail=f"precision {precision:.2f}")
    both = precision + recall.value
    value = 2 * precision * recall.value / both if both else 0.0
    return Scored(value=value, detail=f"precision {precision:.2f}, recall {recall.value:.2f}")


FAIRNESS: dict[str, Callable[[Evidence], Score]] = {
    "keyword_coverage": _keywords,
    "llm_quality": _quality,
    "citation_grounding": citation_grounding,
    "efficiency": _efficiency,
}


def precision_of(evidence: Evidence) -> float | None:
    """Grounded / all citations with a line, a spraying step's grounded ones worth less. None where there are none."""
    total, grounded = 0, 0.0
    for step, citations in zip(evidence.scenario.steps, evidence.citations, strict=True):
        counted = [citation for citation in citations if citation.start is not None]
        total += len(counted)
        share = spray_share(len(counted), len(step.must_cite))
        grounded += share * sum(citation.status == "grounded" for citation in counted)
    return grounded / total if total else None


def must_cite_recall(evidence: Evidence) -> Score:
    """Share of the scenario's `must_cite` places that a grounded citation of the same step points at (±5 lines)."""
    listed = found = 0
    for step, citations in zip(evidence.scenario.steps, evidence.citations, strict=True):
        good = [citation for citation in citations if citation.status == "grounded" and citation.start is not None]
        listed += len(step.must_cite)
        found += sum(any(points_at(c.path, c.start or 0, c.end or c.start or 0, place) for c in good) for place in step.must_cite)
    if not listed:
        return Unscored(reason="the scenario lists no must_cite places")
    return Scored(value=found / listed, detail=f"{found} of {listed} places")


def files_cited(citations: Sequence[Citation]) -> int:
    """Distinct files of the commit that citations name, with a line or without."""
    return len({citation.path for citation in citations if citation.resolution in ("exact", "suffix")})


def score_fairness(  # noqa: PLR0913 - see score_cell
    scenario: Scenario, rubric: Rubric, answer: Answer, effort: Effort, *, files: Files, judge: Judge | None
) -> Fairness:
    """The fairness half of a scorecard. A part that cannot be scored leaves the whole unscored, with the reason."""
    citations = tuple(cite(step.text, files) for step in answer.steps)
    evidence = Evidence(
        scenario=scenario, answer=answer, effort=effort, citations=citations, verdict=_judged(judge, scenario, rubric, answer)
    )
    parts = {name: scorer(evidence) for name, scorer in FAIRNESS.items()}
    once = tuple({_place(citation): citation for step in citations for citation in step}.values())
    return Fairness(
        score=weighted(parts, WEIGHTS),
        keyword_coverage=parts["keyword_coverage"],
        llm_quality=parts["llm_quality"],
        citation_grounding=parts["citation_grounding"],
        efficiency=parts["efficiency"],
        must_cite_recall=must_cite_recall(evidence),
        grounding=summarise(once, files),
        citations=once,
        verdict=evidence.verdict if isinstance(evidence.verdict, Verdict) else None,
        effort=effort,
    )


def _judged(judge: Judge | None, scenario: Scenario, rubric: Rubric, answer: Answer) -> Verdict | Unscored:
    if judge is None:
        return Unscored(reason="not judged yet")
    try:
        return judge.judge(rubric, answer.steps, [step.must_cite for step in scenario.steps])
    except NoVerdict as error:
        return Unscored(reason=f"no verdict: {error.what}")


def _place(citation: Citation) -> tuple[object, ...]:
    return citation.path, citation.start, citation.end, citation.symbol, citation.resolution


def cite(text: str, files: Files) -> tuple[Citation, ...]:
    """The citations of one step's answer, verified at the commit."""
    from runner.grounding.verify import ground  # noqa: PLC0415 - grammars load only where citations are verified

    return tuple(ground(text, files))


def summarise(citations: Sequence[Citation], files: Files) -> GroundingSummary:
    from runner.grounding.verify import summarise as parts  # noqa: PLC0415 - see above

    return parts(citations, files)
