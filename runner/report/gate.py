"""The gate's verdict, and what a change of its lock would do, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from runner.anchors.examination import MIN_RHO
from runner.anchors.gate import Proposal
from runner.records import Correlation, Disagreement, GateVerdict


def gate_text(verdict: GateVerdict) -> str:
    return "\n".join(_lines(verdict))


def _lines(verdict: GateVerdict) -> Iterator[str]:
    generation = f"generation {verdict.generation}" if verdict.generation else "no generation yet"
    yield f"anchors: {generation}, judge {verdict.judge} {verdict.identity[:12]}"
    yield f"  transcripts  {_correlation(verdict.transcripts)}   (at least {MIN_RHO} opens the gate)"
    yield f"  steps        {_correlation(verdict.steps)}"
    for name, correlation in verdict.scenarios.items():
        yield f"  {name:34} {_correlation(correlation)}"
    if verdict.disagreements:
        yield "ranked the other way round by the judge, furthest first (by hand, judged):"
    for pair in verdict.disagreements:
        yield f"  {_pair(pair)}"
    for scenario in verdict.unlocked:
        yield f"not locked yet: {scenario} (`fairtrial anchors accept` it before a gated run)"


def _correlation(found: Correlation) -> str:
    counts = f"n = {found.n}, ties: {found.ties_gold} by hand, {found.ties_judged} judged"
    if found.rho is None:
        return f"no rho: {found.reason}; {counts}"
    interval = "" if found.low is None else f" [{found.low:.2f}, {found.high:.2f}]"
    return f"rho = {found.rho:.3f}{interval}, {counts}"


def _pair(pair: Disagreement) -> str:
    one, other = pair.better, pair.worse
    return f"{one.transcript} ({one.gold:.2f}, {one.judged:.2f}) > {other.transcript} ({other.gold:.2f}, {other.judged:.2f})"


def proposal_text(proposal: Proposal) -> str:
    return "\n".join(_proposal_lines(proposal))


def _proposal_lines(proposal: Proposal) -> Iterator[str]:
    yield (
        "changed since the last generation:"
        if proposal.changes
        else "nothing changed since the last generation"
    )
    for change in proposal.changes:
        yield f"  {change}"
    after = proposal.verdict.transcripts.rho
    was = "none" if proposal.rho_before is None else f"{proposal.rho_before:.3f}"
    yield f"rho: {was} -> {'none' if after is None else f'{after:.3f}'}"
    yield from (gate_text(proposal.verdict).split("\n"))
    if proposal.moves:
        yield "transcripts that move (by hand; judged before -> after; rank):"
    for move in proposal.moves:
        yield f"  {move.transcript}: {move.gold:.2f}; {move.before:.3f} -> {move.after:.3f}; {move.rank_before} -> {move.rank_after}"
    for refusal in proposal.refusals:
        yield f"accept would refuse: {refusal.what}"
    if proposal.changes and not proposal.refusals:
        yield "accept would take it: fairtrial anchors accept --reason …"
