"""`fairtrial verify-anchors`: is the gate open?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from runner.cli import options
from runner.cli.opening import asked_judge, judge_of_answers, open_checkout
from runner.cli.options import JudgeChoice, JudgeSpending, Request, group, said
from runner.cli.output import OK, show, show_json, tell


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    require: Literal["screens", "ranks"] = said(
        "--require", "exit 4 unless the judge does so much (default: screens)", "screens"
    )
    json: bool = options.as_json()
    judge: JudgeChoice = group(JudgeChoice)
    spending: JudgeSpending = group(JudgeSpending)


def run(request: Verb) -> int:
    from runner.gate import gate
    from runner.report.gate_text import gate_text, refusal_json, standing_text
    from runner.scoring.judges import open_judge
    from runner.support.errors import GateError

    asked = asked_judge(request.judge.judging, request.spending)
    try:
        checkout = open_checkout(request.root)
        judge = open_judge(judge_of_answers(checkout, asked))
        verdict = gate.verify(
            checkout.root, judge, sources=checkout.source, pairs="again", log=tell
        )
    except GateError as error:
        if request.json:
            show_json(refusal_json(error))
        raise
    if request.json:
        show_json({"passed": not verdict.refusal, **verdict.model_dump(mode="json")})
    else:
        show(gate_text(verdict))
        show(standing_text(verdict))
    gate.require(verdict)
    gate.require_standing(verdict, request.require)
    if not request.json:
        show("the gate is open")
    return OK
