"""What each value of a text is said of: the words around its place, by how near they stand.

Two values are exchanged if the answer says each of what the reference says the other of. With the
words beside a value as a vector, that is one product: (reference's of one - of the other) times
(answer's of one - of the other). Below zero the answer has them the other way round.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from runner.benchmarks.agentbench.judging.clauses import sentence_before
from runner.benchmarks.agentbench.judging.wanted import ValueMention

Words = dict[str, float]
"""Word -> how much it says of the value: 1 right beside it."""

LEAST = 0.04
"""A word that says less is left out."""
READ_BACK = {"weak": 0.5, "strong": 0.3, "value": 0.4}
"""What is left of a word's weight before the beginning of a clause, of a sentence or line, and
before another value: `Board one has 22.4 s and is full after 112.2 s`."""
READ_ON = {"weak": 0.25, "strong": 0.1, "value": 0.2}
"""The same behind a value, where the next one's words begin."""
UNDIVIDED = 0.5
"""Of words between two values that no end of a clause divides: they may be either's."""
EXCHANGED = 0.03
"""As much of the whole has to speak for the exchange: less is a word by chance."""
EXCHANGED_IN_ORDER = 0.1
"""The same where the values come in the reference's order, which speaks against an exchange."""
TELLS = 0.3
"""A word that is said of one value by as much more than of another."""
PLAIN = 0.5
"""Of `from`, `with` and their like: they tell two values apart where nothing else does."""
FADE = 0.93
"""From word to word."""
MOST_READ = 60
"""Words on each side of a value; what stands farther off says less than LEAST."""

_ORDINAL = r"(?:^|(?<=\n))[ \t]*\(?\d{1,2}[.)](?=\s)"
"""Of a list. As a word it would be of the value that the reference calls the second."""
_TOKEN = re.compile(
    rf"""
    (?P<article>\b[aA](?=\s) | {_ORDINAL})
    | (?P<word>[^\W_]+(?:[.'-][^\W_]+)*)
    | (?P<strong>\n|[.!?;](?=\s|$)|\s[–—-]\s)
    | (?P<weak>[,|()](?!\d{3}\b))
    """,
    re.VERBOSE,
)
_WEAK_WORDS = frozenset("and but while whereas".split())
_PLAIN_WORDS = frozenset("from to with without by per in on at for since until".split())
_NO_WORDS = frozenset(
    "an the of or is are was were be it its this that as has have had will would into than then so "
    "which there also both he she they you we his her their your our".split()
)
_SAME = {
    name: str(number)
    for number, names in enumerate(
        ("one first", "two second", "three third", "four fourth", "five fifth", "six sixth"), 1
    )
    for name in names.split()
}
STEM_CHARS = 6


@dataclass(frozen=True, kw_only=True)
class _ClausePart:
    start: int
    kind: str
    """`word`, `weak`, `strong` or `value`."""
    word: str = ""


@dataclass(frozen=True, kw_only=True)
class _ValueRow:
    """Values with nothing but commas between them: `9.96 nF, 683 Ω and 3 W`."""

    start: int
    end: int


class Bound:
    """A text, and what its values are said of."""

    def __init__(
        self, text: str, values: Iterable[ValueMention], joined: re.Pattern[str] | None = None
    ) -> None:
        self.text = text
        ordered = sorted(values, key=lambda one: (one.start, one.end))
        self._groups = list(_groups(text, ordered, joined or _JOINED))
        self._starts = [group.start for group in self._groups]
        self._rows = list(_groups(text, ordered, _JOINED_LINES))

    def group(self, one: ValueMention) -> _ValueRow:
        return _at(self._groups, one)

    def row(self, one: ValueMention) -> _ValueRow:
        """Its group, over the lines of a list: what is said in one line is said of that alone."""
        return _at(self._rows, one)

    def words(self, one: ValueMention) -> Words:
        """What a value is said of; those of one group are said of the same."""
        table = _cell(self.text, one)
        if table is not None:
            return table
        group = self.group(one)
        at = bisect_right(self._places, group.start) - 1
        found: Words = {}
        before = self._tokens[max(at - MOST_READ, 0) : at]
        behind = self._tokens[at + 1 : at + 1 + MOST_READ]
        for tokens, left in ((before[::-1], READ_BACK), (behind, READ_ON)):
            for word, weight in _weights(tokens, left):
                found[word] = max(found.get(word, 0.0), weight)
        return found

    @cached_property
    def _tokens(self) -> list[_ClausePart]:
        tokens = [_ClausePart(start=group.start, kind="value") for group in self._groups]
        for match in _TOKEN.finditer(self.text):
            at = bisect_right(self._starts, match.start()) - 1
            is_outside = at < 0 or match.start() >= self._groups[at].end
            if is_outside and match.lastgroup != "article":
                tokens.append(_token(match))
        return sorted(tokens, key=lambda token: token.start)

    @cached_property
    def _places(self) -> list[int]:
        return [token.start for token in self._tokens]


def _at(rows: Sequence[_ValueRow], one: ValueMention) -> _ValueRow:
    return rows[bisect_right(rows, one.start, key=lambda row: row.start) - 1]


def _token(match: re.Match[str]) -> _ClausePart:
    kind = str(match.lastgroup)
    if match[0].casefold() in _WEAK_WORDS:
        kind = "weak"
    return _ClausePart(start=match.start(), kind=kind, word=match[0])


def _groups(
    text: str, values: Sequence[ValueMention], joined: re.Pattern[str]
) -> Iterator[_ValueRow]:
    start = end = -1
    for one in values:
        between = text[end : one.start]
        if start >= 0 and (one.start < end or joined.fullmatch(between)):
            end = max(end, one.end)
            continue
        if start >= 0:
            yield _ValueRow(start=start, end=end)
        start, end = one.start, one.end
    if start >= 0:
        yield _ValueRow(start=start, end=end)


LISTED = re.compile(r"[\s,]*(?:and\b)?\s*")
"""What stands between items of one list, and divides no statements."""
_SIGNS = r"[\s,;·×*/&()\[\]|-]*(?:(?:and|or|then)\b(?:\s(?:on|in|at)\b)?)?[\s(\[]*"
_JOINED = re.compile(rf"(?![^\n]*\n){_SIGNS}")
_JOINED_LINES = re.compile(rf"{_SIGNS}|[\s,;·]*{_ORDINAL}\s*")


def _weights(tokens: Sequence[_ClausePart], left: dict[str, float]) -> Iterator[tuple[str, float]]:
    """Words on one side of a value, the nearest first."""
    ends = [token.kind for token in tokens if token.kind != "word"]
    weight = UNDIVIDED if ends[:1] == ["value"] else 1.0
    for token in tokens:
        if token.kind != "word":
            weight *= left[token.kind]
        elif word := plain(token.word):
            yield word, weight * (PLAIN if word in _PLAIN_WORDS else 1.0)
        weight *= FADE if token.kind == "word" else 1.0
        if weight < LEAST:
            return


def plain(word: str) -> str:
    """In small letters, of many its beginning, so that `probability` and `probable` are one."""
    word = word.casefold().removesuffix("'s")
    if word in _NO_WORDS:
        return ""
    word = _SAME.get(word, word)
    if not word.isalpha():
        return word
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    return word[:STEM_CHARS]


def words_in(text: str) -> Iterator[str]:
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "word" and (word := plain(match[0])):
            yield word


# --- tables -------------------------------------------------------------------------------------


def _cell(text: str, one: ValueMention) -> Words | None:
    """Of a cell of a table: the head of its row and of its column. None if it is in none."""
    begin = text.rfind("\n", 0, one.start) + 1
    line = text[begin:].split("\n", 1)[0]
    if line.count("|") < 2:
        return None
    row = line.split("|")
    column = text[begin : one.start].count("|")
    head = _head(text[:begin]).split("|")
    first = next((cell for cell in row if cell.strip()), "")
    said = [row[column].replace(text[one.start : one.end], " ")]
    said += [first] if first != row[column] else []
    said += head[column : column + 1]
    return {word: 1.0 for cell in said for word in words_in(cell)}


def _head(above: str) -> str:
    """The first line of the table that goes on after `above`."""
    head = ""
    for line in reversed(above.splitlines()):
        if "|" not in line:
            break
        head = line
    return head


# --- comparing ----------------------------------------------------------------------------------


Pair = tuple["Bound", ValueMention, ValueMention]
"""A text, and where two values stand in it."""


def is_exchanged(reference: Pair, answer: Pair, *, are_several: bool) -> bool:
    """Does the answer say of each what the reference says of the other?

    `are_several`: they are from two calls, so that two things were asked. What one call gave in a
    row, such as the primes of a number, may be said in any order.
    """
    mine, theirs = _telling(reference), _telling(answer)
    if _is_one_row(answer):
        is_ordered = are_several or not _is_one_row(reference)
        expected = _is_named_first(mine, answer)
        expected = _is_first(reference) if expected is None else expected
        return is_ordered and _is_first(answer) != expected
    is_in_order = _is_first(reference) == _is_first(answer)
    return likeness(mine, theirs) < -(EXCHANGED_IN_ORDER if is_in_order else EXCHANGED)


def _telling(pair: Pair) -> Words:
    """Words that are said of the one value more than of the other, or less if below zero."""
    bound, one, other = pair
    mine, theirs = bound.words(one), bound.words(other)
    return {word: mine.get(word, 0.0) - theirs.get(word, 0.0) for word in {**mine, **theirs}}


def likeness(one: Words, other: Words) -> float:
    """Cosine: 0 for no word in common, below where one has more of a word and the other less."""
    product = sum(weight * other.get(word, 0.0) for word, weight in one.items())
    return product / (_size(one) * _size(other)) if product else 0.0


def _size(words: Words) -> float:
    return math.sqrt(sum(weight * weight for weight in words.values()))


def _is_one_row(pair: Pair) -> bool:
    bound, one, other = pair
    return bound.row(one) == bound.row(other)


def _is_first(pair: Pair) -> bool:
    return pair[1].start < pair[2].start


def _is_named_first(telling: Words, answer: Pair) -> bool | None:
    """`The bearings of B and A are …`: does what one is said of come first? None if not both do."""
    bound, one, _ = answer
    words = list(words_in(sentence_before(bound.text, bound.row(one).start)))
    mine = [at for at, word in enumerate(words) if telling.get(word, 0.0) > TELLS]
    theirs = [at for at, word in enumerate(words) if telling.get(word, 0.0) < -TELLS]
    return mine[-1] < theirs[-1] if mine and theirs else None
