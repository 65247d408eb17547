"""Are the words of a text in an order that English has? A judge of words alone cannot tell.

Each word is a class: some forty function words and their like, endings, names and numbers. The
score of a text is the mean, over neighbouring classes, of how much more often the second follows
the first in technical English than it would by chance (pointwise mutual information in half nats,
cut at ±2). Counted in 30,452 sentences of the documentation of Django, Flask, Werkzeug and Click,
none of which is an answer. Of 150 steps of
anchors and references 95 % score at least .19, and with their words shuffled 5 % score .09.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

_WORDS = {
    "the": "the",
    "a": "a an",
    "this": "this that these those",
    "its": "its their his our your my whose",
    "it": "it they he she we you i them itself nobody nothing somebody something",
    "of": "of",
    "to": "to",
    "in": "in on at by for from with into onto through over under between via within about against "
    "without per upon among around behind beyond beside besides across above below during toward "
    "towards inside outside like",
    "as": "as than",
    "and": "and or nor",
    "but": "but yet",
    "if": "if when while because since unless until where whether once though although so then "
    "before after whenever wherever",
    "which": "which who whom what how why",
    "is": "is are was were",
    "be": "be been being",
    "has": "has have had having",
    "do": "do does did",
    "can": "can could may might must should will would shall cannot",
    "not": "not never",
    "no": "no each every any all both some several many most few more less another other such "
    "either neither one two three",
    "there": "there here",
    "only": "only also again just still always already even too instead otherwise now first last "
    "later twice ever almost",
}
_ENDINGS = ("ly", "ing", "ed", "s")
_OTHER = ("word", "name", "number", ",", ".")
CLASSES = (*_WORDS, *_ENDINGS, *_OTHER)
_CLASS_OF = {word: name for name, words in _WORDS.items() for word in words.split()}

_MARKS = "()[]\"',;:.!?|—–"
_NO_BREAK = "\"'"
_WORD = re.compile(r"[a-z]+(?:['-][a-z]+)*")
_NUMBER = re.compile(r"\d[\d.]*")
_BRACKET = re.compile(r"\(([^()]{0,400})\)")
_POINTING = re.compile(r"[\d./_:]")
_BETWEEN_PLACES = frozenset({"and", "line", "lines", "to", "symbol"})

_FOLLOWS = (
    # The columns are CLASSES without "," and ".", and so are the rows, and those two. Read: behind
    # `the` of the first row there is hardly ever `of`, and often a word. 4 is what chance gives.
    "00000000000000000002041434661"
    "00000000000000000002003431654"
    "31245001101207066753534235410"
    "00000000001000002000230325642"
    "00000043412217088872356043303"
    "75572000000150000005101525355"
    "55351000000030747004024201545"
    "66572000000050010006202503454"
    "57356203011321122015433553446"
    "34144012200443045455444535465"
    "43538024303644347575775424222"
    "65568000010210102045822732341"
    "41346060002017067754234026201"
    "35200032000130100085277480314"
    "15010001201010001003116280323"
    "48152060002010832057253052232"
    "44735003213533133185433400102"
    "00000000000100876072086020500"
    "24010021205030886003257370501"
    "21110601821001012004204336532"
    "01224112413338153570332000003"
    "23102613301500775124335365413"
    "22213045432541544053532574423"
    "66454444242344021204122225341"
    "25121077744511000002435303331"
    "45534556452456054544344442333"
    "33443655553445044433333425445"
    "00300244473436043531253415421"
    "00111344374435333341333226445"
    "43437013578680013145644523345"
    "54626035403720003024745344344"
)
_SIDE = len(CLASSES) - 2
_CHANCE = 4


@dataclass(frozen=True, kw_only=True)
class Fluency:
    """A text's pairs of neighbouring words, and the sum of their scores in half nats."""

    total: int
    pairs: int


@lru_cache(maxsize=16_384)
def fluency_of(text: str) -> Fluency:
    """`text`: lower-case, without emphasis."""
    total = 0
    pairs = 0
    for run in _runs(_BRACKET.sub(_without_places, text)):
        for before, word in itertools.pairwise(run):
            # Cells of a table and lists of names have no order to be wrong.
            if min(before, word) < len(_WORDS):
                total += int(_FOLLOWS[before * _SIDE + word]) - _CHANCE
                pairs += 1
    return Fluency(total=total, pairs=pairs)


def _without_places(bracket: re.Match[str]) -> str:
    """Nothing of a bracket that only cites: it may stand anywhere, and says nothing of order."""
    for word in bracket[1].split():
        if word not in _BETWEEN_PLACES and not _POINTING.search(word):
            return bracket[0]
    return " "


def _runs(text: str) -> Iterator[list[int]]:
    """The classes of words that stand together. A mark begins the next run, or only ends one."""
    run: list[int] = []
    for token in text.split():
        bare = token.strip(_MARKS)
        head = token[: token.find(bare)].strip(_NO_BREAK)
        tail = token[token.find(bare) + len(bare) :].strip(_NO_BREAK)
        if head:
            yield run
            run = []
        if bare:
            run.append(_INDEX[_class_of(bare)])
        if tail:
            yield run
            run = _start_behind(tail)
    yield run


def _start_behind(marks: str) -> list[int]:
    """What the run behind some marks begins with."""
    if not _ENDS.isdisjoint(marks):
        return [_INDEX["."]]
    return [_INDEX[","]] if "," in marks else []


def _class_of(word: str) -> str:
    if word in _CLASS_OF:
        return _CLASS_OF[word]
    if _NUMBER.fullmatch(word):
        return "number"
    if not _WORD.fullmatch(word):
        return "name"
    if word.endswith("n't"):
        return "not"
    endings = filter(word.removesuffix("ss").endswith, _ENDINGS)
    return next(endings, "word")


_ENDS = frozenset(".!?")
_INDEX = {name: at for at, name in enumerate(CLASSES)}


# --- is it in order? ----------------------------------------------------------------------------

SOUND, NO_ORDER = 0.10, -0.05
"""Means, in nats: from the first on, all that is said counts; from the second down, nothing."""
_USUAL, _USUAL_PAIRS = 0.3, 10
"""What an answer's words usually score, and how many pairs of words outweigh that: a short row of a
table has too few to be called disordered."""


def order_share(parts: Sequence[Fluency]) -> float:
    """What is left, in [0, 1], of the worth of what is said in these texts together."""
    total = sum(part.total for part in parts) / 2
    pairs = sum(part.pairs for part in parts)
    mean = (total + _USUAL * _USUAL_PAIRS) / (pairs + _USUAL_PAIRS)
    return min(1.0, max(0.0, (mean - NO_ORDER) / (SOUND - NO_ORDER)))
