"""A text in clauses: what stands beside a value, before it, and among what."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from runner.benchmarks.agentbench.judging.moments import dates, times
from runner.benchmarks.agentbench.judging.quantities import quantities
from runner.benchmarks.agentbench.judging.wanted import ValueKind, ValueMention, wanted

DENIED_WORDS = 8
"""How far before a value a `not` may stand."""

WORD = re.compile(r"[^\W_]+(?:[.'-][^\W_]+)*")
_STOP = frozenset(
    "an the of in on at to for from by with and or is are was were be it its this that as has "
    "have had will would into than then so which".split()
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n")
_CLAUSE_END = re.compile(
    r"\n|[.!?](?=\s|$)|[,;|](?=\s|$|[^\d\s])|\s[–—]\s|\b(?:and|but|while|whereas)\b"
)
DENIAL = re.compile(
    r"\b(?:not(?!\s+(?:only|just|counting|including))|\w+n't|never|neither|nor|cannot"
    r"|rather than|instead of|other than|no longer|far from|anything but|doubt|unlikely|hardly"
    r"|(?:wrong|incorrect|false|untrue)\s+(?:to|that))\b",
    re.IGNORECASE,
)
RESTART = re.compile(
    r"[,;:(–—-]\s*(?:it|they|this|that|the|there|so|we|i|you|which|because|since|but|as|and)"
    r"(?:'s|'re)?\b|[;:]|\bbut\b",
    re.IGNORECASE,
)
DENIED_BEHIND = re.compile(
    r"[\s)\"']*(?:(?:is|was|are|were|would be|being|seems|looks|being)\s+"
    r"(?:(?:clearly|certainly|obviously|simply|definitely)\s+)?"
    r"(?:not\s*(?:right|correct|true|the|it\b|what|valid|[.,;!]|$)|wrong|incorrect|false|untrue)"
    r"|(?:isn't|wasn't|aren't)\s*(?:right|correct|true|the|it\b|what|[.,;!]|$)"
    r"|(?:can|could)(?:not| not|n't) be\b)",
    re.IGNORECASE,
)
# "2 or fewer" offers nothing else.
_OR = r",?\s+or\s+(?!(?:more|fewer|less|above|below|higher|lower|over|under)\b)"
OR_BEHIND = re.compile(
    rf"[^,.;:\n]{{0,12}}?(?:,[^,.;\n]{{1,30}}){{0,8}}{_OR}(?P<other>[^,.;\n]{{1,40}})"
)
OR_BEFORE = re.compile(rf"(?P<other>[^,.;\n]{{1,40}}){_OR}(?:\w+\s+){{0,2}}$")
_BULLET = re.compile(r"^\s*(?:[-*•+]\s+|\d{1,4}[.)]\s+)?")
ITEM_END = re.compile(r"\n|,(?!\d{3}\b)|;|\||\s(?:or|and)\s")


def words_of(text: str) -> list[str]:
    """In small letters, without `'s`."""
    return [match[0].casefold().removesuffix("'s") for match in WORD.finditer(text)]


def sentence_end(text: str, at: int) -> int:
    match = _SENTENCE_END.search(text, at)
    return match.start() if match else len(text)


def sentence_before(text: str, at: int) -> str:
    """The sentence up to there."""
    begins = 0
    for match in _SENTENCE_END.finditer(text, max(at - 400, 0), at):
        begins = match.end()
    return text[max(begins, at - 400) : at]


def clause_around(text: str, at: int) -> str:
    begins = [match.end() for match in _CLAUSE_END.finditer(text, 0, at)]
    end = _CLAUSE_END.search(text, at)
    return text[begins[-1] if begins else 0 : end.start() if end else len(text)]


def is_asked(text: str, one: ValueMention) -> bool:
    return text[sentence_end(text, one.end) :].startswith("?")


def words_before(text: str, at: int) -> str:
    """The last words of the sentence before there."""
    before = sentence_before(text, at)
    starts = [match.start() for match in re.finditer(r"\S+", before)]
    return before[starts[-DENIED_WORDS] :] if len(starts) >= DENIED_WORDS else before


def holds_value(text: str, kind: ValueKind) -> bool:
    if kind == "date":
        return any(dates(text))
    if kind == "time":
        return any(times(text))
    if kind == "quantity":
        return any(quantities(text))
    return False


def bare(item: str) -> str:
    return _BULLET.sub("", item).strip(" .,;|:()[]\"'\n")


def is_bare(kind: ValueKind, item: str) -> bool:
    """Is it nothing but such a value, or at most three words? An empty line ends no list."""
    if not item:
        return True
    if kind == "words":
        return len(item.split()) <= 3
    return wanted(item).kind == kind


class Clauses:
    """A text in clauses, and where values stand in it."""

    def __init__(self, text: str, values: Iterable[ValueMention]) -> None:
        self.text = text
        self.values = sorted(values, key=lambda one: one.start)
        self._starts = [one.start for one in self.values]
        self._begins = [0, *(match.end() for match in _CLAUSE_END.finditer(text))]

    def beside(self, one: ValueMention, *, strict: bool = False) -> set[str]:
        """The words of a value's clause, and of clauses without a value before it.

        Where a clause has two values, what stands between them may be either's: `strict` leaves it
        out.
        """
        first, end = self._around(one.start)
        place = bisect_left(self._starts, one.start)
        before, behind = self.values[:place][-1:], self.values[place:]
        behind = [other for other in behind[:2] if one.end <= other.start < end]
        left = right = 0
        if before:
            # What leads to this clause belongs to it, from the last value's clause on.
            left = before[0].end if before[0].start >= first else self._around(before[0].start)[1]
        right = behind[0].start if behind else end
        if strict and before and before[0].start >= first:
            left = one.start
        if strict and behind:
            right = one.end
        return labels_of(self.text[left : one.start]) | labels_of(self.text[one.end : right])

    def _around(self, at: int) -> tuple[int, int]:
        """Where the clause of a place begins and ends."""
        place = bisect_right(self._begins, at) - 1
        return self._begins[place], [*self._begins[place + 1 : place + 2], len(self.text)][0]


def labels_of(text: str) -> set[str]:
    """Words that may name a thing; `a` is one in `Series A` alone."""
    words = set()
    for match in WORD.finditer(text):
        is_article = match[0] == "a" or (match[0] == "A" and match.start() == 0)
        if not is_article:
            words.add(match[0].casefold().removesuffix("'s"))
    return words - _STOP
