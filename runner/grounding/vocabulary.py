"""Every word of a commit's files: has anybody heard of this name?

An invented name is a word that stands nowhere in the tree. Words are kept as they are written, and
by what of them is left without case and underscores: `RequestHandler`, `request_handler`.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple, Protocol, runtime_checkable

from runner.grounding.cache import Cache
from runner.protocols import Files
from runner.support.errors import SourceError

MOST_BYTES = 300_000_000
"""Of a tree. In a larger one every word counts as known: what was not read accuses nobody."""
LARGEST_FILE_BYTES = 3_000_000
"""A larger file is data, or generated."""
_AT_ONCE = 1_000
"""Files read in one breath: their bytes are in memory together."""
_DATA = (
    *(".png", ".jpg", ".jpeg", ".gif", ".ico", ".webp", ".woff", ".woff2", ".ttf", ".pdf", ".zip"),
    *(".gz", ".jar", ".svg", ".mp4", ".wasm", ".snap", ".map", ".mo"),
)
"""Endings of files that hold no names."""
_BINARY_BYTES = 4_096
"""A zero among the first of them: no text."""
PROSE = (".md", ".mdx", ".markdown", ".rst", ".txt", ".adoc", ".po")
"""Any English word may stand in these, and is no name of code for it."""
_LETTERS = bytes(range(48, 58)) + bytes(range(65, 91)) + b"_" + bytes(range(97, 123))
_BLANKED = bytes(c if c in _LETTERS or c >= 128 else 32 for c in range(256))
"""Translates all that is no letter, digit or underscore to a blank."""
_FORMAT = "1"


class _TreeWords(NamedTuple):
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
        """True if code has the name, or a variant of it.

        `requestHandler` for `RequestHandler`, `engine` for `Engine`, `shop` for `src/shop.py`.
        """
        words = self._words
        if not words.complete or name in words.code or _plain(name) in self._variants:
            return True
        return name.islower() and name.capitalize() in words.code

    @cached_property
    def _words(self) -> _TreeWords:
        key = f"words {_FORMAT} {self._files.commit}"
        words = _from_bytes(self._kept.get(key))
        if words is None:
            words = _read(self._files)
            self._kept.put(key, _to_bytes(words))
        return words

    @cached_property
    def _variants(self) -> frozenset[str]:
        """Files, folders and names of several words, without case and what joins the words."""
        compounds = (_plain(word) for word in self._words.code if _is_compound(word))
        parts = chain.from_iterable(re.split(r"[/.]", path) for path in self._files.paths())
        return frozenset(chain(compounds, map(_plain, parts)))


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _is_compound(word: str) -> bool:
    return "_" in word.strip("_") or not (word.islower() or word.isupper() or word.istitle())


@runtime_checkable
class _ReadsMany(Protocol):
    def read_many(self, paths: Sequence[str]) -> Iterator[bytes]: ...


def _read(files: Files) -> _TreeWords:
    code: set[bytes] = set()
    prose: set[bytes] = set()
    try:
        for path, source in sources_of(files):
            words = prose if path.lower().endswith(PROSE) else code
            words.update(_words_of(source))
    except SourceError:
        return _TreeWords(frozenset(), frozenset(), complete=False)
    return _TreeWords(_texts(code), _texts(prose), complete=True)


def sources_of(files: Files) -> Iterator[tuple[str, bytes]]:
    """Every file of the tree and its bytes.

    Raises SourceError of a tree that is too large, or not all here, as a partial clone is.
    """
    left = MOST_BYTES
    paths = sorted(path for path in files.paths() if not path.lower().endswith(_DATA))
    for begin in range(0, len(paths), _AT_ONCE):
        several = paths[begin : begin + _AT_ONCE]
        sources: Iterator[bytes] = map(files.read, several)
        if isinstance(files, _ReadsMany):
            sources = files.read_many(several)
        for path, source in zip(several, sources, strict=True):
            left -= len(source)
            if left < 0:
                raise SourceError(f"it has more than {MOST_BYTES:,} bytes")
            yield path, source


def _words_of(source: bytes) -> Iterable[bytes]:
    if len(source) > LARGEST_FILE_BYTES or b"\0" in source[:_BINARY_BYTES]:
        return ()
    return source.translate(_BLANKED).split()


def _texts(words: Iterable[bytes]) -> frozenset[str]:
    return frozenset(word.decode("utf-8", "replace") for word in words)


def _to_bytes(words: _TreeWords) -> bytes:
    text = json.dumps([sorted(words.code), sorted(words.prose), words.complete])
    return zlib.compress(text.encode(), level=1)


def _from_bytes(data: bytes | None) -> _TreeWords | None:
    """Cached words; None if there are none or they are damaged."""
    try:
        code, prose, complete = json.loads(zlib.decompress(data or b""))
        return _TreeWords(frozenset(code), frozenset(prose), complete=bool(complete))
    except (ValueError, TypeError, zlib.error):
        return None
