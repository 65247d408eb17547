"""What a request of an agent that is a program takes over the bridge, beside a command in the same
cell; and what a cell adds to the program, beside the program on this machine.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

import docker

from runner.agents.models import open_model
from runner.agents.models.model_settings import Endpoint, ModelSettings
from runner.agents.models.remote import RemoteModel
from runner.agents.packaged import PACKAGED
from runner.agents.packaged.bridge import ProviderBridge, Upstream
from runner.agents.packaged.cell_end import AgentClock, CellEnd
from runner.agents.packaged.cell_ledger import CellLedger
from runner.agents.packaged.packaged_agent import StepStart
from runner.agents.packaged.program import PreparedProgram
from runner.agents.packaged.treatment import Treatment
from runner.agents.usage import UsageTotals
from runner.records import Budget, Limits
from runner.sandbox.cell_layout import AGENT_INSTALL, AGENT_USER
from runner.sandbox.container import ContainerSpec, open_container
from runner.sandbox.relay import McpWire, RelayedReply, RelayedRequest, open_relay
from tests.real_agents.cells import MODEL, Cells, open_cells
from tests.real_agents.policies import ANSWER, shell_call
from tests.real_agents.scripted_provider import Asked, Policy, Reply, providing

TIMES = 200
BODY_CHARS = 60_000
"""As a first request of Codex's has them."""
CLIENT = """
import http.client, json, statistics, sys, time
asked = {"model": "m", "input": [], "tools": [], "instructions": "x" * int(sys.argv[2])}
body = json.dumps(asked).encode()
taken = []
# Kept open from one request to the next, as agents keep theirs.
link = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
for _ in range(int(sys.argv[3])):
    began = time.perf_counter()
    link.request("POST", "/v1/responses", body, {"content-type": "application/json"})
    assert b"response.completed" in link.getresponse().read()
    taken.append(time.perf_counter() - began)
print(statistics.median(taken))
"""
SIZES = (str(BODY_CHARS), str(TIMES))


class _Bridged:
    """relay.Answering of a bridge alone."""

    def __init__(self, url: str) -> None:
        settings = ModelSettings(openai=Endpoint(key="none", url=f"{url}/v1"))
        model = open_model("openai:m", settings)
        assert isinstance(model, RemoteModel)
        agent = PACKAGED["codex"]
        totals = UsageTotals()
        self.bridge = ProviderBridge(
            agent=agent,
            upstream=Upstream(
                provider=model.provider, url=f"{url}/v1", settings=settings, model="m"
            ),
            ledger=CellLedger(agent, {}, lambda _: None, totals, names={}),
            treatment=Treatment(agent=agent, server="", server_tools={}),
            budget=Budget(tokens=10**9, wall_sec=3600, actions=10**6),
            end=CellEnd(),
            clock=AgentClock(),
        )

    async def answer(self, asked: RelayedRequest, reply: RelayedReply) -> None:
        await self.bridge.answer(asked, reply)

    async def take_line(self, line: bytes, wire: McpWire) -> None:
        raise AssertionError(line, wire)

    def refused(self, user: str) -> None:
        raise AssertionError(user)

    def failed(self, error: BaseException) -> None:
        raise AssertionError from error


async def _bridged_sec(client: docker.DockerClient, image: str, url: str) -> tuple[float, float]:
    spec = ContainerSpec(image=image, limits=Limits(cpus=1), deadline_sec=600)
    async with open_container(client, spec) as container:
        bridged = _Bridged(url)
        async with open_relay(container, bridged) as relay:
            http, _ = await relay.ports()
            argv = ["python3", "-I", "-c", CLIENT, str(http), *SIZES]
            stream = await container.exec_stream(argv, user=AGENT_USER)
            printed = b"".join([chunk async for chunk in stream.stdout()])
        await bridged.bridge.close()
        commands = []
        for _ in range(TIMES):
            began = time.perf_counter()
            await container.shell("true", timeout_sec=10)
            commands.append(time.perf_counter() - began)
    return float(json.loads(printed)), statistics.median(commands)


def bridge_sec(client: docker.DockerClient, image: str) -> tuple[float, float]:
    """Median seconds in one cell: of a request through the bridge, and of a command."""
    with providing(lambda _: Reply(text="Yes.")) as provider:
        return asyncio.run(_bridged_sec(client, image, provider.url))


# --- a whole cell -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class AgentSize:
    """A conversation, and how often it is held."""

    turns: int = 4
    turn_sec: float = 2.0
    """Until a model has answered; most take longer."""
    times: int = 3


def whole_cell_sec(
    client: docker.DockerClient, program: PreparedProgram, install: Path, size: AgentSize
) -> tuple[float, float]:
    """Median seconds of a conversation with Codex: of the whole cell, and of the program here.

    `install`: its volume's content on this machine.
    """
    with open_cells("codex", install / "checkout", client) as cells:
        words = ("--server", "shell", "--trials", str(size.times), "--jobs", "1")
        run = cells.run(_conversing(size), "--scenario", "small", *words)
        assert [it.outcome for it in run.attempts] == ["answered"] * size.times, run.said
        in_cell = [it.result["timings"]["total_sec"] for it in run.attempts]
        path = program.command.replace(AGENT_INSTALL, str(install / "server"))
        here = [_on_host_sec(cells, path, install / f"home{it}", size) for it in range(size.times)]
    return statistics.median(in_cell), statistics.median(here)


def _conversing(size: AgentSize) -> Policy:
    def policy(asked: Asked) -> Reply:
        if asked.results == size.turns - 1:
            reply = Reply(text=ANSWER)
        else:
            reply = Reply(text="I look.", calls=(shell_call(asked, "cat app.py"),))
        return replace(reply, wait_sec=size.turn_sec)

    return policy


def _on_host_sec(cells: Cells, program: str, home: Path, size: AgentSize) -> float:
    """As the cell starts it, with the provider itself in the bridge's place."""
    cells.provider.policy, cells.provider.asked = _conversing(size), []
    start = StepStart(program=program, model=MODEL, url=cells.provider.url)
    started = PACKAGED["codex"].command(start)
    home.mkdir()
    began = time.perf_counter()
    done = subprocess.run(
        started.argv,
        env={**os.environ, **started.env, "CODEX_HOME": str(home)},
        cwd=cells.checkout.root / "upstream",
        input=b"What does App.dispatch_all do?",
        capture_output=True,
        check=True,
    )
    took_sec = time.perf_counter() - began
    assert len(cells.provider.asked) == size.turns, done.stderr
    return took_sec
