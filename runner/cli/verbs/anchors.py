"""`fairtrial anchors`: what a changed rubric does to the gate, and a new generation of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from runner.cli import opening, options
from runner.cli.output import OK, show, tell


class Verb(options.Request):
    action: Literal["propose", "accept", "regrade"] = options.said()
    reason: str = options.said(
        "--reason REASON",
        "what changed, and why; accept and regrade keep it for every later report",
    )
    judge: options.JudgeChoice = options.group(options.JudgeChoice)
    spending: options.JudgeSpending = options.group(options.JudgeSpending)


def run(request: Verb) -> int:
    from runner.catalog.project import require_writable
    from runner.gate import chain, gate
    from runner.report import gate_text
    from runner.scoring.judges import open_judge

    asked = opening.asked_judge(request.judge.judging, request.spending)
    if request.action != "propose":
        require_writable(opening.places(request.root), in_project=False)
    checkout = opening.open_checkout(request.root)
    judge = open_judge(asked.of_answers(checkout))
    root, sources = checkout.root, checkout.source
    if request.action == "propose":
        proposal = gate.preview_accept(root, judge, sources=sources, log=tell)
        show(gate_text.proposal_text(proposal))
        return proposal.refusals[0].exit_code if proposal.refusals else OK
    move = gate.accept if request.action == "accept" else gate.regrade
    today = datetime.now(UTC).date().isoformat()
    examined = move(root, judge, reason=request.reason, date=today, sources=sources, log=tell)
    show(gate_text.gate_text(examined.verdict))
    show(gate_text.standing_text(examined.verdict))
    generation = chain.read_chain(root)[-1]
    number = f"generation {generation.generation} ({generation.kind})"
    tell(f"wrote {chain.ANCHORS_LOCK}, {number}; commit locks/")
    gate.require(examined.verdict)
    return OK
