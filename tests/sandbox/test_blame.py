"""Whose fault it was that a process in a cell ended: the server's, the agent's, or ours."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from runner.protocols import ShellResult
from runner.records import Limits
from runner.sandbox.container import Container, ContainerSpec, open_container
from runner.sandbox.engine import Engine
from runner.sandbox.session import ServerSession, open_session
from runner.sandbox.stream import StderrFile
from runner.sandbox.transport import ServerLog
from runner.support.errors import OutOfMemory, SandboxError, ServerError
from tests.helpers import PATIENCE_SEC
from tests.sandbox.cut_engine import cut_engine

pytestmark = pytest.mark.docker
SOURCE = (Path(__file__).parent / "mcp_server.py.txt").read_text(encoding="utf-8")
SMALL = Limits(memory_mb=256, tmp_mb=192, state_mb=16, result_chars=1000)


@asynccontextmanager
async def cell(engine: Engine, image: str) -> AsyncIterator[Container]:
    spec = ContainerSpec(image=image, limits=SMALL, deadline_sec=PATIENCE_SEC)
    async with open_container(engine, spec) as container:
        yield container


@asynccontextmanager
async def cell_with_server(
    engine: Engine, image: str, mode: str = "good"
) -> AsyncIterator[tuple[Container, ServerSession, ServerLog]]:
    log = ServerLog(stderr=StderrFile(None))
    async with (
        cell(engine, image) as container,
        open_session(
            container,
            ["python3", "-c", SOURCE, mode],
            {},
            log,
            initialize_timeout_sec=PATIENCE_SEC,
        ) as session,
    ):
        yield container, session, log


async def call(session: ServerSession, tool: str) -> str:
    return (await session.call(tool, {"text": "here"}, timeout_sec=PATIENCE_SEC)).text


async def run(container: Container, command: str, timeout_sec: float = PATIENCE_SEC) -> ShellResult:
    return await container.shell(command, timeout_sec=timeout_sec)


Harm = Callable[[Engine, Container, ServerLog], object]


def kill_container(engine: Engine, container: Container, _: ServerLog) -> None:
    engine.api.kill(container.id)


def remove_container(engine: Engine, container: Container, _: ServerLog) -> None:
    engine.api.remove_container(container.id, force=True)


def kill_first_process(engine: Engine, container: Container, _: ServerLog) -> None:
    os.kill(engine.api.inspect_container(container.id)["State"]["Pid"], signal.SIGKILL)


def kill_server(engine: Engine, _: Container, log: ServerLog) -> None:
    os.kill(engine.api.exec_inspect(log.exec_id)["Pid"], signal.SIGKILL)


def harm_in_a_call(engine: Engine, image: str, harm: Harm) -> None:
    """Do it while the server works on a call."""

    async def main() -> None:
        async with cell_with_server(engine, image) as (container, session, log):
            work = asyncio.create_task(call(session, "hang"))
            await asyncio.sleep(0.1)
            await asyncio.to_thread(harm, engine, container, log)
            await work

    asyncio.run(main())


# --- a server's stream ends ---------------------------------------------------------------------


@pytest.mark.parametrize("harm", [kill_container, remove_container, kill_first_process])
def test_a_container_that_is_killed_is_no_crash_of_its_server(
    engine: Engine, base_image: str, harm: Harm
) -> None:
    with pytest.raises(SandboxError, match="container is gone"):
        harm_in_a_call(engine, base_image, harm)


def test_a_server_whose_process_is_killed_has_crashed(engine: Engine, base_image: str) -> None:
    with pytest.raises(ServerError, match="ended by signal 9"):
        harm_in_a_call(engine, base_image, kill_server)


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("die", r"ended while it answered die .*ended with 3.*the index is corrupt"),
        # It ends what speaks for it.
        ("orphan", "ended by signal 9"),
        ("grow", "out of memory: the cell has 256 MB"),
    ],
)
def test_a_server_that_ends_has_crashed_and_it_is_said_how(
    engine: Engine, base_image: str, tool: str, said: str
) -> None:
    async def main() -> None:
        async with cell_with_server(engine, base_image) as (_, session, _log):
            await call(session, tool)

    with pytest.raises(ServerError, match=said):
        asyncio.run(main())


# One never answers, one answers into the cut connection, one is cut between two calls.
@pytest.mark.parametrize("tool", ["hang", "late", "echo"])
def test_an_engine_that_hangs_up_is_no_crash_of_the_server(
    engine: Engine, base_image: str, tmp_path: Path, tool: str
) -> None:
    async def main(proxied: Engine, cut: Callable[[], int]) -> None:
        async with cell_with_server(proxied, base_image) as (_, session, _log):
            work = asyncio.create_task(call(session, tool))
            await asyncio.sleep(0.3)
            assert await asyncio.to_thread(cut)
            await work
            await asyncio.sleep(0.5)
            await call(session, "echo")

    with (
        cut_engine(engine, tmp_path) as (proxy, through),
        pytest.raises(SandboxError, match="dropped the connection"),
    ):
        asyncio.run(main(through, proxy.cut))


def test_a_container_that_stands_still_is_no_server_that_does_not_answer(
    engine: Engine, base_image: str
) -> None:
    async def main() -> None:
        async with cell_with_server(engine, base_image) as (container, session, _):
            await asyncio.to_thread(engine.api.pause, container.id)
            try:
                await session.call("echo", {"text": "x"}, timeout_sec=1)
            finally:
                await asyncio.to_thread(engine.api.unpause, container.id)

    with pytest.raises(SandboxError, match="paused"):
        asyncio.run(main())


def test_a_server_that_closes_its_output_and_goes_on_answers_nothing(
    engine: Engine, base_image: str
) -> None:
    async def main() -> str:
        async with cell_with_server(engine, base_image, "closes") as (_, session, _log):
            result = await session.call("echo", {"text": "x"}, timeout_sec=1)
            assert result.is_error
            return result.text

    assert asyncio.run(main()) == "echo gave no answer in 1 s"


# --- out of memory ------------------------------------------------------------------------------


def test_a_command_that_takes_all_memory_ends_alone(engine: Engine, base_image: str) -> None:
    async def main() -> tuple[ShellResult, str, int]:
        async with cell_with_server(engine, base_image) as (container, session, _):
            eater = await run(container, "python3 -c 'x = bytearray(10**9)'; echo $?")
            return eater, await call(session, "echo"), container.shell_restarts

    eater, said, restarts = asyncio.run(main())
    assert (eater.output.strip().splitlines()[-1:], said, restarts) in [
        (["137"], "here", 0),
        # The kernel may end bash with its child.
        ([], "here", 0),
    ]


def test_a_server_that_dies_for_want_of_what_the_agent_holds_has_not_crashed(
    engine: Engine, base_image: str
) -> None:
    async def main() -> None:
        async with cell_with_server(engine, base_image) as (container, session, _):
            filled = await run(container, "head -c 180M /dev/zero > ~/x; stat -c %s ~/x")
            assert filled.output == f"{180 * 1024**2}\n"
            await call(session, "grow")

    with pytest.raises(OutOfMemory, match=r"the agent held 1[89]\d of the cell's 256 MB"):
        asyncio.run(main())


# --- the agent's shell --------------------------------------------------------------------------


# While the command runs, when it ends, and when it has ended: the shell finds out in another way.
@pytest.mark.parametrize("seconds", [30, 0.6, 0])
def test_an_engine_that_hangs_up_on_the_shell_is_no_doing_of_the_agents(
    engine: Engine, base_image: str, tmp_path: Path, seconds: float
) -> None:
    async def main(proxied: Engine, cut: Callable[[], int]) -> None:
        async with cell(proxied, base_image) as container:
            await run(container, "true")
            work = asyncio.create_task(run(container, f"sleep {seconds}"))
            await asyncio.sleep(0.5)
            assert await asyncio.to_thread(cut)
            await work
            await run(container, "true")

    with (
        cut_engine(engine, tmp_path) as (proxy, through),
        pytest.raises(SandboxError, match="dropped the connection"),
    ):
        asyncio.run(main(through, proxy.cut))


FORGED = '{"id": 1, "head": "", "tail": "", "size_chars": 0, "digest": "", "exit_code": 0}'


@pytest.mark.parametrize("written", [FORGED, '{"id":1}', "{}", "[]", "null", "garbage"])
def test_a_command_cannot_answer_in_its_shells_place(
    engine: Engine, base_image: str, written: str
) -> None:
    command = f"echo '{written}' > /proc/$PPID/fd/1; sleep 2; echo done"

    async def main() -> ShellResult:
        async with cell(engine, base_image) as container:
            return await run(container, command)

    result = asyncio.run(main())
    assert "Permission denied" in result.output
    assert result.output.endswith("done\n")
    assert result.wall_sec > 2, "it was charged less than it took"


def test_seconds_are_counted_outside_the_cell(engine: Engine, base_image: str) -> None:
    # Stopped, the shell cannot say how long it took, and its command goes on.
    async def main() -> tuple[ShellResult, ShellResult]:
        async with cell(engine, base_image) as container:
            stopping = "kill -STOP $PPID; sleep 2; kill -CONT $PPID"
            return await run(container, stopping), await run(container, "echo on")

    stopped, after = asyncio.run(main())
    assert stopped.wall_sec > 2
    assert after.output == "on\n"


@pytest.mark.parametrize("job", ["sleep 4444", "setsid sleep 4444", "setsid nohup sleep 4444"])
def test_a_background_job_ends_with_its_call(engine: Engine, base_image: str, job: str) -> None:
    async def main() -> tuple[ShellResult, ShellResult]:
        async with cell(engine, base_image) as container:
            begun = await run(container, f"{job} >/dev/null 2>&1 & sleep 0.3; pgrep -c sleep")
            return begun, await run(container, "pgrep -f 'sleep 444[4]'")

    begun, left = asyncio.run(main())
    assert begun.output.strip() != "0", "it never began"
    assert left.output == ""


def test_the_server_outlives_what_ends_the_agents_jobs(engine: Engine, base_image: str) -> None:
    async def main() -> str:
        async with cell_with_server(engine, base_image) as (container, session, _):
            await run(container, "setsid sleep 4444 & true")
            await run(container, "kill -9 $PPID")
            await run(container, "true")
            return await call(session, "echo")

    assert asyncio.run(main()) == "here"


NO_SHELL = "no shell can be started: what was run before has used up the container"
LOST = {"the shell was killed while this command ran", NO_SHELL}


def test_an_agent_that_leaves_a_killer_behind_has_no_shell_and_keeps_its_cell(
    engine: Engine, base_image: str
) -> None:
    killer = "setsid bash -c 'while :; do kill -9 -1; done' >/dev/null 2>&1 & kill -9 $PPID"

    async def main() -> set[str]:
        async with cell(engine, base_image) as container:
            first = await run(container, killer)
            return {first.output, (await run(container, "echo on")).output}

    assert asyncio.run(main()) <= {*LOST, "on\n"}


def test_an_agent_that_stops_every_shell_has_none_and_keeps_its_cell(
    engine: Engine, base_image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As on a busy machine: the shell that is begun anew is there, and says nothing in time.
    monkeypatch.setattr("runner.sandbox.shell.HOST_GRACE_SEC", 2.0)

    async def stopped(stops: str) -> tuple[set[str], str]:
        stop = f"sleep 1; while :; do {stops}; done"
        command = f"setsid bash -c '{stop}' >/dev/null 2>&1 & sleep 600"
        log = ServerLog(stderr=StderrFile(None))
        async with cell(engine, base_image) as container:
            argv = ["python3", "-c", SOURCE, "good"]
            patience = {"initialize_timeout_sec": PATIENCE_SEC}
            async with open_session(container, argv, {}, log, **patience) as session:
                outputs = {
                    (await run(container, it, timeout_sec=4)).output for it in (command, "true")
                }
                said = await call(session, "echo")
            # The engine hears that the server has ended, and waits with the container in its hand.
            await asyncio.sleep(1)
            return outputs, said

    async def main() -> list[tuple[set[str], str]]:
        every = ("pkill -STOP -x shell-python", "kill -STOP -1")
        return await asyncio.gather(*map(stopped, every))

    begun = time.monotonic()
    for outputs, said in asyncio.run(main()):
        # A shell that is begun anew may be there for a moment, until it is stopped as well.
        assert NO_SHELL in outputs and outputs <= {NO_SHELL, "", *LOST}
        assert said == "here", "the server is another user's, and goes on"
    # An engine that waits for a stopped process keeps the container until its deadline.
    assert time.monotonic() - begun < PATIENCE_SEC / 2


def test_an_agent_gets_its_shell_back_from_a_fork_bomb(engine: Engine, base_image: str) -> None:
    bomb = "setsid bash -c 'b() { b | b & }; b' >/dev/null 2>&1 & kill -9 $PPID"

    async def main() -> tuple[str, str]:
        async with cell(engine, base_image) as container:
            first = await run(container, bomb)
            after = await run(container, "echo on")
            while after.output != "on\n":  # the cell's deadline ends a wait in vain
                after = await run(container, "echo on")
            return first.output, after.output

    first, after = asyncio.run(main())
    assert first in LOST
    assert after == "on\n"


def test_every_way_to_end_a_shell_is_told_from_an_engine_that_fails(
    engine: Engine, base_image: str
) -> None:
    ends: list[Callable[[Container], Awaitable[object]]] = [
        lambda container: run(container, "kill -9 $PPID"),
        lambda container: run(container, "kill -9 -1"),
        lambda container: run(container, "kill -STOP $PPID", 1),
        lambda container: run(container, "kill -STOP -1", 1),
        lambda container: run(container, "setsid bash -c 'kill -STOP -1' & sleep 9", 1),
    ]

    async def ended(end: Callable[[Container], Awaitable[object]]) -> list[str]:
        async with cell(engine, base_image) as container:
            await end(container)
            await run(container, "kill -9 $PPID")
            return [(await run(container, "echo on")).output, str(container.shell_restarts)]

    # Beside one another: what is stopped is waited for in vain.
    async def main() -> list[list[str]]:
        return await asyncio.gather(*map(ended, ends))

    assert asyncio.run(main()) == [["on\n", "2"]] * len(ends)
