"""A checkout of its own, small and whole: one scenario on a repository made here, and servers that behave in every way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import yaml

ROOT = Path(__file__).resolve().parent.parent
SERVER = (Path(__file__).parent / "sandbox" / "mcp_server.py.txt").read_text(encoding="utf-8")
SOURCE = """\
class App:
    def dispatch_all(self):
        return self.finish_up(1)

    def finish_up(self, code):
        return code
"""
LATER = "SECRET_OF_THE_FUTURE = 1\n"


def git(folder: Path, *arguments: str) -> str:
    environment = {"GIT_CONFIG_GLOBAL": os.devnull, "PATH": os.environ["PATH"], "HOME": str(folder)}
    who = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@example.org",
        "-c",
        "protocol.file.allow=always",
    ]
    done = subprocess.run(
        ["git", *who, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def repository(folder: Path) -> str:
    """A repository with a past, a pinned commit, and a later commit that no cell may see. Returns the pinned one."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    tests = {"tests/test_app.py": "def test_it():\n    App().dispatch_all()\n"}
    for number, files in enumerate(({"README": "old\n"}, {"app.py": SOURCE, **tests})):
        for name, text in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", f"commit {number}")
    pinned = git(folder, "rev-parse", "HEAD")
    (folder / "app.py").write_text(LATER)
    git(folder, "commit", "-q", "-a", "-m", "later")
    return pinned


def fact(says: str, terms: list[list[str]], line: int) -> dict[str, Any]:
    return {"says": says, "terms": terms, "cites": [{"path": "app.py", "line": line}]}


def scenario(url: str, commit: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": "small",
        "title": "A small trace",
        "description": "For tests.",
        "language": "python",
        "slant": "none",
        "repository": {"kind": "git", "url": url, "commit": commit},
        "budget": {"tokens": 200_000, "wall_sec": 60, "actions": 200},
        "steps": [
            {
                "name": "trace",
                "prompt": "Trace what `App.dispatch_all` does, step by step.",
                "checks": [{"kind": "word", "value": "finish_up"}],
                "must_cite": [{"path": "app.py", "line": 5, "symbol": "finish_up"}],
            }
        ],
        **changes,
    }


RUBRIC = {
    "audience": "A coding agent.",
    "steps": [
        {
            "name": "trace",
            "criteria": {
                "map_quality": {
                    "weight": 1.0,
                    "question": "Is the call there?",
                    "facts": [fact("dispatch_all calls finish_up", [["finish_up"]], 5)],
                }
            },
        }
    ],
}


def server(name: str, mode: str, **changes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "title": name,
        "version": "1.0",
        "licence": "Apache-2.0",
        "homepage": "https://example.org",
        "command": ["python3", "{install}/server.py", mode],
        "files": {"server.py": SERVER},
        "line_base": 1,
        "canaries": [
            {
                "repository": "*",
                "call": {"tool": "echo", "arguments": {"text": "alive"}},
                "contains": "alive",
            }
        ],
        "initialize_timeout_sec": 5,
        "call_timeout_sec": 3,
        **changes,
    }


@dataclass(frozen=True)
class Checkout:
    root: Path
    commit: str

    def fairtrial(
        self, *arguments: str, timeout_sec: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """The real command, in a process of its own."""
        return subprocess.run(
            self.argv(*arguments), capture_output=True, text=True, timeout=timeout_sec, check=False
        )

    def argv(self, *arguments: str) -> list[str]:
        return [
            str(Path(sys.executable).parent / "fairtrial"),
            "--root",
            str(self.root),
            *arguments,
        ]

    def write(self, path: str, value: Any) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(
            value if isinstance(value, str) else yaml.safe_dump(value, sort_keys=False)
        )

    def edit(self, path: str, old: str, new: str) -> None:
        text = (self.root / path).read_text()
        assert old in text
        (self.root / path).write_text(text.replace(old, new))

    def add_server(self, name: str, mode: str, **changes: Any) -> None:
        self.write(f"images/servers/{name}/server.yaml", server(name, mode, **changes))

    def report(self, run: str) -> Any:
        return json.loads((self.root / "runs" / run / "report.json").read_text())

    def remove_images(self, client: docker.DockerClient) -> None:
        """The workspace images this checkout built; the base is everybody's."""
        built = self.root / ".fairtrial" / "images.json"
        for tag in json.loads(built.read_text()) if built.exists() else ():
            if tag.startswith("fairtrial/workspace:"):
                client.api.remove_image(tag, force=True)

    def attempt(self, run: str, server: str) -> Path:
        """The first attempt at the server's only cell."""
        found = (self.root / "runs" / run / "cells").glob("*/attempt-1/result.json")
        (path,) = [
            path for path in found if json.loads(path.read_text())["cell"]["server"] == server
        ]
        return path.parent

    def reason(self, run: str, server: str) -> str:
        return str(
            json.loads((self.attempt(run, server) / "result.json").read_text())["outcome"]["reason"]
        )

    def outcomes(self, run: str) -> dict[str, list[str]]:
        """Server -> outcome of every attempt that ended, oldest first."""
        found: dict[str, list[str]] = {}
        for path in sorted((self.root / "runs" / run / "cells").glob("*/attempt-*/result.json")):
            result = json.loads(path.read_text())
            found.setdefault(result["cell"]["server"], []).append(result["outcome"]["kind"])
        return found


def make(folder: Path) -> Checkout:
    """The checkout, with one good server."""
    for name in ("Dockerfile", "images/base", "locks/images.lock", "locks/node.txt"):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, target)
    commit = repository(folder / "upstream")
    made = Checkout(folder, commit)
    made.write("scenarios/core/small/scenario.yaml", scenario(f"file://{folder}/upstream", commit))
    made.write("scenarios/core/small/rubric.yaml", RUBRIC)
    reference = "`App.dispatch_all` (`app.py:2`) calls `finish_up`, defined at `app.py:5`, which returns the code.\n"
    made.write("scenarios/core/small/reference/1.md", reference)
    made.add_server("good", "good")
    done = made.fairtrial("lock")
    assert done.returncode == 0, done.stderr
    return made
