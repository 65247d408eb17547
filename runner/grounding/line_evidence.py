"""Is it a line? What speaks for a number that stands without a path, and what against it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from runner.grounding.mentions import Cite
from runner.grounding.patterns import (
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
    NUMBERED,
    ROUND,
    SENTENCE_END,
    SERVING,
    SETTING,
)
from runner.grounding.text_tokens import Token
from runner.grounding.word_lists import COMMON_CODES, HTTP_CODES, PORTS

FAR = 600
"""Characters: what lies further apart is not said in one breath. It bounds every look back, so that
no text takes quadratic time."""

_NEAR_LINES = ((12, 3.0), (40, 2.5), (80, 2.0), (240, 1.5))
_OF_FIRM, _LARGE, _SMALL, _RANGE, _CODE, _ROUND_ONE = 1.0, 1.0, -1.5, 1.0, -2.0, -1.0
_POINTED_AT, _OF_NAME, _IN_PARENS, _AT_BEGIN, _NEXT_LINE = 1.5, 1.5, 1.0, 3.0, 2.5
ENOUGH, CLEAR = 2.5, 2.6
"""Of evidence, for a number to be read as a line; below the second it is a guess."""
_PRINTED = re.compile(r"[`*_]{0,3}:[^\n]{0,300}?(?:\w\(|[\w)\]] [-+*/|]?= |;$)", re.M)
"""Behind a row's number, below a file's name: code, as searches print it, and so no status."""
_HOST_REACH = 80
_OF_ITEMS = 240
_NEXT_REACH = 600


class Around(NamedTuple):
    """What is known where a token stands."""

    text: str
    last: Cite | None
    """The last citation with lines."""
    distance: int | None
    """Lines to the nearest that is cited of the file that it would belong to."""
    sure: bool
    """What stands above is about one file."""
    firm: bool
    """The file is what the text is about just here."""
    path_end: int
    """Of the path named last: characters."""

    def within(self, limit: int) -> bool:
        return self.distance is not None and self.distance <= limit

    def last_in_sentence(self, token: Token) -> Cite | None:
        """The last citation with lines, if no sentence ends behind it."""
        if self.last and is_one_sentence(self.text, self.last.close, token.begin):
            return self.last
        return None


def is_one_sentence(text: str, begin: int, end: int) -> bool:
    return end - begin < FAR and not SENTENCE_END.search(text, begin, end)


def points_of(token: Token, around: Around) -> float:
    """ENOUGH or more for a line; below CLEAR, `name (42)` and `name:42` are guesses."""
    return _BY_KIND[token.kind](token, around)


def _marked(token: Token, around: Around) -> float:  # noqa: ARG001 - as its neighbours
    """`line 42` says so."""
    return CLEAR


def _bare(token: Token, around: Around) -> float:
    """`:301`, but no port."""
    is_port = token.lines[0][0] in PORTS and not around.within(_HOST_REACH)
    # Behind a path, `src/app.py` :5672, or first in an item below one: no host is named there.
    before = around.text[max(0, around.path_end) : token.begin]
    is_of_file = (around.sure or around.path_end > 0) and not before.strip(" `*_")
    return 0.0 if is_port and not is_of_file else CLEAR


def _named(token: Token, around: Around) -> float:
    """`run:42`; but not `timeout:30`, `react@18`, `localhost:8080`."""
    number, name = token.lines[0][0], token.symbol or ""
    at = "@" in token.form
    if at and ":" in token.form:
        return CLEAR
    if number in PORTS and HOST.search(name):
        return 0.0
    if number > 9 and token.coded:
        return CLEAR
    if at or number < 10 or SETTING.search(name):
        return 0.0
    if around.within(40):
        return CLEAR
    return ENOUGH if around.sure and (number > 99 or "`" in token.form) else 0.0


def _ticked(token: Token, around: Around) -> float:
    """A number in backticks continues a list of lines: "`a.py:83`, `153`"."""
    last = around.last_in_sentence(token)
    if last is None or token.lines[0][0] in COMMON_CODES:
        return 0.0
    return CLEAR if CHAIN.match(around.text[last.close : token.begin]) else 0.0


def _number(token: Token, around: Around) -> float:
    """A bare number."""
    if token.form == "row" and around.sure and _PRINTED.match(around.text, token.close):
        return CLEAR
    if token.form == "alone":
        return CLEAR if around.sure else 0.0
    first, last = token.lines[0]
    before = around.text[max(0, token.begin - 90) : token.begin]
    in_parens, single = token.form == "parens", first == last
    pointed, named = _is_pointed_at(before), bool(NAMED_BEFORE.search(before.removesuffix("(")))
    # "- 500: the handler" below a file is one line of those that the items give.
    listed = token.form == "row" and around.sure and around.within(_OF_ITEMS)
    is_code = single and not listed and _is_code(token, before, pointed or named)
    if _is_counted(token, around, before) or is_code:
        return 0.0
    near = _near_points(around, first)
    is_placed = pointed and around.firm  # "`from_mapping` at 304", below a heading of its file
    features = (
        (_OF_FIRM, around.firm),
        (_LARGE, first > 99),
        (_SMALL, first < 20),
        (_RANGE, not single or len(token.lines) > 1),
        (
            _CODE,
            single and (first in COMMON_CODES or first in PORTS) and not (is_placed or listed),
        ),
        (_ROUND_ONE, bool(ROUND.fullmatch(str(first)))),
        (_POINTED_AT, pointed),
        (_OF_NAME, named),
        (_IN_PARENS, in_parens),
        (_AT_BEGIN, token.form == "row" and (around.sure or around.firm)),
        (_NEXT_LINE, token.form == "worded" and first > 99 and _goes_on(token, around)),
    )
    evidence = near + sum(worth for worth, holds in features if holds)
    if in_parens and named and not near and 9 < first < 100:
        # `name (42)`: lines, if most of an answer's like it hold.
        beside = around.last_in_sentence(token)
        return max(evidence, CLEAR) if beside and not beside.guess else ENOUGH
    return evidence


def _near_points(around: Around, line: int) -> float:
    """Small numbers are counts more often than lines, and have to be nearer."""
    for limit, worth in _NEAR_LINES:
        if around.within(min(limit, line // 2)):
            return worth
    return 0.0


def _is_code(token: Token, before: str, is_said: bool) -> bool:
    """`not found (404)`; but `test_it_works (204)` has a line, and so has "at 425"."""
    if token.form == "parens":
        return token.lines[0][0] in COMMON_CODES and not LONG_NAME.search(before)
    return token.lines[0][0] in HTTP_CODES and not is_said


def _is_counted(token: Token, around: Around, before: str) -> bool:
    """What stands beside the number says that it is none."""
    behind = around.text[token.close : token.close + 40].lstrip().lstrip("*_`")
    at = AT.search(before)
    if at and SERVING.search(at["verb"] or ""):
        return True
    if token.form == "parens":
        # A path's own lines were looked for behind it.
        is_behind = token.begin - around.path_end < 3 and around.text[token.close - 1] == ")"
        return is_behind or bool(COUNTED_BEFORE.search(before))
    if token.form == "worded":
        said = NAME_AHEAD.match(behind) or FUNCTION_WORD.match(behind)
        is_no_line = COUNTED.match(behind) or token.lines[0][0] in HTTP_CODES
        return bool(is_no_line) or not (said or _goes_on(token, around))
    if token.form == "pointed":
        is_said = FUNCTION_WORD.match(behind) or behind.startswith(("is ", "are ", "was "))
        return bool(COUNTED.match(behind)) or not is_said or bool(NUMBERED.search(before))
    return token.form == "loose" and bool(NUMBERED.search(before))


def _goes_on(token: Token, around: Around) -> bool:
    """Is it a line that the sentence comes to next, in the same part of a file?"""
    last = around.last_in_sentence(token)
    return last is not None and 0 <= token.lines[0][0] - last.lines[-1][0] <= _NEXT_REACH


def _is_pointed_at(before: str) -> bool:
    """`dispatches at 365`; but "capped at 500" sets a limit."""
    at = AT.search(before)
    if at is None:
        return False
    no_line = SERVING if at[0].rstrip(" ~").endswith("on") else LIMITING
    return not no_line.search(at["verb"] or "")


_BY_KIND: dict[str, Callable[[Token, Around], float]] = {
    "lines": _marked,
    "bare": _bare,
    "named": _named,
    "ticked": _ticked,
    "number": _number,
}
