"""Citations as a chunk has them, and the symbol that the words around each one name."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from runner.grounding.naming import Attached, spans_of, symbol_after, symbol_before
from runner.grounding.patterns import ASIDE, SENTENCE_END, Interval

Tie = Literal["own", "sentence", "context"]
"""What ties lines to a path: they are written together, the path stands before them in the
sentence, or somewhere above."""


@dataclass(frozen=True, kw_only=True)
class Mention:
    """One citation as the text has it. Lines are as written; end is never below start."""

    written: str
    path: str
    start: int | None = None
    end: int | None = None
    symbol: str | None = None
    certain: bool = True
    """False if the symbol rests on our reading of the words between it and the lines. An accusation
    needs a symbol that is certain."""
    ref: str | None = None
    """Of a blob URL; None for a plain path."""
    weak: bool = False
    """Only a JSON key names the symbol: keys have names of their own, so it is dropped if the file
    does not know the word."""
    tied: Tie = "own"
    others: tuple[str, ...] = ()
    """Files named before, the latest first, if the lines are not written with the path."""
    rivals: tuple[str, ...] = ()
    """Of them, those with as good a claim to the lines: which of the two is meant, we guess."""
    guess: bool = False
    """`name (42)`: lines, if most of an answer's like it verify; else just numbers."""
    group: int = 0
    """Not 0 for lines of one list: "`f` (a.py:3, 9)". Its symbol need be near one of them only."""

    @property
    def lines(self) -> Interval | None:
        """None for a file named without a line."""
        if self.start is None or self.end is None:
            return None
        return self.start, self.end


@dataclass(frozen=True, kw_only=True)
class Cite:
    """Where in the chunk a citation stands, before its symbol is known."""

    begin: int
    close: int
    """Characters of the chunk: its first, and the one behind it."""
    path: str
    lines: list[Interval]
    """Empty for a file cited without a line."""
    ref: str | None = None
    symbol: str | None = None
    named: bool = False
    """The path stands in it, not in the text before."""
    tied: Tie = "own"
    others: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()
    guess: bool = False


def mentions_of(text: str, cites: Sequence[Cite], *, strict: bool) -> Iterator[Mention]:
    """The citations of a chunk, in order, with their symbols; `strict` looks for no symbols."""
    if not cites:
        return
    words = _Words(text, cites)
    for place, cite in enumerate(cites):
        attached = None
        if cite.symbol is not None:
            attached = Attached(cite.symbol, certain=True)
        elif cite.lines and not strict:
            attached = words.symbol(place)
        yield from _mentions(cite, _as_written(text, cite), attached)


class _Words:
    """The words of a chunk that each of its citations may claim as its own."""

    def __init__(self, text: str, cites: Sequence[Cite]) -> None:
        self.text = text
        self.cites = cites
        self.spans = spans_of(text)

    @cached_property
    def breaks(self) -> list[int]:
        """Where sentences end, in characters."""
        return [end.end() for end in SENTENCE_END.finditer(self.text)]

    def symbol(self, place: int) -> Attached | None:
        """The word before a citation or, if that is none or only a guess, a certain one behind."""
        cite = self.cites[place]
        before = symbol_before(self.text, self._begin(place), cite.begin, self.spans)
        if before and before.certain:
            return before
        after = symbol_after(self.text, cite.close, self._end(place), self.spans)
        if after and (after.certain or before is None):
            return after
        return before

    def _begin(self, place: int) -> int:
        """Of the sentence or, if a citation stands before this one in it, behind that."""
        begin = self._sentence_begin(self.cites[place].begin)
        if place == 0:
            return begin
        return max(begin, self._behind(self.cites[place - 1]))

    def _sentence_begin(self, at: int) -> int:
        following = bisect.bisect_right(self.breaks, at)
        if following == 0:
            return 0
        return self.breaks[following - 1]

    def _behind(self, cite: Cite) -> int:
        """Past a bracket right behind a citation: `a.py:1 (foo), b.py:2` names no foo for b.py."""
        aside = ASIDE.match(self.text, cite.close)
        if aside is None:
            return cite.close
        return aside.end()

    def _end(self, place: int) -> int:
        """Of the sentence or, if another citation follows in it, where that begins."""
        end = self._sentence_end(self.cites[place].close)
        if place + 1 == len(self.cites):
            return end
        return min(end, self.cites[place + 1].begin)

    def _sentence_end(self, at: int) -> int:
        following = bisect.bisect_left(self.breaks, at)
        if following == len(self.breaks):
            return len(self.text)
        return self.breaks[following]


def _as_written(text: str, cite: Cite) -> str:
    """As it stands in the text, with the bracket or backtick that closes what it opened."""
    written = text[cite.begin : cite.close]
    after = text[cite.close : cite.close + 1]
    if after and after in _unclosed(written):
        written += after
    return _trimmed(written)


def _unclosed(written: str) -> str:
    """What would close the text: `)` for `a.py (line 3`."""
    closing = ""
    if written.count("(") > written.count(")"):
        closing += ")"
    if written.count("[") > written.count("]"):
        closing += "]"
    if written.count("`") % 2:
        closing += "`"
    return closing


def _trimmed(written: str) -> str:
    """Without quotation marks around it, or backticks: `` `a.py`:3 `` keeps its two."""
    written = written.strip("*_ \n\"'")
    ticks = written.count("`")
    around = ticks == 2 and written[:1] == written[-1:] == "`"
    if around or ticks % 2:
        return written.strip("`")
    return written


def _mentions(cite: Cite, written: str, attached: Attached | None) -> Iterator[Mention]:
    # `a.py:3, 3` is one line.
    distinct = dict.fromkeys(cite.lines)
    if not distinct:
        yield _mention(cite, written)
    for lines in distinct:
        yield _mention(cite, written, lines, attached, group=len(distinct) - 1)


def _mention(
    cite: Cite,
    written: str,
    lines: Interval | None = None,
    attached: Attached | None = None,
    group: int = 0,
) -> Mention:
    start, end = lines or (None, None)
    symbol, certain = attached or (None, True)
    return Mention(
        written=written,
        path=cite.path,
        start=start,
        end=end,
        symbol=symbol,
        certain=certain,
        ref=cite.ref,
        tied=cite.tied,
        others=cite.others,
        rivals=cite.rivals,
        guess=cite.guess,
        group=group,
    )
