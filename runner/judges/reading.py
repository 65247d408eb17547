"""One step's answer as the checklist reads it: its sentences, passages and places."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from runner.grounding.pointing import spray_share
from runner.judges.passages import blocks_of
from runner.judges.places import Place
from runner.judges.terms import Texts
from runner.judges.units import MAX_WORDS, Block, Unit, plain
from runner.records import AnswerStep, Fact, MustCite, RubricStep
from runner.text import fold

MAX_PLACES = 8
"""Distinct places that one passage, or one wording repeated, may cite and still point at them."""
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


class Reading:
    """One step's answer without what was given to the agent, cut into passages."""

    def __init__(self, step: RubricStep, answer: AnswerStep, must_find: Sequence[MustCite]) -> None:
        facts = list(facts_of(step).values())
        questions = [criterion.question for criterion in step.criteria.values()]
        given = Given([answer.prompt, *questions])
        blocks = [given.left_out(block) for block in blocks_of(answer.text)]
        self.units = [unit for block in blocks for unit in block]
        self.own = Texts([unit.text for unit in self.units])
        self.above = Texts([unit.context.text for unit in self.units])
        crowded = _crowded(self.units)
        self.passages = list(_passages(blocks, crowded))
        self.places = _places([unit for unit in self.units if wording(unit) not in crowded])
        """Places that some sentence points at, anywhere in the step."""
        self.trust = spray_share(len(_places(self.units)), _count_places(facts, must_find))
        """What a place is worth: 1, or less if the step is a spray of them."""
        vocabulary = _vocabulary(facts)
        self.own_words = [given.own_words(unit, vocabulary) for unit in self.units]
        """Per unit, its ordinary words that are no term's and not copied."""

    def length(self, passage: Passage) -> int:
        """Words of a passage."""
        return sum(self.units[unit].words for unit in passage.units)


def _places(units: Iterable[Unit]) -> frozenset[Place]:
    places: set[Place] = set()
    for unit in units:
        places.update(unit.places)
    return frozenset(places)


def _count_places(facts: Iterable[Fact], must_find: Iterable[MustCite]) -> int:
    """Distinct places that a step asks for."""
    asked_for = list(must_find)
    for fact in facts:
        asked_for += fact.cites
    return len({(place.path, place.line) for place in asked_for})


# --- passages -------------------------------------------------------------------------------


def _passages(blocks: Sequence[Block], crowded: frozenset[str]) -> Iterator[Passage]:
    """Every window of neighbouring units of a block that is short enough to be one statement."""
    first = 0
    for block in blocks:
        for start in range(len(block)):
            yield from _passages_from(block, start, first, crowded)
        first += len(block)


def _passages_from(
    block: Block, start: int, first: int, crowded: frozenset[str]
) -> Iterator[Passage]:
    """The passages that begin with one unit. `first`: the position of the block's first unit."""
    words = 0
    places = set(block[start].context.places)
    for end in range(start, min(start + MAX_UNITS, len(block))):
        unit = block[end]
        words += unit.words
        if words > MAX_WORDS and end > start:
            break
        if wording(unit) not in crowded:
            places.update(unit.places)
        pointed_at = frozenset(places) if len(places) <= MAX_PLACES else frozenset[Place]()
        yield Passage(units=range(first + start, first + end + 1), places=pointed_at)


_PATH_MARK = re.compile(r"[./\\]")
_NO_LETTER = re.compile(r"[^\w\s]|\d")


def wording(unit: Unit) -> str:
    """The unit without numbers and paths: what a spray repeats."""
    words = [word for word in unit.text.split() if not _PATH_MARK.search(word)]
    return _NO_LETTER.sub("", " ".join(words))


def _crowded(units: Sequence[Unit]) -> frozenset[str]:
    """Wordings that, with all repetitions, cite more places than one statement points at."""
    places: dict[str, set[Place]] = defaultdict(set)
    for unit in units:
        places[wording(unit)].update(unit.places)
    crowded = [text for text, cited in places.items() if len(cited) > MAX_PLACES]
    # An empty wording is a list of places: each row of it is another statement.
    return frozenset(text for text in crowded if text.strip())


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
                words.update(ordinary_words(plain(fold(term))))
    return frozenset(words)


class Given:
    """What the agent was given (the prompt, and the rubric's questions), to know it again."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._shingles: set[tuple[str, ...]] = set()
        for text in texts:
            self._shingles.update(_shingles(_all_words(plain(fold(text)))))

    def left_out(self, block: Block) -> Block:
        """The block without the sentences that are mostly copied."""
        return [unit for unit in block if not self._is_copied(unit)]

    def own_words(self, unit: Unit, vocabulary: frozenset[str]) -> list[str]:
        """Ordinary words of the unit that are no term's and not copied."""
        words = _all_words(unit.text)
        copied = {words[at] for at in self._copied(words)}
        ordinary = ordinary_words(unit.text)
        return [word for word in ordinary if word not in vocabulary and word not in copied]

    def _is_copied(self, unit: Unit) -> bool:
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
