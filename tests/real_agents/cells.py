"""A small checkout in which real agents are run, and what came of it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import docker
import yaml

from runner.sandbox.builder import Builder
from runner.servers import volume as volume_room
from runner.servers.volume import ServerVolume
from tests.checkout import FACT, REFERENCE, ROOT, RUBRIC, SOURCE, Checkout, git, make, scenario
from tests.real_agents.scripted_provider import Asked, Policy, Provider, Reply, providing
from tests.test_environment import ENVIRONMENT, PACKAGE

KEY = "sk-a-key-that-no-cell-may-see-4711"
MODEL = "gpt-5-scripted"
SECOND = "And what does `App.finish_up` return? Say where."
RUNS = count(1)
TOLD = "Whoever works here writes the word xylophone first.\n"
PROBES: dict[str, tuple[dict[str, Any], str]] = {
    "mcp-ripgrep": (
        {"tool": "search", "arguments": {"pattern": "def finish_up", "path": "{workspace}"}},
        "app.py:5:",
    ),
    "serena-agent": (
        {"tool": "find_symbol", "arguments": {"name_path_pattern": "App/finish_up"}},
        '"start_line": 4,',
    ),
    "code-index-mcp": (
        {
            "tool": "get_symbol_body",
            "arguments": {"file_path": "app.py", "symbol_name": "App.finish_up"},
        },
        '"line": 5,',
    ),
}
"""Servers that ship -> a call on the small repository, and what its answer holds."""


@dataclass(frozen=True, kw_only=True)
class Attempted:
    """The last attempt at a cell."""

    folder: Path
    result: dict[str, Any]

    @property
    def outcome(self) -> str:
        return str(self.result["outcome"]["kind"])

    @property
    def reason(self) -> str:
        return str(self.result["outcome"]["reason"])

    @property
    def events(self) -> list[dict[str, Any]]:
        lines = (self.folder / "transcript.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == kind]

    @property
    def notes(self) -> str:
        return "\n".join(note["text"] for note in self.of("note"))

    @property
    def prose(self) -> str:
        return "\n".join(event["text"] for event in self.of("prose"))

    @property
    def program(self) -> dict[str, Any]:
        program: dict[str, Any] = self.result["fingerprint"]["program"]
        return program


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A run, and what the provider was asked in it."""

    name: str
    folder: Path
    code: int
    screen: str
    said: str
    # Pages long: shown with a failed assertion, they push its reason out of a record of CI.
    asked: list[Asked] = field(repr=False)
    attempts: list[Attempted] = field(default_factory=list, repr=False)

    def of(self, server: str) -> Attempted:
        (found,) = [it for it in self.attempts if it.result["cell"]["server"] == server]
        return found


@dataclass(frozen=True, kw_only=True)
class Cells:
    """Runs of one agent in one checkout."""

    checkout: Checkout
    provider: Provider
    """The same for all of them: another address is another model's."""
    agent: str
    model: str = f"openai:{MODEL}"

    def run(self, policy: Policy, *words: str, name: str = "") -> Ran:
        """What the provider does meanwhile is what `policy` says."""
        name = name or f"r{next(RUNS)}"
        done = self.said(policy, "run", "--ungated", "--run", name, *words)
        last = {path.parent.parent: path for path in self.checkout.results(name)}
        attempts = [
            Attempted(folder=path.parent, result=json.loads(path.read_text()))
            for path in last.values()
        ]
        return Ran(
            name=name,
            folder=self.checkout.run_folder(name),
            code=done.returncode,
            screen=done.stdout,
            said=done.stderr,
            asked=self.provider.asked,
            attempts=attempts,
        )

    def said(self, policy: Policy, verb: str, *words: str) -> subprocess.CompletedProcess[str]:
        """What a verb that takes `--agent` prints."""
        provider = self.provider
        provider.policy, provider.asked, provider.most_at_once = policy, [], 0
        return self.checkout.said(
            verb,
            *("--agent", self.agent, "--model", self.model),
            *words,
            OPENAI_BASE_URL=f"{provider.url}/v1",
            OPENAI_API_KEY=KEY,
            ANTHROPIC_BASE_URL=provider.url,
            ANTHROPIC_API_KEY=KEY,
        )

    def add_scenario(self, name: str, **budget: int) -> None:
        """One question, and less of something than an answer takes."""
        whole = {"tokens": 200_000, "wall_sec": 3600, "actions": 200, **budget}
        url = f"file://{self.checkout.root}/upstream"
        asked = scenario(url, self.checkout.commit, id=name, budget=whole)
        self._write(name, asked, RUBRIC, [REFERENCE])

    def _write(self, name: str, asked: Any, rubric: Any, references: list[str]) -> None:
        folder = f"scenarios/core/{name}"
        # What is said twice in them would be written as an alias.
        self.checkout.write(f"{folder}/scenario.yaml", json.loads(json.dumps(asked)))
        self.checkout.write(f"{folder}/rubric.yaml", json.loads(json.dumps(rubric)))
        for number, text in enumerate(references, 1):
            self.checkout.write(f"{folder}/reference/{number}.md", text)

    def add_two_steps(self) -> None:
        url = f"file://{self.checkout.root}/upstream"
        asked = scenario(url, self.checkout.commit, id="two-steps")
        first = asked["steps"][0]
        asked["steps"] = [first, {**first, "name": "then", "prompt": SECOND}]
        criteria = {"map_quality": {"weight": 1.0, "question": "There?", "facts": [FACT]}}
        steps = [{"name": name, "criteria": criteria} for name in ("trace", "then")]
        rubric = {**RUBRIC, "steps": steps}
        self._write("two-steps", asked, rubric, [REFERENCE, REFERENCE])

    def add_shipped(self, name: str) -> None:
        """A real server, with a health probe for the small repository."""
        folder = f"images/servers/{name}"
        shutil.copytree(ROOT / folder, self.checkout.root / folder)
        definition = yaml.safe_load((ROOT / folder / "server.yaml").read_text())
        call, contains = PROBES[name]
        probe = {"repository": "*", "call": call, "contains": contains, "timeout_sec": 120}
        self.checkout.write(f"{folder}/server.yaml", {**definition, "canaries": [probe]})

    def add_told(self) -> None:
        """A question about a repository that tells agents something, and whose tests can be run."""
        upstream = self.checkout.root / "told"
        upstream.mkdir()
        git(upstream, "init", "-q", "-b", "main")
        for name, text in {"app.py": SOURCE, "AGENTS.md": TOLD, "CLAUDE.md": TOLD}.items():
            (upstream / name).write_text(text)
        git(upstream, "add", "-A")
        git(upstream, "commit", "-q", "-m", f"commit in {upstream}")
        commit = git(upstream, "rev-parse", "HEAD")
        asked = scenario(f"file://{upstream}", commit, id="told", environment=ENVIRONMENT)
        self._write("told", asked, RUBRIC, [REFERENCE])
        self.checkout.write("scenarios/core/told/environment/requirements.txt", PACKAGE)
        assert self.checkout.said("lock").returncode == 0


@contextmanager
def volumes_read_once() -> Iterator[None]:
    """Every run reads each volume through, of which an agent's has some 300 MB: here, the first one
    does. tests/test_volumes.py holds what comes of one that was changed."""
    read, seen = volume_room.require_content, set[ServerVolume]()

    def read_once(builder: Builder, volume: ServerVolume) -> None:
        if volume not in seen:
            read(builder, volume)
        seen.add(volume)

    with patch.object(volume_room, "require_content", read_once):
        yield


@contextmanager
def open_cells(
    agent: str, folder: Path, engine: docker.DockerClient, **more: str
) -> Iterator[Cells]:
    """The checkout, removed from the engine at the end; volumes of what ships stay for the next."""
    checkout = make(folder)
    shutil.copytree(ROOT / "images/agents", folder / "images/agents")
    try:
        with providing(lambda _: Reply()) as provider, volumes_read_once():
            yield Cells(checkout=checkout, provider=provider, agent=agent, **more)
    finally:
        for volume in checkout.volumes() | checkout.environments():
            if not any(f"-{name}-" in volume for name in PROBES):
                with suppress(docker.errors.NotFound):
                    engine.api.remove_volume(volume, force=True)
        checkout.remove_images(engine)
