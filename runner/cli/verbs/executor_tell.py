"""`fairtrial executor tell`: have a run on a cluster pause, go on, or end in order."""

from __future__ import annotations

from typing import Literal

from runner.cli.opening import open_run
from runner.cli.options import Request, said
from runner.cli.output import OK, tell


class Verb(Request):
    name: str = said("RUN", "a run that is at work: a folder, or its name under runs/")
    word: Literal["pause", "resume", "drain"] = said(
        about="pause: begin no further block; resume: go on; drain: end the run once the blocks "
        "under way have ended, so that the same command goes on later"
    )


def run(request: Verb) -> int:
    from runner.runs.executors.told import write_told

    write_told(open_run(request.root, request.name), request.word)
    tell(f"{request.name}: {request.word}")
    return OK
