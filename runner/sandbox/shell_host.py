"""Runs inside the container, on its own Python: one shell command per request, its deadline and its output's bounds enforced here.

Its source is handed to `python3 -I -c`, so it stands alone: standard library only, nothing imported from the project.
A request is one JSON line {"id", "command", "timeout_sec", "limit_chars"} or {"id", "read": path}; the answer is one JSON line.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from typing import Any

DRAIN_SEC = 0.2
CHUNK_BYTES = 65536


class Output:
    """The head and tail of a stream of any size, with the size and digest of all of it."""

    def __init__(self, limit_chars: int) -> None:
        self.keep_chars = limit_chars
        self.head, self.tail, self.size_chars = "", "", 0
        self.digest = hashlib.sha256()
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes, final: bool = False) -> None:
        self.digest.update(data)
        text = self.decoder.decode(data, final)
        self.size_chars += len(text)
        room = self.keep_chars - len(self.head)
        self.head += text[:room]
        self.tail = (self.tail + text[room:])[-self.keep_chars :] if len(text) > room else self.tail


def environment() -> dict[str, str]:
    """What the agent's commands see: the container's own settings and nothing of how they are run."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONHOME"}


def kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def collect(process: subprocess.Popen[bytes], output: Output, deadline: float) -> bool:
    """Read until the command ends; True when the deadline came first. Children that keep the pipe open do not hold us up."""
    assert process.stdout is not None  # noqa: S101 - Popen was given a pipe
    pipe, ended = process.stdout.fileno(), os.pidfd_open(process.pid)
    os.set_blocking(pipe, False)
    selector = selectors.DefaultSelector()
    selector.register(pipe, selectors.EVENT_READ)
    selector.register(ended, selectors.EVENT_READ)
    timed_out = over = False
    try:
        while not over:
            now = time.monotonic()
            if now >= deadline:
                timed_out = not finished(process)
                break
            ready = [key.fd for key, _ in selector.select(deadline - now)]
            if pipe in ready:
                data = os.read(pipe, CHUNK_BYTES)
                output.feed(data)
                if not data:
                    selector.unregister(pipe)
                    over = ended not in selector.get_map()
            if ended in ready:
                selector.unregister(ended)
                over = pipe not in selector.get_map()
                deadline = min(deadline, time.monotonic() + DRAIN_SEC)
    finally:
        selector.close()
        os.close(ended)
    return timed_out


def finished(process: subprocess.Popen[bytes]) -> bool:
    return process.poll() is not None


def run(command: str, timeout_sec: float, limit_chars: int) -> dict[str, Any]:
    started = time.monotonic()
    output = Output(limit_chars)
    process = subprocess.Popen(  # noqa: S603 - running the agent's command is the job
        ["bash", "-lc", command],  # noqa: S607 - the base image's own bash
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env=environment(),
    )
    timed_out = collect(process, output, started + timeout_sec)
    kill_group(process)
    process.wait()
    output.feed(b"", final=True)
    if process.stdout is not None:
        process.stdout.close()
    return {
        "head": output.head,
        "tail": output.tail,
        "size_chars": output.size_chars,
        "digest": output.digest.hexdigest(),
        "exit_code": process.returncode,
        "timed_out": timed_out,
        "wall_sec": time.monotonic() - started,
    }


def answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        if "read" in request:
            with open(request["read"], encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - pathlib costs start-up time here
                return {"text": file.read(65536)}
        return run(request["command"], request["timeout_sec"], request["limit_chars"])
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        sys.stdout.write(json.dumps({"id": request["id"], **answer(request)}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
