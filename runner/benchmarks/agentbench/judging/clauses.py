"""A text in clauses: what stands beside a value, before it, and among what."""

from __future__ import annotations

import re

from runner.benchmarks.agentbench.judging.moments import dates, times
from runner.benchmarks.agentbench.judging.quantities import quantities
from runner.benchmarks.agentbench.judging.wanted import ValueKind, ValueMention, wanted

DENIED_WORDS = 8
"""How far before a value a `not` may stand."""

WORD = re.compile(r"[^\W_]+(?:[.'-][^\W_]+)*")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n")
_CLAUSE_END = re.compile(
    r"\n|[.!?](?=\s|$)|[,;|](?=\s|$|[^\d\s])|\s[–—]\s|\b(?:and|but|while|whereas)\b"
)
DENIAL = re.compile(
    r"\b(?:not(?!\s+(?:only|just|counting|including))|\w+n't|never|neither|nor|cannot"
    r"|rather than|instead of|other than|no longer|far from|anything but|doubt|unlikely|hardly"
    r"|(?:wrong|incorrect|false|untrue)\s+(?:to|that))\b",
    re.IGNORECASE,
)
RESTART = re.compile(
    r"[,;:(–—-]\s*(?:it|they|this|that|the|there|so|we|i|you|which|because|since|but|as|and)"
    r"(?:'s|'re)?\b|[;:]|\bbut\b",
    re.IGNORECASE,
)
LIMIT_BEFORE = re.compile(r"\b(?:from|until|till|before|after|since)\s+(?:the\s+)?$", re.IGNORECASE)
"""`Not to be used from October` denies no October."""
DENIED_BEHIND = re.compile(
    r"[\s)\"']*(?:(?:is|was|are|were|would be|being|seems|looks|being)\s+"
    r"(?:(?:clearly|certainly|obviously|simply|definitely)\s+)?"
    r"(?:not\s*(?:right|correct|true|the|it\b|what|valid|[.,;!]|$)|wrong|incorrect|false|untrue)"
    r"|(?:isn't|wasn't|aren't)\s*(?:right|correct|true|the|it\b|what|[.,;!]|$)"
    r"|(?:can|could)(?:not| not|n't) be\b)",
    re.IGNORECASE,
)
_ALL = r"(?:all of )?(?:it|this|that|these|those|them|the above)"
WITHDRAWN = re.compile(
    rf"\bnone of {_ALL}(?: figures| values)? (?:is|are|was|were) (?:right|correct|true|real)\b"
    r"|\b(?:disregard|ignore|forget) (?:(?:all(?: of)?|everything) )?(?:(?:the )?above|my answer)\b"
    rf"|(?:^|[.!?]\s|\n)(?:sorry|correction|on second thoughts?)\W{{1,3}}{_ALL} (?:is|are|was|were)"
    r" (?:all )?(?:wrong|incorrect|not (?:right|correct))\b",
    re.IGNORECASE,
)
"""An answer that takes itself back: not `the 41 of your slip, sorry, that is wrong`."""
# "2 or fewer" offers nothing else.
_OR = r",?\s+or\s+(?!(?:more|fewer|less|above|below|higher|lower|over|under)\b)"
_OTHER = r"(?P<other>(?:[^,.;\n]|(?<=\d)[.,](?=\d)){1,40})"
OR_BEHIND = re.compile(rf"[^,.;:\n]{{0,12}}?(?:,[^,.;\n]{{1,30}}){{0,8}}{_OR}{_OTHER}")
OR_BEFORE = re.compile(rf"{_OTHER}{_OR}(?:\w+\s+){{0,2}}$")
_BULLET = re.compile(r"^\s*(?:[-*•+]\s+|\d{1,4}[.)]\s+)?")
ITEM_END = re.compile(r"\n|,(?!\d{3}\b)|;|\||\s(?:or|and)\s")


def words_of(text: str) -> list[str]:
    """In small letters, without `'s`."""
    return [match[0].casefold().removesuffix("'s") for match in WORD.finditer(text)]


def sentence_end(text: str, at: int) -> int:
    match = _SENTENCE_END.search(text, at)
    return match.start() if match else len(text)


def sentence_before(text: str, at: int) -> str:
    """The sentence up to there."""
    begins = 0
    for match in _SENTENCE_END.finditer(text, max(at - 400, 0), at):
        begins = match.end()
    return text[max(begins, at - 400) : at]


def clause_around(text: str, at: int) -> str:
    begins = [match.end() for match in _CLAUSE_END.finditer(text, 0, at)]
    end = _CLAUSE_END.search(text, at)
    return text[begins[-1] if begins else 0 : end.start() if end else len(text)]


def is_asked(text: str, one: ValueMention) -> bool:
    return text[sentence_end(text, one.end) :].startswith("?")


def words_before(text: str, at: int) -> str:
    """The last words of the sentence before there."""
    before = sentence_before(text, at)
    starts = [match.start() for match in re.finditer(r"\S+", before)]
    return before[starts[-DENIED_WORDS] :] if len(starts) >= DENIED_WORDS else before


def holds_value(text: str, kind: ValueKind) -> bool:
    if kind == "date":
        return any(dates(text))
    if kind == "time":
        return any(times(text))
    if kind == "quantity":
        return any(quantities(text))
    return False


def bare(item: str) -> str:
    return _BULLET.sub("", item).strip(" .,;|:()[]\"'\n")


def is_bare(kind: ValueKind, item: str) -> bool:
    """Is it nothing but such a value, or at most three words? An empty line ends no list."""
    if not item:
        return True
    if kind == "words":
        return len(item.split()) <= 3
    return wanted(item).kind == kind
