"""The words of each line of a source, compared as a reader compares them: by their parts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property

_WORD = re.compile(r"[^\W\d]\w{1,99}")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")


def snake_case(name: str) -> str:
    """`_bad_request_` of `BadRequest`, `BAD_REQUEST` and `bad_request`."""
    return f"_{'_'.join(_PART.findall(name)).lower()}_"


class LineWords:
    """The words of one line, each once: a minified file's one line is asked for every citation."""

    def __init__(self, text: str) -> None:
        forms: dict[str, set[str]] = defaultdict(set)
        for word in set(_WORD.findall(text)):
            forms[snake_case(word)].add(word)
        self._forms: Mapping[str, set[str]] = dict(forms)
        self._joined = "\n".join(forms)

    def has_form(self, form: str, name: str) -> bool:
        """True if another word than `name` has the form."""
        return bool(self._forms.get(form, set()) - {name})

    def has_within(self, form: str) -> bool:
        """True if the form is part of a longer one."""
        return self._joined.count(form) > (form in self._forms)


class NearWords:
    """The lines of one source, each read when it is first asked for."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._read: dict[int, LineWords] = {}

    def on(self, start: int, end: int) -> Iterator[LineWords]:
        """Lines from 1, both ends included; those outside of the source are left out."""
        for line in range(max(1, start), min(end, len(self._lines)) + 1):
            if line not in self._read:
                self._read[line] = LineWords(self._lines[line - 1].decode("utf-8", "replace"))
            yield self._read[line]

    @cached_property
    def _lines(self) -> list[bytes]:
        return self._source.split(b"\n")
