"""One piece of text (a paragraph, item, cell, JSON string) -> the paths and lines in it, in order.

Whose lines they are that stand without a path is binding.py's business.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Literal, NamedTuple

from runner.grounding.commit_files import PathIndex
from runner.grounding.links import MaskedText
from runner.grounding.mentions import MOST_MENTIONS
from runner.grounding.naming import CodeSpan, is_compound, span_before, symbol_of
from runner.grounding.paths import clean_path
from runner.grounding.patterns import (
    ADJACENT,
    BRACKETED,
    CALLED,
    CODES_BEHIND,
    COUNTED,
    DIRECT,
    ESCAPED,
    EVENT,
    FRAME,
    IN_BRACKET,
    MEMBER,
    NAMED,
    NEXT,
    OF,
    OF_NEXT,
    PHRASE_AHEAD,
    RESPECTIVELY,
    SAME_FILE,
    SPACED,
    LineRange,
    intervals,
    next_event,
)
from runner.grounding.word_lists import (
    COMMON_CODES,
    FILE_NAMES,
    FOREIGN_PARTS,
    FOREIGN_ROOTS,
    HTTP_CODES,
    PORTS,
)

Kind = Literal["path", "same", "lines", "named", "bare", "ticked", "number", "foreign"]
_MAY_CITE = re.compile(r"[\d./\\](?:(?<=\d)|\w)")
_FILE_NAME = re.compile("|".join(FILE_NAMES))
_AT_LINE = re.compile(r"@(?=[Ll]?\d+\Z|\Z)")
_BETWEEN = re.compile(r"\b(?:[Bb]etween|[Ff]rom)\s+(?:the\s+)?\Z")
_ALONE = re.compile(
    r"[ \t*_`]{0,9}(?:[-*+][ ])?[*_`]{0,3}(?P<list>\d{1,6}(?:[-–]\d{1,6})?)[*_`]{0,3}"
    r"(?:\s?\(`?[\w.:()]{1,80}`?\)|:?\s`[^`\n]{1,80}`)?\s*"
)
"""A whole item below a file: `628`, **628**, 628 (`run`)."""
_begin_of = attrgetter("begin")


class Token(NamedTuple):
    """A path, lines, or both, where a text has them."""

    kind: Kind
    begin: int
    close: int
    """Characters of the text: its first, and the one behind it."""
    path: str = ""
    """Empty for lines that stand without one."""
    lines: tuple[LineRange, ...] = ()
    ref: str | None = None
    symbol: str | None = None
    form: str = ""
    """Of a number: in brackets, before a word, …; of a name with its line: what joins the two."""
    coded: bool = False
    """The name looks like no English word: `open_shop`, `openShop`, `run()`, `LIMIT`."""
    apart: bool = False
    """The path stands in the text before, not here."""


class Piece(NamedTuple):
    """A text, what of it is read, and what is found there."""

    text: str
    masked: str
    """With blanks for commands, links and URLs."""
    spans: list[CodeSpan]
    tokens: list[Token]

    def paths(self) -> list[str]:
        return [token.path for token in self.tokens if token.path and not token.apart]


def plainly(text: str) -> str:
    """Without Markdown's escapes: `\\_\\_init\\_\\_.py`."""
    if "\\" not in text:
        return text
    return ESCAPED.sub(_unescaped, text)


def _unescaped(token: re.Match[str]) -> str:
    """Unless it is a code span or a Windows path."""
    if token["code"] or not token["word"]:
        return token[0]
    return re.sub(r"\\([_*~#\[\]().+!-])", r"\1", token[0])


def read_piece(text: str, index: PathIndex, *, strict: bool = False) -> Piece:
    """What stands in a text. `strict`, for code: a path with its lines, and nothing else."""
    text = plainly(text)
    # Most paragraphs of prose: no path has neither a dot nor a slash, and no line no digit.
    if not _MAY_CITE.search(text) and not _FILE_NAME.search(text):
        return Piece(text, text, [], [])
    masked = MaskedText(text, index, lambda words: _lines_of(words, index))
    scanner = _Scanner(masked.text, masked.spans, index, strict=strict)
    found = [
        Token("path", cite.begin, cite.close, cite.path, tuple(cite.lines), cite.ref, cite.symbol)
        for cite in masked.cites
    ]
    if not strict and ("ame" in text or "bid" in text):
        found += map(scanner.same_file, SAME_FILE.finditer(masked.text))
    tokens = list(scanner.tokens(sorted(found, key=_begin_of)))
    return Piece(text, masked.text, masked.spans, tokens)


def read_item(text: str, index: PathIndex) -> Piece:
    """Of a list; one that is nothing but a number may be a line of what stands above."""
    alone = _ALONE.fullmatch(text)
    if alone is None:
        return read_piece(text, index)
    lines = tuple(intervals(alone["list"]))
    return Piece(text, text, [], [Token("number", *alone.span("list"), lines=lines, form="alone")])


def _lines_of(words: str, index: PathIndex) -> list[LineRange]:
    """The lines that a link's words give for its target: [`f` (line 42)](src/app.py)."""
    if not re.search(r"\d", words) or not EVENT.search(words):
        return []
    tokens = read_piece(words, index).tokens
    return [lines for token in tokens if token.kind != "number" for lines in token.lines]


class _Scanner:
    def __init__(self, text: str, spans: list[CodeSpan], index: PathIndex, *, strict: bool) -> None:
        self.text = text
        self.spans = spans
        self.index = index
        self.strict = strict
        self.path_end = -1
        """Of the path read last: characters."""

    def tokens(self, landmarks: Sequence[Token]) -> Iterator[Token]:
        """All of the text, with the landmarks, which are found by other means."""
        at = found = 0
        left = deque(landmarks)
        while found < MOST_MENTIONS:
            event = next_event(self.text, at)
            while left and (event is None or left[0].begin <= event.start()):
                landmark = left.popleft()
                if landmark.begin >= at:
                    at = landmark.close
                    yield landmark
            if event is None:
                return
            if event.start() < at:
                continue
            at = event.end()
            for token in self._read(event):
                found += 1
                at = max(token.close, event.start() + 1)
                self.path_end = token.close if token.path else self.path_end
                yield token

    def same_file(self, same: re.Match[str]) -> Token:
        """`same file`, and the lines behind it."""
        begin, close = same.span()
        direct = self._lines_behind(close)
        if direct:
            return Token("same", begin, direct.end(), lines=tuple(intervals(direct["list"])))
        if phrase := self._phrase_behind(close):
            return self._marked(phrase)._replace(kind="same", begin=begin)
        return Token("same", begin, close)

    def _read(self, event: re.Match[str]) -> Iterator[Token]:
        kind = event.lastgroup or "lines"
        if event["path"]:
            path = self._path_of(event)
            if self._is_foreign(event):
                # Its lines are of no file here, and of none that stands above.
                direct = self._direct(event) or self._phrase_behind(event.end())
                yield Token("foreign", event.start(), direct.end() if direct else event.end())
            elif path:
                yield from self._placed(event, path)
            elif not self.strict and (named := NAMED.match(self.text, event.start())):
                yield from self._named(named)
        elif self.strict:
            return
        elif kind == "named":
            yield from self._named(event)
        elif token := self._without_path(event, kind):
            yield self._with_path_after(token)

    # paths

    def _path_of(self, event: re.Match[str]) -> str | None:
        direct = self._direct(event)
        token, begin = event["path"], event.start("path")
        if self.text[max(0, begin - 1) : begin] == "…":  # …/adapters/standalone.ts
            return clean_path(token.lstrip("/"), self.index, has_line=bool(direct))
        if direct and direct.start() < event.end():  # a.py@42
            token = token[: direct.start() - begin]
        has_line = bool(direct) or self._phrase_behind(event.end()) is not None
        path = clean_path(token, self.index, has_line=has_line)
        if path is None or (direct and not self._is_file(path, direct)):
            return None
        # A file called `run` must not make every word `run` a citation of it.
        if path in self.index.bare_names and path not in FILE_NAMES and not direct:
            return None
        return path

    def _is_foreign(self, event: re.Match[str]) -> bool:
        """A file of another tree: of an installation, or of a frame of a trace."""
        path = event["path"]
        if self.index.resolve(path.rstrip(".:")).resolution != "missing":
            return False
        if path.startswith(FOREIGN_ROOTS) or any(part in path for part in FOREIGN_PARTS):
            return True
        before = self.text[max(0, event.start() - 200) : event.start()]
        return before.endswith("(") and bool(FRAME.search(before))

    def _is_file(self, path: str, direct: re.Match[str]) -> bool:
        """False for a host and its port: `db.prod.rs:27017`."""
        first = intervals(direct["list"])[:1]
        if "/" in path or not first or first[0][0] not in PORTS:
            return True
        return self.index.resolve(path).resolution != "missing"

    def _direct(self, event: re.Match[str]) -> re.Match[str] | None:
        """Lines right behind the path of an event: `:42`."""
        token = event["path"]
        if "@" in token and (at := _AT_LINE.search(token)):
            token = token[: at.start()]
        return self._lines_behind(event.start("path") + len(token.rstrip(".…")))

    def _lines_behind(self, close: int) -> re.Match[str] | None:
        text = self.text
        return (
            DIRECT.match(text, close)
            or CALLED.match(text, close)
            or SPACED.match(text, close)
            or self._in_bracket(close)
        )

    def _in_bracket(self, close: int) -> re.Match[str] | None:
        """`a.cpp (42)`; but a list of how often each file matches has numbers there too."""
        lines = IN_BRACKET.match(self.text, close)
        if lines is None or not lines["list"].isdigit():
            return lines
        is_count = COUNTED.search(self.text, max(0, close - 120), close)
        return None if is_count or int(lines["list"]) in HTTP_CODES else lines

    def _phrase_behind(self, at: int) -> re.Match[str] | None:
        """`, at lines 42-60`, right behind a path."""
        if not PHRASE_AHEAD.match(self.text, at):
            return None
        phrase = EVENT.search(self.text, at, min(at + 60, len(self.text)))
        if phrase and phrase["lines"] and ADJACENT.match(self.text[at : phrase.start()]):
            phrase = EVENT.match(self.text, phrase.start()) or phrase
            # "in a.py and b.py at lines 3 and 7, respectively" gives one of them to each.
            return None if RESPECTIVELY.match(self.text, phrase.end()) else phrase
        return None

    def _placed(self, event: re.Match[str], path: str) -> Iterator[Token]:
        """A path, and the lines written right behind it."""
        begin = event.start("path") + event["path"].find(path)
        close = begin + len(path)
        path = self.index.with_blanks(path, self.text, close)
        begin, symbol = close - len(path), None
        direct = self._lines_behind(close)
        if direct is None and (direct := MEMBER.match(self.text, close)):
            symbol = symbol_of(direct["name"])
        if direct is None and (phrase := self._phrase_behind(close)):
            token = self._marked(phrase)
            yield token._replace(kind="path", begin=begin, path=path)
            return
        if direct is None:
            yield Token("path", begin, close, path)
            return
        lines = tuple(intervals(_without_column(direct["list"])))
        yield Token("path", begin, direct.end(), path, lines, symbol=symbol)
        yield from self._further(path, direct.end())

    def _further(self, path: str, close: int) -> Iterator[Token]:
        """`a.py:1` (first), 7 (second), and 9 (third)."""
        while following := NEXT.match(self.text, close):
            begin, close = following.start("list"), following.end()
            yield Token("path", begin, close, path, tuple(intervals(following["list"])), apart=True)

    # lines without a path

    def _without_path(self, event: re.Match[str], kind: str) -> Token | None:
        begin, close = event.span(kind)
        if kind == "lines":
            return self._marked(event)
        if kind == "bare":
            lines = self._without_codes(intervals(event["bare"]), event.end())
            return Token("bare", event.start(), event.end(), lines=lines)
        if kind == "ticked":
            return self._ticked(event)
        span = span_before(self.spans, begin)
        if span and is_longer(span, begin, close) and close < span.end:
            return None
        if kind == "parens":
            begin, close = event.span()
        return Token("number", begin, close, lines=tuple(intervals(event[kind])), form=kind)

    def _ticked(self, event: re.Match[str]) -> Token:
        (begin, close), lines = event.span(), tuple(intervals(event["ticked"]))
        opening = self.text.rfind("(", max(0, begin - 200), begin)
        bracket = BRACKETED.match(self.text, opening) if opening >= 0 else None
        if bracket is None or bracket.end() < close:
            return Token("ticked", begin, close, lines=lines)
        begin, close = max(begin - 1, opening), close + (close + 1 == bracket.end())
        return Token("number", begin, close, lines=lines, form="parens")

    def _marked(self, event: re.Match[str]) -> Token:
        """`lines 42-60`."""
        before = self.text[max(0, event.start() - 16) : event.start()]
        lines = tuple(intervals(event["list"], between=bool(_BETWEEN.search(before))))
        # "line 155, and 500 for the rest" gives one line and a status; "lines 155 and 500" two.
        if not event["lines"][:5].lower().startswith("lines"):
            lines = self._without_codes(list(lines), event.end())
        return Token("lines", *event.span(), lines=lines)

    def _without_codes(self, lines: list[LineRange], close: int) -> tuple[LineRange, ...]:
        """`:308-310, 405 :311`, `line 155, and 500 for the rest` end in a status."""
        first, last = lines[-1]
        if len(lines) > 1 and first == last and first in COMMON_CODES:
            apart = abs(first - lines[-2][1]) > CODES_BEHIND
            if apart or re.match(r"\s:\d", self.text[close : close + 3]):
                lines = lines[:-1]
        return tuple(lines)

    def _named(self, event: re.Match[str]) -> Iterator[Token]:
        """`run:42`, `run@:42`: the line of a name."""
        name, mark = event["name"], event["mark"]
        symbol = symbol_of(name)
        token = Token("named", *event.span(), lines=tuple(intervals(event["named"])), symbol=symbol)
        token = self._with_path_after(token)
        coded = symbol is not None and (
            is_compound(symbol) or bool(event["call"]) or name.isupper()
        )
        ticked = "`" in mark or self.text[event.start() - 1 : event.start()] == "`"
        if not self._is_in_code(event):
            yield token._replace(form=mark + "`" * ticked, coded=coded)

    def _is_in_code(self, event: re.Match[str]) -> bool:
        """It is part of some code: `{maxDepth:10}`, `a[b.c:3]`."""
        span = span_before(self.spans, event.start())
        if span is None or event.start() >= span.end:
            return False
        return bool(re.search(r"[{}=\[\]\"']", self.text[span.begin : span.end]))

    def _with_path_after(self, token: Token) -> Token:
        """`line 42 of a.py`: with the path that `of`, `in` or a bracket ties to the lines."""
        of = OF.match(self.text, token.close)
        event = EVENT.match(self.text, of.end()) if of else None
        if not (event and event["path"]) and token.kind == "lines" and self.path_end < 0:
            of = OF_NEXT.match(self.text, token.close)
            event = EVENT.match(self.text, of.end()) if of else None
        if not event or not event["path"]:
            return token
        path = clean_path(event["path"], self.index, has_line=True)
        # "line 42 of a.py:7": that path has lines of its own.
        if path is None or self._direct(event) or self._phrase_behind(event.end()):
            return token
        close = event.start() + event["path"].find(path) + len(path)
        return token._replace(kind="path", path=path, close=close)


def is_longer(span: CodeSpan, begin: int, close: int) -> bool:
    """True if a code span holds more than these characters: `a[1:42]`, but not `:51` alone."""
    if span.begin >= begin or close >= span.end:
        return False
    return begin - span.begin > 1 or span.end - close > 1


def _without_column(listed: str) -> str:
    """`2424,41` as 2424; but `41,57` is two lines."""
    first, _, last = listed.partition(",")
    if first.isdigit() and last.isdigit() and int(last) < int(first):
        return first
    return listed
