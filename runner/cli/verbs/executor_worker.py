"""`fairtrial executor worker`: a machine that takes blocks of runs."""

from __future__ import annotations

from pathlib import Path

from runner.cli import options
from runner.cli.opening import open_checkout
from runner.cli.options import Request, said
from runner.cli.output import OK, tell


class Verb(Request):
    scheduler: str = said("HOST:PORT", "where the scheduler answers")
    jobs: int = said("--jobs N", "blocks at a time (default)", 1)
    tls: Path | None = options.tls()


def run(request: Verb) -> int:
    from runner.runs.executors import require_distributed

    require_distributed()
    from runner.runs.executors.cluster import security_of, serve_worker
    from runner.support.interrupts import run_until_done

    security, checkout = security_of(request.tls), open_checkout(request.root)
    run_until_done(serve_worker(request.scheduler, request.jobs, security, checkout, tell))
    return OK
