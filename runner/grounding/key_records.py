"""Records of keys and values in a text, as the JSON that keyed.py reads.

`**File:** a.py` above `**Line:** 3` and `**Function:** open`, items of YAML, `<place file="a.py"
line="3">open</place>`. Only what names a file, a line and a symbol is rewritten: anything less is
read as text, as well as ever.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from runner.grounding.keyed import is_file_title, is_line_title, is_symbol_title

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
_PLACE = re.compile(r"[`*(]*[^\s`]{1,200}(?::|\#L)\d")
_FENCE = re.compile(r"[ \t>]{0,12}(?:```|~~~)")
_MARKS = "`\"'*"

Record = dict[str, str]


def with_key_records(text: str) -> str:
    """The text, with each such record as a fence of JSON; the same if it has none."""
    if ": " not in text and "=" not in text and "</" not in text:
        return text
    kept: list[str] = []
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        read = _fenced if _FENCE.match(lines[at]) else _records_at
        records, count = read(lines, at)
        if records:
            kept += ["", "```json", json.dumps(records, ensure_ascii=False), "```", ""]
        else:
            kept += lines[at : at + count]
        at += count
    return "\n".join(kept)


def _records_at(lines: Sequence[str], at: int) -> tuple[list[Record], int]:
    return _keyed(lines, at) or _tagged(lines, at) or ([], 1)


def _fenced(lines: Sequence[str], at: int) -> tuple[list[Record], int]:
    """The records of a fence that holds nothing else."""
    mark = lines[at].lstrip("> \t")[:3]
    rest = range(at + 1, len(lines))
    end = next((n for n in rest if lines[n].strip("> \t") == mark), len(lines) - 1)
    records: list[Record] = []
    inner = [line for line in lines[at + 1 : end] if line.strip()]
    place = 0
    while place < len(inner):
        found, count = _records_at(inner, place)
        if not found:
            return [], end + 1 - at
        records += found
        place += count
    return records, end + 1 - at


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
    has_file = any(is_file_title(key) for key in record)
    has_line = has_file and any(is_line_title(key) for key in record)
    has_place = has_line or any(map(_PLACE.match, record.values()))
    return has_place and any(is_symbol_title(key) for key in record)


def _read(record: Record) -> Record:
    """Marks around a path or a line go; a name is the surer for them."""
    return {
        key: value if is_symbol_title(key) else value.strip(_MARKS) for key, value in record.items()
    }
