"""Fairness: was the answer better, faster, cheaper? (DESIGN.md, Scores)

It is the weighted sum of the parts in `FAIRNESS`. A new part is a function of `Evidence`, and a line there.
Its scorers see the answer and what it cost. They see no tool call, and no arm's name.

Citation grounding is the harmonic mean (F1) of two parts, both printed beside it:

- precision: the headline rate. In a step that cites more than 80 places, or six times those it asks for, it falls with the square: one
  can cite every line of a file, and each of them exists;
- recall, wherever the scenario lists `must_cite`: the share of those places that a citation of that step points at. Without it one safe
  citation would score 1.0.

Where nothing is listed it is the precision. No citations score 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from runner.errors import NoVerdict
from runner.grounding.pointing import spray_share
from runner.grounding.verify import Grounding, cited_files, ground
from runner.grounding.verify import must_cite_recall as recalled
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
from runner.scoring.keywords import keyword_coverage
from runner.scoring.weights import Part, weighted


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All a fairness scorer may look at."""

    scenario: Scenario
    answer: Answer
    effort: Effort
    citations: tuple[tuple[Citation, ...], ...]
    """Of each step alone, as verified at the commit."""
    files_cited: tuple[int, ...]
    """Per step: distinct files of the commit, with a line or without."""
    grounding: GroundingSummary
    """Of the whole answer, each citation once."""
    verdict: Verdict | Unscored


def _keywords(evidence: Evidence) -> Score:
    return keyword_coverage(evidence.scenario, evidence.answer, evidence.files_cited)


def _quality(evidence: Evidence) -> Score:
    verdict = evidence.verdict
    return (
        verdict
        if isinstance(verdict, Unscored)
        else Scored(value=verdict.quality, detail=f"judged by {verdict.judge}")
    )


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


FairnessScorer = Callable[[Evidence], Score]

FAIRNESS: dict[str, Part[FairnessScorer]] = {
    "keyword_coverage": Part(
        score=_keywords, weight=0.10, label="keyword coverage", short="keyw.", term="keywords"
    ),
    "llm_quality": Part(
        score=_quality, weight=0.55, label="quality", short="quality", heading="judged quality"
    ),
    "citation_grounding": Part(
        score=citation_grounding,
        weight=0.15,
        label="grounding",
        short="ground.",
        heading="citation grounding",
    ),
    "efficiency": Part(score=_efficiency, weight=0.20, label="efficiency", short="effic."),
}


def precision_of(evidence: Evidence) -> float | None:
    """The headline rate, times what is left of it in steps that spray. None where there are no citations."""
    counts = [
        sum(citation.start is not None for citation in citations)
        for citations in evidence.citations
    ]
    if not any(counts) or evidence.grounding.headline_rate is None:
        return None
    shares = [
        spray_share(count, len(step.must_cite))
        for count, step in zip(counts, evidence.scenario.steps, strict=True)
    ]
    return (
        evidence.grounding.headline_rate
        * math.fsum(count * share for count, share in zip(counts, shares, strict=True))
        / sum(counts)
    )


def must_cite_recall(evidence: Evidence) -> Score:
    """Share of the scenario's `must_cite` places that a citation of the same step points at (±5 lines)."""
    found = [
        hit
        for step, said in zip(evidence.scenario.steps, evidence.citations, strict=True)
        for hit in recalled(said, step.must_cite)
    ]
    if not found:
        return Unscored(reason="the scenario lists no must_cite places")
    return Scored(value=sum(found) / len(found), detail=f"{sum(found)} of {len(found)} places")


def score_fairness(  # noqa: PLR0913 - see score_cell
    scenario: Scenario,
    rubric: Rubric,
    answer: Answer,
    effort: Effort,
    *,
    files: Files,
    judge: Judge | None,
    cache_dir: Path | None = None,
) -> Fairness:
    """The fairness half of a scorecard. A part that cannot be scored leaves the whole unscored, with the reason.

    `cache_dir` keeps parsed files between calls; it changes how long this takes, and nothing else.
    """
    whole, steps = verified(answer, files, cache_dir)
    evidence = Evidence(
        scenario=scenario,
        answer=answer,
        effort=effort,
        citations=steps,
        grounding=whole.summary,
        files_cited=cited_files(whole),
        verdict=_judged(judge, scenario, rubric, answer),
    )
    parts = {name: part.score(evidence) for name, part in FAIRNESS.items()}
    return Fairness(
        score=weighted(parts, FAIRNESS),
        parts=parts,
        must_cite_recall=must_cite_recall(evidence),
        grounding=whole.summary,
        citations=whole.citations,
        verdict=evidence.verdict if isinstance(evidence.verdict, Verdict) else None,
        effort=effort,
    )


def verified(
    answer: Answer, files: Files, cache_dir: Path | None
) -> tuple[Grounding, tuple[tuple[Citation, ...], ...]]:
    """The answer's citations, each once; and those of each step alone, since a place counts in the step that asks for it."""
    texts = [step.text for step in answer.steps]
    whole = ground(texts, files, cache_dir=cache_dir)
    return whole, tuple(
        ground(text, files, cache_dir=cache_dir).citations if text else () for text in texts
    )


def _judged(
    judge: Judge | None, scenario: Scenario, rubric: Rubric, answer: Answer
) -> Verdict | Unscored:
    if judge is None:
        return Unscored(reason="not judged yet")
    try:
        return judge.judge(rubric, answer.steps, [step.must_cite for step in scenario.steps])
    except NoVerdict as error:
        return Unscored(reason=f"no verdict: {error.what}")
