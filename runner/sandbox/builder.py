"""Builder containers: they make images and volumes, and are gone once that is done.

They are the only containers that may have network. What the host lends them for it (proxies,
indexes, certificates) is in `BuilderEnv`.
"""

from __future__ import annotations

import io
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from runner.sandbox.cell_layout import INSTALL
from runner.sandbox.engine import (
    DEADLINE_LABEL,
    LABEL,
    OWNER_LABEL,
    Engine,
    absent_ok,
    conflict_ok,
    is_abandoned,
    owner_labels,
    remove_container,
)
from runner.sandbox.exit_cause import HUNG_UP
from runner.sandbox.package_index import index_variables
from runner.sandbox.seccomp import seccomp_option
from runner.support.errors import SandboxError
from runner.support.interrupts import held

CA_INSIDE = "/etc/ssl/certs/ca-certificates.crt"
_CA_NAMES = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "NPM_CONFIG_CAFILE",
)
_PROXY_NAMES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_NAME_POLL_SEC = 0.5
_NAME_WAIT_SEC = 3600
"""Longer than any build may take; past it, the engine's own error says which container is there."""
ROOT = "0"
DEADLINE_SEC = 2400
"""A builder ends itself then, and the engine removes it: a killed runner leaks none for ever."""
_TIMED_OUT = (124, 137)
"""What `timeout` ends in: by SIGTERM, by SIGKILL."""


# --- what the host lends it ---------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BuilderEnv:
    """What the host's network needs of a builder: proxies, package indexes and the CA bundle.

    People behind a TLS-intercepting proxy cannot install anything without them, and no cell may
    see them. Made once by a verb: `BuilderEnv.from_mapping(os.environ)`. An image build gets
    `buildargs=env.proxies` alone, which the engine keeps out of the image's history.
    """

    proxies: dict[str, str]
    """http_proxy, https_proxy, no_proxy, …, in both spellings."""
    indexes: dict[str, str]
    """The user's own package indexes, as pip, uv and npm name them."""
    ca_bundle: Path | None
    """PEM file on the host; None if it has none."""

    @classmethod
    def from_mapping(
        cls, environ: Mapping[str, str], *, system_bundle: Path = Path(CA_INSIDE)
    ) -> BuilderEnv:
        """The first CA variable that names a file wins, then the system's bundle."""
        indexes = index_variables(environ)
        bundle = _find_bundle(environ, system_bundle)
        return cls(proxies=_find_proxies(environ), indexes=indexes, ca_bundle=bundle)

    def variables(self) -> dict[str, str]:
        """For a builder container. Never for a cell."""
        return {**self.proxies, **self.indexes, **self._trust()}

    def _trust(self) -> dict[str, str]:
        if self.ca_bundle is None:
            return {}
        # Without the last one uv would trust its own list of authorities, and not the bundle.
        return {**dict.fromkeys(_CA_NAMES, CA_INSIDE), "UV_SYSTEM_CERTS": "true"}

    def volumes(self) -> dict[str, dict[str, str]]:
        """The CA bundle, read-only, over the builder's own; in docker-py's shape."""
        if self.ca_bundle is None:
            return {}
        return {str(self.ca_bundle): {"bind": CA_INSIDE, "mode": "ro"}}

    @property
    def network(self) -> str:
        """`host` if a proxy listens on this machine's loopback, which no bridge network reaches."""
        if _LOOPBACK.isdisjoint(self._proxy_hosts()):
            return "bridge"
        return "host"

    def _proxy_hosts(self) -> Iterator[str | None]:
        for name, url in self.proxies.items():
            # no_proxy nearly always names localhost, and says nothing of where the proxy is.
            if "no_proxy" not in name.lower():
                yield urlsplit(url).hostname


def _find_proxies(environ: Mapping[str, str]) -> dict[str, str]:
    """In both spellings: curl reads http_proxy in small letters alone, other tools in capitals."""
    proxies: dict[str, str] = {}
    for name in _PROXY_NAMES:
        if value := environ.get(name) or environ.get(name.upper()):
            proxies |= {name: value, name.upper(): value}
    return proxies


def _find_bundle(environ: Mapping[str, str], system_bundle: Path) -> Path | None:
    for path in (*_named_bundles(environ), system_bundle):
        if path.is_file():
            return path.resolve()
    return None


def _named_bundles(environ: Mapping[str, str]) -> Iterator[Path]:
    for name in _CA_NAMES:
        if environ.get(name):
            yield Path(environ[name])


# --- the container ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BuilderSpec:
    """What a builder container is made from. What is left out is as in the image."""

    image: str
    command: Sequence[str] | None = None
    user: str = ""
    """Only root keeps its capabilities: it hands over to the server's user what it installed."""
    environment: Mapping[str, str] = field(default_factory=dict)
    network: BuilderEnv | None = None
    """What it reaches the network with; without it there is none."""
    volume: str = ""
    """Mounted at /opt/server, read-only unless `writable`."""
    writable: bool = False
    name: str = ""
    """Of the container. One at a time has it on an engine, whichever checkout opened it."""

    def variables(self) -> dict[str, str]:
        if self.network is None:
            return dict(self.environment)
        return {**self.network.variables(), **self.environment}

    def binds(self) -> dict[str, Mapping[str, str]]:
        """What is mounted, in docker-py's shape."""
        binds: dict[str, Mapping[str, str]] = {}
        if self.volume:
            # nocopy: the engine would fill an empty volume with what the image has at that path.
            mode = "rw,nocopy" if self.writable else "ro,nocopy"
            binds[self.volume] = {"bind": INSTALL, "mode": mode}
        if self.network is not None:
            binds |= self.network.volumes()
        return binds

    def limits(self) -> dict[str, Any]:
        """What it may do, as the engine calls it."""
        limits: dict[str, Any] = {"network_mode": "none", "security_opt": [seccomp_option()]}
        if self.network is not None:
            limits["network_mode"] = self.network.network
        if self.user != ROOT:
            limits["cap_drop"] = ["ALL"]
            limits["security_opt"].append("no-new-privileges")
        return limits


class Builder:
    """One builder container. Made by `open_builder`, gone when that ends."""

    def __init__(self, engine: Engine, container_id: str, spec: BuilderSpec) -> None:
        self._engine, self.id, self._spec = engine, container_id, spec
        self._stdout = self._stderr = b""

    def put(self, tar: IO[bytes] | bytes) -> None:
        """Unpack a tar at the root. The container need not run."""
        self._engine.api.put_archive(self.id, "/", tar)

    def run(self, *, deadline_sec: int = DEADLINE_SEC) -> int:
        """Run its command to the end; returns the exit code. Past the deadline: SandboxError.

        The command gets the environment, and the container none: what an engine tells of a
        container would show everybody on it the password of a proxy or of an index.
        """
        api, spec = self._engine.api, self._spec
        started = time.monotonic()
        api.start(self.id)
        made = api.exec_create(
            self.id,
            ["timeout", "--kill-after=10", str(deadline_sec), *(spec.command or [])],
            user=spec.user,
            environment=spec.variables(),
        )
        stdout, stderr = api.exec_start(made["Id"], demux=True)
        self._stdout, self._stderr = stdout or b"", stderr or b""
        exit_code = api.exec_inspect(made["Id"])["ExitCode"]
        # Taken for the command's own, half of its output would be read as all of it.
        if exit_code is None or exit_code == HUNG_UP:
            raise SandboxError("the engine dropped the connection to a builder's command")
        if exit_code in _TIMED_OUT and time.monotonic() - started >= deadline_sec:
            raise SandboxError(f"a builder's command did not end in {deadline_sec} s")
        return int(exit_code)

    def output(self, *, last_lines: int | None = None, stderr: bool = True) -> str:
        """What its command printed: stdout, then stderr."""
        printed = self._stdout
        if stderr:
            printed += self._stderr
        lines = printed.decode("utf-8", "replace").splitlines(keepends=True)
        if last_lines is not None:
            lines = lines[-last_lines:]
        return "".join(lines)

    def files(self, path: str) -> list[bytes]:
        """The contents of the file at `path`, or of every file below that folder; [] if neither."""
        with absent_ok():
            chunks, _ = self._engine.api.get_archive(self.id, path)
            return list(_files_in(b"".join(chunks)))
        return []

    def archive(self, path: str) -> Iterator[bytes]:
        """The folder at `path` as a tar, its name the first part of each entry's."""
        chunks: Iterator[bytes]
        chunks, _ = self._engine.api.get_archive(self.id, path)
        return chunks

    def commit(self, labels: Mapping[str, str]) -> str:
        """What it holds now as an image, which has no name yet; returns the image's id."""
        # An image inherits its container's labels, and lives longer than this process.
        all_labels = {OWNER_LABEL: "", DEADLINE_LABEL: "", **labels}
        changes = [f'LABEL {key}="{value}"' for key, value in all_labels.items()]
        made = self._engine.api.commit(self.id, pause=False, changes=changes)
        return str(made["Id"])


@contextmanager
def open_builder(engine: Engine, spec: BuilderSpec) -> Iterator[Builder]:
    """A container, not started yet, that is removed on the way out whatever happened inside.

    Waits as long as another living runner has one of the same name, and removes a dead one's.
    """
    made: list[str] = []
    try:
        _create_when_free(engine, spec, made)
        yield Builder(engine, made[0], spec)
    finally:
        with held():
            for container_id in made:
                remove_container(engine, container_id)


def _create_when_free(engine: Engine, spec: BuilderSpec, made: list[str]) -> None:
    give_up = time.monotonic() + _NAME_WAIT_SEC
    while spec.name and time.monotonic() < give_up:
        # Two builders that fill one volume would leave a mixture with a marker on it.
        with conflict_ok():
            _create(engine, spec, made)
            return
        if not _remove_abandoned(engine, spec.name):
            time.sleep(_NAME_POLL_SEC)
    _create(engine, spec, made)


def _create(engine: Engine, spec: BuilderSpec, made: list[str]) -> None:
    """Adds the container's id to those made: returned, it would be lost to a signal in between."""
    limits = engine.api.create_host_config(binds=spec.binds(), auto_remove=True, **spec.limits())
    with held():
        container = engine.api.create_container(
            spec.image,
            **_waiting(spec),
            name=spec.name or None,
            user=spec.user or None,
            labels={LABEL: "builder", **owner_labels(DEADLINE_SEC)},
            host_config=limits,
        )
        made.append(str(container["Id"]))


def _waiting(spec: BuilderSpec) -> dict[str, Any]:
    """What it does beside its command: nothing, for as long as it may be there.

    Without a command it is never started, and an image made of it runs what its own image runs.
    """
    if spec.command is None:
        return {}
    return {"command": ["sleep", str(DEADLINE_SEC)], "entrypoint": []}


def _remove_abandoned(engine: Engine, name: str) -> bool:
    """Remove the container of that name if its runner is dead. Is the name free now?"""
    with absent_ok():
        found = engine.api.inspect_container(name)
        labels = found["Config"]["Labels"] or {}
        if OWNER_LABEL in labels and not is_abandoned(labels):
            return False
        remove_container(engine, found["Id"])
    return True


# --- tar ----------------------------------------------------------------------------------------


def tar_of(files: Mapping[str, bytes]) -> bytes:
    """Files by their paths, as a tar to `put`."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path, data in files.items():
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(data), 0o644
            tar.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def _files_in(packed: bytes) -> Iterator[bytes]:
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        for info in tar:
            content = tar.extractfile(info)  # None for a folder or a device
            if info.isreg() and content is not None:
                yield content.read()
