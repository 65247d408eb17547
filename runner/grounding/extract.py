"""Text -> the citations it makes, as written. What they are worth is verify.py's business.

A document is cut into chunks (heading, list item, paragraph, table, fence, JSON), and each is read
for three things (inline.py): paths, lines, and the symbol that the same sentence or cell names.
Lines with no path of their own belong to the nearest path before them in their chunk, else to the
item, lead-in or heading above it, else to the file named last in the section.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from runner.grounding.commit_files import PathIndex
from runner.grounding.inline import paths_in, read_below, read_chunk
from runner.grounding.json_citations import read_json_citations
from runner.grounding.markdown_tables import is_rule, read_table
from runner.grounding.mentions import MOST_MENTIONS, ChunkMentions, Mention
from runner.grounding.owners import Above, Seen
from runner.grounding.word_lists import MUTE_FENCES, PROSE_FENCES

_FENCE = re.compile(r"[ \t>]*+(?P<mark>`{3,}+|~{3,}+)[ \t]*+(?P<info>[^`\n]*)\Z")
_HEADING = re.compile(r"[ \t>]*#{1,6}[ \t]+\S")
_ITEM = re.compile(r"(?P<indent>[ \t>]*)(?:[-*+•]|\d{1,3}[.)])[ \t]+")  # - x, 1. x, 2) x
_JSON_START = re.compile(
    r"""
    \s*(?:\[\s*)?\{\s*[\"}]  # {"file": …}, [{"file": …}], {}
  | \s*\[\s*[\"\[]           # ["src/app.py:3"], [[…]]
    """,
    re.X,
)
_CURSOR_FENCE = re.compile(r"(?P<start>\d{1,7}):(?P<end>\d{1,7}):(?P<path>\S.*)\Z")  # 42:60:app.py
_NUMBERED = re.compile(
    r"""
    [ \t>]*[-*+•][ \t]+ [`*_]{0,3}                        # - **
    (?P<lines>\d{1,7}(?:[-–]L?\d{1,7})?)                 # 42-60
    (?: [`*_]{0,3} (?: : | \s[—–-] ) \s                   # **: or a dash
      | \*\*\s | \s(?=`|\w{1,60}\()                       # ** the loop, `run`, run()
    )
    """,
    re.X,
)
_ROW = re.compile(
    r"""
    [ \t>│├└─|-]{0,12}+ (?P<lines>\d{1,6}(?:[-–]\d{1,6})?)  # 42-60
    (?: : (?!\d) | [ ]*[—–│|→] | [ ]{2,} | \t | [ ][A-Za-z_]\w{0,80}(?:[_(.]|[a-z][A-Z]) )
    """,
    re.X,
)
_LONGEST_TITLE = 400
_PROMPT = re.compile(r"[ \t]*(?:\$|❯|➜|PS>|>>>|%) ")
_TRACEBACK = re.compile(r"\s*File \"(?P<path>[^\"\n]+)\", line \d+")


class Extracted(NamedTuple):
    """What one text cites."""

    mentions: list[Mention]
    is_cut: bool
    """The text goes on after what is read of it, or is too long to be read as often as it asks."""


def extract(text: str, index: PathIndex) -> list[Mention]:
    """Every citation of a text, in order, repeats included.

    A file named without a line has start None. At most MOST_MENTIONS, the first ones, of the first
    MOST_CHUNKS pieces of the text.
    """
    return read_all(text, index).mentions


def read_all(text: str, index: PathIndex) -> Extracted:
    """The same, and whether there may be more."""
    seen = Seen(index)
    mentions = _read(text, index, seen)
    if again := seen.again():
        seen = again
        mentions = _read(text, index, seen)
    return Extracted(mentions[:MOST_MENTIONS], seen.is_cut or len(mentions) >= MOST_MENTIONS)


def _read(text: str, index: PathIndex, seen: Seen) -> list[Mention]:
    if _JSON_START.match(text):
        mentions = read_json_citations(text, index, Above(None, sure=False, seen=seen))
        if mentions is not None:
            return mentions
    return _Document(text, index, seen).read()


class _ListItem(NamedTuple):
    indent: int
    file: str | None
    """The first it names."""


class _Heading(NamedTuple):
    level: int
    file: str


@dataclass(slots=True)
class _FileScope:
    """Which file lines without one belong to, here; it changes as the document is read."""

    headings: list[_Heading] = field(default_factory=list)
    """Those around that name a file, the highest first."""
    lead: str | None = None
    """Of the paragraph that ends in a colon, or is a path, until the next paragraph."""
    items: list[_ListItem] = field(default_factory=list)
    """The enclosing list items, outermost first."""
    main: str | None = None
    """Which a paragraph or an item of the section begins with, the latest."""
    last: str | None = None

    def subject(self, indent: int) -> str | None:
        """What a chunk at this indent is about."""
        for item in reversed(self.items):
            if item.indent < indent and item.file:
                return item.file
        if self.lead or not self.headings:
            return self.lead
        return self.headings[-1].file

    def below(self, level: int) -> _FileScope:
        """The scope behind a heading."""
        headings = [heading for heading in self.headings if heading.level < level]
        return _FileScope(headings=headings, last=self.last)

    def leave_items(self, indent: int) -> None:
        """Those that a chunk at this indent ends."""
        while self.items and self.items[-1].indent >= indent:
            self.items.pop()

    @property
    def owns_numbers(self) -> bool:
        """Below a heading, a lead-in or an item, `- 42: parse` may begin with a line."""
        return bool(self.headings or self.lead or self.items)


class _Document:
    """Reads a text chunk by chunk: one method for each kind, which moves `at` past it."""

    def __init__(self, text: str, index: PathIndex, seen: Seen) -> None:
        self.lines = text.split("\n")
        self.index = index
        self.at = 0
        self.scope = _FileScope()
        self.seen = seen
        self.level = self.default_level = 0
        """Of the heading above, and of the one above what says whose lines without a file are."""
        self.mentions: list[Mention] = []

    def read(self) -> list[Mention]:
        count = len(self.lines)
        while self.at < count and len(self.mentions) < MOST_MENTIONS:
            self._read_next(self.lines[self.at])
        return self.mentions

    def _at_end(self) -> bool:
        return self.at >= len(self.lines)

    def _read_next(self, line: str) -> None:
        first = line.lstrip(" \t>")[:1]
        if not first:
            self.at += 1
        elif first in "`~" and (fence := _FENCE.match(line)):
            self._fence(fence)
        elif first == "#" and _HEADING.match(line):
            self._heading(line)
        elif "|" in line and self._at_table():
            self._table()
        elif first not in "{[" or not self._bare_json():
            self._paragraph(line)

    # headings, tables, JSON

    def _heading(self, line: str) -> None:
        """A heading that names a file owns the lines below it; any other ends that file's reach."""
        level = len(line.lstrip(" \t>")) - len(line.lstrip(" \t>#"))
        self._leave_sections(level)
        self.scope = self.scope.below(level)
        reading = self._read(line, self._above(0))
        self.scope = self.scope.below(level)
        # An answer about one file needs not name it again below each heading.
        if len(self.seen.paths) != 1:
            self.scope.last = None
        if reading.first_path:
            self.scope.headings.append(_Heading(level, reading.first_path))
        self.at += 1

    def _leave_sections(self, level: int) -> None:
        """What a section says of lines without a file ends with it."""
        if level <= self.default_level:
            self.seen.default = None
        self.level = level

    def _at_table(self) -> bool:
        if "|" not in self.lines[self.at] or self.at + 1 >= len(self.lines):
            return False
        return is_rule(self.lines[self.at + 1])

    def _table(self) -> None:
        rows = [self.lines[self.at]]
        self.at += 2
        while not self._at_end() and "|" in self.lines[self.at]:
            rows.append(self.lines[self.at])
            self.at += 1
        self.mentions += read_table(rows, self.index, self._above(0))
        self._go_on_from_latest()

    def _bare_json(self) -> bool:
        """JSON without a fence, up to the first blank line or fence; false if it is none."""
        if not _JSON_START.match(self.lines[self.at]):
            return False
        end = self._end_of_json()
        if not self._json("\n".join(self.lines[self.at : end])):
            return False
        self.at = end
        return True

    def _end_of_json(self) -> int:
        end = self.at
        while end < len(self.lines) and _continues_json(self.lines[end]):
            end += 1
        return end

    def _json(self, text: str) -> bool:
        """False if the text is no JSON."""
        mentions = read_json_citations(text, self.index, self._above(0))
        if mentions is None:
            return False
        self.mentions += mentions
        self._go_on_from_latest()
        return True

    # paragraphs and list items

    def _paragraph(self, line: str) -> None:
        item = _ITEM.match(line)
        text = self._paragraph_text()
        if _PROMPT.match(line):  # $ grep -n foo src/app.py:42
            return
        if item:
            self._list_item(text, len(item["indent"].expandtabs(4)))
        else:
            self._prose(text, len(line) - len(line.lstrip()))

    def _paragraph_text(self) -> str:
        begin = self.at
        self.at += 1
        while not self._at_end() and self._continues(self.lines[self.at]):
            self.at += 1
        return "\n".join(self.lines[begin : self.at])

    def _continues(self, line: str) -> bool:
        first = line.lstrip(" \t>")[:1]
        if not first or _ITEM.match(line) or _PROMPT.match(line):
            return False
        if first == "#" and _HEADING.match(line):
            return False
        if first in "`~" and _FENCE.match(line):
            return False
        return "|" not in line or not self._at_table()

    def _list_item(self, text: str, indent: int) -> None:
        self.scope.leave_items(indent)
        if self.scope.owns_numbers:
            text = _numbered_as_line(text)
        reading = self._read(text, self._above(indent))
        self.scope.items.append(_ListItem(indent, reading.first_path))

    def _prose(self, text: str, indent: int) -> None:
        self.scope.leave_items(indent)
        above = self._above(indent)
        reading = self._read(_rows_as_lines(text, self.index), above)
        if indent:
            return
        lead = None
        if text.rstrip(" *_").endswith(":"):  # "Inside the router (src/app.py):"
            lead = reading.last_path or self.scope.subject(indent)
        elif reading.paths and is_title(text, reading.paths):
            lead = reading.paths[-1]
        self.scope.lead = lead

    # fences

    def _fence(self, fence: re.Match[str]) -> None:
        info = fence["info"].strip()
        body = self._fence_body(fence["mark"])
        cursor = _CURSOR_FENCE.match(info)
        if cursor:
            self._cursor_fence(cursor)
            return
        language = re.split(r"[\s:{,]", info.lower(), maxsplit=1)[0]
        title = info[len(language) :].lstrip(":{, ")
        if title:  # ```python title="src/app.py:42"
            self._read(title, self._above(0))
        self._fenced(language, body)

    def _cursor_fence(self, cursor: re.Match[str]) -> None:
        """The fence's code is what stands at its lines, and cites nothing itself."""
        place = f"{cursor['path'].strip()}:{cursor['start']}-{cursor['end']}"
        self._keep(read_chunk(place, self.index, strict=True))

    def _fence_body(self, mark: str) -> list[str]:
        self.at += 1
        begin = self.at
        while not self._at_end() and not _closes(self.lines[self.at], mark):
            self.at += 1
        body = self.lines[begin : self.at]
        self.at += 1
        return body

    def _fenced(self, language: str, body: list[str]) -> None:
        if language in MUTE_FENCES:
            return
        text = "\n".join(body)
        if language.startswith("json") or (not language and _JSON_START.match(text)):
            if self._json(text):
                return
            language = "text"  # truncated, or with comments
        self._fenced_lines(body, strict=bool(language) and language not in PROSE_FENCES)

    def _fenced_lines(self, body: list[str], *, strict: bool) -> None:
        """`strict` for a code sample: `data[1:42]` must not become a line of the file above."""
        above = Above(None, sure=False, seen=self.seen)
        if not strict:
            above = self._above(0)
        for line in body:
            if len(self.mentions) >= MOST_MENTIONS:
                return
            if _PROMPT.match(line) or self._foreign_traceback(line):
                continue
            reading = self._fenced_line(line, above, strict=strict)
            if reading.last_path:
                above = Above(reading.last_path, sure=True, seen=self.seen)
            for mention in reading.mentions:
                if mention.start is not None or not strict:
                    self.mentions.append(mention)

    def _fenced_line(self, line: str, above: Above, *, strict: bool) -> ChunkMentions:
        if above.file and not strict:
            line = _row_as_line(line)
        return read_below(line, self.index, above, strict=strict)

    def _foreign_traceback(self, line: str) -> bool:
        """`File "/usr/lib/python3.11/json/decoder.py", line 355`: its line is of no file here."""
        frame = _TRACEBACK.match(line)
        return frame is not None and not paths_in(frame["path"], self.index)

    # what was named

    def _go_on_from_latest(self) -> None:
        latest = next(iter(self.seen.paths), None)
        self.scope.last = latest or self.scope.last

    def _above(self, indent: int) -> Above:
        """What stands above a chunk at this indent."""
        subject, main = self.scope.subject(indent), self.scope.main
        file = subject or main or self.scope.last
        is_main = main is not None and file == main
        return Above(file, sure=subject is not None, seen=self.seen, main=is_main)

    def _read(self, text: str, above: Above) -> ChunkMentions:
        return self._keep(read_below(text, self.index, above))

    def _keep(self, reading: ChunkMentions) -> ChunkMentions:
        self.mentions += reading.mentions
        if self.seen.default is None:
            self.default_level = self.level
        if reading.paths:
            self.scope.last = reading.paths[-1]
            self.scope.main = reading.lead or self.scope.main
        return reading


def _continues_json(line: str) -> bool:
    return bool(line.strip()) and not _FENCE.match(line)


def _closes(line: str, mark: str) -> bool:
    """A fence of ```` is closed by as many backticks or more, and by nothing else."""
    stripped = line.strip(" \t>")
    return len(stripped) >= len(mark) and not stripped.strip(mark[0])


def is_title(text: str, paths: Sequence[str]) -> bool:
    """A paragraph that is a path, and no sentence about it: `**app.py** (src/app.py)`."""
    if len(text) > _LONGEST_TITLE:
        return False
    for path in sorted(set(paths), key=len, reverse=True):
        text = text.replace(path, "")
    return re.search(r"\w", text) is None


def _rows_as_lines(text: str, index: PathIndex) -> str:
    """A path alone on its line, and numbered rows below it."""
    first, newline, rest = text.partition("\n")
    if not newline or not is_title(first, paths_in(first, index)):
        return text
    return newline.join((first, *map(_row_as_line, rest.split("\n"))))


def _row_as_line(text: str) -> str:
    """`  42: open_shop` below a path: the number is a line."""
    row = _ROW.match(text)
    if row is None:
        return text
    begin = row.start("lines")
    return f"{text[:begin]}L{text[begin:]}"


def _numbered_as_line(text: str) -> str:
    """`- 42-60: parse` under a heading that names the file: the number is a line."""
    numbered = _NUMBERED.match(text)
    if numbered is None:
        return text
    begin = numbered.start("lines")
    return f"{text[:begin]}L{text[begin:]}"
