"""How a process in a cell ended, and whose doing that was. See docs/outcomes.md.

A stream that ends says nothing of the cause: a crash, a killed container and an engine that drops
its connections look the same from outside. So the engine and the cell are asked.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from runner.support.errors import OutOfMemory, SandboxError

SETTLE_SEC = 5.0
"""How long the engine's own record may lag behind what happened."""
POLL_SEC = 0.1
ENGINE_SEC = 30.0
AGENT_SHARE = 0.5
"""Of the cell's memory. Held by the agent, a server's death for want of memory is the agent's."""
_SIGNALLED = 128
_KILLED = 137
HUNG_UP = 126
"""Said by the engine of a process whose connection it has lost; our programs say the same."""
_HUNG_UP = "the engine dropped the connection to a process in the cell"


@dataclass(frozen=True, kw_only=True)
class MemoryUse:
    """What the cell's kernel and file systems say of its memory."""

    kills: int
    """Processes that the kernel ended for want of memory."""
    at_limit: bool
    """Did the container come to its own limit?"""
    held_bytes: int
    """By the agent: its processes, and its files in memory."""


class Inspected(Protocol):
    """What a container is asked to tell how a process in it ended."""

    @property
    def memory_limit_mb(self) -> int: ...

    async def state(self) -> str:
        """`running`, `paused`, `removing` and so on, in the engine's words."""

    async def exit_code(self, exec_id: str) -> int | None:
        """None while the process runs. Raises SandboxError if the engine does not know it."""

    async def memory_use(self) -> str:
        """MemoryUse as JSON. Raises SandboxError if no process can be started to look."""


async def require_at_work(container: Inspected) -> None:
    """Raises SandboxError if engine or container stand still: then silence is nobody's fault."""
    try:
        async with asyncio.timeout(ENGINE_SEC):
            state = await container.state()
    except TimeoutError as error:
        raise SandboxError(f"the engine does not answer in {ENGINE_SEC:g} s") from error
    if state != "running":
        raise SandboxError(f"the cell's container is {state}")


async def shell_end(container: Inspected, exec_id: str | None) -> None:
    """Raises SandboxError unless a shell ended by what was done in the cell.

    With no exec, unless it was the cell that let none start.
    """
    await _memory_use(container)
    # It ends by itself when its input or output is closed, and commands can do neither.
    if exec_id is not None and await _exit_code(container, exec_id) in {0, HUNG_UP}:
        raise SandboxError(_HUNG_UP)


async def server_end(container: Inspected, exec_id: str, exit_code: int | None) -> str:
    """How the server's process ended, in words. `exit_code` is what server_host.py said, if it did.

    Raises SandboxError if that was a fault of ours, OutOfMemory if the agent's.
    """
    memory = await _memory_use(container)
    if exit_code is None:
        exit_code = await _exit_code(container, exec_id)
        # It says how the server ended, or that it could not. Only a signal keeps it from both, and
        # that it gets from the server's user alone.
        if exit_code <= _SIGNALLED:
            raise SandboxError(_HUNG_UP)
    if memory is None or not memory.kills:
        return ended_with(exit_code)
    if not memory.at_limit:
        raise SandboxError(
            "the engine's machine ran out of memory and ended a process in the cell",
            hint="fewer --jobs, or a smaller memory_mb than the machine has",
        )
    limit_mb = container.memory_limit_mb
    held_mb = memory.held_bytes / 1024**2
    if held_mb > AGENT_SHARE * limit_mb:
        held = f"the agent held {held_mb:.0f} of the cell's {limit_mb} MB of memory"
        raise OutOfMemory(f"{held}, and the server was ended for want of it")
    return f"out of memory: the cell has {limit_mb} MB, of which the agent held {held_mb:.0f}"


async def program_end(container: Inspected, exec_id: str) -> int:
    """What an agent's program ended with.

    Raises SandboxError if the cell or the engine is to blame, OutOfMemory if it took all memory.
    """
    memory = await _memory_use(container)
    exit_code = await _exit_code(container, exec_id)
    if memory is not None and memory.kills and exit_code == _KILLED:
        if not memory.at_limit:
            raise SandboxError("the engine's machine ran out of memory in the agent's program")
        limit_mb = container.memory_limit_mb
        raise OutOfMemory(f"the agent's program was ended for want of memory: {limit_mb} MB")
    return exit_code


def ended_with(exit_code: int) -> str:
    """In words. Below zero, or above 128, it was a signal."""
    if exit_code < 0:
        return f"its process was ended by signal {-exit_code}"
    if exit_code > _SIGNALLED:
        return f"its process was ended by signal {exit_code - _SIGNALLED}"
    return f"its process ended with {exit_code}"


async def _memory_use(container: Inspected) -> MemoryUse | None:
    """None if the cell takes no process more. Raises SandboxError if it is gone.

    A process in it is the proof that it lives: the engine calls a dying container running.
    """
    try:
        return MemoryUse(**json.loads(await container.memory_use()))
    # ValueError: ended before it printed, as all do in a dying container.
    except (SandboxError, ValueError) as error:
        await _require_living(container, error)
        return None


async def _require_living(container: Inspected, cause: Exception) -> None:
    """Raises SandboxError if the container is gone, or going."""
    for _ in _until_settled():
        state = await container.state()
        if state != "running":
            raise SandboxError(f"the cell's container is gone ({state})") from cause
        await asyncio.sleep(POLL_SEC)


async def _exit_code(container: Inspected, exec_id: str) -> int:
    """Raises SandboxError if the process still runs: then it was the engine that hung up."""
    for _ in _until_settled():
        exit_code = await container.exit_code(exec_id)
        if exit_code is not None:
            return exit_code
        await asyncio.sleep(POLL_SEC)
    raise SandboxError(_HUNG_UP)


def _until_settled() -> Iterator[None]:
    deadline = time.monotonic() + SETTLE_SEC
    while time.monotonic() < deadline:
        yield
