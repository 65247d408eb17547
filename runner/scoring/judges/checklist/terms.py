"""Where a fact's terms stand in a step's sentences, and whether they are denied there."""

from __future__ import annotations

import bisect
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain

from runner.records import Fact
from runner.scoring.judges.checklist.opposites import is_turned
from runner.scoring.judges.checklist.synonyms import other_words
from runner.support.text import at_word_edges, fold

TermSpan = tuple[int, int]
"""Start and end of a match, in characters of its text."""
_GAP = "\n\x00\n"
"""Stands between texts that are searched as one: no term can match across it."""


class SearchableTexts:
    """Many short texts searched as one, so that a term costs one pass and not one a sentence."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self._joined = _GAP.join(texts)
        self._starts = [0]
        for text in texts[:-1]:
            self._starts.append(self._starts[-1] + len(text) + len(_GAP))

    def spans(self, terms: Sequence[str]) -> dict[int, list[TermSpan]]:
        """The matches of any of the terms, by the position of the text they stand in."""
        found: dict[int, list[TermSpan]] = {}
        for term in terms:
            for start, end in self._matches(term):
                index = bisect.bisect_right(self._starts, start) - 1
                offset = self._starts[index]
                found.setdefault(index, []).append((start - offset, end - offset))
        return found

    def _matches(self, term: str) -> Iterator[TermSpan]:
        head, pattern = term_pattern(term)
        at = self._joined.find(head)
        while at >= 0:
            match = pattern.match(self._joined, at)
            if match:
                yield match.span()
            at = self._joined.find(head, match.end() if match else at + 1)


class FactHits:
    """The sentences that a fact's terms stand in, or stand above, and those that deny the fact."""

    def __init__(self, fact: Fact, own: SearchableTexts, above: SearchableTexts) -> None:
        """`own`: the sentences; `above`: what each of them stands under."""
        # A denial has to be in the author's words: other words may be of another fact.
        spans = [own.spans(group) for group in fact.terms]
        self._own = [set(group) for group in spans]
        self._above = [set(above.spans(group)) for group in fact.terms]
        opposites = set(own.spans(fact.never)) & (self._own[0] | self._above[0])
        negated = _negated(fact, own, spans)
        self.denied = opposites
        """Positions of the sentences that say the fact's opposite, whatever others say."""
        if not _NEGATION.search(plain_term(fact.says)):
            self.denied = opposites | negated
        self.wrong = self.denied | negated | self._turned(fact, own)
        """Positions of the sentences that name all of the fact, and do not say it."""
        for at, group in enumerate(fact.terms):
            others = other_words(group)
            self._own[at].update(own.spans(others))
            self._above[at].update(above.spans(others))

    def _turned(self, fact: Fact, own: SearchableTexts) -> set[int]:
        says = affirmed(plain_term(fact.says))
        everywhere = [mine | above for mine, above in zip(self._own, self._above, strict=True)]
        named = set[int]().union(*self._own).intersection(*everywhere)
        return {unit for unit in named if is_turned(says, affirmed(own.texts[unit]))}

    def are_in(self, units: Collection[int]) -> bool:
        """Does every group match in these sentences or above them, and one of them in these?"""
        if not self.wrong.isdisjoint(units):
            return False
        is_own = False
        for own, above in zip(self._own, self._above, strict=True):
            if not own.isdisjoint(units):
                is_own = True
            elif above.isdisjoint(units):
                return False
        return is_own


# --- a term ---------------------------------------------------------------------------------

_STAR_ENDING = re.compile(r"(?<=\w)\\\*")
"""The star of an escaped `dispatch\\*`."""
_DRESS = re.compile(r"(?<!\w)\*+|`")
"""Emphasis and code marks: `**kwargs` is the term `kwargs`."""


@lru_cache(maxsize=8192)
def term_pattern(term: str) -> tuple[str, re.Pattern[str]]:
    """A term as whole words in lower-case text, behind the plain text that every match begins with.

    A space matches spaces or hyphens, a `*` after a letter any more letters (`dispatch*`). To find
    the beginning first is five times as fast as to let the pattern search.
    """
    folded = plain_term(term)
    body = r"[\s-]+".join(map(_word_pattern, folded.split()))
    head = re.split(r"[\s*]", folded, maxsplit=1)[0]
    return head, re.compile(at_word_edges(body, folded.removesuffix("*")))


def _word_pattern(word: str) -> str:
    return _STAR_ENDING.sub(r"\\w*", re.escape(word))


def plain_term(term: str) -> str:
    """Raises ValueError for a term that nothing is left of."""
    folded = _DRESS.sub("", fold(term)).strip().lower()
    if not folded:
        raise ValueError(f"the term {term!r} would match everything")
    return folded


# --- negation -------------------------------------------------------------------------------

_NEGATION = re.compile(
    r"""
    \b(?:
        not(?!\s+(?:only|just|merely|yet))  # "not only does it append": it does
        | never | cannot | without | nor | neither
        | no\ longer | instead\ of | rather\ than
    )\b
    | \b\w+n't\b                            # doesn't
    """,
    re.VERBOSE,
)
_CLAUSE_END = re.compile(
    r"[.,;:()\n—–]\s|[;()—–]"  # "it does not raise; `deliver` appends"
    r"|\bbut\b|\band\b|\bso\b|\bunless\b|\buntil\b"
)
_REACH = re.compile(r"(?:\s*\S{1,200}){0,5}")
"""The words after a negation that it can deny."""


def _negated(
    fact: Fact, own: SearchableTexts, spans: Sequence[dict[int, list[TermSpan]]]
) -> set[int]:
    """Positions of the sentences that hold every group of a fact's terms, and negate one.

    `spans`: each group's matches.
    """
    deniable = _deniable(fact)
    negated = set()
    for unit in set.intersection(*map(set, spans)):
        groups = [spans[at][unit] for at in deniable]
        if _is_negated(own.texts[unit], groups):
            negated.add(unit)
    return negated


@lru_cache(maxsize=4096)
def affirmed(text: str) -> str:
    """A text without the words that are negated in it."""
    parts = []
    at = 0
    for cue in _NEGATION.finditer(text):
        parts.append(text[at : cue.end()])
        at = max(at, _reach(text, cue.end()))
    return " ".join([*parts, text[at:]])


@lru_cache(maxsize=4096)
def _deniable(fact: Fact) -> tuple[int, ...]:
    """Positions of the groups whose terms the fact's own words do not negate.

    "Other errors are not caught" is said with a negation: that is no denial of it. A group that
    these words do not name may be said with one as well.
    """
    says = plain_term(fact.says)
    everything = tuple(range(len(fact.terms)))
    if not _NEGATION.search(says):
        return everything
    zones = _Union((cue.end(), _reach(says, cue.end())) for cue in _NEGATION.finditer(says))
    deniable = []
    for at in everything:
        spans = SearchableTexts([says]).spans(fact.terms[at]).get(0, [])
        if spans and not any(start in zones for start, _ in spans):
            deniable.append(at)
    return tuple(deniable)


def _is_negated(text: str, groups: Sequence[Sequence[TermSpan]]) -> bool:
    """Is every match of some group within reach of a negation that is not itself part of a term?"""
    zones = _Union(_denied_zones(text, _Union(chain.from_iterable(groups))))
    return any(_all_start_in(zones, group) for group in groups)


def _denied_zones(text: str, terms: _Union) -> Iterator[TermSpan]:
    for cue in _NEGATION.finditer(text):
        # The term `not caught` asks for its negation.
        if cue.start() not in terms:
            yield cue.end(), _reach(text, cue.end())


def _all_start_in(zones: _Union, spans: Sequence[TermSpan]) -> bool:
    return all(start in zones for start, _ in spans)


class _Union:
    """The characters that any of some spans holds: each one asked about in turn, a sentence of
    nothing but terms and negations would take quadratic time."""

    def __init__(self, spans: Iterable[TermSpan]) -> None:
        self._spans: list[TermSpan] = []
        for low, high in sorted(spans):
            last_low, last_high = self._spans[-1] if self._spans else (low, low)
            if self._spans and low <= last_high:
                self._spans[-1] = last_low, max(high, last_high)
            else:
                self._spans.append((low, high))

    def __contains__(self, at: int) -> bool:
        place = bisect.bisect_left(self._spans, (at + 1, 0)) - 1
        return place >= 0 and at < self._spans[place][1]


def _reach(text: str, start: int) -> int:
    """Where what a negation denies ends: after five words, or with its clause."""
    words = _REACH.match(text, start)
    end = words.end() if words else start
    # A clause may end behind the last word, with a blank.
    clause = _CLAUSE_END.search(text, start, end + 2)
    if clause:
        return min(end, clause.start())
    return end
