"""One chunk of text: the paths that it names, and the citations found so far."""

from __future__ import annotations

import re

from runner.grounding.commit_files import PathIndex
from runner.grounding.links import MaskedText
from runner.grounding.mentions import Cite
from runner.grounding.naming import symbol_of
from runner.grounding.owners import Above, Owner, Owners
from runner.grounding.paths import clean_path
from runner.grounding.patterns import (
    ADJACENT,
    ALIAS_BEFORE,
    CALLED,
    COUNTED,
    DEFAULT_AFTER,
    DEFAULT_BEFORE,
    DIRECT,
    EVENT,
    IN_BRACKET,
    MEMBER,
    NEXT,
    OF,
    OF_SAME_FILE,
    QUALIFIED,
    SPACED,
    LineRange,
    intervals,
)
from runner.grounding.word_lists import FILE_NAMES, HTTP_CODES, PORTS

_AT_LINE = re.compile(r"@(?=[Ll]?\d+\Z|\Z)")


class Chunk:
    """What is found in a chunk while it is read from left to right."""

    def __init__(
        self, text: str, masked: MaskedText, index: PathIndex, above: Above, *, strict: bool
    ) -> None:
        self.original = text
        self.text = masked.text
        """With blanks for commands, links and URLs."""
        self.spans = masked.spans
        self.index = index
        self.strict = strict
        self.seen = above.seen
        self.owners = Owners(masked.text, above)
        self.paths: list[str] = []
        """Named so far."""
        self.pending: list[Cite] = []
        """Lines with no file yet."""
        self.cites: list[Cite] = []
        self.listed: Cite | None = None
        """The last citation with lines; `sure`: the last of them that is no guess. Looked for each
        time, they would take quadratic time."""
        self.sure: Cite | None = None
        self._behind: tuple[int, re.Match[str] | None] = (-1, None)
        """The lines behind a place, the last that was looked at."""
        self._ahead: tuple[tuple[int, int], re.Match[str] | None] = ((-1, -1), None)
        """The same of the event between two places: most are asked for twice."""

    def _take_path(self, event: re.Match[str]) -> int | None:
        """Cite it, if it is one; returns the end of what belongs to it."""
        path = self._path_of(event)
        if path is None:
            return None
        begin = event.start("path") + event["path"].find(path)
        close = begin + len(path)
        path = self.index.with_blanks(path, self.text, close)
        begin = close - len(path)
        if self.pending:
            self._settle(path, begin)
        return self._cite_path(path, begin, close)

    def _path_of(self, event: re.Match[str]) -> str | None:
        direct = self._direct(event)
        if self._before(event, 1) == "…":  # …/adapters/standalone.ts
            return clean_path(event["path"].lstrip("/"), self.index, has_line=bool(direct))
        has_line = bool(direct) or self._line_follows(event.end())
        token = event["path"]
        if direct and direct.start() < event.end():  # a.py@42
            token = token[: direct.start() - event.start("path")]
        path = clean_path(token, self.index, has_line=has_line)
        if path and direct and not self._is_file(path, direct):
            return None
        # A file called `run` must not make every word `run` a citation of it.
        if path in self.index.bare_names and path not in FILE_NAMES and not direct:
            return None
        return path

    def _is_file(self, path: str, direct: re.Match[str]) -> bool:
        """False for a host and its port: `db.prod.rs:27017`."""
        if "/" in path:
            return True
        first = intervals(direct["list"])[:1]
        if not first or first[0][0] not in PORTS:
            return True
        return self.index.resolve(path).resolution != "missing"

    def _direct(self, event: re.Match[str]) -> re.Match[str] | None:
        """Lines right behind the path of an event: `:42`."""
        token = event["path"]
        if "@" in token and (at := _AT_LINE.search(token)):
            token = token[: at.start()]
        token = token.rstrip(".…")
        return self._lines_behind(event.start("path") + len(token))

    def _lines_behind(self, close: int) -> re.Match[str] | None:
        if self._behind[0] != close:
            self._behind = close, self._find_behind(close)
        return self._behind[1]

    def _find_behind(self, close: int) -> re.Match[str] | None:
        text = self.text
        return (
            DIRECT.match(text, close)
            or CALLED.match(text, close)
            or SPACED.match(text, close)
            or self._in_bracket(close)
        )

    def _in_bracket(self, close: int) -> re.Match[str] | None:
        """`a.cpp (42)`; but a list of how often each file matches has numbers there too."""
        lines = IN_BRACKET.match(self.text, close)
        if lines is None or not lines["list"].isdigit():
            return lines
        is_count = COUNTED.search(self.text, max(0, close - 120), close)
        return None if is_count or int(lines["list"]) in HTTP_CODES else lines

    def _cite_path(self, path: str, begin: int, close: int, *, short: bool = False) -> int:
        """Cite the path, and the lines written right behind it; returns the end of all that.

        `short`: its short name stands there, which alone cites nothing.
        """
        lines: list[LineRange] = []
        symbol = None
        direct = self._lines_behind(close)
        if direct is None and (direct := MEMBER.match(self.text, close)):
            symbol = symbol_of(direct["name"])
        if direct:
            lines = intervals(_without_column(direct["list"]))
            close = direct.end()
        else:
            self._note_alias(path, begin, close)
        self._name(path, begin, close, bare=not lines and not self._line_follows(close))
        if lines or not short:
            self._cite(
                Cite(begin=begin, close=close, path=path, lines=lines, symbol=symbol, named=True)
            )
        if direct:
            return self._cite_next(path, close)
        return close

    def _note_alias(self, path: str, begin: int, close: int) -> None:
        """`RTAF = a/b.java`, `a/b.java (RTAF)`: what a text calls the file from here on."""
        before = ALIAS_BEFORE.search(self.text[max(0, begin - 40) : begin])
        if before:
            self.seen.aliases[before["alias"]] = path
        if self._is_default(begin, close):
            self.seen.default = path

    def _is_default(self, begin: int, close: int) -> bool:
        """The text says that all lines without a file are of this one."""
        if DEFAULT_AFTER.match(self.text, close):
            return True
        return bool(DEFAULT_BEFORE.search(self.text[max(0, begin - 120) : begin]))

    def _cite_next(self, path: str, close: int) -> int:
        """`a.py:1` (first), 7 (second), and 9 (third)."""
        while following := NEXT.match(self.text, close):
            begin, close = following.start("list"), following.end()
            lines = intervals(following["list"])
            self._cite(Cite(begin=begin, close=close, path=path, lines=lines))
        return close

    def _cite(self, cite: Cite) -> None:
        self.cites.append(cite)
        self._note(cite)

    def _note(self, cite: Cite) -> None:
        if cite.lines:
            self.listed = cite
            if not cite.guess:
                self.sure = cite
                self.seen.note(cite.path, cite.lines)

    def _name(self, path: str, begin: int, end: int, *, bare: bool) -> None:
        self.paths.append(path)
        self.seen.name(path)
        self.owners.name(path, begin, end, bare=bare)

    def _line_follows(self, at: int) -> bool:
        phrase = self._event(at, at + 60)
        if not phrase or not phrase["lines"]:
            return False
        return bool(ADJACENT.match(self.text[at : phrase.start()]))

    def _event(self, at: int, end: int) -> re.Match[str] | None:
        """The first from `at` on, of what ends by then."""
        place = at, min(end, len(self.text))
        if self._ahead[0] != place:
            self._ahead = place, EVENT.search(self.text, *place)
        return self._ahead[1]

    def _settle(self, path: str, begin: int) -> None:
        """Lines that had no file yet take the one that follows in their sentence."""
        for cite in self.pending:
            if self.owners.is_one_sentence(cite.close, begin):
                self._cite(cite._replace(path=path, tied="context", others=self.seen.paths))
        self.pending = []

    def _cite_with_path_after(self, cite: Cite) -> int | None:
        """Returns the end of both; None if no path is tied to the lines from behind."""
        with_path = self._with_path_after(cite)
        if with_path is None:
            return None
        self._name(with_path.path, with_path.begin, with_path.close, bare=False)
        self._cite(with_path)
        return with_path.close

    def _with_path_after(self, cite: Cite) -> Cite | None:
        """`line 42 of a.py`: with the path that `of`, `in` or a bracket ties to the lines."""
        if same := OF_SAME_FILE.match(self.text, cite.close):
            path = next(iter(self.seen.paths), None)
            return cite._replace(path=path, close=same.end(), named=True) if path else None
        event = self._event(cite.close, cite.close + 300)
        if not event or not event["path"]:
            return None
        if not OF.match(self.text[cite.close : event.start()]):
            return None
        path = clean_path(event["path"], self.index, has_line=True)
        # "line 42 of a.py:7": that path has lines of its own.
        if path is None or self._direct(event):
            return None
        close = event.start() + event["path"].find(path) + len(path)
        return cite._replace(path=path, close=close, named=True)

    def _before(self, event: re.Match[str], characters: int) -> str:
        return self.text[max(0, event.start() - characters) : event.start()]

    def _owner(self, cite: Cite, *, listed: bool = False) -> Owner | None:
        owner = self.owners.of(cite.begin, cite.lines[0][0], listed=listed)
        member = QUALIFIED.search(self.text[max(0, cite.begin - 120) : cite.begin])
        file = self._file_called(member["owner"]) if member else None
        if file is None or (owner and owner.firm):
            return owner
        rivals = (owner.path, *owner.rivals) if owner else ()
        return Owner(file, rivals, in_sentence=True, firm=True)

    def _owned(self, cite: Cite, owner: Owner) -> Cite:
        others = owner.others(self.seen)
        return cite._replace(path=owner.path, tied=owner.tied, rivals=owner.rivals, others=others)

    def _file_called(self, name: str) -> str | None:
        """`GsonBuilder:42`: the file's name, if just one file is called so."""
        if not name[:1].isupper() or name.isupper():
            return None
        files = self.index.by_stem.get(name, ())
        return files[0].rpartition("/")[2] if len(files) == 1 else None


def _without_column(listed: str) -> str:
    """`2424,41` as 2424; but `41,57` is two lines."""
    if "," not in listed:
        return listed
    first, _, last = listed.partition(",")
    if first.isdigit() and last.isdigit() and int(last) < int(first):
        return first
    return listed
