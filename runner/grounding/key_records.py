"""Records of keys and values among the blocks of a text: keyed.py reads them as objects of JSON.

`**File:** a.py` above `**Line:** 3` and `**Function:** open`, items of YAML, `<place file="a.py"
line="3">open</place>`. Only what names a file, a line and a symbol is one: anything less is read as
text, as well as ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from runner.grounding.keyed import is_file_title, is_line_title, is_symbol_title
from runner.grounding.markdown_blocks import Record, TextBlock

_MOST_KEYS = 12
_KEYED_LINE = re.compile(
    r"""
    [ \t]*(?:[-*+•][ \t]+)? [*_]{0,2} (?P<key>[A-Za-z][\w ()-]{0,24}) (?:[*_]{1,2}:|:[*_]{0,2})
    [ \t]+ (?P<value>\S[^\n]{0,400})
    """,
    re.X,
)
_TAG = re.compile(
    r"""
    [ \t]*(?:[-*+•][ \t]+)? <(?P<tag>[A-Za-z][\w:-]{0,30})
    (?P<attributes>(?:\s{1,8}[\w:-]{1,30}\s?=\s?(?:"[^"\n]{0,300}"|'[^'\n]{0,300}')){0,12}) \s{0,8}
    (?: /> | >(?P<body>(?:[^<]|<(?!/(?P=tag)>)){0,2000})</(?P=tag)> )[ \t]*
    """,
    re.X,
)
_ATTRIBUTE = re.compile(r"([\w:-]+)\s?=\s?(?:\"([^\"]*)\"|'([^']*)')")
_CHILD = re.compile(r"\s*<(?P<key>[A-Za-z][\w-]{0,30})>(?P<value>[^<]{0,400})</(?P=key)>\s*")
_SIGN = re.compile(r":[*_ \t]|<")
_PLACE = re.compile(r"[`*(]*[^\s`]{1,200}(?::|\#L)\d")
_MARKS = "`\"'*"


def with_records(blocks: Iterable[TextBlock]) -> Iterator[TextBlock]:
    """The blocks of a text, with such records as blocks of their own."""
    said: list[TextBlock] = []
    for block in blocks:
        if block.kind in ("item", "paragraph"):
            said.append(block)
            continue
        yield from _records_apart(said)
        yield _as_records(block) if block.kind == "fence" else block
        said = []
    yield from _records_apart(said)


def _records_apart(said: Sequence[TextBlock]) -> Iterator[TextBlock]:
    """Paragraphs and items, and the records that some of their lines are."""
    if not any(_SIGN.search(block.text) for block in said):  # most are prose
        yield from said
        return
    owned = [(block, line) for block in said for line in _lines_of(block)]
    lines = [line for _, line in owned]
    at = left = 0
    while at < len(lines):
        records, count = _records_at(lines, at)
        if records:
            yield from _rejoined(owned[left:at])
            yield TextBlock("records", "", records=tuple(records))
            left = at + count
        at += count
    yield from _rejoined(owned[left:]) if left else said


def _lines_of(block: TextBlock) -> Iterator[str]:
    if block.kind == "paragraph":  # A blank line stands before it, and ends a record.
        yield ""
    yield from block.text.split("\n")


def _rejoined(owned: Iterable[tuple[TextBlock, str]]) -> Iterator[TextBlock]:
    for _, own in groupby(owned, lambda line: id(line[0])):
        blocks, lines = zip(*own, strict=True)
        if any(lines):
            yield blocks[0]._replace(text="\n".join(lines).strip("\n"))


def _records_at(lines: Sequence[str], at: int) -> tuple[list[Record], int]:
    """The records that begin with a line, and how many lines are read."""
    return _keyed(lines, at) or _tagged(lines, at) or ([], 1)


def _as_records(block: TextBlock) -> TextBlock:
    """A fence that holds nothing but records, as these; any other as it is."""
    lines = [line for line in block.text.split("\n") if line.strip()]
    records: list[Record] = []
    at = 0
    while at < len(lines):
        found, count = _records_at(lines, at)
        if not found:
            return block
        records += found
        at += count
    return TextBlock("records", "", records=tuple(records)) if records else block


def _keyed(lines: Sequence[str], at: int) -> tuple[list[Record], int] | None:
    """The records that begin with a line, and how many lines they are; no records if one of them
    lacks anything.
    """
    records: list[Record] = [{}]
    last = at
    for last in range(at, len(lines)):
        found = _KEYED_LINE.fullmatch(lines[last])
        if not found:
            break
        if found["key"] in records[-1]:
            records.append({})
        records[-1][found["key"]] = found["value"].strip()
        if len(records[-1]) > _MOST_KEYS:
            break
    else:
        last = len(lines)
    if last - at < 2:
        return None
    return ([*map(_read, records)] if all(map(_is_whole, records)) else []), last - at


def _tagged(lines: Sequence[str], at: int) -> tuple[list[Record], int] | None:
    """The record of a tag that has its lines to itself."""
    if "<" not in lines[at]:
        return None
    text = "\n".join(lines[at : at + _MOST_KEYS + 2])
    found = _TAG.match(text)
    if not found or text[found.end() : found.end() + 1] not in ("", "\n"):
        return None
    record = dict(_pairs(found))
    if not _is_whole(record):
        return None
    return [_read(record)], found[0].count("\n") + 1


def _pairs(tag: re.Match[str]) -> Iterator[tuple[str, str]]:
    for key, *values in _ATTRIBUTE.findall(tag["attributes"]):
        yield key, "".join(values)
    body = (tag["body"] or "").strip()
    children = list(_CHILD.finditer(body))
    if children and "".join(child[0] for child in children).strip() == body:
        yield from ((child["key"], child["value"].strip()) for child in children)
    elif body and "<" not in body:
        yield ("symbol" if re.fullmatch(r"[\w.:#$]{2,100}(?:\(\))?", body) else "note"), body


def _is_whole(record: Record) -> bool:
    """Does it name a file, a line and a symbol?"""
    if not any(map(is_symbol_title, record)):
        return False
    has_keys = any(map(is_file_title, record)) and any(map(is_line_title, record))
    return has_keys or any(map(_PLACE.match, record.values()))


def _read(record: Record) -> Record:
    """Marks around a path or a line go; a name is the surer for them."""
    return {
        key: value if is_symbol_title(key) else value.strip(_MARKS) for key, value in record.items()
    }
