"""The gate's verdict, and what a change of its lock would do, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runner.gate.examination import MIN_RHO
from runner.gate.gate import AcceptPreview
from runner.gate.requirements import requirement_line
from runner.records import Correlation, Disagreement, Examination, GateVerdict, TrivialRater
from runner.support.errors import GateError


def gate_text(verdict: GateVerdict) -> str:
    return "\n".join(_lines(verdict))


def refusal_json(error: GateError) -> dict[str, Any]:
    return {
        "passed": False,
        "exit_code": error.exit_code,
        "refusal": error.what,
        "hint": error.hint,
        "drifts": [vars(drift) for drift in getattr(error, "drifts", ())],
    }


def _lines(verdict: GateVerdict) -> Iterator[str]:
    generation = f"generation {verdict.generation}" if verdict.generation else "no generation yet"
    yield f"anchors: {generation}, judge {verdict.judge} {verdict.identity[:12]}"
    yield from _examined(verdict)
    if not verdict.transcripts.n and verdict.transcripts.reason:
        yield f"  no rho: {verdict.transcripts.reason}"
    else:
        transcripts = _correlation(verdict.transcripts)
        yield f"  transcripts  {transcripts}   (at least {MIN_RHO} opens the gate)"
        yield f"  steps        {_correlation(verdict.steps)}"
    for name, correlation in verdict.scenarios.items():
        yield f"  {name:34} {_correlation(correlation)}"
    if verdict.disagreements:
        yield "ranked the other way round by the judge, furthest first (by hand, judged):"
    for pair in verdict.disagreements:
        yield f"  {_pair(pair)}"
    if verdict.history:
        yield verdict.history
    yield from _examination(verdict.examination)
    for scenario in verdict.unlocked:
        yield f"not locked yet: {scenario} (`fairtrial anchors accept` it before a gated run)"


def _examined(verdict: GateVerdict) -> Iterator[str]:
    """By whom, on what, and whose gold it is."""
    if verdict.own:
        yield f"  accepted by this project's own lock, {verdict.own}"
    if verdict.short:
        drawn = f"{verdict.transcripts.n} anchors and a part of the pairs"
        yield f"  examined by the short form: {drawn}, drawn before it was asked"
    if verdict.people:
        yield f"  people who have graded anchors: {verdict.people}"
    elif verdict.transcripts.n:
        yield "  no person has graded an anchor yet: all hand grades are by language models"
    if verdict.readings:
        yield f"  readings kept with their quotes: {verdict.readings}"


def _examination(examination: Examination) -> Iterator[str]:
    yield "before it may rank anyone, a judge is asked for (figure, bound, n):"
    for asked in examination.requirements:
        yield requirement_line(asked)
    if examination.trivial:
        yield "beside it, raters that do not read (rho and pairs, no junk; rho with the junk):"
    for rater in examination.trivial:
        yield f"  {rater.name:34} {_trivial(rater)}"


def _trivial(rater: TrivialRater) -> str:
    return f"{_rho(rater.rho)}, {_rho(rater.concordance)}; {_rho(rater.rho_all)}"


def standing_text(verdict: GateVerdict) -> str:
    """The last line: which of the two the judge is, and what follows."""
    judge, examination = verdict.judge, verdict.examination
    if examination.standing == "ranks":
        return f"{judge} RANKS: all {len(examination.requirements)} requirements are met"
    return (
        f"{judge} SCREENS: {len(examination.unmet)} of {len(examination.requirements)} "
        "requirements are not met. Its figures are printed as screening, and rank nobody"
    )


def _correlation(correlation: Correlation) -> str:
    ties = f"ties: {correlation.ties_gold} by hand, {correlation.ties_judged} judged"
    counts = f"n = {correlation.n}, {ties}"
    if correlation.rho is None:
        return f"no rho: {correlation.reason}; {counts}"
    return f"rho = {correlation.rho:.3f}{_interval(correlation)}, {counts}"


def _interval(correlation: Correlation) -> str:
    if correlation.low is None:
        return ""
    return f" [{correlation.low:.2f}, {correlation.high:.2f}]"


def _pair(pair: Disagreement) -> str:
    one, other = pair.better, pair.worse
    return (
        f"{one.transcript} ({one.gold:.2f}, {one.judged:.2f}) > "
        f"{other.transcript} ({other.gold:.2f}, {other.judged:.2f})"
    )


def proposal_lines(proposal: AcceptPreview) -> Iterator[str]:
    if proposal.changes:
        yield "changed since the last generation:"
    else:
        yield "nothing changed since the last generation"
    for change in proposal.changes:
        yield f"  {change}"
    yield f"rho: {_rho(proposal.rho_before)} -> {_rho(proposal.verdict.transcripts.rho)}"
    yield from _lines(proposal.verdict)
    yield from _moves(proposal)
    for refusal in proposal.refusals:
        yield f"accept would refuse: {refusal.what}"
    if proposal.changes and not proposal.refusals:
        yield "accept would take it: fairtrial anchors accept --reason …"


def _rho(rho: float | None) -> str:
    return "none" if rho is None else f"{rho:.3f}"


def _moves(proposal: AcceptPreview) -> Iterator[str]:
    if proposal.moves:
        yield "transcripts that move (by hand; judged before -> after; rank):"
    for move in proposal.moves:
        yield (
            f"  {move.transcript}: {move.gold:.2f}; {move.before:.3f} -> {move.after:.3f}; "
            f"{move.rank_before} -> {move.rank_after}"
        )
