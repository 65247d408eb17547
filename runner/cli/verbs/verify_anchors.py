"""`fairtrial verify-anchors`: is the gate open?"""

from __future__ import annotations

from typing import Literal

from runner.cli import opening, options, output
from runner.support.errors import GateError


class Verb(options.Request):
    require: Literal["screens", "ranks"] = options.said(
        "--require", "exit 4 unless the judge does so much (default: screens)"
    )
    json: bool = options.as_json()
    judge: options.JudgeChoice = options.group(options.JudgeChoice)
    spending: options.JudgeSpending = options.group(options.JudgeSpending)


def run(request: Verb) -> int:
    from runner.gate import gate
    from runner.report import gate_text
    from runner.scoring.judges import open_judge

    asked = opening.asked_judge(request.judge.judging, request.spending)
    try:
        checkout = opening.open_checkout(request.root)
        # What it said is verified where it was said; nobody is asked.
        as_then = asked.as_accepted(checkout, where_it_was=True)
        judge = open_judge(asked.with_judging(as_then).of_anchors(checkout))
        verdict = gate.verify(
            checkout.root,
            judge,
            sources=checkout.source,
            pairs="again",
            log=output.tell,
            project=checkout.project,
        )
    except GateError as error:
        if request.json:
            output.show_json(gate_text.refusal_json(error))
        raise
    if request.json:
        output.show_json({"passed": not verdict.refusal, **verdict.model_dump(mode="json")})
    else:
        output.show(gate_text.gate_text(verdict))
        output.show(gate_text.standing_text(verdict))
    gate.require(verdict)
    gate.require_standing(verdict, request.require)
    if not request.json:
        output.show("the gate is open")
    return output.OK
