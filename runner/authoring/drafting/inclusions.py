"""What a file of C or C++ surely sees of another: by `#include`, whatever is configured.

A function of the repository may bear a name that the system declares too (`epoll_create1`): a file
that does not include the repository's own declaration calls the system's.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterable

from runner.authoring.drafting.syntax import Parsed

_LINE = re.compile(
    rb"^[ \t]*#[ \t]*(?:(?P<begin>if\w*)[ \t]+(?P<test>[^\n]*)|(?P<end>endif)\b|"
    rb"include[ \t]+[\"<](?P<file>[^\">\n]+)[\">]|define[ \t]+(?P<name>\w+))",
    re.M,
)


class Inclusions:
    def __init__(self, code: Iterable[Parsed]) -> None:
        read = [it for it in code if it.language in ("c", "cpp")]
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for parsed in read:
            self._by_name[posixpath.basename(parsed.path)].append(parsed.path)
        self._included = {it.path: self._files(it) for it in read}

    def _files(self, parsed: Parsed) -> set[str]:
        found = (self._meant(it, parsed.path) for it in included(parsed.source))
        return {it for it in found if it}

    def _meant(self, written: str, including: str) -> str:
        """The file beside it, or the only one whose path ends so; empty if it may be another's."""
        own = posixpath.normpath(posixpath.join(posixpath.dirname(including), written))
        alike = self._by_name[posixpath.basename(written)]
        bare = re.sub(r"^(?:\.\.?/)+", "", written)
        ending = [it for it in alike if f"/{it}".endswith(f"/{bare}")]
        if own in alike:
            return own
        return ending[0] if len(ending) == 1 else ""

    def sees(self, path: str, declaring: Collection[str]) -> bool:
        """Does a file include one of the others, through others too?"""
        known, waiting = {path}, [path]
        while waiting:
            if waiting[-1] in declaring:
                return True
            more = self._included.get(waiting.pop(), set()) - known
            known |= more
            waiting += more
        return False


def included(source: bytes) -> list[str]:
    """But for what stands under an `#if`; a header's own guard is none."""
    found: list[str] = []
    under: list[bytes] = []
    for hit in _LINE.finditer(source):
        if hit["begin"]:
            under.append(hit["test"].strip() if hit["begin"] == b"ifndef" else b"")
        elif hit["end"]:
            del under[-1:]
        elif hit["name"]:
            # `#ifndef SHOP_TILL_H`, `#define SHOP_TILL_H`: what follows is there once.
            under = [*under[:-1], b"guard"] if under and under[-1] == hit["name"] else under
        elif all(it == b"guard" for it in under):
            found.append(hit["file"].decode("utf-8", "replace"))
    return found
