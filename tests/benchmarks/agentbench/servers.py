"""Small servers that behave as a test writes down, many to one install volume."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runner.benchmarks.agentbench.testbed.router import InstalledServer
from runner.records import Canary, Limits, McpCall, ServerSpec
from runner.sandbox.base_image import BaseImage
from runner.sandbox.builder import BuilderEnv
from runner.sandbox.engine import Engine
from runner.servers.volume import ensure_volume, volume_name
from tests.helpers import PATIENCE_SEC
from tests.local_server import SCRIPTED
from tests.tiny_server import Folder

LIMITS = Limits(memory_mb=1024)
FILES = {"server.py": f"# {uuid.uuid4().hex}\n{SCRIPTED}"}
"""Marked: two sessions on one engine would remove each other's volume."""
ALIVE = Canary(
    repository="*",
    call=McpCall(tool="echo", arguments={"text": "alive"}),
    contains="alive",
    timeout_sec=PATIENCE_SEC,
)


def spec(name: str, script: dict[str, str] | None = None, **changes: Any) -> ServerSpec:
    """`script`: a method's or a tool's name -> the Python that runs when it is asked for."""
    known: dict[str, Any] = {
        "name": name,
        "title": name,
        "version": "1.0",
        "licence": "Apache-2.0",
        "homepage": "https://example.org",
        "line_base": 1,
        "command": ("python3", "{install}/server.py", json.dumps(script or {})),
        "files": FILES,
        "canaries": (ALIVE,),
        "initialize_timeout_sec": PATIENCE_SEC,
        "call_timeout_sec": PATIENCE_SEC,
    }
    return ServerSpec(**{**known, **changes})


def with_tools(*names: str) -> dict[str, str]:
    """A script: the server lists these, and the one that its health probe calls."""
    listed = ", ".join(f"tool({name!r})" for name in ("echo", *names))
    return {"tools/list": f"result({{'tools': [{listed}]}})"}


@contextmanager
def one_volume(engine: Engine, base: BaseImage, env: BuilderEnv) -> Iterator[str]:
    """The name of a volume that all these servers are in."""
    folder = Folder(spec("any"), Path())
    volume = ensure_volume(engine, folder, base, env, print)
    try:
        yield volume.name
    finally:
        engine.api.remove_volume(volume_name(folder, base.recipe), force=True)


def installed(volume: str, *specs: ServerSpec) -> list[InstalledServer]:
    return [InstalledServer(spec=one, volume=volume, digest=one.name) for one in specs]
