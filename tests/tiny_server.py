"""A server of our own for tests: its folder, its definition, and what its install volume needs."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.records import Canary, McpCall, ServerSpec, parse_yaml
from runner.sandbox.base_image import BaseImage
from runner.sandbox.builder import BuilderEnv
from runner.sandbox.engine import Engine
from runner.servers.volume import ServerVolume, ensure_volume, volume_name
from tests.helpers import PATIENCE_SEC

ROOT = Path(__file__).resolve().parent.parent
SOURCE = r"""
import json, os, socket, sys
print("listening", flush=True)
calls = 0
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, wanted = asked["method"], asked.get("params", {})
    if method == "initialize":
        about = {"name": "tiny", "version": "9"}
        answer = {
            "protocolVersion": wanted["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": about,
        }
    elif method == "tools/list":
        tool = {"name": "find", "description": "finds", "inputSchema": {"type": "object"}}
        answer = {"tools": [tool]}
    elif method == "tools/call":
        with open("/tmp/left-behind", "w") as file:
            file.write("x")
        try:
            socket.create_connection(("192.0.2.1", 443), 1)
        except OSError:
            pass
        name = wanted["arguments"]["name"]
        lines = open("/workspace/src/app.py").read().splitlines()
        found = "".join(f"app.py:{n}: {line}\n" for n, line in enumerate(lines, 1) if name in line)
        calls += 1
        if calls > 1 and "ANSWERS_ONCE" in os.environ:
            found = ""
        answer = {"content": [{"type": "text", "text": found}]}
    else:
        answer = {}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
"""


@dataclass(frozen=True)
class Folder:
    """A server's folder, read (volumes.Server)."""

    spec: ServerSpec
    folder: Path


def read_server(folder: Path) -> Folder:
    text = (folder / "server.yaml").read_text()
    return Folder(parse_yaml(text, ServerSpec, where=str(folder)), folder)


def spec_of(**changes: Any) -> ServerSpec:
    """The definition of `tiny`, with `changes`."""
    canary = Canary(
        repository="*",
        call=McpCall(tool="find", arguments={"name": "wsgi_app"}),
        contains="app.py:3",
        line=3,
        timeout_sec=PATIENCE_SEC,
    )
    known: dict[str, Any] = {
        "name": "tiny",
        "title": "Tiny",
        "version": "1.0",
        "licence": "MIT",
        "homepage": "none",
        "line_base": 1,
        "command": ("python3", "{install}/server.py"),
        "canaries": (canary,),
        "initialize_timeout_sec": PATIENCE_SEC,
        "call_timeout_sec": PATIENCE_SEC,
    }
    return ServerSpec(**{**known, **changes})


def tiny_folder(folder: Path, **changes: Any) -> Folder:
    """Its file holds a mark, so that no two tests share a volume, whichever machine runs them."""
    files = {
        "server.py": f"# {uuid.uuid4().hex}\n{SOURCE}",
        "bin/hello": "#!/bin/sh\necho {state}\n",
    }
    return Folder(spec_of(files=files, **changes), folder)


@dataclass(frozen=True)
class Checkout:
    """Where install volumes are built, and looked into."""

    engine: Engine
    base: BaseImage
    env: BuilderEnv

    def volume(self, server: Folder, said: list[str] | None = None) -> ServerVolume:
        log = (said if said is not None else []).append
        return ensure_volume(self.engine, server, self.base, self.env, log)

    def as_root(self, volume: str, command: str) -> str:
        """What a shell command prints that sees the volume at /opt/server, and may write there."""
        return as_root(self.engine, self.base.id, volume, command)

    def with_volume_removed(self, server: Folder) -> Iterator[Folder]:
        """For a fixture: the server, whose volume goes with the test."""
        yield server
        self.engine.api.remove_volume(volume_name(server, self.base.recipe), force=True)


def as_root(engine: Engine, image: str, volume: str, command: str) -> str:
    """What a shell command prints that sees the volume at /opt/server, and may write there."""
    said = engine.containers.run(
        image,
        ["sh", "-c", command],
        volumes={volume: {"bind": "/opt/server", "mode": "rw,nocopy"}},
        user="0",
        remove=True,
        network_mode="none",
        labels={"fairtrial": "test"},
    )
    return str(said.decode())
