"""What a server said before it ended: its own lines, without those of its runtime."""

from __future__ import annotations

import re

_RUNTIME = re.compile(
    r"""
    ^\s*at\s .*                      # a frame of node's
    | ^\s+File\s".*                  # a frame of Python's
    | ^Traceback\s.*
    | ^Node\.js\sv\d.*
    | ^node:.*
    | ^file:///.*
    | ^npm\s.*
    | ^\s*[\^~]+\s*$
    | ^\s*throw\s.*
    | ^\s*[{}\]\[(),;]*\s*$
    | ^\s*(?:code|requireStack|url|errno|syscall):.*
    | ^/\S+:\d+$
    | ^\s{4,}\S.*                    # a line of source below a frame
    | ^The\sabove\sexception.*
    | ^During\shandling\sof.*
    """,
    re.VERBOSE,
)
LINES = 3
CHARS = 400


def own_words(stderr: str) -> str:
    """The last lines that say something, joined; empty if there is none."""
    kept = [line.strip() for line in stderr.splitlines() if not _RUNTIME.match(line)]
    kept = list(dict.fromkeys(filter(None, kept)))
    return " | ".join(kept[-LINES:])[-CHARS:]
