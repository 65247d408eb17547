"""Where the words of a source stand: searched for a few names, looked up for many."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

_WORD_BYTE = rb"A-Za-z0-9_\x80-\xff"
_SIGN_BYTE = rb"-+*/%^&|~!=<>?:$@.\\"
_RUN = re.compile(rb"[" + _WORD_BYTE + rb"]++|[" + _SIGN_BYTE + rb"]++")
_WORD_RUN = re.compile(rb"[" + _WORD_BYTE + rb"]++")
_SEARCHES = 8
"""Names that are searched for before every word is listed: by then a list has cost no more."""
_MOST_SEARCHES = 200
"""Operators that are no run of ASCII signs: no honest answer names more of one file."""
_BLOCK_BYTES = 4096
_NEAR_BYTES = 1024


class Occurrences:
    """The places of any name in one source."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._found: dict[str, Sequence[int]] = {}

    def of(self, name: str) -> Sequence[int]:
        """Where the name stands as a word: bytes, ascending."""
        if name not in self._found:
            self._found[name] = self._find(name)
        return self._found[name]

    def lines_of(self, name: str) -> Iterator[tuple[int, int]]:
        """The places of a name: byte, and line from 1."""
        last, line = -_BLOCK_BYTES, 0
        for at in self.of(name):
            # Counted from its block for each, a word on every line would take seconds.
            near = at - last < _NEAR_BYTES
            line = line + self._source.count(b"\n", last, at) if near else self.line(at)
            last = at
            yield at, line

    def line(self, at: int) -> int:
        """The line of a byte, from 1."""
        block = at // _BLOCK_BYTES
        within = self._source.count(b"\n", block * _BLOCK_BYTES, at)
        return self._newlines_before[block] + within + 1

    def _find(self, name: str) -> Sequence[int]:
        run = _run_in(name)
        # Searched for each, a large file and an answer of many names would take quadratic time.
        if run and len(self._found) >= _SEARCHES:
            return self._look_up(name.encode(), run)
        if len(self._found) >= _MOST_SEARCHES:
            return ()
        return [hit.start() for hit in _pattern(name).finditer(self._source)]

    def _look_up(self, name: bytes, run: re.Match[bytes]) -> Sequence[int]:
        hits = self._listed.get(run[0], ())
        if run[0] == name:
            return hits
        begins = [at - run.start() for at in hits]
        return [at for at in begins if self._is_whole(name, at)]

    def _is_whole(self, name: bytes, at: int) -> bool:
        """`empty?` and `&self` are more than one run of word bytes."""
        if at < 0 or not self._source.startswith(name, at):
            return False
        return not _WORD_RUN.match(self._source, at + len(name))

    @cached_property
    def _listed(self) -> dict[bytes, list[int]]:
        listed: dict[bytes, list[int]] = defaultdict(list)
        for run in _RUN.finditer(self._source):
            listed[run[0]].append(run.start())
        return listed

    @cached_property
    def _newlines_before(self) -> list[int]:
        """Of each block: counted from the top for each hit, they would take quadratic time."""
        counts = [0]
        for begin in range(0, len(self._source), _BLOCK_BYTES):
            counts.append(counts[-1] + self._source.count(b"\n", begin, begin + _BLOCK_BYTES))
        return counts


def _run_in(name: str) -> re.Match[bytes] | None:
    """The run of bytes that a name is listed by: its first word or, if it has none, all of it."""
    if not name.isascii() and not _begins_as_word(name):
        return None
    return _WORD_RUN.search(name.encode()) or _RUN.fullmatch(name.encode())


def _begins_as_word(name: str) -> bool:
    return name[:1].isalnum() or name[:1] == "_"


def _pattern(name: str) -> re.Pattern[bytes]:
    """Matches a name where no word goes on behind it or, if it begins as one, before it."""
    spelled = re.escape(name.encode())
    if not re.search(r"\w", name):  # `<` is no part of `<=>`
        return re.compile(
            rb"(?<![" + _SIGN_BYTE + rb"])" + spelled + rb"(?![" + _SIGN_BYTE + rb"])"
        )
    before = b""
    if _begins_as_word(name):  # `&name` may follow a letter
        # Behind the name: a pattern that begins with letters skips what does not hold them.
        before = rb"(?<![" + _WORD_BYTE + rb"]" + spelled + rb")"
    return re.compile(spelled + before + rb"(?![" + _WORD_BYTE + rb"])")
