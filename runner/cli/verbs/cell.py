"""`fairtrial cell`: a run of one cell, and of the shell's beside it."""

from __future__ import annotations

from runner.cli import options


class Verb(options.RunRequest):
    LAST = "agent turns spending judge name json full gate"
    scenario: str = options.said("scenario")
    server: str = options.said("server")
    model: str = options.said("--model MODEL", options.MODEL_HELP, "offline")


def run(request: Verb) -> int:
    from runner.cli.verbs import run

    asked = {"scenarios": (request.scenario,), "servers": (request.server,)}
    return run.run(options.taken(run.Verb, request, models=(request.model,), **asked))
