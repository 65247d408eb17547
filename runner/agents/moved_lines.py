"""A server's result with every line number in it moved: what the liar of a self-check shows.

Numbers are changed where they stand, and nothing else is, so that the two results differ in lines
alone. In JSON a key says what a number is; in other text, the form that it is written in.
docs/studies.md says what is not found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

MOST_FALSE_STARTS = 50
"""Lines that begin like JSON and are none: each is read to where it fails."""


class _Span(NamedTuple):
    """Where a number stands in a text."""

    start: int
    end: int


def with_lines_moved(text: str, by: int) -> tuple[str, int]:
    """The text with its line numbers moved by `by`, none below 1, and how many they were.

    A line counted from 0 that would fall below 1 becomes 1 too.
    """
    pieces: list[str] = []
    at = 0
    spans = sorted(set(_numbers(text)))
    for span in spans:
        moved = max(1, int(text[span.start : span.end]) + by)
        pieces += (text[at : span.start], str(moved))
        at = span.end
    return "".join([*pieces, text[at:]]), len(spans)


def _numbers(text: str) -> Iterator[_Span]:
    """Of JSON documents by their keys, and of the text between them by its forms."""
    at = 0
    for document in _documents(text):
        yield from _shifted(_in_prose(text[at : document.start]), at)
        found = _in_json(text[document.start : document.end])
        yield from _shifted(found, document.start)
        at = document.end
    yield from _shifted(_in_prose(text[at:]), at)


def _shifted(spans: Iterator[_Span], by: int) -> Iterator[_Span]:
    return (_Span(span.start + by, span.end + by) for span in spans)


_COUNTING = re.compile(r"(?:^|[_-])counts?(?:[_-]|$)", re.I)


def is_counting(tool: str) -> bool:
    """`count-matches`: what it answers for `app.py` is `app.py:12` too, and 12 is no line."""
    return _COUNTING.search(tool) is not None


# --- JSON -----------------------------------------------------------------------------------

_DOCUMENT = re.compile(r"^[ \t]*(?=[{\[])", re.M)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[{}\[\]:,]', re.S)
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)", re.S)
_ESCAPED = {r"\n": "\n", r"\t": "\t", r"\r": "\r"}
_INNER_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_LINE_KEY = re.compile(
    r"""
    (?:.*_)? (?:line|lineno|row|ln)                    # line, start_line, end_row
    (?:_?(?:no|nr|num|number|start|end|begin|from|to|range|idx|index))?
    | (?:.*_)? (?:lines|line_?numbers|line_?nums)      # of a list or a text; a number is a count
    """,
    re.X,
)
_PLURAL = re.compile(r".*(?:lines|numbers|nums)")
_COUNT_KEY = re.compile(
    r"(?:.*_)?(?:total|num|count|max|min|avg|of_code|context|before|after|limit|per)(?:_.*)?"
)
_NUMBER_KEY = re.compile(r"(?:.*_)?line_num(?:ber)?s?")
_EXTENT_KEY = re.compile(r"(?:.*_)?(?:range|location|loc|extent|lines|place)")
_PLACE_KEYS = frozenset("file path file_path filepath filename uri symbol name kind".split())
_POINT_KEY = re.compile(r"(?:start|end)_(?:point|position)")
_CODE_KEYS = frozenset("code body source_code snippet signature docstring".split())
"""Of texts in which what looks like a place is the code's own, unless it is numbered."""
_ENDS = ("start", "end")


def _documents(text: str) -> Iterator[_Span]:
    """The JSON objects and lists that begin a line."""
    decoder, at, failed = json.JSONDecoder(), 0, 0
    while failed < MOST_FALSE_STARTS and (found := _DOCUMENT.search(text, at)):
        try:
            value, end = decoder.raw_decode(text, found.end())
        except (ValueError, RecursionError):
            failed, at = failed + 1, found.end() + 1
            continue
        at = end
        # `[12] def f` is text.
        if isinstance(value, dict) or any(isinstance(item, dict | str) for item in value):
            yield _Span(found.end(), end)


class _OpenValue:
    """An object or list that is open."""

    def __init__(self, key: str, *, is_list: bool) -> None:
        self.key = key
        """Under which it stands, in snake case."""
        self.is_list = is_list
        self.at_key = not is_list
        self.keys: list[str] = []
        self.ends: list[_Span] = []
        """Values of `start` and `end`, which are lines only in some company."""

    def told_of(self) -> str:
        """What its next value stands under."""
        return self.key if self.is_list or not self.keys else self.keys[-1]

    @property
    def is_extent(self) -> bool:
        return bool(_EXTENT_KEY.fullmatch(self.key)) or not _PLACE_KEYS.isdisjoint(self.keys)


def _in_json(text: str) -> Iterator[_Span]:
    frames = [_OpenValue("", is_list=True)]
    items = 0
    for token in _TOKEN.finditer(text):
        frame, word = frames[-1], token[0]
        if word in "{[":
            frames.append(_OpenValue(frame.told_of(), is_list=word == "["))
            items = 0
        elif word in "}]":
            frames.pop()
            if frame.is_extent:
                yield from frame.ends
        elif word == ",":
            frame.at_key = not frame.is_list
            items += 1
        elif word == ":":
            frame.at_key = False
        elif frame.at_key:
            frame.keys.append(_snake(word[1:-1]))
        elif word[0] == '"':
            yield from _in_string(token, frame.told_of())
        elif word.isdigit():
            yield from _in_number(_Span(*token.span()), frame, items)


def _in_number(span: _Span, frame: _OpenValue, item: int) -> Iterator[_Span]:
    key = frame.told_of()
    if frame.is_list and _POINT_KEY.fullmatch(key):
        is_line = item == 0
    elif frame.is_list:
        is_line = _is_line(key) or bool(re.fullmatch(r"(?:.*_)?(?:range|lines)", key))
    else:
        is_line = _is_line(key) and (not _PLURAL.fullmatch(key))
    if is_line:
        yield span
    elif key in _ENDS and not frame.is_list:
        frame.ends.append(span)


def _is_line(key: str) -> bool:
    if not _LINE_KEY.fullmatch(key):
        return False
    return bool(_NUMBER_KEY.fullmatch(key)) or not _COUNT_KEY.fullmatch(key)


def _in_string(token: re.Match[str], key: str) -> Iterator[_Span]:
    """Of a text in JSON, which may hold JSON again."""
    inner = token[0][1:-1]
    plain, places = _unescaped(inner)
    if _is_line(key) and (numbers := _RANGE_ALONE.fullmatch(plain)):
        found = _groups(numbers)
    elif key in _CODE_KEYS:
        found = (span for line in _in_listings(plain) for span in _groups(line))
    else:
        found = _numbers(plain)
    for span in found:
        start = token.start() + 1 + (places[span.start] if places else span.start)
        yield _Span(start, start + span.end - span.start)


def _unescaped(inner: str) -> tuple[str, Sequence[int]]:
    """The text with one character for each escape, and where each stood; no places without one."""
    if "\\" not in inner:
        return inner, ()
    characters: list[str] = []
    places: list[int] = []
    at = 0
    for escape in _ESCAPE.finditer(inner):
        characters.append(inner[at : escape.start()])
        places += range(at, escape.start() + 1)
        characters.append(_ESCAPED.get(escape[0], escape[0][-1] if len(escape[0]) == 2 else "?"))
        at = escape.end()
    characters.append(inner[at:])
    places += range(at, len(inner))
    return "".join(characters), places


def _snake(key: str) -> str:
    return re.sub(r"[\s\-.]+", "_", _INNER_CAPITAL.sub("_", key)).lower()


# --- other text -----------------------------------------------------------------------------

_TO = r"\s?(?:-|–|—|\.\.|to|through)\s?"
_RANGE = rf"(\d{{1,7}})(?:{_TO}L?(\d{{1,7}}))?"
_RANGE_ALONE = re.compile(rf"\s*(?:[Ll]ines?\s+)?L?{_RANGE}(?:,\s?{_RANGE})*\s*")
_END = r"(?![\w.]\d|\w)"
_PATH = (
    r"(?<![\w/@.~+-])(?:[\w@.~+-]*/)*"
    r"(?:[\w@+.-]*\.(?!(?:com|org|net|io|dev|local)\b)[A-Za-z]\w{0,11}|(?:Make|Docker|Gem|Rake)file)"
)
_FORMS = tuple(
    re.compile(form, re.M | re.I)
    for form in (
        # app.py:12, app.py:12:5, app.py:12-20, app.py: 12, `app.py`:12
        rf"{_PATH}[`'\"*]*:\s?L?{_RANGE}{_END}(?:,\s?{_RANGE}{_END})?",
        # app.py(12,5), app.py (12-20), app.py (L12)
        rf"{_PATH}[`'\"*]*\s?\(L?{_RANGE}(?:,\s?\d+)?\)",
        # #L12-L20, :L12, (L12), [L12], L12-20
        rf"[#:(\[](?-i:L){_RANGE}(?!\w)",
        rf"(?<!\w)(?-i:L)(\d{{1,7}}){_TO}L?(\d{{1,7}})(?!\w)",
        # line 12, Line: 12, line 12-20, "line": 12, line_number=12, end line: 12, endLine: 12
        rf"(?<![A-Za-z])(?:(?:start|end|begin|first|last)[\s_-]?)?(?:line|row)"
        rf"(?:[\s_-]?(?:no\.?|num(?:ber)?))?[\"'*`]*\s?[:=#]?\s?[\"'*`]*{_RANGE}{_END}",
        # lines 12-20, Lines: 12 to 20, lines 12, 15 and 20
        rf"(?<![A-Za-z])lines[\"'*`]*\s?:?\s?[\"'*`]*\[?L?(\d{{1,7}})(?:{_TO}|,\s?|\s(?:and|&)\s)"
        r"L?(\d{1,7})(?:(?:,|,?\s(?:and|&))\s(\d{1,7}))?(?!\w)",
        # @@ -12,5 +14,7 @@
        r"^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@",
    )
)
_FOUND_LINE = re.compile(
    rf"^[ \t]*(?:{_PATH}|[^\s:]{{0,300}}/[^\s:]{{1,200}}?)"
    r"(?::(\d{1,7}):(?:\d+:)?|-(\d{1,7})-)(?P<code>.*)$",
    re.M | re.I,
)
"""What grep prints: `app.py:12:code`, and around it `app.py-11-code`."""
_GUTTER = re.compile(
    r"""
    ^[ \t]*(?:(?:[>*→•]|\.\.\.)[ \t]*)?                           # a mark of the line that is meant
    (\d{1,7})
    (?P<mark>\t|[ ]{0,2}[|│→]|:(?!\d)|-)
    (?P<code>.*)$
    """,
    re.X | re.M,
)
_NAMES_OF_FILE = re.compile(rf"^[ \t*-]*[`*]*{_PATH}[`*]*:\s(.*)$", re.M | re.I)
_NAMED_LINE = re.compile(r"(?<![\w.])[A-Za-z_$][\w.$]*:(\d{1,7})(?=,|\s|$)")
"""`app.py: url_for:1003, run:560`."""
_ENTRY = re.compile(r"[ \t]+\d+:.*,\s*")
NEAR_CHARS = 200
"""Between two numbered lines of one listing: a mark for what is left out."""


def _in_prose(text: str) -> Iterator[_Span]:
    listed = list(_in_listings(text))
    for found in listed:
        yield from _groups(found)
    without_code = _masked(text, [found.span("code") for found in listed])
    for form in _FORMS:
        for found in form.finditer(without_code):
            yield from _groups(found)
    for names in _NAMES_OF_FILE.finditer(without_code):
        for found in _NAMED_LINE.finditer(names[1]):
            yield from _shifted(_groups(found), names.start(1))


def _in_listings(text: str) -> Iterator[re.Match[str]]:
    """Each line of code that stands behind its number."""
    yield from _FOUND_LINE.finditer(text)
    listing: list[re.Match[str]] = []
    for found in _GUTTER.finditer(text):
        if listing and not _goes_on(listing[-1], found):
            yield from _if_numbered(listing)
            listing = []
        listing.append(found)
    yield from _if_numbered(listing)


def _goes_on(last: re.Match[str], found: re.Match[str]) -> bool:
    is_near = found.start() - last.end() <= NEAR_CHARS
    return is_near and _style(last) == _style(found) and int(last[1]) < int(found[1])


def _style(found: re.Match[str]) -> str:
    """grep marks a line that it found with `:`, and one beside it with `-`."""
    return found["mark"].strip(" ").replace("-", ":")


def _if_numbered(listing: Sequence[re.Match[str]]) -> Sequence[re.Match[str]]:
    """The lines, unless their numbers are something else: a table's keys, a date, one number."""
    if not listing or all(found["mark"] == "-" for found in listing):
        return ()
    if all(_ENTRY.fullmatch(found[0]) for found in listing):
        return ()
    first = listing[0]
    if len(listing) == 1 and first["mark"] == ":":
        before = first.string[max(0, first.start() - NEAR_CHARS) : first.start()]
        return listing if re.search(_PATH, before) else ()
    return listing


def _masked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """With as many blanks for each span: what looks like a place there is the code's own."""
    pieces: list[str] = []
    at = 0
    for start, end in sorted(spans):
        pieces += (text[at:start], " " * (end - start))
        at = end
    return "".join([*pieces, text[at:]])


def _groups(found: re.Match[str]) -> Iterator[_Span]:
    """Of the groups without a name, which are the numbers."""
    named = set(found.re.groupindex.values())
    for number in range(1, found.re.groups + 1):
        if number not in named and found[number] is not None:
            yield _Span(*found.span(number))
