"""`fairtrial agreement`: a table of ratings, and how far its raters agree.

FILE is a CSV in UTF-8, first line the columns' names, then one line for each item: the first column
names the item, one called `category` its category, every other is a rater, unless told otherwise.
Labels are compared without their blanks and in small letters.

People's majority is the label that most of them give; where two labels share the lead there is
none, and the item is in no figure that takes it for the truth. So is an item that one of those
compared left blank. Both are counted.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.records import Count, Record, UnitInterval
from runner.scoring.rater_agreement import Agreement, ManyRaters, agreement, fleiss_kappa
from runner.scoring.statistics import Interval
from runner.support.errors import FairtrialError

LIMIT_BYTES = 20_000_000
MOST_LABELS = 20
"""Of one rater. A column with more holds notes, dates or figures."""
CATEGORY = "category"
EVERYTHING = "all"
MAJORITY = "people's majority"


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which column is what; empty for what the module's docstring says."""

    item: str = ""
    category: str = ""
    people: tuple[str, ...] = ()
    raters: tuple[str, ...] = ()
    """Beside the people."""


@dataclass(frozen=True, kw_only=True)
class Ratings:
    """A file, read."""

    items: tuple[str, ...]
    categories: tuple[str, ...]
    """One per item; empty if there are none."""
    people: tuple[str, ...]
    others: tuple[str, ...]
    """Judges, if there are people."""
    labels: Mapping[str, Sequence[str]]
    """Rater -> a label for each item; empty where there is none."""


# --- the file -----------------------------------------------------------------------------------


def read_ratings(path: Path, columns: Columns) -> Ratings:
    """Raises FairtrialError for what is no such table, with the line or the column."""
    header, rows = _table(path)
    item = _known(columns.item, header, path) or header[0]
    category = _known(columns.category, header, path)
    if not category and CATEGORY in header and item != CATEGORY:
        category = CATEGORY
    for name in (*columns.people, *columns.raters):
        _known(name, header, path)
    named = {item, category, *columns.people}
    others = columns.raters or tuple(name for name in header if name not in named)
    raters = (*columns.people, *others)
    _require_raters(raters, named - set(columns.people), path)
    items = tuple(row[header.index(item)].strip() for row in rows)
    _require_items(items, path)
    labels = {name: [_label(row[header.index(name)]) for row in rows] for name in raters}
    for name in raters:
        _require_labels(name, labels[name], path)
    return Ratings(
        items=items,
        categories=tuple(row[header.index(category)].strip() for row in rows) if category else (),
        people=columns.people,
        others=others,
        labels=labels,
    )


def _table(path: Path) -> tuple[list[str], list[list[str]]]:
    try:
        # Anything may be given: of a device or a film no more than this is read.
        with path.open("rb") as file:
            data = file.read(LIMIT_BYTES + 1)
        if len(data) > LIMIT_BYTES:
            raise _wrong(path, f"larger than {LIMIT_BYTES // 1_000_000} MB")
        # Excel begins UTF-8 with a mark, which would be a part of the first column's name.
        text = data.decode("utf-8-sig")
        lines = list(_lines(text))
    except OSError as error:
        raise _wrong(path, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _wrong(path, f"not UTF-8: byte {error.start}", "save it as CSV in UTF-8") from error
    except csv.Error as error:
        raise _wrong(path, f"not CSV: {error}") from error
    if len(lines) < 2:
        raise _wrong(path, "no items: a line with the columns' names, then one for each item")
    (_, header), *rows = lines
    _require_header(header, path)
    for number, row in rows:
        if len(row) != len(header):
            what = f"{len(row)} cells under {len(header)} columns"
            raise _wrong(path, what, "quote a cell that holds a comma", line=number)
    return header, [row for _, row in rows]


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    for row in reader:
        if any(cell.strip() for cell in row):
            yield reader.line_num, row


def _require_header(header: list[str], path: Path) -> None:
    header[:] = [name.strip() for name in header]
    if len(header) == 1 and ";" in header[0]:
        raise _wrong(path, "one column, with semicolons in it", "save it with commas")
    twice = [name for name, times in Counter(header).items() if times > 1]
    if twice:
        raise _wrong(path, f"{len(twice)} columns share a name: {twice[0]!r}")


def _known(name: str, header: Sequence[str], path: Path) -> str:
    if name and name not in header:
        raise _wrong(path, f"no column is called {name!r}", f"there are: {', '.join(header)}")
    return name


def _require_raters(raters: Sequence[str], taken: set[str], path: Path) -> None:
    if len(set(raters)) < len(raters) or taken & set(raters):
        raise _wrong(path, "a column is given two parts", "item, category, person or rater: one")
    if len(raters) < 2:
        what = "one rater" if raters else "no rater"
        raise _wrong(
            path,
            f"{what}: agreement takes two",
            "the first column names the items, unless --item does",
        )


def _require_items(items: Sequence[str], path: Path) -> None:
    name, times = Counter(items).most_common(1)[0]
    if times > 1:
        what = f"{times} lines are about {name!r}"
        raise _wrong(path, what, "one line for each item; --item says which column names them")


def _require_labels(name: str, labels: Sequence[str], path: Path) -> None:
    count = len(set(labels) - {""})
    if count == 0:
        raise _wrong(path, f"{name!r} has rated nothing")
    if count > MOST_LABELS:
        what = f"{name!r} holds {count} labels: it is no rater"
        raise _wrong(path, what, "choose the raters with --people and --rater")


def _label(cell: str) -> str:
    return cell.strip().casefold()


def _wrong(path: Path, what: str, hint: str = "", *, line: int = 0) -> FairtrialError:
    where = f"{path} line {line}" if line else str(path)
    return FairtrialError(what, where=where, hint=hint)


# --- what is made of it -------------------------------------------------------------------------


class IntervalEstimate(Record):
    """A figure and its 95 % interval, drawn over items; None where there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None


NO_FIGURE = IntervalEstimate(value=None)


class Among(Record):
    """How far some raters agree with each other."""

    group: str
    """A category, or `all`."""
    raters: tuple[str, ...]
    items: Count
    """That all of them have rated."""
    left_out: Count
    unanimous: IntervalEstimate
    """Share of the items with one label from all."""
    kappa: IntervalEstimate
    """Cohen's of two, Fleiss' of more; None if all say one thing always."""


class RaterAgreement(Record):
    """How far one rater agrees with what is taken for the truth."""

    group: str
    rater: str
    items: Count
    """That have a truth, and that this rater and all people have rated."""
    left_out: Count
    ties: Count
    """Of those left out: people have no majority."""
    agreement: IntervalEstimate
    kappa: IntervalEstimate
    """Cohen's."""
    constant: str
    """What the truth says most often."""
    constant_agreement: UnitInterval | None
    """Of a rater who says that of everything; the kappa of such a one is 0."""
    beats_constant: bool
    """The whole interval of the agreement is above it."""


class Prevalence(Record):
    """What a rater says, how often."""

    rater: str
    items: Count
    blank: Count
    shares: dict[str, float]
    """Label -> share of the items."""


class AgreementReport(Record):
    items: Count
    labels: tuple[str, ...]
    people: tuple[str, ...]
    among: tuple[Among, ...]
    """The people, or all raters where nobody is taken for the truth; then by category."""
    pairs: tuple[Among, ...]
    """Of the raters in `among`, if there are more than two."""
    beside: tuple[RaterAgreement, ...]
    """Each judge and the people's majority; then by category."""
    prevalence: tuple[Prevalence, ...]


def report_of(ratings: Ratings) -> AgreementReport:
    """All figures of a table."""
    group = ratings.people or ratings.others
    truth = _majorities(ratings) if ratings.people else ()
    parts = list(_parts(ratings))
    pairs = itertools.combinations(group, 2) if len(group) > 2 else ()
    every = range(len(ratings.items))
    among: list[Among] = []
    beside: list[RaterAgreement] = []
    for name, places in parts:
        if len(group) > 1:
            among.append(_among(name, group, ratings, places))
        if truth:
            beside += [_beside(name, other, ratings, truth, places) for other in ratings.others]
    return AgreementReport(
        items=len(ratings.items),
        labels=tuple(_all_labels(ratings)),
        people=ratings.people,
        among=tuple(among),
        pairs=tuple(_among(EVERYTHING, pair, ratings, every) for pair in pairs),
        beside=tuple(beside),
        prevalence=tuple(_prevalences(ratings, truth)),
    )


def _parts(ratings: Ratings) -> Iterator[tuple[str, Sequence[int]]]:
    """Everything, then each category: its name, and the places of its items."""
    yield EVERYTHING, range(len(ratings.items))
    by_category: dict[str, list[int]] = {}
    for place, category in enumerate(ratings.categories):
        by_category.setdefault(category or "(no category)", []).append(place)
    yield from sorted(by_category.items())


def _all_labels(ratings: Ratings) -> list[str]:
    found = Counter(itertools.chain.from_iterable(ratings.labels.values()))
    return [label for label, _ in found.most_common() if label]


def _majorities(ratings: Ratings) -> tuple[str, ...]:
    """Of each item; empty without one, or if a person has left it blank."""
    return tuple(
        map(_majority, zip(*(ratings.labels[name] for name in ratings.people), strict=True))
    )


def _majority(labels: Sequence[str]) -> str:
    ranked = Counter(labels).most_common(2)
    is_tied = len(ranked) > 1 and ranked[0][1] == ranked[1][1]
    return "" if is_tied or "" in labels else ranked[0][0]


def _among(group: str, raters: Sequence[str], ratings: Ratings, places: Sequence[int]) -> Among:
    columns = [ratings.labels[name] for name in raters]
    rows = [tuple(column[place] for column in columns) for place in places]
    whole = [row for row in rows if all(row)]
    found = fleiss_kappa(whole) if whole else None
    two = agreement(*zip(*whole, strict=True)) if whole and len(raters) == 2 else None
    return Among(
        group=group,
        raters=tuple(raters),
        items=len(whole),
        left_out=len(rows) - len(whole),
        unanimous=_estimate(found.unanimous, found.unanimous_interval) if found else NO_FIGURE,
        kappa=_kappa(two or found),
    )


def _kappa(found: Agreement | ManyRaters | None) -> IntervalEstimate:
    if found is None:
        return NO_FIGURE
    interval = found.kappa_interval if isinstance(found, Agreement) else found.interval
    return _estimate(found.kappa, interval)


def _estimate(value: float | None, interval: Interval | None) -> IntervalEstimate:
    # Of items that are all alike every resample is alike: 100–100 would pass for certainty.
    if interval is None or interval.low == interval.high:
        return IntervalEstimate(value=value)
    return IntervalEstimate(value=value, low=interval.low, high=interval.high)


def _beside(
    group: str, rater: str, ratings: Ratings, truth: Sequence[str], places: Sequence[int]
) -> RaterAgreement:
    own = ratings.labels[rater]
    pairs = [(truth[place], own[place]) for place in places if truth[place] and own[place]]
    found = agreement(*zip(*pairs, strict=True)) if pairs else None
    return RaterAgreement(
        group=group,
        rater=rater,
        items=len(pairs),
        left_out=len(places) - len(pairs),
        ties=sum(_is_tied(ratings, place) for place in places if own[place]),
        agreement=_estimate(found.share, found.share_interval) if found else NO_FIGURE,
        kappa=_kappa(found),
        constant=str(found.constant) if found else "",
        constant_agreement=found.constant_share if found else None,
        beats_constant=bool(found and found.beats_constant),
    )


def _is_tied(ratings: Ratings, place: int) -> bool:
    labels = [ratings.labels[name][place] for name in ratings.people]
    return all(labels) and not _majority(labels)


def _prevalences(ratings: Ratings, truth: Sequence[str]) -> Iterator[Prevalence]:
    for name in (*ratings.people, *ratings.others):
        yield _prevalence(name, ratings.labels[name])
    if len(ratings.people) > 1:
        yield _prevalence(MAJORITY, truth)


def _prevalence(rater: str, labels: Iterable[str]) -> Prevalence:
    counts = Counter(labels)
    blank = counts.pop("", 0)
    items = counts.total()
    shares = {label: times / items for label, times in counts.most_common()}
    return Prevalence(rater=rater, items=items, blank=blank, shares=shares)
