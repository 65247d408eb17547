"""Cuts an answer into what a reader takes in at once: sentences, with the heading, list item or JSON object they stand under.

The checklist judge looks for facts in these. It has no list of files, so a place is a path as written with its lines; whether the
place exists is citation grounding's business, not the judge's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from runner.text import fold

MAX_WORDS = 70
"""A passage longer than this is no single statement: a soup of every keyword would be one."""
MAX_CONTEXT_WORDS = 40
MAX_CONTEXT_PLACES = 3
"""A heading that cites more than this vouches for nothing under it."""


@dataclass(frozen=True)
class Place:
    """A path as written, lower-case, and its lines."""

    path: str
    start: int
    end: int


@dataclass(frozen=True)
class Context:
    """What a sentence stands under: headings, parent items, the short fields of its JSON object."""

    text: str = ""
    path: str | None = None
    places: tuple[Place, ...] = ()

    def under(self, text: str) -> Context:
        """The context one level further down. The nearest words stay when there are too many."""
        own, path = places_in(text, self.path)
        words = f"{self.text} | {text}".split()[-MAX_CONTEXT_WORDS:]
        places = self.places if not own else own if len(own) <= MAX_CONTEXT_PLACES else ()
        return Context(" ".join(words), path, places)


@dataclass(frozen=True)
class Unit:
    """A sentence, a list item's sentence, a table row, a line of a fence, or a field of a JSON object."""

    text: str
    """Lower-case, folded, without Markdown emphasis."""
    context: Context
    places: tuple[Place, ...]

    @property
    def words(self) -> int:
        return self.text.count(" ") + 1


Block = list[Unit]
"""Units that a reader takes together: a paragraph, an item with what is under it, a table row, a JSON object."""


def blocks_of(text: str) -> list[Block]:
    """The answer's blocks in order."""
    blocks: list[Block] = []
    outline = _Outline()
    for kind, lines in _segments(fold(text).splitlines()):
        if kind == "fence":
            blocks += _fence(lines, outline.context())
        elif kind == "table":
            blocks += _table(lines, outline.context())
        elif kind == "heading":
            outline.heading(lines[0])
        elif kind == "list":
            blocks += _list(lines, outline.context())
        else:
            blocks += _paragraph(lines, outline)
    return [block for block in blocks if block]


# --- Markdown -------------------------------------------------------------------------------

_ITEM = re.compile(r"^(\s*)(?:[-*+•]|\d{1,3}[.)])\s+(.*)$")
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_BOLD_LINE = re.compile(r"^\s{0,8}(?:\*\*|__)[^*]{1,200}(?:\*\*|__)[^a-z]{0,40}$")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_SENTENCE_END = re.compile(
    r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bcf\.)(?<!\bvs\.)[\"')\]]?\s+(?=[\"'(\[`*]*[A-Z0-9`_])"
)
_EMPHASIS = re.compile(r"[*`]+|~~")


class _Outline:
    """The headings above the line being read, and a lead-in sentence that ends in a colon."""

    def __init__(self) -> None:
        self.levels: dict[int, str] = {}
        self.lead = ""

    def heading(self, line: str) -> None:
        match = _HEADING.match(line)
        level, text = (len(match[1]), match[2]) if match else (7, line)
        self.levels = {at: above for at, above in self.levels.items() if at < level}
        self.levels[level] = text
        self.lead = ""

    def context(self) -> Context:
        context = Context()
        for level in sorted(self.levels)[-2:]:
            context = context.under(plain(self.levels[level]))
        return context.under(plain(self.lead)) if self.lead else context


def _segments(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """The lines in runs of one kind: fence, table, heading, list, prose."""
    index = 0
    while index < len(lines):
        line = lines[index]
        if _FENCE.match(line):
            end = next(
                (at for at in range(index + 1, len(lines)) if _FENCE.match(lines[at])), len(lines)
            )
            yield "fence", list(lines[index + 1 : end])
            index = end + 1
            continue
        kind = _kind(line)
        end = index + 1
        while (
            kind not in ("heading", "blank") and end < len(lines) and _continues(kind, lines[end])
        ):
            end += 1
        if kind != "blank":
            yield kind, list(lines[index:end])
        index = end


def _kind(line: str) -> str:
    if not line.strip():
        return "blank"
    if _HEADING.match(line) or _BOLD_LINE.match(line):
        return "heading"
    if line.lstrip().startswith("|"):
        return "table"
    return "list" if _ITEM.match(line) else "prose"


def _continues(kind: str, line: str) -> bool:
    if _FENCE.match(line):
        return False
    next_kind = _kind(line)
    if kind == "list":
        return next_kind in ("list", "prose") or (next_kind == "blank" and not line)
    return next_kind == kind


def _paragraph(lines: Sequence[str], outline: _Outline) -> list[Block]:
    text = " ".join(line.strip() for line in lines)
    loose = _json(text)
    if loose is not None:
        return _json_blocks(loose, outline.context(), "")
    outline.lead = ""
    block = _units(text, outline.context())
    outline.lead = text[-200:] if text.rstrip("*_` ").endswith(":") else ""
    return [block]


def _list(lines: Sequence[str], context: Context) -> list[Block]:
    """Each top-level item with everything under it is a block; what is under an item has that item as its context."""
    blocks: list[Block] = []
    stack: list[tuple[int, Context]] = []
    for indent, text in _items(lines):
        while stack and stack[-1][0] >= indent:
            stack.pop()
        above = stack[-1][1] if stack else context
        if not stack or not blocks:
            blocks.append([])
        blocks[-1] += _units(text, above, blocks[-1])
        stack.append((indent, above.under(plain(text))))
    return blocks


def _items(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """(indent, text) of each item; a continuation line belongs to the item above it."""
    indent, parts, after_blank = 0, [""], False
    for line in lines:
        match = _ITEM.match(line)
        if match or (after_blank and line.strip() and not line.startswith((" ", "\t"))):
            if parts[0]:
                yield indent, " ".join(parts)
            indent, parts = (
                (len(match[1].expandtabs(4)), [match[2]]) if match else (0, [line.strip()])
            )
        elif line.strip():
            parts.append(line.strip())
        after_blank = not line.strip()
    if parts[0]:
        yield indent, " ".join(parts)


def _table(lines: Sequence[str], context: Context) -> list[Block]:
    """One block a row. A column headed `line` gives its bare numbers their meaning."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    has_head = len(rows) > 1 and all(re.fullmatch(r":?-*:?", cell) for cell in rows[1])
    heads = rows[0] if has_head else []
    blocks = []
    for row in rows[2:] if has_head else rows:
        cells = [
            _with_head(cell, heads[at] if at < len(heads) else "") for at, cell in enumerate(row)
        ]
        blocks.append(_units(" ; ".join(cell for cell in cells if cell), context))
    return blocks


def _with_head(cell: str, head: str) -> str:
    is_lines = re.fullmatch(r"\W*lines?(?:\(s\)|\s*(?:no\.?|numbers?|#))?\W*", head, re.IGNORECASE)
    return f"line {cell.lstrip('L`')}" if is_lines and re.match(r"[L`]*\d", cell) else cell


def _fence(lines: Sequence[str], context: Context) -> list[Block]:
    value = _json("\n".join(lines))
    if value is not None:
        return _json_blocks(value, context, "")
    block: Block = []
    for line in lines:
        block += _units(line, context, block)
    return [block]


def _units(text: str, context: Context, block: Sequence[Unit] = ()) -> Block:
    """The sentences of a text; a bare `line 42` belongs to the file named last in its block, else above it."""
    path = next((unit.places[-1].path for unit in reversed(block) if unit.places), context.path)
    units = []
    for sentence in _SENTENCE_END.split(text.strip()):
        for piece in _pieces(plain(sentence)):
            places, path = places_in(piece, path)
            units.append(Unit(piece, context, places))
    return units


def _pieces(sentence: str) -> Iterator[str]:
    """A sentence too long to be one statement, in overlapping pieces."""
    words = sentence.split()
    if len(words) <= MAX_WORDS:
        if words:
            yield " ".join(words)
        return
    for start in range(0, len(words) - MAX_WORDS // 2, MAX_WORDS // 2):
        yield " ".join(words[start : start + MAX_WORDS])


def plain(text: str) -> str:
    """Lower-case, without emphasis and Markdown links' brackets."""
    text = re.sub(r"\[([^\[\]]*)\]\(([^()\s]*)\)", r"\1 (\2)", text)
    return _EMPHASIS.sub("", text).lower()


# --- JSON: coding agents often answer with it -----------------------------------------------

_SHORT_WORDS = 12


def _json(text: str) -> Any | None:
    text = text.strip()
    if not text.startswith(("{", "[")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _json_blocks(value: Any, context: Context, name: str, depth: int = 0) -> list[Block]:
    """An object's short fields (name, file, line) are the context of its long ones; a list's texts are sentences under its key."""
    if depth > 40:
        return []
    if isinstance(value, list):
        return _json_list(value, context.under(_label(name)) if name else context, depth)
    if not isinstance(value, dict):
        return [_units(f"{_label(name)}: {value}", context)]
    short = {
        key: item
        for key, item in value.items()
        if _is_scalar(item) and len(str(item).split()) <= _SHORT_WORDS
    }
    card = " ; ".join(
        [_label(name)] * bool(name) + [f"{_label(key)}: {item}" for key, item in short.items()]
    )
    below = context.under(plain(card)) if card else context
    card_units = _units(card, context) if short else []
    long = {key: item for key, item in value.items() if _is_scalar(item) and key not in short}
    blocks = [
        card_units
        + [unit for key, item in long.items() for unit in _units(f"{_label(key)}: {item}", below)]
    ]
    for key, item in value.items():
        if not _is_scalar(item):
            blocks += _json_blocks(item, below, key, depth + 1)
    return blocks


def _json_list(values: Sequence[Any], context: Context, depth: int) -> list[Block]:
    blocks: list[Block] = []
    for value in values:
        blocks += (
            [_units(str(value), context)]
            if _is_scalar(value)
            else _json_blocks(value, context, "", depth + 1)
        )
    return blocks


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, dict | list)


def _label(key: str) -> str:
    """A key as a reader reads it: `calls_next` is two words, `Flask.wsgi_app` and `wsgi_app` stay what they are."""
    return f"{key} {key.replace('_', ' ')}" if "_" in key else key


# --- places ---------------------------------------------------------------------------------

_NUMBERS = r"\d{1,7}(?:\s*(?:-|–|—|\.\.|to)\s*l?\d{1,7})?"
_TOKEN = re.compile(
    # Only where a word begins: tried at each letter, a long word without a suffix would cost the square of its length.
    r"(?P<path>(?<![\w@+~.\-/\\\[\]$])(?:[\w@+~.\-/\\\[\]$]*[\w\]]\.[a-z][\w+]{0,9}"
    r"|[\w.\-/\\]*(?:makefile|dockerfile|justfile))(?![\w/]))"
    rf"(?P<suffix>:{_NUMBERS}|\#l{_NUMBERS})?"
    rf"|(?P<bare>(?<![\w:.\])]):{_NUMBERS}(?![\w:.]*\w))"
    rf"|(?P<line>(?:\b|(?<=_))(?:lines?|l\.|l(?=\d))\W{{0,4}}{_NUMBERS}(?!\w))"
    rf"|(?P<number>(?<=\w )\({_NUMBERS}(?=[,)]))"
    rf"|(?P<more>(?<=\d)\s*(?:,|and|&)\s*:?l?{_NUMBERS}(?=\s*(?:[,)\]`;]|and\b|&|$)))",
)
_OF_A_FILE = re.compile(r"\W{0,3}\s(?:of|in)\s+(?=\S*[./])")


def places_in(text: str, path: str | None) -> tuple[tuple[Place, ...], str | None]:
    """The places a plain text cites, and the file it named last. `path`: the file a bare line number belongs to.

    A bare number belongs to the file named before it; `line 42 of a.py`, and a number with no file before it, to the next one. A number
    alone in brackets, `name (42)`, is a line only where a file is known.
    """
    found: dict[Place, None] = {}
    waiting: list[tuple[int, int]] = []
    named, cited = path, False
    for match in _TOKEN.finditer(text):
        if match["path"]:
            named = _clean_path(match["path"])
            lines = [_interval(match["suffix"])] if match["suffix"] else []
            found.update(dict.fromkeys(Place(named, *pair) for pair in waiting + lines))
            waiting, cited = [], bool(lines)
        elif (match["more"] and not cited) or (match["number"] and not named):
            continue
        elif named is None or _OF_A_FILE.match(text, match.end()):
            waiting.append(_interval(match[0]))
        else:
            found[Place(named, *_interval(match[0]))] = None
            cited = True
    return tuple(found), named


def _clean_path(written: str) -> str:
    """`[a/b.py` is a path in a bracket; in `app/[id]/page.tsx` the brackets belong to it."""
    return (
        (written if "]" in written else written.lstrip("[")).replace("\\", "/").removeprefix("./")
    )


def _interval(written: str) -> tuple[int, int]:
    numbers = [int(number) for number in re.findall(r"\d+", written)]
    return numbers[0], max(numbers)
