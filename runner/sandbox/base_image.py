"""The base image every cell starts from: built from what locks/images.lock pins."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from runner.protocols import Log
from runner.records import Sha256, digest_of, load_json
from runner.sandbox.base_build import PYTHON, BasePins, build_base
from runner.sandbox.builder import BuilderEnv
from runner.sandbox.engine import Engine, engine_faults
from runner.sandbox.image_names import ensure_image
from runner.support.errors import EngineError, LockError

NODE = "locks/node.txt"
BACKENDS = "locks/backends.txt"
RECIPE = ("Dockerfile", "images/base/bootstrap.sh", PYTHON, NODE, BACKENDS)
"""Every file that could change the base image, or what is built from source in it."""
IMAGES_LOCK = "locks/images.lock"


@dataclass(frozen=True, kw_only=True)
class BaseImage:
    """The base image a checkout uses."""

    id: str
    """sha256:…, as the engine names it; two builds on different days differ."""
    tag: str
    recipe: Sha256
    """Equal on every machine with the same recipe files."""
    node: str
    """What pins its Node, as pip reads it: with Node come the headers that its addons need."""
    backends: str
    """What pins the tools that source archives of Python are built with, alike."""


# --- locks --------------------------------------------------------------------------------------


def read_pins(root: Path) -> BasePins:
    """What the recipe's files say now. Raises LockError if they pin nothing."""
    texts = {name: (root / name).read_bytes() for name in RECIPE}
    debian = re.search(rb"^ARG BASE=(\S+@sha256:[0-9a-f]{64})$", texts["Dockerfile"], re.MULTILINE)
    if debian is None:
        raise _not_pinned("Dockerfile")
    node = re.match(rb"[a-z-]+==[0-9.]+", texts[NODE])
    if node is None:
        raise _not_pinned(NODE)
    digests = {name: hashlib.sha256(text).hexdigest() for name, text in texts.items()}
    recipe = digest_of(digests)
    return BasePins(debian=debian[1].decode(), node=node[0].decode(), recipe=recipe)


def _not_pinned(where: str) -> LockError:
    hint = "BASE takes name:tag@sha256:…, node.txt name==version --hash=…"
    return LockError("the base is not pinned", where=where, hint=hint)


def write_images_lock(root: Path) -> Path:
    """Writes locks/images.lock from the recipe's files."""
    path = root / IMAGES_LOCK
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
                where=IMAGES_LOCK,
                hint="if the change is meant, run `just lock` and commit locks/images.lock;"
                " every cell's id changes with it",
            )
    return pins


def _read_images_lock(root: Path) -> BasePins:
    try:
        return BasePins.model_validate(load_json((root / IMAGES_LOCK).read_text())["base"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LockError(
            f"cannot be read: {error}", where=IMAGES_LOCK, hint="run `just lock`"
        ) from error


# --- building -----------------------------------------------------------------------------------


def ensure_base(engine: Engine, root: Path, log: Log, *, env: BuilderEnv, state: Path) -> BaseImage:
    """The base image, built (about a minute and a half) unless one of the same recipe is there.

    `state`: where this machine notes what it built; `root` may be an installed package's.
    Raises LockError if recipe, lock or image do not agree, EngineError if it cannot be built.
    """
    pins = check_images_lock(root)

    def build() -> str:
        return build_base(engine, root, log, env, pins)

    hint = "is the Docker Engine running? in a checkout `./justw` starts one where it can"
    with engine_faults("cannot make the base image ready", kind=EngineError, hint=hint):
        image = ensure_image(engine, state, pins.image, build=build)
    return BaseImage(
        id=image,
        tag=pins.image.tag(image),
        recipe=pins.recipe,
        node=(root / NODE).read_text(encoding="utf-8"),
        backends=(root / BACKENDS).read_text(encoding="utf-8"),
    )
