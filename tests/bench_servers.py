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
from dataclasses import dataclass
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
MOST_BYTES = 64_000_000
"""Of the largest answer."""


@dataclass(frozen=True, kw_only=True)
class HostileSize:
    commands: int = 150
    rounds: int = 3
    most_bytes: int = MOST_BYTES
    call_sec: int = 60
    """That an answer is waited for, which a small one of no form never is."""


def tiny_blocks(most_bytes: int) -> str:
    return f"""
block = '{{"type":"text","text":""}},'
say('"result":{{"content":[%s]}}' % (block * ({most_bytes} // len(block))))
"""


def just_read(most_bytes: int) -> str:
    return f"""
block = '{{"type":"text","text":"%s"}},' % ('x' * 200)
say('"result":{{"content":[%s0]}}' % (block * ({most_bytes} // 2000)))
"""


def huge_pages(most_bytes: int) -> str:
    return f"""
page = tool(str(id)) | {{'description': 'x' * ({most_bytes} // 3)}}
result({{'nextCursor': 'a', 'tools': [page]}})
"""


def full_pages(most_bytes: int) -> str:
    return f"""
many = range({most_bytes} // 3000)
one = tool(str(id), properties={{str(n): {{'type': 'string'}} for n in many}})
result({{'nextCursor': 'a', 'tools': [one]}})
"""


FLOOD = "\nwhile True: out('x' * 65536, end='')"
NOTIFIES = '\nwhile True: out(\'{"jsonrpc":"2.0","method":"x"}\')'
STDERR = "\nwhile True: sys.stderr.write('x' * 65536)"
ENDLESS: tuple[Script, ...] = ({"bad": FLOOD}, {"bad": NOTIFIES}, {"bad": STDERR})


def worst(most_bytes: int) -> tuple[Script, ...]:
    """Those without an end are of the whole size alone: each is read for a while."""
    sized: tuple[Script, ...] = (
        {"bad": tiny_blocks(most_bytes)},
        {"bad": just_read(most_bytes)},
        {"tools/list": huge_pages(most_bytes)},
        {"tools/list": full_pages(most_bytes)},
    )
    return sized + (ENDLESS if most_bytes == MOST_BYTES else ())


# --- memory -------------------------------------------------------------------------------------


async def hold_worst(client: docker.DockerClient, image: str, size: HostileSize) -> None:
    """Every worst server, in three cells at once."""
    for script in worst(size.most_bytes):
        async with asyncio.TaskGroup() as tasks:
            for _ in range(CELLS):
                suffering = _suffer(client, image, script, calls=2, call_sec=size.call_sec)
                tasks.create_task(suffering)


async def _suffer(
    client: docker.DockerClient, image: str, script: Script, *, calls: int, call_sec: int = 60
) -> None:
    """A cell's calls of such a server, as an agent makes them; its end is the cell's."""
    spec = ContainerSpec(image=image, limits=Limits(), deadline_sec=DEADLINE_SEC)
    argv = ["python3", "-c", SCRIPTED, json.dumps(script)]
    log = ServerLog(stderr=StderrFile(None))
    async with open_container(client, spec) as container:
        try:
            async with open_session(container, argv, {}, log, initialize_timeout_sec=60) as session:
                mounted = MountedServer(session=session, name="worst", call_sec=call_sec)
                toolbox = Toolbox(container, Limits(), mounted)
                for number in range(calls):
                    call = Call(id=str(number), tool="mcp__worst__bad", arguments={})
                    await toolbox.call(call, 60)
        except ServerError:
            return


# --- seconds ------------------------------------------------------------------------------------


async def shell_sec(client: docker.DockerClient, image: str, commands: int) -> float:
    """What the commands of a shell cell take."""
    spec = ContainerSpec(image=image, limits=Limits(), deadline_sec=DEADLINE_SEC)
    async with open_container(client, spec) as container:
        await container.shell("true", timeout_sec=60)
        started = time.perf_counter()
        for _ in range(commands):
            await container.shell("true", timeout_sec=60)
        return time.perf_counter() - started


async def shell_sec_beside(
    client: docker.DockerClient, image: str, script: Script, commands: int
) -> float:
    """The same, while a server in another cell does its worst."""
    worst = asyncio.create_task(_suffer_for_ever(client, image, script))
    try:
        await asyncio.sleep(2)
        return await shell_sec(client, image, commands)
    finally:
        worst.cancel()
        await asyncio.gather(worst, return_exceptions=True)


async def _suffer_for_ever(client: docker.DockerClient, image: str, script: Script) -> None:
    while True:
        await _suffer(client, image, script, calls=1000)


def figures(client: docker.DockerClient, image: str, size: HostileSize) -> Iterable[dict[str, Any]]:
    """As bench.Figure takes them."""
    blocks = tiny_blocks(size.most_bytes)
    for name, bad in (("flooding", FLOOD), (f"{size.most_bytes / 1e6:g} MB a call", blocks)):
        alone, beside = [], []
        # By turns, and the least of each: what is more is the machine's.
        for _ in range(size.rounds):
            alone.append(asyncio.run(shell_sec(client, image, size.commands)))
            held = shell_sec_beside(client, image, {"bad": bad}, size.commands)
            beside.append(asyncio.run(held))
        yield {
            "name": f"a shell cell's seconds beside a server: {name}",
            "value": min(beside) / min(alone),
            "bound": 1.5,
            "detail": f"{min(beside) * 1e3:,.1f} ms / {min(alone) * 1e3:,.1f} ms",
        }


if __name__ == "__main__":
    asked = HostileSize(most_bytes=int(sys.argv[2]), call_sec=int(sys.argv[3]))
    asyncio.run(hold_worst(connect(), sys.argv[1], asked))
