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
from runner.grounding.word_lists import EXTENSIONS

T = TypeVar("T")

MAX_TEXT_CHARS = 200
MAX_NO_JSON = 20
"""Brackets that open no JSON, in one text: each may be read to the text's end."""


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
        rows = list(_rows(text, ""))
    except RecursionError:
        rows = list(_text_rows(text, ""))
    return list(dict.fromkeys(row for row in rows if row.line > 0))


def _rows(text: str, path: str) -> Iterator[Row]:
    """`path`: the file that the object or key around the text names."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        yield from _mixed_rows(text, path)
    else:
        # A file of numbers is JSON too, and its text says as little.
        yield from _json_rows(value, path) if isinstance(value, dict | list) else ()


_OPENS = re.compile(r"(?:(?m:^)[ \t]*|(?<=[\]}])\s)(?=[\[{])")


def _mixed_rows(text: str, path: str) -> Iterator[Row]:
    """Of text with JSON in it: `Matches:` and a list, or one object a line."""
    begin = at = failed = 0
    while failed < MAX_NO_JSON and (opening := _OPENS.search(text, at)):
        rows, at = _rows_at(text, opening.end(), path)
        if rows:
            yield from _text_rows(text[begin : opening.start()], path)
            yield from rows
            begin = at
        else:
            failed += 1
    yield from _text_rows(text[begin:], path)


def _rows_at(text: str, begin: int, path: str) -> tuple[list[Row], int]:
    """Of the JSON that begins there, and where to go on."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, begin)
        return list(_json_rows(value, path)), end
    except (ValueError, RecursionError):
        return [], begin + 1


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


def _text_rows(text: str, path: str) -> Iterator[Row]:
    """`path`: the file that numbered lines belong to, until the text names another."""
    depth = 0
    for line in text.splitlines():
        located = list(_located_rows(line))
        yield from located
        if located:
            continue
        numbered = _NUMBERED.match(line)
        if numbered and path:
            depth = _indent(line)
            yield Row(path=path, line=int(numbered["line"]), text=_shown(numbered["text"]))
        elif (not depth or _indent(line) <= depth) and (named := _named_file(line)):
            # What stands deeper than the numbers is code: `return fmt.Errorf("...")`.
            path, depth = _relative(named), 0


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _named_file(line: str) -> str | None:
    """The first file of a line; a name without a folder needs an extension that is known."""
    for found in _NAMES_FILE.finditer(line):
        folder, _, name = found["path"].rpartition("/")
        if folder or name.rpartition(".")[2].lower() in EXTENSIONS:
            return found["path"]
    return None


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
    "line_num",
    "lineNum",
    "line_no",
    "lineNo",
    "row",
    "start",
)
_TEXT_KEYS = (
    "line",  # its number or its text
    "text",
    "line_content",
    "lineContent",
    "line_text",
    "lineText",
    "code",
    "preview",
    "content",
    "snippet",
    "signature",
    "name",
)


def _json_rows(value: Any, path: str) -> Iterator[Row]:
    """`path`: the file that the object or key around a value names."""
    if isinstance(value, dict):
        yield from _object_rows(value, path)
    elif isinstance(value, list):
        for item in value:
            yield from _json_rows(item, path)
    elif isinstance(value, str):
        yield from _rows(value, path)


def _object_rows(value: dict[str, Any], path: str) -> Iterator[Row]:
    named = _first_of(value, _FILE_KEYS, str)
    if named is not None:
        path = _relative(named)
    if (line := _range_line(value.get("range"))) is not None:
        # Its `text` is what matched, its `lines` the line.
        value = {key: item for key, item in value.items() if key != "range"}
        text = _first_of(value, ("lines", *_TEXT_KEYS), str)
    else:
        line, text = _first_of(value, _LINE_KEYS, int), _first_of(value, _TEXT_KEYS, str)
    if path and line is not None:
        yield Row(path=path, line=line, text=_shown((text or "").split("\n")[0]))
    for key, item in value.items():
        # {"src/a.py": [{"line": 4}]}
        is_file = re.fullmatch(_PATH, _relative(key))
        yield from _json_rows(item, _relative(key) if is_file else path)


def _range_line(value: Any) -> int | None:
    """The first line of a language server's range, which counts from 0."""
    start = value.get("start") if isinstance(value, dict) else None
    line = start.get("line") if isinstance(start, dict) else None
    return line + 1 if isinstance(line, int) else None


def _first_of(value: dict[str, Any], keys: Iterable[str], kind: type[T]) -> T | None:
    """The value of the first key that has one of this type."""
    for key in keys:
        item = value.get(key)
        if isinstance(item, kind):
            return item
    return None
