"""The lines that a page's citations lie on: each stands once, however many citations lead to it.

Citations repeat one another: around each of its own, the lines were half of a page.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from markupsafe import Markup

from runner.records import Citation
from runner.report.grid import clean, lines_of
from runner.report.html.elements import element, joined
from runner.report.page_data import CellEvidence, CitedLines, Excerpt

LINE_SHOWN = 240
"""Of a line of source."""
LINE_BYTES, PLACE_BYTES, FILE_BYTES = 8, 80, 300
"""Markup of each, beside its own text."""
PATH_SHOWN = 300
LEGEND = (
    "Each line stands once, however many answers cite it, with ten around it. A citation leads "
    "here, and your browser's Back to its answer again."
)


def lines_anchor(repository: str, citation: Citation) -> str:
    """Of the lines themselves, the same in every page of the run: `3f2a1c0b:12-15`."""
    end = f"-{citation.end}" if citation.end not in (None, citation.start) else ""
    # Its path stands above the lines: in each of some thousand links it was a fiftieth of a page.
    return f"{_short(repository, citation.path)}:{citation.start}{end}"


@cache
def _short(repository: str, path: str) -> str:
    return hashlib.sha256(f"{repository} {path}".encode()).hexdigest()[:8]


@dataclass(kw_only=True)
class _CitedFile:
    lines: dict[int, str] = field(default_factory=dict)
    places: dict[tuple[int, str], int] = field(default_factory=dict)
    """(First line cited, anchor of the place) -> how many lines it has."""


class CitedFiles:
    """Of one page: `add` what its cells cite, then take the markup."""

    def __init__(self, *cells: CellEvidence) -> None:
        self._files: dict[tuple[str, str], _CitedFile] = {}
        self.size_bytes = 0
        """Of the markup, near enough to know whether a page has room for it."""
        for cell in cells:
            for cited in cell.cited:
                if cited.excerpt is not None:
                    self._put((cell.repository, cited.citation.path), _one(cell, cited))

    def add(self, other: CitedFiles) -> None:
        for key, file in other._files.items():
            self._put(key, file)

    def _put(self, key: tuple[str, str], file: _CitedFile) -> None:
        if key not in self._files:
            self._files[key] = _CitedFile()
            self.size_bytes += FILE_BYTES
        own = self._files[key]
        for line in file.lines.keys() - own.lines.keys():
            own.lines[line] = file.lines[line]
            self.size_bytes += len(file.lines[line][:LINE_SHOWN].encode()) + LINE_BYTES
        self.size_bytes += PLACE_BYTES * len(file.places.keys() - own.places.keys())
        own.places |= file.places

    def markup(self) -> Markup:
        """A file after the other, each folded; a link to a place in one opens it."""
        if not self._files:
            return Markup("")
        return joined(
            element("h2", "Lines that are cited", id="lines"),
            element("p", LEGEND, class_="legend"),
            *(_file(*key, self._files[key]) for key in sorted(self._files)),
        )


def _one(cell: CellEvidence, cited: CitedLines) -> _CitedFile:
    citation, excerpt = cited.citation, cited.excerpt or Excerpt(first=1, lines=())
    start, last = citation.start or 1, excerpt.first + len(excerpt.lines) - 1
    count = min(citation.end or start, last) - start + 1
    return _CitedFile(
        lines=dict(enumerate(excerpt.lines, excerpt.first)),
        places={(start, lines_anchor(cell.repository, citation)): count},
    )


def _file(repository: str, path: str, file: _CitedFile) -> Markup:
    size = f"{len(file.lines)} lines, {clean(repository, 100)}"
    name = element("code", clean(path, PATH_SHOWN))
    summary = element("summary", name, " ", element("span", size, class_="why"))
    code = element("pre", *_lines(file), class_="source", tabindex="0")
    return element("details", summary, code, class_="file")


def _lines(file: _CitedFile) -> Iterator[Markup | str]:
    before, places = 0, defaultdict[int, list[Markup]](list)
    for (start, anchor), count in sorted(file.places.items()):
        # As tall as its lines: a style draws it behind them once a link has led to it.
        places[start].append(element("i", "\n" * count, id=anchor))
    for line in sorted(file.lines):
        if before and line > before + 1:
            yield "    ⋯\n"
        yield from places[line]
        yield f"{line:>5}  {lines_of(file.lines[line], LINE_SHOWN)}\n"
        before = line
