"""`fairtrial verify-report`: is an attested report what its transcripts give here?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runner.cli import opening, options, output, shapes
from runner.support.errors import GateError
from runner.support.text import counted


class Verb(options.Request):
    file: Path = options.said("FILE", "as `fairtrial attest` wrote it")
    run: str = options.said("--run RUN", "name or folder (default: what the file names)")
    json: bool = options.as_json()


def run(request: Verb) -> int:
    from runner.records.attestation import read_statement
    from runner.report import report_digests as digests

    statement = read_statement(request.file)
    attested = statement.predicate
    run = opening.open_scenario_run(request.root, request.run or attested.run)
    run.require_scorecards()
    found = [*digests.file_differences(statement, run.store)]
    found += digests.basis_differences(statement, run.checkout.root)
    versions = list(digests.version_differences(statement))
    policy: shapes.GatePolicy = "skip" if attested.ungated else "require"
    code = output.OK
    try:
        audit, gate = run.behind_gate(policy)
        found += digests.report_differences(statement, run.report(audit.whole(), gate))
    except GateError as error:
        # Listed with the rest: what differs says why it is closed.
        found.append(digests.AttestationMismatch(where="gate", attested="open", found=error.what))
        code = error.exit_code
    if request.json:
        differences = {"differences": found, "versions": versions}
        lists = {name: [vars(item) for item in items] for name, items in differences.items()}
        output.show_json({"passed": not found, **lists})
    else:
        _show(found, versions, figures=len(attested.figures))
    return code or (output.FAILED if found else output.OK)


def _show(found: Sequence[object], versions: Sequence[object], *, figures: int) -> None:
    for item in versions:
        output.tell(f"another version here: {item}")
    if not found:
        output.show(f"the report stands: {figures} figures come out of the transcripts as attested")
        return
    output.show("\n".join(map(str, found)))
    output.tell(f"error: not as attested: {counted(len(found), 'thing')}")
    output.tell("hint: verify in a checkout of the commit that holds the attested locks")
