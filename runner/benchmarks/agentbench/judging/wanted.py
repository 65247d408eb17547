"""What is looked for in an answer, and where it stands there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from runner.benchmarks.agentbench.judging.moments import (
    Date,
    Time,
    dates,
    is_same_date,
    is_same_time,
    times,
)
from runner.benchmarks.agentbench.judging.quantities import Quantity, is_same, quantities
from runner.scoring.judges.checklist.hidden import visible

LIST_GAP_CHARS = 80
"""Between two items of a list."""
MOST_MENTIONS = 100
"""Of one value that are looked at, half of them the last: ten thousand would take hours."""


@dataclass(frozen=True, kw_only=True)
class ValueMention:
    """Where a value stands in a text."""

    start: int
    end: int


ValueKind = Literal["quantity", "date", "time", "words", "list"]


@dataclass(frozen=True, kw_only=True)
class SoughtValue:
    """A value, as it is looked for."""

    text: str
    kind: ValueKind
    tolerance: float | None = None
    quantity: Quantity | None = None
    date: Date | None = None
    time: Time | None = None
    items: tuple[SoughtValue, ...] = ()
    """Of a list, or date and time of a moment, in their order."""

    def mentions(self, text: str) -> list[ValueMention]:
        """In a plain text, in order."""
        found = sorted(_FINDERS[self.kind](self, text), key=lambda one: (one.start, -one.end))
        if len(found) > MOST_MENTIONS:
            half = MOST_MENTIONS // 2
            found = found[:half] + found[-half:]
        return found


@lru_cache(maxsize=4096)
def wanted(text: str, tolerance: float | None = None) -> SoughtValue:
    """A text as the thing that it is."""
    text = without_markup(text).strip()
    for date in dates(text):
        if _is_whole(date, text):
            return SoughtValue(text=text, kind="date", date=date)
    for time in times(text):
        if _is_whole(time, text):
            return SoughtValue(text=text, kind="time", time=time)
    # Of "33 tickets" the figure is the value; the noun may be left out.
    figure = _COUNTED.sub("", text)
    for quantity in quantities(figure):
        if _is_whole(quantity, figure):
            return SoughtValue(text=text, kind="quantity", quantity=quantity, tolerance=tolerance)
    if items := _items(text):
        parts = tuple(wanted(item, tolerance) for item in items)
        return SoughtValue(text=text, kind="list", items=parts)
    return SoughtValue(text=text, kind="words")


def _is_whole(found: Quantity | Date | Time, text: str) -> bool:
    return found.start == 0 and found.end == len(text)


_COUNTED = re.compile(
    r"(?<=\d) (?:working )?(?!thousand$|million$|billion$|trillion$)[^\W\d_]{4,}$"
)
_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})[T ](\d{1,2}:\d{2}.*)")


def _items(text: str) -> list[str]:
    """Of a list; empty if it is none."""
    if match := _MOMENT.fullmatch(text):
        return [match[1], match[2]]
    if text.startswith("["):
        try:
            return [str(item) for item in json.loads(text)]
        except ValueError:
            return []
    items = [item.strip() for item in re.split(r",\s|;\s", text)]
    return items if len(items) > 1 and all(items) else []


# --- where it stands ----------------------------------------------------------------------------


def _quantity_mentions(sought: SoughtValue, text: str) -> Iterator[ValueMention]:
    assert sought.quantity is not None  # noqa: S101 - it is what makes the kind
    moments = list(_moments(text))
    for said in quantities(text):
        is_part = any(start <= said.start and said.end <= end for start, end in moments)
        if not is_part and is_same(sought.quantity, said, sought.tolerance):
            yield ValueMention(start=said.start, end=said.end)


def _moments(text: str) -> Iterator[tuple[int, int]]:
    """Dates with day and year, and times with minutes: no figure of them is a figure, as 5 in
    2026-11-05. `May 4` may be four people in May, and 2031 of `May 2031` the year that is asked."""
    for date in dates(text):
        if date.year is not None and date.day is not None:
            yield date.start, date.end
    for time in times(text):
        if ":" in text[time.start : time.end]:
            yield time.start, time.end


def _date_mentions(sought: SoughtValue, text: str) -> Iterator[ValueMention]:
    assert sought.date is not None  # noqa: S101 - see above
    for said in dates(text):
        if is_same_date(sought.date, said):
            yield ValueMention(start=said.start, end=said.end)


def _time_mentions(sought: SoughtValue, text: str) -> Iterator[ValueMention]:
    assert sought.time is not None  # noqa: S101 - see above
    for said in times(text):
        if is_same_time(sought.time, said):
            yield ValueMention(start=said.start, end=said.end)


ALIKE = {"yes": "yes|true", "true": "true|yes", "no": "no|not|false", "false": "false|not|no"}
_HEX = re.compile(r"#?[0-9a-fA-F-]+")
_BETWEEN = r"""[\s_"'\u2010-\u2015-]+"""


def _words_mentions(sought: SoughtValue, text: str) -> Iterator[ValueMention]:
    for match in _words_pattern(sought.text).finditer(text):
        yield ValueMention(start=match.start(), end=match.end())


_COUNT_OF = re.compile(r"(\d+) of ")


def _words_pattern(words: str) -> re.Pattern[str]:
    if alike := ALIKE.get(words.casefold()):
        return re.compile(rf"\b(?:{alike})\b", re.IGNORECASE)
    if _is_code(words):
        # In base64 `QQ` and `qq`, `QQ` and `QQ==` are two things.
        return re.compile(rf"(?<![\w+/=]){re.escape(words)}(?![\w+/=])")
    parts = map(re.escape, filter(None, re.split(_BETWEEN, words)))
    pattern = _BETWEEN.join(parts)
    if count := _COUNT_OF.match(words):
        # "8 packets of Sencha" for "8 of Sencha": the noun may be said as well as left out.
        pattern = rf"{count[1]}(?:\s[^\W\d_]+)?{pattern.removeprefix(count[1])}"
    return re.compile(rf"(?<!\w){pattern}(?!\w)", re.IGNORECASE)


def _is_code(words: str) -> bool:
    """Does its case count? `aGVsbG8=` and `kebabCase`, not a name, a digest or a colour."""
    if " " in words or _HEX.fullmatch(words):
        return False
    inner = words[1:]
    return inner != inner.lower() and words != words.upper()


def _list_mentions(sought: SoughtValue, text: str) -> Iterator[ValueMention]:
    """All items, one soon after the other."""
    found = [item.mentions(text) for item in sought.items]
    for first in found[0]:
        last = first
        for later in found[1:]:
            following = [one for one in later if 0 <= one.start - last.end <= LIST_GAP_CHARS]
            if not following or _is_of_another_day(sought, text[last.end : following[0].start]):
                break
            last = following[0]
        else:
            yield ValueMention(start=first.start, end=last.end)


def _is_of_another_day(sought: SoughtValue, between: str) -> bool:
    """`9 Nov, 17:45; 8 Nov, 01:00` does not say 01:00 on 9 November."""
    return sought.items[0].kind == "date" and any(dates(between))


_FINDERS: dict[ValueKind, Callable[[SoughtValue, str], Iterator[ValueMention]]] = {
    "quantity": _quantity_mentions,
    "date": _date_mentions,
    "time": _time_mentions,
    "words": _words_mentions,
    "list": _list_mentions,
}

# --- a text without its marks -------------------------------------------------------------------

_MARKS = (
    (re.compile(r"\\(?:boxed|text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}"), r"\1"),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\\[,;: !]|~(?=\w)|\\(?=[%$#&()\[\]])"), " "),
    (re.compile(r"(?<!\w)\$(?! )([^$\n]{1,80}?)(?<! )\$(?!\d)"), r"\1"),
    (re.compile(r"(?<!\d)\*\*|\*\*(?!\d)|__(?=\S)|(?<=\S)__|`"), ""),
    (re.compile("[‘’]"), "'"),
    (re.compile("[“”]"), '"'),
)


def without_markup(text: str) -> str:
    """Without Markdown's and TeX's marks, and what a page would not show."""
    text = visible(text)
    for pattern, replacement in _MARKS:
        text = pattern.sub(replacement, text)
    return text
