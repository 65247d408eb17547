"""Small real things that several test files use."""

from __future__ import annotations

import asyncio
import hashlib
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import docker

from runner.agents import AGENTS, system_prompt
from runner.agents.models.model_settings import ModelSettings
from runner.agents.tool_calling import Conversation
from runner.agents.tools import Toolbox
from runner.agents.usage import UsageTotals
from runner.protocols import Call, Message, Model, ShellResult, ToolSpec, Turn
from runner.records import (
    Budget,
    Cell,
    Event,
    GitSource,
    Limits,
    Outcome,
    Scenario,
    ServerCard,
    Step,
    StepEnd,
    Timings,
)
from runner.runs.importing.claude_code import events_in, json_objects
from runner.sandbox.container import Container, ContainerSpec, open_container

E = TypeVar("E", bound=Event)
COMMIT = "1" * 40
NO_TIME = Timings(
    create_sec=0, initialize_sec=0, warm_up_sec=0, canary_sec=0,
    agent_sec=0, backoff_sec=0, total_sec=0,
)  # fmt: skip
PATIENCE_SEC = 600
"""When a wait counts as hung. A busy machine needs a part of it; no test is about its length."""


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait for an event that has to come, however slow the machine is; `what` is the event."""
    deadline = time.monotonic() + PATIENCE_SEC
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.05)


def claude_code_events(path: Path) -> list[Event]:
    return list(events_in(json_objects(path.read_text(encoding="utf-8"))))


# --- shells -------------------------------------------------------------------------------------


class LocalSandbox:
    """protocols.Sandbox over a folder of this machine, for what needs a shell and no container."""

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


class CellFolder:
    """protocols.Sandbox over a folder in a real cell, whose tools this machine may lack."""

    folder = "/tmp/r"

    def __init__(self, container: Container) -> None:
        self.container = container

    async def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = f"{self.folder}/{name}"
            command = f"mkdir -p $(dirname {path}) && printf %s {shlex.quote(text)} > {path}"
            done = await self.container.shell(command, timeout_sec=PATIENCE_SEC)
            assert done.exit_code == 0, done.output

    async def shell(self, command: str, *, timeout_sec: float) -> ShellResult:
        # The line break ends a comment in the command, which would swallow the closing brace.
        inside = f"cd {self.folder} && {{ {command}\n}}"
        return await self.container.shell(inside, timeout_sec=timeout_sec)


# --- a model that follows a script --------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a model was given for one turn."""

    system: str
    messages: int
    tools: tuple[str, ...]


class Scripted:
    """A model that says what the test wrote down."""

    name = "scripted"
    language_model = False
    identity = "0" * 64

    def __init__(self, *turns: Turn | Exception) -> None:
        self.turns = list(turns)
        self.asked: list[Asked] = []

    def write_artifacts(self, folder: Path) -> None:
        """It keeps nothing."""

    async def close(self) -> None:
        """It holds nothing open."""

    async def turn(
        self,
        system: str,
        conversation: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        timeout_sec: float,
    ) -> Turn:
        # Counted now: the conversation goes on growing after this turn.
        names = tuple(tool.name for tool in tools)
        self.asked.append(Asked(system=system, messages=len(conversation), tools=names))
        turn = self.turns.pop(0)
        if isinstance(turn, Exception):
            raise turn
        return turn


def says(text: str) -> Turn:
    return Turn(text=text, calls=(), stop="end", input_tokens=10, output_tokens=0)


def calls(*commands: str, tool: str = "shell", tokens: int = 10) -> Turn:
    made = []
    for number, command in enumerate(commands):
        made.append(Call(id=f"c{number}", tool=tool, arguments={"command": command}))
    return Turn(text="", calls=tuple(made), stop="tool_use", input_tokens=tokens, output_tokens=0)


# --- records ------------------------------------------------------------------------------------


def scenario(*prompts: str, **budget: int) -> Scenario:
    """One step for each prompt. The hour is for a busy machine: time is no test's limit unasked."""
    ceilings = {"tokens": 1000, "wall_sec": 3600, "actions": 20, **budget}
    steps = []
    for number, prompt in enumerate(prompts):
        steps.append(Step(name=f"step {number}", prompt=prompt))
    return Scenario(
        id="small",
        title="Small",
        description="For tests.",
        language="python",
        slant="none",
        repository=GitSource(kind="git", url="file:///nowhere", commit=COMMIT),
        budget=Budget(**ceilings),
        steps=tuple(steps),
    )


def cell(server: str = "shell", *, trial: int = 1, **inputs: str) -> Cell:
    return Cell(scenario="small", server=server, model="offline", trial=trial, inputs=inputs)


# --- a conversation on this machine -------------------------------------------------------------


def told(agent: str) -> str:
    """What an agent is told under the limits of the product."""
    return system_prompt(agent, Limits(), ModelSettings().output_tokens)


@dataclass(frozen=True, kw_only=True)
class Held:
    """A conversation that has ended, and what is known of it."""

    outcome: Outcome
    events: list[Event]
    totals: UsageTotals

    def only(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    def texts(self, kind: type[Any]) -> list[str]:
        return [event.text for event in self.only(kind)]

    @property
    def stops(self) -> list[str]:
        """How each step ended."""
        return [event.stop for event in self.only(StepEnd)]


def converse_here(agent: str, model: Model, asked: Scenario, folder: Path) -> Held:
    """An agent's conversation, with this machine's shell in a folder."""
    return converse_with(agent, model, asked, Toolbox(LocalSandbox(folder), Limits()))


def converse_with(
    agent: str,
    model: Model,
    asked: Scenario,
    toolbox: Toolbox,
    *,
    totals: UsageTotals | None = None,
) -> Held:
    """An agent's conversation, with tools of the test's own."""
    events: list[Event] = []
    spent = totals or UsageTotals()
    made = AGENTS[agent](
        model=model,
        scenario=asked,
        toolbox=toolbox,
        record=events.append,
        totals=spent,
        system=told(agent),
        instructions="",
    )

    async def run() -> Outcome:
        try:
            return await asyncio.wait_for(made.run(), PATIENCE_SEC)
        finally:
            await model.close()

    return Held(outcome=asyncio.run(run()), events=events, totals=spent)


# --- a conversation in a real cell --------------------------------------------------------------

Ask = Callable[[Model, Scenario, Mapping[str, str]], tuple[Outcome, list[Event], list[str]]]
"""(model, what it is asked, files) -> outcome, events, and the files that are there afterwards."""


def asking(client: docker.DockerClient, image: str) -> Ask:
    """Hold a conversation over some files, each time in a fresh cell."""

    def ask(
        model: Model, asked: Scenario, files: Mapping[str, str]
    ) -> tuple[Outcome, list[Event], list[str]]:
        return asyncio.run(_ask_in_cell(client, image, model, asked, files))

    return ask


async def _ask_in_cell(
    client: docker.DockerClient,
    image: str,
    model: Model,
    asked: Scenario,
    files: Mapping[str, str],
) -> tuple[Outcome, list[Event], list[str]]:
    events: list[Event] = []
    spec = ContainerSpec(image=image, limits=Limits(), deadline_sec=PATIENCE_SEC)
    async with open_container(client, spec) as container:
        folder = CellFolder(container)
        await folder.write(files)
        conversation = Conversation(
            model=model,
            scenario=asked,
            toolbox=Toolbox(folder, Limits()),
            record=events.append,
        )
        outcome = await conversation.run()
        listing = await folder.shell("find . -type f", timeout_sec=PATIENCE_SEC)
    return outcome, events, listing.output.splitlines()


CARD = ServerCard(
    name="mine",
    version="1.0",
    licence="MIT",
    server_info="mine 1",
    protocol="2025-06-18",
    tools=("find",),
    schema_chars=100,
    schema_tokens=25,
    instructions_chars=0,
    initialize_sec=0.1,
    warm_up_sec=0.0,
    ready_sec=0.1,
    answer_sec=0.01,
    peak_memory_mb=10.0,
    state_mb=0.0,
    install_mb=1.0,
    install_digest="0" * 64,
    files_written=0,
    paths_written=(),
    network_attempts=0,
    stray_lines=0,
    stray=(),
    line_base=1,
    line_base_measured=1,
    repository="pypi:flask==3.1.2",
    canary_passed=True,
    canary_tries=3,
    canary_passes=3,
    canary_wanted="x",
    canary_text="x",
)
