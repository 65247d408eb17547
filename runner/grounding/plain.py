"""A chunk that is one citation and nothing else: `` - `open` (src/app.py:42) ``, `src/app.py`.

Most lines of a long list are, and most cells of a table; and a link's words may be its lines. Or
it is lines without their path, or a path and lines of it: ``src/app.py `open` line 42``. What such
a chunk says is known from its form: the reader of all others (inline.py) finds the same, after some
thirty searches.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from runner.grounding.attaching import symbol_after
from runner.grounding.commit_files import PathIndex
from runner.grounding.mentions import Mention, Reading
from runner.grounding.naming import symbol_of
from runner.grounding.owners import Above, Owners, Seen
from runner.grounding.paths import clean_path
from runner.grounding.patterns import Interval, intervals
from runner.grounding.word_lists import NAMES, PORTS

_NO_LINE_WORD = r"(?![Ll](?:\d|i?n|IN|N|l?\.))"  # `line3` would be a line
_NAME = rf"`{_NO_LINE_WORD}(?P<name>_{{0,2}}[A-Za-z]\w{{0,60}})`[ ]"
_PATH = r"(?:[A-Za-z][\w-]{0,40}/){0,12}[A-Za-z][\w-]{0,60}(?:\.[A-Za-z]\w{0,9}){1,3}"
_LINES = r"(?P<lines>\d{1,7}(?:-\d{1,7})?)"
_END = rf"[.,;]? | [ ]{_NO_LINE_WORD}(?P<word>[A-Za-z]\w{{0,60}})"
_PLAIN = re.compile(
    rf"""
    (?P<indent>[ ]{{0,40}}) (?:(?:[-*]|\#{{1,6}})[ ])?
    (?: {_NAME} (?=\() )?                                      # `open` (
    (?P<open>\(?`?)
    {_NO_LINE_WORD}(?P<path>{_PATH})
    (?: :{_LINES} | (?(name)(?!)) )                            # a name needs lines
    (?P<close>`?\)?) (?: {_END} )
    """,
    re.X | re.A,
)
_PLAIN_LINES = re.compile(
    rf"""
    (?: {_NAME} )?                                             # `open`
    (?P<open>\(?) lines?[ ] {_LINES} (?P<close>\)?)
    """,
    re.X | re.A,
)
_APART = re.compile(
    rf"""
    (?P<indent>[ ]{{0,40}}) (?:[-*][ ])?
    (?: {_NO_LINE_WORD}(?P<path>{_PATH})[ ] (?: (?=`) | and[ ](?=l) ) )?
    (?: {_NAME} )?
    (?P<open>\(?) (?P<mark>lines?[ ] | (?(path)(?!)):) {_LINES} (?P<close>\)?) (?: {_END} )
    """,
    re.X | re.A,
)
"""``src/app.py `open` line 42``, ``src/app.py and line 42``, `` `open` (line 42)``, `:42 open`."""
_FILES = (*NAMES, "same", "Same")
"""Words that may cite a file: "- `same` :42"."""
_FARTHEST = 240
"""Characters before the lines: the search for their symbol looks no farther back."""
_CLOSED = {"": "", "(": ")", "`": "`", "(`": "`)"}


class Plain(NamedTuple):
    """What such a chunk says."""

    mention: Mention
    leads: bool
    """The chunk begins with the path, and is about it."""


def read_plain(text: str, index: PathIndex) -> Plain | None:
    """The only citation of a chunk; None if it is no such chunk."""
    plain = _PLAIN.fullmatch(text)
    if plain is None or not _is_whole(plain):
        return None
    path, has_line = plain["path"], plain["lines"] is not None
    if not _is_path_as_written(plain, index, has_line=has_line):
        return None
    mention = _with_lines(plain, "path", path) if has_line else Mention(path, path)
    return Plain(mention, leads=not plain["indent"])


def read_plain_lines(words: str) -> Interval | None:
    """The only lines of a link's words: `` `open` (line 42) ``; None if it is no such chunk."""
    plain = _PLAIN_LINES.fullmatch(words)
    if plain is None or _CLOSED[plain["open"]] != plain["close"] or plain["name"] in NAMES:
        return None
    (lines,) = intervals(plain["lines"])
    return lines


def read_apart(text: str, index: PathIndex, above: Above) -> Reading | None:
    """The only lines of a chunk, written apart from their path; None if it is no such chunk.

    The path may stand before them: then it is cited too.
    """
    plain = _APART.fullmatch(text)
    if plain is None or not _is_whole(plain) or _may_be_port(plain):
        return None
    if plain.start("mark") > _FARTHEST:
        return None
    path, owners = plain["path"], Owners(text, above)
    if path is None:
        return Reading(_owned(plain, owners, above.seen), [])
    if not _is_path_as_written(plain, index, has_line=False):
        return None
    above.seen.name(path)
    owners.name(path, *plain.span("path"), bare=True)
    mentions = [Mention(path, path), *_owned(plain, owners, above.seen)]
    return Reading(mentions, [path], owners.lead())


def _owned(plain: re.Match[str], owners: Owners, seen: Seen) -> list[Mention]:
    """The lines, in the file that they belong to; none if they belong to no file."""
    (lines,) = intervals(plain["lines"])
    owner = owners.of(plain.start("mark"), lines[0], listed=plain["mark"] == ":")
    if owner is None:
        return []
    mention = _with_lines(plain, "mark", owner.path)
    seen.note(owner.path, [lines])
    others = owner.others(seen)
    return [mention._replace(tied=owner.tied, others=others, rivals=owner.rivals)]


def _with_lines(plain: re.Match[str], beginning: str, path: str) -> Mention:
    text, name = plain.string, plain["name"]
    begin, close = plain.start(beginning), plain.end("lines")
    ((start, end),) = intervals(plain["lines"])
    symbol, certain = symbol_of(name) if name else None, True
    if plain["word"] and (after := symbol_after(text, close, len(text), [])):
        symbol, certain = after.symbol, after.certain
    return Mention(
        written=text[begin:close],
        path=path,
        start=start,
        end=end,
        symbol=symbol,
        certain=certain,
        said=_without_cites(plain, begin, close),
    )


def _without_cites(plain: re.Match[str], begin: int, close: int) -> str:
    """The chunk with blanks for the lines from `begin` to `close`, and for the path."""
    before = plain.string[:begin]
    path, end = plain.span("path")
    if 0 <= path < begin:
        before = f"{before[:path]}{' ' * (end - path)}{before[end:]}"
    return f"{before}{' ' * (close - begin)}{plain.string[close:]}".strip()


def _is_whole(plain: re.Match[str]) -> bool:
    """What is opened is closed, and no word of it cites a file or might name something else."""
    if _CLOSED[plain["open"]] != plain["close"] or plain["name"] in _FILES:
        return False
    word = plain["word"]
    return word is None or not (plain["name"] or plain["open"] or word in _FILES)


def _may_be_port(plain: re.Match[str]) -> bool:
    return plain["mark"] == ":" and intervals(plain["lines"])[0][0] in PORTS


def _is_path_as_written(plain: re.Match[str], index: PathIndex, *, has_line: bool) -> bool:
    """False for a web address, a host and its port, and the last word of a path with blanks."""
    path = plain["path"]
    if "www." in path or index.with_blanks(path, plain.string, plain.end("path")) != path:
        return False
    if has_line and "/" not in path and index.resolve(path).resolution == "missing":
        return False
    return clean_path(path, index, has_line=has_line) == path
