"""A verdict as text: quality, steps, criteria, and what was made of each fact."""

from __future__ import annotations

from collections.abc import Iterator

from runner.records import FactVerdict, StepVerdict, Verdict

MARKS = {"stated": "ok  ", "partial": "part", "absent": "----", "contradicted": "FAIL"}
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
    yield f"    {MARKS[fact.verdict]} {fact.credit:+.2f} {fact.says}{why}"
    if fact.quote:
        yield f"         “{_cut(fact.quote)}”"


def _cut(quote: str) -> str:
    line = " ".join(quote.split())
    return line if len(line) <= QUOTE_CHARS else f"{line[:QUOTE_CHARS]}…"
