"""`fairtrial init`: a folder becomes a project."""

from __future__ import annotations

from pathlib import Path

from runner.cli.options import Request, said
from runner.cli.output import OK, show, tell


class Verb(Request):
    folder: Path = said("[DIR]", "default: this one", Path())


def run(request: Verb) -> int:
    from runner.catalog import project

    folder = request.folder.resolve()
    for line in project.init(folder):
        tell(line)
    # Every verb looks for a project in the folder it is run in.
    show(f"{folder} is a project: `cd` there, then `fairtrial check`")
    return OK
