"""Text -> the citations it makes, as written. What they are worth is verify.py's business.

A document is cut into chunks (heading, list item, paragraph, table, fence, JSON), and each chunk is read for three things: paths, lines,
and the symbol that the same sentence or cell names (inline.py). Lines with no path of their own belong to the nearest path before them in
their chunk, else to the item, lead-in or heading above it, else to the file named last in the section.

Every pattern is linear: a repeat is bounded or possessive, and none can start inside its own match.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from runner.grounding.files import PathIndex
from runner.grounding.inline import MOST_CANDIDATES, Reading, read_chunk
from runner.grounding.mentions import Mention
from runner.grounding.structured import is_rule, paths_in, read_json, read_table
from runner.grounding.words import MUTE_FENCES, PROSE_FENCES

_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})[ \t]*([^`\n]*)\Z")
_HEADING = re.compile(r"[ \t>]*#{1,6}[ \t]+\S")
_ITEM = re.compile(r"([ \t>]*)(?:[-*+•]|\d{1,3}[.)])[ \t]+")
_JSON_START = re.compile(r"\s*(?:\[\s*)?\{\s*[\"}]|\s*\[\s*[\"\[]")
_CURSOR_FENCE = re.compile(r"(\d{1,7}):(\d{1,7}):(\S.*)\Z")
_NUMBERED = re.compile(
    r"[ \t>]*[-*+•][ \t]+[`*_]{0,3}(\d{1,7}(?:[-–]L?\d{1,7})?)[`*_]{0,3}(?::|\s[—–-])\s"
)
_PROMPT = re.compile(r"[ \t]*(?:\$|❯|➜|PS>|>>>|%) ")
_TRACEBACK = re.compile(r"\s*File \"(?P<path>[^\"\n]+)\", line \d+")


def extract(text: str, index: PathIndex) -> list[Mention]:
    """Every citation of a text, in order, repeats included; a file named without a line has start None."""
    if _JSON_START.match(text):
        whole = read_json(text, index)
        if whole is not None:
            return whole
    return _Document(text, index).read()


@dataclass(kw_only=True)
class _Scope:
    """Which file lines without one belong to."""

    heading: str | None = None
    lead: str | None = None
    """Of the paragraph that ends in a colon, until the next paragraph."""
    items: list[tuple[int, str | None]] = field(default_factory=list)
    """Indent and first file of each enclosing list item."""
    last: str | None = None

    def inherited(self, indent: int) -> str | None:
        above = next(
            (file for depth, file in reversed(self.items) if depth < indent and file), None
        )
        return above or self.lead or self.heading or self.last


class _Document:
    def __init__(self, text: str, index: PathIndex) -> None:
        self.lines = text.split("\n")
        self.index, self.at = index, 0
        self.scope, self.found = _Scope(), list[Mention]()
        self.named: list[str] = []
        """Paths named so far, the latest last."""

    def read(self) -> list[Mention]:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            stripped = line.lstrip(" \t>")
            if not stripped:
                self.at += 1
            elif stripped[0] in "`~" and (fence := _FENCE.match(line)):
                self._fence(fence)
            elif stripped[0] == "#" and _HEADING.match(line):
                self._heading(line)
            elif "|" in line and self.at + 1 < len(self.lines) and is_rule(self.lines[self.at + 1]):
                self._table()
            elif stripped[0] in "{[" and _JSON_START.match(line) and self._bare_json():
                pass
            else:
                self._paragraph(line)
        return self.found

    # one method per kind of chunk; each moves self.at past it

    def _heading(self, line: str) -> None:
        """A heading that names a file owns the lines below it; any other ends the reach of the file before it."""
        reading = self._keep(read_chunk(line, self.index))
        self.scope = _Scope(
            heading=reading.first_path, last=self.scope.last if len(self.named) == 1 else None
        )
        self.at += 1

    def _table(self) -> None:
        rows = [self.lines[self.at]]
        self.at += 2
        while (
            self.at < len(self.lines) and "|" in self.lines[self.at] and self.lines[self.at].strip()
        ):
            rows.append(self.lines[self.at])
            self.at += 1
        self.found += read_table(rows, self.index, self.scope.inherited(0))

    def _paragraph(self, line: str) -> None:
        item = _ITEM.match(line)
        indent = len(item[1].expandtabs(4)) if item else len(line) - len(line.lstrip())
        chunk = [line]
        self.at += 1
        while self.at < len(self.lines) and self._goes_on(self.lines[self.at]):
            chunk.append(self.lines[self.at])
            self.at += 1
        text = "\n".join(chunk)
        if _PROMPT.match(line):
            return
        if item:
            while self.scope.items and self.scope.items[-1][0] >= indent:
                self.scope.items.pop()
        else:
            self.scope.items = [(depth, file) for depth, file in self.scope.items if depth < indent]
        inherited = self.scope.inherited(indent)
        text = (
            _numbered_as_line(text)
            if item and (self.scope.heading or self.scope.lead or self.scope.items)
            else text
        )
        reading = self._keep(read_chunk(text, self.index, inherited))
        if item:
            self.scope.items.append((indent, reading.first_path))
        elif not indent:
            self.scope.lead = (
                (reading.last_path or inherited) if text.rstrip(" *_").endswith(":") else None
            )

    def _goes_on(self, line: str) -> bool:
        stripped = line.lstrip(" \t>")
        if not stripped or _ITEM.match(line) or _HEADING.match(line) or _PROMPT.match(line):
            return False
        if stripped[0] in "`~" and _FENCE.match(line):
            return False
        return not (
            "|" in line and self.at + 1 < len(self.lines) and is_rule(self.lines[self.at + 1])
        )

    def _bare_json(self) -> bool:
        """JSON that stands in the text without a fence, up to the first blank line or fence."""
        end = self.at
        while (
            end < len(self.lines) and self.lines[end].strip() and not _FENCE.match(self.lines[end])
        ):
            end += 1
        found = read_json("\n".join(self.lines[self.at : end]), self.index, self.scope.inherited(0))
        if found is None:
            return False
        self.found += found
        self.at = end
        return True

    def _fence(self, fence: re.Match[str]) -> None:
        mark, info = fence[1], fence[2].strip()
        self.at += 1
        begin = self.at
        while self.at < len(self.lines) and not self._closes(self.lines[self.at], mark):
            self.at += 1
        body = self.lines[begin : self.at]
        self.at += 1
        cursor = _CURSOR_FENCE.match(info)
        if cursor:
            self._keep(
                read_chunk(f"{cursor[3].strip()}:{cursor[1]}-{cursor[2]}", self.index, strict=True)
            )
            return
        word = re.split(r"[\s:{,]", info.lower(), maxsplit=1)[0]
        if len(info) > len(word):
            self._keep(
                read_chunk(info[len(word) :].lstrip(":{, "), self.index, self.scope.inherited(0))
            )
        self._fenced(word, body)

    def _closes(self, line: str, mark: str) -> bool:
        stripped = line.strip(" \t>")
        return len(stripped) >= len(mark) and not stripped.strip(mark[0])

    def _fenced(self, word: str, body: list[str]) -> None:
        if word in MUTE_FENCES:
            return
        text = "\n".join(body)
        if word.startswith("json") or (not word and _JSON_START.match(text)):
            found = read_json(text, self.index, self.scope.inherited(0))
            if found is not None:
                self.found += found
                return
            word = "text"
        strict = bool(word) and word not in PROSE_FENCES
        inherited = None if strict else self.scope.inherited(0)
        for line in body:
            if _PROMPT.match(line) or self._foreign_traceback(line):
                continue
            reading = read_chunk(line, self.index, inherited, strict=strict)
            inherited = reading.last_path or inherited
            self.found += [m for m in reading.mentions if m.start is not None or not strict]

    def _foreign_traceback(self, line: str) -> bool:
        frame = _TRACEBACK.match(line)
        return bool(frame) and not paths_in(frame["path"], self.index) if frame else False

    def _keep(self, reading: Reading) -> Reading:
        known = self.named[::-1]
        self.found += [
            replace(m, others=tuple(dict.fromkeys((*m.others, *known)))) if m.tied != "own" else m
            for m in reading.mentions
        ]
        paths = list(dict.fromkeys(reading.paths))
        self.named = [*(path for path in self.named if path not in paths), *paths][
            -MOST_CANDIDATES:
        ]
        self.scope.last = reading.last_path or self.scope.last
        return reading


def _numbered_as_line(text: str) -> str:
    """`- 42-60: parse` under a heading that names the file: the number is a line."""
    numbered = _NUMBERED.match(text)
    return f"{text[: numbered.start(1)]}L{text[numbered.start(1) :]}" if numbered else text
