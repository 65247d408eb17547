"""`fairtrial import scenario`: from the YAML of another benchmark."""

from __future__ import annotations

from pathlib import Path

from runner.cli import opening, options, output
from runner.cli.options import Request, said, taken


class Verb(Request):
    file: Path = said("FILE", "<name>.yaml, beside <name>.rubric.yaml")
    rubric: Path | None = said("--rubric FILE", "if it is somewhere else")
    repo: str = said("--repo PATH_OR_URL", "the repository it asks about", required=True)
    commit: str | None = said("--commit COMMIT", "of a URL the full one (default: a path's HEAD)")
    label: str = said("--label NAME", "what files call a path's code")
    language: str = said("--language NAME", "such as python", required=True)
    id: str = said("--id NAME", "default: the file's name")
    tokens: int | None = said("--tokens N", "the budget's ceiling, in new tokens")
    wall_sec: int | None = said("--wall-sec N", "the budget's ceiling")
    json: bool = options.as_json()


def run(request: Verb) -> int:
    from runner.authoring.drafting import command, imported_scenario
    from runner.catalog.project import require_catalog_place
    from runner.repositories.local_labels import named_source

    found = opening.places(request.root)
    require_catalog_place(found.top)
    project, state, environ = found.top, found.state, opening.environ_without_keys()
    repo, commit, label = request.repo, request.commit, request.label
    source, own = named_source(
        repo, commit, label=label, project=project, state=state, environ=environ
    )
    wanted = taken(imported_scenario.ImportRequest, request)
    imported = imported_scenario.import_scenario(wanted, found.top, source)
    if own is not None:
        command.keep(found.top, own)
    return output.show_either(imported.as_json(), imported.as_text(), as_json=request.json)
