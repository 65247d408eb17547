"""What a model calls the tools of several servers: `<server>__<tool>`, in what model APIs take.

A tool's name follows from its own server alone: whatever stands beside it, it is called the same.
The names are not taken apart again; a table says what each stands for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable

from runner.records import digest_of

LIMIT_CHARS = 64
"""Of a whole name, as the narrowest API takes it."""
SERVER_CHARS = 24
"""Of a server's part: a tool's own name needs the rest."""
MARK_CHARS = 8
SEPARATOR = "__"
_STRANGE = re.compile(r"[^A-Za-z0-9_-]")


def routed_names(server: str, tools: Collection[str]) -> dict[str, str]:
    """A server's own name of each tool -> what a model calls it, no two alike."""
    beginning = _server_part(server) + SEPARATOR
    room_chars = LIMIT_CHARS - len(beginning)
    plain = Counter(_plain(tool) for tool in tools)
    names = {}
    for tool in tools:
        short = _plain(tool)
        if plain[short] > 1 or len(short) > room_chars:
            short = _marked(short, tool, room_chars)
        names[tool] = beginning + short
    return names if len(set(names.values())) == len(names) else _all_marked(beginning, tools)


def _server_part(server: str) -> str:
    """No two servers' parts are alike, and none holds or ends in what separates them from tools."""
    plain = _plain(server)
    is_clear = SEPARATOR not in plain and not plain.endswith("_")
    if plain == server and is_clear and len(plain) <= SERVER_CHARS:
        return plain
    single = re.sub("_+", "_", plain).strip("_")
    return _marked(single, server, SERVER_CHARS)


def _plain(name: str) -> str:
    return _STRANGE.sub("_", name)


def _marked(short: str, whole: str, limit_chars: int) -> str:
    """Told apart by a digest of the whole name: `convert_1a2b3c4d`."""
    mark = digest_of(whole)[:MARK_CHARS]
    return f"{short[: limit_chars - MARK_CHARS - 1]}_{mark}"


def _all_marked(beginning: str, tools: Iterable[str]) -> dict[str, str]:
    # A server may call one tool as another one is called once it is marked.
    room_chars = LIMIT_CHARS - len(beginning)
    return {tool: beginning + digest_of(tool)[:room_chars] for tool in tools}
