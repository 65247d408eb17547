"""Shell commands of one user, run one after the other over one stream."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from runner.protocols import ShellResult
from runner.sandbox.stream import ExecStream, lines
from runner.support.errors import SandboxError
from runner.support.text import join_cut

ExecStarter = Callable[[], Awaitable[ExecStream]]
"""Starts a shell host in the cell."""

ExecEnd = Callable[[str | None], Awaitable[None]]
"""Raises SandboxError unless this exec, or with None any, ended by what was done in the cell."""
Stalled = Callable[[], Awaitable[None]]
"""Raises SandboxError unless engine and container are at work, and only the host is not."""

HOST_GRACE_SEC = 10.0
"""What the host gets beyond a command's own time-out before it counts as gone."""

# ValueError: a line without an end, or one that is no answer.
_HOST_FAILED = (ConnectionError, TimeoutError, ValueError)
_KILLED = "the shell was killed while this command ran"
_NO_SHELL = "no shell can be started: what was run before has used up the container"


@dataclass(frozen=True, kw_only=True)
class _Running:
    """A shell host that has been started."""

    stream: ExecStream
    answers: AsyncIterator[bytes]


class ShellHost:
    """Runs shell commands as one user over one stream.

    A command that kills the host is answered with an error, and the next command gets a fresh one:
    what an agent does to its own shell is the agent's result. A container that is gone, or an
    engine that drops the stream, is a fault of ours.
    """

    def __init__(self, start: ExecStarter, end: ExecEnd, stalled: Stalled) -> None:
        self._start = start
        self._end = end
        self._stalled = stalled
        self._running: _Running | None = None
        self._one_at_a_time = asyncio.Lock()
        self.restarts = 0

    async def run(self, command: str, *, timeout_sec: float, limit_chars: int) -> ShellResult:
        """Output past `limit_chars` loses its middle. Raises SandboxError as `ask` does."""
        request = {"command": command, "timeout_sec": timeout_sec, "limit_chars": limit_chars}
        started = time.monotonic()
        answer = await self.ask(request, timeout_sec + HOST_GRACE_SEC)
        # By our own clock: one in the cell is told by what runs in the cell.
        wall_sec = time.monotonic() - started
        if "error" in answer:
            return _failed(answer["error"], wall_sec)
        return _result(answer, limit_chars, wall_sec)

    async def ask(self, request: dict[str, Any], timeout_sec: float) -> dict[str, Any]:
        """The host's answer, or {"error": text} if the request killed it.

        Raises SandboxError if the container is gone or the engine has hung up.
        """
        async with self._one_at_a_time:
            try:
                return await self._exchange(request, timeout_sec)
            except (SandboxError, *_HOST_FAILED) as error:
                await self._blame(error)
            return {"error": await self._begin_anew()}

    async def _blame(self, error: Exception) -> None:
        """Raises SandboxError unless the host failed by what was done in the cell."""
        if isinstance(error, TimeoutError):
            # It may run, and say nothing: stopped by the agent, or kept from its turn by what the
            # agent began. Asked how it ended, the engine would be blamed for hanging up.
            await self._stalled()
        elif not isinstance(error, ValueError):
            await self._end(self._running.stream.exec_id if self._running else None)
        # Else it said what it never says: only a command of its own user can have made it.

    async def _begin_anew(self) -> str:
        """What the agent is told. Raises SandboxError as `ask` does."""
        await self.close()
        self.restarts += 1
        try:
            await self._exchange({"read": "/proc/self/status"}, HOST_GRACE_SEC)
        except (SandboxError, *_HOST_FAILED) as error:
            await self._blame(error)
            await self.close()
            return _NO_SHELL
        return _KILLED

    async def _exchange(self, request: dict[str, Any], timeout_sec: float) -> dict[str, Any]:
        # Not a count: who could write to the stream would know the next one.
        ticket = secrets.token_hex(16)
        message = json.dumps({"id": ticket, **request}) + "\n"
        async with asyncio.timeout(timeout_sec):
            host = await self._host()
            await host.stream.write(message.encode())
            line = await anext(host.answers, None)
        if line is None:
            raise ConnectionError("its process ended")
        answer = json.loads(line)
        if not isinstance(answer, dict) or answer.get("id") != ticket:
            raise ValueError("a line that is no answer")
        return answer

    async def _host(self) -> _Running:
        if self._running is None:
            stream = await self._start()
            self._running = _Running(stream=stream, answers=lines(stream.stdout()))
        return self._running

    async def close(self) -> None:
        if self._running is not None:
            await self._running.stream.close()
            self._running = None


def _result(answer: dict[str, Any], limit_chars: int, wall_sec: float) -> ShellResult:
    output, truncated = join_cut(answer["head"], answer["tail"], answer["size_chars"], limit_chars)
    return ShellResult(
        output=output,
        truncated=truncated,
        exit_code=answer["exit_code"],
        timed_out=answer["timed_out"],
        size_chars=answer["size_chars"],
        digest=answer["digest"],
        wall_sec=wall_sec,
    )


def _failed(error: str, wall_sec: float) -> ShellResult:
    return ShellResult(
        output=error,
        exit_code=-1,
        timed_out=False,
        size_chars=len(error),
        digest=hashlib.sha256(error.encode()).hexdigest(),
        truncated=False,
        wall_sec=wall_sec,
    )
