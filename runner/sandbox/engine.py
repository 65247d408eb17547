"""The Docker Engine: one connection to it, its faults in our words, and what it holds of ours.

Docker's SDK is named in this room alone (engine, builder, base, container, stream); others say
`Engine` and call what is here.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import docker
import docker.errors
import requests

from runner.errors import EngineError, SandboxError

Engine = docker.DockerClient
"""A connection to one Docker Engine."""

LABEL = "fairtrial"
"""On every container, volume and image of ours; its value says what the thing is for."""
TIMEOUT_SEC = 600
LOST = (docker.errors.DockerException, requests.RequestException)
"""What the SDK raises if the engine refuses, or is gone."""


def connect(url: str | None = None) -> Engine:
    """The engine at `url`, or the one the environment names. Raises EngineError if none answers."""
    hint = "`./justw demo` starts one on Debian and Ubuntu; elsewhere start Docker yourself"
    engine: Engine | None = None
    try:
        if url:
            engine = docker.DockerClient(base_url=url, timeout=TIMEOUT_SEC)
        else:
            engine = docker.from_env(timeout=TIMEOUT_SEC)
        engine.ping()
    except LOST as error:
        if engine is not None:
            engine.close()
        raise EngineError("no Docker Engine answers", hint=hint) from error
    return engine


@contextmanager
def engine_faults(action: str, *, hint: str = "") -> Iterator[None]:
    """Raises SandboxError, `action` first, for whatever the engine fails at inside."""
    try:
        yield
    except (*LOST, OSError, EOFError) as error:
        detail = getattr(error, "explanation", None) or error
        hint = hint or "`docker info` and the engine's log say more"
        raise SandboxError(f"{action}: {detail}", hint=hint) from error


@dataclass(frozen=True, kw_only=True)
class EngineFacts:
    """What the fingerprint says of the engine."""

    version: str
    kernel: str


def engine_facts(engine: Engine) -> EngineFacts:
    version = engine.version()
    return EngineFacts(version=str(version["Version"]), kernel=str(version["KernelVersion"]))


def processors(engine: Engine) -> float:
    """How many processors the engine's machine has."""
    return float(engine.info()["NCPU"])


# --- what is there of ours ----------------------------------------------------------------------


def image_id(engine: Engine, reference: str) -> str | None:
    """`sha256:…` of the image with that tag or id; None if there is none."""
    try:
        return str(engine.images.get(reference).id)
    except docker.errors.ImageNotFound:
        return None


def owner_label() -> dict[str, str]:
    """Names this process, so that what it leaves behind when it is killed can be told as such."""
    pid = os.getpid()
    return {f"{LABEL}.owner": f"{socket.gethostname()}:{pid}:{_start_tick(pid)}"}


def _start_tick(pid: int) -> str:
    """Tells a process from a later one with the same number. Empty if it is gone or unreadable."""
    with suppress(OSError):
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        # The command, in brackets, may hold spaces and brackets of its own: count from its end.
        return stat.rsplit(")", 1)[1].split()[19]
    return ""


def _is_orphan(owner: str) -> bool:
    host, _, process = owner.partition(":")
    pid, _, started = process.partition(":")
    here = host == socket.gethostname() and pid.isdigit()
    return here and _start_tick(int(pid)) != started


def sweep(engine: Engine, *, run: str | None = None) -> int:
    """Remove the cells that killed runners left; returns how many.

    Every cell of `run` (whose lock the caller has), and every cell whose owner is gone.
    """
    removed = 0
    for item in engine.api.containers(all=True, filters={"label": f"{LABEL}=cell"}):
        labels = item.get("Labels") or {}
        of_run = run is not None and labels.get(f"{LABEL}.run") == run
        if of_run or _is_orphan(labels.get(f"{LABEL}.owner", "")):
            remove_container(engine, item["Id"])
            removed += 1
    return removed


def remove_all(engine: Engine) -> Iterator[str]:
    """Remove every container, volume and image of ours, a living runner's too; a line for each."""
    for item in engine.api.containers(all=True, filters={"label": LABEL}):
        remove_container(engine, item["Id"])
        yield f"removed container {item['Id'][:12]}"
    for volume in engine.volumes.list(filters={"label": LABEL}):
        volume.remove(force=True)
        yield f"removed volume {volume.name}"
    for image in engine.images.list(filters={"label": LABEL}):
        engine.api.remove_image(str(image.id), force=True)
        yield f"removed image {next(iter(image.tags), image.short_id)}"


def remove_container(engine: Engine, container_id: str) -> None:
    # A container that is already being removed (its deadline came, or another sweep) answers
    # 404 or 409: both mean that it is gone, and an error here would hide the cell's own outcome.
    with suppress(docker.errors.NotFound):
        try:
            engine.api.remove_container(container_id, force=True, v=True)
        except docker.errors.APIError as error:
            if error.status_code != 409:
                raise
            engine.api.wait(container_id, condition="removed", timeout=60)
