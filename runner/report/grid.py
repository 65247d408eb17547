"""What a report's tables are made of: columns, cells as text, and numbered notes.

All text from a scenario, a server or an answer passes through `clean`; each form then escapes it
for itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from runner.report.records import Figure

Row_contra = TypeVar("Row_contra", contravariant=True)
DASH = "—"
TEXT_SHOWN = 300
"""Characters of one untrusted text; the whole of it is in report.json."""
_ANSI = re.compile(
    r"""
    \x1b (?:
        \[ [0-?]* [\ -/]* [@-~]          # colours and cursor moves: ESC[31m
      | \] [^\x07\x1b]* (?:\x07|\x1b\\)? # titles and links: ESC]0;title BEL
    )
    """,
    re.VERBOSE,
)
"""Without this, `[31m` would stand in the text after `clean` has dropped the ESC."""


@dataclass(frozen=True, kw_only=True)
class Column(Generic[Row_contra]):
    """A heading, and how to show its cell of a row."""

    short: str
    full: str
    """What it says where there is room."""
    text: bool
    """Words, not figures: aligned left and wrapped."""
    cell: Callable[[Row_contra], str]


def number(short: str, cell: Callable[[Row_contra], str], *, full: str = "") -> Column[Row_contra]:
    return Column(short=short, full=full or short, text=False, cell=cell)


def words(short: str, cell: Callable[[Row_contra], str], *, full: str = "") -> Column[Row_contra]:
    return Column(short=short, full=full or short, text=True, cell=cell)


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A fairness in [0, 1], its interval, and the shell's for reference."""

    value: float
    low: float | None
    high: float | None
    shell: float | None


@dataclass(frozen=True, kw_only=True)
class Table:
    title: str
    columns: tuple[Column[Any], ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    bars: tuple[Bar | None, ...] = ()
    """One per row, or none at all."""


def table(
    title: str,
    columns: Sequence[Column[Row_contra]],
    rows: Iterable[Row_contra],
    *,
    notes: Sequence[str] = (),
    numbered: Notes | None = None,
) -> Table:
    """`numbered`: what the columns write their notes into; its lines follow `notes`."""
    cells = tuple(tuple(column.cell(row) for column in columns) for row in rows)
    lines = tuple(notes)
    if numbered is not None:
        # Only now: the columns number their notes while the cells are made.
        lines += tuple(numbered.lines())
    return Table(title=title, columns=tuple(columns), rows=cells, notes=lines)


# --- a cell's text --------------------------------------------------------------------------


def clean(text: str, limit: int = TEXT_SHOWN) -> str:
    """One line without control or direction characters, clipped with a mark."""
    # Most texts are printable throughout, and a large report asks for a hundred a cell.
    line = " ".join(text.split())
    if not line.isprintable():
        line = " ".join(filter(None, map(_harmless, _ANSI.sub("", text).split())))
    if len(line) <= limit:
        return line
    return f"{line[:limit].rstrip()}… ({len(line):,} characters)"


def lines_of(text: str, limit: int) -> str:
    """Its lines without control or direction characters, the whole clipped with a mark."""
    if len(text) <= limit and text.isprintable():
        return text
    shown = "\n".join(map(_plain_line, _ANSI.sub("", text[:limit]).split("\n")))
    return shown if len(text) <= limit else f"{shown}… ({len(text):,} characters)"


def _plain_line(line: str) -> str:
    return _harmless(line.replace("\t", "    ").rstrip("\r"))


def _harmless(word: str) -> str:
    if word.isprintable():
        return word
    # A terminal would obey an ESC, and U+202E would turn the rest of a page's line round.
    return "".join(char for char in word if unicodedata.category(char)[0] != "C")


def score(value: float | None) -> str:
    return formed(value, "{:.3f}")


def signed(value: float | None) -> str:
    return formed(value, "{:+.3f}")


def count(value: float | None) -> str:
    return formed(value, "{:,.0f}")


def tenth(value: float | None) -> str:
    return formed(value, "{:,.1f}")


def hundredth(value: float | None) -> str:
    return formed(value, "{:,.2f}")


def ratio(value: float | None) -> str:
    return formed(value, "×{:.2f}")


def formed(value: float | None, form: str) -> str:
    if value is None:
        return DASH
    return form.format(value)


def interval(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return DASH
    return f"{low:.3f}–{high:.3f}"


def signed_interval(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return DASH
    return f"{low:+.3f} to {high:+.3f}"


# --- notes ----------------------------------------------------------------------------------


class Notes:
    """Why figures are missing cells: a line for each reason, numbered as they come up."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def figure(self, label: str, name: str, figure: Figure) -> str:
        """The value or `unscored`, with the number of its note if it misses cells: `0.500 [1]`."""
        shown = "unscored"
        if figure.value is not None:
            shown = score(figure.value)
        if not figure.reasons:
            return shown
        reasons = "; ".join(map(clean, figure.reasons))
        return f"{shown} [{self._number(f'{label}, {name}: {reasons}')}]"

    def part(self, label: str, name: str, part: Figure, whole: Figure) -> str:
        """As `figure`, but without a note if the whole's note says which cells are missing."""
        explained = set(part.reasons) <= set(whole.reasons)
        if part.value is not None and explained:
            return score(part.value)
        return self.figure(label, name, part)

    def lines(self) -> Iterator[str]:
        for number, line in enumerate(self._lines, start=1):
            yield f"[{number}] {line}"

    def _number(self, line: str) -> int:
        if line not in self._lines:
            self._lines.append(line)
        return self._lines.index(line) + 1
