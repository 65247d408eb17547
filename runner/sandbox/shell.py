"""Shell commands of one user, run one after the other over one held stream."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from runner.errors import SandboxError
from runner.protocols import ShellResult
from runner.sandbox.stream import HeldStream, lines
from runner.text import join_cut

HOST_GRACE_SEC = 10.0


class ShellHost:
    """Runs shell commands as one user over one held stream.

    A command that kills it gets an error for an answer, and the next command a fresh host: what an agent does to its own shell is the
    agent's result. Only a cell that cannot start a fresh one is a fault of ours.
    """

    def __init__(self, start: Callable[[], Awaitable[HeldStream]]) -> None:
        self._start = start
        self._stream: HeldStream | None = None
        self._lines: AsyncIterator[bytes] = _nothing()
        self._ids = itertools.count(1)
        self._one_at_a_time = asyncio.Lock()
        self.restarts = 0

    async def ask(self, request: dict[str, Any], timeout_sec: float) -> dict[str, Any]:
        """The host's answer, or {"error": text}. Raises SandboxError where not even a fresh host answers."""
        async with self._one_at_a_time:
            try:
                async with asyncio.timeout(timeout_sec):
                    return await self._exchange(request)
            except (ConnectionError, TimeoutError, ValueError):
                await self.close()
                self.restarts += 1
            try:
                async with asyncio.timeout(HOST_GRACE_SEC):
                    await self._exchange({"read": "/proc/self/status"})
            except (ConnectionError, TimeoutError, ValueError) as error:
                raise SandboxError(
                    f"the cell's shell is gone: {error or 'no answer in time'}"
                ) from error
            return {"error": "the shell was killed while this command ran"}

    async def _exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._stream is None:
            self._stream = await self._start()
            self._lines = lines(self._stream.stdout())
        number = next(self._ids)
        await self._stream.write((json.dumps({"id": number, **request}) + "\n").encode())
        async for line in self._lines:
            answer: dict[str, Any] = json.loads(line)
            if answer["id"] == number:
                return answer
        raise ConnectionError("its process ended")

    async def run(self, command: str, *, timeout_sec: float, limit_chars: int) -> ShellResult:
        request = {"command": command, "timeout_sec": timeout_sec, "limit_chars": limit_chars}
        started = time.monotonic()
        answer = await self.ask(request, timeout_sec + HOST_GRACE_SEC)
        if "error" in answer:
            return _no_output(answer["error"], time.monotonic() - started)
        text, truncated = join_cut(
            answer["head"], answer["tail"], answer["size_chars"], limit_chars
        )
        return ShellResult(
            output=text,
            truncated=truncated,
            **{
                key: answer[key]
                for key in ("exit_code", "timed_out", "size_chars", "digest", "wall_sec")
            },
        )

    async def close(self) -> None:
        if self._stream is not None:
            await self._stream.close()
            self._stream = None


def _no_output(error: str, wall_sec: float) -> ShellResult:
    digest = hashlib.sha256(error.encode()).hexdigest()
    return ShellResult(
        output=error,
        exit_code=-1,
        timed_out=False,
        size_chars=len(error),
        digest=digest,
        truncated=False,
        wall_sec=wall_sec,
    )


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""
