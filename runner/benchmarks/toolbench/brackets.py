"""Where brackets in a text are opened and closed, whatever the text: one pass, no recursion."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_CLOSES = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True, kw_only=True)
class Marks:
    """What counts as a bracket, and what as a quotation mark inside of one."""

    pattern: re.Pattern[str]
    quotes: str


JSON = Marks(pattern=re.compile(r'[\[\]{}"\\]'), quotes='"')
PYTHON = Marks(pattern=re.compile(r"""[()\[\]{}"'\\]"""), quotes="\"'")


@dataclass(kw_only=True)
class ScanBudget:
    """Of marks that are looked at: ten million brackets would take as many steps of Python."""

    marks: int = 200_000


DEEPEST = 200
"""Brackets open at once; nothing nested as deep is read anyway."""


@dataclass(kw_only=True)
class _Scan:
    marks: Marks
    open_marks: list[str] = field(default_factory=list)
    first: int = 0
    """Where the outermost bracket that is open stands."""
    quote: str = ""
    skip: int = -1
    """A character that a backslash takes."""

    def take(self, at: int, sign: str) -> bool:
        """True if this closes the outermost bracket."""
        if at == self.skip:
            return False
        if sign == "\\":
            self.skip = at + 1
        elif sign in self.marks.quotes:
            self._take_quote(sign)
        elif not self.quote:
            return self._take_bracket(at, sign)
        return False

    def _take_quote(self, sign: str) -> None:
        # Outside of brackets it is prose's own: an apostrophe, an inch.
        if self.quote == sign:
            self.quote = ""
        elif not self.quote and self.open_marks:
            self.quote = sign

    def _take_bracket(self, at: int, sign: str) -> bool:
        if sign not in _CLOSES:
            if not self.open_marks:
                self.first = at
            self.open_marks.append(sign)
            if len(self.open_marks) > DEEPEST:
                self.open_marks.clear()
            return False
        if not self.open_marks:
            return False
        if self.open_marks[-1] != _CLOSES[sign]:  # `[1}` is nothing that could be read
            self.open_marks.clear()
            return False
        self.open_marks.pop()
        return not self.open_marks


def bracketed(
    text: str, marks: Marks, begin: int = 0, budget: ScanBudget | None = None
) -> Iterator[tuple[int, int | None]]:
    """(begin, end) of each outermost part; an end of None for one that nothing closes.

    Ends where the budget does.
    """
    scan = _Scan(marks=marks)
    budget = budget or ScanBudget()
    for mark in marks.pattern.finditer(text, begin):
        budget.marks -= 1
        if budget.marks < 0:
            return
        if scan.take(mark.start(), mark[0]):
            yield scan.first, mark.end()
    if scan.open_marks:
        yield scan.first, None


def closed_at(text: str, marks: Marks) -> int | None:
    """Behind the bracket that closes the text's first character; None if nothing does."""
    begin, end = next(bracketed(text, marks), (0, None))
    return end if begin == 0 else None


FENCE = "```"


@dataclass
class Fences:
    """Is a place in a fence? Asked from the text's beginning to its end: each look counts on from
    the one before, or many would take their square.
    """

    text: str
    _marks: int = 0
    _counted: int = 0

    def hold(self, at: int) -> bool:
        """`at`: no less than before."""
        self._marks += self.text.count(FENCE, self._counted, at)
        self._counted = at
        return self._marks % 2 == 1
