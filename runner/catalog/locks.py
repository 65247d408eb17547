"""What is pinned under locks/, written and verified: names -> commits and digests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.catalog.catalog import Catalog, LoadedScenario
from runner.catalog.project import lock_changes, lock_text, write_project_lock
from runner.records import RepoPin, digest_of, load_json, parse_json, read_text
from runner.records.run_store import write_whole
from runner.repositories.archives import RunNpm
from runner.repositories.local_labels import open_source
from runner.support.errors import CatalogError, Drift, LockError, Problem
from runner.support.text import counted

HARNESS_VERSION = 3
"""Raise it by hand if the harness treats a cell in a way that could change its outcome.

Its cells are then other cells.
"""
REPOS_LOCK = "locks/repos.lock"
MAX_LOCK_BYTES = 16 * 1024 * 1024
"""Of a package lock; the largest of ours is a hundredth of it."""


def harness_digest() -> str:
    return digest_of({"harness": HARNESS_VERSION})


# --- repos.lock -----------------------------------------------------------------------------


def read_repos_lock(root: Path) -> dict[str, RepoPin]:
    """Source label -> pin; empty if there is no lock yet. Raises LockError if it is malformed."""
    try:
        return _parse_pins((root / REPOS_LOCK).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except CatalogError as error:
        raise _unreadable("; ".join(str(problem) for problem in error.problems)) from error
    except (ValueError, OSError) as error:
        raise _unreadable(str(error)) from error


def _parse_pins(text: str) -> dict[str, RepoPin]:
    data = load_json(text)
    if not isinstance(data, dict):
        raise ValueError("it is no object of labels and pins")  # noqa: TRY004 - as any bad lock
    return {it: parse_json(json.dumps(pin), RepoPin, where=it) for it, pin in data.items()}


def _unreadable(why: str) -> LockError:
    return LockError(
        f"cannot be read: {why}",
        where=REPOS_LOCK,
        hint="take it from git again, or run `fairtrial lock`",
    )


def write_repos_lock(root: Path, pins: Mapping[str, RepoPin]) -> None:
    entries = {label: pin.model_dump() for label, pin in pins.items()}
    write_whole(root / REPOS_LOCK, lock_text(entries))


# --- every lock -----------------------------------------------------------------------------


def write_locks(  # noqa: PLR0913 - two of them are only handed on to what fetches
    root: Path,
    catalog: Catalog,
    *,
    cache: Path,
    environ: Mapping[str, str] | None = None,
    check: bool = False,
    npm: RunNpm | None = None,
) -> list[str]:
    """Pin every repository and the base image; returns what changed, a line each.

    With `check` it writes nothing, and raises LockError if something would change. Raises
    CatalogError if a package lock names an address to download from: a lock pins content, and the
    address is the user's own index.
    """
    catalog.scenarios.check()
    _refuse_addresses(root)
    scenarios = catalog.scenarios.values()
    pins = pins_of(scenarios, project=root, cache=cache, environ=environ, npm=npm)
    changes = [*_repo_changes(read_repos_lock(root), pins), *_image_changes(root, check=check)]
    if check and changes:
        raise _out_of_date(changes)
    if not check:
        write_repos_lock(root, pins)
    return changes or [f"{_repositories(pins)} and the base image are as locked"]


def pins_of(
    scenarios: Iterable[LoadedScenario],
    *,
    project: Path,
    cache: Path,
    environ: Mapping[str, str] | None = None,
    npm: RunNpm | None = None,
) -> dict[str, RepoPin]:
    """Source label -> what its repository is now, fetched where it is not in the cache."""
    # Fifteen questions are asked about one repository, which is read once.
    sources = {loaded.scenario.repository: None for loaded in scenarios}
    pins: dict[str, RepoPin] = {}
    for source in sources:
        # Compared with no lock: this is what makes it.
        repository = open_source(
            source, project=project, cache=cache, pins=None, environ=environ, npm=npm
        )
        pins[source.label] = repository.pin
    return pins


def write_project_locks(
    project: Path, pins: Mapping[str, RepoPin], *, check: bool = False
) -> list[str]:
    """Both locks of a project: its repositories, and its own files. Returns what changed.

    Raises as `write_locks` does.
    """
    _refuse_addresses(project)
    changes = list(_repo_changes(read_repos_lock(project), pins))
    changes += [f"{it.where}: {it.what if check else _done(it)}" for it in lock_changes(project)]
    if check and changes:
        raise _out_of_date(changes)
    if not check:
        write_repos_lock(project, pins)
        write_project_lock(project)
    return changes or [f"{_repositories(pins)} and the project's files are as locked"]


def _done(drift: Drift) -> str:
    """Once it is written it is in the lock, and the next run goes on."""
    return "written" if not drift.expected else drift.what


def _repositories(pins: Mapping[str, RepoPin]) -> str:
    return counted(len(pins), "repository", "repositories")


def _out_of_date(changes: Sequence[str]) -> LockError:
    listed = "\n".join(f"  {line}" for line in changes)
    hint = "run `fairtrial lock`, look at the difference, and commit it"
    return LockError(f"out of date:\n{listed}", where="locks/", hint=hint)


def _repo_changes(locked: Mapping[str, RepoPin], pins: Mapping[str, RepoPin]) -> Iterator[str]:
    for label in sorted({*locked, *pins}):
        old, new = locked.get(label), pins.get(label)
        if new is None:
            yield f"{label}: no scenario uses it any more"
        elif old is None:
            yield f"{label}: new, commit {new.commit[:12]}, {new.files} files"
        elif old != new:
            yield (
                f"{label}: commit {old.commit[:12]} (tree {old.tree[:12]}) "
                f"becomes {new.commit[:12]} (tree {new.tree[:12]})"
            )


def _image_changes(root: Path, *, check: bool) -> Iterator[str]:
    from runner.sandbox import base_image  # noqa: PLC0415 - it imports docker

    try:
        base_image.check_images_lock(root)
    except LockError as error:
        yield f"locks/images.lock: {error.what}"
        if not check:
            base_image.write_images_lock(root)


# --- addresses ------------------------------------------------------------------------------


def _refuse_addresses(root: Path) -> None:
    if problems := list(address_problems(root)):
        hint = "make the lock again without index addresses; hashes pin the packages"
        raise CatalogError(problems, hint=hint)


def address_problems(root: Path) -> Iterator[Problem]:
    """Download addresses in committed package locks.

    They tie a checkout to one registry, and may carry its password.
    """
    paths = [*root.glob("locks/*.txt"), *root.glob("images/servers/*/requirements.*")]
    for path in sorted(paths):
        yield from _in_requirements(path, root)
    for path in sorted(root.glob("images/servers/*/package-lock.json")):
        yield from _in_package_lock(path, root)


def _in_requirements(path: Path, root: Path) -> Iterator[Problem]:
    # For example `--index-url https://me:secret@packages.example/simple`.
    lines = _read(path, root).splitlines()
    for number, line in enumerate(lines, start=1):
        if re.search(r"https?://", line):
            yield _address(f"{path.relative_to(root)}:{number}")


def _in_package_lock(path: Path, root: Path) -> Iterator[Problem]:
    where = str(path.relative_to(root))
    try:
        names = list(_with_address(load_json(_read(path, root))))
    except ValueError as error:
        yield Problem(where=where, message=f"not usable JSON: {error}")
        return
    for name in names:
        yield _address(f"{where} packages.{name}.resolved")


def _with_address(lock: object) -> Iterator[str]:
    """Names of the packages of a package-lock.json that are downloaded from an address."""
    for name, package in _object_at(lock, "packages").items():
        # `resolved` alone: homepages and funding links in the same file download nothing.
        resolved = _object_at({name: package}, name).get("resolved")
        if isinstance(resolved, str) and re.match(r"\w+://", resolved):
            yield name


def _object_at(value: object, key: str) -> dict[str, Any]:
    """The object under a key, empty if there is none. Raises ValueError if it is no object."""
    found = value.get(key, {}) if isinstance(value, dict) else value
    if not isinstance(found, dict):
        raise ValueError(f"{key!r} holds no object")  # noqa: TRY004 - as any bad lock
    return found


def _read(path: Path, root: Path) -> str:
    return read_text(path, where=str(path.relative_to(root)), limit_bytes=MAX_LOCK_BYTES)


def _address(where: str) -> Problem:
    return Problem(where=where, message="holds a download address")
