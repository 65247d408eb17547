"""Is a right figure said of the opposite? `more than 4` for `at most 4`, `in total` for `per arm`.

A figure is turned where the reference says one side and the answer, beside that figure, says the
other side alone. Five things are read: bounds of a number, what an amount is for, words that have
an opposite, the first `yes` or `no`, and the day of a time. What an answer leaves out turns
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from runner.benchmarks.agentbench.judging.clauses import (
    clause_around,
    sentence_before,
    sentence_end,
)
from runner.benchmarks.agentbench.judging.moments import dates, is_same_date, times
from runner.benchmarks.agentbench.judging.quantities import quantities
from runner.benchmarks.agentbench.judging.wanted import ValueMention

_NOT_LESS = r"(?:at least|(?:no|not) (?:fewer|less) than|(?:a )?minimum of)"
_NOT_MORE = r"(?:at most|(?:no|not) more than|up to|as many as|(?:a )?maximum of)"
_BOUND_BEFORE = re.compile(
    rf"(?:(?P<ge>{_NOT_LESS})|(?P<le>{_NOT_MORE})"
    r"|(?P<gt>more than|greater than|over|above|exceed(?:s|ing)?)"
    r"|(?P<lt>fewer than|less than|under|below))\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_BOUND_BEHIND = re.compile(
    r"\s+(?:\w+\s+)?or\s+(?:(?P<ge>more|above|higher|over)|(?P<le>fewer|less|below|lower|under))\b",
    re.IGNORECASE,
)
_BOUND_CHARS = 24
"""Before a figure."""
_NEAR_CHARS = 400
"""Behind a time, for the day that is said of it."""
_PERIODS = frozenset("second minute hour day week month quarter year".split())
_PER = re.compile(
    rf"\b(?:per|each|every|an?(?=\s+(?:head|{'|'.join(sorted(_PERIODS))})\b))\s+(?P<each>[^\W\d_]+)"
    r"|\b(?:each|apiece)\b",
    re.IGNORECASE,
)
_TOTAL = re.compile(
    r"\b(?:in (?:total|all)|overall|altogether|combined|all told|(?:a|the) total of|together"
    r"|over the whole (?:period|time|term))\b",
    re.IGNORECASE,
)
_BEHIND_VALUE = re.compile(r"[^,;:.(\n\d|]*(?:\([^()\d\n]*\))?")
_BEFORE_VALUE = re.compile(r"[^,;:.(\n\d|]*$")
_NEGATION = re.compile(
    r"(?:\b(?:not|never|no|neither|nor|without|cannot|hardly)|n't)\s+(?:\w+\s+){0,2}$", re.I
)
_NEGATED = re.compile(
    r"(?:\bnot|n't)\s+(?P<first>(?!the\b|any\b|all\b|yet\b)[a-z]{3,})(?:\s+(?P<second>[a-z]{4,}))?"
)
_NAME = re.compile(r"\b[A-Z]{2,}\b")
_OPENER = re.compile(r"\W*(?P<side>yes|no)\b\s*[,:;.!–—-]", re.IGNORECASE)
_OPPOSED = tuple(
    (re.compile(rf"\b(?:{one})\b", re.I), re.compile(rf"\b(?:{other})\b", re.I))
    for one, other in (
        (
            "pass(?:es|ed)?|meets?|met|satisf(?:y|ies|ied)|(?:good )?enough|sufficient|suffices?"
            "|compl(?:y|ies)|compliant|adequate|clears",
            "fail(?:s|ed)?|too (?:little|low|small|weak|few|short)|insufficient|inadequate"
            "|falls? short|fell short",
        ),
        ("significan(?:t|tly|ce)", "insignificant(?:ly)?"),
        ("above|higher|too high", "below|lower|too low"),
        ("better|improve[sd]?|best", "worse|worsen(?:s|ed)?|worst"),
        ("likely", "unlikely"),
        ("both", "neither"),
        ("valid", "invalid"),
        ("(?:is|are) (?:possible|feasible|solvable)", "(?:is|are) (?:impossible|infeasible)"),
        ("direct", "retrograde"),
        ("kept|holds", "broken|breached|violated"),
        ("accepts?|accepted|takes?", "refuses?|refused|rejects?|rejected"),
        ("earlier|before", "later|after"),
        ("gains?|profits?|surplus|rises?|rose|grew|earn(?:s|ed)?",
         "loss(?:es)?|loses?|lost|deficit|shortfall|falls?|fell"),
        ("most|highest|largest|greatest|longest|tallest|maximum",
         "least|lowest|smallest|shortest|minimum"),
        ("first|oldest|earliest", "last|youngest|newest|latest"),
        ("cheaper|cheapest", "dearer|dearest|costlier|costliest|(?:more|most) expensive"),
        ("equal|identical|same|match(?:es)?", "unequal|different|differs?|mismatch(?:es)?"),
        ("overdue|late", "early|on time|in time"),
    )
)  # fmt: skip
"""Words, and their opposites: those that figures are said of in references."""


@dataclass(frozen=True)
class Said:
    """A text, and where values stand in it."""

    text: str
    values: Sequence[ValueMention]

    def region(self, one: ValueMention) -> str:
        """The sentences around a value, as far as no other value stands in them."""
        begins = one.start - len(sentence_before(self.text, one.start))
        ends = sentence_end(self.text, one.end)
        before = [other.end for other in self.values if other.end < begins]
        behind = [other.start for other in self.values if other.start > ends]
        first = sentence_end(self.text, max(before)) if before else 0
        last = min(behind) - len(sentence_before(self.text, min(behind))) if behind else None
        return self.text[first:last]


class Turned:
    """Of one reference: what it says beside its values."""

    def __init__(self, asked: str, reference: Said) -> None:
        self.reference = reference
        self.known = f"{reference.text}\n{asked}"

    def is_turned(self, own: ValueMention | None, answer: Said, one: ValueMention) -> bool:
        """`own`: where the reference says the value that the answer says at `one`."""
        if self._is_other_opener(answer.text) or self._is_other_bound(answer.text, one):
            return True
        if own is None:
            return False
        if _is_on_another_day(self.reference.text, own, answer.text, one):
            return True
        mine, theirs = self.reference.region(own), answer.region(one)
        return _is_for_another(self.reference.text, own, answer.text, one) or (
            _is_opposed(mine, theirs) or _is_without_its_not(mine, theirs)
        )

    def _is_other_opener(self, answer: str) -> bool:
        mine, theirs = _OPENER.match(self.reference.text), _OPENER.match(answer)
        if mine is None or theirs is None:
            return False
        return mine["side"].lower() != theirs["side"].lower()

    @cached_property
    def _bounds(self) -> set[tuple[float, str]]:
        return {(number, side) for _, number, side in _bounds(self.known)}

    def _is_other_bound(self, answer: str, one: ValueMention) -> bool:
        """Of the bounds in its sentence, the nearest before a value decides, or the first."""
        begins = one.start - len(sentence_before(answer, one.start))
        found = [
            (begins + at, number, side)
            for at, number, side in _bounds(answer[begins : sentence_end(answer, one.end)])
        ]
        before = [bound for bound in found if bound[0] <= one.start]
        for _, number, side in before[-1:] or found[:1]:
            sides = {known for other, known in self._bounds if other == number}
            return bool(sides) and side not in sides
        return False


def _bounds(text: str) -> Iterator[tuple[int, float, str]]:
    """Place, number and side: `ge`, `le`, `gt`, `lt`."""
    for said in quantities(text):
        match = _BOUND_BEFORE.search(text[max(said.start - _BOUND_CHARS, 0) : said.start])
        match = match or _BOUND_BEHIND.match(text, said.end)
        if match:
            yield said.start, said.number, str(match.lastgroup)


def _is_on_another_day(reference: str, own: ValueMention, answer: str, one: ValueMention) -> bool:
    """`01:30 on 30 March` for `31 March`: both name days beside the time, and none is the same."""
    if not any(times(reference[own.start : own.end])):
        return False
    mine, theirs = list(dates(_sentence(reference, own))), list(dates(_sentence(answer, one)))
    is_same = any(is_same_date(day, said) for day in mine for said in theirs)
    return bool(mine and theirs) and not is_same


def _sentence(text: str, one: ValueMention) -> str:
    """As far as it is near: an answer of one endless sentence would take minutes."""
    begins = one.start - len(sentence_before(text, one.start))
    return text[begins : min(sentence_end(text, one.end), one.end + _NEAR_CHARS)]


# --- what an amount is for ----------------------------------------------------------------------


def _is_for_another(reference: str, own: ValueMention, answer: str, one: ValueMention) -> bool:
    mine, theirs = _share(reference, own), _share(answer, one)
    if not mine or not theirs or mine == theirs:
        return False
    return "total" in (mine, theirs) or {mine, theirs} <= _PERIODS


def _share(text: str, one: ValueMention) -> str:
    """`month`, `arm`, `each`, `total`; what stands behind a value before what leads to it."""
    behind = _BEHIND_VALUE.match(text, one.end)
    before = _BEFORE_VALUE.search(text, max(one.start - 60, 0), one.start)
    for near in (behind, before):
        total = _TOTAL.search(near[0]) if near else None
        per = _PER.search(near[0]) if near else None
        if bool(total) != bool(per):
            return "total" if per is None else (per["each"] or "each").lower().removesuffix("s")
    return ""


# --- opposites ----------------------------------------------------------------------------------


def _is_opposed(mine: str, theirs: str) -> bool:
    names = set(_NAME.findall(mine))
    return any(
        {_side(mine, names, pair), _side(theirs, names, pair)} == {True, False} for pair in _OPPOSED
    )


def _side(text: str, names: set[str], pair: tuple[re.Pattern[str], re.Pattern[str]]) -> bool | None:
    """Which of the two a text says alone; of clauses about other names nothing counts."""
    sides = set()
    for is_first, pattern in zip((True, False), pair, strict=True):
        for match in pattern.finditer(text):
            others = set(_NAME.findall(clause_around(text, match.start()))) - names
            if not names or not others:
                sides.add(is_first != _is_negated(text, match.start()))
    return sides.pop() if len(sides) == 1 else None


def _is_negated(text: str, at: int) -> bool:
    return bool(_NEGATION.search(text, max(at - 40, 0), at))


def _is_without_its_not(mine: str, theirs: str) -> bool:
    """`will take it` for `will not take it`: each negated word that is said, is said without."""
    for match in _NEGATED.finditer(mine):
        words = "|".join(filter(None, match.groups()))
        said = list(re.finditer(rf"\b(?:{words})\b", theirs))
        if said and not any(_is_negated(theirs, one.start()) for one in said):
            return True
    return False
