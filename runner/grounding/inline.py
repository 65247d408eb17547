"""One chunk of text (a paragraph, a list item, a cell, a JSON string) -> the citations it makes, in order."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import unquote

from runner.grounding.files import PathIndex
from runner.grounding.naming import spans_of, symbol_after, symbol_before, symbol_of
from runner.grounding.words import (
    COMMANDS,
    EXTENSIONS,
    FOREIGN_PARTS,
    FOREIGN_ROOTS,
    HTTP_CODES,
    NAMES,
    SUFFIX_TLDS,
)


@dataclass(frozen=True, kw_only=True)
class Mention:
    """One citation as the text has it. Lines are as written; end is never below start."""

    written: str
    path: str
    start: int | None = None
    end: int | None = None
    symbol: str | None = None
    ref: str | None = None
    """Of a blob URL; None for a plain path."""
    weak: bool = False
    """Only a JSON key names the symbol: keys have names of their own, so it is dropped where the file does not know the word."""
    tied: Literal["own", "sentence", "context"] = "own"
    """What ties the lines to the path: it is written with them, it stands before them in the sentence, or somewhere above."""
    others: tuple[str, ...] = ()
    """Files named before, the latest first, where the lines are not written with the path."""
    guess: bool = False
    """`name (42)`: lines, if most of an answer's like it hold; else just numbers."""
    group: int = 0
    """Not 0 for lines of one list: "`f` (a.py:3, 9)". A symbol named for several lines need hold for one of them only."""


@dataclass(kw_only=True)
class Reading:
    """What one chunk said, and which file it leaves the reader in."""

    mentions: list[Mention] = field(default_factory=list)
    first_path: str | None = None
    last_path: str | None = None
    paths: list[str] = field(default_factory=list)


# --- patterns -------------------------------------------------------------------------------

_DASH = r"[-‐‑–—]"
_TO = rf"(?:\s?{_DASH}\s?|\s?\.\.\.?\s?|\s(?:to|through|thru|until)\s(?:line\s)?)"
_STOP = r"(?![\w%]|\.\d|-\d)"
_ITEM = rf"[Ll~≈]?(\d{{1,7}})(?:[:C]\d{{1,5}})?(?:(?:{_DASH}|\.\.\.?)[Ll:]?(\d{{1,7}})(?:[:C]\d{{1,5}})?)?{_STOP}"
_LOOSE_ITEM = (
    rf"[Ll~≈]?(\d{{1,7}})(?:[:C]\d{{1,5}})?(?:{_TO}[Ll:]?(\d{{1,7}})(?:[:C]\d{{1,5}})?)?{_STOP}"
)
_LINKING = "and|or|in|of|to|for|from|with|where|which|that|is|are|but|then|so|because|via|on|at|as|by|after|before|inside"
_GO_ON = rf"(?!\s+(?!(?:{_LINKING})\b)[a-z])"
"""Behind a listed number: `42, 2 handlers` counts handlers."""
_SEP = r"\s?(?:,\s?(?:and|or|&)\s|[,;/&+]|and\s|or\s)\s?(?:and\s)?(?:lines?\s)?:?"
_TICKS = r"[`*_\"']{0,3}"


def _plain(pattern: str) -> str:
    """The same pattern with its groups uncaptured."""
    return re.sub(r"\((?!\?)", "(?:", pattern)


_DIRECT = re.compile(
    rf"(?:{_TICKS}[:：]|\#(?=L))(?P<list>{_plain(_ITEM)}(?:[,/]{_plain(_ITEM)}|{_SEP}{_plain(_ITEM)}{_GO_ON}){{0,60}})"
)
_CALLED = re.compile(rf"\((?P<list>\d{{1,7}}(?:{_DASH}\d{{1,7}})?)\)")
_LINES_WORD = (
    r"(?:[Ll]ines?|LINES?|[Ll]ns?\b\.?|ll?\.)(?:\(s\))?"
    r"(?:\s(?:numbers?|nos?\.?))?[:#=]?[`*_\"']{0,3}\s{0,2}[:#=]?\s{0,2}[`*_\"'(\[]{0,3}"
)
_LIST = rf"(?P<list>{_plain(_LOOSE_ITEM)}(?:{_SEP}{_plain(_LOOSE_ITEM)}{_GO_ON}){{0,60}})"
_LINES = rf"(?<![\w\-])(?:{_LINES_WORD}|L(?=\d)|at\s(?=\d{{2,6}}{_DASH}\d{{2,6}}\b)){_LIST}"
_BARE = rf":(?<=[\s(`,/]:)(?:(?P<bare>{_plain(_ITEM)}(?:[,/]{_plain(_ITEM)}|{_SEP}{_plain(_ITEM)}{_GO_ON}){{0,60}}))"
_TICKED = rf"`(?P<ticked>\d{{1,6}}(?:{_DASH}\d{{1,6}})?)`"
_PARENS = rf"\((?<=[`\w)]\s\()(?P<parens>\d{{2,6}}(?:{_DASH}\d{{1,6}})?(?:,\s?\d{{1,6}}(?:{_DASH}\d{{1,6}})?){{0,40}})\)"
_SEGMENT = r"(?:[\w.@$+~%\-]|\[{1,2}[\w.\-]{1,80}\]{1,2}|\([\w.\-]{1,80}\)(?=/))"
_PATH = (
    r"(?<![\w.@$+~%\-/\\\]])(?=(?:[A-Za-z]:(?=[\\/]))?[\w@$+~%\-\[\]()]{0,120}+(?:\.{1,2}[\w/\\]|[/\\][\w\[(@.]))"
    rf"(?:[A-Za-z]:(?=[\\/]))?[/\\]?{_SEGMENT}{{1,300}}+(?:[/\\]{{1,2}}{_SEGMENT}{{1,300}}+){{0,60}}+"
)
_WORDS = (
    r"(?<![\w./\\:-])(?:"
    + "|".join(NAMES)
    + r")(?![\w/\\.])|(?<![\w./\\:-])[A-Za-z][\w-]{1,60}+(?=`?:\d)"
)
# A path and a line phrase begin where no word goes on: tested once per character, that saves the search most of its time.
_EVENT = re.compile(
    rf"(?<!\w)(?:(?P<lines>{_LINES})|(?P<path>{_PATH}|{_WORDS}))|{_BARE}|{_TICKED}|{_PARENS}"
)
_URL = re.compile(
    r"(?:https?|ftp|file|git|ssh|wss?)://[^\s<>\"'`|]{1,2000}|\bwww\.[^\s<>\"'`|]{1,500}"
)
_BLOB = re.compile(
    r"https?://(?P<site>[^/]+)/(?P<repo>.+?)/(?:-/)?(?:blob|blame|raw|src|tree)/(?P<rest>[^?#]+)(?:\?[^#]*)?(?:#(?P<anchor>.*))?\Z"
)
_ANCHOR = re.compile(r"(?:L|lines-|l)(\d{1,7})(?:C\d+)?(?:[-:–](?:L|l)?(\d{1,7})(?:C\d+)?)?\Z")
_LINK = re.compile(
    r"\[(?P<text>(?:[^\[\]\n]|\[[^\[\]\n]{0,80}\]){1,300})\]\(\s?<?"
    r"(?P<target>[^()\s<>]{1,1000}(?:\([^()\s]{0,80}\)[^()\s<>]{0,400})?|(?<=<)[^<>\n]{1,500})"
    r">?(?:\s+\"[^\"\n]{0,200}\")?\s?\)"
)
_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]{1,400})\1(?!`)")
_COMMAND = re.compile(r"(?:\$\s+|(?:\w+=\S+\s+){0,3})(?P<word>[\w.-]+)\s+\S")
_ADJACENT = re.compile(
    r"[`*_\"')\]]{0,4}[\s,(\[:–—-]{0,4}(?:(?:at|on|in|around|near|approx\.?|from|starting|starts|see|between|about)\s+){0,2}[`*_\"'(]{0,2}\Z"
)
_OF = re.compile(
    r"[`*_\"')\],]{0,4}\s*(?:(?:of|in|from|inside|within)\s+(?:the\s+)?(?:file\s+)?[`*_\"'(\[]{0,4}|[(\[][`*_\"']{0,3})\Z"
)
_CHAIN = re.compile(r"`?(?:\s*\([^()\n]{0,80}\))?\s*(?:,|/|and|&|,\s*and)\s*\Z")
_NAMED_BEFORE = re.compile(r"(?:`|\w_\w*|_\w+|[a-z][A-Z]\w*|\w\.\w+|\(\)) \Z")
_ASIDE = re.compile(r"[`*_]{0,3}\s?\([^()\n]{1,80}\)")
_NEXT = re.compile(
    rf"[`*_]{{0,3}}\s\([^()\n]{{1,60}}\),(?:\sand)?\s(?P<list>\d{{1,6}}(?:{_DASH}\d{{1,6}})?)(?=\s\()"
)
_FAR = 600
"""Characters: what lies further apart is not said in one breath. Bounds every look back, so that no text takes quadratic time."""
_SENTENCE = re.compile(
    r"(?<!e\.g)(?<!i\.e)(?<!vs)(?<!cf)(?<!\bl)(?<!ll)(?<!ln)(?:[.!?][)\"'`*_\]]{0,3}\s+(?=[A-Z`*\"(\[_#-])|;\s|\n\s*\n)"
)


MOST_CANDIDATES = 12
"""Files remembered for lines that are written without a path."""

# --- numbers ---------------------------------------------------------------------------------

_ONE = re.compile(_LOOSE_ITEM)
_PLAIN_ONE = re.compile(_ITEM)


def intervals(listed: str, *, between: bool = False) -> list[tuple[int, int]]:
    """`42`, `42-60`, `42:8` (a column), `1476-80` (short for 1476-1480), `1, 7 and 9`."""
    found = []
    for item in _ONE.finditer(listed):
        start, end = int(item[1]), int(item[2] or item[1])
        if end < start and item[2] and len(item[2]) < len(item[1]):
            end = int(item[1][: -len(item[2])] + item[2])
        found.append((min(start, end), max(start, end)))
    if between and len(found) == 2 and " and " in listed:
        return [(found[0][0], found[1][1])]
    return found


# --- paths ----------------------------------------------------------------------------------


def clean_path(token: str, index: PathIndex, *, has_line: bool) -> str | None:
    """The token as a path, or None where it is none: a file of the tree, else of a shape that only paths have."""
    path = token.rstrip(".-~+$%…")
    while (
        path
        and path[-1] in ")]"
        and path.count("[") + path.count("(") < path.count("]") + path.count(")")
    ):
        path = path[:-1]
    for known in dict.fromkeys((path, path.lstrip("@"), path.strip("_"))):
        if known and index.resolve(known).resolution != "missing":
            return known
    return path if _shaped_like_a_path(path, index, has_line=has_line) else None


def _shaped_like_a_path(path: str, index: PathIndex, *, has_line: bool) -> bool:
    path = path.replace("\\", "/")
    first, slash, _ = path.lstrip("./").partition("/")
    name = path.rpartition("/")[2]
    stem, dot, extension = name.rpartition(".")
    known = bool(dot) and (extension.lower() in EXTENSIONS or extension in index.extensions)
    known = known or name.partition(".")[0] in NAMES
    if not known or (not slash and not has_line) or (dot and not stem and not slash):
        return False
    if path.startswith(FOREIGN_ROOTS) or any(part in path for part in FOREIGN_PARTS):
        return False
    return not (
        slash
        and "." in first
        and first.rpartition(".")[2] in SUFFIX_TLDS
        and not path.startswith(".")
    )


# --- reading --------------------------------------------------------------------------------


@dataclass(kw_only=True)
class _Cite:
    """Where in the chunk a citation stands, before its symbol is known."""

    begin: int
    close: int
    path: str
    lines: list[tuple[int, int]]
    ref: str | None = None
    symbol: str | None = None
    named: bool = False
    """The path stands in it, not in the text before."""
    tied: Literal["own", "sentence", "context"] = "own"
    others: tuple[str, ...] = ()
    guess: bool = False


class _Reader:
    def __init__(self, text: str, index: PathIndex, inherited: str | None, *, strict: bool) -> None:
        self.original, self.index, self.inherited, self.strict = text, index, inherited, strict
        self.cites: list[_Cite] = []
        self.pending: list[_Cite] = []
        self.path: str | None = None
        self.path_end = 0
        self.paths: list[str] = []
        self.first: str | None = None
        self.spans: list[tuple[int, int]] = []
        self.text = self._masked(text)

    # masks keep every offset

    def _masked(self, text: str) -> str:
        if "`" in text:
            text = self._mask_commands(text)
        if "](" in text:
            text = _LINK.sub(self._link, text)
        if "://" in text or "www." in text:
            text = _URL.sub(self._url, text)
        return text

    def _mask_commands(self, text: str) -> str:
        def blank(span: re.Match[str]) -> str:
            command = _COMMAND.match(span[2])
            if (command and command["word"] in COMMANDS) or span[2].startswith("$ "):
                return " " * len(span[0])
            self.spans.append((span.start(), span.end()))
            return span[0]

        return _SPAN.sub(blank, text)

    def _link(self, link: re.Match[str]) -> str:
        """A link counts once: through its target where that holds lines, else through its text."""
        target, words = link["target"], link["text"]
        if "://" in target:
            cite = self._blob(target, link.start(), link.end(), words)
            return (
                " " * len(link[0])
                if cite
                else words.join((" ", " " * (len(link[0]) - len(words) - 1)))
            )
        path, _, anchor = target.partition("#")
        lines = _ANCHOR.match(anchor)
        tail = re.search(rf":{_plain(_ITEM)}\Z", path)
        if tail:
            path = path[: tail.start()]
        known = clean_path(unquote(path), self.index, has_line=bool(lines or tail))
        if known is None:
            return words.join((" ", " " * (len(link[0]) - len(words) - 1)))
        if lines or tail:
            found = intervals(
                tail[0] if tail else "-".join(n for n in lines.groups() if n) if lines else ""
            )
            self._add_link(link, known, found, words)
            return " " * len(link[0])
        if _EVENT.search(words) and re.search(r"\d", words):
            probe = _Reader(words, self.index, known, strict=self.strict).read()
            found = [
                (m.start, m.end)
                for m in probe.mentions
                if m.start is not None and m.end is not None
            ]
            if found:
                self._add_link(link, known, found, "")
                return " " * len(link[0])
        return (
            " " + path.ljust(len(link[0]) - 1) if len(path) < len(link[0]) else " " * len(link[0])
        )

    def _add_link(
        self, link: re.Match[str], path: str, lines: list[tuple[int, int]], words: str
    ) -> None:
        symbol = symbol_of(words.strip("`* "))
        symbol = symbol if "`" in words or (symbol and any(c in symbol for c in "._:")) else None
        self.cites.append(
            _Cite(
                begin=link.start(),
                close=link.end(),
                path=path,
                lines=lines,
                symbol=symbol,
                named=True,
            )
        )

    def _url(self, url: re.Match[str]) -> str:
        target = url[0].rstrip(".,;:!?)]}*_")
        self._blob(target, url.start(), url.start() + len(target), "")
        return " " * len(url[0])

    def _blob(self, url: str, begin: int, close: int, words: str) -> bool:
        blob = _BLOB.match(url)
        if blob is None:
            return False
        found = self.index.blob(f"{blob['site']}/{blob['repo']}", unquote(blob["rest"]))
        if found is None:
            return False
        ref, path = found
        anchor = _ANCHOR.match(blob["anchor"] or "")
        lines = intervals("-".join(n for n in anchor.groups() if n)) if anchor else []
        symbol = symbol_of(words.strip("`* ")) if "`" in words else None
        self.cites.append(
            _Cite(
                begin=begin, close=close, path=path, lines=lines, ref=ref, symbol=symbol, named=True
            )
        )
        return True

    # events in order

    def read(self) -> Reading:
        at, text = 0, self.text
        while event := _EVENT.search(text, at):
            at = max(self._take(event), event.start() + 1)
        self.cites.sort(key=lambda cite: cite.begin)
        return self._reading()

    def _take(self, event: re.Match[str]) -> int:
        """Handle one event; where to go on from."""
        if event["path"]:
            return self._take_path(event)
        if self.strict:
            return event.end()
        if event["lines"]:
            return self._take_lines(event)
        if event["bare"]:
            return self._take_bare(event)
        return self._take_number(event)

    def _take_path(self, event: re.Match[str]) -> int:
        begin, token = event.start("path"), event["path"]
        direct = _DIRECT.match(self.text, begin + len(token.rstrip(".…")))
        path = clean_path(
            token, self.index, has_line=bool(direct) or self._line_follows(event.end())
        )
        if path is None or (path in self.index.bare_names and not direct and path not in NAMES):
            return event.end()
        begin += token.find(path)
        close = begin + len(path)
        begin, path = self._with_spaces(begin, close, path)
        direct = _DIRECT.match(self.text, close) or _CALLED.match(self.text, close)
        self._name(path, close)
        self._settle(path, begin)
        lines = intervals(direct["list"]) if direct else []
        if direct and self.text[direct.start() : direct.end()].endswith(":"):
            lines = lines[:1]
        self.cites.append(
            _Cite(
                begin=begin,
                close=direct.end() if direct else close,
                path=path,
                lines=lines,
                named=True,
            )
        )
        while direct and (direct := _NEXT.match(self.text, self.cites[-1].close)):
            begin = direct.start("list")
            self.cites.append(
                _Cite(begin=begin, close=direct.end(), path=path, lines=intervals(direct["list"]))
            )
        return self.cites[-1].close

    def _one_sentence(self, begin: int, end: int) -> bool:
        return end - begin < _FAR and not _SENTENCE.search(self.text, begin, end)

    def _name(self, path: str, end: int) -> None:
        self.path, self.path_end, self.first = path, end, self.first or path
        self.paths.append(path)

    def _line_follows(self, at: int) -> bool:
        phrase = _EVENT.search(self.text, at, at + 60)
        return bool(phrase and phrase["lines"] and _ADJACENT.match(self.text[at : phrase.start()]))

    def _with_spaces(self, begin: int, close: int, path: str) -> tuple[int, str]:
        """A file of the tree whose name holds spaces: the token is its last word."""
        for full in self.index.spaced.get(path, ()):
            if self.text.endswith(full, 0, close):
                return close - len(full), full
        return begin, path

    def _settle(self, path: str, begin: int) -> None:
        """Lines that had no file yet take the one that follows in their sentence."""
        for cite in self.pending:
            if self._one_sentence(cite.close, begin):
                cite.path = path
                self.cites.append(cite)
        self.pending = []

    def _take_lines(self, event: re.Match[str]) -> int:
        listed = event["list"]
        between = bool(
            re.search(
                r"\b(?:[Bb]etween|[Ff]rom)\s+(?:the\s+)?\Z",
                self.text[max(0, event.start() - 16) : event.start()],
            )
        )
        cite = _Cite(
            begin=event.start(),
            close=event.end(),
            path="",
            lines=intervals(listed, between=between),
        )
        last = self.cites[-1] if self.cites else None
        if (
            last
            and last.named
            and not last.lines
            and _ADJACENT.match(self.text[last.close : cite.begin])
        ):
            last.lines, last.close = cite.lines, cite.close
            return event.end()
        following = self._path_after(event.end())
        if following:
            _, close, path = following
            cite.path, cite.close, cite.named = path, close, True
            self._name(path, close)
            self.cites.append(cite)
            return close
        self._bind(cite)
        return event.end()

    def _path_after(self, at: int) -> tuple[int, int, str] | None:
        """`line 42 of a.py`: the path that `of`, `in` or a bracket ties to the lines."""
        event = _EVENT.search(self.text, at, at + 300)
        if not event or not event["path"] or not _OF.match(self.text[at : event.start()]):
            return None
        path = clean_path(event["path"], self.index, has_line=True)
        close = event.start() + len(event["path"].rstrip(".…"))
        if path is None or _DIRECT.match(self.text, close):
            return None
        return event.start(), event.start() + event["path"].find(path) + len(path), path

    def _bind(self, cite: _Cite) -> None:
        """Lines with no path of their own: the nearest path before them, else the one above, else one to come in the sentence."""
        path = self.path or self.inherited
        if path:
            cite.path = path
            near = self.path and self._one_sentence(self.path_end, cite.begin)
            cite.tied, cite.others = (
                ("sentence" if near else "context"),
                tuple(reversed(self.paths[-MOST_CANDIDATES:])),
            )
            self.cites.append(cite)
        else:
            self.pending.append(cite)

    def _take_bare(self, event: re.Match[str]) -> int:
        """`:301` after a path. Never a port, and never inside a longer code span (a slice, a key)."""
        begin = event.start("bare") - 1
        before = self.text[max(0, begin - 24) : begin].lower()
        if any(
            word in before
            for word in ("port", "listen", "addr", "localhost", "host", "run(", "serve ")
        ):
            return event.end()
        if self._in_longer_span(begin, event.end()) or not (self.path or self.inherited):
            return event.end()
        self._bind(_Cite(begin=begin, close=event.end(), path="", lines=intervals(event["bare"])))
        return event.end()

    def _in_longer_span(self, begin: int, close: int) -> bool:
        return any(
            a < begin and close < b and (begin - a > 1 or b - close > 1) for a, b in self.spans
        )

    def _take_number(self, event: re.Match[str]) -> int:
        """A number alone goes on a list of lines ("`a.py:83`, `153`"), or may be the line of what it follows ("`f` (line 7), `g` (92)")."""
        if event["parens"]:
            return self._take_parens(event)
        last = next((cite for cite in reversed(self.cites) if cite.lines), None)
        if (
            last
            and self._one_sentence(last.close, event.start())
            and _CHAIN.match(self.text[last.close : event.start()])
        ):
            lines = intervals(event["ticked"])
            self.cites.append(
                replace(
                    last,
                    begin=event.start(),
                    close=event.end(),
                    lines=lines,
                    symbol=None,
                    named=False,
                )
            )
        return event.end()

    def _take_parens(self, event: re.Match[str]) -> int:
        path, listed = self.path or self.inherited, event["parens"]
        if path is None or int(re.split(r"\D", listed, maxsplit=1)[0]) in HTTP_CODES:
            return event.end()
        if "," not in listed and not _NAMED_BEFORE.search(
            self.text[max(0, event.start() - 90) : event.start()]
        ):
            return event.end()
        last = next((c for c in reversed(self.cites) if c.lines and not c.guess), None)
        sure = (
            last is not None and self._one_sentence(last.close, event.start()) and "," not in listed
        )
        cite = _Cite(
            begin=event.start(),
            close=event.end(),
            path=path,
            lines=intervals(listed),
            tied="context",
            guess=not sure,
        )
        cite.others = tuple(reversed(self.paths[-MOST_CANDIDATES:]))
        self.cites.append(cite)
        return event.end()

    # symbols, last: each needs its neighbours

    def _reading(self) -> Reading:
        reading = Reading(first_path=self.first, last_path=self.path, paths=self.paths)
        spans = spans_of(self.original) if self.cites else []
        breaks = (
            [m.end() for m in _SENTENCE.finditer(self.original)]
            if any(cite.lines for cite in self.cites)
            else []
        )
        for place, cite in enumerate(self.cites):
            low, high = self._sentence(place, breaks)
            symbol = cite.symbol
            if cite.lines and symbol is None and not self.strict:
                symbol = symbol_before(self.original, low, cite.begin, spans) or symbol_after(
                    self.original, cite.close, high, spans
                )
            reading.mentions.extend(_mentions(cite, self._written(cite), symbol))
        return reading

    def _sentence(self, place: int, breaks: list[int]) -> tuple[int, int]:
        """The part of a citation's sentence that is its own: from the citation before it to the one behind it."""
        cite = self.cites[place]
        at = bisect.bisect_right(breaks, cite.begin)
        low = max(
            breaks[at - 1] if at else 0,
            self._own_words_end(self.cites[place - 1].close) if place else 0,
        )
        after = bisect.bisect_left(breaks, cite.close)
        high = breaks[after] if after < len(breaks) else len(self.original)
        return low, min(high, self.cites[place + 1].begin) if place + 1 < len(self.cites) else high

    def _own_words_end(self, at: int) -> int:
        """Past the bracket that opens right behind a citation: `a.py:1 (foo), b.py:2` says nothing of foo for b.py."""
        aside = _ASIDE.match(self.original, at)
        return aside.end() if aside else at

    def _written(self, cite: _Cite) -> str:
        """As it stands in the text, with the bracket that its last line closes."""
        written = self.original[cite.begin : cite.close]
        after = self.original[cite.close : cite.close + 2]
        for opening, closing in ("()", "[]", "``"):
            odd = (
                written.count(opening) > written.count(closing)
                if opening != closing
                else written.count(opening) % 2
            )
            if odd and after.startswith(closing):
                written += closing
        return written


def _mentions(cite: _Cite, written: str, symbol: str | None) -> Iterator[Mention]:
    written = _trimmed(written)
    distinct = dict.fromkeys(cite.lines)
    pairs: list[tuple[int, int]] | list[tuple[None, None]] = list(distinct) or [(None, None)]
    for start, end in pairs:
        yield Mention(
            written=written,
            path=cite.path,
            start=start,
            end=end,
            symbol=symbol if distinct else None,
            ref=cite.ref,
            tied=cite.tied,
            others=cite.others,
            guess=cite.guess,
            group=max(0, len(distinct) - 1),
        )


def _trimmed(written: str) -> str:
    written = written.strip("*_ \n\"'")
    return (
        written.strip("`")
        if written.count("`") % 2
        or (written[:1] == written[-1:] == "`" and written.count("`") == 2)
        else written
    )


def read_chunk(
    text: str, index: PathIndex, inherited: str | None = None, *, strict: bool = False
) -> Reading:
    """The citations of one chunk. `inherited` is the file that lines without one belong to; `strict` takes `path:line` alone."""
    return _Reader(text, index, inherited, strict=strict).read()
