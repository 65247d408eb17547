"""`fairtrial attest`: what a stranger holds a published run against."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.cli import options
from runner.cli.ending import report_of
from runner.cli.opening import AskedJudge, audit_as_before, open_checkout, open_run
from runner.cli.options import GatePolicy, Request, said
from runner.cli.output import OK, show, tell


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    run: str = said("RUN")
    output: Path | None = said("--output FILE", "default: stdout", None)
    gate: GatePolicy = options.ungated()


def run(request: Verb) -> int:
    from runner.records.run_store import write_whole
    from runner.report.report_digests import statement_of

    store, checkout = open_run(request.root, request.run), open_checkout(request.root)
    audit, gate = audit_as_before(checkout, AskedJudge(), store, request.gate)
    statement = statement_of(checkout.root, store, report_of(audit.whole(), checkout, gate))
    written = statement.model_dump_json(by_alias=True, indent=1)
    if request.output is None:
        show(written)
    else:
        write_whole(request.output, written + "\n")
        tell(f"wrote {request.output}: sign it, or put it where it cannot be changed later")
    return OK
