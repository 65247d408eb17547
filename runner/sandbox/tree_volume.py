"""What a cell lends to a server that brings its own image: the repository's tree, and a deadline.

Two volumes, filled from the workspace image and compared with it before each use. The tree is what
the cell's own /workspace is; the tools end the server's program in time, in an image that may hold
neither a shell nor a library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.records import digest_of
from runner.sandbox import tree_host
from runner.sandbox.builder import ROOT, BuilderSpec, open_builder
from runner.sandbox.cell_layout import INSTALL, WORKSPACE
from runner.sandbox.engine import LABEL, Engine, create_volume, engine_faults, volume_exists
from runner.sandbox.tree_host import LOADER, TIMEOUT
from runner.support.code_digest import code_digest
from runner.support.errors import SandboxError

TOOLS = "/.fairtrial"
"""Where the tools are in the server's own container."""
KILL_AFTER_SEC = 5
FILL_LIMIT_SEC = 900


@dataclass(frozen=True, kw_only=True)
class TreeVolumes:
    """Names of the volumes."""

    tree: str
    tools: str


def lent(image: str, private: Sequence[str] = ()) -> TreeVolumes:
    """By what goes in. `image`: the workspace's id; `private`: folders that get mounts there.

    The tree is mounted read-only, and the engine cannot make a folder for a mount in it any more.
    """
    code = code_digest([Path(tree_host.__file__)])
    tree = digest_of([image, sorted(private), code])[:12]
    return TreeVolumes(
        tree=f"{LABEL}-tree-{tree}", tools=f"{LABEL}-tools-{digest_of([image, code])[:12]}"
    )


def ensure_tree_volumes(engine: Engine, image: str, private: Sequence[str] = ()) -> None:
    """Fill both, or read them through. Raises SandboxError if one cannot be made what it is."""
    volumes = lent(image, private)
    _ensure(engine, image, volumes.tree, ["tree", WORKSPACE, INSTALL, *sorted(private)])
    _ensure(engine, image, volumes.tools, ["tools", INSTALL])


def _ensure(engine: Engine, image: str, volume: str, command: Sequence[str]) -> None:
    source = Path(tree_host.__file__).read_text("utf-8")
    filling = BuilderSpec(
        image=image,
        command=["python3", "-I", "-c", source, *command],
        user=ROOT,
        volume=volume,
        writable=True,
        # Two that fill one volume would each find the other's half.
        name=f"{volume}-fill",
    )
    failure = f"cannot fill the volume {volume}"
    with engine_faults(failure):
        create_volume(engine, volume, "lent")
        with open_builder(engine, filling) as builder:
            exit_code = builder.run(deadline_sec=FILL_LIMIT_SEC)
            said = builder.output(last_lines=3)
    if exit_code != 0:
        hint = "is the engine's disk full?"
        raise SandboxError(f"{failure}: {said.strip()}", where=volume, hint=hint)


def require_lent(engine: Engine, volumes: TreeVolumes) -> None:
    """Raises SandboxError if one is missing: the engine would make an empty one of that name."""
    for name in (volumes.tree, volumes.tools):
        if not volume_exists(engine, name):
            hint = "start the run again: it is filled before the first cell"
            raise SandboxError("the server's container has no repository", where=name, hint=hint)


def ended_in_time(words: Sequence[str], deadline_sec: int) -> list[str]:
    """The command that runs another, and ends it at the deadline."""
    loader = [f"{TOOLS}/{LOADER}", "--library-path", TOOLS, f"{TOOLS}/{TIMEOUT}"]
    return [*loader, f"--kill-after={KILL_AFTER_SEC}", str(deadline_sec), *words]
