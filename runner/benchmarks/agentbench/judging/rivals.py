"""Does another value stand where this one should? `It is 41 (42 would be with tax).`

A rival is a value of the same kind in the answer that neither reference nor query has. It takes a
value's place if it has more of the words that the reference says of the value. Three things speak
for it besides: the value is in brackets, or said with words such as `would be`, or later.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from runner.benchmarks.agentbench.judging.bound import LISTED, Bound, Words, likeness
from runner.benchmarks.agentbench.judging.clauses import clause_around, sentence_before
from runner.benchmarks.agentbench.judging.moments import Date, Time, dates, times
from runner.benchmarks.agentbench.judging.quantities import Quantity, Unit, quantities, unit_of
from runner.benchmarks.agentbench.judging.wanted import SoughtValue, ValueMention, wanted

TAKES_SLOT = 0.5
"""How far ahead of the value a rival has to be, by likeness from 0 to 1 and what follows."""
IN_BRACKETS = 0.3
UNREAL = 0.3
LATER = 0.1
"""What speaks for the rival besides. Of right answers none has both of the first two."""
MOST_RIVALS = 20
"""Of one value, the nearest: an answer full of names would take hours."""
ROUGHLY = 0.1
"""Of a figure: a rounder one within this is the same, said roughly."""

_UNREAL = re.compile(
    r"\b(?:would|could|might|if|unless|only|had|before|earlier|old|draft|instead)\b"
    r"|n't\b",
    re.IGNORECASE,
)
_INPUT_BEFORE = re.compile(r"(?:[-+−×·*/÷^<>]\s?|[^\W\d_][-–]?|[#:])$")
_INPUT_BEHIND = re.compile(r"\s?(?:[+−×·*/÷=≈^<>]|- |→)|:")
"""`900 + 644.40 = 1,544.40`, `S-104`, `4.85:1`, `wreck 2: …`: no figures that an answer asserts."""
_HEX = re.compile(r"(?=[^\W_]*\d)[0-9a-fA-F]{6,}")
_TOKEN = re.compile(r"[^\W_]+|[\W_]")
_MOMENTS: dict[str, Callable[[str], Iterator[Date | Time]]] = {"date": dates, "time": times}


@dataclass(frozen=True)
class ValueSlot:
    """Where the reference says a value."""

    words: Words
    """What it says of that value."""
    alone: Words
    """And of no other: `t` of `Riesling: t = 4.733; Silvaner: t = 2.569` tells no value."""
    clause: str


def slot_of(reference: Bound, own: ValueMention, values: Sequence[ValueMention]) -> ValueSlot:
    """`own` is one of the values."""
    beside = [reference.words(other) for other in values if other != own]
    words = reference.words(own)
    left = {
        word: weight - max((other.get(word, 0.0) for other in beside), default=0.0)
        for word, weight in words.items()
    }
    alone = {word: weight for word, weight in left.items() if weight > 0}
    return ValueSlot(words=words, alone=alone, clause=clause_around(reference.text, own.start))


@dataclass
class Rivals:
    """In one answer."""

    answer: str
    known: str
    """Reference and query."""
    said: Sequence[ValueMention]
    """Where the answer says values of the reference."""
    _found: dict[str, tuple[list[ValueMention], Bound]] = field(default_factory=dict)
    """Of each value that was asked for."""

    def take_slot(self, sought: SoughtValue, one: ValueMention, slot: ValueSlot) -> bool:
        if sought.text not in self._found:
            rivals = list(self._of(sought, one))
            self._found[sought.text] = rivals, Bound(self.answer, [*self.said, *rivals], LISTED)
        rivals, bound = self._found[sought.text]
        if not rivals:
            return False
        near = sorted(rivals, key=lambda rival: abs(rival.start - one.start))[:MOST_RIVALS]
        unreal = self._unreal(one, slot)
        return any(
            _ahead(slot, bound.words(rival), bound.words(one)) + unreal + self._aside(one, rival)
            >= TAKES_SLOT
            for rival in near
            if self._is_in_brackets(rival) <= self._is_in_brackets(one)
        )

    def _unreal(self, one: ValueMention, slot: ValueSlot) -> float:
        clause = clause_around(self.answer, one.start)
        return UNREAL * (bool(_UNREAL.search(clause)) and not _UNREAL.search(slot.clause))

    def _aside(self, one: ValueMention, rival: ValueMention) -> float:
        is_aside = self._is_in_brackets(one) > self._is_in_brackets(rival)
        return IN_BRACKETS * is_aside + LATER * (rival.start < one.start)

    def _is_in_brackets(self, one: ValueMention) -> bool:
        before = sentence_before(self.answer, one.start)
        return before.count("(") > before.count(")")

    # --- what is of the value's kind

    def _of(self, sought: SoughtValue, one: ValueMention) -> Iterator[ValueMention]:
        for start, end in self._alike(sought, one):
            if all(end <= other.start or other.end <= start for other in self.said):
                yield ValueMention(start=start, end=end)

    def _alike(self, sought: SoughtValue, one: ValueMention) -> Iterator[tuple[int, int]]:
        if sought.quantity is not None:
            yield from self._figures(sought.quantity, one)
        elif sought.kind in _MOMENTS:
            spans = ((said.start, said.end) for said in _MOMENTS[sought.kind](self.answer))
            yield from filter(self._is_unknown, spans)
        elif pattern := _written_alike(sought.text):
            spans = (match.span() for match in pattern.finditer(self.answer))
            yield from filter(self._is_unknown, spans)

    def _is_unknown(self, span: tuple[int, int]) -> bool:
        return not wanted(self.answer[slice(*span)]).mentions(self.known)

    def _figures(self, figure: Quantity, one: ValueMention) -> Iterator[tuple[int, int]]:
        told = {(said.start, said.end): said for said in quantities(self.answer)}
        mine = told.get((one.start, one.end), figure)
        unit = unit_of(mine.unit or figure.unit)
        for other in self._free_figures:
            has_form = bool(other.unit) or mine.shows_places == other.shows_places
            is_kind = has_form and _is_of_kind(unit, unit_of(other.unit))
            if is_kind and not _is_roughly(figure.number, other):
                yield other.start, other.end

    @cached_property
    def _free_figures(self) -> list[Quantity]:
        """In digits, unknown, and no input, name, date or time."""
        known = {one.number for one in quantities(self.known)}
        moments = [(one.start, one.end) for find in _MOMENTS.values() for one in find(self.answer)]
        return [
            one
            for one in quantities(self.answer)
            if self.answer[one.start].isdigit()
            and one.number not in known
            and not _INPUT_BEFORE.search(self.answer, max(one.start - 3, 0), one.start)
            and not _INPUT_BEHIND.match(self.answer, one.end)
            and not any(start < one.end and one.start < end for start, end in moments)
        ]


def _ahead(slot: ValueSlot, rival: Words, one: Words) -> float:
    return min(likeness(words, rival) - likeness(words, one) for words in (slot.words, slot.alone))


def _is_of_kind(mine: Unit | None, other: Unit | None) -> bool:
    """Money may be written with its currency or without; other units are a kind."""
    if mine and other:
        return mine.dimension == other.dimension
    return other is None or other.dimension.isupper()


def _is_roughly(number: float, said: Quantity) -> bool:
    """Is it that number, rounded? `About 430 MBq`, of 430.2173."""
    digit = said.last_digit
    while said.number and math.isclose(said.number % (10 * digit), 0.0):
        digit *= 10
    return abs(said.number - number) <= min(digit / 2, ROUGHLY * abs(number))


def _written_alike(text: str) -> re.Pattern[str] | None:
    """`lot 16` for `lot 17`, `Tomas Hrdy` for `Ines Prado`; None for what has no such form."""
    tokens = _TOKEN.findall(text)
    parts = list(map(_form, tokens))
    if parts == list(map(re.escape, tokens)):
        return None
    # Any sentence may begin with one capital.
    before = r"(?<=[\w,'\"] )" if text.isalpha() else r"(?<![\w.#-])"
    return re.compile(rf"{before}{''.join(parts)}(?!\w)")


def _form(token: str) -> str:
    if _HEX.fullmatch(token):
        return rf"[0-9a-fA-F]{{{len(token)}}}"
    if any(map(str.isdigit, token)):
        runs = re.findall(r"\d+|\D", token)
        return "".join(r"\d+" if run.isdigit() else r"[^\W\d_]" for run in runs)
    if token[0].isupper():
        return r"[A-Z][^\W\d_]+" if token[1:] else "[A-Z]"
    return re.escape(token)
