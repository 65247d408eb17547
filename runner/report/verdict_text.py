"""Verdicts as text: of one answer down to each fact, of a run, and how far readings lie apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from runner.records import FactVerdict, StepVerdict, Verdict
from runner.records.run_store import LoadedCell, LoadedRun
from runner.scoring import statistics
from runner.scoring.judge_repeatability import (
    SMALLEST_DELTA,
    JudgeNoise,
    Spread,
    agreement_units,
    ratings_of,
)

FACT_MARKS = {"stated": "ok  ", "partial": "part", "absent": "----", "contradicted": "FAIL"}
QUOTE_CHARS = 160


def verdict_text(scenario: str, verdict: Verdict) -> str:
    return "\n".join(_lines(scenario, verdict))


def _lines(scenario: str, verdict: Verdict) -> Iterator[str]:
    yield f"{scenario}: quality {verdict.quality:.3f}, judged by {verdict.judge}"
    for rating in verdict.ratings:
        yield f"  {rating.quality:.3f} by {rating.judge}, reading {rating.duplicate}"
    for step in verdict.steps:
        yield f"{step.name}: {step.quality:.3f}"
        yield from _criteria(verdict, step)
        for claim in verdict.false_claims:
            if claim.step == step.name:
                yield f"  false ({claim.criterion}, {claim.credit:+.2f}): “{_cut(claim.quote)}”"
                yield f"       {claim.path}:{claim.line} contradicts it"


def _criteria(verdict: Verdict, step: StepVerdict) -> Iterator[str]:
    for name, criterion in step.criteria.items():
        facts = [fact for fact in verdict.facts if (fact.step, fact.criterion) == (step.name, name)]
        # A judge that says what it made of each fact has given its reasons there.
        reason = "" if facts else f"  {criterion.reason}"
        yield f"  {name}: {criterion.score:.3f}{reason}"
        for fact in facts:
            yield from _fact(fact)


def _fact(fact: FactVerdict) -> Iterator[str]:
    why = f" ({fact.reason})" if fact.reason else ""
    yield f"    {FACT_MARKS[fact.verdict]} {fact.credit:+.2f} {fact.says}{why}"
    if fact.quote:
        yield f"         “{_cut(fact.quote)}”"


def _cut(quote: str) -> str:
    line = " ".join(quote.split())
    return line if len(line) <= QUOTE_CHARS else f"{line[:QUOTE_CHARS]}…"


# --- a run ----------------------------------------------------------------------------------

CriterionPlace = tuple[str, str, str]
"""(scenario, step, criterion)."""


def run_json(loaded: LoadedRun) -> dict[str, Any]:
    """Of each answer its quality; of each criterion the difference from the shell, if it is one."""
    answers = [_answer_json(cell) for cell in loaded.cells]
    units = agreement_units(verdict for cell in loaded.cells if (verdict := _verdict_of(cell)))
    return {
        "run": loaded.plan.run,
        "answers": answers,
        "criteria": [_delta_json(*item) for item in criterion_deltas(loaded).items()],
        "alpha": statistics.alpha(units),
    }


def _answer_json(cell: LoadedCell) -> dict[str, Any]:
    verdict = _verdict_of(cell)
    return {
        "cell": cell.cell.id,
        "scenario": cell.cell.scenario,
        "server": cell.cell.server,
        "model": cell.cell.model,
        "trial": cell.cell.trial,
        "judge": verdict.judge if verdict else None,
        "quality": verdict.quality if verdict else None,
        "reason": "" if verdict else _why_not(cell),
    }


def _delta_json(place: tuple[str, CriterionPlace], delta: float) -> dict[str, Any]:
    arm, (scenario, step, criterion) = place
    return {
        "arm": arm,
        "scenario": scenario,
        "step": step,
        "criterion": criterion,
        "difference": _shown_delta(delta),
    }


def run_lines(loaded: LoadedRun) -> Iterator[str]:
    found = []
    for cell in loaded.cells:
        where = f"{cell.cell.scenario} × {cell.cell.server} × {cell.cell.model} #{cell.cell.trial}"
        verdict = _verdict_of(cell)
        if verdict is None:
            yield f"  —     {where}: {_why_not(cell)}"
            continue
        found.append(verdict)
        readings = ", ".join(f"{rating.quality:.3f}" for rating in ratings_of(verdict))
        yield f"  {verdict.quality:.3f} {where} ({verdict.judge}: {readings})"
    deltas = criterion_deltas(loaded)
    if deltas:
        yield f"criteria against the shell (below {SMALLEST_DELTA} no difference is shown):"
    for (arm, place), delta in deltas.items():
        if _shown_delta(delta) is not None:
            yield f"  {delta:+.2f} {arm}: {' / '.join(place)}"
    alpha = statistics.alpha(agreement_units(found))
    if alpha is not None:
        yield f"Krippendorff's alpha of the panel, interval, over criteria: {alpha:.3f}"


def _verdict_of(cell: LoadedCell) -> Verdict | None:
    return cell.scorecard.fairness.verdict if cell.scorecard else None


def _why_not(cell: LoadedCell) -> str:
    if not cell.measured or not cell.believed:
        return "not measured"
    quality = cell.scorecard.fairness.parts.get("llm_quality") if cell.scorecard else None
    return getattr(quality, "reason", "not judged")


def criterion_deltas(loaded: LoadedRun) -> dict[tuple[str, CriterionPlace], float]:
    """(arm, criterion) -> the arm's mean less the shell's, of the trials that both have."""
    scores: dict[tuple[str, str, CriterionPlace], dict[tuple[str, int], float]] = defaultdict(dict)
    for cell in loaded.cells:
        verdict = _verdict_of(cell)
        for step in verdict.steps if verdict else ():
            for name, criterion in step.criteria.items():
                place = cell.cell.scenario, step.name, name
                trial = cell.cell.model, cell.cell.trial
                scores[cell.cell.server, cell.cell.model, place][trial] = criterion.score
    deltas = {}
    for (server, model, place), own in scores.items():
        baseline: Mapping[tuple[str, int], float] = scores.get(("shell", model, place), {})
        shared = own.keys() & baseline.keys()
        if server != "shell" and shared:
            gaps = [own[trial] - baseline[trial] for trial in sorted(shared)]
            deltas[f"{server} × {model}", place] = statistics.mean(gaps)
    return deltas


def _shown_delta(delta: float) -> float | None:
    """None for what is no difference."""
    return round(delta, 3) if abs(delta) >= SMALLEST_DELTA else None


# --- noise ----------------------------------------------------------------------------------


def noise_text(noise: JudgeNoise) -> str:
    return "\n".join(_noise_lines(noise))


def _noise_lines(noise: JudgeNoise) -> Iterator[str]:
    yield f"{noise.answers} answers, judged by {', '.join(noise.judges) or 'nobody'}"
    layers = {"criterion": noise.criterion, "step": noise.step, "scenario": noise.scenario}
    for name, spread in layers.items():
        if spread:
            yield f"  {name:10} {_sd(spread)}"
    for spread in noise.each:
        yield f"    {' / '.join(spread.place)}: {_sd(spread)}"
    for place in noise.rewrite:
        yield f"rewrite: {' / '.join(place)}"
    if noise.alpha is not None:
        yield f"Krippendorff's alpha, interval: {noise.alpha:.3f}, n = {noise.alpha_units}"
    yield noise.says


def _sd(spread: Spread) -> str:
    return f"sd {spread.sd:.3f} (n - 1; {spread.answers} answers, {spread.readings} readings)"
