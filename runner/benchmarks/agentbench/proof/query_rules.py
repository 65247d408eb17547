"""What is wrong with a query, as far as its file says: its shape, its answer, its calls.

The rules are the paper's (sections 2.1.2 and 2.1.3, and its prompts), made so that code can hold a
query to them. They look at recorded results; `execution` shows that these are still so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from runner.benchmarks.agentbench.judging.moments import dates, is_same_date, is_same_time, times
from runner.benchmarks.agentbench.judging.quantities import quantities
from runner.benchmarks.agentbench.judging.values import compare_values
from runner.benchmarks.agentbench.judging.wanted import wanted, without_markup
from runner.benchmarks.agentbench.proof.trajectory import (
    NotGiven,
    as_text,
    fed_names,
    fill_feeds,
    given_by,
    has_telling_number,
    leaves,
    numbers,
    one_number,
    stands,
    stands_in,
    steps_of,
)
from runner.benchmarks.agentbench.queries import (
    GIVEN,
    DeadEnd,
    Query,
    ReferenceCall,
    ReferenceValue,
)
from runner.support.errors import Problem

LONG_TEXT = 8
"""Characters of an argument that two texts do not share by chance."""
LONGEST_RESULT = 20_000
"""Characters. What is longer fills an agent's context, and nobody reads it here."""


@dataclass(frozen=True, kw_only=True)
class Feed:
    """A later call waits for an earlier one. Calls are counted from 0."""

    source: int
    target: int
    name: str
    """Of the part of its result that goes into the arguments; empty for what it has written."""


@dataclass(frozen=True)
class Trajectory:
    """A query's recorded calls, and who feeds whom."""

    query: Query

    @cached_property
    def given(self) -> dict[str, str]:
        """Name -> text, of all calls; what is not found is a problem of its own."""
        given: dict[str, str] = {}
        for call in self.query.calls:
            try:
                given |= given_by(call, call.result)
            except NotGiven:
                continue
        return given

    @cached_property
    def feeds(self) -> tuple[Feed, ...]:
        feeds = []
        for target, call in enumerate(self.query.calls):
            before = [number - 1 for number in call.after if number <= target]
            feeds += [Feed(source=source, target=target, name="") for source in before]
            for name in sorted(fed_names(call)):
                for source in range(target):
                    if name in self.query.calls[source].gives:
                        feeds.append(Feed(source=source, target=target, name=name))
        return tuple(feeds)

    def without(self, index: int) -> set[int]:
        """The calls that can still be made, with what they need, if one is left out."""
        left = set(range(len(self.query.calls))) - {index}
        for feed in self.feeds:
            if feed.source not in left and not self._is_known(feed, left):
                left.discard(feed.target)
        return left

    def _is_known(self, feed: Feed, left: Collection[int]) -> bool:
        """Could the target be fed all the same: from the query, or by an earlier call?"""
        text = self.given.get(feed.name, "")
        earlier = [index for index in left if index < feed.target]
        places = [self.query.query, *(self.query.calls[index].result for index in earlier)]
        return bool(text) and any(_is_in(text, place) for place in places)


def _is_in(text: str, place: str) -> bool:
    """A number counts however it is written: what is fed need not be guessed then."""
    number = one_number(text)
    return stands(text, place) or (number is not None and number in numbers(place))


Rule = Callable[[Trajectory], Iterator[tuple[str, str]]]
"""Yields key and message."""


def query_problems(query: Query, where: str) -> list[Problem]:
    """Every problem of a query, each with its key under `where`."""
    trajectory = Trajectory(query)
    if unrecorded := list(_unrecorded(trajectory)):
        # Every other rule looks into results.
        return _as_problems(unrecorded, where)
    return _as_problems([found for rule in RULES for found in rule(trajectory)], where)


def _as_problems(found: Sequence[tuple[str, str]], where: str) -> list[Problem]:
    return [Problem(where=f"{where}.{key}", message=message) for key, message in found]


# --- the trajectory -------------------------------------------------------------------------


def _unrecorded(trajectory: Trajectory) -> Iterator[tuple[str, str]]:
    for key, call in steps_of(trajectory.query):
        if not call.result:
            hint = "`fairtrial agentbench record FILE` fills it in"
            yield f"{key}.result", f"is not recorded; {hint}"
        elif len(call.result) > LONGEST_RESULT:
            message = f"has {len(call.result)} characters; {LONGEST_RESULT} are the most"
            yield f"{key}.result", message


def _feeding(trajectory: Trajectory) -> Iterator[tuple[str, str]]:
    """Each name is given once, found, and fed to a later call; each name fed was given before."""
    given: dict[str, str] = {}
    for index, call in enumerate(trajectory.query.calls):
        yield from _filling(call, given, index)
        yield from _waiting(trajectory.query.calls, index)
        for name in sorted(given.keys() & call.gives.keys()):
            yield f"calls[{index}].gives.{name}", "an earlier call gives this name too"
        try:
            given |= given_by(call, call.result)
        except NotGiven as problem:
            yield f"calls[{index}]", str(problem)
    fed = {feed.name for feed in trajectory.feeds}
    for index, call in enumerate(trajectory.query.calls):
        for name in sorted(call.gives.keys() - fed):
            yield f"calls[{index}].gives.{name}", "is fed to no later call"


def _waiting(calls: Sequence[ReferenceCall], index: int) -> Iterator[tuple[str, str]]:
    """What a call may be said to see of what others wrote: one server's state is its own."""
    for number in calls[index].after:
        if number > index:
            yield f"calls[{index}].after", f"call {number} is not before it"
        elif calls[number - 1].server != calls[index].server:
            yield f"calls[{index}].after", f"call {number} writes to another server"


def _filling(call: ReferenceCall, given: dict[str, str], index: int) -> Iterator[tuple[str, str]]:
    try:
        fill_feeds(call.arguments, given)
    except NotGiven as problem:
        yield f"calls[{index}].arguments", str(problem)


def _hidden_feeding(trajectory: Trajectory) -> Iterator[tuple[str, str]]:
    """An argument that only an earlier result shows is fed by it, whether the file says so or not.

    Unsaid, a sequential trajectory would pass for a parallel one.
    """
    calls = trajectory.query.calls
    for target, call in enumerate(calls):
        for leaf in _telling_leaves(call):
            for source in range(target):
                if _comes_from(leaf, calls[source]) and not _is_in(leaf, trajectory.query.query):
                    message = f"{leaf!r} is what call {source + 1} gives: feed it by {{{{name}}}}"
                    yield f"calls[{target}].arguments", message


def _telling_leaves(call: ReferenceCall) -> list[str]:
    """Arguments, as texts, that are equal to something by more than chance."""
    texts = [str(leaf) for leaf in leaves(call.arguments) if not isinstance(leaf, bool)]
    return [text for text in texts if _is_telling_leaf(text)]


def _is_telling_leaf(text: str) -> bool:
    if GIVEN.search(text):
        return False
    if one_number(text) is not None:
        return has_telling_number(text)
    return len(text) >= LONG_TEXT


def _comes_from(leaf: str, call: ReferenceCall) -> bool:
    """In its result, which does not merely echo what the call was told."""
    return _is_in(leaf, call.result) and not _is_in(leaf, as_text(call.arguments))


# --- the category ---------------------------------------------------------------------------


def _dependency(trajectory: Trajectory) -> Iterator[tuple[str, str]]:
    query, feeds = trajectory.query, trajectory.feeds
    count = len(query.calls)
    if query.dependency == "single" and count != 1:
        yield "calls", f"there are {count}; {query.category} has one"
    if query.dependency != "single" and count < 2:
        yield "calls", f"there is one; {query.category} has two or more"
    if query.dependency == "parallel" and feeds:
        target = feeds[0].target + 1
        what = f"is fed {feeds[0].name!r}" if feeds[0].name else "sees what another wrote"
        yield "calls", f"call {target} {what}: parallel calls wait for none"
    if query.dependency == "sequential":
        taking_part = {end for feed in feeds for end in (feed.source, feed.target)}
        for index in sorted(set(range(count)) - taking_part):
            yield f"calls[{index}]", "feeds no call and is fed by none: it is not in the sequence"
        for feed in feeds:
            text = trajectory.given.get(feed.name, "")
            if text and _is_in(text, query.query):
                message = f"{feed.name} is {text!r}, which the query says: nothing waits for it"
                yield f"calls[{feed.source}].gives.{feed.name}", message


def _scope(trajectory: Trajectory) -> Iterator[tuple[str, str]]:
    query = trajectory.query
    count = len(set(query.servers))
    wants_one = query.scope == "single-server" or query.dependency == "single"
    if wants_one and count != 1:
        yield "servers", f"there are {count}; {query.category} calls one"
    if not wants_one and count < 2:
        yield "servers", f"there is one; {query.category} calls two or more"
    elif query.category == "multi-server-sequential-call" and not _crosses_servers(trajectory):
        yield "calls", "no server's result is fed to another server"


def _crosses_servers(trajectory: Trajectory) -> bool:
    calls = trajectory.query.calls
    ends = [(calls[feed.source], calls[feed.target]) for feed in trajectory.feeds]
    return any(source.server != target.server for source, target in ends)


def _needed(trajectory: Trajectory) -> Iterator[tuple[str, str]]:
    """No call fewer would do."""
    for index in superfluous(trajectory):
        message = "could be left out: every value is in the other results, or needs none of it"
        yield f"calls[{index}]", message


def superfluous(trajectory: Trajectory) -> list[int]:
    """The calls, from 0, without any of which the answer would lose no value.

    A value is lost if its call, or one that had to be fed, is gone and no other result holds it.
    """
    found = []
    for index in range(len(trajectory.query.calls)):
        left = trajectory.without(index)
        if not any(_is_lost(value, trajectory, left) for value in trajectory.query.values):
            found.append(index)
    return found


def _is_lost(value: ReferenceValue, trajectory: Trajectory, left: Collection[int]) -> bool:
    if value.call - 1 in left:
        return False
    results = [trajectory.query.calls[index].result for index in left]
    return not any(stands_in(result, value.shown or value.text) for result in results)


# --- dead ends ------------------------------------------------------------------------------


def _dead_ends(trajectory: Trajectory) -> Iterator[tuple[str, str]]:
    """Each is a way that the query suggests, and leads to nothing that is asked."""
    query = trajectory.query
    for index, end in enumerate(query.dead_ends):
        key = f"dead_ends[{index}]"
        if end.server not in query.servers:
            yield f"{key}.server", f"{end.server!r} is none of the query's: it may not be offered"
        for name in sorted(fed_names(end) - trajectory.given.keys()):
            yield f"{key}.arguments", f"no call gives {{{{{name}}}}}"
        called = [(call.server, call.tool, call.arguments) for call in query.calls]
        if (end.server, end.tool, end.arguments) in called:
            yield key, "is a call of the trajectory: it leads on"
        if not any(stands(word, query.query) for word in _words_of(end)):
            hint = "a dead end is what somebody tries first who has read the query"
            yield f"{key}.arguments", f"no word of them stands in the query; {hint}"
        for value in query.values:
            if any(stands_in(end.result, text) for text in {value.text, value.shown or value.text}):
                yield f"{key}.result", f"holds {value.text!r}, a value: it is no dead end"


_TOLD_WORD = re.compile(r"(?<![^\W\d_])(?<!\.)[^\W\d_]{4,}")
"""`harbour` and `tariff` of `harbour/tariff-old.md`. Shorter ones are in a message by chance."""


def _words_of(end: DeadEnd) -> list[str]:
    """What its arguments say, but for what they are fed and SQL's own words, in capitals."""
    texts = [GIVEN.sub(" ", str(leaf)) for leaf in leaves(end.arguments)]
    return [word for text in texts for word in _TOLD_WORD.findall(text) if not word.isupper()]


# --- the answer -----------------------------------------------------------------------------


def _values(trajectory: Trajectory) -> Iterator[tuple[str, str]]:
    for index, value in enumerate(trajectory.query.values):
        key = f"values[{index}]"
        call = trajectory.query.calls[value.call - 1]
        shown = value.shown or value.text
        if not stands(shown, call.result):
            yield key, f"{shown!r} does not stand in the result of call {value.call}"
        if not stands(value.text, trajectory.query.reference_answer):
            yield key, f"{value.text!r} does not stand in the reference answer"
        if not _agrees(value):
            yield key, f"{value.text!r} is not {shown!r}, not within its tolerance"
        if stands_in(trajectory.query.query, value.text):
            yield key, f"{value.text!r} stands in the query: repeating it would be an answer"
        if stands_in(as_text(call.arguments), value.text):
            yield key, f"{value.text!r} is what call {value.call} was told: no result is needed"


def _judged(trajectory: Trajectory) -> Iterator[tuple[str, str]]:
    """The offline judge passes the reference answer itself."""
    query = trajectory.query
    for index, value in enumerate(compare_values(query, query.reference_answer)):
        if value.standing != "found" and stands(value.text, query.reference_answer):
            message = f"the offline judge calls {value.text!r} {value.standing} in the answer"
            yield f"values[{index}]", f"{message}: {value.said!r}"


_PLAIN_FIGURE = re.compile(r"(?<![\w./-])\d(?![\d.,]*[:/])")


def unasked(query: Query) -> tuple[str, ...]:
    """Figures, dates and times of the reference answer that no value has, in its order.

    An answer may say others instead. None of names such as `S-104`, or that the query has as well.
    """
    reference = without_markup(query.reference_answer)
    taken = [
        (one.start, one.end)
        for value in query.values
        for one in wanted(value.text).mentions(reference)
    ]
    moments = list(_moments(reference, without_markup(query.query)))
    free = [(start, end) for start, end, is_known in moments if not is_known]
    taken_figures = taken + [(start, end) for start, end, _ in moments]
    found = [span for span in free if not _touches(span, taken)]
    found += [span for span in _figures(query, reference) if not _touches(span, taken_figures)]
    return tuple(dict.fromkeys(reference[start:end].strip() for start, end in sorted(found)))


def _touches(span: tuple[int, int], others: Collection[tuple[int, int]]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in others)


def _moments(reference: str, asked: str) -> Iterator[tuple[int, int, bool]]:
    """Start and end of each date and time of the reference, and whether the query has it."""
    said_dates, said_times = list(dates(asked)), list(times(asked))
    for date in dates(reference):
        yield date.start, date.end, any(is_same_date(date, said) for said in said_dates)
    for time in times(reference):
        yield time.start, time.end, any(is_same_time(time, said) for said in said_times)


def _figures(query: Query, reference: str) -> Iterator[tuple[int, int]]:
    # Of a ratio, `5.8 to 1`, one says nothing.
    known = {1.0, *(one.number for one in quantities(query.query))}
    asked = (wanted(value.text).quantity for value in query.values)
    known |= {figure.number for figure in asked if figure}
    for one in quantities(reference):
        if _PLAIN_FIGURE.match(reference, one.start) and one.number not in known:
            yield one.start, one.end


def _agrees(value: ReferenceValue) -> bool:
    """False if text and result show one number each, and not the same: `12.34 kg`, `12.3400001`."""
    told, shown = one_number(value.text), one_number(value.shown or value.text)
    if told is None or shown is None:
        return True
    tolerance = half_of_last_digit(value.text) if value.tolerance is None else value.tolerance
    # A share may be shown as a fraction.
    wanted = [shown, shown * 100] if "%" in value.text else [shown]
    return any(abs(told - number) <= tolerance * (1 + 1e-9) for number in wanted)


def half_of_last_digit(text: str) -> float:
    """0.005 of `12.34 kg`, 0.5 of `1,200`."""
    fraction = re.search(r"\.(\d+)", text)
    digits = len(fraction[1]) if fraction else 0
    # Three digits at most: `4523e8854` in a digest is no power of ten, and none that a float holds.
    exponent = re.search(r"(?<![\w.])[\d.]+[eE]([+-]?\d{1,3})(?!\w)", text)
    return float(0.5 * 10 ** (int(exponent[1]) - digits if exponent else -digits))


# --- the query ------------------------------------------------------------------------------


def _names_no_tool(trajectory: Trajectory) -> Iterator[tuple[str, str]]:
    query = trajectory.query
    names = {*query.servers, *(call.tool for _, call in steps_of(query))}
    for name in sorted(names):
        if is_named(name, query.query):
            yield "query", f"names {name!r}: a user knows no tools"
    if stands("MCP", query.query):
        yield "query", "speaks of MCP: a user knows no tools"


def is_named(name: str, query: str) -> bool:
    """Does a message say a tool's or server's name, and mean it?"""
    # `convert` and `chess` are words that users say; `unit_converter` and `chess-mcp` are not.
    if name.isalpha() and name.islower():
        return re.search(rf"\b{name} (tool|server|function)\b", query, re.IGNORECASE) is not None
    return stands(name, query)


RULES: tuple[Rule, ...] = (
    _feeding,
    _hidden_feeding,
    _dependency,
    _scope,
    _needed,
    _dead_ends,
    _values,
    _judged,
    _names_no_tool,
)
