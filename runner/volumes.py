"""A server's install volume: filled once, in a builder container that has network, then read-only.

Locks pin every package by hash; cells mount the finished volume.
"""

from __future__ import annotations

import fcntl
import io
import json
import tarfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Protocol

import docker
import docker.errors
import requests

from runner.errors import LockError, SandboxError, ServerError
from runner.protocols import Log
from runner.records import ServerSpec, digest_of
from runner.sandbox.builder import BuilderEnv
from runner.sandbox.engine import LABEL, Engine
from runner.sandbox.places import INSTALL, SERVER_UID
from runner.sandbox.volume_host import MARKER
from runner.server_spec import LOCK_FILES, fill

BUILD_LIMIT_SEC = 1800
LOG_LINES_KEPT = 20


class Server(Protocol):
    """A server's folder, read."""

    @property
    def spec(self) -> ServerSpec: ...
    @property
    def folder(self) -> Path: ...


@dataclass(frozen=True, kw_only=True)
class ServerVolume:
    """A finished install volume."""

    name: str
    digest: str
    """Of its content: every path, mode, owner and byte."""
    size_mb: float


def volume_name(server: Server, base_image_id: str) -> str:
    """Names what goes in, so a changed lock is another volume. A changed note or canary is not."""
    locks = {name: _text(server.folder / name) for name in LOCK_FILES}
    inputs = {
        **locks,
        "files": fill(server.spec.files),
        "base": base_image_id,
        "host": _host_source(),
    }
    return f"{LABEL}-server-{server.spec.name}-{digest_of(inputs)[:12]}"


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def _host_source() -> str:
    return resources.files("runner.sandbox").joinpath("volume_host.py").read_text(encoding="utf-8")


@contextmanager
def _held(lock: Path) -> Iterator[None]:
    """One builder at a time on this machine: two that fill one volume would leave a mixture with a marker."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def ensure_volume(  # noqa: PLR0913 - who builds (engine, base, network), what, and where to say and hold it
    client: Engine,
    server: Server,
    base_image_id: str,
    builder_env: BuilderEnv,
    log: Log,
    *,
    lock_dir: Path,
) -> ServerVolume:
    """The server's install volume, built first where there is no finished one, else read through and compared with what was built.

    Raises ServerError where its packages cannot be installed, LockError where its content was changed, SandboxError where the engine fails.
    """
    name = volume_name(server, base_image_id)
    with (
        _engine_faults(f"cannot build the volume of {server.spec.name}"),
        _held(lock_dir / f"{name}.lock"),
    ):
        if (found := _finished(client, name, base_image_id)) is not None:
            verify_volume(client, found, base_image_id)
            return found
        started = time.monotonic()
        log(f"installing {server.spec.name} {server.spec.version}")
        _empty_volume(client, name)
        _fill_volume(client, server, name, base_image_id, builder_env)
        built = _finished(client, name, base_image_id)
        if built is None:
            raise ServerError(
                f"{server.spec.name}: its volume was built and is not finished", hint="run it again"
            )
        log(
            f"installed {server.spec.name}: {built.size_mb:.0f} MB in {time.monotonic() - started:.0f} s"
        )
        return built


@contextmanager
def _engine_faults(action: str) -> Iterator[None]:
    try:
        yield
    except (docker.errors.DockerException, requests.RequestException) as error:
        detail = getattr(error, "explanation", None) or error
        raise SandboxError(
            f"{action}: {detail}", hint="`docker info` and the engine's log say more"
        ) from error


def _finished(client: Engine, name: str, image: str) -> ServerVolume | None:
    """What the marker says, read through a container that is never started; None where the volume is absent or half-built."""
    try:
        client.api.inspect_volume(name)
    except docker.errors.NotFound:
        return None
    holder = client.api.create_container(
        image, ["true"], labels={LABEL: "builder"}, host_config=_mounting(client, name, "ro")
    )
    try:
        chunks, _ = client.api.get_archive(holder["Id"], f"{INSTALL}/{MARKER}")
        with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
            file = archive.extractfile(MARKER)
            marker = json.load(file) if file else {}
        return ServerVolume(name=name, digest=marker["content"], size_mb=marker["bytes"] / 1e6)
    except (docker.errors.NotFound, ValueError, KeyError):
        return None
    finally:
        remove_container(client, holder["Id"])


def _mounting(client: Engine, volume: str, mode: str, **host: Any) -> Any:
    return client.api.create_host_config(
        binds={volume: {"bind": INSTALL, "mode": f"{mode},nocopy"}}, **host
    )


def remove_container(client: Engine, container: str) -> None:
    with suppress(docker.errors.NotFound):
        client.api.remove_container(container, force=True)


def _empty_volume(client: Engine, name: str) -> None:
    remove_container(
        client, f"{name}-build"
    )  # a killed builder's: we hold the lock, so it is nobody's
    with suppress(docker.errors.NotFound):
        client.api.remove_volume(name)
    client.api.create_volume(name, labels={LABEL: "server"})


def _fill_volume(client: Engine, server: Server, name: str, image: str, env: BuilderEnv) -> None:
    """In a container that ends itself. Raises ServerError with the log's last lines."""
    job = {lock: text for lock in LOCK_FILES if (text := _text(server.folder / lock)) is not None}
    job["files.json"] = json.dumps(fill(server.spec.files))
    bound = {
        volume: {"bind": at["bind"], "mode": at["mode"]} for volume, at in env.volumes().items()
    }
    host = client.api.create_host_config(
        binds={name: {"bind": INSTALL, "mode": "rw,nocopy"}, **bound}, network_mode=env.network
    )
    build = [
        "timeout",
        str(BUILD_LIMIT_SEC),
        "python3",
        "-I",
        "-c",
        _host_source(),
        "build",
        INSTALL,
        "/build",
    ]
    made = client.api.create_container(
        image,
        build,
        name=f"{name}-build",
        labels={LABEL: "builder"},
        host_config=host,
        user="0",
        environment={**env.variables(), "HOME": "/root"},
    )
    try:
        client.api.put_archive(
            made["Id"], "/", _tar({f"build/{key}": text.encode() for key, text in job.items()})
        )
        client.api.start(made["Id"])
        exit_code = client.api.wait(made["Id"], timeout=BUILD_LIMIT_SEC + 60)["StatusCode"]
        log = client.api.logs(made["Id"], tail=LOG_LINES_KEPT).decode(errors="replace")
    finally:
        remove_container(client, made["Id"])
    if exit_code != 0:
        said = "\n".join(f"  {line}" for line in log.splitlines())
        hint = "does this host reach the package registries? Behind a proxy, SSL_CERT_FILE must name its certificates"
        raise ServerError(
            f"its packages could not be installed (exit {exit_code})\n{said}",
            where=f"{server.folder}",
            hint=hint,
        )


def _tar(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            item = tarfile.TarInfo(name)
            item.size, item.mode = len(data), 0o644
            archive.addfile(item, io.BytesIO(data))
    return out.getvalue()


def verify_volume(client: Engine, volume: ServerVolume, base_image_id: str) -> None:
    """Read every byte of the volume again. Raises LockError where it is not what was built."""
    host = _mounting(
        client,
        volume.name,
        "ro",
        network_mode="none",
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
    )
    argv = ["python3", "-I", "-c", _host_source(), "inspect", INSTALL]
    with _engine_faults(f"cannot read the volume {volume.name}"):
        made = client.api.create_container(
            base_image_id, argv, labels={LABEL: "builder"}, host_config=host, user=str(SERVER_UID)
        )
        try:
            client.api.start(made["Id"])
            client.api.wait(made["Id"])
            seen = json.loads(client.api.logs(made["Id"], stdout=True, stderr=False))
        except ValueError as error:
            raise SandboxError(
                f"cannot read the volume {volume.name}: its inspection gave no answer"
            ) from error
        finally:
            remove_container(client, made["Id"])
    if seen["content"] != volume.digest:
        hint = f"remove it (`docker volume rm {volume.name}`) and it is built again from its locks"
        raise LockError("the volume's content is not what was built", where=volume.name, hint=hint)
