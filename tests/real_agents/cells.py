"""A small checkout in which real agents are run, and what came of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import docker

from tests.checkout import FACT, REFERENCE, ROOT, RUBRIC, Checkout, make, scenario
from tests.real_agents.scripted_provider import Asked, Policy, Provider, Reply, providing

KEY = "sk-a-key-that-no-cell-may-see-4711"
MODEL = "gpt-5-scripted"
SECOND = "And what does `App.finish_up` return? Say where."
RUNS = count(1)


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
        asked_for = ["run", "--ungated", "--agent", self.agent, "--model", self.model]
        provider = self.provider
        provider.policy, provider.asked = policy, []
        done = self.checkout.said(
            *asked_for,
            *("--run", name, *words),
            OPENAI_BASE_URL=f"{provider.url}/v1",
            OPENAI_API_KEY=KEY,
            ANTHROPIC_BASE_URL=provider.url,
            ANTHROPIC_API_KEY=KEY,
        )
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
            asked=provider.asked,
            attempts=attempts,
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

    def add_ripgrep(self) -> None:
        """The real one, with a health probe for the small repository."""
        folder = self.checkout.root / "images/servers/mcp-ripgrep"
        shutil.copytree(ROOT / "images/servers/mcp-ripgrep", folder)
        text = (folder / "server.yaml").read_text().partition("canaries:")[0]
        probe = (
            'canaries:\n  - repository: "*"\n    call:\n      tool: search\n'
            '      arguments: {pattern: "def finish_up", path: "{workspace}"}\n'
            '    contains: "app.py:5:"\nline_base: 1\n'
        )
        (folder / "server.yaml").write_text(text + probe)


@contextmanager
def open_cells(
    agent: str, folder: Path, engine: docker.DockerClient, **more: str
) -> Iterator[Cells]:
    """The checkout, removed from the engine at the end; agents' own volumes stay for the next."""
    checkout = make(folder)
    shutil.copytree(ROOT / "images/agents", folder / "images/agents")
    try:
        with providing(lambda _: Reply()) as provider:
            yield Cells(checkout=checkout, provider=provider, agent=agent, **more)
    finally:
        for volume in checkout.volumes():
            if "mcp-ripgrep" not in volume:
                with suppress(docker.errors.NotFound):
                    engine.api.remove_volume(volume, force=True)
        checkout.remove_images(engine)
