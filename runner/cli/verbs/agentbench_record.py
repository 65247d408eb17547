"""`fairtrial agentbench record`: what the tools of a draft's calls answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runner.cli.opening import open_checkout
from runner.cli.options import Request, repeatable, said
from runner.cli.output import FAILED, OK, show
from runner.support.errors import Problem


class Verb(Request):
    file: Path = said("FILE", "of queries; it is written anew")
    ids: tuple[str, ...] = repeatable("--id", "; also if it is recorded (default: all without)")


def run(request: Verb) -> int:
    from runner.benchmarks.agentbench.proof.proving import record_file

    unsound = 0

    def told(name: str, problems: Sequence[Problem]) -> None:
        nonlocal unsound
        unsound += bool(problems)
        lines = [f"     {problem}" for problem in problems]
        show("\n".join([f"{'FAIL' if problems else 'ok  '} {name}", *lines]))

    record_file(open_checkout(request.root), request.file, request.ids, told)
    return FAILED if unsound else OK
