"""How a README's lines of a shell start a server."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from runner.authoring.onboarding.command_words import (
    SECRET,
    behind_the_program,
    is_path,
    once,
    variables_in,
    with_workspace,
)

CommandAndEnv = tuple[tuple[str, ...], dict[str, str]]
"""What stands behind the program, and its environment."""
_RUNNERS = frozenset(
    "npx bunx uvx uv pipx node python python3 bun deno claude codex gemini".split()
)
_SERVING = frozenset("mcp serve server start stdio start-mcp-server".split())
_NOT_HERE = re.compile(r"[|<>;&`$]|--(?:help|version|port|host)\b|\b(?:sse|https?|install)\b")
"""In a line of a shell: another program beside it, or a way that is not spoken over stdin."""
_MOST_LINES = 3


def shown_in_shell(readme: str, names: Sequence[str]) -> Iterator[CommandAndEnv]:
    """`uvx NAME --root /path`, `FOLDER=/path NAME serve`: lines of a shell that start it."""
    found: list[CommandAndEnv] = []
    for line in readme.replace("\\\n", " ").splitlines():
        way = _in_shell(line.strip().removeprefix("$ "), names) if len(line) < 400 else None
        if way is not None and way not in found:
            found.append(way)
    yield from found[:_MOST_LINES]


def named_in(readme: str, names: Sequence[str]) -> list[tuple[str, ...]]:
    """`NAME mcp` anywhere in its words: what may stand behind the program."""
    programs = "|".join(re.escape(name) for name in names)
    found = re.findall(rf"(?<![\w/-])(?:{programs}) (mcp(?: serve| start)?|serve)(?![\w-])", readme)
    return [tuple(words.split()) for words in dict.fromkeys(found)][:2]


def _in_shell(line: str, names: Sequence[str]) -> CommandAndEnv | None:
    """None if it starts nothing, or starts it bare."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return None
    is_set = [re.match(r"[A-Z][A-Z0-9_]*=", word) is not None for word in words]
    first = is_set.index(False) if False in is_set else len(words)
    args = behind_the_program(words[first:], names)
    if args is None or not _is_started(words[first:], args) or _NOT_HERE.search(" ".join(args)):
        return None
    env = dict(_places_in(dict(word.split("=", 1) for word in words[:first])))
    said = [word for word in args if not re.fullmatch(r"\[.*\]|\.\.\.", word)]
    return (once(map(with_workspace, said)), env) if said or env else None


def _is_started(words: Sequence[str], args: Sequence[str]) -> bool:
    """By its name or by what runs packages, to serve: `NAME search "x"` answers and ends."""
    program = words[: len(words) - len(args)]
    by = [word for word in program[:-1] if not word.startswith("-")]
    first = args[0] if args else ""
    serves = not first or first in _SERVING or first.startswith("-") or is_path(first)
    return serves and (not by or by[0] in _RUNNERS)


def _places_in(env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """With our folder where one of the author's own is named, and no file of the author's."""
    for name, value in env.items():
        if name in variables_in(name):
            yield name, "{workspace}"
        elif re.search(r"\.(?:db|sqlite3?|json)$", value):
            yield name, f"{{state}}/{value.rpartition('/')[2]}"
        elif not SECRET.search(name) and not is_path(value):
            yield name, value
