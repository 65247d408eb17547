"""`fairtrial executor scheduler`: what workers and runs talk to."""

from __future__ import annotations

from pathlib import Path

from runner.cli import options
from runner.cli.options import Request, said
from runner.cli.output import OK, tell


class Verb(Request):
    host: str = said("--host HOST", "the address to answer at (default: every one)")
    port: int = said("--port N", "the port to answer at (default)", 8786)
    dashboard: str = said(
        "--dashboard HOST:PORT",
        "where Dask's dashboard answers, which anybody may read (default)",
        "127.0.0.1:8787",
    )
    tls: Path | None = options.tls()


def run(request: Verb) -> int:
    from runner.runs.executors import require_distributed

    require_distributed()
    from runner.runs.executors.cluster import security_of, serve_scheduler
    from runner.support.interrupts import run_until_done

    where = request.host, request.port, request.dashboard
    run_until_done(serve_scheduler(*where, security_of(request.tls), tell))
    return OK
