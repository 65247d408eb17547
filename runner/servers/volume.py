"""An install volume: filled once, in a builder container that has network, then read-only.

A server's, which the agent's user may not look into, or an agent's own. Locks pin every package by
hash; cells mount the finished volume. It is named by what goes in, so checkouts with the same locks
and the same base recipe share one, whichever of them filled it.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from runner.protocols import Log
from runner.records import Sha256, digest_of
from runner.records.servers import Python
from runner.sandbox import volume_host
from runner.sandbox.base_image import BaseImage
from runner.sandbox.builder import ROOT, Builder, BuilderEnv, BuilderSpec, open_builder, tar_of
from runner.sandbox.cell_layout import (
    AGENT_UID,
    AGENT_USER,
    INSTALL,
    PYTHONS,
    SERVER_UID,
    SERVER_USER,
)
from runner.sandbox.engine import LABEL, Engine, create_volume, engine_faults, volume_exists
from runner.sandbox.volume_host import MARKER, UNPACKED
from runner.servers.definition_rules import (
    LOCK_FILES,
    PLACEHOLDERS,
    Placeholders,
    fill_placeholders,
)
from runner.support.code_digest import code_digest
from runner.support.errors import (
    DiskFullError,
    FairtrialError,
    LockError,
    SandboxError,
    ServerError,
)

BUILD_LIMIT_SEC = 1800
MOST_DOWNLOADS = 3
"""Times that an install is begun. A mirror that has to fetch a large package itself may hang up in
the middle of it; npm asks again only for one that has not begun to answer."""
LOG_LINES_KEPT = 20
UNBUILT = re.compile(r"metadata-generation-failed|[Ff]ailed (?:to build|building wheel)")
"""How pip says that it could not make an installable package out of source."""
_BROKE_OFF = re.compile(r"npm error (?:network|code E(?:429|5\d\d))|IncompleteRead|Read timed out")
"""How npm and pip say that a download did not come to its end."""
_FULL = re.compile(r"No space left on device|ENOSPC")
_BAR = "━"
"""Of a progress bar."""


class InstallDefinition(Protocol):
    """What a server.yaml, or an agent.yaml, says of an install."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def python(self) -> Python: ...
    @property
    def files(self) -> Mapping[str, str]: ...


class Installable(Protocol):
    """A folder with such a file, and the locks beside it, read."""

    @property
    def spec(self) -> InstallDefinition: ...
    @property
    def folder(self) -> Path: ...


@dataclass(frozen=True, kw_only=True)
class VolumeUser:
    """Whose a volume is: nobody else in a cell may look into it."""

    kind: str
    user: str
    uid: int


FOR_SERVER = VolumeUser(kind="server", user=SERVER_USER, uid=SERVER_UID)
FOR_AGENT = VolumeUser(kind="agent", user=AGENT_USER, uid=AGENT_UID)
FOR_TESTS = VolumeUser(kind="tests", user=AGENT_USER, uid=AGENT_UID)
"""No cell mounts it: it is copied into an image."""


@dataclass(frozen=True, kw_only=True)
class ServerVolume:
    """A finished install volume."""

    name: str
    digest: Sha256
    """Of its content: every path, mode, owner and byte."""
    size_mb: float

    @property
    def volume(self) -> str:
        """What a cell mounts."""
        return self.name


def volume_name(
    server: Installable,
    base_recipe: Sha256,
    places: Placeholders = PLACEHOLDERS,
    whose: VolumeUser = FOR_SERVER,
) -> str:
    """Names what goes in, so a changed lock is another volume. A changed note or probe is not.

    `base_recipe` is the digest of the base's recipe, not an image's id: two bases built from one
    recipe on different days would else install the same packages twice.
    """
    inputs: dict[str, object] = {name: _text(server.folder / name) for name in LOCK_FILES}
    if unpacked := _text(server.folder / UNPACKED):
        inputs[UNPACKED] = unpacked
    inputs["files"] = fill_placeholders(server.spec.files, places)
    inputs["python"] = server.spec.python
    inputs["base"] = base_recipe
    inputs["host"] = code_digest([Path(volume_host.__file__)])
    return f"{LABEL}-{whose.kind}-{server.spec.name}-{digest_of(inputs)[:12]}"


def _text(path: Path) -> str | None:
    if not path.exists():
        return None
    return path.read_text(encoding="utf-8")


def ensure_volume(  # noqa: PLR0913 - what is installed, on what, and for which place
    engine: Engine,
    server: Installable,
    base: BaseImage,
    builder_env: BuilderEnv,
    log: Log,
    *,
    places: Placeholders = PLACEHOLDERS,
    whose: VolumeUser = FOR_SERVER,
) -> ServerVolume:
    """The server's install volume: filled first if no finished one is there, and read through.

    `places`: where a cell will have it, which the server's own files may name.
    Raises ServerError if its packages cannot be installed, LockError if its content was changed,
    SandboxError if the engine fails.
    """
    name = volume_name(server, base.recipe, places, whose)
    with engine_faults(f"cannot build the volume of {server.spec.name}"):
        volume = _finished(engine, name, base, whose)
        if volume is None:
            create_volume(engine, name, whose.kind)
            files = _job_files(server, base, places)
            with open_builder(engine, _filling(name, base, builder_env, whose)) as builder:
                volume = _install(builder, server, name, log, files)
            verify_volume(engine, volume, base.id, whose)
    return volume


def _finished(engine: Engine, name: str, base: BaseImage, whose: VolumeUser) -> ServerVolume | None:
    """The volume, read through; None if it is not finished."""
    if not volume_exists(engine, name):
        return None
    with open_builder(engine, _reading(name, base.id, whose)) as builder:
        volume = _read_marker(builder, name)
        if volume is not None:
            require_content(builder, volume)
    return volume


def _read_marker(builder: Builder, name: str) -> ServerVolume | None:
    """What the marker of the builder's volume says; None if it is half-built."""
    try:
        (text,) = builder.files(f"{INSTALL}/{MARKER}")
        marker = json.loads(text)
        return ServerVolume(name=name, digest=marker["content"], size_mb=marker["bytes"] / 1e6)
    except (ValueError, KeyError, TypeError):
        return None


def _filling(name: str, base: BaseImage, env: BuilderEnv, whose: VolumeUser) -> BuilderSpec:
    return BuilderSpec(
        image=base.id,
        command=_host_command(whose, "build", INSTALL, "/build"),
        user=ROOT,
        environment={"HOME": "/root"},
        network=env,
        volume=name,
        writable=True,
        # Keeps out every other checkout that would fill this volume at the same time.
        name=f"{name}-build",
    )


def _install(
    builder: Builder, server: Installable, name: str, log: Log, files: Mapping[str, bytes]
) -> ServerVolume:
    """Fill the builder's volume. Raises ServerError with the log's last lines."""
    filled_meanwhile = _read_marker(builder, name)
    if filled_meanwhile is not None:
        return filled_meanwhile
    started = time.monotonic()
    log(f"installing {server.spec.name} {server.spec.version}")
    builder.put(tar_of(files))
    exit_code = _fill(builder, server, log)
    if exit_code != 0:
        raise install_failed(server, exit_code, builder.output(last_lines=LOG_LINES_KEPT))
    volume = _read_marker(builder, name)
    if volume is None:
        raise ServerError(
            "its volume was built and is not finished", where=name, hint="run it again"
        )
    wall_sec = time.monotonic() - started
    log(f"installed {server.spec.name}: {volume.size_mb:.0f} MB in {wall_sec:.0f} s")
    return volume


def _fill(builder: Builder, server: Installable, log: Log) -> int:
    """The exit code of the last install that was begun."""
    for _ in range(MOST_DOWNLOADS - 1):
        exit_code = builder.run(deadline_sec=BUILD_LIMIT_SEC + 60)
        if exit_code == 0 or not _BROKE_OFF.search(builder.output()):
            return exit_code
        log(f"installing {server.spec.name} again: a download broke off")
    return builder.run(deadline_sec=BUILD_LIMIT_SEC + 60)


def install_failed(server: Installable, exit_code: int, output: str) -> FairtrialError:
    if _FULL.search(output):
        return DiskFullError(
            f"the disk is full: {server.spec.name} could not be installed",
            hint="`fairtrial clean --all` removes every server that was installed, and what else"
            " is ours",
        )
    lines = "".join(f"\n  {line}" for line in output.splitlines() if _BAR not in line)
    hint = "does this host reach the package registries?"
    hint += " Behind a proxy, SSL_CERT_FILE must name its certificates"
    if UNBUILT.search(output):
        hint = "a package of it is source that has to be compiled, and the base has no compiler:"
        hint += " pin a version of that package that comes built (requirements.in)"
    return ServerError(
        f"its packages could not be installed (exit {exit_code}){lines}",
        where=str(server.folder),
        hint=hint,
    )


def _job_files(server: Installable, base: BaseImage, places: Placeholders) -> dict[str, bytes]:
    """What the host in the container installs, by path."""
    files = {
        "build/files.json": json.dumps(fill_placeholders(server.spec.files, places)).encode(),
        "build/node.txt": base.node.encode(),
        "build/python.txt": PYTHONS[server.spec.python].encode(),
        "build/backends.txt": base.backends.encode(),
    }
    for name in (*LOCK_FILES, UNPACKED):
        text = _text(server.folder / name)
        if text is not None:
            files[f"build/{name}"] = text.encode()
    return files


def _host_command(whose: VolumeUser, *arguments: str) -> list[str]:
    """Runs volume_host.py, which ends itself: a killed runner cannot leak it for ever."""
    source = Path(volume_host.__file__).read_text(encoding="utf-8")
    # It stands alone, and says for itself whose a volume is.
    source = source.replace(f"SERVER_UID = {SERVER_UID}\n", f"SERVER_UID = {whose.uid}\n")
    return ["timeout", str(BUILD_LIMIT_SEC), "python3", "-I", "-c", source, *arguments]


def verify_volume(
    engine: Engine, volume: ServerVolume, base_image_id: str, whose: VolumeUser = FOR_SERVER
) -> None:
    """Read every byte of the volume again. Raises LockError if it is not what was built."""
    failure = f"cannot read the volume {volume.name}"
    reading = _reading(volume.name, base_image_id, whose)
    with engine_faults(failure), open_builder(engine, reading) as builder:
        require_content(builder, volume)


def _reading(name: str, base_image_id: str, whose: VolumeUser) -> BuilderSpec:
    return BuilderSpec(
        image=base_image_id,
        command=_host_command(whose, "inspect", INSTALL),
        user=whose.user,  # Nobody else may look into it.
        volume=name,
    )


def require_content(builder: Builder, volume: ServerVolume) -> None:
    """As `verify_volume`, by a builder that is to read the volume and has not been started."""
    builder.run()
    try:
        content = json.loads(builder.output(stderr=False))["content"]
    except ValueError as error:
        failure = f"cannot read the volume {volume.name}"
        raise SandboxError(f"{failure}: its inspection gave no answer") from error
    if content != volume.digest:
        hint = f"remove it (`docker volume rm {volume.name}`) and it is built again from its locks"
        raise LockError("the volume's content is not what was built", where=volume.name, hint=hint)
