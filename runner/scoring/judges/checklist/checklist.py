"""The `checklist` judge: looks in an answer for the facts its rubric lists, with no model.

It says the same of the same answer every time. A passage is one to three neighbouring sentences
(at most 70 words) with the headings, items or JSON fields they stand under. A fact is said if a
passage matches one alternative of every group of its `terms`, at least one of them in its own
words. Other words of the field stand for a term too (`synonyms.py`). What that earns:

    1.00  the passage, or what it stands under, cites one of the fact's places (±5 lines);
          or the fact asks for none
    0.75  the fact is said here and its place is cited elsewhere in the step's answer
    0.50  the same, and another place is cited here
    0.45  said, and its place is cited nowhere
    0.40  said with another place, be it a line or a file: an invented one is worse than none
   -0.50  turned round, and nowhere said; each such fact takes from all others of its step as well

A criterion scores the weighted mean of its facts, a step Σ weight × criterion, a scenario the mean
of its steps; a step without prose is 0.

Each rule below turns away one way of gaming this; tests/judges/test_checklist.py holds that cheat:

- keyword soup: without the right place, a passage earns only as a statement, with words of its own
  between the terms (`_is_statement`)
- one passage for everything: a sentence may carry a few facts (`_capacity`) and places (MAX_PLACES)
- the same sentence at every line: repeated wordings share one allowance of places
- a spray: past an allowance, places in a step lose their worth (`spray_share`)
- the prompt or the rubric's questions, pasted: what was given to the agent is not its answer
- a wide range (`app.py:1-2000`): it points at nothing, and many that between them cover a file are
  charged by their lines
- the words of an answer in no order: they are in the order of English, or earn nothing
  (`fluency.py`); what is hidden, asked or called false is not said (`hidden.py`, `sentences.py`)
- both the fact and its opposite: a fact that is negated, or denied by a `never`, loses its credit

What words cannot do (the first two as `fairtrial verify-anchors` measures them, the others once, at
commit b9a078c2):

- tell a turned fact from a right one: of 162 references with one fact turned round by hand, 24 earn
  less than the original (15 %). Fluent and wrong anchors, graded .21 to .26, earn .48 to .73.
- rank: over 53 anchors rho is .86, and .72 over the 41 that answer anything. It screens.
- read what is right in other words: answers written to deserve .95 earn .56 and .70.
- see exchanged names (.77 of a reference with each name in the next one's place) or citations that
  were left out (.60): facts without places are known by their words alone.
- tell short rows in no order from short rows: words' order takes about ten pairs to show.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from runner.grounding.pointing import points_at, same_file
from runner.protocols import LineSource
from runner.records import (
    AnswerStep,
    Criterion,
    CriterionVerdict,
    Fact,
    FactStatus,
    FactVerdict,
    MustCite,
    Placing,
    Rubric,
    RubricStep,
    StepVerdict,
    Verdict,
    digest_of,
)
from runner.scoring.judges.checklist.cited_places import (
    APART,
    ASIDE,
    CITED,
    MISCITED,
    UNCITED,
    Place,
)
from runner.scoring.judges.checklist.parsed_answer import FactKey, ParsedAnswer, Passage, facts_of
from runner.scoring.judges.checklist.sentences import Sentence
from runner.scoring.judges.checklist.terms import FactHits
from runner.scoring.judges.inputs import judging_code, verdict_inputs

NAME = "checklist"
SEMANTICS = "1"
"""Raise it if the meaning of a rubric changes. The code's digest covers whatever is forgotten."""

NARROW_LINES = 100
"""Lines of a cited range that points. A wider one is worth as much less as it is wider, unless the
place is as wide itself."""
CONTRADICTED_WORTH = 0.4
"""Share that is left of a fact that the answer also denies."""
DENIED = -0.5
"""A fact that is denied and nowhere said: worse than one that is left out."""
WIDE = 0.1
"""What the widest range earns: else one that covers a file would earn as much as no place."""
CHARGE = 2
"""Statements that one which turns a fact round costs: who reads it cannot tell which one it is."""
MAX_ROW_WORDS = 25
"""A table row or item of up to as many words needs no function word."""


class Checklist:
    """A `Judge` that needs no model: see the module's docstring for what it asks of an answer."""

    deterministic = True

    def __init__(self) -> None:
        self.name = NAME
        self.identity = _identity()

    def judge(
        self,
        rubric: Rubric,
        answer: Sequence[AnswerStep],
        must_find: Sequence[Sequence[MustCite]],
        source: LineSource | None = None,  # noqa: ARG002 - it knows the facts by their words
    ) -> Verdict:
        """`answer` and `must_find`: one per step of the scenario, in its order.

        A step of the rubric without an answer scores 0.
        """
        judged = list(_judge_steps(rubric, answer, must_find))
        steps = tuple(verdict for verdict, _ in judged)
        return Verdict(
            judge=self.name,
            identity=self.identity,
            inputs=verdict_inputs(rubric, answer, must_find),
            quality=math.fsum(step.quality for step in steps) / len(steps),
            steps=steps,
            facts=tuple(itertools.chain.from_iterable(facts for _, facts in judged)),
        )


@cache
def _identity() -> str:
    """Digest of the semantics version and of all code that a verdict depends on.

    A change of either makes every stored verdict stale.
    """
    return digest_of([NAME, SEMANTICS, judging_code(Checklist)])


# --- verdicts -------------------------------------------------------------------------------


def _judge_steps(
    rubric: Rubric, answer: Sequence[AnswerStep], must_find: Sequence[Sequence[MustCite]]
) -> Iterator[_StepVerdicts]:
    answered: dict[str, tuple[AnswerStep, Sequence[MustCite]]] = {}
    for step_answer, places in zip(answer, must_find, strict=True):
        if step_answer.text.strip():
            answered[step_answer.name] = step_answer, places
    for step in rubric.steps:
        if step.name in answered:
            yield _judge_step(step, *answered[step.name])
        else:
            yield _unanswered(step)


_StepVerdicts = tuple[StepVerdict, list[FactVerdict]]


def _unanswered(step: RubricStep) -> _StepVerdicts:
    reason = "the step has no answer"
    nothing = CriterionVerdict(score=0.0, reason=reason)
    criteria = dict.fromkeys(step.criteria, nothing)
    credit_of = dict.fromkeys(facts_of(step), _FactCredit(worth=0.0, why=reason))
    verdict = StepVerdict(name=step.name, quality=0.0, criteria=criteria)
    return verdict, list(_fact_verdicts(step, credit_of))


def _judge_step(
    step: RubricStep, answer: AnswerStep, must_find: Sequence[MustCite]
) -> _StepVerdicts:
    reading = ParsedAnswer(step, answer, must_find)
    credit_of = _Marking(step, reading).credits()
    for key, credit in credit_of.items():
        credit_of[key] = credit.times(reading.order, _NO_ORDER)
    criteria: dict[str, CriterionVerdict] = {}
    parts: list[float] = []
    for name, criterion in step.criteria.items():
        criteria[name] = _judge_criterion(name, criterion, credit_of)
        parts.append(criterion.weight * criteria[name].score)
    # fsum: plain sums round otherwise from one Python to the next, and the gate compares verdicts
    # by their bytes.
    quality = min(1.0, math.fsum(parts))
    verdict = StepVerdict(name=step.name, quality=quality, criteria=criteria)
    return verdict, list(_fact_verdicts(step, credit_of))


def _fact_verdicts(
    step: RubricStep, credit_of: dict[FactKey, _FactCredit]
) -> Iterator[FactVerdict]:
    for (criterion, index), fact in facts_of(step).items():
        credit = credit_of[criterion, index]
        yield FactVerdict(
            step=step.name,
            criterion=criterion,
            says=fact.says,
            verdict=credit.status,
            quote=credit.quote,
            place=credit.place,
            credit=credit.worth,
            reason=credit.why if credit.worth < CITED else "",
        )


def _judge_criterion(
    name: str, criterion: Criterion, credit_of: dict[FactKey, _FactCredit]
) -> CriterionVerdict:
    weights: list[float] = []
    earned: list[float] = []
    short: list[str] = []
    for index, fact in enumerate(criterion.facts):
        credit = credit_of[name, index]
        weights.append(fact.weight)
        earned.append(fact.weight * credit.worth)
        if credit.worth < CITED:
            short.append(f"{credit.why}: {fact.says}")
    score = max(0.0, math.fsum(earned) / math.fsum(weights))
    met = f"{len(weights) - len(short)} of {len(weights)} facts"
    return CriterionVerdict(score=min(1.0, score), reason="; ".join([met, *short]))


# --- credits --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _FactCredit:
    worth: float
    why: str = ""
    """Why it is not whole."""
    place: Placing = "none"
    quote: str = ""
    """The passage that says the fact, or that contradicts it."""

    @property
    def status(self) -> FactStatus:
        """`partial`: something contradicts it too, or the words are in no order."""
        if self.worth < 0:
            return "contradicted"
        if not self.worth:
            return "absent"
        return "partial" if self.why in _IN_PART else "stated"

    def times(self, share: float, why: str) -> _FactCredit:
        """What is left of it; nothing stays nothing, for its own reason."""
        if self.worth <= 0 or share == 1:
            return self
        return replace(self, worth=self.worth * share, why=why)

    def said_in(self, quote: str) -> _FactCredit:
        """What earns nothing quotes nothing."""
        return replace(self, quote=quote) if self.worth else self


@dataclass(frozen=True, kw_only=True)
class _Option:
    """A passage that says a fact, and what the fact would earn there."""

    credit: _FactCredit
    units: range

    @property
    def rank(self) -> tuple[float, int]:
        """The best first, and of equals the shortest."""
        return (-self.credit.worth, len(self.units))


_ELSEWHERE = "cited at another place"
_WIDE = "cited by wide ranges"
_DENIED, _NO_ORDER = "said and denied", "its words are in no order"
_UNTRUE = "said beside what is not true"
_IN_PART = frozenset({_DENIED, _NO_ORDER})


class _Marking:
    """What each fact of a step earns, and what is left of each sentence's capacity for facts."""

    def __init__(self, step: RubricStep, reading: ParsedAnswer) -> None:
        self.facts = facts_of(step)
        self.reading = reading
        self.capacity = list(map(_capacity, reading.units))

    def credits(self) -> dict[FactKey, _FactCredit]:
        """Facts with places come first: they take the sentences' capacity before the others."""
        credit_of: dict[FactKey, _FactCredit] = {}
        for key, fact in self.facts.items():
            if fact.cites:
                credit_of[key] = self._credit(fact)
        for key, fact in self.facts.items():
            if not fact.cites:
                credit_of[key] = self._credit(fact)
        share = _truth(credit_of.values())
        return {key: credit.times(share, _UNTRUE) for key, credit in credit_of.items()}

    def _credit(self, fact: Fact) -> _FactCredit:
        """The best passage's credit. Takes from the capacity of the sentences that say it."""
        hits = FactHits(fact, self.reading.own, self.reading.above)
        options = self._options(fact, hits)
        for option in options:
            if option.credit.worth and self._take_capacity(option.units):
                credit = option.credit.said_in(self.reading.quote(option.units))
                if hits.denied:
                    return credit.times(CONTRADICTED_WORTH, _DENIED)
                return credit
        if not options:
            if hits.wrong:
                first = min(hits.wrong)
                return _FactCredit(worth=DENIED, why="denied").said_in(
                    self.reading.quote(range(first, first + 1))
                )
            return _FactCredit(worth=0.0, why="missing")
        best = options[0].credit
        return _FactCredit(worth=0.0, why="said among too many" if best.worth else best.why)

    def _options(self, fact: Fact, hits: FactHits) -> list[_Option]:
        """The passages that say a fact, by rank."""
        options = []
        for passage in self.reading.passages:
            if hits.are_in(passage.units):
                credit = self._credit_in(fact, passage)
                options.append(_Option(credit=credit, units=passage.units))
        return sorted(options, key=lambda option: option.rank)

    def _take_capacity(self, units: range) -> bool:
        """False, and nothing taken, if one of the sentences carries as many facts as it may."""
        if not all(self.capacity[unit] for unit in units):
            return False
        for unit in units:
            self.capacity[unit] -= 1
        return True

    def _credit_in(self, fact: Fact, passage: Passage) -> _FactCredit:
        """What one passage that says the fact would earn."""
        aim = _aim(fact, passage.places)
        if not self.reading.is_in_order(passage):
            return _FactCredit(worth=0.0, why="only its words, in no order")
        if (self.reading.is_spray or not aim) and not self._is_statement(passage):
            return _FactCredit(worth=0.0, why="only its words")
        if aim:
            return _cited(aim, self.reading.trust)
        return self._credit_without_its_place(fact, passage)

    def _credit_without_its_place(self, fact: Fact, passage: Passage) -> _FactCredit:
        if not fact.cites:
            return _FactCredit(worth=CITED)
        if any(_aim(fact, [place]) == 1 for place in self.reading.places):
            why = "cited in a spray" if self.reading.is_spray else "cited elsewhere"
            worth = ASIDE if passage.places else APART
            return _FactCredit(worth=worth * self.reading.trust, why=why, place="right")
        if passage.places:
            return _FactCredit(
                worth=MISCITED, why=_ELSEWHERE, place=_misplaced(fact, passage.places)
            )
        return _FactCredit(worth=UNCITED, why="uncited")

    def _is_statement(self, passage: Passage) -> bool:
        """Has it what a list of keywords lacks: words of its own, one of them a function word?

        They must be three at least, and a sixth of all. A short row or item that cites a place
        passes too, unless the step is a spray: structured answers have no function words.
        """
        words = self.reading.own_words(passage)
        length = self.reading.length(passage)
        if len(words) >= max(3, length / 6) and not _FUNCTION_WORDS.isdisjoint(words):
            return True
        return length <= MAX_ROW_WORDS and bool(passage.places) and not self.reading.is_spray


def _truth(earned: Collection[_FactCredit]) -> float:
    """What is left of an answer's statements, in (0, 1], beside those that turn facts round."""
    said = sum(credit.worth > 0 for credit in earned)
    turned = sum(credit.worth < 0 for credit in earned)
    return said / (said + CHARGE * turned) if turned else 1.0


def _capacity(unit: Sentence) -> int:
    """Facts that a sentence can carry."""
    return 4 + unit.words // 15


def _cited(aim: float, trust: float) -> _FactCredit:
    """What a fact earns beside its place."""
    worth = WIDE + (CITED - WIDE) * aim
    why = "cited in a spray" if aim == 1 else _WIDE
    return _FactCredit(worth=worth * trust, why=why, place="right")


def _misplaced(fact: Fact, places: Iterable[Place]) -> Placing:
    for place, cite in itertools.product(places, fact.places):
        if same_file(place.path, cite.path):
            return "wrong_line"
    return "wrong_file"


def _aim(fact: Fact, places: Collection[Place]) -> float:
    """Do places point at one of the fact's? 0 if none does, 1 if one does, less if they are wide.

    Ranges that between them cover a file hit everything in it.
    """
    wide = sum(place.lines for place in places if place.lines > NARROW_LINES)
    aims = [0.0]
    for place, cite in itertools.product(places, fact.places):
        if points_at(place.path, place.start, place.end, cite):
            allowed = NARROW_LINES + 2 * ((cite.end or cite.line) - cite.line)
            aims.append(min(1.0, allowed / max(wide, place.lines)))
    return max(aims)


_FUNCTION_WORDS = frozenset(
    (
        "a an the this that these those it its they their which who whose what where when while "
        "if then than so as because since is are was were be been being has have had does do did "
        "can could may might must should will would of to in on at by for from with into onto "
        "through over under between before after until via per and or but not no nor only also "
        "each every any all both either there here how why once again"
    ).split()
)
