"""`fairtrial anchors`: what a changed rubric does to the gate, and a new generation of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from runner.cli.opening import asked_judge, judge_of_answers, open_checkout, places
from runner.cli.options import JudgeChoice, JudgeSpending, Request, group, said
from runner.cli.output import OK, show, tell

if TYPE_CHECKING:
    from runner.catalog.checkout import Checkout
    from runner.protocols import Judge


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    action: Literal["propose", "accept", "regrade"] = said()
    reason: str = said(
        "--reason REASON",
        "what changed, and why; accept and regrade keep it for every later report",
        "",
    )
    judge: JudgeChoice = group(JudgeChoice)
    spending: JudgeSpending = group(JudgeSpending)


def run(request: Verb) -> int:
    from runner.catalog.project import require_writable
    from runner.scoring.judges import open_judge

    asked = asked_judge(request.judge.judging, request.spending)
    if request.action != "propose":
        require_writable(places(request.root), in_project=False)
    checkout = open_checkout(request.root)
    judge = open_judge(judge_of_answers(checkout, asked))
    if request.action == "propose":
        return _propose(checkout, judge)
    return _write_generation(request, checkout, judge)


def _propose(checkout: Checkout, judge: Judge) -> int:
    from runner.gate import gate
    from runner.report.gate_text import proposal_text

    proposal = gate.preview_accept(checkout.root, judge, sources=checkout.source, log=tell)
    show(proposal_text(proposal))
    return proposal.refusals[0].exit_code if proposal.refusals else OK


def _write_generation(request: Verb, checkout: Checkout, judge: Judge) -> int:
    from datetime import UTC, datetime

    from runner.gate import chain, gate
    from runner.report.gate_text import gate_text, standing_text

    move = gate.accept if request.action == "accept" else gate.regrade
    today = datetime.now(UTC).date().isoformat()
    examined = move(
        checkout.root, judge, reason=request.reason, date=today, sources=checkout.source, log=tell
    )
    show(gate_text(examined.verdict))
    show(standing_text(examined.verdict))
    generation = chain.read_chain(checkout.root)[-1]
    number = f"generation {generation.generation} ({generation.kind})"
    tell(f"wrote {chain.ANCHORS_LOCK}, {number}; commit locks/")
    gate.require(examined.verdict)
    return OK
