"""Lines that are written without a path, and bare numbers: are they lines, and of which file?"""

from __future__ import annotations

import re

from runner.grounding.chunk import Chunk
from runner.grounding.mentions import Cite
from runner.grounding.naming import CodeSpan, is_compound, span_before, symbol_of
from runner.grounding.owners import Owner
from runner.grounding.patterns import (
    ADJACENT,
    AT,
    CHAIN,
    COUNTED,
    COUNTED_BEFORE,
    FUNCTION_WORD,
    HOST,
    LIMITING,
    LONG_NAME,
    NAME_AHEAD,
    NAMED_BEFORE,
    NAMED_DIRECTLY,
    NUMBERED,
    QUALIFIED,
    ROUND,
    SERVING,
    SETTING,
    LineRange,
    intervals,
)
from runner.grounding.word_lists import COMMON_CODES, HTTP_CODES, PORTS

NEAR, NEAR_RANGE, VERY_NEAR = 40, 80, 12
"""Lines: as near to others of its file as this, a bare number is likely to be one, or a range."""
_BETWEEN = re.compile(r"\b(?:[Bb]etween|[Ff]rom)\s+(?:the\s+)?\Z")


class BareLines(Chunk):
    """Takes lines and numbers: each method one kind of event (patterns.py), and returns where to go
    on from, or None for behind the event.
    """

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

    def _without_codes(self, lines: list[LineRange], close: int) -> list[LineRange]:
        """`:308-310, 405 :311`, `line 155, and 500 for the rest` end in a status."""
        first, last = lines[-1]
        if len(lines) < 2 or first != last or first not in COMMON_CODES:
            return lines
        apart = abs(first - lines[-2][1]) > NEAR_RANGE
        begins_other = re.match(r"\s:\d", self.text[close : close + 3])
        return lines[:-1] if apart or begins_other else lines

    def _completes_last(self, cite: Cite) -> bool:
        """`src/app.py` (line 42): true if the lines belong to a path cited right before them."""
        if not self.cites:
            return False
        last = self.cites[-1]
        if not last.named or last.lines:
            return False
        return bool(ADJACENT.match(self.text[last.close : cite.begin]))

    def _bind(self, cite: Cite, *, listed: bool = False) -> None:
        """Lines with no path of their own take their owner's, else one that follows."""
        owner = self._owner(cite, listed=listed)
        if owner is None:
            self.pending.append(cite)
        else:
            self._cite(self._owned(cite, owner))

    def _take_bare(self, event: re.Match[str]) -> int | None:
        """`:301` after a path: no port, and not inside a longer code span (a slice, a key)."""
        begin, close = event.span()
        lines = intervals(event["bare"])
        if lines[0][0] in PORTS and not self.owners.near(begin, lines[0][0], NEAR_RANGE):
            return None
        lines = self._without_codes(lines, close)
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
        return self._owner(cite)

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
            self._cite(self._owned(cite, owner))

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


def _is_line_where_firm(first: int, last: int, *, pointed: bool) -> bool:
    """A range, or a number that `at` or `on` points to, if no value is written so."""
    if first in PORTS or ROUND.fullmatch(str(first)):
        return False
    if first != last:
        return first > 99
    return pointed and first > 32 and first != 64


def _goes_on(line: int, following: int) -> bool:
    """Is it a line that a text comes to next, in the same part of a file?"""
    return line <= following <= line + 600


def is_longer(span: CodeSpan, begin: int, close: int) -> bool:
    """True if a code span holds more than these characters: `a[1:42]`, but not `:51` alone."""
    if span.begin >= begin or close >= span.end:
        return False
    return begin - span.begin > 1 or span.end - close > 1
