"""`fairtrial executor check`: can workers exchange what they measure over this place?"""

from __future__ import annotations

from runner.cli.options import Request, said
from runner.cli.output import FAILED, OK, show


class Verb(Request):
    exchange: str = said("URL", "a folder, sftp://HOST/PATH or s3://BUCKET/PREFIX")


def run(request: Verb) -> int:
    from runner.runs.executors.exchange_check import check

    code = OK
    for promise in check(request.exchange):
        show(f"FAIL {promise.what}: {promise.fault}" if promise.fault else f"ok   {promise.what}")
        if promise.fault:
            code = FAILED
    return code
