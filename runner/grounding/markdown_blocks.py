"""Markdown -> its blocks, in order: headings, list items, paragraphs, tables, fences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from markdown_it.token import Token

_MOST_NESTED = 20
"""Lists in lists, and quotes: a deeper one is read as text of its item."""
_PROMPT = re.compile(r"^[ \t]*(?:\$|❯|➜|PS>|>>>|%) [^\n]*", re.M)  # $ grep -n foo src/app.py:42


_LETTERED = re.compile(r"^(?P<indent>[ \t]{0,8})\(?(?:[a-z]|[ivx]{2,4})[.)][ \t]{1,4}(?=\S)")
"""`a. `, `ii) `: an item, and Markdown knows only those that are counted in numbers."""
_SECOND = re.compile(r"\n[ \t]{0,8}\(?(?:b|ii)[.)][ \t]")
"""Only a text that has such a one counts in letters."""

Record = dict[str, str]
"""Keys and their values, as a text has them."""


class TextBlock(NamedTuple):
    """A piece of a document."""

    kind: Literal["heading", "item", "paragraph", "fence", "table", "records"]
    text: str
    level: int = 0
    """Of a heading, from 1; of anything else, how many list items are around it."""
    info: str = ""
    """What stands behind a fence's marks."""
    rows: tuple[tuple[str, ...], ...] = ()
    """Of a table: its header, then its rows."""
    records: tuple[Record, ...] = ()
    """What key_records.py makes of some lines."""


@cache
def _parser() -> MarkdownIt:
    # Indented text is seldom code in an answer, and `text` above a rule seldom a heading; link
    # definitions would vanish, with the places that they name.
    plain = MarkdownIt("commonmark", {"maxNesting": _MOST_NESTED}).enable("table")
    return plain.disable(["code", "lheading", "reference", "html_block", "inline"])


def blocks_of(text: str) -> Iterator[TextBlock]:
    """The blocks of a text; prompts with their commands are left out."""
    tokens = _parsed(text.replace("\r\n", "\n"))
    items, at = 0, 0
    kind: Literal["heading", "item", "paragraph"] = "paragraph"
    level = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token.type == "list_item_open":
            items, kind = items + 1, "item"
        elif token.type == "list_item_close":
            items, kind = items - 1, "paragraph"
        elif token.type == "heading_open":
            kind, level = "heading", int(token.tag[1:])
        elif token.type == "fence":
            yield TextBlock("fence", token.content, items, token.info.strip())
        elif token.type == "table_open":
            at, rows = _rows(tokens, at)
            yield TextBlock("table", "", items, rows=rows)
        elif token.type == "inline":
            said = _PROMPT.sub("", token.content)
            if said.strip():
                yield TextBlock(kind, said, level if kind == "heading" else items)
            kind = "paragraph"


def _parsed(text: str) -> list[Token]:
    tokens = _parser().parse(text)
    if not _SECOND.search(text):
        return tokens
    lines = text.split("\n")
    fenced = {line for it in tokens if it.type == "fence" and it.map for line in range(*it.map)}
    for at in set(range(len(lines))) - fenced:
        lines[at] = _LETTERED.sub(r"\g<indent>- ", lines[at])
    return _parser().parse("\n".join(lines))


def _rows(tokens: Sequence[Token], at: int) -> tuple[int, tuple[tuple[str, ...], ...]]:
    """The cells of a table, and where it ends."""
    rows: list[list[str]] = []
    while tokens[at].type != "table_close":
        if tokens[at].type == "tr_open":
            rows.append([])
        elif tokens[at].type == "inline":
            rows[-1].append(tokens[at].content.strip())
        at += 1
    return at + 1, tuple(map(tuple, rows))
