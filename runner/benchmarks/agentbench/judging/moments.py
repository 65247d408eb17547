"""Dates and times in prose: `2031-05-04`, `4 May 2031`, `May 4th`, `04.05.2031`, `2:30 pm`.

A date of figures that may be read in two ways, `5/4/2031`, is read in both. A month with its year
is a date as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MONTHS = (
    "january february march april may june july august september october november december"
).split()
_MONTH = "|".join(f"{name}|{name[:3]}" for name in MONTHS) + "|sept"


@dataclass(frozen=True, kw_only=True)
class Date:
    start: int
    end: int
    month: int
    day: int | None
    """None if only a month of a year is said."""
    year: int | None
    """None if it is not said."""


@dataclass(frozen=True, kw_only=True)
class Time:
    start: int
    end: int
    hour: int
    minute: int
    second: int | None
    """None if it is not said."""
    zone: str
    """`UTC`, `+02:00`; empty if it is not said."""


_ISO = re.compile(r"(?<![\d-])(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?![\d-])")
_FIGURES = re.compile(r"(?<![\d./-])(?P<a>\d{1,2})[./-](?P<b>\d{1,2})[./-](?P<y>\d{4})(?!\d)")
_DAY_FIRST = re.compile(
    rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?[ ]+(?:of[ ]+)?(?P<m>{_MONTH})\b\.?"
    r"(?:,?[ ]+(?P<y>\d{4})\b)?",
    re.IGNORECASE,
)
_MONTH_FIRST = re.compile(
    rf"\b(?P<m>{_MONTH})\.?[ ]+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?[ ]+(?P<y>\d{{4}})\b)?",
    re.IGNORECASE,
)
_YEAR = r"(?P<y>(?:19|20|21)\d{2})"
_MONTHS_ALONE = (
    re.compile(rf"(?<![\d./-]){_YEAR}-(?P<m>0[1-9]|1[0-2])(?![\d-])"),
    re.compile(rf"(?<![\d./-])(?P<m>0?[1-9]|1[0-2])/{_YEAR}(?![\d/])"),
    re.compile(rf"\b(?P<m>{_MONTH})\b\.?,?[ ]+(?:of[ ]+)?{_YEAR}\b", re.IGNORECASE),
)
_TIME = re.compile(
    r"""
    (?<![\d:.])(?P<h>\d{1,2})(?:[:.](?P<m>\d{2})(?::(?P<s>\d{2})(?:\.\d+)?)?)?
    (?:[ ]?(?P<half>[ap])\.?m\b\.?)?
    (?:[ ]?(?P<zone>Z\b|(?:UTC|GMT)?[+−-]\d{2}:?\d{2}|(?:UTC|GMT)[+−-]\d{1,2}\b|[A-Z]{3,4}\b))?
    (?![\d:])
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ZONES = frozenset(
    "UTC GMT CET CEST EET EEST WET WEST BST IST MSK EST EDT CST CDT MST MDT PST PDT JST KST SGT "
    "HKT AEST AEDT ACST AWST NZST NZDT AST HST AKST SAST BRT ART".split()
)
_ZERO = frozenset({"Z", "UTC", "GMT", "+00:00", "UTC+0"})


def dates(text: str) -> Iterator[Date]:
    """Every reading of every date, those of a month alone last."""
    ends = set()
    for day in _days(text):
        ends.add(day.end)
        yield day
    for pattern in _MONTHS_ALONE:
        for match in pattern.finditer(text):
            # `May 2031` of `4 May 2031` is no second date.
            if match.end() not in ends:
                yield from _date(match, _month(match["m"]), None)


def _days(text: str) -> Iterator[Date]:
    for match in _ISO.finditer(text):
        yield from _date(match, int(match["m"]), int(match["d"]))
    for match in _FIGURES.finditer(text):
        yield from _date(match, int(match["b"]), int(match["a"]))
        yield from _date(match, int(match["a"]), int(match["b"]))
    for pattern in (_DAY_FIRST, _MONTH_FIRST):
        for match in pattern.finditer(text):
            yield from _date(match, _month(match["m"]), int(match["d"]))


def _month(name: str) -> int:
    """Of a name or its beginning, or of a number."""
    if name.isdigit():
        return int(name)
    return [month[:3] for month in MONTHS].index(name[:3].casefold()) + 1


def _date(match: re.Match[str], month: int, day: int | None) -> Iterator[Date]:
    if 1 <= month <= 12 and (day is None or 1 <= day <= 31):
        year = int(match["y"]) if match["y"] else None
        yield Date(start=match.start(), end=match.end(), month=month, day=day, year=year)


def times(text: str) -> Iterator[Time]:
    """Every time of day: with minutes, or with `am` or `pm`."""
    for match in _TIME.finditer(text):
        is_time = match["m"] is not None or match["half"]
        hour, minute = int(match["h"]), int(match["m"] or 0)
        half = (match["half"] or "").casefold()
        if not is_time or minute > 59 or hour > (12 if half else 24):
            continue
        if ":" not in match[0] and not half:
            # `2.30` is a number, unless `pm` says otherwise.
            continue
        zone = _zone(match["zone"] or "")
        end = match.end() if zone or not match["zone"] else match.start("zone")
        yield Time(
            start=match.start(),
            end=end,
            hour=_hour(hour, half),
            minute=minute,
            second=int(match["s"]) if match["s"] else None,
            zone=zone,
        )


def _hour(hour: int, half: str) -> int:
    if not half:
        return hour
    return hour % 12 + (12 if half == "p" else 0)


def _zone(written: str) -> str:
    """Empty for letters that are no zone: `14:30 the`."""
    zone = written.upper().replace("−", "-")
    if zone.isalpha() and zone != "Z" and zone not in _ZONES:
        return ""
    return zone


def is_same_date(wanted: Date, said: Date) -> bool:
    """A year that one of them leaves out is taken to be the other's; any day is of its month."""
    if wanted.month != said.month or wanted.day not in (None, said.day):
        return False
    return None in (wanted.year, said.year) or wanted.year == said.year


def is_same_time(wanted: Time, said: Time) -> bool:
    """Seconds may be left out if they are 0; a zone may be left out."""
    if (wanted.hour, wanted.minute) != (said.hour, said.minute):
        return False
    if (wanted.second or 0) != (said.second or 0):
        return False
    return not wanted.zone or not said.zone or _plain(wanted.zone) == _plain(said.zone)


def _plain(zone: str) -> str:
    """`UTC+2` and `+02:00` are one."""
    if zone in _ZERO:
        return "UTC"
    match = re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2}):?(\d{2})?", zone)
    return f"{match[1]}{int(match[2]):02}:{match[3] or '00'}" if match else zone
