"""The places a text cites, as the checklist judge reads them: paths as written, with lines.

A judge has no list of files. Whether a place exists is citation grounding's business.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A path as written, lower-case, and its lines."""

    path: str
    start: int
    end: int


_NUMBERS = r"\d{1,7}(?:\s*(?:-|–|—|\.\.|to)\s*l?\d{1,7})?"
_TOKEN = re.compile(
    # Only where a word begins: tried at each letter, a long word without a suffix would cost the square of its length.
    r"(?P<path>(?<![\w@+~.\-/\\\[\]$])(?:[\w@+~.\-/\\\[\]$]*[\w\]]\.[a-z][\w+]{0,9}"
    r"|[\w.\-/\\]*(?:makefile|dockerfile|justfile))(?![\w/]))"
    rf"(?P<suffix>:{_NUMBERS}|\#l{_NUMBERS})?"
    rf"|(?P<bare>(?<![\w:.\])]):{_NUMBERS}(?![\w:.]*\w))"
    rf"|(?P<line>(?:\b|(?<=_))(?:lines?|l\.|l(?=\d))\W{{0,4}}{_NUMBERS}(?!\w))"
    rf"|(?P<number>(?<=\w )\({_NUMBERS}(?=[,)]))"
    rf"|(?P<more>(?<=\d)\s*(?:,|and|&)\s*:?l?{_NUMBERS}(?=\s*(?:[,)\]`;]|and\b|&|$)))",
)
_OF_A_FILE = re.compile(r"\W{0,3}\s(?:of|in)\s+(?=\S*[./])")


def places_in(text: str, path: str | None) -> tuple[tuple[Place, ...], str | None]:
    """The places a plain text cites, and the file it named last. `path`: the file a bare line number belongs to.

    A bare number belongs to the file named before it; `line 42 of a.py`, and a number with no file before it, to the next one. A number
    alone in brackets, `name (42)`, is a line only where a file is known.
    """
    found: dict[Place, None] = {}
    waiting: list[tuple[int, int]] = []
    named, cited = path, False
    for match in _TOKEN.finditer(text):
        if match["path"]:
            named = _clean_path(match["path"])
            lines = [_interval(match["suffix"])] if match["suffix"] else []
            found.update(dict.fromkeys(Place(named, *pair) for pair in waiting + lines))
            waiting, cited = [], bool(lines)
        elif (match["more"] and not cited) or (match["number"] and not named):
            continue
        elif named is None or _OF_A_FILE.match(text, match.end()):
            waiting.append(_interval(match[0]))
        else:
            found[Place(named, *_interval(match[0]))] = None
            cited = True
    return tuple(found), named


def _clean_path(written: str) -> str:
    """`[a/b.py` is a path in a bracket; in `app/[id]/page.tsx` the brackets belong to it."""
    return (
        (written if "]" in written else written.lstrip("[")).replace("\\", "/").removeprefix("./")
    )


def _interval(written: str) -> tuple[int, int]:
    numbers = [int(number) for number in re.findall(r"\d+", written)]
    return numbers[0], max(numbers)
