"""Other words for a term: what the field says in several ways, whichever an author took.

A term of one plain word stands for its whole group, if it has a star or stands there itself. Groups
are of words that say the same of code; names, numbers and other terms stand for themselves.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache

_GROUPS = (
    "stor* | sav* | keep* | kept | record* | remember* | note* | put*",
    "only | just | solely | alone",
    "updat* | edit* | chang* | adjust* | rewrit* | adapt*",
    "fast* | quick* | cheap*",
)
"""Without any of these, rho or the ordered pairs of the anchors fall. Of 45 further groups none
moved either by .002, nor all of them together by .001."""


@lru_cache(maxsize=8192)
def other_words(terms: tuple[str, ...]) -> tuple[str, ...]:
    """Other words for any of a group of alternatives."""
    found: dict[str, None] = {}
    for term in terms:
        found.update(dict.fromkeys(_others(term.lower())))
        found.update(dict.fromkeys(_spoken(term)))
    return tuple(found)


def _spoken(term: str) -> list[str]:
    """`lifecycleHooks` as a sentence without code has it: `lifecycle hooks*`."""
    if not _IDENTIFIER.fullmatch(term):
        return []
    words = _HUMP.sub(" ", term).replace("_", " ").lower().split()
    if len(words) < _MIN_WORDS:
        return []
    return [" ".join(words) + "*"]


_IDENTIFIER = re.compile(r"[A-Za-z]+(?:_[A-Za-z]+)+|[a-z]+(?:[A-Z][a-z]+)+|(?:[A-Z][a-z]+){2,}")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MIN_WORDS = 2


def _others(term: str) -> list[str]:
    """Of `raises`, the group of `rais*`."""
    if term in _MEMBERS:
        return _MEMBERS[term]
    if not term.endswith("*"):
        return []
    stem = term.removesuffix("*")
    for cut in range(len(stem), _MIN_STEM - 1, -1):
        if len(stem) - cut <= _MAX_ENDING and f"{stem[:cut]}*" in _MEMBERS:
            return _MEMBERS[f"{stem[:cut]}*"]
    return []


_MIN_STEM = 3
_MAX_ENDING = 4
"""Letters of an ending: `raising` is of `rais*`, and `passenger` not of `pass*`."""


def _members() -> dict[str, list[str]]:
    members: dict[str, list[str]] = defaultdict(list)
    for line in _GROUPS:
        group = line.split(" | ")
        for term in group:
            members[term] += group
    return dict(members)


_MEMBERS = _members()
