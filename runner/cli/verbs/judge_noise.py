"""`fairtrial judge-noise`: what a judge's own spread lets anybody rank."""

from __future__ import annotations

from runner.cli import opening, options
from runner.cli.output import show_either


class Verb(options.Request):
    run: str = options.said("RUN")
    json: bool = options.as_json()


def run(request: Verb) -> int:
    from runner.report.verdict_text import noise_text
    from runner.scoring.judge_repeatability import noise_of

    noise = noise_of(opening.open_run(request.root, request.run))
    return show_either(noise.model_dump(mode="json"), noise_text(noise), as_json=request.json)
