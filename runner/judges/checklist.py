"""The `checklist` judge: reads an answer for the facts its rubric lists, with no model, the same way every time.

A passage is one to three neighbouring sentences (at most 70 words) with the headings, items or JSON fields they stand under. A fact is
said where a passage matches one alternative of every group of its `terms`, at least one of them in its own words. What that earns:

    1.00  the passage, or what it stands under, cites one of the fact's places (±5 lines); or the fact asks for none
    0.75  the fact is said here and its place is cited elsewhere in the step's answer
    0.35  said, and its place is cited nowhere
    0.10  said with another line of the right file: an invented line is worse than none, and where a step has more of them than right
          ones, its facts without places are worth 0.4

A criterion scores the weighted mean of its facts, a step Σ weight × criterion, a scenario the mean of its steps; a step without prose is 0.

Each rule below turns away one way of gaming this, and tests/judges/test_checklist.py holds that cheat:

- keyword soup: without the right place, a passage earns only as a statement, with words of its own between the terms (`_is_statement`)
- one passage for everything: a sentence may carry a few facts (`_capacity`) and places (`MAX_PLACES`)
- the same sentence at every line: repeated wordings share one allowance of places
- a spray: past an allowance, places in a step lose their worth (`spray_share`)
- the prompt or the rubric's questions, pasted: what was given to the agent is not its answer
- a wide range (`app.py:1-2000`): it points at nothing
- both the fact and its opposite: negated where its own words are not, or `never`, takes the credit away
"""

from __future__ import annotations

import bisect
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from runner.code_identity import code_digest, module_files
from runner.grounding.pointing import points_at, same_file, spray_share
from runner.judges.passages import MAX_WORDS, Block, Place, Unit, blocks_of, plain
from runner.records import (
    AnswerStep,
    Criterion,
    CriterionVerdict,
    Fact,
    MustCite,
    Rubric,
    RubricStep,
    StepVerdict,
    Verdict,
    digest_of,
)
from runner.text import fold

SEMANTICS = "1"
"""Raised when what a rubric means changes; the source's digest catches what nobody thought of raising it for."""

CITED, APART, UNCITED, MISCITED = 1.0, 0.75, 0.35, 0.10
CONTRADICTED = 0.4
"""Share that is left of a fact that the answer also denies."""
MAX_PLACES = 8
"""Distinct places one passage, or one wording repeated, may cite and still be pointing at something."""
MAX_ROW = 25
"""Words of a table row or item that needs no function word."""
DISTRUST = 0.4
"""Share left of facts without places where an answer points wrong more often than right."""


class Checklist:
    """A `Judge` that needs no model: see the module's docstring for what it asks of an answer."""

    deterministic = True

    def __init__(self) -> None:
        """The identity digests the semantics version and what the code does.

        A change of either makes every stored verdict stale.
        """
        code = [
            *module_files("runner.judges", "checklist", "passages"),
            *module_files("runner.grounding", "pointing"),
            *module_files("runner.scoring", "keywords"),
            *module_files("runner", "text"),
        ]
        self.name = "checklist"
        self.identity = digest_of([self.name, SEMANTICS, code_digest(code)])

    def judge(
        self, rubric: Rubric, answer: Sequence[AnswerStep], must_find: Sequence[Sequence[MustCite]]
    ) -> Verdict:
        """`answer` and `must_find`: one per step of the scenario, in its order. A rubric step without an answer scores 0."""
        said = {
            step.name: (step, tuple(places)) for step, places in zip(answer, must_find, strict=True)
        }
        steps = tuple(_judge_step(step, *said.get(step.name, (None, ()))) for step in rubric.steps)
        return Verdict(
            judge=self.name,
            identity=self.identity,
            inputs=verdict_inputs(rubric, answer, must_find),
            quality=math.fsum(step.quality for step in steps) / len(steps),
            steps=steps,
        )


def verdict_inputs(
    rubric: Rubric, answer: Sequence[AnswerStep], must_find: Sequence[Sequence[MustCite]]
) -> str:
    """Digest of everything a judge is given, and of nothing else."""
    return digest_of(
        {
            "rubric": rubric.model_dump(mode="json"),
            "answer": [step.model_dump(mode="json") for step in answer],
            "must_find": [
                [place.model_dump(mode="json") for place in places] for places in must_find
            ],
        }
    )


def _judge_step(
    step: RubricStep, answer: AnswerStep | None, must_find: Sequence[MustCite]
) -> StepVerdict:
    if answer is None or not answer.text.strip():
        nothing = {
            name: CriterionVerdict(score=0.0, reason="the step has no answer")
            for name in step.criteria
        }
        return StepVerdict(name=step.name, quality=0.0, criteria=nothing)
    found = _Reading(step, answer, must_find).credits()
    criteria = {
        name: _judge_criterion(criterion, found) for name, criterion in step.criteria.items()
    }
    # fsum: plain sums round otherwise from one Python to the next, and the gate compares verdicts by their bytes.
    quality = math.fsum(
        step.criteria[name].weight * verdict.score for name, verdict in criteria.items()
    )
    return StepVerdict(name=step.name, quality=min(1.0, quality), criteria=criteria)


def _judge_criterion(criterion: Criterion, earned: dict[int, _Credit]) -> CriterionVerdict:
    found = [(fact, earned[id(fact)]) for fact in criterion.facts]
    score = math.fsum(fact.weight * credit.worth for fact, credit in found) / math.fsum(
        fact.weight for fact in criterion.facts
    )
    met = sum(credit.worth == CITED for _, credit in found)
    short = "; ".join(
        f"{credit.why}: {fact.says}" for fact, credit in found if credit.worth < CITED
    )
    return CriterionVerdict(
        score=min(1.0, score),
        reason=f"{met} of {len(found)} facts" + (f"; {short}" if short else ""),
    )


@dataclass(frozen=True)
class _Credit:
    worth: float
    why: str
    """Why it is not whole."""


_ELSEWHERE = "cited at another line"


@dataclass(frozen=True)
class _Passage:
    units: tuple[int, ...]
    """Positions in the reading's units."""
    places: frozenset[Place]


class _Reading:
    """One step's answer, cut into passages, and what is left of each sentence's capacity for facts."""

    def __init__(self, step: RubricStep, answer: AnswerStep, must_find: Sequence[MustCite]) -> None:
        self.facts = facts = [
            fact for criterion in step.criteria.values() for fact in criterion.facts
        ]
        given = _shingles(
            [answer.prompt, *(criterion.question for criterion in step.criteria.values())]
        )
        blocks = [
            [unit for unit in block if not _is_given(unit, given)]
            for block in blocks_of(answer.text)
        ]
        self.units = [unit for block in blocks for unit in block]
        self.own = _Text([unit.text for unit in self.units])
        self.above = _Text([unit.context.text for unit in self.units])
        crowded = _crowded(self.units)
        self.passages = list(_passages(blocks, crowded))
        self.places = {
            place for unit in self.units if _wording(unit) not in crowded for place in unit.places
        }
        gold = {
            (place.path, place.line)
            for place in (*must_find, *(cite for fact in facts for cite in fact.cites))
        }
        cited = len({place for unit in self.units for place in unit.places})
        self.trust = spray_share(cited, len(gold))
        vocabulary = {
            word
            for fact in facts
            for group in fact.terms
            for term in group
            for word in _words(plain(fold(term)))
        }
        self.own_words = [_own_words(unit, vocabulary, given) for unit in self.units]
        self.capacity = [_capacity(unit) for unit in self.units]

    def credits(self) -> dict[int, _Credit]:
        """By the fact's id(): two criteria may ask for equal facts.

        Facts with places come first. Where an answer points wrong more often than right, its other statements are worth less too: it
        reads as if it had looked, and had not.
        """
        found = {id(fact): self._credit(fact) for fact in self.facts if fact.cites}
        wrong = sum(credit.why == _ELSEWHERE for credit in found.values())
        right = sum(credit.worth >= APART for credit in found.values())
        for fact in self.facts:
            if not fact.cites:
                credit = self._credit(fact)
                doubted = credit.worth and wrong > right
                found[id(fact)] = (
                    _Credit(credit.worth * DISTRUST, "said beside wrong places")
                    if doubted
                    else credit
                )
        return found

    def _credit(self, fact: Fact) -> _Credit:
        """The best passage's credit. Takes from the capacity of the sentences that say it."""
        hits = _Hits(fact, self)
        options = [
            (self._option(fact, passage), passage.units)
            for passage in self.passages
            if hits.says(passage)
        ]
        options.sort(key=lambda option: (-option[0].worth, len(option[1])))
        for credit, units in options:
            if credit.worth and all(self.capacity[unit] for unit in units):
                for unit in units:
                    self.capacity[unit] -= 1
                return (
                    _Credit(credit.worth * CONTRADICTED, "said and denied")
                    if hits.denied
                    else credit
                )
        if options:
            return _Credit(0.0, "said among too many" if options[0][0].worth else options[0][0].why)
        return _Credit(0.0, "denied" if hits.denied else "missing")

    def _option(self, fact: Fact, passage: _Passage) -> _Credit:
        """What one passage that says the fact would earn."""
        spray, cited = self.trust < 1, _cited(fact, passage.places)
        if (spray or not cited) and not self._is_statement(passage):
            return _Credit(0.0, "only its words")
        if cited:
            return _Credit(CITED * self.trust, "cited in a spray")
        if not fact.cites:
            return _Credit(CITED, "")
        if _cited(fact, self.places):
            return _Credit(APART * self.trust, "cited in a spray" if spray else "cited elsewhere")
        if any(same_file(place.path, cite.path) for place in passage.places for cite in fact.cites):
            return _Credit(MISCITED, _ELSEWHERE)
        return _Credit(UNCITED, "uncited")

    def _is_statement(self, passage: _Passage) -> bool:
        """Either words between the terms, at least three and a sixth of all, one of them a function word: what a list of keywords lacks.

        Or a short row or item that cites a place, in a step that is no spray: structured answers have no function words.
        """
        words = [word for unit in passage.units for word in self.own_words[unit]]
        length = sum(self.units[unit].words for unit in passage.units)
        if len(words) >= max(3, length / 6) and any(word in _FUNCTION_WORDS for word in words):
            return True
        return length <= MAX_ROW and bool(passage.places) and self.trust == 1.0


def _cited(fact: Fact, places: frozenset[Place] | set[Place]) -> bool:
    return any(
        points_at(place.path, place.start, place.end, cite)
        for cite in fact.cites
        for place in places
    )


def _capacity(unit: Unit) -> int:
    return 4 + unit.words // 15


def _passages(blocks: Sequence[Block], crowded: frozenset[str]) -> Iterator[_Passage]:
    """Every window of one to three neighbouring units of a block that is short enough to be one statement."""
    first = 0
    for block in blocks:
        for start in range(len(block)):
            words, places = 0, set(block[start].context.places)
            for end in range(start, min(start + 3, len(block))):
                unit = block[end]
                words += unit.words
                if words > MAX_WORDS and end > start:
                    break
                own = set() if _wording(unit) in crowded else set(unit.places)
                places |= own
                yield _Passage(
                    tuple(range(first + start, first + end + 1)),
                    frozenset(places if len(places) <= MAX_PLACES else ()),
                )
        first += len(block)


_PATH_MARK = re.compile(r"[./\\]")
_NO_LETTER = re.compile(r"[^\w\s]|\d")


def _wording(unit: Unit) -> str:
    """The unit without numbers and paths: what a spray repeats."""
    words = (word for word in unit.text.split() if not _PATH_MARK.search(word))
    return _NO_LETTER.sub("", " ".join(words))


def _crowded(units: Sequence[Unit]) -> frozenset[str]:
    """Wordings that, all repetitions together, cite more places than one statement points at. Empty wordings are lists of places."""
    places: dict[str, set[Place]] = defaultdict(set)
    for unit in units:
        places[_wording(unit)].update(unit.places)
    return frozenset(
        wording for wording, cited in places.items() if len(cited) > MAX_PLACES and wording.strip()
    )


# --- terms ----------------------------------------------------------------------------------

_GAP = "\n\x00\n"


class _Text:
    """Many short texts searched as one, so that a term costs one pass and not one a sentence."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.joined = _GAP.join(texts)
        self.starts = [0]
        for text in texts[:-1]:
            self.starts.append(self.starts[-1] + len(text) + len(_GAP))

    def spans(self, term: str) -> Iterator[tuple[int, int, int]]:
        """(which text, start, end in it) of each match of a term."""
        head, pattern = term_pattern(term)
        at = self.joined.find(head)
        while at >= 0:
            match = pattern.match(self.joined, at)
            if match:
                index = bisect.bisect_right(self.starts, at) - 1
                yield index, at - self.starts[index], match.end() - self.starts[index]
            at = self.joined.find(head, match.end() if match else at + 1)


class _Hits:
    """Where a fact's terms stand."""

    def __init__(self, fact: Fact, reading: _Reading) -> None:
        own = [_spans(reading.own, group) for group in fact.terms]
        self.above = [set(_spans(reading.above, group)) for group in fact.terms]
        self.own = [set(spans) for spans in own]
        everywhere = set.intersection(*self.own)
        self.denied = {
            unit
            for unit in everywhere
            if not _NEGATION.search(fact.says.lower()) and _is_negated(unit, own, reading)
        }
        never = set(_spans(reading.own, fact.never)) if fact.never else set()
        self.denied |= never & (self.own[0] | self.above[0])

    def says(self, passage: _Passage) -> bool:
        units = passage.units
        if not self.denied.isdisjoint(units):
            return False
        in_own = [any(unit in group for unit in units) for group in self.own]
        return any(in_own) and all(
            found or any(unit in group for unit in units)
            for found, group in zip(in_own, self.above, strict=True)
        )


def _spans(text: _Text, group: Sequence[str]) -> dict[int, list[tuple[int, int]]]:
    spans: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for term in group:
        for index, start, end in text.spans(term):
            spans[index].append((start, end))
    return spans


@lru_cache(maxsize=8192)
def term_pattern(term: str) -> tuple[str, re.Pattern[str]]:
    """A term as whole words in lower-case text; a space matches spaces or hyphens, a `*` after a letter any more letters (`dispatch*`).

    With the plain text every match begins with: finding that first is five times as fast as letting the pattern search.
    """
    folded = plain_term(term)
    starred = r"(?<=\w)\\\*"
    body = r"[\s-]+".join(re.sub(starred, r"\\w*", re.escape(part)) for part in folded.split())
    before = r"(?<!\w)" if re.match(r"\w", folded) else ""
    after = r"(?!\w)" if re.search(r"\w\*?\Z", folded) else ""
    return re.split(r"[\s*]", folded, maxsplit=1)[0], re.compile(before + body + after)


def plain_term(term: str) -> str:
    """Raises ValueError for a term that nothing is left of."""
    folded = re.sub(r"(?<!\w)\*+|`", "", fold(term)).strip().lower()
    if not folded:
        raise ValueError(f"the term {term!r} would match everything")
    return folded


_NEGATION = re.compile(
    r"\b(?:not(?!\s+(?:only|just|merely|yet))|never|cannot|without|nor|neither|no longer|instead of|rather than)\b|\b\w+n't\b"
)
_CLAUSE_END = re.compile(r"[.,;:()\n—–]\s|[;()—–]|\bbut\b|\band\b|\bso\b|\bunless\b|\buntil\b")
_REACH = re.compile(r"(?:\s*\S+){0,5}")
"""The words after a negation that it can deny."""


def _is_negated(
    unit: int, own: Sequence[dict[int, list[tuple[int, int]]]], reading: _Reading
) -> bool:
    """Is every match of some group within reach of a negation that is not itself part of a term?"""
    text = reading.own.texts[unit]
    terms = [span for group in own for span in group[unit]]
    zones = []
    for cue in _NEGATION.finditer(text):
        if any(start <= cue.start() < end for start, end in terms):
            continue
        zones.append((cue.end(), _reach(text, cue.end())))
    return any(
        all(any(low <= start < high for low, high in zones) for start, _ in group[unit])
        for group in own
    )


def _reach(text: str, start: int) -> int:
    words, clause = _REACH.match(text, start), _CLAUSE_END.search(text, start)
    return min(words.end() if words else len(text), clause.start() if clause else len(text))


# --- words ----------------------------------------------------------------------------------

_FUNCTION_WORDS = frozenset(
    "a an the this that these those it its they their which who whose what where when while if then than so as because since "
    "is are was were be been being has have had does do did can could may might must should will would "
    "of to in on at by for from with into onto through over under between before after until via per and or but not no nor only also "
    "each every any all both either there here how why once again".split()
)
_SHINGLE = 5
_GIVEN_SHARE = 0.6


def _words(text: str) -> list[str]:
    """Ordinary words: lower-case letters alone, so no identifier, path or number."""
    return re.findall(r"(?<![\w./:\\-])[a-z]+(?:'[a-z]+)?(?![\w/\\(]|[.:]\w)", text)


def _shingles(texts: Sequence[str]) -> frozenset[tuple[str, ...]]:
    """Every run of five words of what the agent was given."""
    found: set[tuple[str, ...]] = set()
    for text in texts:
        words = re.findall(r"\w+", plain(fold(text)))
        found.update(tuple(words[at : at + _SHINGLE]) for at in range(len(words) - _SHINGLE + 1))
    return frozenset(found)


def _given_words(unit: Unit, given: frozenset[tuple[str, ...]]) -> tuple[int, Counter[str]]:
    """(words in the unit, those of them that stand in a run of five the agent was given)."""
    words = re.findall(r"\w+", unit.text)
    marked: set[int] = set()
    for at in range(len(words) - _SHINGLE + 1):
        if tuple(words[at : at + _SHINGLE]) in given:
            marked.update(range(at, at + _SHINGLE))
    return len(words), Counter(words[at] for at in marked)


def _is_given(unit: Unit, given: frozenset[tuple[str, ...]]) -> bool:
    total, copied = _given_words(unit, given)
    return copied.total() > _GIVEN_SHARE * total


def _own_words(unit: Unit, vocabulary: set[str], given: frozenset[tuple[str, ...]]) -> list[str]:
    """Ordinary words of the unit that are no term's and not copied."""
    _, copied = _given_words(unit, given)
    return [word for word in _words(unit.text) if word not in vocabulary and word not in copied]
