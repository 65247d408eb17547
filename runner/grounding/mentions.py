"""Citations as a chunk has them, and the symbol that the words around each one name."""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from runner.grounding.attaching import (
    Attached,
    goes_on,
    is_list,
    names_before,
    symbol_after,
    symbol_before,
)
from runner.grounding.naming import spans_of
from runner.grounding.patterns import IN_PARENTHESES, SENTENCE_END, LineRange

Tie = Literal["own", "sentence", "context"]
"""What ties lines to a path: they are written together, the path stands before them in the
sentence, or somewhere above."""


MOST_SAID = 600
"""Characters of a table row or an object that are read for what they say of a citation."""
_EARSHOT = 300
"""Characters on each side of a citation that may speak of it. It bounds the work, as of a sentence
of nothing but citations."""
_SPOKEN = re.compile(r"[^\W\d_]{2}\w*+")
_LINE_END = re.compile(r"\n")
_BULLETS = re.compile(r"[-*+`> ]*+")
_FEW = 3


MOST_MENTIONS = 100_000
"""Of one text: what goes on after that is no answer, and reading all of it would take too long."""


class Mention(NamedTuple):
    """One citation as the text has it. Lines are as written; end is never below start."""

    written: str
    path: str
    start: int | None = None
    end: int | None = None
    symbol: str | None = None
    certain: bool = True
    """False if the symbol rests on our reading of the words between it and the lines. An accusation
    needs a symbol that is certain."""
    loose: int = 0
    """Signs of a plain claim that the words lack (`Attached.loose`)."""
    tail: str = ""
    """Of the path, as it was written, if the answer itself says in full which file it means."""
    other_word: str | None = None
    """The other that may be meant, if there is one."""
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

    said: str = ""
    """What the text says of it: the words around it, without citations."""
    beside: str = ""
    """Of a cell or a value: the other texts of its row or object."""

    @property
    def lines(self) -> LineRange | None:
        """None for a file named without a line."""
        if self.start is None or self.end is None:
            return None
        return self.start, self.end


class ChunkMentions(NamedTuple):
    """What one chunk cites, and the paths it names."""

    mentions: list[Mention]
    paths: list[str]
    lead: str | None = None
    """The path that it begins with."""

    @property
    def first_path(self) -> str | None:
        return next(iter(self.paths), None)

    @property
    def last_path(self) -> str | None:
        """The file that the chunk leaves its reader in."""
        return next(reversed(self.paths), None)


class Cite(NamedTuple):
    """Where in the chunk a citation stands, before its symbol is known."""

    begin: int
    close: int
    """Characters of the chunk: its first, and the one behind it."""
    path: str
    lines: list[LineRange]
    """Empty for a file cited without a line."""
    ref: str | None = None
    symbol: str | None = None
    named: bool = False
    """The path stands in it, not in the text before."""
    tied: Tie = "own"
    others: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()
    guess: bool = False
    weak: bool = False
    """Its name may be a word of English."""


def mentions_of(text: str, cites: Sequence[Cite], *, strict: bool) -> list[Mention]:
    """The citations of a chunk, in order, with their symbols; `strict` looks for no symbols."""
    mentions: list[Mention] = []
    if not cites:
        return mentions
    words = _ChunkWords(text, cites)
    named: list[_Names] = [()] * len(cites) if strict else words.names()
    for place, cite in enumerate(cites):
        said = words.said(place).strip() if cite.lines else ""
        names = _own_name(cite) or named[place]
        mentions += _mentions(cite, _as_written(text, cite), names, said)
    return mentions


def _own_name(cite: Cite) -> _Names:
    """The name that was found with the citation."""
    if cite.symbol is None:
        return ()
    return (Attached(cite.symbol, certain=not cite.weak),)


def _is_taken(name: Attached | None, last: list[_Names]) -> bool:
    """True if the place before has the same word of the text for its name."""
    if name is None or not last:
        return False
    return any(name.at == taken.at for names in last for taken in names)


def _only(name: Attached | None) -> _Names:
    return (name,) if name else ()


_LONGEST_LIST = 12
"""Places that are paired with names. It bounds the work, as of a text of nothing but places."""
_Names = tuple[Attached, ...]
"""Of one citation: none, one for all its lines, or one for each."""


def enough(said: str) -> bool:
    """True if there are words enough to tell one place from another."""
    at = 0
    for _ in range(_FEW):
        word = _SPOKEN.search(said, at)
        if word is None:
            return False
        at = word.end()
    return True


def saying(said: str, mentions: Iterable[Mention]) -> Iterator[Mention]:
    """The mentions, with what is said of each of them; theirs first, and only it if enough."""
    for mention in mentions:
        if mention.lines is None or enough(mention.said):
            yield mention._replace(beside=said)
        else:
            yield mention._replace(said=f"{mention.said} {said}".strip(), beside=said)


class _ChunkWords:
    """The words of a chunk that each of its citations may claim as its own."""

    def __init__(self, text: str, cites: Sequence[Cite]) -> None:
        self.text = text
        self.cites = cites
        self.spans = spans_of(text)
        self.breaks = [end.end() for end in SENTENCE_END.finditer(text)]
        """Where sentences end, in characters."""
        self.lines = [0, *(line.end() for line in _LINE_END.finditer(text))]
        """Where lines begin, in characters."""
        self.prose = self._without_cites()
        """The chunk with blanks for its citations."""
        self._begins: dict[int, int] = {}
        """By place."""

    def names(self) -> list[_Names]:
        """For each citation its name, or one for each of its lines; none for what names nothing."""
        if len(self.cites) == 1 and len(self.cites[0].lines) < 2:  # most chunks have no list
            return [_only(self._name(0, []))]
        named: list[_Names] = []
        while len(named) < len(self.cites):
            run = self._run(len(named))
            paired = self._paired(run, len(named))
            if paired:
                named += paired
            else:
                self._name_each(run, named)
        return named

    def _run(self, place: int) -> list[Cite]:
        """The citations of a list from this one on: `a.py:3 vs b.py:9`."""
        run = [self.cites[place]]
        for cite in self.cites[place + 1 : place + _LONGEST_LIST]:
            if not is_list(self.text, run[-1].close, cite.begin):
                break
            run.append(cite)
        return run

    def _paired(self, run: list[Cite], place: int) -> list[_Names]:
        """As many names as lines, in order: "`open` vs `close` (a.py:3 vs b.py:9)"."""
        if len(run) == 1 and len(run[0].lines) < 2:
            return []
        counts = [len(dict.fromkeys(cite.lines)) for cite in run]
        if sum(counts) < 2:
            return []
        names = names_before(self.text, self._begin(place), run[0].begin, self.spans)
        if len(names) != sum(counts):
            return []
        each = iter(names)
        return [tuple(islice(each, count)) for count in counts]

    def _name_each(self, run: list[Cite], named: list[_Names]) -> None:
        for _ in run:
            named.append(_only(self._name(len(named), named[-1:])))

    def _name(self, place: int, last: list[_Names]) -> Attached | None:
        """The word before a citation or, if that is none or only a guess, a certain one behind.

        `a.py:3 open, :9 close`: where names stand behind their places, the word before is the
        last place's.
        """
        cite = self.cites[place]
        if not cite.lines:
            return None
        before = symbol_before(self.text, self._begin(place), cite.begin, self.spans)
        certain = before is not None and before.certain
        if certain and not _is_taken(before, last):
            return before
        after = symbol_after(self.text, cite.close, self._end(place), self.spans)
        if after and (after.certain or before is None):
            return after
        if certain:
            return before
        if before and after:
            return before._replace(other=after.symbol)
        return before or self._inherited(place, last)

    def _inherited(self, place: int, last: list[_Names]) -> Attached | None:
        """`` `open`, called at a.py:3, defined at b.py:9 ``: the name of the place before."""
        if not last or not last[0]:
            return None
        name = last[0][-1]
        verb = goes_on(self.text, self.cites[place - 1].close, self.cites[place].begin)
        # "it is set in `open` at a.py:3, read at a.py:9" says nothing more of `open`.
        if verb is None or (verb and not name.certain and not verb.startswith(("de", "im"))):
            return None
        return name._replace(certain=bool(verb))

    def _without_cites(self) -> str:
        parts, at = [], 0
        for cite in self.cites:
            begin, close = max(at, cite.begin), max(at, cite.close)
            parts += [self.text[at:begin], " " * (close - begin)]
            at = close
        return "".join([*parts, self.text[at:]])

    def said(self, place: int) -> str:
        """The words between the citations beside this one or, if they are few, of the sentence."""
        cite = self.cites[place]
        begin = max(self._begin(place), cite.begin - _EARSHOT)
        end = min(self._end(place), cite.close + _EARSHOT)
        if self._is_row(place):
            # The line before, which a search printed, says nothing of this one.
            return self.prose[max(begin, cite.begin) : end]
        said = self.prose[begin:end]
        # With no other citation, these are the sentence's already.
        if len(self.cites) == 1 or enough(said):
            return said
        begin = max(self._sentence_begin(cite.begin), cite.begin - _EARSHOT)
        end = min(self._sentence_end(cite.close), cite.close + _EARSHOT)
        return self.prose[begin:end]

    def _is_row(self, place: int) -> bool:
        """It begins a line, and so does the one before or behind: `a.py:3:def f():`."""
        if not self._begins_line(place):
            return False
        return self._begins_line(place - 1) or self._begins_line(place + 1)

    def _begins_line(self, place: int) -> bool:
        if not 0 <= place < len(self.cites):
            return False
        begin = self.cites[place].begin
        line = self.lines[bisect.bisect_right(self.lines, begin) - 1]
        # It stops at a word: a chunk of one line would be read anew for each of its citations.
        return _BULLETS.fullmatch(self.text, line, begin) is not None

    def _begin(self, place: int) -> int:
        """Of the sentence or, if a citation stands before this one in it, behind that."""
        if place not in self._begins:
            self._begins[place] = self._find_begin(place)
        return self._begins[place]

    def _find_begin(self, place: int) -> int:
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
        aside = IN_PARENTHESES.match(self.text, cite.close)
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
    if _closes(after, written):
        written += after
    return _trimmed(written)


def _closes(after: str, written: str) -> bool:
    """`)` closes `a.py (line 3`."""
    if after == "`":
        return written.count("`") % 2 == 1
    opening = _OPENINGS.get(after)
    return opening is not None and written.count(opening) > written.count(after)


_OPENINGS = {")": "(", "]": "["}


def _trimmed(written: str) -> str:
    """Without quotation marks around it, or backticks: `` `a.py`:3 `` keeps its two."""
    written = written.strip("*_ \n\"'")
    ticks = written.count("`")
    around = ticks == 2 and written[:1] == written[-1:] == "`"
    if around or ticks % 2:
        return written.strip("`")
    return written


def _mentions(cite: Cite, written: str, names: _Names, said: str) -> list[Mention]:
    if not cite.lines:
        return [_mention(cite, written)]
    if len(cite.lines) == 1:
        name = names[0] if names else None
        return [_mention(cite, written, cite.lines[0], name, said=said)]
    # `a.py:3, 3` is one line.
    distinct = dict.fromkeys(cite.lines)
    if len(names) != len(distinct):  # one name, or none, for the whole list
        names = names[:1] * len(distinct)
    each = itertools.chain(names, itertools.repeat(None))
    return [
        _mention(cite, written, lines, name, group=len(distinct) - 1, said=said)
        for lines, name in zip(distinct, each, strict=False)
    ]


def _mention(  # noqa: PLR0913 - what its fields are taken from
    cite: Cite,
    written: str,
    lines: LineRange | None = None,
    name: Attached | None = None,
    *,
    group: int = 0,
    said: str = "",
) -> Mention:
    start, end = lines or (None, None)
    symbol, certain, _, loose, other = name or _UNNAMED
    return Mention(
        written=written,
        path=cite.path,
        start=start,
        end=end,
        symbol=symbol,
        certain=certain,
        loose=loose,
        other_word=other,
        ref=cite.ref,
        weak=cite.weak,
        tied=cite.tied,
        others=cite.others,
        rivals=cite.rivals,
        guess=cite.guess,
        group=group,
        said=said,
    )


_UNNAMED = (None, True, -1, 0, None)
