"""A checkout of its own, small and whole.

One scenario on a repository made here, and servers that behave in every way.
"""

from __future__ import annotations

import gc
import io
import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch
from warnings import catch_warnings

import docker
import pytest
import yaml

from runner.catalog.catalog import load_catalog
from runner.catalog.checkout import Checkout as Opened
from runner.catalog.locks import write_repos_lock
from runner.cli.main import main
from runner.repositories.repository import fetch_source
from runner.sandbox.base_image import read_pins
from runner.servers.environment import PLACES
from runner.servers.volume import FOR_TESTS, volume_name
from tests.helpers import PATIENCE_SEC

ROOT = Path(__file__).resolve().parent.parent
COMMAND = Path(sys.executable).parent / "fairtrial"
SESSION = uuid.uuid4().hex
"""In every server's files: two sessions on one engine would share, and remove, each other's
volumes, which are named by content."""
SERVER_FILE = Path(__file__).parent / "sandbox" / "mcp_server.py.txt"
SERVER = SERVER_FILE.read_text(encoding="utf-8") + f"# {SESSION}\n"
SHELL_FIRST = ("--seed", "220")
"""For a run's first block: shell, then good, then slow, whichever model of these tests answers."""
BASE_FILES = (
    "Dockerfile",
    "images/base",
    "locks/images.lock",
    "locks/node.txt",
    "locks/backends.txt",
)
"""What the base image is made from: with it unchanged, the one that is there is used."""


# --- the repository -----------------------------------------------------------------------------

SOURCE = """\
class App:
    def dispatch_all(self):
        return self.finish_up(1)

    def finish_up(self, code):
        return code
"""
TEST = """\
def test_it():
    App().dispatch_all()
"""
LATER = "SECRET_OF_THE_FUTURE = 1\n"


def git(folder: Path, *arguments: str, **env: str) -> str:
    """What git prints. It reads no configuration of the person who runs the tests."""
    environment = {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        **env,
    }
    settings = ("user.name=a", "user.email=a@example.org", "protocol.file.allow=always")
    argv = ["git"]
    for setting in settings:
        argv += ["-c", setting]
    done = subprocess.run(
        [*argv, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def committed(folder: Path) -> str:
    """Make all that is in the folder one commit, and return it."""
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "x"]):
        git(folder, *arguments)
    return git(folder, "rev-parse", "HEAD")


def repository(folder: Path) -> str:
    """A repository with a past, a pinned commit, and a later one that no cell may see.

    Returns the pinned commit.
    """
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    _commit(folder, {"README": "old\n"})
    _commit(folder, {"app.py": SOURCE, "tests/test_app.py": TEST})
    pinned = git(folder, "rev-parse", "HEAD")
    _commit(folder, {"app.py": LATER})
    return pinned


def _commit(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    git(folder, "add", "-A")
    # The folder's name makes the commit this repository's own: two made in one second would share a
    # workspace image, and the first test to end would remove it under the other.
    git(folder, "commit", "-q", "-m", f"commit in {folder}")


# --- the catalog --------------------------------------------------------------------------------


def scenario(url: str, commit: str, **changes: Any) -> dict[str, Any]:
    step = {
        "name": "trace",
        "prompt": "Trace what `App.dispatch_all` does, step by step.",
        "checks": [{"kind": "word", "value": "finish_up"}],
        "must_cite": [{"path": "app.py", "line": 5, "symbol": "finish_up"}],
    }
    return {
        "id": "small",
        "title": "A small trace",
        "description": "For tests.",
        "language": "python",
        "slant": "none",
        "repository": {"kind": "git", "url": url, "commit": commit},
        "budget": {"tokens": 200_000, "wall_sec": 3600, "actions": 200},
        "steps": [step],
        **changes,
    }


FACT = {
    "says": "dispatch_all calls finish_up",
    "terms": [["finish_up"]],
    "cites": [{"path": "app.py", "line": 5}],
}
CRITERION = {"weight": 1.0, "question": "Is the call there?", "facts": [FACT]}
RUBRIC = {
    "audience": "A coding agent.",
    "steps": [{"name": "trace", "criteria": {"map_quality": CRITERION}}],
}
REFERENCE = (
    "`App.dispatch_all` (`app.py:2`) calls `finish_up`, "
    "defined at `app.py:5`, which returns the code.\n"
)


def server(name: str, mode: str, **changes: Any) -> dict[str, Any]:
    """`mode`: how tests/sandbox/mcp_server.py.txt behaves."""
    canary = {
        "repository": "*",
        "call": {"tool": "echo", "arguments": {"text": "alive"}},
        "contains": "alive",
    }
    return {
        "name": name,
        "title": name,
        "version": "1.0",
        "licence": "Apache-2.0",
        "homepage": "https://example.org",
        "command": ["python3", "{install}/server.py", mode],
        "files": {"server.py": SERVER},
        "line_base": 1,
        "canaries": [canary],
        # A good server must not fail because the machine is busy.
        "initialize_timeout_sec": PATIENCE_SEC,
        "call_timeout_sec": PATIENCE_SEC,
        **changes,
    }


# --- the command --------------------------------------------------------------------------------


def ended(*arguments: object) -> int:
    """How the command ends, in this process; what it prints goes where this process's does."""
    with pytest.raises(SystemExit) as end:
        main([*map(str, arguments)])
    code = end.value.code
    assert isinstance(code, int)
    return code


def said(arguments: Sequence[str], **env: str) -> subprocess.CompletedProcess[str]:
    """What the command says and how it ends, in this process and the folder it is in.

    A process takes longer to start than most verbs to run.
    """
    out, errors = io.StringIO(), io.StringIO()
    # Or the collection below would go through all that a session's tests have imported.
    gc.freeze()
    with (
        patch.dict(os.environ, env),
        redirect_stdout(out),
        redirect_stderr(errors),
    ):
        code = ended(*arguments)
    with catch_warnings(action="ignore", category=ResourceWarning):
        # A process's end closes what a verb leaves open; here another test would be blamed.
        gc.collect()
    gc.unfreeze()
    argv = [str(COMMAND), *arguments]
    return subprocess.CompletedProcess(argv, code, out.getvalue(), errors.getvalue())


# --- the checkout -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Checkout:
    """A folder with a catalog, in which the command works."""

    root: Path
    commit: str
    """Of the scenario's repository, in `upstream`."""

    def fairtrial(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        """The real command, in a process of its own."""
        return subprocess.run(
            self.argv(*arguments),
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            timeout=PATIENCE_SEC,
            check=False,
        )

    def said(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        """The same in this process, whose streams and signals are not its own."""
        return said(self.argv(*arguments)[1:], **env)

    def argv(self, *arguments: str) -> list[str]:
        """A run has one trial unless it says otherwise: two would take twice as long."""
        whole = arguments[:1] != ("run",) or "--trials" in arguments
        once = () if whole else ("--trials", "1")
        return [str(COMMAND), "--root", str(self.root), *arguments, *once]

    # --- its files ------------------------------------------------------------------------------

    def write(self, path: str, value: Any) -> None:
        """Text as it is, anything else as YAML."""
        text = value
        if not isinstance(value, str):
            text = yaml.safe_dump(value, sort_keys=False)
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def write_scenario(self) -> None:
        folder, url = "scenarios/core/small", f"file://{self.root}/upstream"
        self.write(f"{folder}/scenario.yaml", scenario(url, self.commit))
        self.write(f"{folder}/rubric.yaml", RUBRIC)
        self.write(f"{folder}/reference/1.md", REFERENCE)

    def edit(self, path: str, old: str, new: str) -> None:
        target = self.root / path
        text = target.read_text()
        # An edit that changes nothing would leave its test green for nothing.
        assert old in text
        target.write_text(text.replace(old, new))

    def add_server(self, name: str, mode: str, **changes: Any) -> None:
        self.write(f"images/servers/{name}/server.yaml", server(name, mode, **changes))

    # --- its runs -------------------------------------------------------------------------------

    def run_folder(self, run: str) -> Path:
        return self.root / "runs" / run

    def results(self, run: str) -> list[Path]:
        """result.json of every attempt that ended, a cell's oldest first."""
        return sorted(self.run_folder(run).glob("cells/*/attempt-*/result.json"))

    def transcripts(self, run: str) -> list[str]:
        paths = self.run_folder(run).glob("cells/*/attempt-*/transcript.jsonl")
        return [path.read_text() for path in paths]

    def attempt(self, run: str, server: str) -> Path:
        """The folder of the first attempt at the server's only cell."""
        folders = []
        for path in self.results(run):
            if path.parent.name == "attempt-1" and _result(path)["cell"]["server"] == server:
                folders.append(path.parent)
        (folder,) = folders
        return folder

    def reason(self, run: str, server: str) -> str:
        return str(_result(self.attempt(run, server) / "result.json")["outcome"]["reason"])

    def outcomes(self, run: str) -> dict[str, list[str]]:
        """Server -> outcome of every attempt that ended, oldest first."""
        kinds: dict[str, list[str]] = {}
        for path in self.results(run):
            result = _result(path)
            kinds.setdefault(result["cell"]["server"], []).append(result["outcome"]["kind"])
        return kinds

    # --- what it leaves on the engine -----------------------------------------------------------

    def remove(self, client: docker.DockerClient) -> None:
        """Its images, and its volumes: of some a test may have made none."""
        for name in self.volumes() | self.environments():
            with suppress(docker.errors.NotFound):
                client.api.remove_volume(name, force=True)
        self.remove_images(client)

    def remove_images(self, client: docker.DockerClient) -> None:
        """The workspace images this checkout built; the base is everybody's."""
        memory = self.root / ".fairtrial" / "images.json"
        if not memory.exists():
            return
        for name, image in json.loads(memory.read_text()).items():
            if name.startswith("fairtrial/workspace:"):
                client.api.remove_image(image, force=True)

    def volumes(self) -> set[str]:
        """Names of the install volumes its servers have, if they have been run."""
        recipe = read_pins(self.root).recipe
        servers = load_catalog(self.root).servers.values()
        return {volume_name(server, recipe) for server in servers}

    def environments(self) -> set[str]:
        """Names of the volumes that its scenarios' environments have, if they have been run."""
        recipe = read_pins(self.root).recipe
        packages = [it.packages for it in load_catalog(self.root).scenarios.values()]
        return {volume_name(it, recipe, PLACES, FOR_TESTS) for it in packages if it}


def _result(path: Path) -> Any:
    return json.loads(path.read_text())


def make(folder: Path) -> Checkout:
    """The checkout, with one good server."""
    for name in BASE_FILES:
        copy(ROOT / name, folder / name)
    commit = repository(folder / "upstream")
    made = Checkout(folder, commit)
    made.write_scenario()
    made.add_server("good", "good")
    done = made.said("lock")
    assert done.returncode == 0, done.stderr
    return made


def opened(root: Path) -> Opened:
    return Opened(root=root, state=root / ".fairtrial", environ={}, log=lambda _: None)


def make_for_scoring(root: Path) -> Opened:
    """The scenario, fetched and pinned, without what only a cell needs: no engine is asked."""
    commit = repository(root / "upstream")
    Checkout(root, commit).write_scenario()
    (root / "images/servers").mkdir(parents=True)
    pin(root, "small")
    return opened(root)


def pin(root: Path, scenario: str) -> None:
    """Fetch the scenario's repository, and lock what was got."""
    source = load_catalog(root).scenarios[scenario].scenario.repository
    fetched = fetch_source(source, cache=root / ".fairtrial/repositories", pins=None)
    write_repos_lock(root, {source.label: fetched.pin})


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy(source, target)
