"""What a repository's own tests need beside it: packages under a lock, laid into its image.

They are installed as a server's are, into a volume, and copied from there to /opt/environment,
which is root's and everybody's to read: the same in every arm.
"""

from __future__ import annotations

import copy
import io
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from runner.protocols import Log
from runner.records import Scenario, Sha256, digest_of
from runner.records.servers import Python
from runner.sandbox.base_image import BaseImage
from runner.sandbox.builder import BuilderEnv, BuilderSpec, open_builder
from runner.sandbox.cell_layout import ENVIRONMENT, INSTALL, TOOLS
from runner.sandbox.engine import Engine
from runner.sandbox.volume_host import MARKER
from runner.sandbox.workspace import Layer
from runner.servers.definition_rules import LOCK_FILES
from runner.servers.volume import FOR_TESTS, ensure_volume, volume_name

FOLDER = "environment"
"""In a scenario's folder: its locks."""
REQUIREMENTS, _, NPM_LOCK = LOCK_FILES
LOCKS = (REQUIREMENTS, NPM_LOCK)
"""Either of them, or both."""
KNOWN_FILES = (*LOCK_FILES, "requirements.in")
PLACES = {"install": ENVIRONMENT, "workspace": "/workspace"}
NODE_MODULES = "node_modules"
_LOGIN = "etc/profile.d/environment.sh"
"""Without it, a login shell, which some agents run commands in, would forget the agent's path."""


@dataclass(frozen=True, kw_only=True)
class _TestsNeed:
    """servers.volume.InstallDefinition."""

    name: str
    files: Mapping[str, str]
    version: str = "for its tests"
    python: Python = "3.11"


@dataclass(frozen=True, kw_only=True)
class TestPackages:
    """servers.volume.Installable: of one scenario."""

    spec: _TestsNeed
    folder: Path
    """The one with the locks."""

    @property
    def digest(self) -> Sha256:
        """Of the locks, and of what a scenario says beside them."""
        texts = [_text(self.folder / name) for name in LOCK_FILES]
        return digest_of([dict(self.spec.files), texts])


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def packages_of(scenario: Scenario, folder: Path) -> TestPackages | None:
    """`folder`: the scenario's. None of one that says nothing of an environment."""
    if scenario.environment is None:
        return None
    definition = _TestsNeed(name=scenario.id, files=scenario.environment.files)
    return TestPackages(spec=definition, folder=folder / FOLDER)


def layer_of(
    engine: Engine, packages: TestPackages, base: BaseImage, env: BuilderEnv, log: Log
) -> Layer:
    """Nothing is installed before the layer is written."""

    def write(file: IO[bytes]) -> None:
        volume = ensure_volume(engine, packages, base, env, log, places=PLACES, whose=FOR_TESTS)
        spec = BuilderSpec(image=base.id, volume=volume.name)
        with open_builder(engine, spec) as builder, tempfile.TemporaryFile() as packed:
            for chunk in builder.archive(INSTALL):
                packed.write(chunk)
            packed.seek(0)
            _write_layer(packed, file)

    name = volume_name(packages, base.recipe, PLACES, FOR_TESTS)
    return Layer(name=name, write=write)


def _write_layer(packed: IO[bytes], file: IO[bytes]) -> None:
    """`packed`: a tar of /opt/server."""
    with (
        tarfile.open(fileobj=packed) as source,
        tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as target,
    ):
        for entry in source:
            if entry.name != f"{Path(INSTALL).name}/{MARKER}":
                data = source.extractfile(entry) if entry.isreg() else None
                target.addfile(_moved(entry), data)
        for link in _beside():
            target.addfile(*link)


def _moved(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """To where a cell has it, and to its owner there."""
    moved = copy.copy(entry)
    moved.name = _place(entry.name)
    if entry.islnk():
        moved.linkname = _place(entry.linkname)
    moved.uid = moved.gid = 0
    moved.uname = moved.gname = "root"
    # Its owner's alone, it would be nobody's here.
    moved.mode = 0o755 if entry.isdir() else entry.mode
    return moved


def _place(name: str) -> str:
    _, _, rest = name.partition("/")
    return f"{ENVIRONMENT}/{rest}".strip("/")


def _beside() -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """Where Node looks for what a file under /workspace imports, and a login shell for its path."""
    modules = tarfile.TarInfo(NODE_MODULES)
    modules.type, modules.linkname = tarfile.SYMTYPE, f"{ENVIRONMENT}/{NODE_MODULES}"
    yield modules, None
    text = f"PATH={TOOLS}:$PATH\n".encode()
    login = tarfile.TarInfo(_LOGIN)
    login.size, login.mode = len(text), 0o644
    yield login, io.BytesIO(text)
