"""A server that is published as an image: found on the engine by its digest, never pulled in a run.

`NAME@sha256:…` names an image by its registry's digest, or by its id if it was built here and never
pushed. Either is its lock: what an image holds follows from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runner.records import Sha256
from runner.sandbox.engine import Engine, absent_ok, engine_faults
from runner.servers.definition_rules import REFERENCE
from runner.support.errors import LockError, ServerError


@dataclass(frozen=True, kw_only=True)
class ServerImage:
    """An image on the engine. Beside a volume, what a server can be installed as."""

    reference: str
    """NAME@sha256:…, as in server.yaml."""
    id: str
    """sha256:…, as the engine names it."""
    digest: Sha256
    """The id's: a reference may name a list of images, and the engine has its platform's."""
    size_mb: float
    labels: Mapping[str, str] = field(default_factory=dict)
    volume: None = None
    """It has none."""


def find_image(engine: Engine, reference: str) -> ServerImage | None:
    """By its registry's digest or its id; None if it is not on the engine.

    Raises ServerError for a reference without a digest.
    """
    digest = _parts(reference)["digest"]
    for asked in (reference, f"sha256:{digest}"):
        found = inspected(engine, asked)
        # An engine that was given a prefix, or a tag that looks like one, answers with another.
        if found is not None and digest in digests_of(found):
            return ServerImage(
                reference=reference,
                id=str(found["Id"]),
                digest=digests_of(found)[0],
                size_mb=found["Size"] / 1e6,
                labels=(found.get("Config") or {}).get("Labels") or {},
            )
    return None


def require_image(engine: Engine, reference: str, *, where: str) -> ServerImage:
    """Raises ServerError if it is not on the engine, LockError if another of its name is."""
    if (image := find_image(engine, reference)) is not None:
        return image
    name = _parts(reference)["name"]
    hint = f"`docker pull {reference}`"
    other = inspected(engine, name)
    if other is None:
        raise ServerError(f"its image is not on the engine: {reference}", where=where, hint=hint)
    raise LockError(
        f"the engine's {name} is {other['Id']}, and {reference} is asked for",
        where=where,
        hint=f"{hint}; or pin the one that is there: `image` in server.yaml",
    )


def _parts(reference: str) -> re.Match[str]:
    found = REFERENCE.fullmatch(reference)
    if found is None:
        hint = "NAME@sha256:…; `docker images --digests` shows them"
        raise ServerError("an image is named with its digest", where=reference, hint=hint)
    return found


def inspected(engine: Engine, reference: str) -> dict[str, Any] | None:
    """What the engine says of an image; None if there is none."""
    with engine_faults("cannot look at an image", where=reference), absent_ok():
        return dict(engine.images.get(reference).attrs)
    return None


def digests_of(found: Mapping[str, Any]) -> list[str]:
    """The hexadecimal digests that name it: its id's, then its registries'."""
    names = [str(found["Id"]), *(found.get("RepoDigests") or ())]
    return [name.rpartition("sha256:")[2] for name in names]
