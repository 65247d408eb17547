"""One chunk of text (a paragraph, list item, cell, JSON string) -> its citations, in order."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from runner.grounding.files import PathIndex
from runner.grounding.links import MaskedText
from runner.grounding.mentions import Cite, Mention, Tie, mentions_of
from runner.grounding.naming import Span, span_before
from runner.grounding.paths import clean_path
from runner.grounding.patterns import (
    ADJACENT,
    CALLED,
    CHAIN,
    DIRECT,
    EVENT,
    NAMED_BEFORE,
    NEXT,
    OF,
    SENTENCE_END,
    Interval,
    intervals,
)
from runner.grounding.words import HTTP_CODES, NAMES

MOST_CANDIDATES = 12
"""Files remembered for lines that are written without a path."""
_FAR = 600
"""Characters: what lies further apart is not said in one breath. It bounds every look back, so that
no text takes quadratic time."""
_BETWEEN = re.compile(r"\b(?:[Bb]etween|[Ff]rom)\s+(?:the\s+)?\Z")
_PORT_WORDS = ("port", "listen", "addr", "localhost", "host", "run(", "serve ")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What one chunk cites, and the paths it names."""

    mentions: list[Mention] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    @property
    def first_path(self) -> str | None:
        return next(iter(self.paths), None)

    @property
    def last_path(self) -> str | None:
        """The file that the chunk leaves its reader in."""
        return next(reversed(self.paths), None)


def read_chunk(
    text: str, index: PathIndex, inherited: str | None = None, *, strict: bool = False
) -> Reading:
    """The citations of one chunk.

    `inherited` is the file that lines without one belong to; `strict` takes `path:line` alone.
    """
    return _Reader(text, index, inherited, strict=strict).read()


class _Reader:
    """Goes through a chunk from path to path and from line to line, and ties them together."""

    def __init__(self, text: str, index: PathIndex, inherited: str | None, *, strict: bool) -> None:
        self.original = text
        self.index = index
        self.inherited = inherited
        self.strict = strict
        self.paths: list[str] = []
        """Named so far."""
        self.path_end = 0
        """Of the last of them, in characters."""
        self.pending: list[Cite] = []
        """Lines with no file yet."""
        masked = MaskedText(text, index, self._lines_of_words)
        self.text = masked.text
        self.spans = masked.spans
        self.cites = masked.cites
        self.listed: Cite | None = None
        """The last citation with lines; `sure`: the last of them that is no guess. Looked for each
        time, they would take quadratic time."""
        self.sure: Cite | None = None
        for cite in masked.cites:
            self._note(cite)

    def read(self) -> Reading:
        self._find_cites()
        # Links were found first.
        in_order = sorted(self.cites, key=lambda cite: cite.begin)
        mentions = mentions_of(self.original, in_order, strict=self.strict)
        return Reading(mentions=list(mentions), paths=self.paths)

    def _find_cites(self) -> None:
        at = 0
        while event := EVENT.search(self.text, at):
            at = max(self._take(event), event.start() + 1)

    def _lines_of_words(self, words: str, path: str) -> list[Interval]:
        """[`f` (line 42)](src/app.py): the lines that a link's words give for its target."""
        if not EVENT.search(words) or not re.search(r"\d", words):
            return []
        reading = read_chunk(words, self.index, path, strict=self.strict)
        return [mention.lines for mention in reading.mentions if mention.lines]

    def _take(self, event: re.Match[str]) -> int:
        """Handle one event; returns where to go on from."""
        if event["path"]:
            return self._take_path(event)
        if self.strict:
            return event.end()
        if event["lines"]:
            return self._take_lines(event)
        if event["bare"]:
            self._take_bare(event)
        elif event["ticked"]:
            self._take_ticked(event)
        else:
            self._take_parens(event)
        return event.end()

    # paths

    def _take_path(self, event: re.Match[str]) -> int:
        path = self._path_of(event)
        if path is None:
            return event.end()
        begin = event.start("path") + event["path"].find(path)
        close = begin + len(path)
        path = self._with_blanks(path, close)
        begin = close - len(path)
        self._name(path, close)
        self._settle(path, begin)
        return self._cite_path(path, begin, close)

    def _path_of(self, event: re.Match[str]) -> str | None:
        direct = self._direct(event)
        has_line = bool(direct) or self._line_follows(event.end())
        path = clean_path(event["path"], self.index, has_line=has_line)
        # A file called `run` must not make every word `run` a citation of it.
        if path in self.index.bare_names and path not in NAMES and not direct:
            return None
        return path

    def _direct(self, event: re.Match[str]) -> re.Match[str] | None:
        """Lines right behind the path of an event: `:42`."""
        token = event["path"].rstrip(".…")
        return DIRECT.match(self.text, event.start("path") + len(token))

    def _cite_path(self, path: str, begin: int, close: int) -> int:
        """Cite the path, and the lines written right behind it; returns the end of all that."""
        lines: list[Interval] = []
        direct = DIRECT.match(self.text, close) or CALLED.match(self.text, close)
        if direct:
            lines = intervals(direct["list"])
            close = direct.end()
        self._cite(Cite(begin=begin, close=close, path=path, lines=lines, named=True))
        if direct:
            return self._cite_next(path, close)
        return close

    def _cite_next(self, path: str, close: int) -> int:
        """`a.py:1` (first), 7 (second), and 9 (third)."""
        while following := NEXT.match(self.text, close):
            begin, close = following.start("list"), following.end()
            lines = intervals(following["list"])
            self._cite(Cite(begin=begin, close=close, path=path, lines=lines))
        return close

    def _cite(self, cite: Cite) -> None:
        self.cites.append(cite)
        self._note(cite)

    def _note(self, cite: Cite) -> None:
        if cite.lines:
            self.listed = cite
            if not cite.guess:
                self.sure = cite

    def _name(self, path: str, end: int) -> None:
        self.paths.append(path)
        self.path_end = end

    def _line_follows(self, at: int) -> bool:
        phrase = EVENT.search(self.text, at, at + 60)
        if not phrase or not phrase["lines"]:
            return False
        return bool(ADJACENT.match(self.text[at : phrase.start()]))

    def _with_blanks(self, path: str, close: int) -> str:
        """`docs/my guide.md`: the pattern has found the last word of a file of the tree."""
        return self.index.with_blanks(path, self.text, close)

    def _settle(self, path: str, begin: int) -> None:
        """Lines that had no file yet take the one that follows in their sentence."""
        for cite in self.pending:
            if self._one_sentence(cite.close, begin):
                self._cite(replace(cite, path=path))
        self.pending = []

    def _one_sentence(self, begin: int, end: int) -> bool:
        return end - begin < _FAR and not SENTENCE_END.search(self.text, begin, end)

    # lines

    def _take_lines(self, event: re.Match[str]) -> int:
        between = _BETWEEN.search(self._before(event, 16))
        lines = intervals(event["list"], between=bool(between))
        cite = Cite(begin=event.start(), close=event.end(), path="", lines=lines)
        if self._completes_last(cite):
            self.cites[-1] = replace(self.cites[-1], lines=lines, close=cite.close)
            self._note(self.cites[-1])
            return cite.close
        with_path = self._with_path_after(cite)
        if with_path:
            self._name(with_path.path, with_path.close)
            self._cite(with_path)
            return with_path.close
        self._bind(cite)
        return cite.close

    def _before(self, event: re.Match[str], characters: int) -> str:
        return self.text[max(0, event.start() - characters) : event.start()]

    def _completes_last(self, cite: Cite) -> bool:
        """`src/app.py` (line 42): true if the lines belong to a path cited right before them."""
        if not self.cites:
            return False
        last = self.cites[-1]
        if not last.named or last.lines:
            return False
        return bool(ADJACENT.match(self.text[last.close : cite.begin]))

    def _with_path_after(self, cite: Cite) -> Cite | None:
        """`line 42 of a.py`: with the path that `of`, `in` or a bracket ties to the lines."""
        event = EVENT.search(self.text, cite.close, cite.close + 300)
        if not event or not event["path"]:
            return None
        if not OF.match(self.text[cite.close : event.start()]):
            return None
        path = clean_path(event["path"], self.index, has_line=True)
        # "line 42 of a.py:7": that path has lines of its own.
        if path is None or self._direct(event):
            return None
        close = event.start() + event["path"].find(path) + len(path)
        return replace(cite, path=path, close=close, named=True)

    def _bind(self, cite: Cite) -> None:
        """Lines with no path of their own.

        They take the nearest path before them, else the one above, else one that follows in the
        sentence.
        """
        path = self._path_above()
        if not path:
            self.pending.append(cite)
            return
        tied: Tie = "context"
        if self.paths and self._one_sentence(self.path_end, cite.begin):
            tied = "sentence"
        self._cite(replace(cite, path=path, tied=tied, others=self._candidates()))

    def _path_above(self) -> str | None:
        if self.paths:
            return self.paths[-1]
        return self.inherited

    def _candidates(self) -> tuple[str, ...]:
        return tuple(reversed(self.paths[-MOST_CANDIDATES:]))

    def _take_bare(self, event: re.Match[str]) -> None:
        """`:301` after a path: no port, and not inside a longer code span (a slice, a key)."""
        begin, close = event.span()
        before = self._before(event, 24).lower()
        if any(word in before for word in _PORT_WORDS) or not self._path_above():
            return
        span = span_before(self.spans, begin)
        if span and _is_longer(span, begin, close):
            return
        self._bind(Cite(begin=begin, close=close, path="", lines=intervals(event["bare"])))

    def _take_ticked(self, event: re.Match[str]) -> None:
        """A number in backticks continues a list of lines: "`a.py:83`, `153`"."""
        begin, close = event.span()
        last = self.listed
        if last is None or not self._one_sentence(last.close, begin):
            return
        if not CHAIN.match(self.text[last.close : begin]):
            return
        lines = intervals(event["ticked"])
        cite = replace(last, begin=begin, close=close, lines=lines, symbol=None, named=False)
        self._cite(cite)

    def _take_parens(self, event: re.Match[str]) -> None:
        """A number in brackets may be the line of what it follows: "`f` (line 7), `g` (92)"."""
        path = self._path_above()
        if path is None or not self._may_be_lines(event):
            return
        several = "," in event["parens"]
        sure = self.sure
        in_list = not several and sure and self._one_sentence(sure.close, event.start())
        cite = Cite(
            begin=event.start(),
            close=event.end(),
            path=path,
            lines=intervals(event["parens"]),
            tied="context",
            others=self._candidates(),
            guess=not in_list,
        )
        self._cite(cite)

    def _may_be_lines(self, event: re.Match[str]) -> bool:
        """`f` (42) may; "not found (404)" and "the loop (42)" count something else."""
        first = re.split(r"\D", event["parens"], maxsplit=1)[0]
        if int(first) in HTTP_CODES:
            return False
        return "," in event["parens"] or bool(NAMED_BEFORE.search(self._before(event, 90)))


def _is_longer(span: Span, begin: int, close: int) -> bool:
    """True if a code span holds more than these characters: `a[1:42]`, but not `:51` alone."""
    if span.begin >= begin or close >= span.end:
        return False
    return begin - span.begin > 1 or span.end - close > 1


def paths_in(text: str, index: PathIndex) -> list[str]:
    """Paths a short text cites, with or without lines."""
    return [mention.path for mention in read_chunk(text, index).mentions]


def first_path_in(text: str, index: PathIndex) -> str | None:
    """The first path a short text cites."""
    return next(iter(paths_in(text, index)), None)
