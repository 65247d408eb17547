"""Vue and Svelte components: script blocks are code at their own lines, the rest is text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

EXTENSIONS = frozenset({"svelte", "vue"})
_OPENING = re.compile(
    rb"""
    <script\b
    (?P<attributes>(?: [^<>"'] | "[^"]{0,200}" | '[^']{0,200}' ){0,200}+)  # generic="A<B>"
    >
    """,
    re.I | re.X,
)
_LANGUAGE = re.compile(rb"""\blang\s?=\s?["']?(\w+)""", re.I)
_CLOSING = re.compile(rb"</script", re.I)
_MOST_BLOCKS = 20
"""A component has two. Without a bound, a file of nothing but openings would take minutes."""
_LANGUAGES = {b"ts": "typescript", b"typescript": "typescript", b"tsx": "tsx"}


class ScriptBlock(NamedTuple):
    """The inside of a script element, in bytes."""

    begin: int
    end: int
    language: str


def is_component(path: str) -> bool:
    return path.rpartition(".")[2].lower() in EXTENSIONS


def language_of_scripts(source: bytes) -> str | None:
    """The language of a component's scripts; None if it has none. One with types reads both."""
    languages = [block.language for block in _blocks(source)]
    return max(languages, key=lambda language: language != "javascript", default=None)


def code_of(source: bytes) -> bytes:
    """A component with all that is no script as blanks: bytes and lines stay where they are."""
    parts = []
    at = 0
    for block in _blocks(source):
        parts += [_blank(source[at : block.begin]), source[block.begin : block.end]]
        at = block.end
    return b"".join((*parts, _blank(source[at:])))


def text_of(source: bytes) -> list[tuple[int, int]]:
    """The bytes of a component outside of its scripts: begin and end of each run."""
    bounds = [0]
    for block in _blocks(source):
        bounds += [block.begin, block.end]
    bounds.append(len(source))
    return list(zip(bounds[::2], bounds[1::2], strict=True))


def _blank(text: bytes) -> bytes:
    return re.sub(rb"[^\n]", b" ", text)


def _blocks(source: bytes) -> Iterator[ScriptBlock]:
    yield from islice(_all_blocks(source), _MOST_BLOCKS)


def _all_blocks(source: bytes) -> Iterator[ScriptBlock]:
    at = 0
    while opening := _OPENING.search(source, at):
        closing = _CLOSING.search(source, opening.end())
        at = closing.start() if closing else len(source)
        yield ScriptBlock(opening.end(), at, _language(opening["attributes"]))


def _language(attributes: bytes) -> str:
    language = _LANGUAGE.search(attributes)
    return _LANGUAGES.get(language[1].lower() if language else b"", "javascript")
