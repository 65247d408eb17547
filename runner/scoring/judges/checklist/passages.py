"""Cuts an answer into blocks of sentences, each with the headings or items it stands under.

The checklist judge looks for facts in these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from runner.scoring.judges.checklist.cited_places import as_written
from runner.scoring.judges.checklist.json_blocks import json_blocks, json_container
from runner.scoring.judges.checklist.sentences import Context, TextBlock, units_of
from runner.support.text import fold

_SegmentKind = Literal["blank", "fence", "heading", "table", "list", "prose"]


def text_blocks(text: str) -> list[TextBlock]:
    """The answer's blocks in order, without empty ones."""
    outline = _HeadingStack()
    blocks: list[TextBlock] = []
    for segment in _segments(fold(text).splitlines()):
        blocks += _segment_blocks(segment, outline)
    return list(filter(None, blocks))


def _segment_blocks(segment: _Segment, outline: _HeadingStack) -> list[TextBlock]:
    """A heading has no block of its own: it changes the outline for what follows."""
    lines = segment.lines
    match segment.kind:
        case "heading":
            outline.add_heading(lines[0])
            return []
        case "fence":
            return _fence(lines, outline.context())
        case "table":
            return _table(lines, outline.context())
        case "list":
            return _list(lines, outline.context())
        case _:
            return _paragraph(lines, outline)


# --- segments -------------------------------------------------------------------------------

_FENCE = re.compile(r"^\s*(?:```|~~~)")
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_BOLD_LINE = re.compile(r"^\s{0,8}(?:\*\*|__)[^*]{1,200}(?:\*\*|__)[^a-z]{0,40}$")
_ITEM = re.compile(r"^(\s*)(?:[-*+•]|\d{1,3}[.)])\s+(.*)$")


@dataclass(frozen=True, kw_only=True)
class _Segment:
    """Neighbouring lines of one kind; of a fence, the lines between its marks."""

    kind: _SegmentKind
    lines: Sequence[str]


def _segments(lines: Sequence[str]) -> Iterator[_Segment]:
    first = 0
    while first < len(lines):
        kind = _kind(lines[first])
        if kind == "fence":
            close = _closing_fence(lines, first + 1)
            yield _Segment(kind=kind, lines=lines[first + 1 : close])
            first = close + 1
            continue
        end = _run_end(kind, lines, first)
        if kind != "blank":
            yield _Segment(kind=kind, lines=lines[first:end])
        first = end


def _kind(line: str) -> _SegmentKind:
    line = as_written(line)
    if _FENCE.match(line):
        return "fence"
    if not line.strip():
        return "blank"
    # `**Where it starts**` alone on its line is how many models write a heading.
    if _HEADING.match(line) or _BOLD_LINE.match(line):
        return "heading"
    if line.lstrip().startswith("|"):
        return "table"
    if _ITEM.match(line):
        return "list"
    return "prose"


def _closing_fence(lines: Sequence[str], first: int) -> int:
    """The line that closes a fence; the end of the text if none does (an answer cut short)."""
    for at in range(first, len(lines)):
        if _FENCE.match(lines[at]):
            return at
    return len(lines)


def _run_end(kind: _SegmentKind, lines: Sequence[str], first: int) -> int:
    end = first + 1
    if kind in ("heading", "blank"):
        return end
    while end < len(lines) and _continues(kind, lines[end]):
        end += 1
    return end


def _continues(kind: _SegmentKind, line: str) -> bool:
    next_kind = _kind(line)
    if kind != "list":
        return next_kind == kind
    # Items may be spaced out, and run on over lines of prose.
    return next_kind in ("list", "prose") or not line


# --- headings and paragraphs ----------------------------------------------------------------

_BELOW_HEADINGS = 7
"""The level of a bold line: below every `#` heading."""
_MAX_LEAD_CHARS = 200


class _HeadingStack:
    """The headings above the line being read, and a lead-in sentence that ends in a colon."""

    def __init__(self) -> None:
        self.levels: dict[int, str] = {}
        self.lead = ""

    def add_heading(self, line: str) -> None:
        """A heading ends every section of its level and below."""
        level, text = _BELOW_HEADINGS, line
        match = _HEADING.match(line)
        if match:
            level, text = len(match[1]), match[2]
        self.levels = {at: above for at, above in self.levels.items() if at < level}
        self.levels[level] = text
        self.lead = ""

    def add_paragraph(self, text: str) -> None:
        self.lead = ""
        if text.rstrip("*_` ").endswith(":"):
            self.lead = as_written(text)[-_MAX_LEAD_CHARS:]

    def context(self) -> Context:
        context = Context()
        for level in sorted(self.levels)[-2:]:
            context = context.under(self.levels[level])
        if self.lead:
            context = context.under(self.lead)
        return context


def _paragraph(lines: Sequence[str], outline: _HeadingStack) -> list[TextBlock]:
    text = " ".join(map(str.strip, lines))
    value = json_container(text)
    if value is not None:
        return json_blocks(value, outline.context())
    # A lead-in speaks of the list or table below it, never of another paragraph.
    outline.lead = ""
    block = units_of(text, outline.context())
    outline.add_paragraph(text)
    return [block]


def _fence(lines: Sequence[str], context: Context) -> list[TextBlock]:
    value = json_container("\n".join(lines))
    if value is not None:
        return json_blocks(value, context)
    block: TextBlock = []
    for line in lines:
        block += units_of(line, context, block)
    return [block]


# --- lists ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Item:
    """A list item; `lines` are its own and those it runs on over."""

    indent: int
    lines: list[str]

    @property
    def text(self) -> str:
        return " ".join(self.lines)


def _list(lines: Sequence[str], context: Context) -> list[TextBlock]:
    """Each top-level item is a block with all that is under it, and is the context of that."""
    blocks: list[TextBlock] = []
    parents: list[tuple[int, Context]] = []
    for item in _items(lines):
        while parents and parents[-1][0] >= item.indent:
            parents.pop()
        above = context
        if parents:
            above = parents[-1][1]
        else:
            blocks.append([])
        blocks[-1] += units_of(item.text, above, blocks[-1])
        parents.append((item.indent, above.under(item.text)))
    return blocks


def _items(lines: Sequence[str]) -> Iterator[_Item]:
    """The items that have a text of their own."""
    item = _Item(indent=0, lines=[""])
    last_text = ""
    for line in lines:
        text = line.strip()
        next_item = _item_at(line, is_after_blank=not last_text)
        if next_item:
            if item.lines[0]:
                yield item
            item = next_item
        elif text:
            item.lines.append(text)
        last_text = text
    if item.lines[0]:
        yield item


def _item_at(line: str, *, is_after_blank: bool) -> _Item | None:
    """The item that begins with a line. One at the margin behind a blank line stands like one."""
    match = _ITEM.match(line)
    if match:
        return _Item(indent=len(match[1].expandtabs(4)), lines=[match[2]])
    if is_after_blank and line.strip() and not line.startswith((" ", "\t")):
        return _Item(indent=0, lines=[line.strip()])
    return None


# --- tables ---------------------------------------------------------------------------------

_RULE_CELL = re.compile(r":?-*:?")
_LINE_HEAD = re.compile(r"\W*lines?(?:\(s\)|\s*(?:no\.?|numbers?|#))?\W*", re.IGNORECASE)
_BARE_LINE = re.compile(r"[L`]*\d")


def _table(lines: Sequence[str], context: Context) -> list[TextBlock]:
    """One block a row. A column headed `line` gives its bare numbers their meaning."""
    rows = list(map(_cells, lines))
    heads: list[str] = []
    if len(rows) > 1 and _is_rule(rows[1]):
        heads, rows = rows[0], rows[2:]
    return [units_of(_row_text(row, heads), context) for row in rows]


def _cells(line: str) -> list[str]:
    return list(map(str.strip, line.strip().strip("|").split("|")))


def _is_rule(row: Sequence[str]) -> bool:
    """The line of dashes under a table's head."""
    return all(map(_RULE_CELL.fullmatch, row))


def _row_text(row: Sequence[str], heads: Sequence[str]) -> str:
    """The cells in one line, without the empty ones. A row may have more cells than heads."""
    cells = []
    for cell, head in zip_longest(row, heads[: len(row)], fillvalue=""):
        if cell:
            cells.append(_with_head(cell, head))
    return " ; ".join(cells)


def _with_head(cell: str, head: str) -> str:
    """`42` under `line` is `line 42`."""
    if _LINE_HEAD.fullmatch(head) and _BARE_LINE.match(cell):
        return f"line {cell.lstrip('L`')}"
    return cell
