"""`fairtrial verify-report`: is an attested report what its transcripts give here?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.cli import options
from runner.cli.ending import report_of
from runner.cli.opening import (
    AskedJudge,
    audit_as_before,
    open_checkout,
    open_run,
    require_scorecards,
)
from runner.cli.options import GatePolicy, Request, said
from runner.cli.output import FAILED, OK, show, show_json, tell


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    file: Path = said("FILE", "as `fairtrial attest` wrote it")
    run: str = said("--run RUN", "name or folder (default: what the file names)", "")
    json: bool = options.as_json()


def run(request: Verb) -> int:
    from runner.records.attestation import read_statement
    from runner.report import report_digests
    from runner.support.errors import GateError

    statement = read_statement(request.file)
    store = open_run(request.root, request.run or statement.predicate.run)
    checkout = open_checkout(request.root)
    require_scorecards(store)
    found = [*report_digests.file_differences(statement, store)]
    found += report_digests.basis_differences(statement, checkout.root)
    versions = list(report_digests.version_differences(statement))
    policy: GatePolicy = "skip" if statement.predicate.ungated else "require"
    code = OK
    try:
        audit, gate = audit_as_before(checkout, AskedJudge(), store, policy)
        built = report_of(audit.whole(), checkout, gate)
        found += report_digests.report_differences(statement, built)
    except GateError as error:
        # Listed with the rest: what differs says why it is closed.
        found.append(
            report_digests.AttestationMismatch(where="gate", attested="open", found=error.what)
        )
        code = error.exit_code
    if request.json:
        differences = {"differences": found, "versions": versions}
        lists = {name: [vars(item) for item in items] for name, items in differences.items()}
        show_json({"passed": not found, **lists})
    else:
        _show(found, versions, figures=len(statement.predicate.figures))
    return code or (FAILED if found else OK)


def _show(found: Sequence[object], versions: Sequence[object], *, figures: int) -> None:
    for item in versions:
        tell(f"another version here: {item}")
    if not found:
        show(f"the report stands: {figures} figures come out of the transcripts as attested")
        return
    show("\n".join(map(str, found)))
    tell(f"error: {len(found)} things are not as attested")
    tell("hint: verify in a checkout of the commit that holds the attested locks")
