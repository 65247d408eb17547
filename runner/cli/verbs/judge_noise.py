"""`fairtrial judge-noise`: what a judge's own spread lets anybody rank."""

from __future__ import annotations

from dataclasses import dataclass

from runner.cli import options
from runner.cli.opening import open_run
from runner.cli.options import Request, said
from runner.cli.output import show_either


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    run: str = said("RUN")
    json: bool = options.as_json()


def run(request: Verb) -> int:
    from runner.report.verdict_text import noise_text
    from runner.scoring.judge_repeatability import noise_of

    noise = noise_of(open_run(request.root, request.run))
    return show_either(noise.model_dump(mode="json"), noise_text(noise), as_json=request.json)
