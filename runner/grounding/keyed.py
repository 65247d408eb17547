"""Tables and JSON, whose titles and keys say what is a file, a line and a symbol."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from runner.grounding.commit_files import PathIndex
from runner.grounding.markdown_blocks import Record
from runner.grounding.mentions import MOST_MENTIONS, MOST_SAID
from runner.grounding.naming import is_compound, symbol_of
from runner.grounding.paths import clean_path
from runner.grounding.patterns import SETTING, LineRange, intervals, ordered
from runner.grounding.text_tokens import Piece, read_piece

_EMPTY = Piece("", "", [], [])


class Fragment(NamedTuple):
    """A piece of a table or of JSON, and what its row or object is about."""

    piece: Piece = _EMPTY
    file: str | None = None
    """None for that of what stands above."""
    symbol: str | None = None
    """Of a text that is a place, or begins with one, and names no other."""
    weak: bool = False
    """Only a JSON key names the symbol."""
    said: str = ""
    """What the other texts of the row or object say."""
    lines: tuple[LineRange, ...] = ()
    """Of a value that is nothing else."""
    written: str = ""
    guess: bool = False
    in_cell: bool = False
    loose: int = 0
    """Signs that the symbol is not what the lines are of (`Mention.loose`)."""


# --- titles -------------------------------------------------------------------------------------

_WORDS = re.compile(r"[A-Za-z]+")
_INNER_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_LINE = re.compile(
    r"""
    (?:.*\s)? (?: lines?(?:\s(?:no|nos|num|numbers?|ranges?|spans?|s))? | ln | lineno | linerange)
    | (?:(?:defined|definition|called|used)\s)? (?:at|on|in) | defined | definition
    | loc(?:ation)? | l | where | pos(?:ition)? | range | span
    """,
    re.X,
)
_START = re.compile(r"(?:.*\s)?(?:line\s?start|start\sline|begin\sline|from\sline)|startline|start")
_END = re.compile(r"(?:.*\s)?(?:line\s?end|end\sline|stop\sline|to\sline)|endline|end")
_COUNT = re.compile(r"\b(?:total|num(?=\slines)|count|max|min|code|changed|added|removed|n)\b")
_FILE = re.compile(
    r"(?:source|relative|full)?\s?(?:files?|paths?|filename|filepath|sourcefile|sourcepath"
    r"|relativepath|location|source|modules?|in|where)(?:\s(?:name|path))?"
)
_PLACE = re.compile(
    r"(?:.*\s)?(?:location|loc|file|line|lines|path|at|in|on|defined|definition|where|site|source"
    r"|position|ref|reference|citation|place|evidence)"
)
_SURE_NAMES = ("symbol", "qualified name", "enclosing", "identifier", "struct", "trait")
_NAMES = (
    *_SURE_NAMES,
    *("function", "method", "class", "name", "caller", "callee", "fn", "func", "test", "type"),
    *("function name", "method name", "handler", "hook", "helper", "layer type"),
)
"""In the order in which they are believed."""


@lru_cache(maxsize=4096)
def _title(title: str) -> str:
    """`**Line(s)**` as `lines`, `startLine` and `start_line` as `start line`."""
    words = _WORDS.findall(_INNER_CAPITAL.sub(" ", title.replace("(s)", "s")))
    return " ".join(words).lower()


def _names_symbol(title: str) -> str:
    """The believed title that this one is; empty for none."""
    first = title.partition("/")[0].strip()
    plain = _title(first)
    return next((name for name in _NAMES if plain in (name, f"{name}s", f"{name}es")), "")


def is_file_title(title: str) -> bool:
    return bool(_FILE.fullmatch(_title(title)))


def is_line_title(title: str) -> bool:
    title = _title(title)
    is_line = any(kind.fullmatch(title) for kind in (_LINE, _START, _END))
    return is_line and not _COUNT.search(title)


def is_symbol_title(title: str) -> bool:
    return bool(_names_symbol(title))


# --- tables -------------------------------------------------------------------------------------

_NUMBER = r"[L~:]?\d{1,7}(?:\s?[-–—]\s?L?\d{1,7})?"
_NUMERIC = re.compile(
    rf"""
    \W*(?:[Ll]ines?\W*)?                                          # **lines
    (?P<list>{_NUMBER}(?:\s?(?:,|/|;|and|&)\s?{_NUMBER}){{0,60}}) # 42-60, 71 and 80
    \W*\Z
    """,
    re.X,
)
_COLUMN_NUMBER = re.compile(
    r"(?<![\w.:~$-])(?<!L)(?=\d{2,5}(?:[-–]\d{2,6})?`?(?:\s*\Z|[,;)]|\s[`(→—–]))"
)
"""Before a number in a column that a file heads."""


class _TableColumn(NamedTuple):
    title: str
    file: str | None
    """That its title names."""

    @property
    def has_files(self) -> bool:
        return is_file_title(self.title)


class _TableCell(NamedTuple):
    text: str
    piece: Piece
    column: _TableColumn

    @property
    def file(self) -> str | None:
        return next(iter(self.piece.paths()), None)


def units_of_table(rows: Sequence[Sequence[str]], index: PathIndex) -> Iterator[Fragment]:
    """The cells of a table, row by row; rows[0] is its header."""
    columns = []
    for title in rows[0]:
        piece = read_piece(title, index)
        columns.append(_TableColumn(title, next(iter(piece.paths()), None)))
        # A file in a title heads its column, and is cited in the cells.
        if any(token.lines for token in piece.tokens):
            yield Fragment(piece)
    for row in rows[1:]:
        cells = [
            _TableCell(text, _read_cell(text, column, index), column)
            for text, column in zip(row, columns, strict=False)
        ]
        yield from _units_of_row(cells)


def _read_cell(text: str, column: _TableColumn, index: PathIndex) -> Piece:
    return read_piece(_COLUMN_NUMBER.sub("L", text) if column.file else text, index)


def _units_of_row(cells: list[_TableCell]) -> Iterator[Fragment]:
    ordered_cells = [cell for cell in cells if cell.column.has_files] + cells
    file = next((cell.file for cell in ordered_cells if cell.file), None)
    symbol, owner = _row_symbol(cells)
    citing = sum(map(_cites, cells))
    loose = (citing > 1) + (owner is None or not _names_symbol(owner.column.title))
    silent = " ".join(cell.text for cell in cells if not _cites(cell))[:MOST_SAID]
    for cell in cells:
        own = None if cell is owner else symbol
        unit = Fragment(
            cell.piece, cell.column.file or file, own, said=silent, in_cell=True, loose=loose
        )
        lines = _numeric_lines(cell)
        if lines:
            unit = unit._replace(piece=_EMPTY, lines=lines, written=cell.text.strip("`*_ "))
        yield unit


def _cites(cell: _TableCell) -> bool:
    return bool(_numeric_lines(cell)) or any(token.lines for token in cell.piece.tokens)


def _numeric_lines(cell: _TableCell) -> tuple[LineRange, ...]:
    """The numbers of a cell of nothing else, in a column of lines or of one file."""
    # Any other column may count something.
    if not cell.column.file and not is_line_title(cell.column.title):
        return ()
    numeric = _NUMERIC.match(cell.text)
    return tuple(intervals(numeric["list"].replace(":", ""))) if numeric else ()


def _row_symbol(cells: Iterable[_TableCell]) -> tuple[str | None, _TableCell | None]:
    """The symbol of a row, and its cell: in a column of symbols, else one that is a code span."""
    cells = [cell for cell in cells if not any(token.path for token in cell.piece.tokens)]
    titled = [cell for cell in cells if _names_symbol(cell.column.title)]
    for cell in titled[:1]:
        symbol = symbol_of(cell.text.strip("`* "))
        sure = "`" in cell.text or _names_symbol(cell.column.title) in (*_SURE_NAMES, "class")
        if symbol and (sure or is_compound(symbol)):
            return symbol, cell
        return None, None
    for cell in cells:
        if _cites(cell):  # `open_shop:15` has a line of its own
            continue
        plain = cell.text.strip("*_ ")
        if re.fullmatch(r"`[^`]+`", plain) and (symbol := symbol_of(plain.strip("`"))):
            return symbol, cell
    return None, None


# --- JSON ---------------------------------------------------------------------------------------

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
_HALF = re.compile(r"[\ud800-\udfff]")
_DEEPEST = 60
"""Levels of nesting that are read; a deeper one is no answer, and would end in a RecursionError."""

Pairs = list[tuple[str, Any]]


class _Object(Pairs):
    """An object's pairs in order, repeated keys kept."""


class _Here(NamedTuple):
    """Where in the JSON we are."""

    tree: PathIndex
    unit: Fragment
    """What the object around is about."""
    depth: int = 0


def units_of_json(text: str, index: PathIndex) -> list[Fragment] | None:
    """The strings and numbers that may cite, in order.

    None if it is no JSON (truncated, with comments), and is to be read as prose.
    """
    try:
        value = json.loads(text, object_pairs_hook=_Object)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, list):
        return None
    return _units_of(value, index)


def units_of_records(records: Iterable[Record], index: PathIndex) -> list[Fragment]:
    """The same of records, as if they stood in JSON."""
    return _units_of([_Object(record.items()) for record in records], index)


def _units_of(value: list[Any], index: PathIndex) -> list[Fragment]:
    return list(islice(_walk(value, _Here(index, Fragment())), MOST_MENTIONS))


def aliases_of_json(text: str, index: PathIndex) -> dict[str, str]:
    """`{"router": "src/r.py"}`, then "router:42"."""
    pairs = re.findall(r'"([A-Za-z][\w-]{1,30})"\s?:\s?"([^"\s]{1,300})"', text)
    return {
        key: path
        for key, path in pairs
        if not is_file_title(key) and _is_path(path, index) and "." not in key
    }


def _walk(value: Any, here: _Here) -> Iterator[Fragment]:
    if here.depth > _DEEPEST:
        return
    here = here._replace(depth=here.depth + 1)
    if isinstance(value, _Object):
        yield from _walk_object(value, here)
    elif isinstance(value, list) and (place := _place_of_list(value, here.tree)):
        yield place
    elif isinstance(value, list):
        unit = here.unit._replace(symbol=None)
        for item in _with_line_words(value, here):
            yield from _walk(item, here._replace(unit=unit))
    elif isinstance(value, str):
        whole = _HALF.sub("\ufffd", value)  # `\ud83d` with no second half is JSON, and no text
        if "\n" in whole:
            yield here.unit._replace(written=whole)
        else:
            yield here.unit._replace(piece=read_piece(whole, here.tree))


def _place_of_list(items: list[Any], index: PathIndex) -> Fragment | None:
    """`["src/app.py", 42]`."""
    if len(items) != 2 or not _is_path(items[0], index) or _whole_number(items[1]) is None:
        return None
    path, line = items
    return Fragment(lines=((int(line), int(line)),), written=f"{path}: {line}", file=path.strip())


def _with_line_words(items: list[Any], here: _Here) -> list[Any]:
    """`["21: match() is tried", "46 then it is kept"]` below a file: the numbers are lines."""
    numbered = sum(1 for item in items if isinstance(item, str) and _BEGINS_WITH_LINE.match(item))
    if not here.unit.file or numbered * 3 < len(items) * 2 or numbered < 2:
        return items
    return [f"L{item}" if _BEGINS_WITH_LINE.match(str(item)) else item for item in items]


_OF_ONE = re.compile(r"(?P<whose>.+) (?:file|path|filename|filepath)")


def _each_of(pairs: _Object) -> tuple[_Object, list[_Object]]:
    """`caller_file`, `caller_line`, `callee_file`, …: an object each, and what is left."""
    if len(pairs) < 4:  # two files and two lines: most objects have fewer keys
        return pairs, []
    titles = [_title(key) for key, _ in pairs]
    whose = [found["whose"] for found in map(_OF_ONE.fullmatch, titles) if found]
    whose = [one for one in whose if any(title.startswith(f"{one} line") for title in titles)]
    if len(set(whose)) < 2:
        return pairs, []
    rest, each = _Object(), {one: _Object() for one in whose}
    for title, (key, value) in zip(titles, pairs, strict=True):
        one = next((one for one in whose if title == one or title.startswith(f"{one} ")), None)
        if one is None:
            rest.append((key, value))
        else:
            each[one].append((title[len(one) + 1 :] or "symbol", value))
    return rest, list(each.values())


def _walk_object(pairs: _Object, here: _Here) -> Iterator[Fragment]:
    pairs, each = _each_of(pairs)
    for one in each:
        yield from _walk_object(one, here)
    own = _own_file(pairs, here.tree)
    symbol = _own_symbol(pairs) or here.unit.symbol
    file = own or _file_of_place(pairs, here.tree) or _file_among(pairs, here.tree)
    told = [value for _, value in pairs if isinstance(value, str) and not _CITES.search(value)]
    unit = here.unit._replace(
        file=file or here.unit.file, symbol=symbol, said=" ".join(told)[:MOST_SAID]
    )
    here = here._replace(unit=unit)
    at_lines = _LineKeys(pairs)
    if lines := at_lines.lines():
        written = ", ".join(([own] if own else []) + at_lines.written)
        yield unit._replace(lines=tuple(lines), written=written)
    for key, value in pairs:
        if not (lines and own and _is_path(value, here.tree, own)) and key not in at_lines.keys:
            yield from _read_entry(key, value, here)


def _read_entry(key: str, value: Any, here: _Here) -> Iterator[Fragment]:
    unit, lines = here.unit, _as_lines(value)
    if here.unit.file and key.isdigit() and isinstance(value, str):  # {"src/app.py": {"42": "…"}}
        yield unit._replace(lines=((int(key), int(key)),), written=key, said=value[:MOST_SAID])
        return
    # A tree may have a file `bin/jobs`, and "jobs" is a word.
    path = key if re.search(r"[./]", key) and _is_path(key, here.tree) else None
    if path and lines:  # {"src/app.py": [42, 51]}
        yield Fragment(lines=tuple(lines), written=f"{key}: {value}", file=path)
        return
    if path is None:
        piece = read_piece(key, here.tree)
        if piece.tokens:
            yield Fragment(piece, unit.file)
        # {"base.ts: the callers": ["run :42"]}
        path = next(iter(piece.paths()), None)
    if _is_named_line(key, value, here):  # {"src/app.py": {"openShop": 42}}
        symbol = symbol_of(key)
        written = f"{key}: {value}"
        yield unit._replace(
            lines=tuple(lines), written=written, symbol=symbol, weak=True, guess=True
        )
        return
    # A list under a key holds many things, and the object's symbol is none of theirs.
    named, weak = _named_by(key, here) if isinstance(value, str | _Object) else (None, False)
    said = f"{key} {unit.said}"[:MOST_SAID]
    unit = unit._replace(file=path or unit.file, symbol=named, weak=weak, said=said)
    yield from _walk(value, here._replace(unit=unit))


def _is_named_line(key: str, value: Any, here: _Here) -> bool:
    lines = _as_lines(value) if isinstance(value, int | str) else []
    if len(lines) != 1 or not here.unit.file or lines[0][0] < 10 or SETTING.search(key):
        return False
    symbol = symbol_of(key)
    is_count = _COUNT.search(_title(key)) or is_line_title(key)
    return symbol is not None and is_compound(symbol) and not is_count


def _named_by(key: str, here: _Here) -> tuple[str | None, bool]:
    """A key that is a symbol names it, weakly; one such as `defined_at` leaves the object's."""
    if _PLACE.fullmatch(_title(key)):
        return here.unit.symbol, here.unit.weak
    symbol = symbol_of(key)
    return symbol, symbol is not None


def _own_symbol(pairs: Pairs) -> str | None:
    values = {_title(key): value for key, value in pairs if isinstance(value, str)}
    for name in _NAMES:
        symbol = symbol_of(values[name].strip("` ")) if name in values else None
        if symbol and (name in _SURE_NAMES or is_compound(symbol) or "`" in values[name]):
            return symbol
        if name == "name" and name in values:  # {"type": "base_class", "name": "Shop"}
            return None
    return None


def _is_path(value: Any, index: PathIndex, path: str | None = None) -> bool:
    """Is it a path and nothing else?"""
    if not isinstance(value, str) or len(value) >= 300:
        return False
    known = clean_path(value.strip(), index, has_line=True)
    return known is not None and known == (path or value.strip())


def _own_file(pairs: Pairs, index: PathIndex) -> str | None:
    """`{"file": "src/app.py"}`: the file that the object is about."""
    for key, value in pairs:
        if is_file_title(key) and _is_path(value, index):
            return str(value).strip()
    return None


def _file_among(pairs: Pairs, index: PathIndex) -> str | None:
    """`{"server": "src/app.py", "calls": ["run :42"]}`: the only path among the values."""
    paths = {value.strip() for _, value in pairs if _is_path(value, index)}
    return paths.pop() if len(paths) == 1 else None


def _file_of_place(pairs: Pairs, index: PathIndex) -> str | None:
    """`{"location": "a.py:12"}`: the object's other values speak of that file too."""
    for key, value in pairs:
        # A longer text only begins with a place, and goes on to others.
        if isinstance(value, str) and len(value) < 300 and _PLACE.fullmatch(_title(key)):
            path = next(iter(read_piece(value, index).paths()), None)
            if path and value.lstrip("`( ").startswith(path):
                return path
    return None


class _LineKeys:
    """The lines that an object's keys give, and how they are written."""

    def __init__(self, pairs: Pairs) -> None:
        self.start: int | None = None
        self.end: int | None = None
        self.listed: list[LineRange] = []
        self.written: list[str] = []
        self.keys: set[str] = set()
        for key, value in pairs:
            if self._take(_title(key), value):
                self.keys.add(key)
                self.written.append(f"{key}: {value}")

    def _take(self, title: str, value: Any) -> bool:
        """False if the key says nothing of lines."""
        if not is_line_title(title):
            return False
        number = _whole_number(value)
        if number is not None and _END.fullmatch(title):
            self.end = number
        elif number is not None and _START.fullmatch(title):
            self.start = number
        elif title.endswith("range") and isinstance(value, list) and len(value) == 2:
            first, last = map(_whole_number, value)
            self.listed += [ordered(first, last)] if first and last else []
        else:
            lines = _as_lines(value)
            self.listed += lines
            return bool(lines)
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
        numbers = _NUMBERS.match(value)
        return intervals(numbers["list"].lstrip(":")) if numbers else []
    if isinstance(value, _Object):
        return _LineKeys(value).lines()
    if isinstance(value, list):
        parts = [_as_lines(part) for part in value]
        return [lines for part in parts for lines in part] if all(parts) else []
    return []
