"""The names that a prompt asks about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from runner.records import ANSWER_FORM

COMMON = frozenset(
    (
        "the and for with from that this what which when where into your you are not every each "
        "about before after only list next agent file line function method class test tests code "
        "change name names path paths call calls caller callers given hand map find show tell how "
        "why does step one two all any must should would could them they their then than have has "
        "been has will source repository if else return print len str int self super range "
        "isinstance type set dict tuple format append get join items keys values assert raise "
        "import def async await new "
        "anything something nothing everything anybody different another other others same such "
        "without within through between against because while during whether either being there "
        "these those itself still first second third really exactly happens explain describe"
    ).split()
)
"""Words that prompts and code are made of: a search for one finds everything."""
_QUOTED = re.compile(r"`([^`\n]{2,80})`")
_PLACE = re.compile(r"\S+:\d+")  # `src/app.py:12`
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_SHAPED = re.compile(
    r"""
    \b(?:
        [A-Za-z]+_\w+ | _\w+       # dispatch_request, _hidden
        | [a-z]+[A-Z]\w+           # dispatchRequest
        | [A-Z][a-z0-9]+[A-Z]\w*   # RequestContext
        | \w+(?=\(\))              # dispatch()
    )
    """,
    re.VERBOSE,
)
_PLAIN = re.compile(r"\b[a-z]{5,}\b")


def names_in(prompt: str) -> list[str]:
    """The names a prompt asks about, most telling first.

    Quoted code comes before snake_case and CamelCase words; plain words, the most repeated first,
    only if there are too few of those.
    """
    names = _names_of_code(prompt)
    # Where places alone are asked for, the form's own words name nothing of the repository.
    if len(names) > 1 or (names and ANSWER_FORM in prompt):
        return names
    return list(dict.fromkeys(names + _telling_words(prompt)))


def words_in(prompt: str, names: Iterable[str]) -> frozenset[str]:
    """Those of the names that are plain words of the prompt's, and hardly a symbol's."""
    return frozenset(names) - frozenset(_names_of_code(prompt))


def _names_of_code(prompt: str) -> list[str]:
    names: list[str] = []
    asks_for_places = ANSWER_FORM in prompt
    if asks_for_places:
        # What counts stands behind the question: `export … from`, dist and node_modules are words
        # of the form's own, and a server that was asked for them would seem to know nothing.
        prompt = prompt.replace(ANSWER_FORM, "").partition("?")[0]
    for quoted in _QUOTED.findall(prompt):
        if asks_for_places and _PLACE.fullmatch(quoted):
            continue
        # `Flask.wsgi_app` is about wsgi_app first.
        names += reversed(_WORD.findall(quoted))
    return uncommon(names + _SHAPED.findall(prompt))


def uncommon(names: Iterable[str]) -> list[str]:
    """The names without repeats and common words."""
    return [name for name in dict.fromkeys(names) if name.lower() not in COMMON]


def _telling_words(prompt: str) -> list[str]:
    """Plain words: the most repeated first, and of those the longest."""
    counts = Counter(_PLAIN.findall(prompt.lower()))
    return sorted(uncommon(counts), key=lambda word: (-counts[word], -len(word), word))
