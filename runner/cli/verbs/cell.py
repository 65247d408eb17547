"""`fairtrial cell`: a run of one cell, and of the shell's beside it."""

from __future__ import annotations

from dataclasses import dataclass

from runner.cli import options
from runner.cli.options import (
    GatePolicy,
    JudgeChoice,
    Request,
    RunSpending,
    Turns,
    group,
    said,
    taken,
)


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    scenario: str = said("scenario")
    server: str = said("server")
    model: str = said("--model MODEL", options.MODEL_HELP, "offline")
    agent: str = options.agent()
    turns: Turns = group(Turns)
    spending: RunSpending = group(RunSpending)
    judge: JudgeChoice = group(JudgeChoice)
    name: str = options.run_name()
    json: bool = options.as_json("print report.json instead of the first screen")
    full: bool = options.full()
    gate: GatePolicy = options.ungated()


def run(request: Verb) -> int:
    from runner.cli.verbs import run

    return run.run(
        taken(
            run.Verb,
            request,
            scenarios=(request.scenario,),
            servers=(request.server,),
            models=(request.model,),
            trials=1,
        )
    )
