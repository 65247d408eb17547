"""`fairtrial score`: scorecards of a run's transcripts, made again."""

from __future__ import annotations

from runner.cli import ending, opening, options, output


class Verb(options.Request):
    run: str = options.said("RUN")
    json: bool = options.as_json("one scorecard a line")
    judge: options.JudgeChoice = options.group(options.JudgeChoice)
    spending: options.JudgeSpending = options.group(options.JudgeSpending)


def run(request: Verb) -> int:
    asked = opening.asked_judge(request.judge.judging, request.spending)
    run = opening.open_scenario_run(request.root, request.run, asked)
    with run.store.lock():
        audit = run.audit(run.judge_anew()[1])
        found = audit.evidence()
        scored = 0
        # One scorecard in memory at a time: a run may have thousands.
        for card in audit.cards(found, anew=True):
            run.store.write_scorecard(card)
            scored += 1
            if request.json:
                output.show(card.model_dump_json())
    if not request.json:
        output.show(f"scored {scored} of {len(found.cells)} cells of {run.store.folder.name}")
    return ending.code_for_contradictions(run.store, found)
