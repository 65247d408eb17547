"""`fairtrial lock`: pins of what ships, or of a project's own."""

from __future__ import annotations

from runner.cli.opening import open_checkout, places
from runner.cli.options import Request, said
from runner.cli.output import OK, show


class Verb(Request):
    check: bool = said("--check", "change nothing; exit 1 if a lock is out of date")


def run(request: Verb) -> int:
    from runner.catalog.checkout import lock
    from runner.catalog.project import require_writable

    require_writable(places(request.root), in_project=True)
    for line in lock(open_checkout(request.root), check=request.check):
        show(line)
    return OK
