"""The cell's container, on the real engine."""

from __future__ import annotations

import asyncio
import hashlib
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any

import docker
import pytest
from docker.errors import APIError

from runner.errors import SandboxError
from runner.protocols import ShellResult
from runner.records import Limits
from runner.sandbox.container import Container, ContainerSpec, open_container, settings_digest
from runner.sandbox.engine import sweep
from runner.text import cut

pytestmark = pytest.mark.docker
SMALL = Limits(memory_mb=256, tmp_mb=16, state_mb=16, result_chars=1000)
Run = Callable[..., ShellResult]


def spec(image: str, **changes: Any) -> ContainerSpec:
    return ContainerSpec(image=image, **{"limits": SMALL, "deadline_sec": 120, **changes})


def in_cell(
    engine: docker.DockerClient,
    given: ContainerSpec,
    work: Callable[[Container], Coroutine[Any, Any, Any]],
) -> Any:
    async def main() -> Any:
        async with open_container(engine, given) as container:
            return await work(container)

    return asyncio.run(main())


@pytest.fixture
def run(engine: docker.DockerClient, base_image: str) -> Run:
    """Run one command in a fresh cell."""

    def once(
        command: str, *, user: str = "agent", timeout_sec: float = 20, **changes: Any
    ) -> ShellResult:
        async def work(container: Container) -> ShellResult:
            return await container.shell(command, timeout_sec=timeout_sec, user=user)

        result = in_cell(engine, spec(base_image, **changes), work)
        assert isinstance(result, ShellResult)
        return result

    return once


@pytest.fixture
def secret_volume(engine: docker.DockerClient, base_image: str) -> Iterator[str]:
    """A server volume: a file that only the server may read."""
    volume = engine.volumes.create(labels={"fairtrial": "test"})
    script = "echo secret > /opt/server/start.sh && chown -R 10002:10002 /opt/server && chmod 0700 /opt/server"
    bound = {volume.name: {"bind": "/opt/server", "mode": "rw"}}
    engine.containers.run(
        base_image, ["sh", "-c", script], user="0", volumes=bound, remove=True, network_mode="none"
    )
    yield volume.name
    volume.remove(force=True)


def test_a_cell_has_no_network(run: Run) -> None:
    connecting = "import socket; socket.create_connection(('192.0.2.1', 80), 2)"
    result = run(f'cat /proc/net/dev | tail -n +3 | cut -d: -f1; python3 -c "{connecting}"')
    assert result.output.splitlines()[0].strip() == "lo"
    assert "Network is unreachable" in result.output


def test_a_cell_has_no_capabilities_and_cannot_gain_any(run: Run) -> None:
    told = run("grep -E '^(Cap|NoNew|Seccomp:)' /proc/self/status").output
    status = dict(line.split(":\t", 1) for line in told.splitlines())
    assert status["CapEff"] == status["CapBnd"] == "0" * 16
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"


def test_the_agent_writes_nowhere_but_in_its_own_places(run: Run) -> None:
    places = "/ /workspace /etc /usr/bin /opt/server /var/lib/server"
    result = run(f"for d in {places}; do touch $d/x 2>/dev/null && echo $d; done; touch /tmp/x ~/x")
    assert (result.output, result.exit_code) == ("", 0)


def test_the_agents_shell_reads_no_server_files(run: Run, secret_volume: str) -> None:
    reading = "cat /opt/server/start.sh; ls /opt/server /var/lib/server"
    as_agent = run(reading, server_volume=secret_volume)
    assert "secret" not in as_agent.output
    assert as_agent.output.count("Permission denied") == 3
    assert (
        run("cat /opt/server/start.sh", user="server", server_volume=secret_volume).output
        == "secret\n"
    )


def test_the_server_cannot_change_its_own_install(run: Run, secret_volume: str) -> None:
    assert (
        "Read-only file system"
        in run(
            "echo more >> /opt/server/start.sh", user="server", server_volume=secret_volume
        ).output
    )


def test_the_agent_cannot_look_into_a_server_process(
    engine: docker.DockerClient, base_image: str
) -> None:
    async def work(container: Container) -> str:
        await container.exec_stream(["sleep", "60"], user="server", env={"TOKEN": "hidden"})
        looking = "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/environ; ls $p/fd $p/cwd/ $p/root/opt; done 2>/dev/null; kill -9 -1"
        first = await container.shell(looking, timeout_sec=10)
        alive = await container.shell(
            "cat /proc/[0-9]*/cmdline | tr '\\0' ' '", timeout_sec=10, user="server"
        )
        return first.output + alive.output

    output = in_cell(engine, spec(base_image), work)
    assert "hidden" not in output
    assert "sleep 60" in output


def test_the_shell_arm_holds_nothing_of_another_arm(run: Run) -> None:
    assert (
        run("find /opt/server /var/lib/server -mindepth 1 | wc -l", user="server").output == "0\n"
    )


def test_a_private_directory_is_the_servers_alone(run: Run) -> None:
    assert (
        run("touch /workspace/.index/db && echo yes", user="server", private=(".index",)).output
        == "yes\n"
    )
    assert "Permission denied" in run("ls /workspace/.index", private=(".index",)).output


def test_a_command_past_its_deadline_is_killed_inside_the_cell(
    engine: docker.DockerClient, base_image: str
) -> None:
    async def work(container: Container) -> tuple[ShellResult, str]:
        slow = await container.shell("echo begun; sleep 3333", timeout_sec=0.5)
        return slow, (
            await container.shell("cat /proc/[0-9]*/cmdline | tr '\\0' ' '", timeout_sec=10)
        ).output

    slow, processes = in_cell(engine, spec(base_image), work)
    assert (slow.output, slow.timed_out) == ("begun\n", True)
    assert "3333" not in processes


def test_an_agent_that_kills_its_shell_gets_an_error_and_a_fresh_shell(
    engine: docker.DockerClient, base_image: str
) -> None:
    async def work(container: Container) -> tuple[ShellResult, ShellResult, int]:
        killed = await container.shell("kill -9 $PPID", timeout_sec=10)
        return killed, await container.shell("echo on", timeout_sec=10), container.shell_restarts

    killed, after, restarts = in_cell(engine, spec(base_image), work)
    assert (killed.output, killed.exit_code) == ("the shell was killed while this command ran", -1)
    assert (after.output, restarts) == ("on\n", 1)


def test_a_fork_bomb_ends_with_the_cell(run: Run) -> None:
    small = Limits(memory_mb=256, pids=32, result_chars=1000)
    bomb = run("b() { b | b & }; b 2>/dev/null; sleep 2", limits=small, timeout_sec=5)
    assert bomb.wall_sec < 15


def test_long_output_keeps_its_ends_and_tells_its_true_size(run: Run) -> None:
    result = run("seq 1 100000")
    whole = "".join(f"{number}\n" for number in range(1, 100001))
    assert result.truncated
    assert result.size_chars == len(whole)
    assert result.digest == hashlib.sha256(whole.encode()).hexdigest()
    assert result.output.startswith("1\n2\n")
    assert result.output.endswith("99999\n100000\n")
    assert "characters left out here" in result.output


def test_a_cut_is_never_silent_and_never_splits_a_line() -> None:
    text = "".join(f"src/file_{number}.py:{number}\n" for number in range(1000))
    shown, truncated = cut(text, 500)
    assert truncated
    kept = [line for line in shown.splitlines() if "left out" not in line]
    assert set(kept) <= set(text.splitlines())
    assert cut("short", 500) == ("short", False)
    assert len(cut("x" * 10_000, 500)[0]) < 600


def test_a_cell_costs_five_engine_calls_and_its_commands_none(
    engine: docker.DockerClient, base_image: str
) -> None:
    seen: list[str] = []

    def count(response: Any, *_: Any, **__: Any) -> None:
        seen.append(f"{response.request.method} {response.request.path_url}")

    engine.api.hooks["response"].append(count)
    try:

        async def work(container: Container) -> None:
            for _ in range(20):
                assert (await container.shell("true", timeout_sec=10)).exit_code == 0

        in_cell(engine, spec(base_image), work)
    finally:
        engine.api.hooks["response"].remove(count)
    assert [line.split("?")[0].rsplit("/", 1)[-1] for line in seen[:3]] == [
        "create",
        "start",
        "exec",
    ]
    assert seen[3].startswith("DELETE")
    assert len(seen) == 4


def test_a_container_ends_itself_when_its_runner_is_gone(
    engine: docker.DockerClient, base_image: str
) -> None:
    code = (
        "import asyncio, sys\n"
        "from runner.sandbox.container import *\n"
        "from runner.records import Limits\n"
        "async def main():\n"
        "    async with open_container(connect(), ContainerSpec(image=sys.argv[1], limits=Limits(), deadline_sec=3)) as c:\n"
        "        print(c.id, flush=True)\n"
        "        await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, base_image], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        container = process.stdout.readline().strip()
        process.send_signal(signal.SIGKILL)
    assert container in {item["Id"] for item in engine.api.containers(all=True)}
    end = time.monotonic() + 30
    while container in {item["Id"] for item in engine.api.containers(all=True)}:
        assert time.monotonic() < end, "the container outlived its deadline"
        time.sleep(0.2)


def test_what_a_killed_runner_leaves_is_swept_and_a_living_ones_is_not(
    engine: docker.DockerClient, base_image: str
) -> None:
    @asynccontextmanager
    async def two() -> AsyncIterator[tuple[str, str]]:
        async with open_container(
            engine, spec(base_image, labels={"fairtrial.owner": "elsewhere:1:1"})
        ) as mine:
            dead = (
                subprocess.run(
                    ["hostname"], capture_output=True, text=True, check=True
                ).stdout.strip()
                + ":999999999:1"
            )
            async with open_container(
                engine, spec(base_image, labels={"fairtrial.owner": dead})
            ) as orphan:
                yield mine.id, orphan.id

    async def main() -> None:
        async with two() as (mine, orphan):
            assert sweep(engine) >= 1
            left = {item["Id"] for item in engine.api.containers(all=True)}
            assert mine in left
            assert orphan not in left

    asyncio.run(main())


def test_both_arms_get_the_same_settings(
    engine: docker.DockerClient, base_image: str, secret_volume: str
) -> None:
    shell, server = (
        spec(base_image),
        spec(base_image, server_volume=secret_volume, private=(".index",)),
    )
    assert settings_digest(shell) == settings_digest(server)

    async def inspect(container: Container) -> Any:
        return engine.api.inspect_container(container.id)

    one, two = in_cell(engine, shell, inspect), in_cell(engine, server, inspect)
    for told in (one, two):
        told["HostConfig"]["Tmpfs"].pop("/workspace/.index", None)
        told["HostConfig"].pop("Mounts", None)
    assert one["HostConfig"] == two["HostConfig"]
    assert one["Config"]["Env"] == two["Config"]["Env"]
    assert settings_digest(spec(base_image, limits=Limits(memory_mb=512))) != settings_digest(shell)


def test_an_image_that_is_gone_is_a_fault_of_the_sandbox(engine: docker.DockerClient) -> None:
    with pytest.raises(SandboxError, match="cannot start the cell's container"):
        in_cell(
            engine,
            spec("sha256:" + "0" * 64),
            lambda container: container.shell("true", timeout_sec=1),
        )


def test_a_container_that_vanishes_is_a_fault_of_the_sandbox(
    engine: docker.DockerClient, base_image: str
) -> None:
    async def work(container: Container) -> None:
        await container.shell("true", timeout_sec=10)
        await asyncio.to_thread(engine.api.remove_container, container.id, force=True)
        await container.shell("true", timeout_sec=10)

    with pytest.raises(SandboxError):
        in_cell(engine, spec(base_image), work)


def test_a_container_is_removed_when_its_work_fails(
    engine: docker.DockerClient, base_image: str
) -> None:
    seen: list[str] = []

    async def work(container: Container) -> None:
        seen.append(container.id)
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        in_cell(engine, spec(base_image), work)
    with pytest.raises(APIError):
        engine.api.inspect_container(seen[0])
