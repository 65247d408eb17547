"""Answers with a structure of their own: JSON objects and Markdown tables, where a key or a column says what a number is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from runner.grounding.files import PathIndex
from runner.grounding.inline import read_chunk
from runner.grounding.mentions import Mention
from runner.grounding.naming import symbol_of
from runner.grounding.paths import clean_path
from runner.grounding.patterns import intervals

_FILE_KEYS = frozenset(
    "file path filename filepath sourcefile relativepath location source module in where sourcepath".split()
)
_LINE_KEY = re.compile(
    r"(?:^|_)(?:lines?|line_?(?:no|num|numbers?|range|start|end)|(?:start|end)_?line|ln|loc)$"
)
_END_KEY = re.compile(r"(?:^|_)(?:line_?end|end_?line|end|stop_?line|to_line)$")
_START_KEY = re.compile(r"(?:^|_)(?:line_?start|start_?line|start|begin_?line|from_line)$")
_COUNT_KEY = re.compile(
    r"(?:^|_)(?:total|num|count|max|min|of_code|changed|added|removed|n)(?:_|$)"
)
_SYMBOL_KEYS = tuple(
    "symbol qualified_name enclosing function method class struct name caller callee fn func test type".split()
)
_PLACE_KEY = re.compile(
    r"(?:^|_)(?:location|file_?line|file|path|at|defined_?(?:at|in)?|lines?|definition|where|site|source|position|ref|reference|citation)$"
)
_SNAKE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NUMBERS = re.compile(
    r"\s*(?:[Ll]ines?\s*)?([L~:]?\d{1,7}(?:\s?(?:-|–|,|and|to)\s?[L~]?\d{1,7}){0,40})\s*\Z"
)
_DEEPEST = 60

Pairs = list[tuple[str, Any]]


def read_json(text: str, index: PathIndex, inherited: str | None = None) -> list[Mention] | None:
    """The citations of JSON text; None where it is not JSON (truncated, commented), to be read as prose."""
    try:
        value = json.loads(text, object_pairs_hook=_Object)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, list):
        return None
    return list(_walk(value, _Here(index, inherited, None, 0)))


class _Named(NamedTuple):
    """The symbol that an object or a key names."""

    symbol: str | None
    weak: bool
    """True for a key, which may be a name of the answer's own making."""


class _Here(NamedTuple):
    """Where in the JSON we are."""

    tree: PathIndex
    file: str | None
    """Of the object, or of one around it."""
    named: _Named | None
    depth: int


class _Object(list[tuple[str, Any]]):
    """An object's pairs in order, repeated keys kept."""


def _walk(value: Any, here: _Here) -> Iterator[Mention]:
    if here.depth > _DEEPEST:
        return
    if isinstance(value, _Object):
        yield from _walk_object(value, here)
    elif isinstance(value, list):
        for item in value:
            yield from _walk(item, here._replace(named=None, depth=here.depth + 1))
    elif isinstance(value, str):
        yield from _strings(value, here)


def _strings(value: str, here: _Here) -> list[Mention]:
    """A string is a cell of its own. What its key or object names is the symbol of a string that begins with the citation."""
    found = read_chunk(value, here.tree, here.file).mentions
    first = (
        found[0]
        if found
        and found[0].start is not None
        and value.lstrip("`( ").startswith(found[0].written[:12])
        else None
    )
    if here.named and first and first.symbol is None:
        found[0] = replace(first, symbol=here.named.symbol, weak=here.named.weak)
    return found


def _walk_object(pairs: _Object, here: _Here) -> Iterator[Mention]:
    own = _own_file(pairs, here.tree)
    here = here._replace(
        file=own or _place(pairs, here.tree) or here.file,
        named=_own_symbol(pairs) or here.named,
        depth=here.depth + 1,
    )
    lines, written = _own_lines(pairs) if here.file else ([], "")
    for start, end in lines:
        symbol, weak = here.named or (None, False)
        whole = f"{own}, {written}" if own else written
        yield Mention(
            written=whole,
            path=here.file or "",
            start=start,
            end=end,
            symbol=symbol,
            weak=weak,
            group=len(lines) - 1,
        )
    for key, value in pairs:
        if own and isinstance(value, str) and clean_path(value, here.tree, has_line=True) == own:
            if not lines:
                yield Mention(written=value, path=own)
            continue
        yield from _entry(key, value, here)


def _entry(key: str, value: Any, here: _Here) -> Iterator[Mention]:
    path = clean_path(key, here.tree, has_line=False)
    if path is None:
        yield from read_chunk(key, here.tree).mentions
    numbers = _as_lines(value) if path else []
    if path and numbers:
        yield from (
            Mention(written=f"{key}: {value}", path=path, start=start, end=end)
            for start, end in numbers
        )
        return
    named = _key_symbol(key) or (here.named if _PLACE_KEY.search(_snake(key)) else None)
    yield from _walk(
        value,
        here._replace(
            file=path or here.file, named=named if isinstance(value, str | _Object) else None
        ),
    )


def _own_file(pairs: Pairs, index: PathIndex) -> str | None:
    for key, value in pairs:
        if isinstance(value, str) and _snake(key).replace("_", "") in _FILE_KEYS:
            path = clean_path(value.strip(), index, has_line=True)
            if path and path == value.strip():
                return path
    return None


def _place(pairs: Pairs, index: PathIndex) -> str | None:
    """The file of an object that gives it with its lines (`"location": "a.py:12"`): its other values speak of it too."""
    for key, value in pairs:
        if isinstance(value, str) and len(value) < 300 and _PLACE_KEY.search(_snake(key)):
            path = next(iter(paths_in(value, index)), None)
            if path and value.lstrip("`( ").startswith(path):
                return path
    return None


def _own_lines(pairs: Pairs) -> tuple[list[tuple[int, int]], str]:
    """The lines an object's keys give, and how they are written."""
    start = end = None
    found: list[tuple[int, int]] = []
    written: list[str] = []
    for key, value in pairs:
        name = _snake(key)
        if _COUNT_KEY.search(name):
            continue
        number = _whole(value)
        if number is not None and _END_KEY.search(name):
            end = number
        elif number is not None and _START_KEY.search(name):
            start = number
        elif _LINE_KEY.search(name):
            found += _as_range(value) if name.endswith("range") else _as_lines(value)
        else:
            continue
        written.append(f"{key}: {value}")
    if start is not None:
        found.append((min(start, end or start), max(start, end or start)))
    elif end is not None and len(found) == 1:
        found = [(min(found[0][0], end), max(found[0][0], end))]
    return found, ", ".join(written)


def _whole(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    return (
        int(value)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 8
        else None
    )


def _as_lines(value: Any) -> list[tuple[int, int]]:
    """42, "42-60", ["42", 51], {"start": 42, "end": 60}; nothing where any part is something else."""
    number = _whole(value)
    if number is not None:
        return [(number, number)]
    if isinstance(value, str):
        listed = _NUMBERS.match(value)
        return intervals(listed[1].lstrip(":")) if listed else []
    if isinstance(value, _Object):
        return _own_lines(value)[0]
    if isinstance(value, list):
        parts = [_as_lines(item) for item in value]
        return [interval for part in parts for interval in part] if all(parts) else []
    return []


def _as_range(value: Any) -> list[tuple[int, int]]:
    found = _as_lines(value)
    return [(found[0][0], found[1][1])] if isinstance(value, list) and len(found) == 2 else found


def _own_symbol(pairs: Pairs) -> _Named | None:
    """What the object says its symbol is; `name` and `type` count only where no word of English looks like their value."""
    values = {_snake(key): value for key, value in pairs if isinstance(value, str)}
    for key in _SYMBOL_KEYS:
        symbol = (
            symbol_of(values[key].strip("`"))
            if key in values and " " not in values[key].strip()
            else None
        )
        if symbol and (key in ("symbol", "qualified_name", "enclosing") or _unlike_a_word(symbol)):
            return _Named(symbol, key == "type")
    return None


def _unlike_a_word(symbol: str) -> bool:
    return bool(re.search(r"[_.#]|::|[a-z][A-Z]", symbol.strip("_")))


def _key_symbol(key: str) -> _Named | None:
    """A key that is a symbol (`Engine.ServeHTTP`, `wsgi_app()`): never a plain word, nor the snake or camel case that keys have."""
    symbol = (
        symbol_of(key) if re.search(r"[.#(]|::|[a-z][A-Z]", key) and key[:1] not in " /" else None
    )
    return (
        _Named(symbol, True)
        if symbol and (re.search(r"[.#]|::", symbol) or "(" in key or key[0].isupper())
        else None
    )


def _snake(key: str) -> str:
    return re.sub(r"[\s\-:.]+", "_", _SNAKE.sub("_", key.strip())).lower()


# --- tables ---------------------------------------------------------------------------------

_CELL = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"\s*\|?\s*:?-{1,}:?\s*(?:\|\s*:?-{1,}:?\s*)*\|?\s*\Z")
_FILE_COLUMN = re.compile(r"\b(?:file|path|location|module|source|where)s?\b", re.I)
_LINE_COLUMN = re.compile(
    r"\A\W*(?:lines?(?:\s?(?:\(s\)|no\.?|nos\.?|numbers?|ranges?|#))?|loc|ln|range|at|l)\W*\Z", re.I
)
_SYMBOL_COLUMN = re.compile(
    r"\A\W*(?:symbol|function|method|class|struct|trait|identifier|test|handler|hook|helper|caller|callee|layer type|type|name)s?"
    r"(?:\s*/\s*\w+|\s+name)?\W*\Z",
    re.I,
)
_SURE_COLUMN = re.compile(r"\W*(?:symbol|identifier|class|struct|trait)s?\W*\Z", re.I)
"""A column whose title leaves no doubt: even an English word in it is a symbol."""
_NUMBER = r"[L~:]?\d{1,7}(?:\s?[-–—]\s?L?\d{1,7})?"
_NUMERIC = re.compile(
    rf"\W*(?:[Ll]ines?\W*)?({_NUMBER}(?:\s?(?:,|/|;|and|&)\s?{_NUMBER}){{0,60}})\W*\Z"
)


def cells_of(row: str) -> list[str]:
    """The cells of a Markdown table row; a bar inside a code span splits none."""
    if "`" in row:
        row = re.sub(r"`[^`]*`", lambda span: span[0].replace("|", "\x00"), row)
    cells = [cell.replace("\x00", "|").strip() for cell in _CELL.split(row.strip())]
    return cells[
        1 if cells and not cells[0] else 0 : -1 if len(cells) > 1 and not cells[-1] else None
    ]


def is_rule(row: str) -> bool:
    """The line of dashes under a table's header."""
    return "-" in row and "|" in row and bool(_RULE.match(row))


def read_table(rows: Sequence[str], index: PathIndex, inherited: str | None) -> list[Mention]:
    """The citations of a table: rows[0] is its header. A cell is a sentence; a file comes from its row, its column's header or above."""
    header = cells_of(rows[0])
    columns = [next(iter(paths_in(cell, index)), None) for cell in header]
    found: list[Mention] = []
    for cell in header:
        found += [m for m in read_chunk(cell, index, inherited).mentions if m.start is not None]
    for row in rows[1:]:
        found += _read_row(cells_of(row), header, columns, index, inherited)
    return found


def _read_row(
    cells: list[str],
    header: list[str],
    columns: list[str | None],
    index: PathIndex,
    inherited: str | None,
) -> Iterator[Mention]:
    titles = header + [""] * (len(cells) - len(header))
    by_title = [
        cell for cell, title in zip(cells, titles, strict=False) if _FILE_COLUMN.search(title)
    ]
    row_file = next((path for cell in [*by_title, *cells] for path in paths_in(cell, index)), None)
    symbol = _row_symbol(cells, titles)
    for place, (cell, title) in enumerate(zip(cells, titles, strict=False)):
        file = (columns[place] if place < len(columns) else None) or row_file or inherited
        numeric = (
            _NUMERIC.match(cell)
            if _LINE_COLUMN.match(title) or (place < len(columns) and columns[place])
            else None
        )
        if numeric and file:
            for start, end in intervals(numeric[1].replace(":", "")):
                yield Mention(
                    written=cell.strip("`*_ "), path=file, start=start, end=end, symbol=symbol
                )
            continue
        for mention in read_chunk(cell, index, file).mentions:
            bare = (
                mention.start is not None
                and mention.symbol is None
                and len(cell.strip("`*_ ()")) <= len(mention.written) + 2
            )
            yield replace(mention, symbol=symbol) if bare and symbol else mention


def _row_symbol(cells: list[str], titles: list[str]) -> str | None:
    """What the column that says it holds symbols holds, where that is one symbol and no word of English."""
    for cell, title in zip(cells, titles, strict=False):
        if _SYMBOL_COLUMN.match(title):
            symbol = symbol_of(cell.strip("`* "))
            return (
                symbol
                if symbol and ("`" in cell or _SURE_COLUMN.match(title) or _unlike_a_word(symbol))
                else None
            )
    return None


def paths_in(text: str, index: PathIndex) -> list[str]:
    """Paths a short text names, with or without lines."""
    return [mention.path for mention in read_chunk(text, index).mentions]
