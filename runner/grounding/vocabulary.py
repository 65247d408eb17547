"""Every word of a commit's files: has anybody heard of this name?

An invented name is a word that stands nowhere in the tree. Words are kept as they are written, and
by what of them is left without case and underscores: `RequestHandler`, `request_handler`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from runner.grounding.cache import Cache
from runner.protocols import Files

MOST_BYTES = 300_000_000
"""Of a tree. In a larger one every word counts as known: what was not read accuses nobody."""
LARGEST_FILE_BYTES = 3_000_000
"""A larger file is data, or generated."""
_BINARY_BYTES = 4_096
"""A zero among the first of them: no text."""
_PROSE = (".md", ".mdx", ".markdown", ".rst", ".txt", ".adoc", ".po")
"""Any English word may stand in these, and is no name of code for it."""
_LETTERS = bytes(range(48, 58)) + bytes(range(65, 91)) + b"_" + bytes(range(97, 123))
_BLANKED = bytes(c if c in _LETTERS or c >= 128 else 32 for c in range(256))
"""Translates all that is no letter, digit or underscore to a blank."""
_FORMAT = "1"


class _Words(NamedTuple):
    code: frozenset[str]
    prose: frozenset[str]
    complete: bool
    """False if the tree was too large to be read."""


class Vocabulary:
    """The words of one commit, read when they are first asked for, and kept in the cache."""

    def __init__(self, files: Files, kept: Cache) -> None:
        self._files = files
        self._kept = kept

    def has(self, word: str) -> bool:
        """True if the word stands in any file of the tree."""
        words = self._words
        return not words.complete or word in words.code or word in words.prose

    def has_name(self, name: str) -> bool:
        """True if code has the name, or a variant of it: `requestHandler` for `RequestHandler`."""
        words = self._words
        return not words.complete or name in words.code or _plain(name) in self._compounds

    @cached_property
    def _words(self) -> _Words:
        key = f"words {_FORMAT} {self._files.commit}"
        words = _from_bytes(self._kept.get(key))
        if words is None:
            words = _read(self._files)
            self._kept.put(key, _to_bytes(words))
        return words

    @cached_property
    def _compounds(self) -> frozenset[str]:
        """Names of several words, without case and underscores."""
        return frozenset(_plain(word) for word in self._words.code if _is_compound(word))


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _is_compound(word: str) -> bool:
    return "_" in word.strip("_") or not (word.islower() or word.isupper() or word.istitle())


def _read(files: Files) -> _Words:
    code: set[bytes] = set()
    prose: set[bytes] = set()
    left = MOST_BYTES
    for path in files.paths():
        source = files.read(path)
        left -= len(source)
        if left < 0:
            return _Words(frozenset(), frozenset(), complete=False)
        words = prose if path.lower().endswith(_PROSE) else code
        words.update(_words_of(source))
    return _Words(_texts(code), _texts(prose), complete=True)


def _words_of(source: bytes) -> Iterable[bytes]:
    if len(source) > LARGEST_FILE_BYTES or b"\0" in source[:_BINARY_BYTES]:
        return ()
    return source.translate(_BLANKED).split()


def _texts(words: Iterable[bytes]) -> frozenset[str]:
    return frozenset(word.decode("utf-8", "replace") for word in words)


def _to_bytes(words: _Words) -> bytes:
    text = json.dumps([sorted(words.code), sorted(words.prose), words.complete])
    return zlib.compress(text.encode(), level=1)


def _from_bytes(data: bytes | None) -> _Words | None:
    """Cached words; None if there are none or they are damaged."""
    try:
        code, prose, complete = json.loads(zlib.decompress(data or b""))
        return _Words(frozenset(code), frozenset(prose), complete=bool(complete))
    except (ValueError, TypeError, zlib.error):
        return None
