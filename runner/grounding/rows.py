"""Rows of a tool's result: lines of files, each with the text that stands there.

Prose cites places (inline.py). A tool prints rows: grep's `a.py:12:text`, numbered lines below a
file's name, JSON objects with a file and a line. There is no list of files to check them against.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from runner.grounding.commit_files import SANDBOX_ROOT

T = TypeVar("T")

MAX_TEXT_CHARS = 200


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of a file, as a tool shows it."""

    path: str
    """As the tool writes it, but relative to the repository's root."""
    line: int
    text: str


def rows_in(text: str) -> list[Row]:
    """Every located line of a result, in order and without repeats."""
    try:
        rows = list(_json_rows(json.loads(text), ""))
    except (ValueError, RecursionError):
        rows = list(_text_rows(text))
    return list(dict.fromkeys(row for row in rows if row.line > 0))


def _relative(path: str) -> str:
    return path.removeprefix("file://").removeprefix(f"{SANDBOX_ROOT}/").removeprefix("./")


def _shown(text: str) -> str:
    # A minified file is one line of a megabyte.
    return text[:MAX_TEXT_CHARS]


# --- text -----------------------------------------------------------------------------------

_NAME = r"[\w@.+\-]+"
_PATH = rf"(?:{_NAME}/)*{_NAME}\.[A-Za-z][A-Za-z0-9]{{0,7}}"
_PLACE = rf"""
    (?P<path>/?{_PATH})
    [:\#]L?(?P<line>\d{{1,9}})(?!\d)   # a.py:12  a.py#L12
    (?:[:\-]\d+)?                    # a.py:12:8, a column; a.py:12-20, a last line
    (?:[:\-](?P<text>[^\n]*))?       # a.py:12:def f():
"""
_HERE = re.compile(_PLACE, re.VERBOSE)
# Nowhere inside a path: tried from each of its characters, a line of nothing else would take
# quadratic time.
_LOCATED = re.compile(rf"(?<![\w@.+\-])(?<![\w@.+\-]/){_PLACE}", re.VERBOSE)
_NAMES_FILE = re.compile(
    rf"""
    (?:^|[\s"'`(\[:*\#])             # ## src/a.py
    (?P<path>
        /?(?:{_NAME}/)+{_NAME}\.[A-Za-z]\w{{0,7}}
        | {_PATH}
    )
    (?=$|[\s"'`)\],:*(])             # a.py: 3 matches
    """,
    re.VERBOSE,
)
_NUMBERED = re.compile(
    r"""
    ^\s*
    (?:[Ll]ine\s+|L)?                # Line 12
    (?P<line>\d{1,6})
    (?:\s*[:|│→\t]|,?\ column|\s{2,})  # 12: x = 1   12 | x = 1
    (?P<text>.*)$
    """,
    re.VERBOSE,
)


def _text_rows(text: str, path: str = "") -> Iterator[Row]:
    """`path`: the file that numbered lines belong to, until the text names another."""
    for line in text.splitlines():
        located = list(_located_rows(line))
        yield from located
        if located:
            continue
        numbered = _NUMBERED.match(line)
        if numbered and path:
            yield Row(path=path, line=int(numbered["line"]), text=_shown(numbered["text"]))
        elif named := _NAMES_FILE.search(line):
            path = _relative(named["path"])


def _located_rows(line: str) -> Iterator[Row]:
    for match in _places(line):
        # A place without text of its own, as in a list of callers: the line around it says why.
        text = (match["text"] or line).strip("\r")
        yield Row(path=_relative(match["path"]), line=int(match["line"]), text=_shown(text))


def _places(line: str) -> Iterator[re.Match[str]]:
    """Every place of a line; the next may begin where one ends (`a.py:12b.py:3`)."""
    match = _LOCATED.search(line)
    while match:
        yield match
        match = _HERE.match(line, match.end()) or _LOCATED.search(line, match.end())


# --- JSON -----------------------------------------------------------------------------------

_FILE_KEYS = (
    "file",
    "path",
    "file_path",
    "filepath",
    "relative_path",
    "relativePath",
    "uri",
    "filename",
)
_LINE_KEYS = (
    "line",
    "start_line",
    "startLine",
    "line_number",
    "lineNumber",
    "lineno",
    "row",
    "start",
)
_TEXT_KEYS = ("text", "content", "snippet", "signature", "name")


def _json_rows(value: Any, path: str) -> Iterator[Row]:
    """`path`: the file that the object or key around a value names."""
    if isinstance(value, dict):
        yield from _object_rows(value, path)
    elif isinstance(value, list):
        for item in value:
            yield from _json_rows(item, path)
    elif isinstance(value, str):
        yield from _text_rows(value, path)


def _object_rows(value: dict[str, Any], path: str) -> Iterator[Row]:
    named = _first_of(value, _FILE_KEYS, str)
    if named is not None:
        path = _relative(named)
    line = _first_of(value, _LINE_KEYS, int)
    if path and line is not None:
        text = _first_of(value, _TEXT_KEYS, str) or ""
        yield Row(path=path, line=line, text=_shown(text.split("\n")[0]))
    for key, item in value.items():
        # {"src/a.py": [{"line": 4}]}
        is_file = re.fullmatch(_PATH, _relative(key))
        yield from _json_rows(item, _relative(key) if is_file else path)


def _first_of(value: dict[str, Any], keys: Iterable[str], kind: type[T]) -> T | None:
    """The value of the first key that has one of this type."""
    for key in keys:
        item = value.get(key)
        if isinstance(item, kind):
            return item
    return None
