"""One chunk of text (a paragraph, list item, cell, JSON string) -> its citations, in order."""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple

from runner.grounding.files import PathIndex
from runner.grounding.links import MaskedText
from runner.grounding.mentions import MOST_MENTIONS, Cite, Mention, Tie, mentions_of
from runner.grounding.naming import Span, is_compound, span_before, symbol_of
from runner.grounding.owners import Above, Owner, Owners, Seen
from runner.grounding.paths import clean_path
from runner.grounding.patterns import (
    ADJACENT,
    ALIAS,
    ALIAS_AFTER,
    ALIAS_BEFORE,
    AT,
    CALLED,
    CHAIN,
    COUNTED,
    COUNTED_BEFORE,
    DEFAULT_AFTER,
    DEFAULT_BEFORE,
    DIRECT,
    ESCAPED,
    EVENT,
    FUNCTION_WORD,
    HOST,
    IN_BRACKET,
    LIMITING,
    LONG_NAME,
    MEMBER,
    NAME_AHEAD,
    NAMED,
    NAMED_BEFORE,
    NAMED_DIRECTLY,
    NEXT,
    NUMBERED,
    OF,
    OF_SAME_FILE,
    PORT_AFTER,
    PORT_BEFORE,
    QUALIFIED,
    ROUND,
    SAME_FILE,
    SERVING,
    SETTING,
    SPACED,
    SURE_EVENT,
    Interval,
    intervals,
)
from runner.grounding.words import COMMON_CODES, HTTP_CODES, NAMES, PORTS

_begin_of = attrgetter("begin")

DOUBTFUL = ("parens", "worded", "loose", "pointed")
"""Kinds of events whose numbers may as well count something."""
NEAR, NEAR_RANGE, VERY_NEAR = 40, 80, 12
"""Lines: as near to others of its file as this, a bare number is likely to be one, or a range."""
_AT_LINE = re.compile(r"@(?=[Ll]?\d+\Z|\Z)")
_BETWEEN = re.compile(r"\b(?:[Bb]etween|[Ff]rom)\s+(?:the\s+)?\Z")


class Reading(NamedTuple):
    """What one chunk cites, and the paths it names."""

    mentions: list[Mention]
    paths: list[str]
    lead: str | None = None
    """The path that it begins with."""

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
    if not above.seen.begin_chunk():
        return Reading([], [])
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
        self.cites: list[Cite] = []
        self._behind: tuple[int, re.Match[str] | None] = (-1, None)
        """The lines behind a place, the last that was looked at."""
        self.landmarks = self._landmarks(masked.cites)
        """What is found by other means than events, the last one first."""
        self.owners = Owners(masked.text, above)
        self.listed: Cite | None = None
        """The last citation with lines; `sure`: the last of them that is no guess. Looked for each
        time, they would take quadratic time."""
        self.sure: Cite | None = None

    def read(self) -> Reading:
        self._find_cites()
        # Lines that waited for their file come late.
        in_order = self.cites
        if len(in_order) > 1:
            in_order = sorted(in_order, key=_begin_of)
        mentions = mentions_of(self.original, in_order, strict=self.strict)
        lead = self.owners.lead() if self.paths else None
        return Reading(mentions, self.paths, lead)

    def _landmarks(self, linked: list[Cite]) -> list[Cite]:
        """Links, and short names of files."""
        found = linked
        if not self.strict and self.seen.aliases:
            found = [*found, *self._aliases()]
        if not self.strict and "ame" in self.text:
            found = [*found, *self._same_files()]
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
        event = EVENT.search(self.text)
        while event and len(self.cites) < MOST_MENTIONS:
            begin = event.start()
            at = self._pass_landmarks(at, begin) if self.landmarks else at
            if at <= begin:
                at = max(self._take(event), begin + 1)
            pattern = SURE_EVENT if self.seen.is_spent else EVENT
            event = pattern.search(self.text, at)
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
        if event.lastgroup in DOUBTFUL:
            self.seen.doubt()
            span = span_before(self.spans, event.start())
            if span and _is_longer(span, event.start(), event.end()) and event.end() < span.end:
                return event.end()
        # Each alternative of the pattern ends in the group that gives it its name.
        return _TAKERS[event.lastgroup or "lines"](self, event) or event.end()

    # paths

    def _take_path(self, event: re.Match[str]) -> int:
        path = self._path_of(event)
        if path is None:
            named = None if self.strict else NAMED.match(self.text, event.start())
            return self._take_named(named) if named else event.end()
        begin = event.start("path") + event["path"].find(path)
        close = begin + len(path)
        path = self.index.with_blanks(path, self.text, close)
        begin = close - len(path)
        if self.pending:
            self._settle(path, begin)
        return self._cite_path(path, begin, close)

    def _path_of(self, event: re.Match[str]) -> str | None:
        direct = self._direct(event)
        if self._before(event, 1) == "…":  # …/adapters/standalone.ts
            return clean_path(event["path"].lstrip("/"), self.index, has_line=bool(direct))
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
        if "/" in path:
            return True
        first = intervals(direct["list"])[:1]
        if not first or first[0][0] not in PORTS:
            return True
        return self.index.resolve(path).resolution != "missing"

    def _direct(self, event: re.Match[str]) -> re.Match[str] | None:
        """Lines right behind the path of an event: `:42`."""
        token = event["path"]
        if "@" in token and (at := _AT_LINE.search(token)):
            token = token[: at.start()]
        token = token.rstrip(".…")
        return self._lines_behind(event.start("path") + len(token))

    def _lines_behind(self, close: int) -> re.Match[str] | None:
        if self._behind[0] != close:
            self._behind = close, self._find_behind(close)
        return self._behind[1]

    def _find_behind(self, close: int) -> re.Match[str] | None:
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

    def _cite_path(self, path: str, begin: int, close: int, *, short: bool = False) -> int:
        """Cite the path, and the lines written right behind it; returns the end of all that.

        `short`: its short name stands there, which alone cites nothing.
        """
        lines: list[Interval] = []
        symbol = None
        direct = self._lines_behind(close)
        if direct is None and (direct := MEMBER.match(self.text, close)):
            symbol = symbol_of(direct["name"])
        if direct:
            lines = intervals(_without_column(direct["list"]))
            close = direct.end()
        else:
            self._note_alias(path, begin, close)
        self._name(path, begin, close, bare=not lines and not self._line_follows(close))
        if lines or not short:
            self._cite(
                Cite(begin=begin, close=close, path=path, lines=lines, symbol=symbol, named=True)
            )
        if direct:
            return self._cite_next(path, close)
        return close

    def _note_alias(self, path: str, begin: int, close: int) -> None:
        """`RTAF = a/b.java`, `a/b.java (RTAF)`: what a text calls the file from here on."""
        before = ALIAS_BEFORE.search(self.text[max(0, begin - 40) : begin])
        if before:
            self.seen.aliases[before["alias"]] = path
        after = ALIAS_AFTER.match(self.text, close)
        around = self.text[max(0, begin - 120) : begin]
        if DEFAULT_AFTER.match(self.text, close) or DEFAULT_BEFORE.search(around):
            self.seen.default = path
        if after and (after["said"] or _are_initials(after["alias"], path)):
            self.seen.aliases[after["alias"]] = path

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
                self.seen.note(cite.path, cite.lines)

    def _name(self, path: str, begin: int, end: int, *, bare: bool) -> None:
        self.paths.append(path)
        self.seen.name(path)
        self.owners.name(path, begin, end, bare=bare)

    def _line_follows(self, at: int) -> bool:
        phrase = EVENT.search(self.text, at, at + 60)
        if not phrase or not phrase["lines"]:
            return False
        return bool(ADJACENT.match(self.text[at : phrase.start()]))

    def _settle(self, path: str, begin: int) -> None:
        """Lines that had no file yet take the one that follows in their sentence."""
        for cite in self.pending:
            if self.owners.is_one_sentence(cite.close, begin):
                self._cite(cite._replace(path=path, tied="context", others=self.seen.paths))
        self.pending = []

    # lines

    def _take_lines(self, event: re.Match[str]) -> int | None:
        between = _BETWEEN.search(self._before(event, 16))
        lines = intervals(event["list"], between=bool(between))
        lines = self._without_codes(lines, event.end())
        cite = Cite(begin=event.start(), close=event.end(), path="", lines=lines)
        if self._completes_last(cite):
            self.cites[-1] = self.cites[-1]._replace(lines=lines, close=cite.close)
            self._note(self.cites[-1])
            return None
        close = self._cite_with_path_after(cite)
        if close is None:
            self._bind(cite)
        return close

    def _cite_with_path_after(self, cite: Cite) -> int | None:
        """Returns the end of both; None if no path is tied to the lines from behind."""
        with_path = self._with_path_after(cite)
        if with_path is None:
            return None
        self._name(with_path.path, with_path.begin, with_path.close, bare=False)
        self._cite(with_path)
        return with_path.close

    def _without_codes(self, lines: list[Interval], close: int) -> list[Interval]:
        """`:308-310, 405 :311`, `line 155, and 500 for the rest` end in a status."""
        first, last = lines[-1]
        if len(lines) < 2 or first != last or first not in COMMON_CODES:
            return lines
        apart = abs(first - lines[-2][1]) > NEAR_RANGE
        begins_other = re.match(r"\s:\d", self.text[close : close + 3])
        return lines[:-1] if apart or begins_other else lines

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
        if same := OF_SAME_FILE.match(self.text, cite.close):
            path = next(iter(self.seen.paths), None)
            return cite._replace(path=path, close=same.end(), named=True) if path else None
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
        return cite._replace(path=path, close=close, named=True)

    def _bind(self, cite: Cite, *, listed: bool = False) -> None:
        """Lines with no path of their own take their owner's, else one that follows."""
        owner = self._owner(cite, listed=listed)
        if owner is None:
            self.pending.append(cite)
        else:
            self._cite(self._owned(cite, owner))

    def _owner(self, cite: Cite, *, listed: bool = False) -> Owner | None:
        owner = self.owners.of(cite.begin, cite.lines[0][0], listed=listed)
        member = QUALIFIED.search(self.text[max(0, cite.begin - 120) : cite.begin])
        file = self._file_called(member["owner"]) if member else None
        if file is None or (owner and owner.firm):
            return owner
        rivals = (owner.path, *owner.rivals) if owner else ()
        return Owner(file, rivals, in_sentence=True, firm=True)

    def _owned(self, cite: Cite, owner: Owner) -> Cite:
        tied: Tie = "context"
        if owner.in_sentence:
            tied = "sentence"
        others = dict.fromkeys((*owner.rivals, *self.seen.paths))
        return cite._replace(path=owner.path, tied=tied, rivals=owner.rivals, others=tuple(others))

    def _take_bare(self, event: re.Match[str]) -> int | None:
        """`:301` after a path: no port, and not inside a longer code span (a slice, a key)."""
        begin, close = event.span()
        lines = intervals(event["bare"])
        if PORT_BEFORE.search(self._before(event, 40)):
            return None
        if lines[0][0] in PORTS and PORT_AFTER.match(self.text, close):
            return None
        if lines[0][0] in PORTS and not self.owners.near(begin, lines[0][0], NEAR_RANGE):
            return None
        lines = self._without_codes(lines, close)
        span = span_before(self.spans, begin)
        if span and _is_longer(span, begin, close):
            return None
        cite = Cite(begin=begin, close=close, path="", lines=lines)
        close_of_both = self._cite_with_path_after(cite)
        if close_of_both is None and (owner := self._owner(cite, listed=True)):
            self._cite(self._owned(cite, owner))
        return close_of_both

    def _take_named(self, event: re.Match[str]) -> int:
        """`run:42`, `run@:42`: the line of a name."""
        begin, close = event.span()
        symbol = symbol_of(event["name"])
        cite = Cite(
            begin=begin, close=close, path="", lines=intervals(event["named"]), symbol=symbol
        )
        file = self._file_called(event["name"])
        if file:
            cite = cite._replace(path=file, symbol=None, named=True)
            self._name(file, begin, close, bare=False)
            self._cite(cite)
            return close
        if (after := self._cite_with_path_after(cite)) is not None:
            return after
        owner = self._owner_of_named(event, cite)
        if owner is None:
            return event.end("name")
        sure = "@" in event["mark"] or self._is_coded(event, symbol) or self._is_near(cite, owner)
        self._cite(self._owned(cite._replace(guess=not sure), owner))
        return close

    def _file_called(self, name: str) -> str | None:
        """`GsonBuilder:42`: the file's name, if just one file is called so."""
        if not name[:1].isupper() or name.isupper():
            return None
        files = self.index.by_stem.get(name, ())
        return files[0].rpartition("/")[2] if len(files) == 1 else None

    def _owner_of_named(self, event: re.Match[str], cite: Cite) -> Owner | None:
        """None if it is no line: `timeout:30`, `react@18`, `localhost:8080`."""
        number, at = cite.lines[0][0], "@" in event["mark"]
        if at and ":" in event["mark"]:
            return self._owner(cite, listed=True)
        if (number in PORTS and HOST.search(event["name"])) or self._is_in_code(event):
            return None
        if number > 9 and self._is_coded(event, cite.symbol):
            return self._owner(cite, listed=True)
        if at or number < 10 or SETTING.search(event["name"]):
            return None
        if self.owners.sure and (number > 99 or self._is_ticked(event)):
            return self._owner(cite, listed=True)
        return self.owners.near(cite.begin, number, NEAR)

    def _is_coded(self, event: re.Match[str], symbol: str | None) -> bool:
        """`open_shop`, `openShop`, `run()`, `LIMIT`: no English word."""
        if symbol is None:
            return False
        return is_compound(symbol) or bool(event["call"]) or event["name"].isupper()

    def _is_near(self, cite: Cite, owner: Owner) -> bool:
        return self.seen.is_near(owner.path, cite.lines[0][0], NEAR)

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
        cite = last._replace(begin=begin, close=close, lines=lines, symbol=None, named=False)
        self._cite(cite)

    def _take_worded(self, event: re.Match[str]) -> None:
        """`a.py:237 (244 handlers, 250 bypass)`: lines go on from lines, counts do not."""
        begin, close = event.span("worded")
        following = self.text[close : close + 40].lstrip(" *_`")
        cite = Cite(begin=begin, close=close, path="", lines=intervals(event["worded"]))
        if COUNTED.match(following) or cite.lines[0][0] in HTTP_CODES:
            return
        owner = self._owner_of_worded(cite, coded=bool(NAME_AHEAD.match(following)))
        if owner:
            self._cite(self._owned(cite, owner))
        elif FUNCTION_WORD.match(following):
            self._cite_if_near(cite)

    def _owner_of_worded(self, cite: Cite, *, coded: bool) -> Owner | None:
        """The file of the lines before it, if it goes on from them."""
        sure, first = self.sure, cite.lines[0][0]
        if sure is None or not self.owners.is_one_sentence(sure.close, cite.begin):
            return None
        if not coded and not (first > 99 and _goes_on(sure.lines[-1][0], first)):
            return None
        if coded and not _goes_on(sure.lines[-1][0], first):
            return self.owners.near(cite.begin, first, NEAR)
        owner = self._owner(cite)
        if owner is None or self.index.resolve(owner.path) != self.index.resolve(sure.path):
            return None
        return owner

    def _take_loose(self, event: re.Match[str]) -> int | None:
        """`the loop head 332`, `called at 396`: a line, if it is near other lines of its file."""
        kind = event.lastgroup or "loose"
        begin, close = event.span(kind)
        cite = Cite(begin=begin, close=close, path="", lines=intervals(event[kind]))
        before = self.text[max(0, begin - 60) : begin]
        served = AT.search(before)
        if NUMBERED.search(before) or (served and SERVING.search(served["verb"] or "")):
            return None
        after = self._cite_with_path_after(cite)
        if after is None:
            self._cite_if_near(cite)
        return after

    def _take_pointed(self, event: re.Match[str]) -> int | None:
        """`on 145 for the rest`; but "on 12 machines" counts them."""
        following = self.text[event.end() : event.end() + 40].lstrip()
        is_said = FUNCTION_WORD.match(following) or following.startswith(("is ", "are ", "was "))
        if COUNTED.match(following) or not is_said:
            return None
        return self._take_loose(event)

    def _cite_if_near(self, cite: Cite) -> None:
        owner = self._owner_of_loose(cite.begin, *cite.lines[0])
        if owner:
            self._cite(self._owned(_going_on(cite), owner))

    def _owner_of_loose(self, begin: int, first: int, last: int) -> Owner | None:
        before = self.text[max(0, begin - 90) : begin]
        pointed = self._is_pointed_at(before)
        if first == last and first in HTTP_CODES:
            known = pointed or NAMED_BEFORE.search(before)
            limit = NEAR if known and first not in COMMON_CODES else VERY_NEAR
            if known and pointed and first not in COMMON_CODES:
                owner = self.owners.of(begin, first)
                if owner and owner.firm:
                    return owner
            return self.owners.near(begin, first, limit) if known else None
        named = NAMED_DIRECTLY.search(before)
        pointed = pointed or (named is not None and not SETTING.search(named[0].strip("` ~")))
        if _is_line_where_firm(first, last, pointed=pointed):
            owner = self.owners.of(begin, first)
            if owner and owner.firm:
                return owner
        limit = NEAR if first == last and not pointed else NEAR_RANGE
        return self.owners.near(begin, first, limit)

    def _is_pointed_at(self, before: str) -> bool:
        """`dispatches at 365`; but "capped at 500" sets a limit."""
        at = AT.search(before)
        if at is None:
            return False
        no_line = SERVING if at[0].rstrip(" ~").endswith("on") else LIMITING
        return not no_line.search(at["verb"] or "")

    def _take_parens(self, event: re.Match[str]) -> None:
        """A number in brackets may be the line of what it follows: "`f` (line 7), `g` (92)"."""
        lines = intervals(event["parens"])
        cite = Cite(begin=event.start(), close=event.end(), path="", lines=lines)
        # A path's own lines were looked for behind it.
        is_behind = self.cites and self.cites[-1].named and cite.begin - self.cites[-1].close < 3
        if is_behind and event[0].endswith(")"):
            return
        before = self._before(event, 90)
        if self._is_http(event, before):
            return
        first, last = lines[0]
        limit = NEAR_RANGE if first == last or first < 100 else 3 * NEAR_RANGE
        owner = self.owners.near(cite.begin, first, limit)
        if owner is None and lines[0][0] > 99 and not ROUND.fullmatch(str(lines[0][0])):
            known = self._owner(cite)
            owner = known if known and known.firm else None
        elif owner is None and QUALIFIED.search(before) and (known := self._owner(cite)):
            owner = known if known.firm else None
        if owner and not COUNTED_BEFORE.search(before):
            self._cite(self._owned(cite, owner)._replace(tied="context"))
        elif "," in event["parens"] or NAMED_BEFORE.search(before):
            self._guess(cite)

    def _is_http(self, event: re.Match[str], before: str) -> bool:
        """`not found (404)`; but `test_it_works (204)` has a line, and so has `f` (428) by 425."""
        only = event["parens"].lstrip("~≈")
        if not only.isdigit() or int(only) not in HTTP_CODES or LONG_NAME.search(before):
            return False
        if int(only) in COMMON_CODES:
            return True
        return self.owners.near(event.start(), int(only), VERY_NEAR) is None

    def _guess(self, cite: Cite) -> None:
        sure = self.sure
        several = len(cite.lines) > 1
        in_list = not several and sure and self.owners.is_one_sentence(sure.close, cite.begin)
        owner = self._owner(cite)
        if owner:
            owned = self._owned(cite._replace(guess=not in_list), owner)
            self._cite(owned._replace(tied="context"))


_TAKERS: dict[str, Callable[[_Reader, re.Match[str]], int | None]] = {
    "lines": _Reader._take_lines,
    "named": _Reader._take_named,
    "bare": _Reader._take_bare,
    "ticked": _Reader._take_ticked,
    "parens": _Reader._take_parens,
    "worded": _Reader._take_worded,
    "loose": _Reader._take_loose,
    "pointed": _Reader._take_pointed,
}
"""By the group of the event."""


def _without_column(listed: str) -> str:
    """`2424,41` as 2424; but `41,57` is two lines."""
    first, _, last = listed.partition(",")
    if first.isdigit() and last.isdigit() and int(last) < int(first):
        return first
    return listed


def _are_initials(alias: str, path: str) -> bool:
    """`RTAF` of `ReflectiveTypeAdapterFactory.java`."""
    name = path.rpartition("/")[2].partition(".")[0]
    initials = name[:1] + re.sub(r"[^A-Z]|(?<=_)(?=\w)", "", name[1:])
    words = "".join(word[:1] for word in re.split(r"[_-]", name))
    return alias.lower() in (initials.lower(), words.lower())


def _is_line_where_firm(first: int, last: int, *, pointed: bool) -> bool:
    """A range, or a number that `at` or `on` points to, if no value is written so."""
    if first in PORTS or ROUND.fullmatch(str(first)):
        return False
    if first != last:
        return first > 99
    return pointed and first > 32 and first != 64


def _going_on(cite: Cite) -> Cite:
    """Of a list, the lines up to the first that does not go on from the one before it."""
    lines = cite.lines[:1]
    for interval in cite.lines[1:]:
        if not _goes_on(lines[-1][0], interval[0]):
            break
        lines.append(interval)
    return cite._replace(lines=lines)


def _goes_on(line: int, following: int) -> bool:
    """Is it a line that a text comes to next, in the same part of a file?"""
    return line <= following <= line + 600


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
