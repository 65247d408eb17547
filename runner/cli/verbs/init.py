"""`fairtrial init`: a folder becomes a project, or a server's repository gets a workflow."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from runner.cli.options import Request, said
from runner.cli.output import OK, show, tell

INCLUDED = "include it in .gitlab-ci.yml: include: [{local: .gitlab/fairtrial.yml}]"


class Verb(Request):
    folder: Path = said("[DIR]", "default: this one", Path())
    ci: Literal["", "github", "gitlab"] = said(
        "--ci KIND",
        "github or gitlab: only write a workflow that compares the server in this repository "
        "with itself on each pull request",
    )


def run(request: Verb) -> int:
    from runner.catalog import project, workflows

    folder = request.folder.resolve()
    if request.ci:
        show(f"wrote {workflows.write_workflow(request.ci, folder)}")
        if request.ci == "gitlab":
            tell(INCLUDED)
        return OK
    for line in project.init(folder):
        tell(line)
    # Every verb looks for a project in the folder it is run in.
    show(f"{folder} is a project: `cd` there, then `fairtrial check`")
    return OK
