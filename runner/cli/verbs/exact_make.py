"""`fairtrial exact make`: questions about a repository whose whole answer is known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.cli.opening import open_checkout
from runner.cli.options import Request, said
from runner.cli.output import OK, show


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    source: str = said(
        "--source YAML",
        "as a scenario's `repository`: {kind: npm, name: zod, version: …, integrity: …}",
        required=True,
    )
    questions: int = said("--questions N", "at most (default: 20)", 20)
    seed: int = said("--seed N", "of the draw (default: 1)", 1)
    name: str = said("--name NAME", "of the folder (default: from the source)", "")
    licence: str = said("--licence NAME", "of the repository, for its readers", "")
    unchecked: bool = said("--unchecked", "ask no second program: no engine needed")
    into: Path | None = said("--into DIR", "a project (default: this checkout)", None)


def run(request: Verb) -> int:
    from runner.authoring.exact.suite import SuiteRequest, folder_name, make_suite, source_of

    checkout = open_checkout(request.root)
    source = source_of(request.source)
    wanted = SuiteRequest(
        name=request.name or folder_name(source.label),
        source=source,
        questions=request.questions,
        seed=request.seed,
        licence=request.licence,
        unchecked=request.unchecked,
    )
    path = make_suite(checkout, wanted, request.into or checkout.project or checkout.root)
    show(f"wrote {path}")
    return OK
