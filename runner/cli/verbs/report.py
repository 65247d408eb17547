"""`fairtrial report`: a run's report as its transcripts give it now."""

from __future__ import annotations

from runner.cli import ending, opening, options, shapes


class Verb(options.Request):
    run: str = options.said("RUN")
    judge: options.JudgeChoice = options.group(options.JudgeChoice)
    gate: shapes.GatePolicy = options.ungated()
    json: bool = options.as_json()
    full: bool = options.full()


def run(request: Verb) -> int:
    asked = opening.asked_judge(request.judge.judging)
    run = opening.open_scenario_run(request.root, request.run, asked)
    audit, gate = run.behind_gate(request.gate)
    return ending.show_report(run, audit.whole(), gate, request)
