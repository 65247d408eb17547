"""The passage of a step's answer that a fact would be stated in, if it is stated at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from runner.records import Fact
from runner.scoring.judges.checklist.parsed_answer import ParsedAnswer, Passage
from runner.scoring.judges.checklist.synonyms import other_words
from runner.scoring.judges.checklist.terms import SearchableTexts, plain_term


class Nearest:
    """The passages of one step's answer, as the checklist cuts them (reading.py)."""

    def __init__(self, reading: ParsedAnswer) -> None:
        self.reading = reading
        # What is asked, or called false, is read as well: it is the model that decides here.
        self._own = SearchableTexts([unit.text for unit in reading.units])
        self._words = [_words(unit.text) for unit in reading.units]

    def passage(self, fact: Fact) -> range | None:
        """Its units; None if no passage has a word or term of the fact.

        The most groups of terms count, then the fact's own words; of equals, the shortest, and of
        these the first.
        """
        groups = [self._units_with(group) for group in fact.terms]
        says = _words(plain_term(fact.says))
        if not self.reading.passages:
            return None
        ranked = [(self._near(one, groups, says), one) for one in self.reading.passages]
        (groups_found, words_found, _), best = max(ranked, key=lambda item: item[0])
        return best.units if groups_found or words_found else None

    def _units_with(self, group: tuple[str, ...]) -> set[int]:
        terms = (*group, *other_words(group))
        return {*self._own.spans(terms), *self.reading.above.spans(terms)}

    def _near(
        self, passage: Passage, groups: Sequence[set[int]], says: frozenset[str]
    ) -> tuple[int, int, int]:
        found = sum(not group.isdisjoint(passage.units) for group in groups)
        words = frozenset[str]().union(*(self._words[unit] for unit in passage.units))
        return found, len(says & words), -len(passage.units)


def _words(text: str) -> frozenset[str]:
    return frozenset(_stems(re.findall(r"\w+", text)))


def _stems(words: Iterable[str]) -> Iterable[str]:
    """Without endings, and without the words that every sentence has."""
    for word in words:
        if len(word) > _SHORT:
            yield word[:_STEM]


_SHORT, _STEM = 3, 6
