"""From what is asked to an installed server: its folder of locks, and what it says of itself."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from runner.authoring.onboarding.fetched import Supply, programs_of, supplies
from runner.authoring.onboarding.installed import InstalledPackage, look_into
from runner.authoring.onboarding.local_server import copied_command, copied_folder
from runner.authoring.onboarding.locking import Locker, locked_version, pythons_for
from runner.authoring.onboarding.published_images import DockerImage, described, pinned
from runner.authoring.onboarding.scripts import allowed, require_scripts
from runner.authoring.onboarding.server_source import (
    Command,
    LocalPath,
    NpmPackage,
    PypiPackage,
    ServerSource,
)
from runner.authoring.onboarding.with_packages import environment, of_registry
from runner.catalog.catalog import LoadedServer
from runner.catalog.checkout import Checkout
from runner.protocols import Log
from runner.records import Canary, McpCall, Python, ServerSpec, WarmUp
from runner.servers.volume import ServerVolume, ensure_volume

UNKNOWN = Canary(repository="*", call=McpCall(tool="unknown"), contains="unknown")
"""Where a definition must have one, and none is known yet."""

TOLD_BYTES = 500_000_000
"""A download of more is told before it begins."""
_HUB = re.compile(r"^huggingface[-_.]hub==", re.MULTILINE)


def locker_of(checkout: Checkout) -> Locker:
    it = checkout
    return Locker(root=it.root, engine=it.engine, image=it.base.id, env=it.builder_env)


def volume_of(checkout: Checkout, spec: ServerSpec, folder: Path) -> ServerVolume:
    it, server = checkout, LoadedServer(spec=spec, folder=folder, digest="")
    return ensure_volume(it.engine, server, it.base, it.builder_env, it.log)


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A server that is installed, and not yet started."""

    folder: Path
    installed: InstalledPackage
    files: Mapping[str, str]
    """Under {install}: its own, or what starts its package's tools."""
    image: str | None = None
    """NAME@sha256:… if it is one: then there is no volume."""
    extra: str = ""
    """Its own that makes it a server, taken though none was asked for."""
    unpinned: str = ""
    """What no lock holds, in words."""

    @cached_property
    def supplies(self) -> dict[Supply, WarmUp]:
        """What its libraries would fetch, each with the step that puts it where they look."""
        return supplies(self.folder)


def install(
    asked: ServerSource, name: str, folder: Path, checkout: Checkout, *, before: str
) -> Candidate:
    """Lock it, fill its volume, and read what it says of itself.

    Raises SourceError or ServerError if it cannot be locked or installed.
    """
    candidate = _install(asked, name, folder, checkout, before=before)
    found = candidate.installed
    env = environment(found.env, getattr(asked, "programs", ()))
    return replace(candidate, installed=replace(found, env=env))


def _install(
    asked: ServerSource, name: str, folder: Path, checkout: Checkout, *, before: str
) -> Candidate:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if isinstance(asked, NpmPackage):
        locker_of(checkout).lock_npm(asked, folder, before=before)
        require_scripts(folder, asked.scripts)
        return _from_registry("npm", asked.name, name, folder, checkout)
    if isinstance(asked, PypiPackage):
        return _from_pypi(asked, name, folder, checkout, before=before)
    if isinstance(asked, DockerImage):
        image = pinned(asked, checkout.engine, checkout.log)
        found = described(image, name)
        return Candidate(folder=folder, installed=found, files={}, image=image.reference)
    if isinstance(asked, Command):
        return copied_candidate(folder, *copied_command(asked.words, name))
    return _from_folder(asked, folder, checkout, before=before)


def _from_pypi(
    asked: PypiPackage, name: str, folder: Path, checkout: Checkout, *, before: str
) -> Candidate:
    """With the extra that makes it a server, if it has one and none was asked for."""
    locker = locker_of(checkout)
    python = locker.lock_pypi(asked, folder, before=before)
    candidate = _from_registry("pypi", asked.name, name, folder, checkout, python=python)
    extra = candidate.installed.server_extra
    if asked.extras or not extra:
        return candidate
    checkout.log(f"  guessed: its extra {extra}; pypi:{asked.name}[EXTRAS] overrides it")
    python = locker.lock_pypi(replace(asked, extras=extra), folder, before=before)
    candidate = _from_registry("pypi", asked.name, name, folder, checkout, python=python)
    return replace(candidate, extra=extra)


def copied_candidate(
    folder: Path, installed: InstalledPackage, files: Mapping[str, str]
) -> Candidate:
    pinned = "its files are copied as they are now; no registry could bring them again"
    return Candidate(folder=folder, installed=installed, files=files, unpinned=pinned)


def _from_folder(asked: LocalPath, folder: Path, checkout: Checkout, *, before: str) -> Candidate:
    locker, copied = locker_of(checkout), copied_folder(asked.path)
    pythons = pythons_for(copied.requires_python)
    python = pythons[0]
    needed: tuple[str, ...] = ()
    programs = "".join(f"{one}\n" for one in of_registry(asked.programs, "pypi"))
    if requirements := copied.requirements + programs:
        python = locker.lock_python(requirements, folder, before=before, pythons=pythons)
        say_size(locker.downloads(folder, python), checkout.log)
        needed = locker.lock_supplies(asked.programs, folder, python, before)
    latest = dict.fromkeys((*of_registry(asked.programs, "npm"), *needed), "latest")
    if dependencies := {**latest, **copied.dependencies}:
        scripts = allowed(asked.scripts)
        locker.lock_node(dependencies, folder, before=before, scripts=scripts)
    require_scripts(folder, asked.scripts)
    files = {**programs_of(folder), **copied.files}
    return copied_candidate(folder, replace(copied.installed, python=python), files)


def _from_registry(  # noqa: PLR0913 - a package, and where it is installed
    kind: Literal["npm", "pypi"],
    package: str,
    name: str,
    folder: Path,
    checkout: Checkout,
    *,
    python: Python = "3.11",
) -> Candidate:
    version = locked_version(folder, package)
    files = programs_of(folder)
    spec = draft(
        name, InstalledPackage(name=package, version=version, entries={}, python=python), files
    )
    say_size(locker_of(checkout).downloads(folder, python), checkout.log)
    volume = volume_of(checkout, spec, folder)
    installed = look_into(checkout.engine, volume.name, checkout.base.id, kind, package)
    return Candidate(folder=folder, installed=replace(installed, python=python), files=files)


def say_size(bytes_of: Mapping[str, int], log: Log) -> None:
    """Before gigabytes are fetched: with how many, and what most of them are."""
    whole = sum(bytes_of.values())
    if whole < TOLD_BYTES:
        return
    largest = sorted(bytes_of, key=lambda name: bytes_of[name], reverse=True)[:3]
    parts = ", ".join(f"{name} {bytes_of[name] / 1e9:.1f}" for name in largest)
    log(f"  its packages are {whole / 1e9:.1f} GB to download, unless they are here ({parts})")


def offline_variables(folder: Path) -> dict[str, str]:
    """What tells a library of its lock that there is no network.

    Unset, Hugging Face's asks for a model again and again, for minutes in every call.
    """
    lock = folder / "requirements.txt"
    if lock.exists() and _HUB.search(lock.read_text(encoding="utf-8")):
        return {"HF_HUB_OFFLINE": "1"}
    return {}


def draft(
    name: str, installed: InstalledPackage, files: Mapping[str, str], image: str | None = None
) -> ServerSpec:
    """A definition with everything but how it is started, and what proves it alive."""
    return ServerSpec(
        name=name,
        title=installed.title[:120] or installed.name,
        version=installed.version or "0",
        licence=installed.licence or "unknown",
        homepage=installed.homepage or "unknown",
        image=image,
        command=("true",),
        env=dict(installed.env),
        python=installed.python,
        files=dict(files),
        canaries=(UNKNOWN,),
        line_base=1,
    )
