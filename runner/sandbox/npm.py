"""npm of the base image, for a machine that has none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runner.repositories.archives import DOWNLOAD_TIMEOUT_SEC, RunNpm, end_of
from runner.sandbox.builder import BuilderEnv, BuilderSpec, open_builder
from runner.sandbox.cell_layout import AGENT_USER
from runner.sandbox.engine import Engine, engine_faults
from runner.support.errors import SourceError

_PACK = "/tmp/pack"  # noqa: S108 - in a container of its own


def npm_in_container(engine: Engine, image_id: str, env: BuilderEnv) -> RunNpm:
    """npm from the base image, for a machine that has none.

    It runs unprivileged in a builder container that has network; only its tarball comes out.
    """

    def run(arguments: Sequence[str], folder: Path) -> None:
        spec = BuilderSpec(
            image=image_id,
            command=_pack_command(arguments),
            user=AGENT_USER,
            environment={"HOME": f"{_PACK}.home"},
            network=env,
        )
        (folder / "package.tgz").write_bytes(_pack(engine, spec))

    return run


def _pack(engine: Engine, spec: BuilderSpec) -> bytes:
    """The tarball that npm makes in a builder container. Raises SourceError."""
    failure = "npm could not be run in a container"
    with engine_faults(failure, kind=SourceError), open_builder(engine, spec) as builder:
        if builder.run() != 0:
            message = f"npm could not fetch it: {end_of(builder.output())}"
            raise SourceError(message, hint="check name, version and network")
        tarballs = builder.files(_PACK)
    if len(tarballs) != 1:
        raise SourceError(f"npm left {len(tarballs)} files instead of one", hint="try again")
    return tarballs[0]


def _pack_command(arguments: Sequence[str]) -> list[str]:
    script = f'mkdir {_PACK} && cd {_PACK} && exec npm "$@"'
    return ["timeout", str(DOWNLOAD_TIMEOUT_SEC), "sh", "-c", script, "npm", *arguments]
