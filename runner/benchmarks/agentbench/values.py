"""Does an answer say what the reference answer's values say? Deterministic, and asks nobody.

A value is found if the answer asserts it somewhere: the same figure in any unit of its kind, date,
time, word or list. It is not asserted where it is denied, asked, offered among guesses, said of
what another value belongs to, or copied from the query.

What it cannot tell: whether words that it does not look for are true; values swapped between things
that neither the query names nor the clause beside them; one denied in words it does not know; a
name in other words; whether a tool gave what is said, or the model knew it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

from runner.benchmarks.agentbench.moments import (
    Date,
    Time,
    dates,
    is_same_date,
    is_same_time,
    times,
)
from runner.benchmarks.agentbench.quantities import Quantity, is_same, quantities
from runner.benchmarks.agentbench.queries import Query, ReferenceValue
from runner.judges.hidden import visible
from runner.records import Record

Standing = Literal[
    "found", "absent", "other unit", "denied", "asked", "guessed", "misplaced", "copied"
]
COPIED_WORDS = 6
"""In a row, as in the query: they say nothing that it did not."""
DENIED_WORDS = 8
"""How far before a value a `not` may stand."""
LIST_GAP_CHARS = 80
"""Between two items of a list."""
MOST_OTHERS = 50
"""Figures that neither reference nor query has; an answer with more has every number in it."""
MOST_NEIGHBOURS = {"quantity": 3, "date": 3, "time": 3, "words": 6, "list": 3}
"""Such items beside a value in one bare list: it is offered among them, not chosen."""


class ValueFound(Record):
    """One value of the reference, and what the answer makes of it."""

    text: str
    standing: Standing
    said: str = ""
    """The passage that decided it."""


@dataclass(frozen=True, kw_only=True)
class Mention:
    """Where a value stands in a text."""

    start: int
    end: int


# --- what is looked for -------------------------------------------------------------------------

Kind = Literal["quantity", "date", "time", "words", "list"]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A value, as it is looked for."""

    text: str
    kind: Kind
    tolerance: float | None = None
    quantity: Quantity | None = None
    date: Date | None = None
    time: Time | None = None
    items: tuple[Wanted, ...] = ()
    """Of a list, or date and time of a moment, in their order."""

    def mentions(self, text: str) -> list[Mention]:
        """In a plain text, in order."""
        found = list(_FINDERS[self.kind](self, text))
        return sorted(found, key=lambda one: (one.start, -one.end))


def wanted(text: str, tolerance: float | None = None) -> Wanted:
    """A text as the thing that it is."""
    text = plain(text).strip()
    for quantity in quantities(text):
        if _is_whole(quantity, text):
            return Wanted(text=text, kind="quantity", quantity=quantity, tolerance=tolerance)
    for date in dates(text):
        if _is_whole(date, text):
            return Wanted(text=text, kind="date", date=date)
    for time in times(text):
        if _is_whole(time, text):
            return Wanted(text=text, kind="time", time=time)
    if items := _items(text):
        parts = tuple(wanted(item, tolerance) for item in items)
        return Wanted(text=text, kind="list", items=parts)
    return Wanted(text=text, kind="words")


def _is_whole(found: Quantity | Date | Time, text: str) -> bool:
    return found.start == 0 and found.end == len(text)


_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})[T ](\d{1,2}:\d{2}.*)")


def _items(text: str) -> list[str]:
    """Of a list; empty if it is none."""
    if match := _MOMENT.fullmatch(text):
        return [match[1], match[2]]
    if text.startswith("["):
        try:
            return [str(item) for item in json.loads(text)]
        except ValueError:
            return []
    items = [item.strip() for item in re.split(r",\s|;\s", text)]
    return items if len(items) > 1 and all(items) else []


# --- where it stands ----------------------------------------------------------------------------


def _quantity_mentions(sought: Wanted, text: str) -> Iterator[Mention]:
    assert sought.quantity is not None  # noqa: S101 - it is what makes the kind
    for said in quantities(text):
        if is_same(sought.quantity, said, sought.tolerance):
            yield Mention(start=said.start, end=said.end)


def _date_mentions(sought: Wanted, text: str) -> Iterator[Mention]:
    assert sought.date is not None  # noqa: S101 - see above
    for said in dates(text):
        if is_same_date(sought.date, said):
            yield Mention(start=said.start, end=said.end)


def _time_mentions(sought: Wanted, text: str) -> Iterator[Mention]:
    assert sought.time is not None  # noqa: S101 - see above
    for said in times(text):
        if is_same_time(sought.time, said):
            yield Mention(start=said.start, end=said.end)


_ALIKE = {"yes": "yes|true", "true": "true|yes", "no": "no|not|false", "false": "false|not|no"}
_HEX = re.compile(r"#?[0-9a-fA-F-]+")
_BETWEEN = r"""[\s_"'\u2010-\u2015-]+"""


def _words_mentions(sought: Wanted, text: str) -> Iterator[Mention]:
    for match in _words_pattern(sought.text).finditer(text):
        yield Mention(start=match.start(), end=match.end())


def _words_pattern(words: str) -> re.Pattern[str]:
    if alike := _ALIKE.get(words.casefold()):
        return re.compile(rf"\b(?:{alike})\b", re.IGNORECASE)
    if _is_code(words):
        # In base64 `QQ` and `qq`, `QQ` and `QQ==` are two things.
        return re.compile(rf"(?<![\w+/=]){re.escape(words)}(?![\w+/=])")
    parts = map(re.escape, filter(None, re.split(_BETWEEN, words)))
    return re.compile(rf"(?<!\w){_BETWEEN.join(parts)}(?!\w)", re.IGNORECASE)


def _is_code(words: str) -> bool:
    """Does its case count? `aGVsbG8=` and `kebabCase`, not a name, a digest or a colour."""
    if " " in words or _HEX.fullmatch(words):
        return False
    inner = words[1:]
    return inner != inner.lower() and words != words.upper()


def _list_mentions(sought: Wanted, text: str) -> Iterator[Mention]:
    """All items, one soon after the other."""
    found = [item.mentions(text) for item in sought.items]
    for first in found[0]:
        last = first
        for later in found[1:]:
            following = [one for one in later if 0 <= one.start - last.end <= LIST_GAP_CHARS]
            if not following:
                break
            last = following[0]
        else:
            yield Mention(start=first.start, end=last.end)


_FINDERS: dict[Kind, Callable[[Wanted, str], Iterator[Mention]]] = {
    "quantity": _quantity_mentions,
    "date": _date_mentions,
    "time": _time_mentions,
    "words": _words_mentions,
    "list": _list_mentions,
}

# --- a text without its marks -------------------------------------------------------------------

_MARKS = (
    (re.compile(r"\\(?:boxed|text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}"), r"\1"),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\\[,;: !]|~(?=\w)|\\(?=[%$#&()\[\]])"), " "),
    (re.compile(r"(?<!\w)\$(?! )([^$\n]{1,80}?)(?<! )\$(?!\d)"), r"\1"),
    (re.compile(r"(?<!\d)\*\*|\*\*(?!\d)|__(?=\S)|(?<=\S)__|`"), ""),
    (re.compile("[‘’]"), "'"),
    (re.compile("[“”]"), '"'),
)


def plain(text: str) -> str:
    """Without Markdown's and TeX's marks, and what a page would not show."""
    text = visible(text)
    for pattern, replacement in _MARKS:
        text = pattern.sub(replacement, text)
    return text


# --- the comparison -----------------------------------------------------------------------------


def compare(query: Query, answer: str) -> tuple[ValueFound, ...]:
    """Each value of the reference, in its order."""
    comparison = _Comparison(query, answer)
    return tuple(map(comparison.found, range(len(query.values))))


class _Comparison:
    def __init__(self, query: Query, answer: str) -> None:
        self.query = query
        self.answer = plain(answer)
        self.asked = plain(query.query)
        self.reference = plain(query.reference_answer)
        self.wanted = [_with_unit(value, self.reference) for value in query.values]
        self.mentions = [one.mentions(self.answer) for one in self.wanted]

    def found(self, place: int) -> ValueFound:
        """What the answer makes of a value: an assertion counts, unless a denial comes after it."""
        text = self.query.values[place].text
        sought = self.wanted[place]
        mentions = self.mentions[place] or _as_shown(self.query.values[place], self.answer)
        if not mentions:
            return self._absent(text, sought)
        standings = [(self._standing(place, one), one) for one in mentions]
        last = [standing for standing, _ in standings if standing in ("found", "denied")][-1:]
        for standing, one in standings:
            if standing == "found" and last == ["found"]:
                return ValueFound(text=text, standing="found", said=self._around(one))
        standing, one = next((pair for pair in standings if pair[0] != "found"), standings[-1])
        return ValueFound(text=text, standing=standing, said=self._around(one))

    def _absent(self, text: str, sought: Wanted) -> ValueFound:
        bare = sought.quantity
        if bare is not None and bare.unit:
            for said in quantities(self.answer):
                if said.unit and is_same(Quantity(**{**vars(bare), "unit": said.unit}), said, None):
                    there = Mention(start=said.start, end=said.end)
                    return ValueFound(text=text, standing="other unit", said=self._around(there))
        return ValueFound(text=text, standing="absent")

    def _around(self, one: Mention) -> str:
        return self.answer[max(one.start - 40, 0) : one.end + 40].strip()

    def _standing(self, place: int, one: Mention) -> Standing:
        sought = self.wanted[place]
        if self._is_copied(one):
            return "copied"
        if _is_asked(self.answer, one):
            return "asked"
        if self._is_denied(sought, one):
            return "denied"
        if self._is_guessed(sought, one):
            return "guessed"
        if self._is_misplaced(place, one):
            return "misplaced"
        return "found"

    # --- copied

    @cached_property
    def _copied(self) -> list[tuple[int, int]]:
        """Spans of the answer that repeat the query."""
        asked = f" {' '.join(_words(self.asked))} "
        tokens = list(_WORD.finditer(self.answer))
        spans = []
        for at in range(len(tokens) - COPIED_WORDS + 1):
            run = tokens[at : at + COPIED_WORDS]
            if f" {' '.join(token[0].casefold() for token in run)} " in asked:
                spans.append((run[0].start(), run[-1].end()))
        return spans

    def _is_copied(self, one: Mention) -> bool:
        return any(start <= one.start and one.end <= end + 1 for start, end in self._copied)

    # --- denied

    def _is_denied(self, sought: Wanted, one: Mention) -> bool:
        if sought.text.casefold() in _ALIKE:
            return False
        before = _words_before(self.answer, one.start)
        cue = None
        for cue in _DENIAL.finditer(before):
            pass
        if cue is not None:
            between = before[cue.end() :]
            # "not 41, it is 42": what was denied is said already.
            others = not _holds_value(between, sought.kind)
            if others and not _RESTART.search(between):
                return True
        return bool(_DENIED_BEHIND.match(self.answer, one.end))

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

    def _is_guessed(self, sought: Wanted, one: Mention) -> bool:
        if sought.kind == "quantity" and self._others > MOST_OTHERS:
            return True
        if self._has_alternative(sought, one):
            return True
        return self._strangers_beside(sought, one) > MOST_NEIGHBOURS[sought.kind]

    def _has_alternative(self, sought: Wanted, one: Mention) -> bool:
        """`42 or 43`; not `42 kg or 92.6 lb`, which is one figure twice."""
        sentence_end = _sentence_end(self.answer, one.end)
        behind = _OR_BEHIND.match(self.answer, one.end, sentence_end)
        before = _OR_BEFORE.search(_sentence_before(self.answer, one.start))
        other = (behind["other"] if behind else "") + " " + (before["other"] if before else "")
        return bool(other.strip()) and self._is_another(sought, other)

    def _is_another(self, sought: Wanted, other: str) -> bool:
        if any(rest.mentions(other) for rest in self.wanted):
            return False
        if sought.kind == "words":
            return bool(_words(other)) and not set(_words(other)) <= set(_words(self._known))
        return _holds_value(other, sought.kind)

    def _strangers_beside(self, sought: Wanted, one: Mention) -> int:
        """Items of the bare list around a value that neither reference nor query has."""
        items = list(_list_items(self.answer))
        at = next((n for n, item in enumerate(items) if item[0] <= one.start < item[1]), None)
        if at is None:
            return 0
        strangers = 0
        for direction in (-1, 1):
            place = at + direction
            while 0 <= place < len(items) and self._is_bare(sought, items[place]):
                strangers += self._is_stranger(items[place])
                place += direction
        return strangers

    def _is_bare(self, sought: Wanted, item: tuple[int, int]) -> bool:
        text = _BULLET.sub("", self.answer[item[0] : item[1]]).strip(" .:()[]\"'")
        if sought.kind == "words":
            return bool(text) and len(text.split()) <= 3
        return wanted(text).kind == sought.kind

    def _is_stranger(self, item: tuple[int, int]) -> bool:
        text = _BULLET.sub("", self.answer[item[0] : item[1]]).strip(" .:()[]\"'")
        return not wanted(text).mentions(self._known)

    # --- misplaced

    def _is_misplaced(self, place: int, one: Mention) -> bool:
        own = self._labels[place]
        if not own:
            return False
        kind = self.wanted[place].kind
        around = _beside(self.answer, one, self._spans)
        common: set[str] = set()
        foreign: set[str] = set()
        for other, labels in enumerate(self._labels):
            if other == place or self.wanted[other].kind != kind:
                continue
            foreign |= labels
            for mention in self.mentions[other]:
                if mention.start != one.start:
                    common |= _beside(self.answer, mention, self._spans)
        # A word beside both tells them no more apart: "the factorial of 5 … the factorial of 6".
        telling = around - common
        return not telling & own and bool(around & (foreign - own))

    @cached_property
    def _spans(self) -> list[Mention]:
        return sorted(
            (one for mentions in self.mentions for one in mentions), key=lambda one: one.start
        )

    @cached_property
    def _labels(self) -> list[set[str]]:
        """Of each value: words of the query that stand beside it alone in the reference."""
        places = list(_places(self.query.values, self.reference))
        spans = sorted(filter(None, places), key=lambda one: one.start)
        asked = set(_words(self.asked))
        beside = []
        for one in places:
            beside.append(_beside(self.reference, one, spans) & asked if one else set())
        labels = []
        for place, words in enumerate(beside):
            others: set[str] = set()
            for other, theirs in enumerate(beside):
                if other != place and self.wanted[other].kind == self.wanted[place].kind:
                    others |= theirs
            labels.append(words - others)
        return labels


def _with_unit(value: ReferenceValue, reference: str) -> Wanted:
    """A bare figure has the unit that the reference answer writes behind it."""
    sought = wanted(value.text, value.tolerance)
    if sought.quantity is None or sought.quantity.unit:
        return sought
    for said in quantities(reference):
        if said.unit and said.number == sought.quantity.number:
            quantity = Quantity(**{**vars(sought.quantity), "unit": said.unit})
            return Wanted(**{**vars(sought), "quantity": quantity})
    return sought


def _as_shown(value: ReferenceValue, text: str) -> list[Mention]:
    """Where the answer writes a value as the tool did."""
    return wanted(value.shown, value.tolerance).mentions(text) if value.shown else []


def _places(values: Sequence[ReferenceValue], reference: str) -> Iterator[Mention | None]:
    """Of each value in the reference answer; two that are alike stand at two places."""
    taken: set[int] = set()
    for value in values:
        at = reference.find(plain(value.text).strip())
        while at in taken:
            at = reference.find(plain(value.text).strip(), at + 1)
        taken.add(at)
        yield None if at < 0 else Mention(start=at, end=at + len(value.text))


# --- clauses ------------------------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+(?:[.'-][^\W_]+)*")
_STOP = frozenset(
    "a an the of in on at to for from by with and or is are was were be it its this that as has "
    "have had will would into than then so which".split()
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n")
_CLAUSE_END = re.compile(
    r"\n|[.!?](?=\s|$)|[,;|](?=\s|$|[^\d\s])|\s[–—]\s|\b(?:and|but|while|whereas)\b"
)
_DENIAL = re.compile(
    r"\b(?:not(?!\s+(?:only|just|counting|including))|\w+n't|never|neither|nor|cannot"
    r"|rather than|instead of|other than|no longer|far from|anything but"
    r"|(?:wrong|incorrect|false|untrue)\s+(?:to|that))\b",
    re.IGNORECASE,
)
_RESTART = re.compile(
    r"(?:^|[,;:(–—-])\s*(?:it|they|this|that|the|there|so|we|i|you|which|because|since|but|as|and)"
    r"(?:'s|'re)?\b|[;:]|\bbut\b",
    re.IGNORECASE,
)
_DENIED_BEHIND = re.compile(
    r"[\s)\"']*(?:(?:is|was|are|were|would be|being|seems|looks|being)\s+"
    r"(?:(?:clearly|certainly|obviously|simply|definitely)\s+)?"
    r"(?:not\s*(?:right|correct|true|the|it\b|what|valid|[.,;!]|$)|wrong|incorrect|false|untrue)"
    r"|(?:isn't|wasn't|aren't)\s*(?:right|correct|true|the|it\b|what|[.,;!]|$)"
    r"|(?:can|could)(?:not| not|n't) be\b)",
    re.IGNORECASE,
)
_OR_BEHIND = re.compile(
    r"[^,.;:\n]{0,12}?(?:,[^,.;\n]{1,30}){0,8},?\s+or\s+(?P<other>[^,.;\n]{1,40})"
)
_OR_BEFORE = re.compile(r"(?P<other>[^,.;\n]{1,40}),?\s+or\s+(?:\w+\s+){0,2}$")
_BULLET = re.compile(r"^\s*(?:[-*•+]\s+|\d{1,4}[.)]\s+)?")
_ITEM_END = re.compile(r"\n|,(?!\d{3}\b)|;|\||\s(?:or|and)\s")


def _words(text: str) -> list[str]:
    """In small letters, without `'s`."""
    return [match[0].casefold().removesuffix("'s") for match in _WORD.finditer(text)]


def _sentence_end(text: str, at: int) -> int:
    match = _SENTENCE_END.search(text, at)
    return match.start() if match else len(text)


def _sentence_before(text: str, at: int) -> str:
    """The sentence up to there."""
    begins = 0
    for match in _SENTENCE_END.finditer(text, max(at - 400, 0), at):
        begins = match.end()
    return text[max(begins, at - 400) : at]


def _is_asked(text: str, one: Mention) -> bool:
    return text[_sentence_end(text, one.end) :].startswith("?")


def _words_before(text: str, at: int) -> str:
    """The last words of the sentence before there."""
    before = _sentence_before(text, at)
    starts = [match.start() for match in re.finditer(r"\S+", before)]
    return before[starts[-DENIED_WORDS] :] if len(starts) >= DENIED_WORDS else before


def _holds_value(text: str, kind: Kind) -> bool:
    if kind == "date":
        return any(dates(text))
    if kind == "time":
        return any(times(text))
    if kind == "quantity":
        return any(quantities(text))
    return False


def _list_items(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for match in _ITEM_END.finditer(text):
        if text[at : match.start()].strip():
            yield at, match.start()
        at = match.end()
    if text[at:].strip():
        yield at, len(text)


def _beside(text: str, one: Mention, values: Iterable[Mention]) -> set[str]:
    """The words of a value's clause, and of clauses without a value before it."""
    ends = [0, *(match.end() for match in _CLAUSE_END.finditer(text)), len(text)]
    starts = [other.start for other in values if other.start != one.start]
    begin = end = None
    pending = 0
    for first, last in pairwise(ends):
        if first <= one.start < last:
            begin, end = pending, last
            break
        if any(first <= start < last for start in starts):
            pending = last
    if begin is None or end is None:
        return set()
    before = max([begin, *(other.end for other in values if other.end <= one.start)])
    behind = min([end, *(start for start in starts if start >= one.end)])
    words = _words(f"{text[before : one.start]} {text[one.end : behind]}")
    return set(words) - _STOP
