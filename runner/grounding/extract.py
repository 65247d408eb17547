"""Text -> the citations it makes, as written. What they are worth is verify.py's business.

text → blocks (markdown_blocks.py, keyed.py) → what stands in each (text_tokens.py) → whose it is
(binding.py) → what it is called (mentions.py). All is found before anything is bound, so that lines
that stand without a path are told by every other place of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from typing import NamedTuple

from runner.grounding.binding import Above, Binder, KnownLines
from runner.grounding.commit_files import PathIndex
from runner.grounding.key_records import with_records
from runner.grounding.keyed import (
    Fragment,
    aliases_of_json,
    units_of_json,
    units_of_records,
    units_of_table,
)
from runner.grounding.markdown_blocks import TextBlock, blocks_of
from runner.grounding.mentions import MOST_MENTIONS, ChunkMentions, Mention, mentions_of, saying
from runner.grounding.naming import declared_name
from runner.grounding.patterns import ALIAS_DEFINED, ALIAS_SIGN
from runner.grounding.text_tokens import Piece, read_item, read_piece
from runner.grounding.tongues import may_be_unspaced, spaced, with_english_lines
from runner.grounding.word_lists import MUTE_FENCES, PROSE_FENCES
from runner.support.collecting import uncollected

MOST_PIECES = 120_000
"""Of a document: paragraphs, list items, cells, lines of fences. What goes on after that is no
answer."""
_JSON_START = re.compile(
    r"""
    \s*(?:\[\s*)?\{\s*[\"}]  # {"file": …}, [{"file": …}], {}
  | \s*\[\s*[\"\[]           # ["src/app.py:3"], [[…]]
    """,
    re.X,
)
_JSON_BEHIND = re.compile(r"\A(?P<said>[^\n{}\[\]]{0,200})(?P<json>[{\[].*)\Z", re.S)
_CURSOR_FENCE = re.compile(r"(?P<start>\d{1,7}):(?P<end>\d{1,7}):(?P<path>\S.*)\Z")  # 42:60:app.py
_COMMENT = re.compile(
    r"[ \t]*(?://|#|--|/\*|<!--|;)+[ \t]*[`(\[]?[\w./\\@-]+(?::|#L)\d[^ ]*[ \t*/>-]*\Z"
)
_ANSI = re.compile(r"\x1b\[[\d;]{0,12}m")
"""A terminal's colours, as a search prints them."""
_LINE_ALONE = re.compile(r"\W{0,6}[Ll]ines?\W{1,6}\d{1,6}(?:[-–]\d{1,6})?\W{0,4}")
_LONGEST_TITLE = 400
_MOST_SHORT_NAMES = 5_000


class Extracted(NamedTuple):
    """What one text cites."""

    mentions: list[Mention]
    is_cut: bool
    """The text goes on after what is read of it."""


def extract(text: str, index: PathIndex) -> list[Mention]:
    """Every citation of a text, in order, repeats included.

    A file named without a line has start None. At most MOST_MENTIONS, the first ones, of the first
    MOST_PIECES pieces of the text.
    """
    return read_all(text, index).mentions


def read_all(text: str, index: PathIndex) -> Extracted:
    """The same, and whether there may be more."""
    with uncollected():
        return _read_all(text, index)


def _read_all(text: str, index: PathIndex) -> Extracted:
    parts = list(
        islice(_parts_of(_in_full(with_english_lines(text), index), index), MOST_PIECES + 1)
    )
    is_cut = len(parts) > MOST_PIECES
    mentions = list(islice(_Document(parts[:MOST_PIECES], index).mentions(), MOST_MENTIONS))
    return Extracted(mentions, is_cut or len(mentions) >= MOST_MENTIONS)


def read_chunk(
    text: str, index: PathIndex, inherited: str | None = None, *, strict: bool = False
) -> ChunkMentions:
    """The citations of one piece of text; `inherited`: the file that lines without one belong to;
    `strict` takes `path:line` alone.
    """
    piece = read_piece(text, index, strict=strict)
    return _bound(piece, Above(inherited), KnownLines(index, [piece]), strict=strict)


def _bound(piece: Piece, above: Above, known: KnownLines, *, strict: bool = False) -> ChunkMentions:
    binder = Binder(piece, above, known)
    mentions = mentions_of(piece.text, binder.bind(), strict=strict)
    return ChunkMentions(mentions, binder.paths, binder.lead)


# --- short names --------------------------------------------------------------------------------


def _in_full(text: str, index: PathIndex) -> str:
    """Short names that the text itself explains, as what they stand for: `RTAF = a/b.java`."""
    if may_be_unspaced(text) and not any(map(may_be_unspaced, index.paths)):
        text = spaced(text)
    text = _with_notes(_ANSI.sub("", text))
    short = short_names(text, index)
    if short is None:
        return text
    return short.pattern.sub(lambda found: short.paths[found[0]], text, count=_MOST_SHORT_NAMES)


class ShortNames(NamedTuple):
    """What a text calls some files, for short."""

    pattern: re.Pattern[str]
    """Of their uses, not of the places that explain them."""
    paths: dict[str, str]


def short_names(text: str, index: PathIndex) -> ShortNames | None:
    names: dict[str, str] = {}
    if ALIAS_SIGN.search(text):
        names = {found["alias"]: found["path"] for found in ALIAS_DEFINED.finditer(text)}
    if _JSON_START.match(text):
        names |= aliases_of_json(text, index)
    names = {name: path for name, path in names.items() if index.holds(path)}
    if not names:
        return None
    either = "|".join(map(re.escape, names))
    # A letter by itself is a word: `C` is a language, `C:490` a place.
    longer = "|".join(re.escape(name) for name in names if len(name) > 1) or r"(?!)"
    uses = (
        rf"(?<![\w./-])(?:(?:{either})(?=[@:#]+L?\d)"
        rf"|(?:{longer})\b(?!\s?(?:=|:=|≙|→)|[\w./\"-]))"
    )
    return ShortNames(re.compile(uses), names)


def _with_notes(text: str) -> str:
    """Marks of footnotes and numbered references, as the places that these give."""
    notes = list(_NOTE.finditer(text))
    if not notes:
        return text
    places = {note["mark"]: note["place"] for note in notes}
    # Behind a bullet it stands like a reference to itself: of `- [x] a.py:3` nothing would be left.
    own = {note.start("mark") for note in notes}
    either = "|".join(map(re.escape, places))
    marks = re.compile(rf"(?<=\S)[ ]?\[(?P<mark>{either})\](?![:(\[])")
    used = set()

    def in_place(mark: re.Match[str]) -> str:
        if mark.start("mark") in own:
            return mark[0]
        used.add(mark["mark"])
        return f" ({places[mark['mark']]})"

    text = marks.sub(in_place, text, count=_MOST_SHORT_NAMES)
    # A note that says nothing else would cite its place a second time.
    return _NOTE.sub(
        lambda note: "" if note["alone"] is not None and note["mark"] in used else note[0], text
    )


_NOTE = re.compile(
    r"""
    ^[ \t>]{0,6}(?:[-*][ ])? \[(?P<mark>\^?[\w-]{1,20})\]:? [ \t]{1,4} `?
    (?P<place>[^\s`]{1,200}(?::|\#L?)\d[^\s`,;]{0,20}?) (?=[.,;:]?(?:`|\s|\Z))  # [^1]: src/app.py:3
    (?P<alone> [`.]{0,2} [ \t]{0,9} $)?
    """,
    re.X | re.M,
)

# --- parts --------------------------------------------------------------------------------------


class _DocPart(NamedTuple):
    """A block, or a part of one, and what stands in it."""

    kind: str
    unit: Fragment
    level: int = 0
    strict: bool = False


def _parts_of(text: str, index: PathIndex) -> Iterator[_DocPart]:
    if _JSON_START.match(text):
        units = units_of_json(text, index)
        if units is not None:
            yield from _parts_of_units(units, index)
            return
    for block in with_records(blocks_of(text)):
        yield from _parts_of_block(block, index)


def _parts_of_units(units: list[Fragment], index: PathIndex) -> Iterator[_DocPart]:
    for unit in units:
        if "\n" in unit.written and not unit.lines:  # a whole document in a string
            yield from _parts_of(unit.written, index)
        else:
            yield _DocPart("cell", unit)
    yield _DocPart("end", Fragment())


def _parts_of_block(block: TextBlock, index: PathIndex) -> Iterator[_DocPart]:
    if block.kind == "table":
        yield from (_DocPart("cell", unit) for unit in units_of_table(block.rows, index))
        yield _DocPart("end", Fragment())
    elif block.kind == "records":
        yield from _parts_of_units(units_of_records(block.records, index), index)
    elif block.kind == "fence":
        yield from _parts_of_fence(block, index)
    elif "{" in block.text and (found := _json_in(block.text, index)):
        said, units = found
        yield _DocPart("paragraph", Fragment(read_piece(said, index)), block.level)
        yield from _parts_of_units(units, index)
    else:
        read = read_item if block.kind == "item" else read_piece
        yield _DocPart(block.kind, Fragment(read(block.text, index)), block.level)


def _json_in(text: str, index: PathIndex) -> tuple[str, list[Fragment]] | None:
    """JSON without a fence, and what is said before it."""
    found = _JSON_BEHIND.match(text)
    if not found or not _JSON_START.match(found["json"]):
        return None
    units = units_of_json(found["json"], index)
    return None if units is None else (found["said"], units)


def _parts_of_fence(block: TextBlock, index: PathIndex) -> Iterator[_DocPart]:
    if cursor := _CURSOR_FENCE.match(block.info):
        # The fence's code is what stands at its lines, and cites nothing itself.
        place = f"{cursor['path'].strip()}:{cursor['start']}-{cursor['end']}"
        yield _DocPart("paragraph", Fragment(read_piece(place, index, strict=True)), block.level)
        return
    language = re.split(r"[\s:{,]", block.info.lower(), maxsplit=1)[0]
    title = block.info[len(language) :].lstrip(":{, ")
    if title:  # ```python title="src/app.py:42"
        yield _DocPart("line", Fragment(read_piece(title, index)))
    if language in MUTE_FENCES:
        return
    if language.startswith("json") or (not language and _JSON_START.match(block.text)):
        units = units_of_json(block.text, index)
        if units is not None:
            yield from _parts_of_units(units, index)
            return
        language = "text"  # truncated, or with comments
    strict = bool(language) and language not in PROSE_FENCES
    lines = [line for line in block.text.split("\n") if line.strip()]
    for line, following in zip_longest(lines, lines[1:], fillvalue=""):
        unit = Fragment(read_piece(line, index, strict=strict))
        # A place alone on its line, above what stands there: `# src/app.py:30`, `def open():`.
        if strict and _COMMENT.match(line):
            unit = unit._replace(symbol=declared_name(following))
        yield _DocPart("line", unit, strict=strict)
    yield _DocPart("end", Fragment())


# --- whose lines --------------------------------------------------------------------------------


class _ListItem(NamedTuple):
    level: int
    file: str | None
    """The first it names."""


class _Heading(NamedTuple):
    level: int
    file: str


@dataclass(slots=True)
class _Scope:
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
    line: str | None = None
    """Of the lines of a fence: the file named last."""

    def subject(self, level: int) -> str | None:
        """What a part of this level is about."""
        for item in reversed(self.items):
            if item.level < level and item.file:
                return item.file
        if self.lead or not self.headings:
            return self.lead
        return self.headings[-1].file

    def above(self, level: int) -> Above:
        subject = self.subject(level)
        file = subject or self.main or self.last
        return Above(file, subject is not None, self.main is not None and file == self.main)


class _Document:
    """Binds the parts of a text, one after another."""

    def __init__(self, parts: Sequence[_DocPart], index: PathIndex) -> None:
        self.parts = parts
        self.known = KnownLines(index, (part.unit.piece for part in parts))
        self.scope = _Scope()
        self.default_level = 0
        """Of the heading below which the text says whose lines without a file are."""
        self.level = 0
        self.following: _DocPart | None = None

    def mentions(self) -> Iterator[Mention]:
        for part, following in zip_longest(self.parts, self.parts[1:]):
            self.following = following
            yield from _READERS[part.kind](self, part)

    def _bind(self, part: _DocPart, above: Above) -> ChunkMentions:
        had_default = self.known.default
        found = _bound(part.unit.piece, above, self.known, strict=part.strict)
        if self.known.default != had_default:
            self.default_level = self.level
        if found.paths:
            self.scope.last = found.paths[-1]
            self.scope.main = found.lead or self.scope.main
        return found

    def _heading(self, part: _DocPart) -> list[Mention]:
        """A heading that names a file owns the lines below it; any other ends that file's reach."""
        if part.level <= self.default_level:
            self.known.default = None
        self.level = part.level
        headings = [one for one in self.scope.headings if one.level < part.level]
        # An answer about one file needs not name it again below each heading.
        last = self.scope.last if len(self.known.paths) == 1 else None
        self.scope = _Scope(headings, last=self.scope.last)
        found = self._bind(part, self.scope.above(0))
        self.scope = _Scope(headings, last=self.scope.last if found.paths else last)
        if found.paths:
            headings.append(_Heading(part.level, found.paths[0]))
        return found.mentions

    def _item(self, part: _DocPart) -> list[Mention]:
        self._leave_items(part.level)
        above = Above(self._file_below(part), sure=True)
        found = self._bind(part, above if above.file else self.scope.above(part.level))
        self.scope.items.append(_ListItem(part.level, found.first_path))
        return found.mentions

    def _file_below(self, part: _DocPart) -> str | None:
        """`- File: src/app.py` right below `- Line: 42`."""
        after = self.following
        if after is None or (after.kind, after.level) != ("item", part.level):
            return None
        own, tokens = part.unit.piece, after.unit.piece.tokens
        is_line = _LINE_ALONE.fullmatch(own.text) is not None
        is_file = len(tokens) == 1 and bool(tokens[0].path) and not tokens[0].lines
        return tokens[0].path if is_line and is_file else None

    def _paragraph(self, part: _DocPart) -> list[Mention]:
        self._leave_items(part.level + 1)
        found = self._bind(part, self.scope.above(part.level + 1))
        if part.level:
            return found.mentions
        text, lead = part.unit.piece.text, None
        if text.rstrip(" *_").endswith(":"):  # "Inside the router (src/app.py):"
            lead = found.last_path or self.scope.subject(0)
        elif found.paths and _is_title(text, found.paths):
            lead = found.paths[-1]
        self.scope.lead = lead
        return found.mentions

    def _line(self, part: _DocPart) -> list[Mention]:
        """Of a fence: what one line names, the next ones are about."""
        above = Above(self.scope.line, sure=self.scope.line is not None)
        if self.scope.line is None and not part.strict:
            above = self.scope.above(9)
        found = self._bind(part, above)
        self.scope.line = found.last_path or self.scope.line
        if not part.strict:
            return found.mentions
        mentions = [one for one in found.mentions if one.start is not None]
        if part.unit.symbol:
            return [one._replace(symbol=part.unit.symbol, certain=False) for one in mentions]
        return mentions

    def _end(self, part: _DocPart) -> list[Mention]:  # noqa: ARG002 - as its neighbours
        self.scope.line = None
        self.scope.last = self.known.latest or self.scope.last
        return []

    def _cell(self, part: _DocPart) -> Iterator[Mention]:
        unit, above = part.unit, self.scope.above(9)
        if unit.file:
            above = Above(unit.file, sure=True)
        if unit.lines and above.file:
            self.known.name(above.file)
            yield from _of_lines(unit, above.file)
        if not unit.piece.tokens:
            return
        main = self.scope.main
        found = self._bind(part, above)
        self.scope.main = main
        yield from saying(unit.said, _with_symbol(unit, found.mentions))

    def _leave_items(self, level: int) -> None:
        while self.scope.items and self.scope.items[-1].level >= level:
            self.scope.items.pop()


_READERS: dict[str, Callable[[_Document, _DocPart], Iterable[Mention]]] = {
    "heading": _Document._heading,
    "item": _Document._item,
    "paragraph": _Document._paragraph,
    "line": _Document._line,
    "cell": _Document._cell,
    "end": _Document._end,
}
"""By the kind of a part."""


def _of_lines(unit: Fragment, file: str) -> Iterator[Mention]:
    """`{"file": "a.py", "line": 42}`: lines, and nothing else."""
    for start, end in unit.lines:
        yield Mention(
            written=unit.written,
            path=file,
            start=start,
            end=end,
            symbol=unit.symbol,
            weak=unit.weak,
            loose=unit.loose,
            tied="own" if unit.file else "context",
            guess=unit.guess,
            group=len(unit.lines) - 1,
            said=unit.said,
            beside=unit.said,
        )


def _with_symbol(unit: Fragment, mentions: list[Mention]) -> list[Mention]:
    """A text that begins with a place is of the symbol that its row, object or key names."""
    if unit.symbol is None or not mentions:
        return mentions
    first, text = mentions[0], unit.piece.text.lstrip("`*_( ")
    if first.start is None or first.symbol is not None or not text.startswith(first.written[:12]):
        return mentions
    # `runs a.py:3` in a cell speaks of more than the row's symbol.
    if unit.in_cell and len(text.strip("`*_ ()")) > len(first.written) + 2:
        return mentions
    named = first._replace(symbol=unit.symbol, weak=unit.weak, loose=unit.loose)
    return [named, *mentions[1:]]


def _is_title(text: str, paths: Sequence[str]) -> bool:
    """A paragraph that is a path, and no sentence about it: `**app.py** (src/app.py)`."""
    if len(text) > _LONGEST_TITLE:
        return False
    for path in sorted(set(paths), key=len, reverse=True):
        text = text.replace(path, "")
    return re.search(r"\w", text) is None
