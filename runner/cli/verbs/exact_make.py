"""`fairtrial exact make`: questions about a repository whose whole answer is known."""

from __future__ import annotations

from pathlib import Path

from runner.cli import opening, options, output


class Verb(options.Request):
    source: str = options.said(
        "--source YAML",
        "as a scenario's `repository`: {kind: npm, name: zod, version: …, integrity: …}",
    )
    repo: str = options.said("--repo PATH_OR_URL", "in its place: a folder, or what git can clone")
    commit: str | None = options.said("--commit REVISION", "of it (default: HEAD)")
    label: str = options.said("--label NAME", "what tracked files call a folder (default: own)")
    questions: int = options.said("--questions N", "at most (default)", 20)
    seed: int = options.said("--seed N", "of the draw (default)", 1)
    from_history: bool = options.said("--from-history", "what else past fixes of --repo changed")
    name: str = options.said("--name NAME", "of the folder (default: from the source)")
    licence: str = options.said("--licence NAME", "of the repository, for its readers")
    unchecked: bool = options.said("--unchecked", "ask no second program: no engine needed")
    into: Path | None = options.said("--into DIR", "a project (default: this folder)")


def run(request: Verb) -> int:
    from runner.authoring.exact.make_command import MakeRequest, made_files

    checkout = opening.open_checkout(request.root)
    into = (request.into or opening.places(request.root).top).resolve()
    for path in made_files(checkout, options.taken(MakeRequest, request), into):
        output.show(f"wrote {path}")
    return output.OK
