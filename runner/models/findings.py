"""What the offline navigator has seen: lines of files, out of tools' results."""

from __future__ import annotations

import re
from dataclasses import dataclass

from runner.grounding.rows import Row, rows_in

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

    def names(self, name: str) -> bool:
        return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.text) is not None


def findings_in(text: str) -> list[Finding]:
    """Every located line of a result: grep's, JSON's, or numbered lines below a file's name."""
    return [Finding(path=row.path, line=row.line, text=row.text) for row in rows_in(text)]
