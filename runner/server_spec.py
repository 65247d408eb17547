"""A server's definition: placeholders, launch, canaries. Checked and read without an engine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from runner.errors import CatalogError, Problem, ServerError
from runner.records import Canary, ServerSpec
from runner.sandbox.places import (
    INSTALL,
    STATE,
    WORKSPACE,
)
from runner.sandbox.volume_host import MARKER

LOCK_FILES = ("requirements.txt", "package.json", "package-lock.json")
"""What may pin a server's packages, beside its server.yaml."""
PLACES = {"workspace": WORKSPACE, "install": INSTALL, "state": STATE}
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, kw_only=True)
class LaunchPlan:
    """How the server's process is started in a cell."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    private: tuple[str, ...]
    """Directories under the workspace that become the server's own tmpfs."""


def fill(value: Any) -> Any:
    """Replace `{workspace}`, `{install}` and `{state}` in every text inside; other braces are left alone."""
    if isinstance(value, str):
        return PLACEHOLDER.sub(lambda match: PLACES.get(match[1], match[0]), value)
    if isinstance(value, Mapping):
        return {key: fill(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(fill(item) for item in value)
    return value


def _texts(value: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, f"{where}.{key}")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _texts(item, f"{where}[{index}]")


def problems(spec: ServerSpec, where: str) -> list[Problem]:
    """What `launch` would trip over: unknown placeholders, and paths that leave the folder they belong to.

    `files` may hold any braces (scripts, JSON); only the three placeholders are replaced in them.
    """
    found = []
    steps = [step.model_dump(exclude_none=True) for step in spec.warm_up]
    checked = {
        "command": spec.command,
        "env": spec.env,
        "warm_up": steps,
        "canaries": [c.call.arguments for c in spec.canaries],
    }
    for key, value in checked.items():
        for place, text in _texts(value, key):
            for name in PLACEHOLDER.findall(text):
                if name not in PLACES:
                    known = ", ".join(f"{{{p}}}" for p in PLACES)
                    found.append(
                        Problem(
                            where=f"{where} {place}",
                            message=f"no placeholder {{{name}}}; there are {known}",
                        )
                    )
    for key, paths in (("files", tuple(spec.files)), ("private", spec.private)):
        for path in paths:
            if (
                path.startswith("/")
                or not path.strip("./")
                or ".." in PurePosixPath(path).parts
                or path == MARKER
            ):
                inside = "{install}" if key == "files" else "{workspace}"
                found.append(
                    Problem(
                        where=f"{where} {key}", message=f"{path!r} is not a path inside {inside}"
                    )
                )
    return found


def launch(spec: ServerSpec) -> LaunchPlan:
    """Raises CatalogError on an unknown placeholder."""
    if found := problems(spec, f"{spec.name}/server.yaml"):
        raise CatalogError(found)
    return LaunchPlan(
        argv=tuple(fill(spec.command)), env=environment_of(spec), private=spec.private
    )


def environment_of(spec: ServerSpec) -> dict[str, str]:
    # /tmp is shared with the agent's shell, which could read an index that a server left there.
    filled: dict[str, str] = fill(spec.env)
    return {"TMPDIR": STATE, **filled}


def pick_canary(spec: ServerSpec, repository: str) -> Canary:
    """The canary written for a repository's label, else the one for any. Raises ServerError where there is neither."""
    for label in (repository, "*"):
        for canary in spec.canaries:
            if canary.repository == label:
                return canary
    hint = f"add one to images/servers/{spec.name}/server.yaml: a call, and a text its result must contain"
    raise ServerError(
        f"no canary for {repository}: nothing would prove that the server sees this repository",
        where=spec.name,
        hint=hint,
    )
