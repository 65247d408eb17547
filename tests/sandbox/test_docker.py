"""The cell's container, on the real engine."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import re
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError, NotFound

from runner.protocols import ShellResult
from runner.records import Limits
from runner.sandbox.container import Container, ContainerSpec, open_container, settings_digest
from runner.sandbox.engine import Engine
from runner.sandbox.shell_host import held_back, is_stopped
from runner.sandbox.stream import lines
from runner.support.errors import SandboxError
from runner.support.text import cut
from tests.helpers import PATIENCE_SEC

pytestmark = pytest.mark.docker
SMALL = Limits(memory_mb=256, tmp_mb=16, state_mb=16, result_chars=1000)
PROCESSES = "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"
Run = Callable[..., ShellResult]


def spec(image: str, **changes: Any) -> ContainerSpec:
    known = {"limits": SMALL, "deadline_sec": PATIENCE_SEC}
    return ContainerSpec(image=image, **{**known, **changes})


def in_cell(
    engine: Engine,
    given: ContainerSpec,
    work: Callable[[Container], Coroutine[Any, Any, Any]],
) -> Any:
    async def main() -> Any:
        async with open_container(engine, given) as container:
            return await work(container)

    return asyncio.run(main())


@pytest.fixture
def run(engine: Engine, base_image: str) -> Run:
    """Run one command in a fresh cell."""

    def once(command: str, *, user: str = "agent", **changes: Any) -> ShellResult:
        async def work(container: Container) -> ShellResult:
            return await container.shell(command, timeout_sec=PATIENCE_SEC, user=user)

        result = in_cell(engine, spec(base_image, **changes), work)
        assert isinstance(result, ShellResult)
        return result

    return once


@pytest.fixture
def secret_volume(engine: Engine, base_image: str) -> Iterator[str]:
    """A server volume: a file that only the server may read."""
    volume = engine.volumes.create(labels={"fairtrial": "test"})
    script = (
        "echo secret > /opt/server/start.sh && "
        "chown -R 10002:10002 /opt/server && chmod 0700 /opt/server"
    )
    engine.containers.run(
        base_image,
        ["sh", "-c", script],
        user="0",
        volumes={volume.name: {"bind": "/opt/server", "mode": "rw"}},
        remove=True,
        network_mode="none",
        labels={"fairtrial": "test"},
    )
    yield volume.name
    volume.remove(force=True)


def test_a_cell_has_no_network(run: Run) -> None:
    connecting = "import socket; socket.create_connection(('192.0.2.1', 80), 2)"
    result = run(f'cat /proc/net/dev | tail -n +3 | cut -d: -f1; python3 -c "{connecting}"')
    assert result.output.splitlines()[0].strip() == "lo"
    assert "Network is unreachable" in result.output


def test_a_cell_has_no_capabilities_and_cannot_gain_any(run: Run) -> None:
    lines = run("grep -E '^(Cap|NoNew|Seccomp:)' /proc/self/status").output.splitlines()
    status = dict(line.split(":\t", 1) for line in lines)
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
    as_server = run("cat /opt/server/start.sh", user="server", server_volume=secret_volume)
    assert as_server.output == "secret\n"


def test_the_server_cannot_change_its_own_install(run: Run, secret_volume: str) -> None:
    writing = "echo more >> /opt/server/start.sh"
    as_server = run(writing, user="server", server_volume=secret_volume)
    assert "Read-only file system" in as_server.output


def test_the_agent_cannot_look_into_a_server_process(engine: Engine, base_image: str) -> None:
    async def work(container: Container) -> tuple[str, str]:
        witness = ["sh", "-c", "echo begun; exec sleep 3600"]
        stream = await container.exec_stream(witness, user="server", env={"TOKEN": "hidden"})
        # An exec is granted before its process runs: too early a look would find nothing to hide.
        assert await anext(lines(stream.stdout())) == b"begun"
        looking = (
            "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/environ; ls $p/fd $p/cwd/ $p/root/opt; "
            "done 2>/dev/null; echo looked"
        )
        shown = await container.shell(looking, timeout_sec=PATIENCE_SEC)
        # A command of its own: it ends the agent's shell too, and what that one had printed.
        await container.shell("kill -9 -1", timeout_sec=PATIENCE_SEC)
        alive = await container.shell(PROCESSES, timeout_sec=PATIENCE_SEC, user="server")
        return shown.output, alive.output

    shown, alive = in_cell(engine, spec(base_image), work)
    assert shown.endswith("looked\n")
    assert "hidden" not in shown
    assert "sleep 3600" in alive


def test_the_shell_arm_holds_nothing_of_another_arm(run: Run) -> None:
    counted = run("find /opt/server /var/lib/server -mindepth 1 | wc -l", user="server")
    assert counted.output == "0\n"


def test_a_private_directory_is_the_servers_alone(run: Run) -> None:
    writing = "touch /workspace/.index/db && echo yes"
    assert run(writing, user="server", private=(".index",)).output == "yes\n"
    assert "Permission denied" in run("ls /workspace/.index", private=(".index",)).output


STOPPED = {
    "echo begun; sleep 3333": "begun\n",
    "(echo b; echo a; sleep 3333) | sort | tail -n 5": "a\nb\n",
    "(echo b; echo a; sleep 3333) | sort; echo next": "a\nb\n",
    "for x in b a; do echo $x; sleep 2222; done | cat | sort": "b\n",
    "echo a | xargs -I{} sh -c 'echo {}; sleep 3333' 2>/dev/null | sort -r": "a\n",
    "timeout 3000 sh -c 'echo a; sleep 3333' | wc -l": "1\n",
    """python3 -c 'import time; print("a"); time.sleep(3333)'""": "a\n",
    "trap '' TERM; echo a; while true; do sleep 1; done": "a\n",
}
"""Command -> what it has printed when it is stopped."""
Stopped = tuple[ShellResult, str]
"""What a command printed, and which processes are left."""


@pytest.fixture(scope="module")
def stopped(engine: Engine, base_image: str) -> dict[str, Stopped]:
    """Each in a cell of its own, beside one another: they only wait to be stopped."""

    async def one(command: str) -> Stopped:
        async with open_container(engine, spec(base_image)) as container:
            slow = await container.shell(command, timeout_sec=6)
            return slow, (await container.shell(PROCESSES, timeout_sec=PATIENCE_SEC)).output

    async def main() -> list[Stopped]:
        return await asyncio.gather(*map(one, STOPPED))

    return dict(zip(STOPPED, asyncio.run(main()), strict=True))


@pytest.mark.parametrize("command", STOPPED)
def test_what_a_stopped_command_had_found_is_kept_also_behind_a_filter(
    stopped: dict[str, Stopped], command: str
) -> None:
    slow, processes = stopped[command]
    assert (slow.output, slow.timed_out) == (STOPPED[command], True)
    assert "3333" not in processes and "2222" not in processes


WRITES_AT_ITS_END = """
import ctypes, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
ctypes.CDLL(None).puts(b"by itself")
time.sleep(3333)
"""
HOLDS_BACK = f"""
mkfifo /tmp/silent
grep -o ^agent /etc/passwd /tmp/silent &
grep -o ^server /etc/passwd /tmp/silent | grep -v nobody &
awk 'BEGIN {{print "awk"; while (1) {{}}}}' &
find /etc/passwd -print -exec sleep 3333 ';' &
env -u PYTHONUNBUFFERED python3 -c '{WRITES_AT_ITS_END}' &
(trap '' TERM; awk 'BEGIN {{print "unmoved"; while (1) {{}}}}') &
echo nobody | while read x; do grep -o ^$x /etc/passwd /tmp/silent; done &
wait
"""


def test_what_a_stopped_program_held_back_is_kept_once(engine: Engine, base_image: str) -> None:
    async def work(container: Container) -> tuple[ShellResult, ShellResult]:
        slow = await container.shell(HOLDS_BACK, timeout_sec=6)
        return slow, await container.shell(PROCESSES, timeout_sec=PATIENCE_SEC)

    slow, processes = in_cell(engine, spec(base_image), work)
    found = [f"/etc/passwd:{user}" for user in ("agent", "nobody", "server")]
    assert sorted(slow.output.splitlines()) == [
        "/etc/passwd",
        *found,
        "awk",
        "by itself",
        "unmoved",
    ]
    assert slow.timed_out
    assert not re.search("3333|awk|grep", processes.output)


def test_what_a_program_is_stopped_writing_is_not_taken_for_held_back() -> None:
    # Nobody reads: it waits in the call with a text that the pipe has none, some or all of.
    flood = "import ctypes; c = ctypes.CDLL(None)\nwhile True: c.puts(b'x' * 99)"
    # Of the environment nothing: PYTHONUNBUFFERED would have C's library hold nothing back.
    argv = [sys.executable, "-c", flood]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env={}) as writing:
        state = Path(f"/proc/{writing.pid}/stat")
        try:
            while waiting_bytes(writing) < 60_000 or " S " not in state.read_text():
                time.sleep(0.01)
            assert is_stopped(writing.pid, time.monotonic() + PATIENCE_SEC)
            assert held_back(writing.pid) == b""
        finally:
            writing.kill()


def waiting_bytes(writing: subprocess.Popen[bytes]) -> int:
    """In its pipe."""
    assert writing.stdout
    return int.from_bytes(fcntl.ioctl(writing.stdout, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_an_agent_that_kills_its_shell_gets_an_error_and_a_fresh_shell(
    engine: Engine, base_image: str
) -> None:
    async def work(container: Container) -> tuple[ShellResult, ShellResult, int]:
        killed = await container.shell("kill -9 $PPID", timeout_sec=PATIENCE_SEC)
        after = await container.shell("echo on", timeout_sec=PATIENCE_SEC)
        return killed, after, container.shell_restarts

    killed, after, restarts = in_cell(engine, spec(base_image), work)
    assert (killed.output, killed.exit_code) == ("the shell was killed while this command ran", -1)
    assert (after.output, restarts) == ("on\n", 1)


TRACER = """
import ctypes, os, sys, time
trace = ctypes.CDLL(None, use_errno=True).ptrace
log, end = open("/tmp/traced", "w", 1), time.time() + 8
while time.time() < end:
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) in (1, os.getpid(), int(sys.argv[1])):
            continue
        try:
            said = open(f"/proc/{name}/cmdline").read().split("\\0")
        except OSError:
            continue
        if said[-2:-1] != ["alone"]:
            continue
        if trace(0x4206, int(name), 0, 0) == 0:  # PTRACE_SEIZE
            print("TRACED", name, file=log)
            sys.exit()
        print("refused", name, file=log)
"""
"""Left running by a command, it waits for the next shell's host, and takes it over."""


def test_what_a_command_left_running_cannot_take_over_the_shell_that_comes_after(
    engine: Engine, base_image: str
) -> None:
    """The cheat: an agent that writes what it will read, with the transcript as its evidence."""
    takes_over = (
        f"cat > /tmp/t.py <<'END'\n{TRACER}\nEND\n"
        "setsid python3 /tmp/t.py $PPID >/dev/null 2>&1 & sleep 1; kill -9 $PPID; sleep 3"
    )

    async def work(container: Container) -> tuple[ShellResult, ShellResult]:
        for _ in range(5):
            await container.shell(takes_over, timeout_sec=PATIENCE_SEC)
            traced = await container.shell("cat /tmp/traced", timeout_sec=PATIENCE_SEC)
            # On a busy machine it may be ended before it has looked.
            if traced.output:
                break
        return traced, (await container.shell(PROCESSES, timeout_sec=PATIENCE_SEC))

    traced, processes = in_cell(engine, spec(base_image), work)
    assert "refused" in traced.output, "the new host was never tried"
    assert "TRACED" not in traced.output
    assert "t.py" not in processes.output


def test_a_fork_bomb_leaves_its_shell_alive_and_ends_with_the_cell(
    engine: Engine, base_image: str
) -> None:
    small = Limits(memory_mb=256, pids=32, result_chars=1000)
    ids: list[str] = []

    async def work(container: Container) -> int:
        bomb = "b() { b | b & }; b 2>/dev/null; sleep 2"
        await container.shell(bomb, timeout_sec=PATIENCE_SEC)
        # The killed go on dying for a moment, and leave no room for another command's processes.
        # The cell's deadline ends a wait in vain.
        while (await container.shell("echo on", timeout_sec=PATIENCE_SEC)).output != "on\n":
            await asyncio.sleep(0.05)
        ids.append(container.id)
        return container.shell_restarts

    assert in_cell(engine, spec(base_image, limits=small), work) == 0, "the host was given up"
    with pytest.raises(NotFound):
        engine.api.inspect_container(ids[0])


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
    engine: Engine, base_image: str
) -> None:
    requests: list[str] = []

    def note(response: Any, *_: Any, **__: Any) -> None:
        requests.append(f"{response.request.method} {response.request.path_url}")

    async def work(container: Container) -> None:
        for _ in range(20):
            assert (await container.shell("true", timeout_sec=PATIENCE_SEC)).exit_code == 0

    engine.api.hooks["response"].append(note)
    try:
        in_cell(engine, spec(base_image), work)
    finally:
        engine.api.hooks["response"].remove(note)
    # The fifth, the exec's start, does not pass through the SDK.
    made = [request.split("?")[0].rsplit("/", 1)[-1] for request in requests[:3]]
    assert made == ["create", "start", "exec"]
    assert requests[3].startswith("DELETE")
    # Its main process has ended, and the engine may be removing it already: that is waited for.
    assert all("/wait?" in request for request in requests[4:])
    assert len(requests) <= 5


RUNNER = """
import asyncio, sys
from runner.records import Limits
from runner.sandbox.container import ContainerSpec, open_container
from runner.sandbox.engine import connect
async def main():
    # Another machine's, by its label: other runs' sweeps on this engine leave it alone.
    labels = {"fairtrial.owner": "elsewhere:1:1"}
    spec = ContainerSpec(image=sys.argv[1], limits=Limits(), deadline_sec=3, labels=labels)
    async with open_container(connect(), spec) as container:
        print(container.id, flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


def test_a_container_ends_itself_when_its_runner_is_gone(engine: Engine, base_image: str) -> None:
    since = int(time.time())
    argv = [sys.executable, "-c", RUNNER, base_image]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        container = process.stdout.readline().strip()
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    endings = endings_of(engine, container, since)
    assert set(endings) == {"die", "destroy"}, "the container outlived its deadline"
    # `timeout` ended it: one that a runner ends has 0, one that it removes 137.
    assert endings["die"] == "124"


def endings_of(engine: Engine, container: str, since: int) -> dict[str, str]:
    """How a container ended and was removed, from the engine's own record: event -> exit code.

    The record is replayed, so nothing is missed on a busy machine.
    """
    endings: dict[str, str] = {}
    events = engine.api.events(
        since=since,
        until=int(time.time()) + PATIENCE_SEC,
        filters={"container": container, "event": ["die", "destroy"]},
        decode=True,
    )
    for event in events:
        endings[event["Action"]] = event["Actor"]["Attributes"].get("exitCode", "")
        if event["Action"] == "destroy":
            break
    events.close()
    return endings


def test_both_arms_get_the_same_settings(
    engine: Engine, base_image: str, secret_volume: str
) -> None:
    shell = spec(base_image)
    server = spec(base_image, server_volume=secret_volume, private=(".index",))
    assert settings_digest(shell) == settings_digest(server)

    async def inspect(container: Container) -> Any:
        return engine.api.inspect_container(container.id)

    one = in_cell(engine, shell, inspect)
    two = in_cell(engine, server, inspect)
    for container in (one, two):
        container["HostConfig"]["Tmpfs"].pop("/workspace/.index", None)
        container["HostConfig"].pop("Mounts", None)
    assert one["HostConfig"] == two["HostConfig"]
    assert one["Config"]["Env"] == two["Config"]["Env"]
    assert settings_digest(spec(base_image, limits=Limits(memory_mb=512))) != settings_digest(shell)


def test_an_image_that_is_gone_is_a_fault_of_the_sandbox(engine: Engine) -> None:
    with pytest.raises(SandboxError, match="cannot start the cell's container"):
        in_cell(
            engine,
            spec("sha256:" + "0" * 64),
            lambda container: container.shell("true", timeout_sec=PATIENCE_SEC),
        )


def test_a_container_that_vanishes_is_a_fault_of_the_sandbox(
    engine: Engine, base_image: str
) -> None:
    async def work(container: Container) -> None:
        await container.shell("true", timeout_sec=PATIENCE_SEC)
        await asyncio.to_thread(engine.api.remove_container, container.id, force=True)
        await container.shell("true", timeout_sec=PATIENCE_SEC)

    with pytest.raises(SandboxError):
        in_cell(engine, spec(base_image), work)


def test_a_container_is_removed_when_its_work_fails(engine: Engine, base_image: str) -> None:
    ids: list[str] = []

    async def work(container: Container) -> None:
        ids.append(container.id)
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        in_cell(engine, spec(base_image), work)
    with pytest.raises(APIError):
        engine.api.inspect_container(ids[0])
