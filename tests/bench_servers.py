"""What a hostile server costs its neighbours: the runner's memory, and the seconds of a shell cell.

Run as a program, with the id of a base image, it holds three cells at once with each of the worst
servers, and prints nothing: the bench reads its peak memory.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterable
from typing import Any

import docker

from runner.agents.tools import MountedServer, Toolbox
from runner.protocols import Call
from runner.records import Limits
from runner.sandbox.container import ContainerSpec, open_container
from runner.sandbox.engine import connect
from runner.sandbox.session import open_session
from runner.sandbox.stream import StderrFile
from runner.sandbox.transport import ServerLog
from runner.support.errors import ServerError
from tests.local_server import SCRIPTED, Script

DEADLINE_SEC = 600
CELLS = 3
COMMANDS = 150
ROUNDS = 3

TINY_BLOCKS = """
block = '{"type":"text","text":""},'
say('"result":{"content":[%s]}' % (block * (64_000_000 // len(block))))
"""
JUST_READ = """
block = '{"type":"text","text":"%s"},' % ('x' * 200)
say('"result":{"content":[%s0]}' % (block * 33_000))
"""
HUGE_PAGES = """
page = tool(str(id)) | {'description': 'x' * 20_000_000}
result({'nextCursor': 'a', 'tools': [page]})
"""
FULL_PAGES = """
one = tool(str(id), properties={str(n): {'type': 'string'} for n in range(20_000)})
result({'nextCursor': 'a', 'tools': [one]})
"""
FLOOD = "\nwhile True: out('x' * 65536, end='')"
NOTIFIES = '\nwhile True: out(\'{"jsonrpc":"2.0","method":"x"}\')'
STDERR = "\nwhile True: sys.stderr.write('x' * 65536)"
WORST: tuple[Script, ...] = (
    {"bad": TINY_BLOCKS},
    {"bad": JUST_READ},
    {"tools/list": HUGE_PAGES},
    {"tools/list": FULL_PAGES},
    {"bad": FLOOD},
    {"bad": NOTIFIES},
    {"bad": STDERR},
)


# --- memory -------------------------------------------------------------------------------------


async def hold_worst(client: docker.DockerClient, image: str) -> None:
    """Every worst server, in three cells at once."""
    for script in WORST:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(CELLS):
                tasks.create_task(_suffer(client, image, script, calls=2))


async def _suffer(client: docker.DockerClient, image: str, script: Script, *, calls: int) -> None:
    """A cell's calls of such a server, as an agent makes them; its end is the cell's."""
    spec = ContainerSpec(image=image, limits=Limits(), deadline_sec=DEADLINE_SEC)
    argv = ["python3", "-c", SCRIPTED, json.dumps(script)]
    log = ServerLog(stderr=StderrFile(None))
    async with open_container(client, spec) as container:
        try:
            async with open_session(container, argv, {}, log, initialize_timeout_sec=60) as session:
                mounted = MountedServer(session=session, name="worst", call_sec=60)
                toolbox = Toolbox(container, Limits(), mounted)
                for number in range(calls):
                    call = Call(id=str(number), tool="mcp__worst__bad", arguments={})
                    await toolbox.call(call, 60)
        except ServerError:
            return


# --- seconds ------------------------------------------------------------------------------------


async def shell_sec(client: docker.DockerClient, image: str) -> float:
    """What the commands of a shell cell take."""
    spec = ContainerSpec(image=image, limits=Limits(), deadline_sec=DEADLINE_SEC)
    async with open_container(client, spec) as container:
        await container.shell("true", timeout_sec=60)
        started = time.perf_counter()
        for _ in range(COMMANDS):
            await container.shell("true", timeout_sec=60)
        return time.perf_counter() - started


async def shell_sec_beside(client: docker.DockerClient, image: str, script: Script) -> float:
    """The same, while a server in another cell does its worst."""
    worst = asyncio.create_task(_suffer_for_ever(client, image, script))
    try:
        await asyncio.sleep(2)
        return await shell_sec(client, image)
    finally:
        worst.cancel()
        await asyncio.gather(worst, return_exceptions=True)


async def _suffer_for_ever(client: docker.DockerClient, image: str, script: Script) -> None:
    while True:
        await _suffer(client, image, script, calls=1000)


def figures(client: docker.DockerClient, image: str) -> Iterable[dict[str, Any]]:
    """As bench.Figure takes them."""
    for name, script in (("flooding", {"bad": FLOOD}), ("64 MB a call", {"bad": TINY_BLOCKS})):
        alone, beside = [], []
        # By turns, and the least of each: what is more is the machine's.
        for _ in range(ROUNDS):
            alone.append(asyncio.run(shell_sec(client, image)))
            beside.append(asyncio.run(shell_sec_beside(client, image, script)))
        yield {
            "name": f"a shell cell's seconds beside a server: {name}",
            "value": min(beside) / min(alone),
            "bound": 1.5,
            "detail": f"{min(beside) * 1e3:,.1f} ms / {min(alone) * 1e3:,.1f} ms",
        }


if __name__ == "__main__":
    asyncio.run(hold_worst(connect(), sys.argv[1]))
