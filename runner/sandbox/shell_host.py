"""Runs inside the container, on its own Python: one shell command per request.

A command's deadline and its output's bounds are enforced here. The source is handed to
`python3 -I -c`, so it stands alone: standard library only, nothing imported from the project.
A request is one JSON line {"id", "command", "timeout_sec", "limit_chars"} or {"id", "read": path};
the answer is one JSON line. With the argument `alone`, no other process of its user outlives a
command.
"""

from __future__ import annotations

import codecs
import contextlib
import ctypes
import hashlib
import json
import os
import selectors
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

DRAIN_SEC = 0.2
FLUSH_SEC = 2.0
"""What a stopped command gets to write what it holds back."""
CHUNK_BYTES = 65536
READ_CHARS = 65536
MOST_HELD_BYTES = 65536
"""More than a pipe takes at once is not passed on."""
STDOUT = "_IO_2_1_stdout_"
STREAM = struct.Struct("=I4x3q2q")
"""How C's library lays out a stream: flags, three places for reading, and from where to where it
holds text back. Programs are compiled against it, so it stays as it is."""
STREAM_FLAGS = 0xFBAD
PR_SET_DUMPABLE = 4
HUNG_UP = 126
FIRST_VICTIM = 'echo 1000 >/proc/self/oom_score_adj; exec bash -lc "$1"'
"""Should the container run out of memory, it is a command of the agent's that has to go."""


class Output:
    """The head and tail of a stream of any size, with the size and digest of all of it."""

    def __init__(self, limit_chars: int) -> None:
        self.limit_chars = limit_chars
        self.head = ""
        self.tail = ""
        self.size_chars = 0
        self.digest = hashlib.sha256()
        # Incremental: else a character whose bytes come in two chunks would be lost.
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes, final: bool = False) -> None:
        self.digest.update(data)
        text = self.decoder.decode(data, final)
        self.size_chars += len(text)
        room = self.limit_chars - len(self.head)
        self.head += text[:room]
        rest = text[room:]
        if rest:
            self.tail = (self.tail + rest)[-self.limit_chars :]


def answer(request: dict[str, Any], *, alone: bool) -> dict[str, Any]:
    try:
        if "read" in request:
            return {"text": read(request["read"])}
        command, timeout_sec = request["command"], request["timeout_sec"]
        return run(command, timeout_sec, request["limit_chars"], alone=alone)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return {"error": f"{type(error).__name__}: {error}"}


def read(path: str) -> str:
    # pathlib would cost each cell's start the time of its import.
    with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - see above
        return file.read(READ_CHARS)


def run(command: str, timeout_sec: float, limit_chars: int, *, alone: bool) -> dict[str, Any]:
    deadline = time.monotonic() + timeout_sec
    output = Output(limit_chars)
    process = start(command)
    timed_out = collect(process, output, deadline)
    # Background children too: one that stayed would slow down, or see, the commands after it.
    end_rest(process, alone=alone)
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
    }


def start(command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - running the agent's command is the job
        ["sh", "-c", FIRST_VICTIM, "sh", command],  # noqa: S607 - the base image's own
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env=environment(),
    )


def environment() -> dict[str, str]:
    """The container's own settings, and nothing of how its commands are run."""
    own = {key: value for key, value in os.environ.items() if key != "PYTHONHOME"}
    # Python holds back what it prints into a pipe, and a script stopped at its deadline would
    # seem to have printed nothing.
    return {**own, "PYTHONUNBUFFERED": "1"}


def collect(process: subprocess.Popen[bytes], output: Output, deadline: float) -> bool:
    """Read until the command ends; True if the deadline came first.

    Children that keep the pipe open after their command ended do not hold it up.
    """
    assert process.stdout is not None  # noqa: S101 - Popen was given a pipe
    pipe = process.stdout.fileno()
    os.set_blocking(pipe, False)
    ended = os.pidfd_open(process.pid)
    try:
        whole = read_to_end(pipe, output, deadline, ended)
    finally:
        os.close(ended)
    if whole or process.poll() is not None:
        return False
    flush(process.pid, pipe, output)
    return True


def flush(session: int, pipe: int, output: Output) -> None:
    """End what feeds a stopped command's filters, and read what those then write.

    `grep … | sort | tail`: only at its input's end does `sort` write. Killed together with `grep`,
    it would take along all that was found.
    """
    deadline = time.monotonic() + FLUSH_SEC
    for pid in members(session):
        with contextlib.suppress(OSError):
            if not is_filter(pid):
                end_one(pid, deadline)
    if read_to_end(pipe, output, deadline):
        return
    # Left: what reads from a pipe still, or does not mind the signal.
    deadline = time.monotonic() + DRAIN_SEC
    for pid in members(session):
        with contextlib.suppress(OSError):
            pass_on_held(pid, deadline)
            os.kill(pid, signal.SIGKILL)
    read_to_end(pipe, output, deadline)


def end_one(pid: int, deadline: float) -> None:
    """Raises OSError if it is gone."""
    if dies_of_sigterm(pid):
        pass_on_held(pid, deadline)
    # Else it may write by itself what it holds back, and that would be there twice.
    os.kill(pid, signal.SIGTERM)
    os.kill(pid, signal.SIGCONT)


def dies_of_sigterm(pid: int) -> bool:
    """It neither blocks, ignores nor catches it. Raises OSError if it is gone."""
    lines = read(f"/proc/{pid}/status").splitlines()
    masks = [line.split()[1] for line in lines if line.startswith(("SigBlk", "SigIgn", "SigCgt"))]
    return not any(int(mask, 16) >> (signal.SIGTERM - 1) & 1 for mask in masks)


def pass_on_held(pid: int, deadline: float) -> None:
    """Stop a process, and write into its pipe what C's library holds back for it.

    Raises OSError if it is gone, or closed to us.
    """
    # `grep`, `awk` and `find` write into a pipe by 4 KB. Told to write line by line (`stdbuf -oL`),
    # they would take three times as long where there is much, and see how they are run.
    held = held_back(pid) if is_stopped(pid, deadline) else b""
    place = f"/proc/{pid}/fd/1"
    if held and os.readlink(place).startswith("pipe:"):  # noqa: PTH115 - as in `read`
        # Who reads a full pipe may be stopped too: nobody waits for it.
        pipe = os.open(place, os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(pipe, held)
        finally:
            os.close(pipe)


def is_stopped(pid: int, deadline: float) -> bool:
    """Stop it; False if the deadline came first. Raises OSError if it is gone."""
    os.kill(pid, signal.SIGSTOP)
    while time.monotonic() < deadline:
        state = read(f"/proc/{pid}/stat").rpartition(") ")[2][:1]
        if state in "TtZX":
            return state in "Tt"
        time.sleep(0.001)
    return False


def held_back(pid: int) -> bytes:
    """What a stopped process has printed through C's library, and the library has not written.

    Empty for a program without that library. Raises OSError if it is gone, or closed to us.
    """
    library, place = stdout_in_library()
    loaded = beginning(pid, library)
    if not loaded:
        return b""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:  # noqa: PTH123 - as in `read`
        stream = os.pread(memory.fileno(), STREAM.size, loaded + place)
        flags, *_, start, end = STREAM.unpack(stream.ljust(STREAM.size, b"\0"))
        known = flags >> 16 == STREAM_FLAGS and 0 < end - start <= MOST_HELD_BYTES
        # Stopped in the middle of writing it: the pipe may have it already.
        if not known or hex(start) in read(f"/proc/{pid}/syscall").split():
            return b""
        return os.pread(memory.fileno(), end - start, start)


def stdout_in_library() -> tuple[str, int]:
    """The file of C's library, and how far behind its beginning `stdout` lies in memory."""
    own = ctypes.addressof(ctypes.c_char.in_dll(ctypes.CDLL(None), STDOUT))
    library = next(it[5] for it in mapped(os.getpid()) if it[5].endswith("/libc.so.6"))
    return library, own - beginning(os.getpid(), library)


def beginning(pid: int, library: str) -> int:
    """Where a process has a library in its memory; 0 if nowhere. Raises OSError if it is gone."""
    found = (it[0].partition("-")[0] for it in mapped(pid) if it[5] == library)
    return int(next(found, "0"), 16)


def mapped(pid: int) -> Iterator[list[str]]:
    """Of each file in a process's memory six words, its place first and its path last."""
    # Of a large process it is longer than what `read` takes.
    with open(f"/proc/{pid}/maps", "rb") as file:  # noqa: PTH123 - as in `read`
        for line in file:
            words = line.decode(errors="replace").split()
            if len(words) == 6:
                yield words


def members(session: int) -> list[int]:
    """Of the session: its shell first, which must not begin its next command."""
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - as in `read`
        with contextlib.suppress(OSError):
            if name.isdigit() and os.getsid(int(name)) == session:
                found.append(int(name))
    return sorted(found, key=lambda pid: (pid != session, pid))


def is_filter(pid: int) -> bool:
    """It reads from a pipe. Raises OSError if it is gone, or closed to us."""
    return os.readlink(f"/proc/{pid}/fd/0").startswith("pipe:")  # noqa: PTH115 - as in `read`


def read_to_end(pipe: int, output: Output, deadline: float, ended: int | None = None) -> bool:
    """Read until the pipe is closed and `ended` is ready; False if the deadline came first."""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        if ended is not None:
            selector.register(ended, selectors.EVENT_READ)
        while selector.get_map():
            left_sec = deadline - time.monotonic()
            if left_sec <= 0:
                return False
            ready = [key.fd for key, _ in selector.select(left_sec)]
            if pipe in ready and not read_chunk(pipe, output):
                selector.unregister(pipe)
            if ended in ready:
                selector.unregister(ended)
                # E.g. `server &`: the child has the pipe, and without this much shorter deadline
                # every such command would last until its time-out.
                deadline = min(deadline, time.monotonic() + DRAIN_SEC)
    return True


def read_chunk(pipe: int, output: Output) -> bool:
    """False at the pipe's end."""
    data = os.read(pipe, CHUNK_BYTES)
    output.feed(data)
    return bool(data)


def end_rest(process: subprocess.Popen[bytes], *, alone: bool) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if alone:
        end_all_others()


def end_all_others() -> None:
    """Of this user, and in this container: it may signal no others."""
    # A job in a session of its own is in no group that we know of.
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)


def close_to_its_own_user() -> None:
    """Let no other process open our descriptors or memory, though its user be ours.

    Raises OSError if the kernel refuses.
    """
    # Commands run as the same user. Through /proc/$PPID/fd/1 one could answer in our place, before
    # its work was done.
    if ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0):
        raise OSError("cannot close the shell's channel to its own commands")


def main() -> None:
    alone = sys.argv[1:] == ["alone"]
    close_to_its_own_user()
    if alone:
        # What outlived an earlier host could have opened our channel before it was closed.
        end_all_others()
    for line in sys.stdin:
        request = json.loads(line)
        said = {"id": request["id"], **answer(request, alone=alone)}
        try:
            sys.stdout.write(json.dumps(said) + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            # The engine has hung up. Any other code would be taken for a command's doing.
            os._exit(HUNG_UP)


if __name__ == "__main__":
    main()
