"""What each type of a commit names in its head: may a method of one be said of the other?

`class Shop(Desk):` says that `Shop.open` may be Desk's. A head is read as text, whatever the
language, and followed from name to name: two types of one name are taken together.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from functools import cached_property
from itertools import chain

from runner.grounding.cache import Cache
from runner.grounding.language import GIVING_APART
from runner.grounding.vocabulary import PROSE, sources_of
from runner.protocols import Files
from runner.support.errors import SourceError

_HEAD = re.compile(
    rb"^[ \t]{0,40}(?:(?:export|default|declare|public|private|protected|abstract|final|static"
    rb"|sealed|unsafe|pub(?:\([^)\n]{1,30}\))?)[ \t]+){0,5}"
    rb"(?:class|interface|enum|record|type|struct|union|trait)[ \t]+(?P<name>[A-Za-z_]\w{1,100})"
    rb"(?P<head>[^\n]{0,300})(?P<below>(?:\n[ \t]+[^\n]{0,100}){0,6})",
    re.M,
)
_ALONE = re.compile(rb"^[ \t]+\*?([\w.]+)[ \t]*[,({:)]*[ \t]*$", re.M)
"""A line below with one word: what Go embeds, or a long head goes on with."""
_IMPL = re.compile(
    rb"^[ \t]{0,40}(?:(?:default|unsafe)[ \t]+)?impl\b(?P<head>[^\n{;]{1,300}"
    rb"(?:\n[^\n{;]{0,200}){0,6})\{(?=(?P<below>[^\n]{0,80}(?:\n[^\n}]{0,100}){0,2}))",
    re.M,
)
"""Of Rust: `impl<T> Read for Shop<T> {`, what a type is given apart from its head."""
_ARGUMENTS = re.compile(r"<[^<>]*>|\([^()]*\)")
_GIVEN = re.compile(
    r"(?P<trait>\w+)\s+for\b[\s&*]*(?:'\w+\s+)?(?:mut\s|dyn\s)?(?:\w+::)*(?P<type>[$\w]+)"
)
_TARGET = re.compile(r"\btype\s+Target\s*=([^;]+)")
"""What a smart pointer stands for, whose methods it has too."""
_ANY = ""
"""Whose head names the traits that are given to a parameter: any type may have their methods."""
_WORD = re.compile(r"[A-Za-z_]\w+")
_MOST_KIN = 400
_DEEPEST = 6
_FORMAT = "2"


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
        if holder is None:
            return False
        kin = self._kin(owner)
        return holder in kin or owner in self._kin(holder) or holder in heads.get(_ANY, ())

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
                for name, words in chain(_headed(source), _given(path, source)):
                    heads.setdefault(name, set()).update(words)
        except SourceError:
            return {}
        return heads


def _headed(source: bytes) -> Iterator[tuple[str, list[str]]]:
    for found in _HEAD.finditer(source):
        head = b" ".join([found["head"], *_ALONE.findall(found["below"])])
        yield found["name"].decode(), _WORD.findall(head.decode("utf-8", "replace"))


def _given(path: str, source: bytes) -> Iterator[tuple[str, list[str]]]:
    """The traits of a type, and what it stands for."""
    if not path.endswith(GIVING_APART):
        return
    for found in _IMPL.finditer(source):
        head, parameters = _plain(found["head"].decode("utf-8", "replace"))
        given = _GIVEN.search(head)
        if given is None:
            continue
        is_any = given["type"] in parameters or "$" in given["type"]
        yield _ANY if is_any else given["type"], [given["trait"]]
        if target := _TARGET.search(found["below"].decode("utf-8", "replace")):
            yield given["type"], _WORD.findall(target[1])


def _plain(head: str) -> tuple[str, set[str]]:
    """The head of an `impl` without the arguments of its types, and its own parameters."""
    parameters: set[str] = set()
    head = head.replace("->", " ")
    opens = head.lstrip().startswith("<")
    for _ in range(_DEEPEST):
        last, shorter = head, _ARGUMENTS.sub(" ", head)
        if shorter == head:
            break
        if opens and not shorter.lstrip().startswith("<"):
            own = last[: last.index(">") + 1]
            parameters, opens = set(re.findall(r"[<,]\s*(?:const\s+)?(\w+)", own)), False
        head = shorter
    return head, parameters
