"""`fairtrial executor worker`: a machine that takes blocks of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.cli import options
from runner.cli.opening import open_checkout, require_scale
from runner.cli.options import Request, said
from runner.cli.output import OK, tell

if TYPE_CHECKING:
    from runner.runs.executors.asked import TlsFiles


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    scheduler: str = said("HOST:PORT", "where the scheduler answers")
    jobs: int = options.jobs()
    tls: TlsFiles | None = options.tls()


def run(request: Verb) -> int:
    require_scale()
    from runner.runs.executors.cluster import security_of, serve_worker
    from runner.support.interrupts import run_until_done

    security, checkout = security_of(request.tls), open_checkout(request.root)
    run_until_done(serve_worker(request.scheduler, request.jobs, security, checkout, tell))
    return OK
