"""Runs inside a cell: a server over a copy of the repository, whose paths are the repository's.

`python3 own_copy.py COMMAND…` starts the command in `$HOME/copy`. What comes in over stdin names
that folder where it named /workspace, and what goes out names /workspace again: nobody outside can
tell the copy from the repository, which stays as it is. On the standard library alone.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

THERE = b"/workspace"


def told(text: bytes, given: bytes, instead: bytes) -> bytes:
    """The same, with one folder named for the other; `/workspaces` and `x/workspace` are others."""
    # A JSON may write its slashes with a backslash.
    pattern = rb"(?<![\w.\\-])" + re.escape(given).replace(rb"/", rb"\\?/") + rb"(?![\w.-])"
    return re.sub(pattern, lambda _: instead, text)


def main(command: Sequence[str]) -> int:
    """How the command ends."""
    here = os.fsencode(Path.home() / "copy")

    def inside(word: str) -> str:
        return os.fsdecode(told(os.fsencode(word), THERE, here))

    child = subprocess.Popen(  # noqa: S603 - running it is the job
        list(map(inside, command)),
        cwd=here,
        env={name: inside(value) for name, value in os.environ.items()},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdin is not None and child.stdout is not None  # noqa: S101 - pipes were asked for

    def forward() -> None:
        assert child.stdin is not None  # noqa: S101 - see above
        try:
            for line in sys.stdin.buffer:
                child.stdin.write(told(line, THERE, here))
                child.stdin.flush()
            child.stdin.close()
        except OSError:
            # It has ended, and how is said below.
            return

    threading.Thread(target=forward, daemon=True).start()
    for line in child.stdout:
        sys.stdout.buffer.write(told(line, here, THERE))
        sys.stdout.buffer.flush()
    return child.wait()


if __name__ == "__main__":
    # The thread may wait for stdin: ending the usual way, Python would abort over that.
    os._exit(main(sys.argv[1:]))
