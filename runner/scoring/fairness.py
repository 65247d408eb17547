"""Fairness: was the answer better, faster, cheaper? (docs/scores.md)

It is the weighted sum of the parts in `FAIRNESS`. A new part is a function of `Evidence`, and a
line there. Its scorers see the answer and what it cost. They see no tool call, and no arm's name.

Citation grounding is the harmonic mean (F1) of two figures, both printed beside it:

- precision: how much of what the citations say holds, beyond what random lines of the same files
  would (`trust`, chance-corrected as Cohen's kappa is), times what a step leaves of it (`_share`):
  it falls with the square past an allowance of places, of lines covered, and of places of which
  nothing is said but what stands there. One can cite every line of a file, and each exists; ranges
  that tile it hold whatever is asked for; its outline names every definition;
- recall, if the scenario lists `must_cite`: the share of those places that a citation of that step
  points at, less for a wide range. Without it, one safe citation would score 1.0.

If nothing is listed, it is the precision. No citations score 0.

Where a scenario asks for places, judged quality counts as far as the places hold (`places_held`).
Grounding is .15 of fairness: without this, good words at lines that are all wrong would be worth
more than plain words at the right ones. No citations take nothing away: they mislead nobody.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from runner.catalog.commit_lines import CommitLines
from runner.grounding.pointing import lines_share, mute_share, spray_share
from runner.grounding.rates import covered_lines, rate
from runner.grounding.verify import cited_files, ground, step_citations
from runner.grounding.verify import must_cite_recall as recalled
from runner.protocols import Files, Judge
from runner.records import (
    Answer,
    Citation,
    Effort,
    Fairness,
    Rubric,
    RubricStep,
    Scenario,
    Score,
    Scored,
    Unscored,
    Verdict,
)
from runner.scoring.efficiency import efficiency
from runner.scoring.judges.exact_judge import Exact
from runner.scoring.keywords import keyword_coverage
from runner.scoring.score_parts import Part, weighted
from runner.scoring.steps import must_find
from runner.support.errors import NoVerdict

MUTE_WEIGHT = 0.1
"""At most, of a place that holds and of which nothing is said: eighty imports that nobody asked for
would make a score of .9 of eight wrong lines."""
UNTOLD_WEIGHT = 0.2
"""Of lines that exist, with neither a symbol nor words to tell whether they are the right ones. At
none, 79 of them beside one true symbol would be a score of 1.0."""
TRUST_IN_FULL = 0.7
"""Quality counts in full from here: 41 of 42 answers as written, all nine references."""
NO_TRUST = 0.4
"""It counts for least up to here: two thirds of those answers with every line moved by 20."""
LEAST_HELD = 0.3
"""What it still counts for. People grade a right text at stale lines half as high. At .3, moved
references with believed words beat 1 of 96 honest answers, at .5 they beat 26; at 0, fairness would
follow the hand grades of anchors less (rho .71; .77 at .3; .81 without a price)."""
FEWEST_TESTED = 5.0
"""Weight of citations that an answer is judged by. One that fails may be misread by us."""


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
    cited: tuple[Citation, ...]
    """Of the whole answer, each citation once."""
    verdict: Verdict | Unscored
    is_keyed: bool = False
    """Its steps have a key: quality is F1 over places."""


# --- the parts ------------------------------------------------------------------------------


def _keywords(evidence: Evidence) -> Score:
    return keyword_coverage(evidence.scenario, evidence.answer, evidence.files_cited)


def _quality(evidence: Evidence) -> Score:
    verdict = evidence.verdict
    if isinstance(verdict, Unscored):
        return verdict
    if evidence.is_keyed:
        # What it cites is its answer: charged again for places that fail, it would pay twice.
        return Scored(value=verdict.quality, detail=_by_key(verdict))
    judged = f"judged by {verdict.judge}"
    held = places_held(evidence)
    if held < 1:
        judged = f"{verdict.quality:.2f} {judged}, times {held:.2f}: many of its places fail"
    return Scored(value=verdict.quality * held, detail=judged)


def _by_key(verdict: Verdict) -> str:
    reasons = [it.reason for step in verdict.steps for it in step.criteria.values()]
    return ", ".join(reasons)


def _efficiency(evidence: Evidence) -> Score:
    return efficiency(evidence.effort, evidence.scenario.budget)


def citation_grounding(evidence: Evidence) -> Score:
    """F1 of spray-aware precision and must-cite recall; see the module's docstring."""
    precision = precision_of(evidence)
    if precision is None and _owes_no_citation(evidence):
        return _quality(evidence)
    if precision is None:
        return Scored(value=0.0, detail="no citations")
    recall = must_cite_recall(evidence)
    if isinstance(recall, Unscored):
        return Scored(value=precision, detail=f"precision {precision:.2f}")
    return Scored(
        value=_harmonic_mean(precision, recall.value),
        detail=f"precision {precision:.2f}, recall {recall.value:.2f}",
    )


def _owes_no_citation(evidence: Evidence) -> bool:
    """There is none, and it says no more than that."""
    return evidence.is_keyed and not any(step.must_cite for step in evidence.scenario.steps)


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
    """What holds, times what is left of it in steps that spray. None without citations."""
    counts = list(map(_places, evidence.citations))
    held = trust(evidence.cited)
    if held is None or not any(counts):
        return None
    kept = []
    for count, step, cited in zip(counts, evidence.scenario.steps, evidence.citations, strict=True):
        share = _share(cited, len(step.must_cite))
        kept.append(count * share)
    return held * math.fsum(kept) / sum(counts)


def _share(citations: Sequence[Citation], asked_for: int) -> float:
    """What is left of the worth of a step's places."""
    mute = sum(citation.mute for citation in citations)
    return (
        spray_share(_places(citations), asked_for)
        * lines_share(covered_lines(citations), asked_for)
        * mute_share(mute, asked_for)
    )


def trust(citations: Iterable[Citation]) -> float | None:
    """0 to 1: 1 − failed / those that would fail were every line random; None without a line.

    That is (observed − chance) / (1 − chance), at least 0. Each citation goes by the test that
    says more of it: is its symbol there, or are the words that speak of it? So a bare line is no
    free line: it holds if it is not weak. What neither test can tell counts little, and half.
    """
    tested = [_test(citation) for citation in citations if citation.start is not None]
    failed = rate(
        math.fsum(test.failed for test in tested), math.fsum(test.weight for test in tested)
    )
    return None if failed is None else max(0.0, 1 - failed)


def places_held(evidence: Evidence) -> float:
    """What judged quality counts for; 1 in a scenario that asks for no places.

    From `LEAST_HELD` at `NO_TRUST` to 1 at `TRUST_IN_FULL`. The tests that can tell nothing fail
    nothing here.
    """
    if not any(step.must_cite for step in evidence.scenario.steps):
        return 1.0
    tested = [_test(citation) for citation in evidence.cited if citation.start is not None]
    failed = math.fsum(test.failed for test in tested if test.tells)
    weight = max(FEWEST_TESTED, math.fsum(test.weight for test in tested))
    over = (1 - failed / weight - NO_TRUST) / (TRUST_IN_FULL - NO_TRUST)
    return LEAST_HELD + (1 - LEAST_HELD) * min(1.0, max(0.0, over))


class _Tested(NamedTuple):
    """A citation after the test that says more of it."""

    weight: float
    """The share of the file's places that fail the test."""
    failed: float
    tells: bool = True


def _test(citation: Citation) -> _Tested:
    words = citation.weak_share or 0.0
    weight = max(citation.weight, words, UNTOLD_WEIGHT)
    if citation.status != "grounded":
        return _Tested(weight, 1.0)
    if citation.mute and not citation.weak:
        return _Tested(min(weight, MUTE_WEIGHT), 0.0)
    if weight == UNTOLD_WEIGHT:
        return _Tested(weight, weight / 2, tells=False)
    if words > citation.weight:
        return _Tested(weight, float(citation.weak))
    return _Tested(weight, 0.0)


def _places(citations: Sequence[Citation]) -> int:
    # A file cited without a line points at no place: it can be neither right nor wrong.
    return sum(citation.start is not None for citation in citations)


def must_cite_recall(evidence: Evidence) -> Score:
    """Share of the `must_cite` places that a citation of the same step points at, within 5 lines.

    A wide range shows less of a place.
    """
    hits: list[float] = []
    for step, citations in zip(evidence.scenario.steps, evidence.citations, strict=True):
        hits += recalled(citations, step.must_cite)
    if not hits:
        return Unscored(reason="the scenario lists no must_cite places")
    return Scored(value=sum(hits) / len(hits), detail=f"{sum(hits):.3g} of {len(hits)} places")


def _harmonic_mean(precision: float, recall: float) -> float:
    total = precision + recall
    if not total:
        return 0.0
    return 2 * precision * recall / total


# --- the sum --------------------------------------------------------------------------------


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
    """The fairness half of a scorecard. A part that cannot be scored leaves the whole unscored.

    `cache_dir` keeps parsed files between calls; it changes how long this takes, and nothing else.
    """
    texts = [step.text for step in answer.steps]
    whole = ground(texts, files, cache_dir=cache_dir)
    citations = step_citations(whole)
    if rubric.is_keyed:
        # Whoever judges the run: a key is the whole answer, and nobody has to be asked.
        verdict: Verdict | Unscored = Exact().verdict(
            rubric, answer.steps, must_find(scenario), citations
        )
    else:
        verdict = _judged(judge, scenario, rubric, answer, files)
    evidence = Evidence(
        scenario=scenario,
        answer=answer,
        effort=effort,
        citations=citations,
        cited=whole.citations,
        files_cited=cited_files(whole),
        verdict=verdict,
        is_keyed=rubric.is_keyed,
    )
    parts = {name: part.score(evidence) for name, part in FAIRNESS.items()}
    return Fairness(
        score=_sum(parts, evidence),
        parts=parts,
        must_cite_recall=must_cite_recall(evidence),
        grounding=whole.summary,
        citations=whole.citations,
        verdict=evidence.verdict if isinstance(evidence.verdict, Verdict) else None,
        effort=effort,
    )


def _sum(parts: Mapping[str, Score], evidence: Evidence) -> Score:
    """Of a question with a key the parts that it has: it asks for no keyword."""
    if not evidence.is_keyed:
        return weighted(parts, FAIRNESS)
    kept = {name: score for name, score in parts.items() if name != "keyword_coverage"}
    whole = math.fsum(FAIRNESS[name].weight for name in kept)
    scaled = {name: replace(FAIRNESS[name], weight=FAIRNESS[name].weight / whole) for name in kept}
    return weighted(kept, scaled)


def _has_facts(step: RubricStep) -> bool:
    return all(criterion.facts for criterion in step.criteria.values())


def _judged(
    judge: Judge | None, scenario: Scenario, rubric: Rubric, answer: Answer, files: Files
) -> Verdict | Unscored:
    if judge is None:
        return Unscored(reason="not judged yet")
    if scenario.unreviewed and not all(map(_has_facts, rubric.steps)):
        return Unscored(reason="the rubric is unreviewed: it has criteria without facts")
    try:
        return judge.judge(rubric, answer.steps, must_find(scenario), CommitLines(lambda: files))
    except NoVerdict as error:
        # Raised on, a judge out of reach would cost the cell its other scores as well.
        return Unscored(reason=f"no verdict: {error.what}")
