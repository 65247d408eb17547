"""The relay in a real cell: who may speak to it, and what it carries."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import resources

import docker
import pytest

from runner.records import Limits
from runner.sandbox.cell_layout import AGENT_USER, SERVER_USER
from runner.sandbox.container import Container, ContainerSpec, open_container
from runner.sandbox.relay import McpWire, Relay, RelayedReply, RelayedRequest, open_relay
from tests.helpers import PATIENCE_SEC

pytestmark = pytest.mark.docker
ASK = """python3 - <<'END'
import urllib.request
try:
    print(urllib.request.urlopen("http://127.0.0.1:PORT/PATH", b"DATA" * TIMES).read().decode())
except Exception as error:
    print(type(error).__name__)
END"""


class Echo:
    """relay.Answering that says what it was asked."""

    def __init__(self) -> None:
        self.strangers: list[str] = []
        self.failures: list[BaseException] = []
        self.lines: list[bytes] = []
        self.at_once = 0
        self.most_at_once = 0

    async def answer(self, asked: RelayedRequest, reply: RelayedReply) -> None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        if asked.path == "/bug":
            raise ZeroDivisionError
        if asked.path == "/wait":
            for _ in range(600):
                if self.most_at_once > 1:
                    break
                await asyncio.sleep(0.1)
        await reply.head(200, {"content-type": "text/plain"})
        await reply.body(f"{asked.method} {asked.path} ".encode())
        if asked.path == "/cut":
            await reply.cut()
        else:
            await reply.body(f"{len(asked.body)}".encode())
            await reply.end()
        self.at_once -= 1

    async def take_line(self, line: bytes, wire: McpWire) -> None:
        self.lines.append(line)
        await wire.send({"heard": line.decode().strip()})

    def refused(self, user: str) -> None:
        self.strangers.append(user)

    def failed(self, error: BaseException) -> None:
        self.failures.append(error)


@asynccontextmanager
async def relayed(
    engine: docker.DockerClient, image: str
) -> AsyncIterator[tuple[Container, Relay, Echo]]:
    spec = ContainerSpec(image=image, limits=Limits(cpus=1), deadline_sec=600)
    async with open_container(engine, spec) as container:
        echo = Echo()
        async with open_relay(container, echo) as relay:
            yield container, relay, echo


async def asked(
    container: Container, relay: Relay, path: str, *, times: int = 1, user: str = AGENT_USER
) -> str:
    http, _ = await relay.ports()
    command = ASK.replace("PORT", str(http)).replace("PATH", path).replace("TIMES", str(times))
    done = await container.shell(command, timeout_sec=PATIENCE_SEC, user=user)
    return done.output.strip()


def test_requests_of_any_size_come_to_the_host_and_are_answered(
    engine: docker.DockerClient, base_image: str
) -> None:
    async def work() -> None:
        async with relayed(engine, base_image) as (container, relay, echo):
            assert await asked(container, relay, "v1") == "POST /v1 4"
            assert await asked(container, relay, "big", times=2_000_000) == "POST /big 8000000"
            assert await asked(container, relay, "cut") == "IncompleteRead"
            assert echo.failures == []

    asyncio.run(work())


def test_nobody_but_the_agent_may_speak_to_it(engine: docker.DockerClient, base_image: str) -> None:
    async def work() -> None:
        async with relayed(engine, base_image) as (container, relay, echo):
            refused = await asked(container, relay, "v1", user=SERVER_USER)
            assert "POST" not in refused and refused.endswith(("Error", "Disconnected"))
            assert echo.strangers == ["10002"]

    asyncio.run(work())


def test_requests_are_answered_beside_one_another(
    engine: docker.DockerClient, base_image: str
) -> None:
    async def work() -> None:
        async with relayed(engine, base_image) as (container, relay, echo):
            http, _ = await relay.ports()
            python = (
                "import threading, urllib.request as u\n"
                f"ask = lambda: print(u.urlopen('http://127.0.0.1:{http}/wait', b'x').read())\n"
                "threads = [threading.Thread(target=ask) for _ in range(2)]\n"
                "[it.start() for it in threads]; [it.join() for it in threads]"
            )
            done = await container.shell(f'python3 -c "{python}"', timeout_sec=PATIENCE_SEC)
            assert done.output.count("POST /wait 1") == 2
            assert echo.most_at_once == 2

    asyncio.run(work())


def test_a_bug_behind_it_is_told_of_and_not_swallowed(
    engine: docker.DockerClient, base_image: str
) -> None:
    async def work() -> None:
        async with relayed(engine, base_image) as (container, relay, echo):
            http, _ = await relay.ports()
            command = (
                'python3 -c "import urllib.request as u; '
                f"u.urlopen('http://127.0.0.1:{http}/bug', b'x', timeout=2)\""
            )
            await container.shell(command, timeout_sec=PATIENCE_SEC)
            assert [type(it) for it in echo.failures] == [ZeroDivisionError]

    asyncio.run(work())


def test_a_shim_is_joined_to_the_host_line_by_line(
    engine: docker.DockerClient, base_image: str
) -> None:
    shim = resources.files("runner.sandbox").joinpath("shim_host.py").read_text("utf-8")

    async def work() -> None:
        async with relayed(engine, base_image) as (container, relay, echo):
            _, mcp = await relay.ports()
            argv = ["python3", "-I", "-c", shim, str(mcp)]
            stream = await container.exec_stream(argv, user=AGENT_USER)
            await stream.write(b'{"id": 1}\n{"id": 2}\n')
            heard = b""
            deadline = time.monotonic() + PATIENCE_SEC
            async for chunk in stream.stdout():
                heard += chunk
                if heard.count(b"\n") == 2 or time.monotonic() > deadline:
                    break
            assert sorted(echo.lines) == [b'{"id": 1}\n', b'{"id": 2}\n']
            assert heard.count(b"heard") == 2

    asyncio.run(work())
