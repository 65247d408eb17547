"""What the offline navigator has seen: lines of files, out of tools' results."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from runner.agents.models.offline.rows import Row, rows_in

_MODIFIER = (
    r"(?:export\s+|default\s+|pub(?:\([^)]*\))?\s+|public\s+|private\s+|protected\s+"
    r"|static\s+|async\s+|abstract\s+|final\s+|unsafe\s+|const\s+)"
)
_DEFINES = re.compile(
    rf"""
    ^\s*
    {_MODIFIER}*                     # export default async
    (?:
        def | class | func | fn | function | interface | type | struct | enum | trait | module
        | \#\s*define
        | const | let | var | object | namespace | macro_rules!
    )\b
    """,
    re.VERBOSE,
)
_BETWEEN = (
    r"(?:"
    r"[\w*&<>\[\]]+\s+"  # impl<T> Name
    r"|\([^)]*\)\s*"  # func (e *Engine) Name
    r")?[*&]?"
)
_IMPORTS = re.compile(
    r"^\s*(?:from\s+\S+\s+import|(?:pub\s+)?use|import|using|#\s*include|require(?:_once)?)\b"
)
_TEST_PATH = re.compile(r"(^|[/_.])(tests?|spec|__tests__)([/_.]|$)")
_PROSE_PATH = re.compile(
    r"\.(md|rst|txt|html?|json|lock|ya?ml|toml)$"  # README.md, package-lock.json
    r"|(^|/)(docs?|changelog)/"  # docs/conf.py
)


@dataclass(frozen=True, kw_only=True)
class Finding(Row):
    """One line seen in a tool's result."""

    @property
    def in_tests(self) -> bool:
        return _TEST_PATH.search(self.path) is not None

    @property
    def in_prose(self) -> bool:
        return _PROSE_PATH.search(self.path.lower()) is not None

    def defines(self, name: str) -> bool:
        """Is it a keyword that defines, with this name next after it, or a C function's head?"""
        word = re.escape(name)
        keyword = _DEFINES.match(self.text)
        if keyword:
            after = self.text[keyword.end() :].lstrip()
            return re.match(rf"{_BETWEEN}{word}(?!\w)", after) is not None
        return re.match(rf"[A-Za-z_][\w \t*]*\b{word}\s*\([^;]*$", self.text) is not None

    def uses(self, name: str) -> bool:
        """It names it, and neither defines nor imports it."""
        return self.names(name) and not self.defines(name) and not self.imports

    @property
    def imports(self) -> bool:
        return _IMPORTS.match(self.text) is not None

    def names(self, name: str) -> bool:
        # A cell asks this a quarter of a million times, and most lines lack the very letters.
        if name not in self.text:
            return False
        return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.text) is not None


def findings_in(text: str) -> list[Finding]:
    """Every located line of a result: grep's, JSON's, or numbered lines below a file's name."""
    return [Finding(path=row.path, line=row.line, text=row.text) for row in rows_in(text)]


# --- a file as it stands --------------------------------------------------------------------------

_TELLING = 8
"""Characters of a line that tells where a text begins."""
_NUMBER = re.compile(r"^\s*\d+\s*[:|│→\t]\s?")


def lines_of_file(text: str, path: str, seen: Sequence[Finding]) -> list[Finding]:
    """The lines of a text that is a piece of a file, numbered by those seen elsewhere.

    A reader's answer often has no numbers, or its own: it is placed by the lines that other results
    have shown of the file, and none is made up where those do not agree.
    """
    known = {f.text.strip(): f.line for f in seen if f.path == path}
    for shown in _contents(text):
        lines = [_NUMBER.sub("", line) for line in shown.split("\n")]
        first = _first_line(lines, known)
        if first is not None:
            numbered = enumerate(lines, first)
            return [Finding(path=path, line=n, text=t) for n, t in numbered if n > 0 and t.strip()]
    return []


def _first_line(lines: Iterable[str], known: dict[str, int]) -> int | None:
    """Number of the first line, as most of the known ones have it; None if they disagree."""
    votes = Counter(
        known[line.strip()] - place
        for place, line in enumerate(lines)
        if len(line.strip()) >= _TELLING and line.strip() in known
    )
    ((first, agree),) = votes.most_common(1) or [(0, 0)]
    return first if agree > sum(votes.values()) / 2 and agree > 1 else None


def _contents(text: str) -> Iterator[str]:
    """The text, or those in its JSON that have lines."""
    try:
        values = [json.loads(text)]
    except (ValueError, RecursionError):
        yield text
        return
    while values:
        value = values.pop()
        if isinstance(value, str) and "\n" in value:
            yield value
        elif isinstance(value, dict):
            values += value.values()
        elif isinstance(value, list):
            values += value
