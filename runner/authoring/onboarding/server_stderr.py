"""What a server said before it ended: its own lines, without those of its runtime."""

from __future__ import annotations

import re

from runner.support.text import first_line

_RUNTIME = re.compile(
    r"""
    ^\s*at\s .*                      # a frame of node's
    | ^\s+File\s".*                  # a frame of Python's
    | ^\S+",\sline\s\d+,\sin\s.*      # its end, where what is kept of the text begins
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
    | ^\s*(?:→|tries:)\s.*            # where node looked for a native part
    | ^\s{4,}\S.*                    # a line of source below a frame
    | ^The\sabove\sexception.*
    | ^During\shandling\sof.*
    """,
    re.VERBOSE,
)
_MARK = re.compile(r"^\s*[\^~]+\s*$")
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9])")
_SIDES = re.compile(r"[│┃║▌▐]")
_BORDER = re.compile(r"^\s*[╭╮╰╯┌┐└┘├┤┬┴┼╔╗╚╝╠╣─━═].*[─━═]{2}")
_USAGE = re.compile(r"^\s*usage\b", re.IGNORECASE)
_COMPLAINS = re.compile(
    r"^\W{0,3}(?:\w+: )?(?:error|fatal|missing|no such|unknown|unrecognized|unexpected|invalid)\b",
    re.IGNORECASE,
)
NO_START = frozenset(
    "stop status kill list stats clean clear reset remove delete uninstall login auth install "
    "help --help version --version".split()
)
"""Commands of a program that neither serve nor make what has to be there first."""
_HELP_LINES = 6
"""Of more than so many, a usage is its help, whose last lines say nothing of why it ended."""
LINES = 3
CHARS = 400


def without_terminal_codes(text: str) -> str:
    """Without colours, and without the boxes that are drawn around errors and lists of commands."""
    lines = [_SIDES.sub(" ", line).rstrip() for line in _ANSI.sub("", text).splitlines()]
    return "\n".join(line for line in lines if not _BORDER.match(line))


def own_words(stderr: str) -> str:
    """The last lines that say something, joined; empty if there is none."""
    lines = without_terminal_codes(stderr).splitlines()
    # A line of source stands above the mark that points into it.
    sources = {place for place, line in enumerate(lines[1:]) if _MARK.match(line)}
    said = [line for place, line in enumerate(lines) if place not in sources]
    kept = [line.strip() for line in said if not _RUNTIME.match(line)]
    if kept and kept[-1].endswith(":"):
        # `Could not locate the bindings file. Tried:` has its reason in what looks like a frame.
        kept.append(first_line("\n".join(lines).rpartition(kept[-1])[2]))
    kept = list(dict.fromkeys(filter(None, kept)))
    return " | ".join((_in_help(kept) or kept)[-LINES:])[-CHARS:]


def _in_help(lines: list[str]) -> list[str]:
    """What a help begins with, and what complains around it; none if it is no help."""
    usage = next((place for place, line in enumerate(lines) if _USAGE.match(line)), None)
    if usage is None or len(lines) - usage <= _HELP_LINES:
        return []
    complaints = [line for line in lines if _COMPLAINS.match(line)]
    return [lines[usage], *complaints[-LINES + 1 :]]
