"""Sentences and what they stand under, as a reader takes them in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runner.scoring.judges.checklist.cited_places import Place, as_written, places_in

MAX_WORDS = 70
"""A longer passage is no single statement: a soup of every keyword would be one."""
MAX_PLACES = 8
"""Distinct places that one passage, or one wording repeated, may cite and still point at them."""
MAX_CONTEXT_WORDS = 40
MAX_CONTEXT_PLACES = 3
"""A heading that cites more than this vouches for nothing under it."""


@dataclass(frozen=True)
class Context:
    """What a sentence stands under: headings, parent items, the short fields of its JSON object."""

    text: str = ""
    path: str | None = None
    places: tuple[Place, ...] = ()

    def under(self, text: str) -> Context:
        """The context one level further down. The nearest words stay if there are too many."""
        pointing = places_in(_open_links(text), self.path)
        words = f"{self.text} | {plain_lower(as_written(text))}".split()[-MAX_CONTEXT_WORDS:]
        places = pointing.places or self.places
        if len(places) > MAX_CONTEXT_PLACES:
            places = ()
        return Context(" ".join(words), pointing.last_path, places)


@dataclass(frozen=True)
class Sentence:
    """A sentence: of prose, an item, a table row, a line of a fence, or a field of JSON."""

    text: str
    """Lower-case, folded, without Markdown emphasis."""
    context: Context
    places: tuple[Place, ...]
    written: str = ""
    """With its case and its marks."""

    @property
    def words(self) -> int:
        return self.text.count(" ") + 1

    @property
    def said(self) -> str:
        """Its text if it states something: a question, and what is called false, do not."""
        is_question = self.text.endswith(_QUESTION_ENDS)
        if is_question or _CALLED_FALSE.search(self.text) or _FALSE_LEAD.search(self.context.text):
            return ""
        return self.text


_QUESTION_ENDS = ("?", '?"', "?)", "?'")
_CALLED_FALSE = re.compile(
    r"""
    \b(?:false | untrue | not\ true | wrong | incorrect | not\ the\ case | not\ so | a\ myth
        | mistaken | no\ evidence | i\ doubt | doubtful)
    \ (?:that | to\ (?:say|think|claim|believe)) \b
    """,
    re.VERBOSE,
)
_FALSE_LEAD = re.compile(
    r"\bnone\ of\ (?:this|these|the\ following)\b[^|]{0,40}\b(?:true|holds|correct)\b"
    r"|\b(?:following|these|below)\b[^|]{0,40}\b(?:false|untrue|wrong|incorrect)\b"
)

TextBlock = list[Sentence]
"""Units that are read together: a paragraph, an item with what is under it, a row, an object."""

_SENTENCE_END = re.compile(
    r"""
    (?<=[.!?])
    (?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bcf\.)(?<!\bvs\.)  # abbreviations end no sentence
    [\"')\]]?                                         # (so it ends.) Next
    \s+
    (?=[\"'(\[`*\ue000]*[A-Z0-9`_])                   # `_run` and "Then" begin the next one
    """,
    re.VERBOSE,
)
_ITEM_END = re.compile(r"(?<=[,;])\s+")
_NAME = re.compile(r"(?!and\b|or\b)[`*(\[]*[^\W\d][\w.]*(?![\w.]*[/\\:])")
_LINK = re.compile(r"\[([^\[\]]*)\]\(([^()\s]*)\)")
_EMPHASIS = re.compile(r"[*`]+|~~")


def plain_lower(text: str) -> str:
    """Lower-case, without emphasis and links' brackets: what terms are looked for in."""
    return _without_emphasis(_open_links(text)).lower()


def _without_emphasis(text: str) -> str:
    return _EMPHASIS.sub("", text)


def _open_links(text: str) -> str:
    """`[deliver](app.py#L3)` as `deliver (app.py#L3)`: its words and its target are both read."""
    return _LINK.sub(r"\1 (\2)", text)


def units_of(text: str, context: Context, block: Sequence[Sentence] = ()) -> TextBlock:
    """The sentences of a text.

    A bare `line 42` belongs to the file named last in its block, or else above it.
    """
    path = _last_path(block) or context.path
    units = []
    for sentence in _SENTENCE_END.split(text.strip()):
        for piece in _pieces(_open_links(sentence)):
            for item in _items(piece, path):
                # With its code marks and case: they tell `f` (42) from a number in a bracket.
                pointing = places_in(item, path)
                path = pointing.last_path
                said = as_written(item)
                text = _without_emphasis(said).lower()
                units.append(Sentence(text, context, pointing.places, said))
    return units


def _items(sentence: str, path: str | None) -> list[str]:
    """The sentence; if it cites too much for one statement, what its commas set apart."""
    if len(places_in(sentence, path).places) <= MAX_PLACES:
        return [sentence]
    items: list[str] = []
    for item in _ITEM_END.split(sentence):
        # Lines alone stay with what was said of them: it would point at each, however many.
        if items and not any(_NAME.match(word) for word in item.split()):
            items[-1] += f" {item}"
        else:
            items.append(item)
    return items


def _last_path(block: Sequence[Sentence]) -> str | None:
    for unit in reversed(block):
        if unit.places:
            return unit.places[-1].path
    return None


def _pieces(sentence: str) -> Iterator[str]:
    """The sentence; if it is too long to be one statement, overlapping pieces of it."""
    words = list(filter(_without_emphasis, sentence.split()))
    if len(words) <= MAX_WORDS:
        if words:
            yield " ".join(words)
        return
    step = MAX_WORDS // 2
    # Pieces overlap by half: a statement cut in two would be said in neither.
    for start in range(0, len(words) - step, step):
        yield " ".join(words[start : start + MAX_WORDS])
