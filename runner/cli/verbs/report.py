"""`fairtrial report`: a run's report as its transcripts give it now."""

from __future__ import annotations

from runner.cli import ending, opening, options, shapes


class Verb(options.Request):
    run: str = options.said("RUN")
    judge: options.JudgeChoice = options.group(options.JudgeChoice)
    gate: shapes.GatePolicy = options.ungated()
    json: bool = options.as_json()
    full: bool = options.full()
    formats: tuple[str, ...] = options.said(
        "--format NAME", "csv, junit or parquet, of the cells, beside the report; repeatable", ()
    )
    open: bool = options.said("--open", "show report.html in a browser")


def run(request: Verb) -> int:
    asked = opening.asked_judge(request.judge.judging)
    run = opening.open_scenario_run(request.root, request.run, asked)
    audit, gate = run.behind_gate(request.gate)
    code = ending.show_report(run, audit.whole(), gate, request)
    if request.open:
        ending.open_page(run.store)
    return code
