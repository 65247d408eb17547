"""The tool calls that the offline navigator makes, and those of the shell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

BODY_LINES = 45
"""Lines of a definition that are read, from its first."""


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """A tool call to make."""

    tool: str
    arguments: dict[str, Any]
    kind: Literal["shell", "find", "read", "explore"] = "shell"
    """Of the server's: to find a name, to read a file, or to see what the tool gives."""
    name: str = ""
    """What the server is asked to find, or is read about."""
    path: str = ""
    """Of the file that is read; the shell reads what is needed of it as well."""
    use: str = ""
    """Which of the server's uses it is."""
    way: int = 0
    """Which of that use's sets of arguments these are."""
    roots: Mapping[str, str] = field(default_factory=dict)
    """What was known of how the server calls the repository when they were made."""

    @property
    def on_server(self) -> bool:
        return self.kind != "shell"

    @property
    def key(self) -> str:
        """The same for equal calls."""
        return json.dumps([self.tool, self.arguments], sort_keys=True)


# --- the shell ------------------------------------------------------------------------------

_RG = "rg -n --no-heading --sort path"
_KEYWORDS = (
    "def|class|func|fn|function|interface|type|struct|enum|trait|const|let|var|static|impl|#define"
)


def grep(name: str) -> Lookup:
    return _shell(f"{_RG} -w -m 12 --max-columns 180 -e {_quoted(name)} . | head -n 80")


def grep_definition(name: str) -> Lookup:
    """Lines that may define a name: behind a keyword, or a C function's head."""
    pattern = rf"\b({_KEYWORDS})\b[^=;]{{0,60}}\b{name}\b|^[A-Za-z_][\w \*]*\b{name}\s*\("
    return _shell(f"{_RG} -m 5 --max-columns 180 -e {_quoted(pattern)} . | head -n 30")


def grep_tests(name: str) -> Lookup:
    tests = "-g '*test*' -g '**/test*/**'"
    return _shell(f"{_RG} -w -m 6 --max-columns 180 {tests} -e {_quoted(name)} . | head -n 60")


def read_body(path: str, line: int) -> Lookup:
    """The lines of a definition, each with its place, so that they are read as findings."""
    first, last = max(1, line - 2), line + BODY_LINES
    script = f'FNR>={first} && FNR<={last} {{print FILENAME":"FNR":"$0}}'
    return _shell(f"awk {_quoted(script)} {_quoted(path)}")


def _shell(command: str) -> Lookup:
    return Lookup(tool="shell", arguments={"command": command})


def _quoted(text: str) -> str:
    # A prompt's `x'; rm -rf .` is a name to look for, never a command.
    return "'" + text.replace("'", "'\\''") + "'"
