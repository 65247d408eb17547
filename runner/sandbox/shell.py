"""Shell commands of one user, run one after the other over one stream."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from runner.errors import SandboxError
from runner.protocols import ShellResult
from runner.sandbox.stream import ExecStream, lines
from runner.text import join_cut

ExecStarter = Callable[[], Awaitable[ExecStream]]
"""Starts a shell host in the cell."""

HOST_GRACE_SEC = 10.0
"""What the host gets beyond a command's own time-out before it counts as gone."""

# ValueError: a line without an end, or one that is no JSON. A command can cause both by writing
# to its host's stdout (/proc/$PPID/fd/1).
_HOST_FAILED = (ConnectionError, TimeoutError, ValueError)


@dataclass(frozen=True, kw_only=True)
class _Running:
    """A shell host that has been started."""

    stream: ExecStream
    answers: AsyncIterator[bytes]


class ShellHost:
    """Runs shell commands as one user over one stream.

    A command that kills the host is answered with an error, and the next command gets a fresh one:
    what an agent does to its own shell is the agent's result. Only a cell in which no fresh host
    can be started is a fault of ours.
    """

    def __init__(self, start: ExecStarter) -> None:
        self._start = start
        self._running: _Running | None = None
        self._ids = itertools.count(1)
        self._one_at_a_time = asyncio.Lock()
        self.restarts = 0

    async def run(self, command: str, *, timeout_sec: float, limit_chars: int) -> ShellResult:
        """Output past `limit_chars` loses its middle. Raises SandboxError as `ask` does."""
        request = {"command": command, "timeout_sec": timeout_sec, "limit_chars": limit_chars}
        started = time.monotonic()
        answer = await self.ask(request, timeout_sec + HOST_GRACE_SEC)
        if "error" in answer:
            return _failed(answer["error"], time.monotonic() - started)
        return _result(answer, limit_chars)

    async def ask(self, request: dict[str, Any], timeout_sec: float) -> dict[str, Any]:
        """The host's answer, or {"error": text} if the request killed it.

        Raises SandboxError if not even a fresh host answers.
        """
        async with self._one_at_a_time:
            try:
                return await self._exchange(request, timeout_sec)
            except _HOST_FAILED:
                await self.close()
                self.restarts += 1
            await self._require_fresh_host()
            return {"error": "the shell was killed while this command ran"}

    async def _require_fresh_host(self) -> None:
        try:
            await self._exchange({"read": "/proc/self/status"}, HOST_GRACE_SEC)
        except _HOST_FAILED as error:
            reason = str(error) or "no answer in time"
            raise SandboxError(f"the cell's shell is gone: {reason}") from error

    async def _exchange(self, request: dict[str, Any], timeout_sec: float) -> dict[str, Any]:
        number = next(self._ids)
        message = json.dumps({"id": number, **request}) + "\n"
        async with asyncio.timeout(timeout_sec):
            host = await self._host()
            await host.stream.write(message.encode())
            async for line in host.answers:
                answer: dict[str, Any] = json.loads(line)
                # A line with another number is none of the host's: a command wrote it there.
                if answer["id"] == number:
                    return answer
            raise ConnectionError("its process ended")

    async def _host(self) -> _Running:
        if self._running is None:
            stream = await self._start()
            self._running = _Running(stream=stream, answers=lines(stream.stdout()))
        return self._running

    async def close(self) -> None:
        if self._running is not None:
            await self._running.stream.close()
            self._running = None


def _result(answer: dict[str, Any], limit_chars: int) -> ShellResult:
    output, truncated = join_cut(answer["head"], answer["tail"], answer["size_chars"], limit_chars)
    return ShellResult(
        output=output,
        truncated=truncated,
        exit_code=answer["exit_code"],
        timed_out=answer["timed_out"],
        size_chars=answer["size_chars"],
        digest=answer["digest"],
        wall_sec=answer["wall_sec"],
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
