"""`fairtrial executor scheduler`: what workers and runs talk to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.cli import options
from runner.cli.opening import require_scale
from runner.cli.options import Request, said
from runner.cli.output import OK, tell

if TYPE_CHECKING:
    from runner.runs.executors.asked import TlsFiles


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    host: str = said("--host HOST", "the address to answer at (default: every one)", "")
    port: int = said("--port N", "the port to answer at (default: 8786)", 8786)
    dashboard: str = said(
        "--dashboard HOST:PORT",
        "where Dask's dashboard answers, which anybody may read (default: 127.0.0.1:8787)",
        "127.0.0.1:8787",
    )
    tls: TlsFiles | None = options.tls()


def run(request: Verb) -> int:
    require_scale()
    from runner.runs.executors.cluster import security_of, serve_scheduler
    from runner.support.interrupts import run_until_done

    security = security_of(request.tls)
    where = request.host, request.port, request.dashboard
    run_until_done(serve_scheduler(*where, security, tell))
    return OK
