"""The scores of one task (seed 001, Evaluation Methodology).

Where the seed leaves room, what a user would call right was chosen:

- Each expected call is matched to at most one call of the agent, and each of those is used once.
  Of all assignments one is taken that matches most calls, then most arguments, then most names as
  they are written: the order of calls and repeated tools cost nothing here, `sequence_match` is for
  that.
- A tool that the label lists as similar counts as the expected one, and is reported. Where its own
  schema has other names for the arguments, their values are compared in the order of both schemas,
  a start before an end; names that its schema has not count for nothing.
- Names are compared with a server's prefix taken off (`mcp__s__t`, `s__t`, `s.t`), unless that is
  another server of the task.
- A label that expects no argument has all of them right: 1.0.
- Values are equal as JSON has them: 5 is 5.0, and true is not 1. `normalised` also takes "5" for 5,
  "False" for false and " x " for "x".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import Any, NamedTuple

from runner.benchmarks.toolbench.calls import ExtractedCall
from runner.benchmarks.toolbench.tasks import Expected, Task, fold_server

MIN_SELECTION = 0.8
MIN_PARAMETERS = 0.7
MOST_CALLS_RATIO = 1.5
NO_LABEL = "No ground truth function calls provided for evaluation"
NO_CALLS = "Agent made no tool calls"


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskScore:
    """What the answer to one task is worth."""

    resolved: bool
    tool_selection_accuracy: float = 0.0
    parameter_accuracy: float = 0.0
    sequence_match: bool = False
    error: str = ""
    """Why there is no score: the task has no label."""
    normalised_accuracy: float = 0.0
    """parameter_accuracy, with numbers as numbers and texts trimmed."""
    calls: int = 0
    expected: int = 0
    most_calls: int | None = None
    """How many calls may be made; None under the rules of another tool, which does not say."""
    similar: tuple[tuple[str, str], ...] = ()
    """(expected, used) where a similar tool stands for the expected one."""
    wrong: tuple[tuple[str, str], ...] = ()
    """(expected, taken instead): an expected tool that was not called, and the call left over in
    its place; empty where nothing was called instead."""
    unasked: int = 0
    """Arguments of matched calls that the label does not have. They cost nothing."""

    @property
    def details(self) -> str:
        """The sentence of seed 001, Example Output; empty where there is an error.

        Behind it stands how many calls were too many: nothing else in it tells why that failed.
        """
        if self.error:
            return ""
        if not self.calls:
            return NO_CALLS
        return (
            f"Tool selection: {self.tool_selection_accuracy:.1%}, "
            f"Parameter accuracy: {self.parameter_accuracy:.1%}, "
            f"Sequence match: {self.sequence_match}{self._too_many}"
        )

    @property
    def _too_many(self) -> str:
        if self.most_calls is None or self.calls <= self.most_calls:
            return ""
        return f", {self.calls} calls, {self.most_calls} allowed"


class _CallMatch(NamedTuple):
    expected: Expected
    call: ExtractedCall
    same_name: bool
    exact: int
    """Arguments that are right."""
    normalised: int
    unasked: int
    """Arguments that the label does not have."""

    @property
    def worth(self) -> tuple[int, int, bool]:
        return self.exact, self.normalised, self.same_name


def score(task: Task, calls: Sequence[ExtractedCall]) -> TaskScore:
    """The scores of a task's calls; never raises."""
    expected = task.expected
    if not expected:
        return TaskScore(resolved=False, error=NO_LABEL, calls=len(calls))
    if not calls:
        return TaskScore(
            resolved=False,
            expected=len(expected),
            wrong=tuple((call.name, "") for call in expected),
        )
    return _score(task, calls)


def _score(task: Task, calls: Sequence[ExtractedCall]) -> TaskScore:
    expected = task.expected
    plain = [bare_name(call.name, task) for call in calls]
    pairs = _assigned(task, calls, plain)
    matches = [pairs[place] for place in sorted(pairs)]
    total = sum([len(call.arguments) for call in expected])
    selection = len(matches) / len(expected)
    parameters = _share(sum([match.exact for match in matches]), total)
    normalised = _share(sum([match.normalised for match in matches]), total)
    most_calls = floor(len(expected) * MOST_CALLS_RATIO)
    few_enough = len(calls) <= most_calls
    return TaskScore(
        resolved=selection >= MIN_SELECTION and parameters >= MIN_PARAMETERS and few_enough,
        tool_selection_accuracy=selection,
        parameter_accuracy=parameters,
        sequence_match=_is_sequence(expected, plain),
        normalised_accuracy=normalised,
        calls=len(calls),
        expected=len(expected),
        most_calls=most_calls,
        similar=tuple((it.expected.name, it.call.name) for it in matches if not it.same_name),
        wrong=tuple(_wrong(expected, plain, pairs)),
        unasked=sum([match.unasked for match in matches]),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


# --- names --------------------------------------------------------------------------------------

_SEPARATORS = re.compile(r"__|\.|/|::?")
LONGEST_NAME = 256
"""Of a call; MCP's own limit is shorter. A longer one is nobody's name, and is left as it is."""


def bare_name(name: str, task: Task) -> str:
    """A call's name without its server: `mcp__maps__route`, `maps.route` as `route`.

    Left as it is if the task speaks of a tool of the whole name, or if the prefix is a server of
    the task that has no such tool.
    """
    if task.knows(name) or len(name) > LONGEST_NAME or not _SEPARATORS.search(name):
        return name
    plain = name.removeprefix("mcp__")
    splits = [(plain[: mark.start()], plain[mark.end() :]) for mark in _SEPARATORS.finditer(plain)]
    # A server's own name may hold the separator: `mcp__big__maps__route`.
    for server, tool in splits:
        if task.knows(tool):
            return tool if _may_be_of(server, tool, task) else name
    return splits[0][1] if splits else plain


def _may_be_of(server: str, tool: str, task: Task) -> bool:
    folded, owners = fold_server(server), task.owners_of(tool)
    # A record that does not say whose a tool is cannot say that it is another's.
    return folded in owners or "" in owners or folded not in task.servers


def _is_sequence(expected: Sequence[Expected], names: Sequence[str]) -> bool:
    return len(expected) == len(names) and all(map(Expected.accepts, expected, names))


# --- which call is meant for which --------------------------------------------------------------


def _assigned(
    task: Task, calls: Sequence[ExtractedCall], names: Sequence[str]
) -> dict[tuple[int, int], _CallMatch]:
    """(expected, call) by their places -> how well they match."""
    expected = task.expected
    possible: dict[tuple[int, int], _CallMatch] = {}
    for row, want in enumerate(expected):
        for column, name in enumerate(names):
            if want.accepts(name):
                possible[row, column] = _match(want, calls[column], name, task)
    if len(possible) < 2:
        return possible
    if len(expected) == 1:
        best = max(possible, key=lambda place: possible[place].worth)
        return {best: possible[best]}
    return _best_assignment(possible, len(expected))


def _match(want: Expected, call: ExtractedCall, name: str, task: Task) -> _CallMatch:
    exact = normalised = asked = 0
    arguments = call.arguments
    if name != want.name:
        arguments = _in_other_words(want, call, name, task)
    for key, value in want.arguments.items():
        if key not in arguments:
            continue
        asked += 1
        given = arguments[key]
        if equal(value, given):
            exact += 1
            normalised += 1
        elif equal(normal(value), normal(given)):
            normalised += 1
    unasked = len(call.arguments) - asked
    return _CallMatch(want, call, name == want.name, exact, normalised, unasked)


def _in_other_words(want: Expected, call: ExtractedCall, name: str, task: Task) -> dict[str, Any]:
    """What a similar tool was given under names that it has, and by the expected tool's.

    Paired by values, in the order of both schemas: two values that are exchanged stay wrong. A tool
    without a schema has no names of its own.
    """
    own = task.argument_names(name)
    if not own:
        return dict(call.arguments)
    order = {key: place for place, key in enumerate(task.argument_names(want.name))}
    sought = [key for key in want.arguments if key not in own]
    sought.sort(key=lambda key: order.get(key, len(order)))
    given = [key for key in own if key in call.arguments and key not in want.arguments]
    if _ends_of(sought) == _ends_of(given) == {"from", "to"}:
        # `route(to, from_)` for `route(origin, destination)`: a right call would be half wrong.
        sought, given = _start_first(sought), _start_first(given)
    # The expected tool's names count for nothing where the tool that is called has others.
    kept = {key: value for key, value in call.arguments.items() if key in own}
    pairs = _pairs(want, sought, call.arguments, given)
    return kept | {key: call.arguments[other] for key, other in pairs}


_NAME_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_ENDS = {
    **dict.fromkeys(("from", "origin", "source", "src", "start", "departure"), "from"),
    **dict.fromkeys(("to", "destination", "target", "dest", "dst", "end", "arrival"), "to"),
}


def _end_of(name: str) -> str:
    """`fromCity` is where something starts ("from"), `dest_id` where it ends ("to"); else ""."""
    ends = {_ENDS.get(part.lower(), "") for part in _NAME_PART.findall(name)} - {""}
    return ends.pop() if len(ends) == 1 else ""


def _ends_of(names: Iterable[str]) -> set[str]:
    return set(map(_end_of, names)) - {""}


def _start_first(names: Sequence[str]) -> list[str]:
    """Names of ends change places among themselves until each start stands before each end."""
    ends = iter(sorted(filter(_end_of, names), key=_end_of))
    return [next(ends) if _end_of(name) else name for name in names]


def _pairs(
    want: Expected, sought: Sequence[str], arguments: Mapping[str, Any], given: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """The longest that both orders allow, of keys whose values are alike."""
    best: list[tuple[tuple[str, str], ...]] = [()] * (len(given) + 1)
    for key in reversed(sought):
        value, row = normal(want.arguments[key]), [*best]
        for place in reversed(range(len(given))):
            row[place] = max(row[place + 1], best[place], key=len)
            if equal(value, normal(arguments[given[place]])):
                row[place] = max(row[place], ((key, given[place]), *best[place + 1]), key=len)
        best = row
    return best[0]


def _best_assignment(
    possible: Mapping[tuple[int, int], _CallMatch], rows: int
) -> dict[tuple[int, int], _CallMatch]:
    # Imported here: tasks of one call, all that are published, do without.
    import numpy as np  # noqa: PLC0415
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415

    used = sorted({column for _, column in possible})
    place_of = {column: place for place, column in enumerate(used)}
    most = max(len(match.expected.arguments) for match in possible.values())
    worth = np.zeros((rows, len(used)))
    for (row, column), match in possible.items():
        worth[row, place_of[column]] = _weight(match, rows, most)
    chosen = zip(*linear_sum_assignment(worth, maximize=True), strict=True)
    places = [(int(row), used[int(place)]) for row, place in chosen]
    return {place: possible[place] for place in places if place in possible}


def _weight(match: _CallMatch, rows: int, most: int) -> float:
    """One more of each kind outweighs all that an assignment can have of the kinds below it.

    In order: matched calls, right arguments, these normalised, names as they are written.
    """
    base = rows * max(most, 1) + 1
    digits = (1, *match.worth)
    return float(sum(digit * base**place for place, digit in enumerate(reversed(digits))))


def _wrong(
    expected: Sequence[Expected], names: Sequence[str], pairs: Mapping[tuple[int, int], _CallMatch]
) -> list[tuple[str, str]]:
    """Expected tools that nobody called, each with the next call that is left over."""
    if len(pairs) == len(expected):
        return []
    matched_rows = {row for row, _ in pairs}
    matched_columns = {column for _, column in pairs}
    left_over = (name for column, name in enumerate(names) if column not in matched_columns)
    missed = [call for row, call in enumerate(expected) if row not in matched_rows]
    return [(call.name, next(left_over, "")) for call in missed]


# --- values -------------------------------------------------------------------------------------

_WHOLE = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,299})")
"""`007` is no number: a code, a postal code, a telephone."""
_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,99})(?:\.[0-9]{1,100})?(?:[eE][+-]?[0-9]{1,2})?")
_WORDS = {"true": True, "false": False, "null": None, "none": None}


def equal(one: Any, other: Any) -> bool:
    """As JSON values: 5 is 5.0, true is not 1, and objects have no order."""
    if one is other:
        return True
    if isinstance(one, bool) or isinstance(other, bool):
        return False
    if isinstance(one, dict):
        same = isinstance(other, dict) and one.keys() == other.keys()
        return same and all(equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        same = isinstance(other, list) and len(one) == len(other)
        return same and all(map(equal, one, other))
    return bool(one == other)


def normal(value: Any) -> Any:
    """A value without its form: numbers as numbers, trimmed texts, "False" as false."""
    if isinstance(value, str):
        return _normal_text(value.strip())
    if isinstance(value, dict):
        return {key: normal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [normal(item) for item in value]
    return value


def _normal_text(text: str) -> Any:
    if _WHOLE.fullmatch(text):
        # As a float, two long ids that differ in their last digit would be one.
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    return _WORDS.get(text.lower(), text)
