"""The Docker Engine: one connection to it, its faults in our words, and what it holds of ours.

Docker's SDK is named in this room alone; others say `Engine` and call what is here.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from runner.records import digest_of
from runner.support.errors import EngineError, FairtrialError, SandboxError

if TYPE_CHECKING:
    # Loading the SDK takes a third of a second: `--help` and `plan` must not pay for it, and both
    # reach this module. So everything below imports it late.
    import docker
    from docker.types import LogConfig, Mount

Engine: TypeAlias = "docker.DockerClient"
"""A connection to one Docker Engine."""

LABEL = "fairtrial"
"""On every container, volume and image of ours; its value says what the thing is for."""
OWNER_LABEL = f"{LABEL}.owner"
"""On a container that outlives nobody: which process made it."""
DEADLINE_LABEL = f"{LABEL}.deadline"
"""On the same: when nobody needs it any more, in Unix seconds, wherever its process is."""
DEADLINE_GRACE_SEC = 600
"""Clocks differ, and a container is made some time before it starts."""
TIMEOUT_SEC = 600


def connect(url: str | None = None) -> Engine:
    """The engine at `url`, or the one the environment names. Raises EngineError if none answers."""
    if not (url or "").startswith("ssh:"):
        # The SDK loads paramiko wherever it is installed, in half of its time, for ssh:// alone.
        sys.modules.setdefault("docker.transport.sshconn", None)  # type: ignore[arg-type]
    import docker  # noqa: PLC0415 - see Engine

    engine: Engine | None = None
    try:
        if url:
            engine = docker.DockerClient(base_url=url, timeout=TIMEOUT_SEC)
        else:
            engine = docker.from_env(timeout=TIMEOUT_SEC)
        engine.ping()
    except (docker.errors.DockerException, OSError) as error:
        if engine is not None:
            engine.close()
        if url:
            hint = "it is where DOCKER_HOST says: mend or unset it, or start the engine there"
            raise EngineError("no Docker Engine answers", where="DOCKER_HOST", hint=hint) from error
        hint = "start Docker; in a checkout, on Debian and Ubuntu, `./justw` installs and starts it"
        raise EngineError("no Docker Engine answers", hint=hint) from error
    return engine


@contextmanager
def engine_faults(
    action: str,
    *,
    kind: type[FairtrialError] = SandboxError,
    where: str = "",
    hint: str = "`docker info` and the engine's log say more",
) -> Iterator[None]:
    """Raises an error of `kind`, `action` first, for whatever the engine fails at inside."""
    import docker.errors  # noqa: PLC0415 - see Engine

    try:
        yield
    # A lost or silent engine is an OSError: the SDK lets those of `requests` through.
    except (docker.errors.DockerException, OSError, EOFError) as error:
        detail = getattr(error, "explanation", None) or error
        raise kind(f"{action}: {detail}", where=where, hint=hint) from error


def lost(error: BaseException) -> EngineError | None:
    """Our words for a connection that broke where no action of ours was named; else None.

    An engine can be stopped between any two calls, so this is the user's to mend, not our bug.
    """
    import requests  # noqa: PLC0415 - see Engine
    import urllib3.exceptions  # noqa: PLC0415 - see Engine

    # A stream that is cut in its middle is urllib3's error or the system's, not `requests`'.
    broken = (requests.ConnectionError, requests.Timeout, urllib3.exceptions.HTTPError)
    if not isinstance(error, (*broken, ConnectionError)):
        return None
    return EngineError(
        f"the Docker Engine stopped answering: {error}",
        hint="`docker info` and the engine's log say more; then run the same command again",
    )


@contextmanager
def absent_ok() -> Iterator[None]:
    """Leave the block quietly if the engine says that there is no such thing."""
    import docker.errors  # noqa: PLC0415 - see Engine

    with suppress(docker.errors.NotFound):
        yield


@contextmanager
def conflict_ok() -> Iterator[None]:
    """Leave the block quietly if the engine says that somebody else is at it, or has the name."""
    import docker.errors  # noqa: PLC0415 - see Engine

    try:
        yield
    except docker.errors.APIError as error:
        if error.status_code != 409:
            raise


def volume_mount(place: str, volume: str | None, **settings: Any) -> Mount:
    """A volume at a place in a container; one of its own if None is named."""
    from docker.types import Mount  # noqa: PLC0415 - see Engine

    # no_copy: the engine would fill an empty volume from the image, and change what was built.
    return Mount(place, volume, type="volume", no_copy=True, **settings)


def memory_mount(place: str, options: str, labels: Mapping[str, str]) -> Mount:
    """A tmpfs as a volume that is gone with its container. `options`: as mount(8) has them."""
    from docker.types import DriverConfig  # noqa: PLC0415 - see Engine

    driver = DriverConfig("local", {"type": "tmpfs", "device": "tmpfs", "o": options})
    return volume_mount(place, None, labels=dict(labels), driver_config=driver)


def no_log() -> LogConfig:
    """The engine keeps nothing of what a container prints."""
    from docker.types import LogConfig  # noqa: PLC0415 - see Engine

    return LogConfig(type="none")


@dataclass(frozen=True, kw_only=True)
class EngineFacts:
    """What the fingerprint says of the engine."""

    version: str
    kernel: str
    machine: str
    """Digest of the engine's id for itself, which no other engine has."""


def engine_facts(engine: Engine) -> EngineFacts:
    """Raises EngineError."""
    with engine_faults("the engine does not say what it is", kind=EngineError):
        version, info = engine.version(), engine.info()
    return EngineFacts(
        version=str(version["Version"]),
        kernel=str(version["KernelVersion"]),
        machine=digest_of(str(info.get("ID", "")))[:16],
    )


def architecture(engine: Engine) -> str:
    """Of the engine's machine, as Linux calls it: x86_64, aarch64. Raises EngineError."""
    with engine_faults("the engine does not say what it is", kind=EngineError):
        return str(engine.info()["Architecture"])


def processors(engine: Engine) -> float:
    """How many processors the engine's machine has. Raises EngineError."""
    with engine_faults("the engine does not say what it has", kind=EngineError):
        return float(engine.info()["NCPU"])


# --- what is there of ours ----------------------------------------------------------------------


def image_id(engine: Engine, reference: str) -> str | None:
    """`sha256:…` of the image with that tag or id; None if there is none."""
    with absent_ok():
        return str(engine.images.get(reference).id)
    return None


def remove_image(engine: Engine, reference: str) -> None:
    """By tag: takes it from its image, which goes with its last one. By id: with all its tags."""
    # It may be gone already: another checkout can refuse the same image at the same time.
    with absent_ok():
        engine.api.remove_image(reference, force=True)


def volume_exists(engine: Engine, name: str) -> bool:
    with absent_ok():
        engine.api.inspect_volume(name)
        return True
    return False


def create_volume(engine: Engine, name: str, purpose: str) -> None:
    """Make a volume; one that is there already stays as it is."""
    engine.api.create_volume(name, labels={LABEL: purpose})


def owner_labels(deadline_sec: int) -> dict[str, str]:
    """Name this process, and when its thing is due to end by itself, in seconds from now.

    By them, what a killed process leaves behind can be told as such.
    """
    pid = os.getpid()
    due = int(time.time()) + deadline_sec + DEADLINE_GRACE_SEC
    owner = f"{socket.gethostname()}:{pid}:{_start_tick(pid)}"
    return {OWNER_LABEL: owner, DEADLINE_LABEL: str(due)}


def _start_tick(pid: int) -> str:
    """Tells a process from a later one with the same number. Empty if it is gone or unreadable."""
    with suppress(OSError):
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        # The command, in brackets, may hold spaces and brackets of its own: count from its end.
        return stat.rsplit(")", 1)[1].split()[19]
    return ""


def owner_is_gone(labels: Mapping[str, str]) -> bool:
    """Is the process that made it dead? Not for sure if it ran on another machine: then False."""
    host, _, process = labels.get(OWNER_LABEL, "").partition(":")
    pid, _, start_tick = process.partition(":")
    was_here = host == socket.gethostname() and pid.isdigit()
    return was_here and _start_tick(int(pid)) != start_tick


def is_abandoned(labels: Mapping[str, str]) -> bool:
    """Is its owner dead, or its deadline past? A living runner's is neither, on any checkout."""
    due = labels.get(DEADLINE_LABEL, "")
    return owner_is_gone(labels) or (due.isdigit() and int(due) < time.time())


def sweep(engine: Engine, *, run: str | None = None) -> int:
    """Remove the containers (cells, builders) that killed runners left; returns how many.

    Every cell of `run` (whose lock the caller has), and everything that is abandoned.
    """
    removed = 0
    for item in engine.api.containers(all=True, filters={"label": LABEL}):
        labels = item.get("Labels") or {}
        is_of_run = run is not None and labels.get(f"{LABEL}.run") == run
        if is_of_run or is_abandoned(labels):
            remove_container(engine, item["Id"])
            removed += 1
    return removed


def remove_all(engine: Engine) -> Iterator[str]:
    """Remove every container, volume and image of ours, a living runner's too; a line for each."""
    # In this order: the engine refuses to remove what a container still uses.
    for item in engine.api.containers(all=True, filters={"label": LABEL}):
        remove_container(engine, item["Id"])
        yield f"removed container {item['Id'][:12]}"
    for volume in engine.volumes.list(filters={"label": LABEL}):
        volume.remove(force=True)
        yield f"removed volume {volume.name}"
    for image in engine.images.list(filters={"label": LABEL}):
        remove_image(engine, str(image.id))
        yield f"removed image {next(iter(image.tags), image.short_id)}"


def remove_container(engine: Engine, container_id: str) -> None:
    """Remove a container, running or not; one that is gone already is no error."""
    # A container that is already being removed (its deadline came, or another sweep) answers
    # 404 or 409: both mean that it is gone, and an error here would hide the cell's own outcome.
    with absent_ok():
        with conflict_ok():
            engine.api.remove_container(container_id, force=True, v=True)
            return
        engine.api.wait(container_id, condition="removed", timeout=60)
