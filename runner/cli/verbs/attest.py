"""`fairtrial attest`: what a stranger holds a published run against."""

from __future__ import annotations

from pathlib import Path

from runner.cli import opening, options, output, shapes


class Verb(options.Request):
    run: str = options.said("RUN")
    output: Path | None = options.said("--output FILE", "default: stdout")
    gate: shapes.GatePolicy = options.ungated()


def run(request: Verb) -> int:
    from runner.records.run_store import write_whole
    from runner.report.report_digests import statement_of

    run = opening.open_scenario_run(request.root, request.run)
    audit, gate = run.behind_gate(request.gate)
    whole = audit.whole()
    built, data = run.report(whole, gate), run.page_data(whole)
    try:
        statement = statement_of(run.checkout.root, run.store, built, data)
    finally:
        run.checkout.close_files()
    written = statement.model_dump_json(by_alias=True, indent=1)
    if request.output is None:
        output.show(written)
    else:
        write_whole(request.output, written + "\n")
        output.tell(f"wrote {request.output}: sign it, or put it where it cannot be changed later")
    return output.OK
