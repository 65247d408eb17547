"""One chunk of text (a paragraph, list item, cell, JSON string) -> its citations, in order."""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import attrgetter

from runner.grounding.bare_lines import BareLines, is_longer
from runner.grounding.commit_files import PathIndex
from runner.grounding.links import MaskedText
from runner.grounding.mentions import MOST_MENTIONS, ChunkMentions, Cite, mentions_of
from runner.grounding.naming import span_before
from runner.grounding.owners import Above, Seen
from runner.grounding.patterns import (
    ALIAS,
    ESCAPED,
    EVENT,
    NAMED,
    SAME_FILE,
    SURE_EVENT,
    LineRange,
)

_DIGIT = re.compile(r"\d")
_begin_of = attrgetter("begin")

DOUBTFUL = ("parens", "worded", "loose", "pointed")
"""Kinds of events whose numbers may as well count something."""


def read_chunk(
    text: str, index: PathIndex, inherited: str | None = None, *, strict: bool = False
) -> ChunkMentions:
    """The citations of one chunk.

    `inherited` is the file that lines without one belong to; `strict` takes `path:line` alone.
    """
    return read_below(text, index, Above(inherited, sure=False, seen=Seen(index)), strict=strict)


def read_below(text: str, index: PathIndex, above: Above, *, strict: bool = False) -> ChunkMentions:
    """The citations of one chunk of a document, below what stands above it."""
    if not above.seen.begin_chunk():
        return ChunkMentions([], [])
    return _ChunkReader(_plainly(text), index, above, strict=strict).read()


def _plainly(text: str) -> str:
    """Without Markdown's escapes."""
    if "\\" not in text:
        return text
    return ESCAPED.sub(_unescaped, text)  # \_\_init\_\_.py


def _unescaped(token: re.Match[str]) -> str:
    """Markdown's escapes in a word, unless it is a code span or a Windows path."""
    if token["code"] or not token["word"]:
        return token[0]
    return re.sub(r"\\([_*~#\[\]().+!-])", r"\1", token[0])


class _ChunkReader(BareLines):
    """Goes through a chunk from path to path and from line to line, and ties them together."""

    def __init__(self, text: str, index: PathIndex, above: Above, *, strict: bool) -> None:
        def lines_of_words(words: str, path: str) -> list[LineRange]:
            return _lines_of_words(
                words, index, Above(path, sure=True, seen=above.seen), strict=strict
            )

        masked = MaskedText(text, index, lines_of_words)
        super().__init__(text, masked, index, above, strict=strict)
        self.landmarks = self._landmarks(masked.cites)
        """What is found by other means than events, the last one first."""

    def read(self) -> ChunkMentions:
        mentions = mentions_of(self.original, self._cites_in_order(), strict=self.strict)
        lead = self.owners.lead() if self.paths else None
        return ChunkMentions(mentions, self.paths, lead)

    def lines(self) -> list[LineRange]:
        """The lines that the chunk cites; who says what of them is not asked."""
        return [lines for cite in self._cites_in_order() for lines in dict.fromkeys(cite.lines)]

    def _cites_in_order(self) -> list[Cite]:
        self._find_cites()
        # Lines that waited for their file come late.
        return sorted(self.cites, key=_begin_of) if len(self.cites) > 1 else self.cites

    def _landmarks(self, linked: list[Cite]) -> list[Cite]:
        """Links, and short names of files."""
        found = linked
        if not self.strict and self.seen.aliases:
            found = [*found, *self._aliases()]
        if not self.strict and "ame" in self.text:
            found = [*found, *self._same_files()]
        if not found:  # as in most chunks
            return []
        return sorted(found, key=_begin_of, reverse=True)

    def _aliases(self) -> list[Cite]:
        """`RTAF` and `RTAF:42`, after "RTAF = internal/ReflectiveTypeAdapterFactory.java"."""
        aliases = self.seen.aliases
        words = (word for word in ALIAS.finditer(self.text) if word[0] in aliases)
        return [
            Cite(begin=word.start(), close=word.end(), path=aliases[word[0]], lines=[])
            for word in words
        ]

    def _same_files(self) -> list[Cite]:
        """`same file`: whichever is named last by then."""
        return [
            Cite(begin=same.start(), close=same.end(), path="", lines=[])
            for same in SAME_FILE.finditer(self.text)
        ]

    def _find_cites(self) -> None:
        at = 0
        event = self._event(0, len(self.text))
        while event and len(self.cites) < MOST_MENTIONS:
            begin = event.start()
            at = self._pass_landmarks(at, begin) if self.landmarks else at
            if at <= begin:
                at = max(self._take(event), begin + 1)
            if self.seen.is_spent:
                event = SURE_EVENT.search(self.text, at)
            else:
                event = self._event(at, len(self.text))
        self._pass_landmarks(at, len(self.text))

    def _pass_landmarks(self, at: int, end: int) -> int:
        """Take those that begin before the end; returns where to go on from."""
        while self.landmarks and self.landmarks[-1].begin <= end:
            landmark = self.landmarks.pop()
            if landmark.begin >= at:
                at = self._pass(landmark)
        return at

    def _pass(self, landmark: Cite) -> int:
        if not landmark.named:  # a short name, or "same file"
            path = landmark.path or next(iter(self.seen.paths), "")
            if not path:
                return landmark.close
            return self._cite_path(path, landmark.begin, landmark.close, short=True)
        self._name(landmark.path, landmark.begin, landmark.close, bare=not landmark.lines)
        self._cite(landmark)
        return landmark.close

    def _take(self, event: re.Match[str]) -> int:
        """Handle one event; returns where to go on from."""
        if event["path"]:
            named = self._take_path(event)
            return self._take_no_path(event) if named is None else named
        if self.strict:
            return event.end()
        if event.lastgroup in DOUBTFUL:
            self.seen.doubt()
            span = span_before(self.spans, event.start())
            if span and is_longer(span, event.start(), event.end()) and event.end() < span.end:
                return event.end()
        # Each alternative of the pattern ends in the group that gives it its name.
        return _TAKERS[event.lastgroup or "lines"](self, event) or event.end()

    def _take_no_path(self, event: re.Match[str]) -> int:
        """What looks like a path, and may be a name and its line."""
        named = None if self.strict else NAMED.match(self.text, event.start())
        return self._take_named(named) if named else event.end()


def _lines_of_words(words: str, index: PathIndex, above: Above, *, strict: bool) -> list[LineRange]:
    """[`f` (line 42)](src/app.py): the lines that a link's words give for its target."""
    if not _DIGIT.search(words):
        return []
    if not EVENT.search(words) or not above.seen.begin_chunk():
        return []
    return _ChunkReader(_plainly(words), index, above, strict=strict).lines()


_TAKERS: dict[str, Callable[[_ChunkReader, re.Match[str]], int | None]] = {
    "lines": _ChunkReader._take_lines,
    "named": _ChunkReader._take_named,
    "bare": _ChunkReader._take_bare,
    "ticked": _ChunkReader._take_ticked,
    "parens": _ChunkReader._take_parens,
    "worded": _ChunkReader._take_worded,
    "loose": _ChunkReader._take_loose,
    "pointed": _ChunkReader._take_pointed,
}
"""By the group of the event."""


def paths_in(text: str, index: PathIndex) -> list[str]:
    """Paths a short text cites, with or without lines."""
    return [mention.path for mention in read_chunk(text, index).mentions]


def first_path_in(text: str, index: PathIndex) -> str | None:
    """The first path a short text cites."""
    return next(iter(paths_in(text, index)), None)
