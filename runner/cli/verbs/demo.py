"""`fairtrial demo`: a run with everything filled in."""

from __future__ import annotations

from dataclasses import dataclass

from runner.cli import options
from runner.cli.options import Request, taken

SCENARIOS = ("flask-error-handling", "zod-issue-messages")
SERVERS = ("shell", "mcp-ripgrep", "code-index-mcp")


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    name: str = options.run_name()
    json: bool = options.as_json("print report.json instead of the first screen")
    full: bool = options.full()
    jobs: int = options.jobs()


def run(request: Verb) -> int:
    from runner.cli.verbs import run

    return run.run(
        taken(run.Verb, request, scenarios=SCENARIOS, servers=SERVERS, trials=1, gate="prefer")
    )
