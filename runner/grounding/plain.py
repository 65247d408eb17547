"""A chunk that is one citation and nothing else: `` - `open` (src/app.py:42) ``, `src/app.py`.

Most lines of a long list are, and most cells of a table; and a link's words may be its lines. What
such a chunk says is known from its form: the reader of all others (inline.py) finds the same, after
some thirty searches.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from runner.grounding.files import PathIndex
from runner.grounding.mentions import Mention
from runner.grounding.naming import symbol_of
from runner.grounding.paths import clean_path
from runner.grounding.patterns import Interval, intervals
from runner.grounding.words import NAMES

_NO_LINE_WORD = r"(?![Ll](?:\d|i?n|IN|N|l?\.))"  # `line3` would be a line
_PATH = r"(?:[A-Za-z][\w-]{0,40}/){0,12}[A-Za-z][\w-]{0,60}(?:\.[A-Za-z]\w{0,9}){1,3}"
_PLAIN = re.compile(
    rf"""
    (?P<indent>[ ]{{0,40}}) (?:[-*][ ])?
    (?: `{_NO_LINE_WORD}(?P<name>_{{0,2}}[A-Za-z]\w{{0,60}})`[ ] (?=\() )?  # `open` (
    (?P<open>\(?`?)
    {_NO_LINE_WORD}(?P<path>{_PATH})
    (?: :(?P<lines>\d{{1,7}}(?:-\d{{1,7}})?) | (?(name)(?!)) )  # a name needs lines
    (?P<close>`?\)?) [.,;]?
    """,
    re.X | re.A,
)
_PLAIN_LINES = re.compile(
    rf"""
    (?: `{_NO_LINE_WORD}(?P<name>_{{0,2}}[A-Za-z]\w{{0,60}})`[ ] )?  # `open`
    (?P<open>\(?) lines?[ ] (?P<lines>\d{{1,7}}(?:-\d{{1,7}})?) (?P<close>\)?)
    """,
    re.X | re.A,
)
_CLOSED = {"": "", "(": ")", "`": "`", "(`": "`)"}


class Plain(NamedTuple):
    """What such a chunk says."""

    mention: Mention
    leads: bool
    """The chunk begins with the path, and is about it."""


def read_plain(text: str, index: PathIndex) -> Plain | None:
    """The only citation of a chunk; None if it is no such chunk."""
    plain = _PLAIN.fullmatch(text)
    if plain is None or _CLOSED[plain["open"]] != plain["close"]:
        return None
    path, name = plain["path"], plain["name"]
    if name in NAMES or not _is_path_as_written(plain, index):
        return None
    mention = Mention(path, path) if plain["lines"] is None else _with_lines(plain)
    return Plain(mention, leads=not plain["indent"])


def read_plain_lines(words: str) -> Interval | None:
    """The only lines of a link's words: `` `open` (line 42) ``; None if it is no such chunk."""
    plain = _PLAIN_LINES.fullmatch(words)
    if plain is None or _CLOSED[plain["open"]] != plain["close"] or plain["name"] in NAMES:
        return None
    (lines,) = intervals(plain["lines"])
    return lines


def _with_lines(plain: re.Match[str]) -> Mention:
    text, name = plain.string, plain["name"]
    begin, close = plain.start("path"), plain.end("lines")
    ((start, end),) = intervals(plain["lines"])
    return Mention(
        written=text[begin:close],
        path=plain["path"],
        start=start,
        end=end,
        symbol=symbol_of(name) if name else None,
        said=f"{text[:begin]}{' ' * (close - begin)}{text[close:]}".strip(),
    )


def _is_path_as_written(plain: re.Match[str], index: PathIndex) -> bool:
    """False for a web address, a host and its port, and the last word of a path with blanks."""
    path, has_line = plain["path"], plain["lines"] is not None
    if "www." in path or index.with_blanks(path, plain.string, plain.end("path")) != path:
        return False
    if has_line and "/" not in path and index.resolve(path).resolution == "missing":
        return False
    return clean_path(path, index, has_line=has_line) == path
