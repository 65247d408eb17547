"""Small real things that several test files use."""

from __future__ import annotations

import asyncio
import hashlib
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import docker

from runner.agents.tool_calling import Conversation
from runner.agents.tools import Toolbox
from runner.protocols import Call, Message, Model, ShellResult, ToolSpec, Turn
from runner.records import Budget, Cell, Event, GitSource, Limits, Outcome, Scenario, Step
from runner.sandbox.container import Container, ContainerSpec, open_container

COMMIT = "1" * 40


class LocalSandbox:
    """protocols.Sandbox over a folder of this machine: for what needs a shell, and no container."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def shell(self, command: str, *, timeout_sec: float) -> ShellResult:
        started = time.monotonic()
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=timeout_sec,
            check=False,
        )
        output = done.stdout + done.stderr
        return ShellResult(
            output=output,
            exit_code=done.returncode,
            timed_out=False,
            size_chars=len(output),
            truncated=False,
            digest=hashlib.sha256(output.encode()).hexdigest(),
            wall_sec=time.monotonic() - started,
        )


class Scripted:
    """A model that says what the test wrote down."""

    name = "scripted"
    language_model = False
    identity = "0" * 64

    def __init__(self, *turns: Turn | Exception) -> None:
        self.turns = list(turns)
        self.seen: list[tuple[str, int, tuple[str, ...]]] = []

    def write_artifacts(self, folder: Path) -> None:
        """It keeps nothing."""

    async def turn(
        self,
        system: str,
        conversation: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        timeout_sec: float,
    ) -> Turn:
        self.seen.append((system, len(conversation), tuple(tool.name for tool in tools)))
        turn = self.turns.pop(0)
        if isinstance(turn, Exception):
            raise turn
        return turn


def says(text: str, *, tokens: int = 10) -> Turn:
    return Turn(text=text, calls=(), stop="end", input_tokens=tokens, output_tokens=0)


def calls(*commands: str, tool: str = "shell", tokens: int = 10) -> Turn:
    made = tuple(
        Call(id=f"c{number}", tool=tool, arguments={"command": command})
        for number, command in enumerate(commands)
    )
    return Turn(text="", calls=made, stop="tool_use", input_tokens=tokens, output_tokens=0)


def scenario(*prompts: str, **budget: int) -> Scenario:
    return Scenario(
        id="small",
        title="Small",
        description="For tests.",
        language="python",
        slant="none",
        repository=GitSource(kind="git", url="file:///nowhere", commit=COMMIT),
        budget=Budget(**{"tokens": 1000, "wall_sec": 60, "actions": 20, **budget}),
        steps=tuple(
            Step(name=f"step {number}", prompt=prompt) for number, prompt in enumerate(prompts)
        ),
    )


def cell(server: str = "shell", *, trial: int = 1, **inputs: str) -> Cell:
    return Cell(scenario="small", server=server, model="offline", trial=trial, inputs=inputs)


class CellFolder:
    """protocols.Sandbox over a folder in a real cell, which has the tools that this machine may lack."""

    def __init__(self, container: Container) -> None:
        self.container = container

    async def write(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            command = f"mkdir -p /tmp/r/$(dirname {path}) && printf %s {shlex.quote(text)} > /tmp/r/{path}"
            assert (await self.container.shell(command, timeout_sec=10)).exit_code == 0

    async def shell(self, command: str, *, timeout_sec: float) -> ShellResult:
        return await self.container.shell(f"cd /tmp/r && {{ {command}\n}}", timeout_sec=timeout_sec)


Ask = Callable[..., tuple[Outcome, list[Event], list[str]]]


def asking(client: docker.DockerClient, image: str) -> Ask:
    """Hold a conversation over some files in a fresh cell: outcome, events, and the files that are there afterwards."""

    def ask(
        model: Model, asked: Scenario, files: Mapping[str, str]
    ) -> tuple[Outcome, list[Event], list[str]]:
        events: list[Event] = []

        async def main() -> tuple[Outcome, str]:
            given = ContainerSpec(image=image, limits=Limits(), deadline_sec=120)
            async with open_container(client, given) as container:
                folder = CellFolder(container)
                await folder.write(files)
                conversation = Conversation(
                    model=model,
                    scenario=asked,
                    toolbox=Toolbox(folder, Limits()),
                    record=events.append,
                )
                return await conversation.run(), (
                    await folder.shell("find . -type f", timeout_sec=10)
                ).output

        outcome, listing = asyncio.run(main())
        return outcome, events, listing.splitlines()

    return ask
