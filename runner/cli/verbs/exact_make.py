"""`fairtrial exact make`: questions about a repository whose whole answer is known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.cli.opening import open_checkout
from runner.cli.options import Request, said, taken
from runner.cli.output import OK, show


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    source: str = said(
        "--source YAML",
        "as a scenario's `repository`: {kind: npm, name: zod, version: …, integrity: …}",
        "",
    )
    repo: str = said("--repo PATH_OR_URL", "in its place: a folder, or what git can clone", "")
    commit: str | None = said("--commit REVISION", "of the folder or URL (default: HEAD)", None)
    label: str = said("--label NAME", "what tracked files call a folder (default: own)", "")
    questions: int = said("--questions N", "at most (default: 20)", 20)
    seed: int = said("--seed N", "of the draw (default: 1)", 1)
    from_history: bool = said("--from-history", "what else past fixes of --repo changed")
    name: str = said("--name NAME", "of the folder (default: from the source)", "")
    licence: str = said("--licence NAME", "of the repository, for its readers", "")
    unchecked: bool = said("--unchecked", "ask no second program: no engine needed")
    into: Path | None = said("--into DIR", "a project (default: this checkout)", None)


def run(request: Verb) -> int:
    from runner.authoring.exact.make_command import MakeRequest, made_files

    checkout = open_checkout(request.root)
    into = (request.into or checkout.project or checkout.root).resolve()
    for path in made_files(checkout, taken(MakeRequest, request), into):
        show(f"wrote {path}")
    return OK
