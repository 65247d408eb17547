"""An answer made worse in one known way, or longer and no better. Seeded: the same each time.

Nothing here asks a judge or its room how text is read: a judge that overlooks a kind of sentence
would be examined on those alone that it sees.
"""

from __future__ import annotations

import hashlib
import itertools
import random
import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from runner.grounding.pointing import same_file

SEED = "perturbations 1"
"""Change it, and every pair is another: stored answers to them no longer count."""

_SENTENCE = re.compile(r"((?<=[.!?])[ \t]+|[ \t]+\|[ \t]*)")  # `It runs. Then`, `| a | b |`
_MARKER = re.compile(r"[ \t>|]*(?:(?:[-*+•#]+|\d{1,3}[.)])[ \t]+)?")  # `- `, `2. `, `## `, `| `
_ROW = re.compile(r"[ \t]*\|.*\|")
_RULE = re.compile(r"[ \t]*\|[ \t:|-]+\|[ \t]*")  # `|---|:--|` under a table's head
_NUMBER = r"\d{1,6}"
_RANGE = rf"{_NUMBER}(?:[-–]{_NUMBER})?"
_LIST = rf"{_RANGE}(?:(?:,[ ]?|[ ]and[ ]){_RANGE})*(?!\w|\.\d)"
_PATH = r"(?<![\w/])[\w@+~./\-\[\]]{0,200}[\w\]]\.[A-Za-z]\w{0,9}"
_CITATION = re.compile(
    rf"""
    (?P<path>{_PATH}) `?: (?P<lines>{_LIST})      # src/app.py:42-60, 71
  | (?<=[\s(`,/]): (?P<bare>{_LIST})              # `app.py:42` and `:51`
  | \b[Ll]ines?[ ] (?P<words>{_LIST})             # lines 42–60 and 71
    """,
    re.VERBOSE,
)
_FILE = re.compile(_PATH)
_HUSK = re.compile(r"`[ \t]*`|\([\s,;`]*(?:and)?[\s,;`]*\)|\[\]\([^)\s]*\)")


# An examination shuffles each anchor twice: to ask about it, and to look up what was said of it.
@lru_cache(maxsize=1024)
def shuffled(text: str) -> str:
    """The words of each sentence in another order: who does what is gone, no word is."""
    lines = [_shuffled_line(line, number) for number, line in enumerate(text.split("\n"))]
    return "\n".join(_with_rows_mixed(lines))


def _with_rows_mixed(lines: Sequence[str]) -> Iterator[str]:
    """Each column of a table turned by another number of rows.

    A cell of one or two words says in its row what a sentence says, and outlives its own shuffling.
    """
    for is_table, block in itertools.groupby(lines, key=lambda line: _ROW.match(line) is not None):
        rows = list(block)
        ruled = 2 if len(rows) > 1 and _RULE.fullmatch(rows[1]) else 0
        yield from rows[:ruled] if is_table else rows
        if is_table:
            yield from _turned([row.split("|") for row in rows[ruled:]])


def _turned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widest = max(map(len, rows), default=0)
    columns = [[row[place] if place < len(row) else "" for row in rows] for place in range(widest)]
    for place, column in enumerate(columns):
        # What stands before the first bar is no cell; the first column stays.
        by = 1 + (place - 2) % max(1, len(rows) - 1) if place > 1 else 0
        columns[place] = [*column[by:], *column[:by]]
    return ("|".join(cells) for cells in zip(*columns, strict=True))


def _shuffled_line(line: str, number: int) -> str:
    marker = _MARKER.match(line)
    begin = marker.end() if marker else 0
    # Sentences or cells at even places, and what stands between them at odd ones.
    pieces = _SENTENCE.split(line[begin:])
    for place in range(0, len(pieces), 2):
        pieces[place] = " ".join(_other_order(pieces[place].split(), str(number)))
    return line[:begin] + "".join(pieces)


def _other_order(words: Sequence[str], salt: str) -> list[str]:
    mixed = list(words)
    if len(set(words)) > 1:
        dice = _dice(salt, *words)
        # One order in a few of a short sentence's is its own.
        while mixed == list(words):
            dice.shuffle(mixed)
    return mixed


def moved(text: str, by: int) -> str:
    """Every cited line `by` lines further down."""

    def further(match: re.Match[str]) -> str:
        whole, begin = match.group(), match.start()
        start, end = _span(match)
        lines = re.sub(_NUMBER, lambda line: str(int(line.group()) + by), match.string[start:end])
        return whole[: start - begin] + lines + whole[end - begin :]

    return _CITATION.sub(further, text)


def _span(match: re.Match[str]) -> tuple[int, int]:
    """Of the lines in a citation."""
    for group in ("lines", "bare", "words"):
        if match[group] is not None:
            return match.span(group)
    raise AssertionError(f"a citation without lines: {match.group()!r}")


def in_other_files(text: str, files: Collection[str]) -> str:
    """Every cited file another of `files`, the same one wherever it is named; lines stay.

    A text in which no other file is left to name stays as it is.
    """
    cited = {match["path"] for match in _CITATION.finditer(text) if match["path"]}

    def other(match: re.Match[str]) -> str:
        path = match.group()
        if path not in cited:
            return path
        return _another(path, files)

    return _FILE.sub(other, text)


def _another(path: str, files: Collection[str]) -> str:
    others = sorted(file for file in files if not same_file(path, file))
    if not others:
        return path
    return _dice(path).choice(others)


def uncited(text: str) -> str:
    """Without any cited line, nor the file it is in."""
    return _without_husks(_CITATION.sub("", text))


def _without_husks(bare: str) -> str:
    # Empty brackets would tell a reader that something stood there.
    while (cleaned := _HUSK.sub("", bare)) != bare:
        bare = cleaned
    return bare


def thinned(text: str, one_in: int) -> str:
    """Without every so manieth of its citations, as `uncited` is without any."""
    number = itertools.count(1)

    def kept(match: re.Match[str]) -> str:
        return match.group() if next(number) % one_in else ""

    return _without_husks(_CITATION.sub(kept, text))


def padded(text: str, lines: Sequence[str]) -> str:
    """With `lines` behind it, as many as are together no longer than the text itself."""
    added: list[str] = []
    room = len(text)
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        added.append(line)
    if not added:
        return text
    return "\n".join([text.rstrip(), "", *added])


def _dice(*of: str) -> random.Random:
    # Not hash(): it differs from one process to the next.
    digest = hashlib.sha256("\0".join([SEED, *of]).encode()).digest()
    return random.Random(digest)  # noqa: S311 - the same every time, and no secret
