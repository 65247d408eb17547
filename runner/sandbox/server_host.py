"""Runs inside the container, in front of the server's process: says on its stdout how that ended.

A stream that ends without that line was cut. The source is handed to `python3 -I -c`, so it stands
alone: standard library only, nothing imported from the project. Its arguments are a ticket, which
the line repeats, and the server's command.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
CANNOT_START = 127
HUNG_UP = 126
"""Also what the engine says of a process whose connection it has lost."""


def main() -> None:
    ticket, *command = sys.argv[1:]
    # The server has the same user, and could speak through our descriptors.
    if ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0):
        raise OSError("cannot close our channel to the server")
    pid = os.fork()
    if pid == 0:
        become(command)
    _, status = os.waitpid(pid, 0)
    params = {"ticket": ticket, "exit_code": os.waitstatus_to_exitcode(status)}
    line = json.dumps({"jsonrpc": "2.0", "method": "fairtrial/ended", "params": params})
    try:
        # The server may have ended in the middle of a line.
        os.write(sys.stdout.fileno(), f"\n{line}\n".encode())
    except OSError:
        os._exit(HUNG_UP)


def become(command: list[str]) -> None:
    # Without us nobody would say how it ended: whoever ends us ends it.
    if ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0):
        raise OSError("cannot tie the server's life to ours")
    # Python ignores it, and a program that relies on it would never end.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606 - running the server's command is the job
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.stderr.flush()
    os._exit(CANNOT_START)


if __name__ == "__main__":
    main()
