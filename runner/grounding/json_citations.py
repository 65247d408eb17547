"""Answers in JSON, whose keys say what is a file, a line and a symbol."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from runner.grounding.commit_files import PathIndex
from runner.grounding.inline import first_path_in, read_below
from runner.grounding.mentions import MOST_MENTIONS, MOST_SAID, Mention, saying
from runner.grounding.naming import is_compound, symbol_of
from runner.grounding.owners import Above
from runner.grounding.paths import clean_path
from runner.grounding.patterns import SETTING, LineRange, intervals, ordered

_FILE_KEYS = frozenset(
    """
    file path filename filepath sourcefile relativepath location source module in where sourcepath
    """.split()
)
_LINE_KEY = re.compile(
    r"""
    (?:^|_)
    (?: lines?                                         # line, start_lines
      | line_?(?:no|num|numbers?|range|start|end)      # line_no, linerange
      | (?:start|end)_?line | ln | loc | (?<![a-z]_)at | (?:defined|called|used)_at
    )$
    """,
    re.X,
)
_END_KEY = re.compile(r"(?:^|_)(?:line_?end|end_?line|end|stop_?line|to_line)$")
_START_KEY = re.compile(r"(?:^|_)(?:line_?start|start_?line|start|begin_?line|from_line)$")
_LINES_KEY = re.compile("|".join(key.pattern for key in (_LINE_KEY, _END_KEY, _START_KEY)), re.X)
_COUNT_KEY = re.compile(
    r"""
    (?:^|_)
    (?:total|num|count|max|min|of_code|changed|added|removed|n)  # total_lines, lines_added
    (?:_|$)
    """,
    re.X,
)
_UNIT_KEY = re.compile(
    r"(?:^|_)(?:lines|id|ms|sec|bytes|chars|size|percent|score|port|year|tokens)$"
)
_SYMBOL_KEYS = tuple(
    """
    symbol qualified_name enclosing function method class struct name caller callee fn func test
    type
    """.split()
)
"""In the order in which they are believed."""
_SURE_KEYS = ("symbol", "qualified_name", "enclosing")
_PLACE_KEY = re.compile(
    r"""
    (?:^|_)
    (?: location | file_?line | file | path | at
      | defined_?(?:at|in)?                            # defined_at, definedin
      | lines? | definition | where | site | source | position | ref | reference | citation
    )$
    """,
    re.X,
)
_INNER_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NUMBERS = re.compile(
    r"""
    \s*(?:[Ll]ines?\s*)?                               # lines
    (?P<list>
        [L~:]?\d{1,7}                                  # 42
        (?:\s?(?:-|–|,|and|to)\s?[L~]?\d{1,7}){0,40}   # -60, and 72
    )\s*\Z
    """,
    re.X,
)
_CITES = re.compile(r":\d|\A\S+/\S+\Z")
"""A path, or a text of another place: it says nothing of this one."""
_BEGINS_WITH_LINE = re.compile(r"\d{1,6}(?:[-–]\d{1,6})?(?::\s|\s[—–-]\s|\s(?=[\w`(]))")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""`\\ud83d` with no second half is JSON, and is no text that a result could be written with."""
_DEEPEST = 60
"""Levels of nesting that are read; a deeper one is no answer, and would end in a RecursionError."""

Pairs = list[tuple[str, Any]]


class _Object(Pairs):
    """An object's pairs in order, repeated keys kept."""


class _NamedSymbol(NamedTuple):
    """The symbol that an object or a key names."""

    symbol: str | None
    weak: bool
    """True for a key, which may be a name of the answer's own making."""


class _Here(NamedTuple):
    """Where in the JSON we are."""

    tree: PathIndex
    above: Above
    """Its file is that of the object, or of one around it."""
    named: _NamedSymbol | None
    depth: int
    said: str = ""
    """The key, and what the object's texts say."""


def read_json_citations(text: str, index: PathIndex, above: Above) -> list[Mention] | None:
    """The citations of JSON text.

    None if it is no JSON (truncated, with comments), and is to be read as prose.
    """
    try:
        value = json.loads(text, object_pairs_hook=_Object)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, list):
        return None
    here = _Here(index, above, None, 0)
    mentions = list(islice(_walk(value, here), MOST_MENTIONS))
    if _HALF.search(text):
        return list(map(_in_whole_characters, mentions))
    return mentions


def _in_whole_characters(mention: Mention) -> Mention:
    symbol = mention.symbol and _whole(mention.symbol)
    written, path = _whole(mention.written), _whole(mention.path)
    return mention._replace(written=written, path=path, symbol=symbol)


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _walk(value: Any, here: _Here) -> Iterator[Mention]:
    if here.depth > _DEEPEST:
        return
    if isinstance(value, _Object):
        yield from _walk_object(value, here)
    elif isinstance(value, list):
        inner = here._replace(named=None, depth=here.depth + 1)
        for item in _with_line_words(value, here):
            yield from _walk(item, inner)
    elif isinstance(value, str):
        yield from _read_string(value, here)


def _with_line_words(items: list[Any], here: _Here) -> list[Any]:
    """`["21: match() is tried", "46 then it is kept"]` below a file: the numbers are lines."""
    numbered = sum(1 for item in items if isinstance(item, str) and _BEGINS_WITH_LINE.match(item))
    if not here.above.sure or numbered * 3 < len(items) * 2 or numbered < 2:
        return items
    return [f"L{item}" if _BEGINS_WITH_LINE.match(str(item)) else item for item in items]


def _read_string(value: str, here: _Here) -> list[Mention]:
    """A string is a cell of its own; if it begins with a citation, its key may name the symbol."""
    mentions = list(saying(here.said, read_below(value, here.tree, here.above).mentions))
    if not mentions or here.named is None:
        return mentions
    first = mentions[0]
    if first.start is None or first.symbol is not None:
        return mentions
    # {"Shop.open": "it is called by main.py:3"} does not put Shop.open there.
    if not value.lstrip("`( ").startswith(first.written[:12]):
        return mentions
    symbol, weak = here.named
    return [first._replace(symbol=symbol, weak=weak), *mentions[1:]]


# --- objects --------------------------------------------------------------------------------


def _walk_object(pairs: _Object, here: _Here) -> Iterator[Mention]:
    own_file = _own_file(pairs, here.tree)
    for key, path in _paths_among(pairs, here.tree):  # {"router": "src/r.py"}, then "router:42"
        if _snake(key).replace("_", "") not in _FILE_KEYS:
            here.above.seen.aliases[key] = path
    file = own_file or _file_of_place(pairs, here.tree) or _file_among(pairs, here.tree)
    here = here._replace(
        above=_about(here.above, file),
        named=_own_symbol(pairs) or here.named,
        depth=here.depth + 1,
        said=_told(pairs),
    )
    at_lines = list(_at_own_lines(pairs, own_file, here))
    yield from at_lines
    for key, value in pairs:
        if own_file is None or not _is_path(value, own_file, here.tree):
            yield from _read_entry(key, value, here)
        elif not at_lines:
            yield Mention(written=value, path=own_file)


def _is_path(value: Any, path: str, index: PathIndex) -> bool:
    return isinstance(value, str) and clean_path(value, index, has_line=True) == path


def _at_own_lines(pairs: Pairs, own_file: str | None, here: _Here) -> Iterator[Mention]:
    """`{"file": "a.py", "line": 42}`: the file at the lines that the object's keys give."""
    if not here.above.file:
        return
    keys = _LineKeys(pairs)
    lines, written = keys.lines(), ", ".join(keys.written)
    if own_file:
        written = f"{own_file}, {written}"
    symbol, weak = here.named or (None, False)
    for start, end in lines:
        yield Mention(
            written=written,
            path=here.above.file,
            start=start,
            end=end,
            symbol=symbol,
            weak=weak,
            group=len(lines) - 1,
            said=here.said,
        )


def _read_entry(key: str, value: Any, here: _Here) -> Iterator[Mention]:
    path = clean_path(key, here.tree, has_line=False)
    if path is None:
        reading = read_below(key, here.tree, here.above)
        yield from reading.mentions
        # {"base.ts: the callers": ["run :42"]}
        path = reading.first_path
    else:
        here.above.seen.name(path)
        lines = _as_lines(value)
        if lines:  # {"src/app.py": [42, 51]}
            written = f"{key}: {value}"
            for start, end in lines:
                yield Mention(written=written, path=path, start=start, end=end)
            return
    at_line = _named_line(key, value, here)
    if at_line is not None:
        yield at_line
        return
    named = None
    # A list under a key holds many things, and the key's symbol is none of theirs.
    if isinstance(value, str | _Object):
        named = _named_by(key, here)
    said = f"{key} {here.said}"[:MOST_SAID]
    yield from _walk(value, here._replace(above=_about(here.above, path), named=named, said=said))


def _about(above: Above, file: str | None) -> Above:
    """With the file that an object or a key names, if it names one."""
    if file is None:
        return above
    return above._replace(file=file, sure=True)


def _named_line(key: str, value: Any, here: _Here) -> Mention | None:
    """`{"src/app.py": {"openShop": 42}}`: a name and its line, if the name holds there."""
    lines = _as_lines(value) if isinstance(value, int | str) else []
    if len(lines) != 1 or not here.above.sure or not here.above.file or lines[0][0] < 10:
        return None
    symbol, snake = symbol_of(key), _snake(key)
    if symbol is None or not is_compound(symbol) or SETTING.search(key):
        return None
    if any(kind.search(snake) for kind in (_COUNT_KEY, _LINE_KEY, _START_KEY, _END_KEY, _UNIT_KEY)):
        return None
    start, end = lines[0]
    written, path = f"{key}: {value}", here.above.file
    return Mention(
        written=written, path=path, start=start, end=end, symbol=symbol, weak=True, guess=True
    )


def _told(pairs: Pairs) -> str:
    """What an object's texts say: `{"file": …, "line": 3, "role": "it opens the shop"}`."""
    told = [value for _, value in pairs if isinstance(value, str) and not _CITES.search(value)]
    return " ".join(told)[:MOST_SAID]


def _named_by(key: str, here: _Here) -> _NamedSymbol | None:
    """A key that is a symbol names it; one such as `defined_at` leaves the object's."""
    named = _key_symbol(key)
    if named is None and _PLACE_KEY.search(_snake(key)):
        return here.named
    return named


def _own_file(pairs: Pairs, index: PathIndex) -> str | None:
    """`{"file": "src/app.py"}`: the file that the object is about."""
    for key, value in pairs:
        if not isinstance(value, str) or _snake(key).replace("_", "") not in _FILE_KEYS:
            continue
        written = value.strip()
        path = clean_path(written, index, has_line=True)
        if path and path == written:
            return path
    return None


def _file_among(pairs: Pairs, index: PathIndex) -> str | None:
    """`{"server": "src/app.py", "calls": ["run :42"]}`: the only path among the values."""
    paths = {path for _, path in _paths_among(pairs, index)}
    if len(paths) == 1:
        return paths.pop()
    return None


def _paths_among(pairs: Pairs, index: PathIndex) -> Iterator[tuple[str, str]]:
    """Keys and values, where a value is a path and nothing else."""
    for key, value in pairs:
        if isinstance(value, str) and len(value) < 300 and " " not in value.strip():
            path = clean_path(value.strip(), index, has_line=True)
            if path and path == value.strip():
                yield key, path


def _file_of_place(pairs: Pairs, index: PathIndex) -> str | None:
    """`{"location": "a.py:12"}`: the object's other values speak of that file too."""
    for key, value in pairs:
        # A longer text only begins with a place, and goes on to others.
        if not isinstance(value, str) or len(value) >= 300:
            continue
        if not _PLACE_KEY.search(_snake(key)):
            continue
        path = first_path_in(value, index)
        if path and value.lstrip("`( ").startswith(path):
            return path
    return None


# --- lines ----------------------------------------------------------------------------------


class _LineKeys:
    """The lines that an object's keys give, and how they are written."""

    def __init__(self, pairs: Pairs) -> None:
        self.start: int | None = None
        self.end: int | None = None
        self.listed: list[LineRange] = []
        self.written: list[str] = []
        for key, value in pairs:
            if self._take(_snake(key), value):
                self.written.append(f"{key}: {value}")

    def _take(self, key: str, value: Any) -> bool:
        """False if the key says nothing of lines."""
        if not _LINES_KEY.search(key) or _COUNT_KEY.search(key):
            return False
        number = _whole_number(value)
        if number is not None and _END_KEY.search(key):
            self.end = number
        elif number is not None and _START_KEY.search(key):
            self.start = number
        elif not _LINE_KEY.search(key):
            return False
        elif key.endswith("range"):
            self.listed += _as_range(value)
        else:
            self.listed += _as_lines(value)
        return True

    def lines(self) -> list[LineRange]:
        if self.start is not None:
            return [*self.listed, ordered(self.start, self.end or self.start)]
        if self.end is not None and len(self.listed) == 1:
            return [ordered(self.listed[0][0], self.end)]
        return self.listed


def _whole_number(value: Any) -> int | None:
    """42 or "42"."""
    if isinstance(value, bool):  # true is an int to Python, and would be line 1
        return None
    if isinstance(value, int) and value >= 0:
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 8:
        return int(value)
    return None


def _as_lines(value: Any) -> list[LineRange]:
    """42, "42-60", ["42", 51], {"start": 42, "end": 60}; none if any part is something else."""
    number = _whole_number(value)
    if number is not None:
        return [(number, number)]
    if isinstance(value, str):
        return _lines_of_text(value)
    if isinstance(value, _Object):
        return _LineKeys(value).lines()
    if isinstance(value, list):
        return _lines_of_list(value)
    return []


def _lines_of_text(value: str) -> list[LineRange]:
    numbers = _NUMBERS.match(value)
    if numbers is None:
        return []
    return intervals(numbers["list"].lstrip(":"))


def _lines_of_list(values: list[Any]) -> list[LineRange]:
    lines: list[LineRange] = []
    for value in values:
        part = _as_lines(value)
        if not part:
            return []
        lines += part
    return lines


def _as_range(value: Any) -> list[LineRange]:
    """`"line_range": [42, 60]` is one range, not two lines."""
    lines = _as_lines(value)
    if isinstance(value, list) and len(lines) == 2:
        return [(lines[0][0], lines[1][1])]
    return lines


# --- symbols --------------------------------------------------------------------------------


def _own_symbol(pairs: Pairs) -> _NamedSymbol | None:
    """What the object says its symbol is.

    `name`, `type` and the like count only if their value looks like no word of English.
    """
    texts = {_snake(key): value for key, value in pairs if isinstance(value, str)}
    for key in _SYMBOL_KEYS:
        value = texts.get(key, "")
        if " " in value.strip():
            continue
        symbol = symbol_of(value.strip("`"))
        if symbol and (key in _SURE_KEYS or is_compound(symbol)):
            return _NamedSymbol(symbol, weak=key == "type")
    return None


def _key_symbol(key: str) -> _NamedSymbol | None:
    """A key that is a symbol: `Engine.ServeHTTP`, `wsgi_app()`.

    It is never a plain word, nor of the snake or camel case that keys have.
    """
    if key[:1] in " /" or not re.search(r"[.#(]|::|[a-z][A-Z]", key):
        return None
    symbol = symbol_of(key)
    if symbol is None:
        return None
    qualified = re.search(r"[.#]|::", symbol)
    if qualified or "(" in key or key[0].isupper():
        return _NamedSymbol(symbol, weak=True)
    return None


def _snake(key: str) -> str:
    """`startLine`, `start-line` and `Start line` as `start_line`."""
    if key.isalpha() and key.islower():  # most are, in every object of a list
        return key
    words = _INNER_CAPITAL.sub("_", key.strip())
    return re.sub(r"[\s\-:.]+", "_", words).lower()
