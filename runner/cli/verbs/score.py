"""`fairtrial score`: scorecards of a run's transcripts, made again."""

from __future__ import annotations

from dataclasses import dataclass

from runner.cli import options
from runner.cli.ending import code_for_contradictions
from runner.cli.opening import asked_judge, audit_of, judge_anew, open_checkout, open_run
from runner.cli.options import JudgeChoice, JudgeSpending, Request, group, said
from runner.cli.output import show


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    run: str = said("RUN")
    json: bool = options.as_json("one scorecard a line")
    judge: JudgeChoice = group(JudgeChoice)
    spending: JudgeSpending = group(JudgeSpending)


def run(request: Verb) -> int:
    asked = asked_judge(request.judge.judging, request.spending)
    store, checkout = open_run(request.root, request.run), open_checkout(request.root)
    with store.lock():
        _, judge = judge_anew(checkout, asked, store)
        audit = audit_of(store, checkout, judge)
        found = audit.evidence()
        scored = 0
        # One scorecard in memory at a time: a run may have thousands.
        for card in audit.cards(found, anew=True):
            store.write_scorecard(card)
            scored += 1
            if request.json:
                show(card.model_dump_json())
    if not request.json:
        show(f"scored {scored} of {len(found.cells)} cells of {store.folder.name}")
    return code_for_contradictions(store, found)
