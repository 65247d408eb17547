"""One chunk of text (a paragraph, list item, cell, JSON string) -> its citations, in order."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from runner.grounding.files import PathIndex
from runner.grounding.links import MaskedText
from runner.grounding.mentions import Cite, Mention, Tie, mentions_of
from runner.grounding.naming import Span, is_compound, span_before, symbol_of
from runner.grounding.owners import Above, Owner, Owners, Seen
from runner.grounding.paths import clean_path
from runner.grounding.patterns import (
    ADJACENT,
    CALLED,
    CHAIN,
    COUNTED,
    DIRECT,
    ESCAPED,
    EVENT,
    HOST,
    IN_BRACKET,
    LONG_NAME,
    MEMBER,
    NAME_AHEAD,
    NAMED,
    NAMED_BEFORE,
    NEXT,
    OF,
    PORT_AFTER,
    PORT_BEFORE,
    SETTING,
    SPACED,
    Interval,
    intervals,
)
from runner.grounding.words import HTTP_CODES, NAMES, PORTS

_BETWEEN = re.compile(r"\b(?:[Bb]etween|[Ff]rom)\s+(?:the\s+)?\Z")


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
    return read_below(text, index, Above(inherited, sure=False, seen=Seen(index)), strict=strict)


def read_below(text: str, index: PathIndex, above: Above, *, strict: bool = False) -> Reading:
    """The citations of one chunk of a document, below what stands above it."""
    if "\\" in text:  # \_\_init\_\_.py
        text = ESCAPED.sub(_unescaped, text)
    return _Reader(text, index, above, strict=strict).read()


def _unescaped(token: re.Match[str]) -> str:
    """Markdown's escapes in a word, unless it is a code span or a Windows path."""
    if token["code"] or not token["word"]:
        return token[0]
    return re.sub(r"\\([_*~#\[\]().+!-])", r"\1", token[0])


class _Reader:
    """Goes through a chunk from path to path and from line to line, and ties them together."""

    def __init__(self, text: str, index: PathIndex, above: Above, *, strict: bool) -> None:
        self.original = text
        self.index = index
        self.strict = strict
        self.seen = above.seen
        self.paths: list[str] = []
        """Named so far."""
        self.pending: list[Cite] = []
        """Lines with no file yet."""
        masked = MaskedText(text, index, self._lines_of_words)
        self.text = masked.text
        self.spans = masked.spans
        self.cites = masked.cites
        self.owners = Owners(masked.text, above)
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
        above = Above(path, sure=True, seen=self.seen)
        reading = read_below(words, self.index, above, strict=self.strict)
        return [mention.lines for mention in reading.mentions if mention.lines]

    def _take(self, event: re.Match[str]) -> int:
        """Handle one event; returns where to go on from."""
        if event["path"]:
            return self._take_path(event)
        if self.strict:
            return event.end()
        if event["lines"]:
            return self._take_lines(event)
        if event["name"]:
            return self._take_named(event)
        if event["bare"]:
            self._take_bare(event)
        elif event["ticked"]:
            self._take_ticked(event)
        elif event["worded"]:
            self._take_worded(event)
        else:
            self._take_parens(event)
        return event.end()

    # paths

    def _take_path(self, event: re.Match[str]) -> int:
        path = self._path_of(event)
        if path is None:
            named = None if self.strict else NAMED.match(self.text, event.start())
            return self._take_named(named) if named else event.end()
        begin = event.start("path") + event["path"].find(path)
        close = begin + len(path)
        path = self._with_blanks(path, close)
        begin = close - len(path)
        self._settle(path, begin)
        return self._cite_path(path, begin, close)

    def _path_of(self, event: re.Match[str]) -> str | None:
        direct = self._direct(event)
        has_line = bool(direct) or self._line_follows(event.end())
        token = event["path"]
        if direct and direct.start() < event.end():  # a.py@42
            token = token[: direct.start() - event.start("path")]
        path = clean_path(token, self.index, has_line=has_line)
        if path and direct and not self._is_file(path, direct):
            return None
        # A file called `run` must not make every word `run` a citation of it.
        if path in self.index.bare_names and path not in NAMES and not direct:
            return None
        return path

    def _is_file(self, path: str, direct: re.Match[str]) -> bool:
        """False for a host and its port: `db.prod.rs:27017`."""
        first = intervals(direct["list"])[:1]
        if "/" in path or not first or first[0][0] not in PORTS:
            return True
        return self.index.resolve(path).resolution != "missing"

    def _direct(self, event: re.Match[str]) -> re.Match[str] | None:
        """Lines right behind the path of an event: `:42`."""
        token = event["path"]
        at = re.search(r"@(?=[Ll]?\d+\Z|\Z)", token)
        if at:
            token = token[: at.start()]
        token = token.rstrip(".…")
        return self._lines_behind(event.start("path") + len(token))

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
        if lines is None or COUNTED.search(self.text, max(0, close - 120), close):
            return None
        if lines["list"].isdigit() and int(lines["list"]) in HTTP_CODES:
            return None
        return lines

    def _cite_path(self, path: str, begin: int, close: int) -> int:
        """Cite the path, and the lines written right behind it; returns the end of all that."""
        lines: list[Interval] = []
        symbol = None
        direct = self._lines_behind(close)
        if direct is None and (direct := MEMBER.match(self.text, close)):
            symbol = symbol_of(direct["name"])
        if direct:
            lines = intervals(direct["list"])
            close = direct.end()
        self._name(path, begin, close, bare=not lines)
        self._cite(
            Cite(begin=begin, close=close, path=path, lines=lines, symbol=symbol, named=True)
        )
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
                self.seen.note(cite.path, cite.lines[0][0])

    def _name(self, path: str, begin: int, end: int, *, bare: bool) -> None:
        self.paths.append(path)
        self.seen.name(path)
        self.owners.name(path, begin, end, bare=bare)

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
            if self.owners.is_one_sentence(cite.close, begin):
                self._cite(replace(cite, path=path, tied="context", others=self.seen.paths))
        self.pending = []

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
            self._name(with_path.path, with_path.begin, with_path.close, bare=False)
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

    def _bind(self, cite: Cite, *, listed: bool = False) -> None:
        """Lines with no path of their own take their owner's, else one that follows."""
        owner = self._owner(cite, listed=listed)
        if owner is None:
            self.pending.append(cite)
        else:
            self._cite(self._owned(cite, owner))

    def _owner(self, cite: Cite, *, listed: bool = False) -> Owner | None:
        return self.owners.of(cite.begin, cite.lines[0][0], listed=listed)

    def _owned(self, cite: Cite, owner: Owner) -> Cite:
        tied: Tie = "context"
        if owner.in_sentence:
            tied = "sentence"
        others = dict.fromkeys((*owner.rivals, *self.seen.paths))
        return replace(cite, path=owner.path, tied=tied, rivals=owner.rivals, others=tuple(others))

    def _take_bare(self, event: re.Match[str]) -> None:
        """`:301` after a path: no port, and not inside a longer code span (a slice, a key)."""
        begin, close = event.span()
        lines = intervals(event["bare"])
        if PORT_BEFORE.search(self._before(event, 40)):
            return
        if lines[0][0] in PORTS and PORT_AFTER.match(self.text, close):
            return
        span = span_before(self.spans, begin)
        if span and _is_longer(span, begin, close):
            return
        cite = Cite(begin=begin, close=close, path="", lines=lines)
        owner = self._owner(cite, listed=True)
        if owner:
            self._cite(self._owned(cite, owner))

    def _take_named(self, event: re.Match[str]) -> int:
        """`run:42`, `run@:42`: the line of a name."""
        begin, close = event.span()
        symbol = symbol_of(event["name"])
        cite = Cite(
            begin=begin, close=close, path="", lines=intervals(event["named"]), symbol=symbol
        )
        sure = self._is_sure_name(event, symbol)
        owner = None
        if sure is not None:
            owner = self._owner(cite, listed=True)
        if owner is None:
            return event.end("name")
        self._cite(self._owned(replace(cite, guess=not sure), owner))
        return close

    def _is_sure_name(self, event: re.Match[str], symbol: str | None) -> bool | None:
        """Is it a line? None if it is none: `timeout:30`, `react@18`, `localhost:8080`."""
        number, at = int(re.findall(r"\d+", event["named"])[0]), "@" in event["mark"]
        if at and ":" in event["mark"]:
            return True
        if number in PORTS and HOST.search(event["name"]):
            return None
        if self._is_in_code(event):
            return None
        coded = symbol is not None and (is_compound(symbol) or bool(event["call"]))
        if coded:
            return number > 9
        if at or not self.owners.sure or number < 10 or SETTING.search(event["name"]):
            return None
        return None if number < 100 and not self._is_ticked(event) else False

    def _is_ticked(self, event: re.Match[str]) -> bool:
        return "`" in event["mark"] or self._before(event, 1) == "`"

    def _is_in_code(self, event: re.Match[str]) -> bool:
        """It is part of some code: `{maxDepth:10}`, `a[b.c:3]`."""
        span = span_before(self.spans, event.start())
        if span is None or event.start() >= span.end:
            return False
        return bool(re.search(r"[{}=\[\]\"']", self.text[span.begin : span.end]))

    def _take_ticked(self, event: re.Match[str]) -> None:
        """A number in backticks continues a list of lines: "`a.py:83`, `153`"."""
        begin, close = event.span()
        last = self.listed
        if last is None or not self.owners.is_one_sentence(last.close, begin):
            return
        if not CHAIN.match(self.text[last.close : begin]):
            return
        lines = intervals(event["ticked"])
        cite = replace(last, begin=begin, close=close, lines=lines, symbol=None, named=False)
        self._cite(cite)

    def _take_worded(self, event: re.Match[str]) -> None:
        """`a.py:237 (244 handlers, 250 bypass)`: lines go on from lines, counts do not."""
        begin, close = event.span("worded")
        following = self.text[close : close + 40].lstrip(" *_`")
        cite = Cite(begin=begin, close=close, path="", lines=intervals(event["worded"]))
        first = cite.lines[0][0]
        if COUNTED.match(following) or first in HTTP_CODES:
            return
        sure = self.sure
        if sure is None or not self.owners.is_one_sentence(sure.close, begin):
            return
        if not _goes_on(sure.lines[-1][0], first):
            return
        owner = self._owner(cite)
        if owner is None or self.index.resolve(owner.path) != self.index.resolve(sure.path):
            return
        named = NAME_AHEAD.match(following)
        if first > 99 or named:
            self._cite(self._owned(cite, owner))

    def _take_parens(self, event: re.Match[str]) -> None:
        """A number in brackets may be the line of what it follows: "`f` (line 7), `g` (92)"."""
        if not self._may_be_lines(event):
            return
        several = "," in event["parens"]
        sure = self.sure
        in_list = not several and sure and self.owners.is_one_sentence(sure.close, event.start())
        cite = Cite(
            begin=event.start(),
            close=event.end(),
            path="",
            lines=intervals(event["parens"]),
            guess=not in_list,
        )
        owner = self._owner(cite)
        if owner:
            self._cite(replace(self._owned(cite, owner), tied="context"))

    def _may_be_lines(self, event: re.Match[str]) -> bool:
        """`f` (42) may; "not found (404)" and "the loop (42)" count something else."""
        # A path's own lines were looked for behind it.
        if self.cites and self.cites[-1].named and event.start() - self.cites[-1].close < 3:
            return False
        first = re.split(r"\D", event["parens"].lstrip("~"), maxsplit=1)[0]
        before = self._before(event, 90)
        if int(first) in HTTP_CODES and not LONG_NAME.search(before):
            return False
        return "," in event["parens"] or bool(NAMED_BEFORE.search(before))


def _goes_on(line: int, following: int) -> bool:
    """Is it a line that a text comes to next, in the same part of a file?"""
    return line <= following <= line + 400


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
