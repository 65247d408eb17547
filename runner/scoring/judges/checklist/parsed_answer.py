"""One step's answer as the checklist reads it: its sentences, passages and places."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, filterfalse
from pathlib import PurePosixPath

from runner.grounding.pointing import spray_share
from runner.records import AnswerStep, Fact, MustCite, RubricStep
from runner.scoring.judges.checklist.cited_places import Place, with_files
from runner.scoring.judges.checklist.fluency import fluency_of, order_share
from runner.scoring.judges.checklist.hidden import visible
from runner.scoring.judges.checklist.passages import text_blocks
from runner.scoring.judges.checklist.sentences import (
    MAX_PLACES,
    MAX_WORDS,
    Sentence,
    TextBlock,
    plain_lower,
)
from runner.scoring.judges.checklist.terms import SearchableTexts
from runner.support.text import fold

MUTE_PLACES = 3
"""Places a step may cite for each it is asked for until a place alone is worth less: most answers
have fewer, the outline of the right files has more."""
PROSE_WORDS = 12
MAX_UNITS = 3
"""Neighbouring sentences that make a passage."""

FactKey = tuple[str, int]
"""Name of a fact's criterion, and the fact's index in it. Two criteria may ask for equal facts."""


def facts_of(step: RubricStep) -> dict[FactKey, Fact]:
    """Every fact that a step asks for, in the rubric's order."""
    facts: dict[FactKey, Fact] = {}
    for name, criterion in step.criteria.items():
        for index, fact in enumerate(criterion.facts):
            facts[name, index] = fact
    return facts


@dataclass(frozen=True, kw_only=True)
class Passage:
    """One to three neighbouring sentences, short enough to be one statement."""

    units: range
    """Positions in the reading's units."""
    places: frozenset[Place]
    """Cited in it or by what it stands under; none if they are too many to point at any."""


class ParsedAnswer:
    """One step's answer without what was given to the agent, cut into passages."""

    def __init__(self, step: RubricStep, answer: AnswerStep, must_find: Sequence[MustCite]) -> None:
        facts = list(facts_of(step).values())
        given = _given_to_agent(step, answer)
        blocks = list(map(given.left_out, text_blocks(with_files(visible(answer.text)))))
        self.units = list(chain.from_iterable(blocks))
        self.own = SearchableTexts([unit.said for unit in self.units])
        self.above = SearchableTexts([unit.context.text for unit in self.units])
        crowded = _crowded(self.units)
        self.passages = list(_passages(blocks, crowded))
        self.places = _places(self.units, apart_from=crowded)
        """Places that some sentence points at, anywhere in the step."""
        cited, asked_for = len(_places(self.units)), _count_places(facts, must_find)
        self.trust = spray_share(cited, asked_for)
        """What a place is worth: 1, or less if the step is a spray of them."""
        self.choice = min(1.0, MUTE_PLACES * asked_for / max(1, cited))
        """What a place of which nothing is said is worth: less if the step hardly chooses."""
        vocabulary = _vocabulary(facts)
        self._own_words = [given.own_words(unit, vocabulary) for unit in self.units]
        self._fluency = [fluency_of(unit.text) for unit in self.units]
        self.order = order_share(self._fluency)
        """What is left of everything, in [0, 1], if the words of the step are in no order."""
        each = zip(self._fluency, self.units, strict=True)
        self.prose_order = order_share([one for one, unit in each if unit.words >= PROSE_WORDS])
        """The same of its sentences: items of a list are too short to tell."""

    @property
    def is_spray(self) -> bool:
        return self.trust < 1

    def quote(self, units: range) -> str:
        """Some neighbouring sentences as they are written."""
        return " ".join(self.units[unit].written for unit in units)

    def length(self, passage: Passage) -> int:
        """Words of a passage."""
        return sum(self.units[unit].words for unit in passage.units)

    def is_in_order(self, passage: Passage) -> bool:
        """Do its words follow one another as words of a sentence do?"""
        return order_share([self._fluency[unit] for unit in passage.units]) > 0

    def own_words(self, passage: Passage) -> list[str]:
        """Ordinary words of a passage that are no term's and not copied."""
        words: list[str] = []
        for unit in passage.units:
            words += self._own_words[unit]
        return words


def _given_to_agent(step: RubricStep, answer: AnswerStep) -> GivenToAgent:
    """The prompt, and the rubric's questions too: pasted, they are no answer."""
    texts = [answer.prompt]
    for criterion in step.criteria.values():
        texts.append(criterion.question)
    return GivenToAgent(texts)


def _places(units: Iterable[Sentence], apart_from: Collection[str] = ()) -> frozenset[Place]:
    """Distinct places of the units, without the units of some wordings."""
    places: set[Place] = set()
    for unit in units:
        if wording(unit) not in apart_from:
            places.update(unit.places)
    return frozenset(places)


def _count_places(facts: Iterable[Fact], must_find: Iterable[MustCite]) -> int:
    """Distinct places that a step asks for."""
    asked_for = list(must_find)
    for fact in facts:
        asked_for += fact.cites
    return len({(place.path, place.line) for place in asked_for})


# --- passages -------------------------------------------------------------------------------


def _passages(blocks: Sequence[TextBlock], crowded: frozenset[str]) -> Iterator[Passage]:
    """Every window of neighbouring units of a block that is short enough to be one statement."""
    first = 0
    for block in blocks:
        for start in range(len(block)):
            yield from _passages_from(block, start, first, crowded)
        first += len(block)


def _passages_from(
    block: TextBlock, start: int, first: int, crowded: frozenset[str]
) -> Iterator[Passage]:
    """The passages that begin with one unit. `first`: the position of the block's first unit."""
    words = 0
    places = frozenset(block[start].context.places)
    for end, unit in enumerate(block[start : start + MAX_UNITS], start):
        words += unit.words
        if words > MAX_WORDS and end > start:
            break
        places |= _places([unit], apart_from=crowded)
        units = range(first + start, first + end + 1)
        yield Passage(units=units, places=_pointed_at(places))


def _pointed_at(places: frozenset[Place]) -> frozenset[Place]:
    """None of them if they are too many for one statement."""
    if len(places) > MAX_PLACES:
        return frozenset()
    return places


_NO_LETTER = re.compile(r"[^\w\s]|\d")


def wording(unit: Sentence) -> str:
    """The unit without numbers and paths: what a spray repeats."""
    cited = frozenset(PurePosixPath(place.path).name.lower() for place in unit.places)
    return _without_paths(unit.text, cited)


@lru_cache(maxsize=16_384)
def _without_paths(text: str, cited: frozenset[str]) -> str:
    # `Path.convert` is no path: without it, ten callers in ten rows would be one row ten times.
    words = [word for word in text.split() if not _is_path(word, cited)]
    return _NO_LETTER.sub("", " ".join(words))


def _is_path(word: str, cited: Collection[str]) -> bool:
    return "/" in word or "\\" in word or any(name in word for name in cited)


def _crowded(units: Sequence[Sentence]) -> frozenset[str]:
    """Wordings that, with all repetitions, cite more places than one statement points at."""
    places: dict[str, set[Place]] = defaultdict(set)
    for unit in units:
        places[wording(unit)].update(unit.places)
    crowded = set()
    for text, cited in places.items():
        # An empty wording is a list of places: each row of it is another statement.
        if len(cited) > MAX_PLACES and text.strip():
            crowded.add(text)
    return frozenset(crowded)


# --- words ----------------------------------------------------------------------------------

_SHINGLE = 5
"""Words in a row that are copied and no coincidence."""
_GIVEN_SHARE = 0.6
"""Of a sentence's words: with more of them copied, the sentence is not the answer's own."""
_ORDINARY = re.compile(
    r"""
    (?<![\w./:\\-])       # not the `py` of app.py
    [a-z]+(?:'[a-z]+)?    # don't
    (?![\w/\\(]|[.:]\w)   # not `calls(`, nor the `app` of app.py
    """,
    re.VERBOSE,
)


def ordinary_words(text: str) -> list[str]:
    """Lower-case letters alone, so no identifier, path or number."""
    return _ORDINARY.findall(text)


def _vocabulary(facts: Iterable[Fact]) -> frozenset[str]:
    """The ordinary words of all terms."""
    words: set[str] = set()
    for fact in facts:
        for group in fact.terms:
            for term in group:
                words.update(ordinary_words(plain_lower(fold(term))))
    return frozenset(words)


class GivenToAgent:
    """What the agent was given (the prompt, and the rubric's questions), to know it again."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._shingles: set[tuple[str, ...]] = set()
        for text in texts:
            self._shingles.update(_shingles(_all_words(plain_lower(fold(text)))))

    def left_out(self, block: TextBlock) -> TextBlock:
        """The block without the sentences that are mostly copied."""
        return list(filterfalse(self._is_copied, block))

    def own_words(self, unit: Sentence, vocabulary: frozenset[str]) -> list[str]:
        """Ordinary words of the unit that are no term's and not copied."""
        words = _all_words(unit.text)
        taken = set(vocabulary)
        for at in self._copied(words):
            taken.add(words[at])
        return [word for word in ordinary_words(unit.text) if word not in taken]

    def _is_copied(self, unit: Sentence) -> bool:
        words = _all_words(unit.text)
        return len(self._copied(words)) > _GIVEN_SHARE * len(words)

    def _copied(self, words: Sequence[str]) -> set[int]:
        """Positions of the words that stand in a run of five the agent was given."""
        copied: set[int] = set()
        for at, shingle in enumerate(_shingles(words)):
            if shingle in self._shingles:
                copied.update(range(at, at + _SHINGLE))
        return copied


def _all_words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def _shingles(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Every run of five words, in order."""
    for at in range(len(words) - _SHINGLE + 1):
        yield tuple(words[at : at + _SHINGLE])
