"""The definition of a server that was tried, as by hand, headed by what was guessed."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from runner.authoring.onboarding.onboarding_state import OnboardedServer
from runner.catalog.checkout import Checkout
from runner.records import ServerSpec, server_of
from runner.support.errors import FairtrialError

_ORDER = (
    "name", "title", "version", "licence", "homepage", "notes", "substitutes", "image", "http",
    "command", "env", "python", "files", "private", "warm_up", "canaries", "line_base",
    "initialize_timeout_sec", "call_timeout_sec", "ready_timeout_sec",
)  # fmt: skip
_COLUMNS = 110


def definition_text(spec: ServerSpec, guesses: Sequence[str]) -> str:
    """server.yaml, headed by what was guessed, each with the option that overrides it."""
    head = ["Written by `fairtrial try`. What was guessed, and the option that overrides it:"]
    for guess in guesses:
        head += textwrap.wrap(f"- {guess}", _COLUMNS, subsequent_indent="  ")
    comments = "".join(f"# {line}\n" for line in head)
    data: dict[str, Any] = spec.model_dump(mode="json", exclude_defaults=True)
    # By index: one that has no place fails here, where else it would be lost from the file.
    ordered = {key: data[key] for key in sorted(data, key=_ORDER.index)}
    body = yaml.dump(
        ordered, Dumper=_DefinitionDumper, sort_keys=False, allow_unicode=True, width=_COLUMNS
    )
    return comments + body


def write_definition(folder: Path, spec: ServerSpec, guesses: Sequence[str]) -> None:
    (folder / "server.yaml").write_text(definition_text(spec, guesses), encoding="utf-8")


class _DefinitionDumper(yaml.SafeDumper):
    """Texts of several lines as blocks, lists of words on one line."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - `&id001` would puzzle a reader
        return True


def _text(dumper: yaml.SafeDumper, data: str) -> yaml.Node:
    style = "|" if "\n" in data else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)


def _list(dumper: yaml.SafeDumper, data: list[Any]) -> yaml.Node:
    flat = all(isinstance(item, (str, int)) for item in data)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=flat)


_DefinitionDumper.add_representer(str, _text)
_DefinitionDumper.add_representer(list, _list)


# --- from one project into another ----------------------------------------------------------------


def save(tried: OnboardedServer, project: Path) -> Path:
    """Copies the server's folder; returns where it is. Raises FairtrialError if one is there."""
    source = tried.folder / "images" / "servers" / tried.server
    place = project / "images" / "servers" / tried.server
    if place.exists():
        hint = "remove it first, or --save into another folder"
        raise FairtrialError("there is one already", where=str(place), hint=hint)
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, place)
    return place


def copy_servers(checkout: Checkout, arms: Sequence[str], project: Path) -> None:
    """Of the arms' servers those of the person's project: another is laid over what ships."""
    for name, folder in checkout.catalog.servers.folders.items():
        if checkout.is_own(folder) and name in {*map(server_of, arms)}:
            shutil.copytree(folder, project / "images/servers" / name, dirs_exist_ok=True)
