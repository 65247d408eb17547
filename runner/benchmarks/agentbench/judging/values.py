"""Does an answer say what the reference answer's values say? Deterministic, and asks nobody.

A value is found if the answer asserts it somewhere: the same figure in any unit of its kind, date,
time, word or list. It is not asserted where it is denied, asked, offered among guesses, said of
what another value belongs to or of the opposite of what the reference says, named in an aside while
another value has its place, or copied from the query; nor anywhere in an answer that takes itself
back at its end.

What it cannot tell: whether words that it does not look for are true; values exchanged between
things that the reference and the answer call by other words; one denied in words it does not know;
a name in other words; whether a tool gave what is said, or the model knew it; an answer that is a
copy of all that the tools gave.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain, pairwise, takewhile
from typing import Literal

from runner.benchmarks.agentbench.judging.bound import Bound, is_exchanged
from runner.benchmarks.agentbench.judging.clauses import (
    DENIAL,
    DENIED_BEHIND,
    ITEM_END,
    LIMIT_BEFORE,
    OR_BEFORE,
    OR_BEHIND,
    RESTART,
    WITHDRAWN,
    WORD,
    bare,
    holds_value,
    is_asked,
    is_bare,
    sentence_before,
    sentence_end,
    words_before,
    words_of,
)
from runner.benchmarks.agentbench.judging.quantities import (
    Quantity,
    Unit,
    is_same,
    is_same_unit,
    quantities,
    unit_of,
)
from runner.benchmarks.agentbench.judging.rivals import Rivals, ValueSlot, slot_of
from runner.benchmarks.agentbench.judging.turned import Said, Turned
from runner.benchmarks.agentbench.judging.wanted import (
    ALIKE,
    SoughtValue,
    ValueMention,
    wanted,
    without_markup,
)
from runner.benchmarks.agentbench.queries import Query, ReferenceValue
from runner.records import Record

ValueStatus = Literal[
    "found",
    "absent",
    "other unit",
    "denied",
    "asked",
    "guessed",
    "misplaced",
    "turned",
    "aside",
    "copied",
]
COPIED_WORDS = 6
"""In a row, as in the query: they say nothing that it did not."""
MOST_OTHERS = 50
"""Figures that neither reference nor query has; an answer with more has every number in it."""
MOST_RIVALS = 5
"""Mentions of another value whose surroundings are read."""
NEIGHBOURS_READ = 40
"""On each side."""
MOST_NEIGHBOURS = {"quantity": 3, "date": 3, "time": 3, "words": 6, "list": 3}
"""Such items beside a value in one bare list: it is offered among them, not chosen."""


class ValueFound(Record):
    """One value of the reference, and what the answer makes of it."""

    text: str
    standing: ValueStatus
    said: str = ""
    """The passage that decided it."""


def compare_values(query: Query, answer: str) -> tuple[ValueFound, ...]:
    """Each value of the reference, in its order."""
    comparison = _AnswerComparison(query, answer)
    return tuple(map(comparison.found, range(len(query.values))))


def _half_digit(figure: Quantity, shown: str) -> float:
    """Half of the figure's last digit, in the unit of what the tool wrote: 4.92 % of 0.04919."""
    half = figure.last_digit / 2
    told = next(iter(quantities(shown)), None)
    if told is None or not figure.number:
        return half
    return half * min(abs(told.number / figure.number), 1.0)


class _AnswerComparison:
    def __init__(self, query: Query, answer: str) -> None:
        self.query = query
        self.answer = without_markup(answer)
        self.asked = without_markup(query.query)
        self.reference = without_markup(query.reference_answer)
        self.wanted = [_with_unit(value, self.reference) for value in query.values]
        self.mentions = [
            self._mentions(place) or self._as_shown(place) for place in range(len(self.wanted))
        ]
        self._strangers: dict[str, bool] = {}

    def _mentions(self, place: int) -> list[ValueMention]:
        """Without figures of the query: 27.2 lb, that is asked about, are 12.34 kg as well.

        Nor what says another value of the reference: where it has 12.34 kg and 27.2 lb, either is
        to be said.
        """
        sought = self.wanted[place]
        found = sought.mentions(self.answer)
        if sought.quantity is None:
            return found
        asked = {one.number for one in quantities(self.asked)} - {sought.quantity.number}
        told = {(one.start, one.end): one for one in quantities(self.answer)}
        others = self._in_other_units(place, sought.quantity)
        return [
            one
            for one in found
            if told[one.start, one.end].number not in asked
            and unit_of(told[one.start, one.end].unit) not in others
        ]

    def _in_other_units(self, place: int, figure: Quantity) -> set[Unit]:
        """Units in which another value of the reference is the same figure."""
        own, tolerance = unit_of(figure.unit), self.wanted[place].tolerance
        units = set()
        for other in (one.quantity for one in self.wanted):
            unit = unit_of(other.unit) if other else None
            if other and unit and unit != own and is_same(figure, other, tolerance):
                units.add(unit)
        return units

    def found(self, place: int) -> ValueFound:
        """What the answer makes of a value: an assertion counts, unless a denial comes after it."""
        text = self.query.values[place].text
        sought = self.wanted[place]
        mentions = self.mentions[place]
        if not mentions:
            return self._absent(text, sought)
        standings = [(self._standing(place, one), one) for one in mentions]
        last = [standing for standing, _ in standings if standing in ("found", "denied")][-1:]
        for standing, one in standings:
            if standing == "found" and last == ["found"]:
                return ValueFound(text=text, standing="found", said=self._around(one))
        standing, one = next((pair for pair in standings if pair[0] != "found"), standings[-1])
        return ValueFound(text=text, standing=standing, said=self._around(one))

    def _as_shown(self, place: int) -> list[ValueMention]:
        """Where the answer writes a value as the tool did, no less exactly than the reference.

        A tool's bare figure has the reference's unit: in another one it is another value. What is
        said in the right other unit was found without it.
        """
        value, figure = self.query.values[place], self.wanted[place].quantity
        if value.shown is None:
            return []
        half = _half_digit(figure, value.shown) if figure else None
        shown = wanted(value.shown, half if value.tolerance is None else value.tolerance)
        found = shown.mentions(self.answer)
        if figure is None or not figure.unit or shown.quantity is None or shown.quantity.unit:
            return found
        units = {(one.start, one.end): one.unit for one in quantities(self.answer)}
        if is_same(figure, shown.quantity, shown.tolerance):
            return [one for one in found if is_same_unit(units[one.start, one.end], figure.unit)]
        return [one for one in found if not units[one.start, one.end]]

    def _absent(self, text: str, sought: SoughtValue) -> ValueFound:
        bare = sought.quantity
        if bare is not None and bare.unit:
            for said in quantities(self.answer):
                if said.unit and is_same(Quantity(**{**vars(bare), "unit": said.unit}), said, None):
                    there = ValueMention(start=said.start, end=said.end)
                    return ValueFound(text=text, standing="other unit", said=self._around(there))
        return ValueFound(text=text, standing="absent")

    def _around(self, one: ValueMention) -> str:
        return self.answer[max(one.start - 40, 0) : one.end + 40].strip()

    def _standing(self, place: int, one: ValueMention) -> ValueStatus:
        sought = self.wanted[place]
        faults: tuple[tuple[ValueStatus, Callable[[], bool]], ...] = (
            ("copied", lambda: self._is_copied(one)),
            ("asked", lambda: is_asked(self.answer, one)),
            ("denied", lambda: self._is_denied(sought, one)),
            ("guessed", lambda: self._is_guessed(sought, one)),
            ("misplaced", lambda: self._is_misplaced(place, one)),
            ("turned", lambda: self._is_turned(place, one)),
            ("aside", lambda: self._is_aside(place, one)),
        )
        return next((name for name, holds in faults if holds()), "found")

    # --- copied

    @cached_property
    def _copied(self) -> list[tuple[int, int]]:
        """Spans of the answer that repeat the query."""
        asked = f" {' '.join(words_of(self.asked))} "
        tokens = list(WORD.finditer(self.answer))
        spans = []
        for at in range(len(tokens) - COPIED_WORDS + 1):
            run = tokens[at : at + COPIED_WORDS]
            if f" {' '.join(token[0].casefold() for token in run)} " in asked:
                spans.append((run[0].start(), run[-1].end()))
        return spans

    def _is_copied(self, one: ValueMention) -> bool:
        return any(start <= one.start and one.end <= end + 1 for start, end in self._copied)

    # --- denied

    def _is_denied(self, sought: SoughtValue, one: ValueMention) -> bool:
        if sought.text.casefold() in ALIKE:
            return False
        behind = DENIED_BEHIND.match(self.answer, one.end)
        return bool(behind) or self._is_withdrawn or self._is_denied_before(sought, one)

    def _is_denied_before(self, sought: SoughtValue, one: ValueMention) -> bool:
        before = words_before(self.answer, one.start)
        if sought.kind in ("date", "time") and LIMIT_BEFORE.search(before):
            return False
        for cue in DENIAL.finditer(before):
            between = before[cue.end() :]
            # "not 41, it is 42": what was denied is said already.
            is_spent = holds_value(between, sought.kind) or RESTART.search(between)
            if not is_spent:
                return True
        return False

    @cached_property
    def _is_withdrawn(self) -> bool:
        """Is all taken back at the end? A value that comes after it is a correction of one."""
        said = max((one.end for one in self._answer_said.values), default=0)
        return bool(WITHDRAWN.search(self.answer, said))

    # --- guessed

    @cached_property
    def _known(self) -> str:
        return f"{self.reference}\n{self.asked}"

    @cached_property
    def _known_numbers(self) -> set[float]:
        return {one.number for one in quantities(self._known)}

    @cached_property
    def _others(self) -> int:
        said = {one.number for one in quantities(self.answer)}
        return len(said - self._known_numbers)

    def _is_guessed(self, sought: SoughtValue, one: ValueMention) -> bool:
        if sought.kind == "quantity" and self._others > MOST_OTHERS:
            return True
        if self._has_alternative(sought, one):
            return True
        return self._strangers_beside(sought, one) > MOST_NEIGHBOURS[sought.kind]

    def _has_alternative(self, sought: SoughtValue, one: ValueMention) -> bool:
        """`42 or 43`; not `42 kg or 92.6 lb`, which is one figure twice."""
        end = sentence_end(self.answer, one.end)
        behind = OR_BEHIND.match(self.answer, one.end, end)
        before = OR_BEFORE.search(sentence_before(self.answer, one.start))
        other = (behind["other"] if behind else "") + " " + (before["other"] if before else "")
        return bool(other.strip()) and self._is_another(sought, other)

    def _is_another(self, sought: SoughtValue, other: str) -> bool:
        if any(rest.mentions(other) for rest in self.wanted):
            return False
        if sought.kind == "words":
            return bool(words_of(other)) and not set(words_of(other)) <= set(words_of(self._known))
        return holds_value(other, sought.kind)

    def _strangers_beside(self, sought: SoughtValue, one: ValueMention) -> int:
        """Items of the bare list around a value that neither reference nor query has."""
        at = bisect_right(self._starts, one.start) - 1
        behind = self._items[at + 1 : at + 1 + NEIGHBOURS_READ]
        before = self._items[max(at - NEIGHBOURS_READ, 0) : at][::-1]
        strangers = 0
        for items in (before, behind):
            bare = takewhile(lambda item: is_bare(sought.kind, item), items)
            strangers += sum(map(self._is_stranger, bare))
        return strangers

    @cached_property
    def _starts(self) -> list[int]:
        """Where items of lists begin."""
        return [0, *(match.end() for match in ITEM_END.finditer(self.answer))]

    @cached_property
    def _items(self) -> list[str]:
        """What stands between commas and at the ends of lines, without bullets."""
        bounds = [*self._starts, len(self.answer)]
        return [bare(self.answer[start:end]) for start, end in pairwise(bounds)]

    def _is_stranger(self, item: str) -> bool:
        if item not in self._strangers:
            self._strangers[item] = bool(item) and not wanted(item).mentions(self._known)
        return self._strangers[item]

    # --- misplaced

    def _is_misplaced(self, place: int, one: ValueMention) -> bool:
        own = self._own_places[place]
        return own is not None and any(
            self._is_exchanged(place, one, other) for other in self._rivals(place)
        )

    def _rivals(self, place: int) -> Iterator[int]:
        """Other values of its kind that the answer says: what it could be exchanged with."""
        for other, sought in enumerate(self.wanted):
            if other == place or sought.kind != self.wanted[place].kind:
                continue
            if self._own_places[other] and self.mentions[other]:
                yield other

    def _is_exchanged(self, place: int, one: ValueMention, other: int) -> bool:
        """Is there no mention of the other value beside which this one is in its place?"""
        mine, theirs = self._own_places[place], self._own_places[other]
        assert mine and theirs  # noqa: S101 - rivals have a place
        are_several = self.query.values[place].call != self.query.values[other].call
        beside = [
            mention
            for mention in self.mentions[other][:MOST_RIVALS]
            if mention.end <= one.start or one.end <= mention.start
        ]
        return bool(beside) and all(
            is_exchanged(
                (self._bound_reference, mine, theirs),
                (self._bound_answer, one, mention),
                are_several=are_several,
            )
            for mention in beside
        )

    @cached_property
    def _bound_answer(self) -> Bound:
        return Bound(self.answer, chain.from_iterable(self.mentions))

    @cached_property
    def _bound_reference(self) -> Bound:
        return Bound(self.reference, filter(None, self._own_places))

    @cached_property
    def _own_places(self) -> list[ValueMention | None]:
        """Of each value, in the reference answer."""
        found = zip(self.wanted, _places(self.query.values, self.reference), strict=True)
        return [place and self._with_its_unit(sought, place) for sought, place in found]

    def _with_its_unit(self, sought: SoughtValue, place: ValueMention) -> ValueMention:
        """As the answer's are: a unit is no word beside a figure."""
        mentions = sought.mentions(self.reference)
        return next((one for one in mentions if one.start == place.start), place)

    # --- turned

    def _is_turned(self, place: int, one: ValueMention) -> bool:
        return self._turned.is_turned(self._own_places[place], self._answer_said, one)

    @cached_property
    def _turned(self) -> Turned:
        return Turned(self.asked, Said(self.reference, list(filter(None, self._own_places))))

    @cached_property
    def _answer_said(self) -> Said:
        return Said(self.answer, list(chain.from_iterable(self.mentions)))

    # --- an aside

    def _is_aside(self, place: int, one: ValueMention) -> bool:
        slot = self._slots[place]
        return slot is not None and self._strange.take_slot(self.wanted[place], one, slot)

    @cached_property
    def _slots(self) -> list[ValueSlot | None]:
        own = list(filter(None, self._own_places))
        return [
            slot_of(self._bound_reference, one, own) if one else None for one in self._own_places
        ]

    @cached_property
    def _strange(self) -> Rivals:
        return Rivals(self.answer, self._known, self._answer_said.values)


def _with_unit(value: ReferenceValue, reference: str) -> SoughtValue:
    """A bare figure has the unit that the reference answer writes behind it."""
    sought = wanted(value.text, value.tolerance)
    if sought.quantity is None or sought.quantity.unit:
        return sought
    for said in quantities(reference):
        if said.unit and said.number == sought.quantity.number:
            quantity = Quantity(**{**vars(sought.quantity), "unit": said.unit})
            return SoughtValue(**{**vars(sought), "quantity": quantity})
    return sought


def _places(values: Sequence[ReferenceValue], reference: str) -> Iterator[ValueMention | None]:
    """Of each value in the reference answer; two that are alike stand at two places."""
    taken: set[int] = set()
    for value in values:
        text = re.escape(without_markup(value.text).strip())
        # `23` stands in a digest, or in `24473.23`, by chance alone.
        whole = re.compile(rf"(?<![\w.,]){text}(?!\w|[.,]\d)")
        found = [*whole.finditer(reference), *re.finditer(text, reference)]
        place = next((match for match in found if match.start() not in taken), None)
        taken |= {place.start()} if place else set()
        yield ValueMention(start=place.start(), end=place.end()) if place else None
