"""`fairtrial import scenario`: from the YAML of another benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.cli import options
from runner.cli.opening import environ_without_keys, places
from runner.cli.options import Request, said, taken
from runner.cli.output import show_either


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    file: Path = said("FILE", "<name>.yaml, beside <name>.rubric.yaml")
    rubric: Path | None = said("--rubric FILE", "if it is somewhere else", None)
    repo: str = said("--repo PATH_OR_URL", "the repository it asks about", required=True)
    commit: str | None = said(
        "--commit COMMIT", "of a URL the full one (default: a path's HEAD)", None
    )
    label: str = said("--label NAME", "what files call a path's code", "")
    language: str = said("--language NAME", "such as python", required=True)
    id: str = said("--id NAME", "default: the file's name", "")
    tokens: int | None = said("--tokens N", "the budget's ceiling, in new tokens", None)
    wall_sec: int | None = said("--wall-sec N", "the budget's ceiling", None)
    json: bool = options.as_json()


def run(request: Verb) -> int:
    from runner.authoring.drafting.command import keep
    from runner.authoring.drafting.imported_scenario import ImportRequest, import_scenario
    from runner.catalog.project import require_catalog_place
    from runner.repositories.local_labels import named_source

    found = places(request.root)
    require_catalog_place(found.top)
    source, own = named_source(
        request.repo,
        request.commit,
        label=request.label,
        project=found.top,
        state=found.state,
        environ=environ_without_keys(),
    )
    imported = import_scenario(taken(ImportRequest, request), found.top, source)
    if own is not None:
        keep(found.top, own)
    return show_either(imported.as_json(), imported.as_text(), as_json=request.json)
