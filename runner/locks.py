"""What is pinned under locks/, written and verified: names -> commits and digests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from runner.archives import Npm
from runner.catalog import Catalog
from runner.errors import CatalogError, LockError, Problem
from runner.records import RepoPin, canonical_json, digest_of, parse_json
from runner.repository import fetch_source
from runner.store import write_whole

HARNESS = 1
"""Raised by hand whenever the harness treats a cell in a way that could change its outcome: its cells are then other cells."""
REPOS_LOCK = "locks/repos.lock"


def harness_digest() -> str:
    return digest_of({"harness": HARNESS})


# --- repos.lock -----------------------------------------------------------------------------


def read_repos_lock(root: Path) -> dict[str, RepoPin]:
    """Source label -> pin; empty where there is no lock yet. Raises LockError where it cannot be trusted as written."""
    try:
        data = json.loads((root / REPOS_LOCK).read_text(encoding="utf-8"), object_pairs_hook=_once)
        return {
            label: parse_json(json.dumps(pin), RepoPin, where=label) for label, pin in data.items()
        }
    except FileNotFoundError:
        return {}
    except (CatalogError, ValueError, AttributeError, OSError) as error:
        why = "; ".join(map(str, error.problems)) if isinstance(error, CatalogError) else error
        raise LockError(
            f"cannot be read: {why}",
            where=REPOS_LOCK,
            hint="take it from git again, or run `fairtrial lock`",
        ) from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A label given twice would let two readers see two pins."""
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError(f"a key is given twice among {[key for key, _ in pairs]}")
    return dict(pairs)


def write_repos_lock(root: Path, pins: Mapping[str, RepoPin]) -> None:
    """One line a source, sorted, so that a diff names what changed."""
    lines = [
        f"{canonical_json(label)}:{canonical_json(pin.model_dump())}"
        for label, pin in sorted(pins.items())
    ]
    write_whole(root / REPOS_LOCK, "{\n" + ",\n".join(lines) + "\n}\n")


# --- every lock -----------------------------------------------------------------------------


def write_locks(  # noqa: PLR0913 - two of them are only handed on to what fetches
    root: Path,
    catalog: Catalog,
    *,
    cache: Path,
    environ: Mapping[str, str] | None = None,
    check: bool = False,
    npm: Npm | None = None,
) -> list[str]:
    """Pins every repository and the base image; says what changed, a line each.

    With `check` it writes nothing, and raises LockError where something would change. Raises CatalogError where a package lock
    names an address to download from: a lock pins content, and the address is the user's own index.
    """
    catalog.check()
    if problems := list(address_problems(root)):
        raise CatalogError(
            problems, hint="make the lock again without index addresses; hashes pin the packages"
        )
    sources = [loaded.scenario.repository for loaded in catalog.scenarios.values()]
    found = {
        source.label: fetch_source(source, cache=cache, pins=None, environ=environ, npm=npm).pin
        for source in sources
    }
    changes = [*_changes(read_repos_lock(root), found), *_image_changes(root, check=check)]
    if check and changes:
        what = "out of date:\n" + "\n".join(f"  {line}" for line in changes)
        raise LockError(
            what, where="locks/", hint="run `fairtrial lock`, look at the difference, and commit it"
        )
    if not check:
        write_repos_lock(root, found)
    return changes or [f"{len(found)} repositories and the base image are as locked"]


def _changes(locked: Mapping[str, RepoPin], found: Mapping[str, RepoPin]) -> Iterator[str]:
    for label in sorted({*locked, *found}):
        old, new = locked.get(label), found.get(label)
        if old is None and new:
            yield f"{label}: new, commit {new.commit[:12]}, {new.files} files"
        elif new is None and old:
            yield f"{label}: no scenario uses it any more"
        elif old and new and old != new:
            yield f"{label}: commit {old.commit[:12]} (tree {old.tree[:12]}) becomes {new.commit[:12]} (tree {new.tree[:12]})"


def _image_changes(root: Path, *, check: bool) -> Iterator[str]:
    from runner.sandbox.base import check_images_lock, write_images_lock  # noqa: PLC0415 - it imports docker

    try:
        check_images_lock(root)
    except LockError as error:
        yield f"locks/images.lock: {error.what}"
        if not check:
            write_images_lock(root)


# --- addresses ------------------------------------------------------------------------------


def address_problems(root: Path) -> Iterator[Problem]:
    """Download addresses in committed package locks. They tie a checkout to one registry, and may carry its password."""
    for path in sorted([*root.glob("locks/*.txt"), *root.glob("images/servers/*/requirements.*")]):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if re.search(r"https?://", line):
                yield Problem(
                    where=f"{path.relative_to(root)}:{number}", message="holds a download address"
                )
    for path in sorted(root.glob("images/servers/*/package-lock.json")):
        packages = json.loads(path.read_text(encoding="utf-8")).get("packages", {})
        for name, package in packages.items():
            if "resolved" in package and re.match(r"\w+://", str(package["resolved"])):
                yield Problem(
                    where=f"{path.relative_to(root)} packages.{name}.resolved",
                    message="holds a download address",
                )
