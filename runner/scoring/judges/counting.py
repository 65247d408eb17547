"""What a model read in an answer, counted: code decides what each reading earns.

    1.00  stated, and its place is cited there
    0.90  stated, and its place is cited elsewhere in the step's answer
    0.70  stated, and no place is cited for it; or its place is cited, and it is not stated:
          somebody who goes there finds the fact
    0.40  stated with another place: another line and another file are equally wrong
    1.00  stated, and asks for no place; less if what the step says is cited wrongly (`BELIEF`)
     ½    of the way from absent to stated: partial
    0     absent; a quote that is not in the answer, or was given to the agent
    wrong .80 of a fact: contradicted, or a claim that the shown source contradicts, in facts of its
          criterion's mean weight

A criterion is the weighted mean of its facts. What is wrong makes the rest of the step doubtful:
with `earned` and `wrong` weighed over the step's criteria, earned / (earned + wrong) of it is left.
A difference instead would floor the lower third of the anchors at 0.

Prices follow what a strong reader's verdicts earn in a free fit to the grades of 16 anchors of the
held-out scenarios and of 58 answers to the core scenarios (tests/fresh_answers.py). With any one of
these four lots left out it gives words alone .66 to .77, a place alone .66 to .75, a part of a fact
with its place .86 to .88 and one that asks for none .56 to .61. Right words beside a wrong place it
pays in full; they stay at .40, since places are what this product asks for. 20 answers written and
graded apart from all of these are the test; `before` had words and places alone at .45, a part at
three quarters, and took what is wrong off as a difference:

    graded above .1                    whole answers, n = 20      their 80 steps
                                       now       before           now       before
    rho with the grades                .970      .968             .887      .851
    pairs .1 apart ordered alike       1.000     .985             .938      .916

Each rule below turns away one way of gaming a judge that reads; tests/judges/test_model.py holds
that cheat:

- a quote the answer does not hold, one of a few letters, one of the whole answer (quotes.py)
- one sentence for everything: it can carry a few facts (`capacity`)
- a spray of places, a wide range: as the checklist has it (reading.py, grounding/pointing.py)
- the prompt or the rubric's questions, pasted, and what Markdown does not show
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from runner.grounding.pointing import points_at, same_file
from runner.protocols import Judge
from runner.records import (
    AnswerStep,
    CriterionVerdict,
    Fact,
    FactStatus,
    FactVerdict,
    FalseClaim,
    MustCite,
    Placing,
    RubricStep,
    StepVerdict,
    Verdict,
)
from runner.scoring.judges import form
from runner.scoring.judges.checklist.cited_places import Place
from runner.scoring.judges.checklist.hidden import visible
from runner.scoring.judges.checklist.parsed_answer import (
    FactKey,
    GivenToAgent,
    ParsedAnswer,
    facts_of,
)
from runner.scoring.judges.checklist.sentences import Context, units_of
from runner.scoring.judges.form import ClaimReading, FactReading, Shown
from runner.scoring.judges.quotes import Index, Span, find_quote

STATED, APART, UNCITED, MISCITED, PARTIAL, WRONG = 1.0, 0.9, 0.7, 0.4, 0.5, -0.8
PLACE = UNCITED
"""A fact is a statement and a place, and either alone earns the same."""
BELIEF: Mapping[Placing, float] = {"right": 1.0, "wrong_line": 0.7, "wrong_file": 0.4}
"""What facts without a place are worth in a step whose facts with one are all cited so: between a
third and half of a step, they would be paid in full whatever is cited."""
FEWEST_PLACED = 3
"""Without so many, one misread line would decide for the whole step."""


@dataclass(frozen=True, kw_only=True)
class StepReading:
    """What a model read in one step, all its batches together."""

    facts: Mapping[FactKey, FactReading]
    false_claims: Sequence[ClaimReading]


@dataclass(frozen=True, kw_only=True)
class CountedStep:
    step: StepVerdict
    facts: tuple[FactVerdict, ...]
    false_claims: tuple[FalseClaim, ...]


@dataclass(frozen=True, kw_only=True)
class _ReadingCredit:
    worth: float
    why: str = ""
    status: FactStatus = "absent"
    quote: str = ""
    place: Placing = "none"


class Counting:
    """One step's answer, against its rubric."""

    def __init__(
        self,
        step: RubricStep,
        answer: AnswerStep,
        must_find: Sequence[MustCite],
        shown: Mapping[FactKey, Sequence[Shown]],
    ) -> None:
        """`shown`: the source lines that the model saw with each fact."""
        self.step, self.shown = step, shown
        self.facts = facts_of(step)
        self.text = visible(answer.text)
        seen = answer.model_copy(update={"text": self.text})
        self.reading = ParsedAnswer(step, seen, must_find)
        self.index = Index(self.reading)
        # Without the order a confidently false answer would gain by having its words shuffled.
        chosen = self.reading.choice * self.reading.prose_order
        self._place_alone = PLACE * self.reading.trust * chosen
        questions = [criterion.question for criterion in step.criteria.values()]
        self._given = GivenToAgent([answer.prompt, *questions])

    def count(self, read: StepReading) -> CountedStep:
        credits_of = self._credits(read.facts)
        claims = list(self._claims(read.false_claims, credits_of.values()))
        facts = []
        for key, credit in credits_of.items():
            facts.append(_fact_verdict(self.step.name, key[0], self.facts[key], credit))
        return CountedStep(
            step=_step_verdict(self.step, facts, claims),
            facts=tuple(facts),
            false_claims=tuple(claims),
        )

    # --- facts ----------------------------------------------------------------------------------

    def _credits(self, read: Mapping[FactKey, FactReading]) -> dict[FactKey, _ReadingCredit]:
        """In the rubric's order; facts with places take from the sentences' capacity first."""
        capacity = [4 + unit.words // 15 for unit in self.reading.units]
        placed_first = sorted(self.facts, key=lambda key: not self.facts[key].cites)
        found = {}
        for key in placed_first:
            found[key] = self._with_place(self.facts[key], read[key], capacity)
        belief = _belief(found.values())
        for key, credit in found.items():
            if not self.facts[key].cites and credit.worth > 0 and belief < 1:
                worth, why = credit.worth * belief, "; ".join(filter(None, [credit.why, _DOUBTED]))
                found[key] = replace(credit, worth=worth, why=why)
        return {key: found[key] for key in self.facts}

    def _with_place(self, fact: Fact, read: FactReading, capacity: list[int]) -> _ReadingCredit:
        credit = self._credit(fact, read, capacity)
        if not _is_cited(fact, self.reading.places):
            return credit
        if credit.status == "partial":
            return replace(credit, worth=credit.worth + (1 - PARTIAL) * self._place_alone)
        if credit.worth > 0 or credit.status == "contradicted":
            return credit
        why = f"{credit.why}, its place is cited"
        return replace(credit, worth=self._place_alone, why=why)

    def _credit(self, fact: Fact, read: FactReading, capacity: list[int]) -> _ReadingCredit:
        if read.verdict == "absent":
            return _ReadingCredit(worth=0.0, why="missing")
        if problem := self._quote_problem(read.quote):
            return _ReadingCredit(worth=0.0, why=problem)
        quote = read.quote.strip()
        if read.verdict == "contradicted":
            why = "contradicted"
            return _ReadingCredit(worth=WRONG, why=why, status=read.verdict, quote=quote)
        units = self.index.units(quote)
        if not _take(capacity, units):
            return _ReadingCredit(worth=0.0, why="said among too many", quote=quote)
        placed = self._placed(fact, units)
        worth, why = placed.worth, placed.why
        if read.verdict == "partial":
            worth, why = worth * PARTIAL, "; ".join(filter(None, ["in part", why]))
        return replace(placed, worth=worth, why=why, status=read.verdict, quote=quote)

    def _quote_problem(self, quote: str) -> str:
        """Why a quote proves nothing; empty if it proves something."""
        if find_quote(quote, self.text) is None:
            return "the quote is not in the answer"
        sentences = units_of(quote, Context())
        if sentences and not self._given.left_out(sentences):
            return "copied from what the agent was given"
        return ""

    # --- places ---------------------------------------------------------------------------------

    def _placed(self, fact: Fact, units: frozenset[int]) -> _ReadingCredit:
        """What a fact that is stated in these sentences earns."""
        if not fact.cites:
            return _ReadingCredit(worth=STATED)
        trust, spray = self.reading.trust, "cited in a spray" if self.reading.is_spray else ""
        if _is_cited(fact, self._near(units)):
            return _ReadingCredit(worth=STATED * trust, why=spray, place="right")
        if _is_cited(fact, self.reading.places):
            return _ReadingCredit(
                worth=APART * trust, why=spray or "cited elsewhere", place="right"
            )
        own = self._own(units)
        if not own:
            return _ReadingCredit(worth=UNCITED, why="uncited")
        pairs = product(own, fact.places)
        if any(same_file(place.path, cite.path) for place, cite in pairs):
            return _ReadingCredit(worth=MISCITED, why="cited at another line", place="wrong_line")
        return _ReadingCredit(worth=MISCITED, why="cited in another file", place="wrong_file")

    def _near(self, units: frozenset[int]) -> frozenset[Place]:
        """Places of the passages that hold the sentences, or lie within them."""
        places: set[Place] = set()
        for passage in self.reading.passages:
            inside = units.issuperset(passage.units)
            if units and (inside or units.issubset(passage.units)):
                places |= passage.places
        return frozenset(places)

    def _own(self, units: frozenset[int]) -> frozenset[Place]:
        """Places of the sentences themselves, or of what they stand under."""
        places: set[Place] = set()
        for number in units:
            unit = self.reading.units[number]
            places.update(unit.places or unit.context.places)
        return frozenset(places)

    # --- false claims ---------------------------------------------------------------------------

    def _claims(
        self, read: Sequence[ClaimReading], credits_: Iterable[_ReadingCredit]
    ) -> Iterator[FalseClaim]:
        """Those that hold, by where they stand in the answer: at most five, each place once."""
        taken = []
        for item in credits_:
            if item.status == "contradicted":
                taken.append(find_quote(item.quote, self.text))
        held = []
        for claim in read:
            span, criterion = find_quote(claim.quote, self.text), self._criterion(claim)
            if span and criterion and not self._quote_problem(claim.quote):
                held.append((span, criterion, claim))
        count = 0
        for span, criterion, claim in sorted(held, key=lambda item: (item[0], item[1])):
            # A contradicted fact has cost its credit: the same words are not charged twice.
            if count < form.MAX_CLAIMS and not any(_overlap(span, other) for other in taken):
                taken.append(span)
                count += 1
                yield _false_claim(self.step.name, criterion, claim)

    def _criterion(self, claim: ClaimReading) -> str:
        """Of the first fact whose shown lines hold the claim's; empty if none does."""
        for (criterion, _), shown in self.shown.items():
            if any(item.holds(claim.path, claim.line) for item in shown):
                return criterion
        return ""


def _false_claim(step: str, criterion: str, claim: ClaimReading) -> FalseClaim:
    return FalseClaim(
        step=step,
        criterion=criterion,
        quote=claim.quote.strip(),
        path=claim.path,
        line=claim.line,
        credit=WRONG,
    )


_DOUBTED = "other places of the step are wrong"


def _belief(credits_: Iterable[_ReadingCredit]) -> float:
    """What facts without a place are worth, by how those with one are cited."""
    worths = [BELIEF[credit.place] for credit in credits_ if credit.place != "none"]
    return 1 - math.fsum(1 - worth for worth in worths) / max(FEWEST_PLACED, len(worths))


def _overlap(span: Span, other: Span | None) -> bool:
    return other is not None and span[0] < other[1] and other[0] < span[1]


def _take(capacity: list[int], units: Iterable[int]) -> bool:
    """False, and nothing taken, if one of the sentences carries as many facts as it can."""
    numbers = list(units)
    if not all(capacity[number] > 0 for number in numbers):
        return False
    for number in numbers:
        capacity[number] -= 1
    return True


def _is_cited(fact: Fact, places: frozenset[Place]) -> bool:
    pairs = product(places, fact.places)
    return any(points_at(place.path, place.start, place.end, cite) for place, cite in pairs)


def _fact_verdict(step: str, criterion: str, fact: Fact, credit: _ReadingCredit) -> FactVerdict:
    return FactVerdict(
        step=step,
        criterion=criterion,
        says=fact.says,
        verdict=credit.status,
        quote=credit.quote,
        place=credit.place,
        credit=credit.worth,
        reason=credit.why,
    )


# --- sums -----------------------------------------------------------------------------------


def verdict_of(judge: Judge, inputs: str, counted: Sequence[CountedStep]) -> Verdict:
    """On the whole answer."""
    steps = tuple(item.step for item in counted)
    return Verdict(
        judge=judge.name,
        identity=judge.identity,
        inputs=inputs,
        quality=math.fsum(step.quality for step in steps) / len(steps),
        steps=steps,
        facts=tuple(fact for item in counted for fact in item.facts),
        false_claims=tuple(claim for item in counted for claim in item.false_claims),
    )


def unanswered(step: RubricStep) -> CountedStep:
    """A step without a text."""
    nothing = CriterionVerdict(score=0.0, reason="the step has no answer")
    verdict = StepVerdict(
        name=step.name, quality=0.0, criteria=dict.fromkeys(step.criteria, nothing)
    )
    facts = []
    for (criterion, _), fact in facts_of(step).items():
        credit = _ReadingCredit(worth=0.0, why="the step has no answer")
        facts.append(_fact_verdict(step.name, criterion, fact, credit))
    return CountedStep(step=verdict, facts=tuple(facts), false_claims=())


def _step_verdict(
    step: RubricStep, facts: Sequence[FactVerdict], claims: Sequence[FalseClaim]
) -> StepVerdict:
    earned, wrong = {}, {}
    for name, criterion in step.criteria.items():
        weights = [fact.weight for fact in criterion.facts]
        worths = [fact.credit for fact in facts if fact.criterion == name]
        charged = [claim.credit for claim in claims if claim.criterion == name]
        earned[name] = _mean(weights, [max(0.0, worth) for worth in worths], [])
        wrong[name] = _mean(weights, [min(0.0, worth) for worth in worths], charged)
    truth = _truth(_weighed(step, earned), _weighed(step, wrong))
    criteria = {}
    for name, score in earned.items():
        reason = _reason([fact for fact in facts if fact.criterion == name])
        criteria[name] = CriterionVerdict(score=min(1.0, score * truth), reason=reason)
    return step_verdict(step, criteria)


def step_verdict(step: RubricStep, criteria: Mapping[str, CriterionVerdict]) -> StepVerdict:
    """The step whose criteria are these."""
    parts = [step.criteria[name].weight * verdict.score for name, verdict in criteria.items()]
    # fsum: plain sums round otherwise from one Python to the next.
    return StepVerdict(name=step.name, quality=min(1.0, math.fsum(parts)), criteria=dict(criteria))


def _mean(weights: Sequence[float], credit: Sequence[float], charged: Sequence[float]) -> float:
    """The weighted mean of the facts' credit; a claim weighs as an average fact does."""
    earned = [weight * worth for weight, worth in zip(weights, credit, strict=True)]
    total = math.fsum(weights)
    return (math.fsum(earned) + math.fsum(charged) * total / len(weights)) / total


def _weighed(step: RubricStep, scores: Mapping[str, float]) -> float:
    return math.fsum(step.criteria[name].weight * score for name, score in scores.items())


def _truth(earned: float, wrong: float) -> float:
    """What is left of an answer's statements beside those that are wrong, in [0, 1]."""
    return earned / (earned - wrong) if wrong else 1.0


def _reason(facts: Sequence[FactVerdict]) -> str:
    short = [fact for fact in facts if fact.reason]
    met = f"{len(facts) - len(short)} of {len(facts)} facts"
    return "; ".join([met, *(f"{fact.reason}: {fact.says}" for fact in short)])
