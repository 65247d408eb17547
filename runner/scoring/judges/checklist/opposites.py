"""Does a sentence turn round what a fact says? Opposite words, and who stands on their sides.

Two words are opposites only where the fact has one of them alone and the sentence the other alone.
`a before b` is what `b after a` says: of words with two sides, those who stand there decide, and a
sentence whose sides name nothing that the fact names decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_SIDED = (
    "before | earlier than / after | later than",
    "inner | inside | within / outer | outside",
    "above / below | under",
    "more than / less than | fewer than",
    "precedes | comes first / follows | comes last",
    "calls | invokes / is called by | is invoked by",
    "contains | holds / is held by | lies in",
    "beats | overrides | wins over | takes precedence over / loses to | yields to",
    "wraps / is wrapped by",
    "writes / is written by",
    "reads / is read by",
    "replaces / is replaced by",
    "creates | makes | builds / is created by | is made by | is built by",
    "gives | hands | passes / gets | receives | takes",
)
"""Word / its opposite, or its passive: exchanging both sides and the word says the same."""
_OPPOSED = (
    "always | every time / never",
    "return | returns | returned / raise | raises | raised | throw | throws | thrown",
    "read | reads / write | writes",
    "first / last",
    "innermost / outermost",
    "include | includes | included / exclude | excludes | excluded",
    "accept | accepts | accepted / reject | rejects | rejected | refuses | refused",
    "allow | allows | allowed / forbid | forbids | forbidden",
    "succeed | succeeds / fail | fails",
    "same / different | another",
    "required / optional",
    "eager | eagerly / lazy | lazily",
    "at once | immediately / later | deferred",
    "synchronous | synchronously / asynchronous | asynchronously",
    "keeps | kept / drops | dropped | discards | discarded",
    "public / private",
    "minimum / maximum",
    "append | appends | appended / prepend | prepends | prepended",
    "ascending / descending",
    "global / local",
    "mutable / immutable",
    "only if / unless",
    "true / false",
    "larger | longer | bigger / smaller | shorter",
    "enabled / disabled",
    "caught | catches / escapes | propagates",
)

_WORD = re.compile(r"[\w.]*\w")
_CLAUSE = re.compile(r"[;:|—–]|[.!?](?:\s|$)|\sbut\s|,\s(?:and|or|so|which|while)\s")
_SHORT = frozenset(
    (
        "a an the this that these those it its they their is are was were be been being has have "
        "had do does did can could may might must will would should of to in on at by for from "
        "with as and or not no so if when while which who what where how only also then than each "
        "every all any"
    ).split()
)
_STEM = 5


def is_turned(says: str, sentence: str) -> bool:
    """`says` and `sentence`: lower-case, without emphasis."""
    pivots = _pivots(says)
    return any(_is_opposed(here, there, sentence) for here, there in pivots.opposed) or any(
        _has_other_sides(sides, there, sentence) for sides, there in pivots.sided
    )


def _is_opposed(here: re.Pattern[str], there: re.Pattern[str], sentence: str) -> bool:
    return bool(there.search(sentence)) and not here.search(sentence)


Sides = tuple[re.Pattern[str], frozenset[str], frozenset[str]]


def _has_other_sides(sides: Sides, there: re.Pattern[str], sentence: str) -> bool:
    here, left, right = sides
    straight, crossed = _overlaps(here, left, right, sentence)
    across, along = _overlaps(there, left, right, sentence)
    return crossed + across > straight + along


def _overlaps(
    word: re.Pattern[str], left: frozenset[str], right: frozenset[str], sentence: str
) -> tuple[int, int]:
    """How many of the fact's words stand on their own side of a word, and on the other."""
    same = other = 0
    match = word.search(sentence)
    if match:
        before, after = _sides(sentence, match)
        if not before or not after:
            # "Before the lookup, the signal is sent": both sides stand behind the word.
            return 0, 0
        same = len(left & before) + len(right & after)
        other = len(left & after) + len(right & before)
    return same, other


def _sides(text: str, match: re.Match[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The words on both sides of a match, in its clause; words on both sides are on neither."""
    starts = [end.end() for end in _CLAUSE.finditer(text, 0, match.start())]
    close = _CLAUSE.search(text, match.end())
    before = _stems(text[starts[-1] if starts else 0 : match.start()])
    after = _stems(text[match.end() : close.start() if close else len(text)])
    return before - after, after - before


def _stems(text: str) -> frozenset[str]:
    stems = set()
    for word in _WORD.findall(text):
        if word not in _SHORT:
            stems.add(word if "_" in word or "." in word else word[:_STEM])
    return frozenset(stems)


# --- what a fact says ---------------------------------------------------------------------------


class _Pivots:
    """The words of a fact that have an opposite, and who stands on their sides."""

    def __init__(self, says: str) -> None:
        self.opposed = list(_one_sided(_OPPOSED_PATTERNS, says))
        self.sided: list[tuple[Sides, re.Pattern[str]]] = []
        for here, there in _one_sided(_SIDED_PATTERNS, says):
            match = here.search(says)
            if match:
                self.sided.append(((here, *_sides(says, match)), there))


@lru_cache(maxsize=4096)
def _pivots(says: str) -> _Pivots:
    return _Pivots(says)


OppositePatterns = tuple[re.Pattern[str], re.Pattern[str]]


def _one_sided(pairs: tuple[OppositePatterns, ...], says: str) -> Iterator[OppositePatterns]:
    """The pairs of which a text has one alone: that, and its opposite."""
    for one, other in pairs:
        has_one, has_other = one.search(says), other.search(says)
        if has_one and not has_other:
            yield one, other
        elif has_other and not has_one:
            yield other, one


def _pair(line: str) -> OppositePatterns:
    one, other = line.split(" / ")
    return _words(one), _words(other)


def _words(alternatives: str) -> re.Pattern[str]:
    words = map(re.escape, alternatives.split(" | "))
    return re.compile(r"(?<![\w.])(?:" + "|".join(words) + r")(?![\w(=]|\.\w)")


_SIDED_PATTERNS = tuple(map(_pair, _SIDED))
_OPPOSED_PATTERNS = tuple(map(_pair, _OPPOSED))
