"""`fairtrial demo`: a run with everything filled in."""

from __future__ import annotations

from runner.cli.options import RunRequest, taken

SCENARIOS = ("flask-error-handling", "zod-issue-messages")
SERVERS = ("shell", "mcp-ripgrep", "code-index-mcp")


class Verb(RunRequest):
    LAST = "name json full jobs"


def run(request: Verb) -> int:
    from runner.cli.verbs import run

    return run.run(taken(run.Verb, request, scenarios=SCENARIOS, servers=SERVERS, gate="prefer"))
