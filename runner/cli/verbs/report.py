"""`fairtrial report`: a run's report as its transcripts give it now."""

from __future__ import annotations

from dataclasses import dataclass

from runner.cli import options
from runner.cli.ending import report_of, show_report
from runner.cli.opening import asked_judge, audit_as_before, open_checkout, open_run
from runner.cli.options import GatePolicy, JudgeChoice, Request, group, said


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    run: str = said("RUN")
    judge: JudgeChoice = group(JudgeChoice)
    gate: GatePolicy = options.ungated()
    json: bool = options.as_json()
    full: bool = options.full()


def run(request: Verb) -> int:
    asked = asked_judge(request.judge.judging)
    store, checkout = open_run(request.root, request.run), open_checkout(request.root)
    audit, gate = audit_as_before(checkout, asked, store, request.gate)
    whole = audit.whole()
    built = report_of(whole, checkout, gate)
    return show_report(store, built, whole, as_json=request.json, full=request.full)
