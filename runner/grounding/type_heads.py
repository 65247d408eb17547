"""What each type of a commit names in its head: may a method of one be said of the other?

`class Shop(Desk):` says that `Shop.open` may be Desk's. A head is read as text, whatever the
language, and followed from name to name: two types of one name are taken together.
"""

from __future__ import annotations

import json
import re
import zlib
from functools import cached_property

from runner.grounding.cache import Cache
from runner.grounding.vocabulary import PROSE, sources_of
from runner.protocols import Files
from runner.support.errors import SourceError

_HEAD = re.compile(
    rb"^[ \t]{0,40}(?:(?:export|default|declare|public|private|protected|abstract|final|static"
    rb"|sealed)[ \t]+){0,5}(?:class|interface|enum|record|type)[ \t]+(?P<name>[A-Za-z_]\w{1,100})"
    rb"(?P<head>[^\n]{0,300})(?P<below>(?:\n[ \t]+[^\n]{0,100}){0,6})",
    re.M,
)
_ALONE = re.compile(rb"^[ \t]+\*?([\w.]+)[ \t]*[,({:)]*[ \t]*$", re.M)
"""A line below with one word: what Go embeds, or a long head goes on with."""
_WORD = re.compile(r"[A-Za-z_]\w+")
_MOST_KIN = 400
_FORMAT = "1"


class TypeHeads:
    """Of one commit, read when they are first asked for, and kept in the cache."""

    def __init__(self, files: Files, kept: Cache) -> None:
        self._files = files
        self._kept = kept

    def may_own(self, owner: str, holder: str | None) -> bool:
        """Can a method that stands in `holder`, None for no type, be one of `owner`?

        True wherever it is not known: of an owner that no file defines, a tree that is too large.
        """
        heads = self._heads
        if owner not in heads or (holder is not None and holder not in heads):
            return True
        return holder is not None and (holder in self._kin(owner) or owner in self._kin(holder))

    def _kin(self, name: str) -> set[str]:
        """The type, and what its head and theirs name."""
        kin, left = {name}, [name]
        while left and len(kin) < _MOST_KIN:
            further = self._heads.get(left.pop(), frozenset()) - kin
            kin |= further
            left += further & self._heads.keys()
        return kin

    @cached_property
    def _heads(self) -> dict[str, frozenset[str]]:
        key = f"heads {_FORMAT} {self._files.commit}"
        try:
            kept = json.loads(zlib.decompress(self._kept.get(key) or b""))
            return {name: frozenset(words) for name, words in kept.items()}
        except (ValueError, AttributeError, TypeError, zlib.error):
            heads = self._read()
        text = json.dumps({name: sorted(words) for name, words in heads.items()})
        self._kept.put(key, zlib.compress(text.encode(), level=1))
        return {name: frozenset(words) for name, words in heads.items()}

    def _read(self) -> dict[str, set[str]]:
        heads: dict[str, set[str]] = {}
        try:
            for path, source in sources_of(self._files):
                if path.lower().endswith(PROSE):
                    continue
                for found in _HEAD.finditer(source):
                    head = b" ".join([found["head"], *_ALONE.findall(found["below"])])
                    words = _WORD.findall(head.decode("utf-8", "replace"))
                    heads.setdefault(found["name"].decode(), set()).update(words)
        except SourceError:
            return {}
        return heads
