"""Quotes of an answer, looked for where they are said to stand."""

from __future__ import annotations

import re

from runner.scoring.judges.checklist.parsed_answer import ParsedAnswer
from runner.scoring.judges.checklist.sentences import plain_lower
from runner.support.text import fold

FEWEST_LETTERS = 8
"""A shorter quote stands in every answer."""
MOST_WORDS = 80
"""A longer one points at no statement: all of an answer, quoted, would vouch for any fact."""
Span = tuple[int, int]


def find_quote(quote: str, text: str) -> Span | None:
    """Where a quote stands in a text: letter by letter, except that any run of blanks and line
    ends matches any other. None if it does not, or is too short or long to be a quote."""
    words = quote.split()
    if len("".join(words)) < FEWEST_LETTERS or len(words) > MOST_WORDS:
        return None
    match = re.search(r"\s+".join(map(re.escape, words)), text)
    return match.span() if match else None


_MARK = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")


class Index:
    """The words of a step's sentences, to find those that a quote is of."""

    def __init__(self, reading: ParsedAnswer) -> None:
        self._words: list[str] = []
        self._unit_of: list[int] = []
        for number, unit in enumerate(reading.units):
            words = _words(unit.text)
            self._words += words
            self._unit_of += [number] * len(words)

    def units(self, quote: str) -> frozenset[int]:
        """Positions of the sentences that hold the quote; of a list, those that hold its lines."""
        found = self._run(quote)
        if not found:
            # An item's number is a word of the quote, and not of the sentence.
            for line in quote.splitlines():
                found |= self._run(_MARK.sub("", line))
        return frozenset(found)

    def _run(self, text: str) -> set[int]:
        words = _words(plain_lower(fold(text)))
        if not words:
            return set()
        for start in range(len(self._words) - len(words) + 1):
            if self._words[start : start + len(words)] == words:
                return set(self._unit_of[start : start + len(words)])
        return set()


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)
