"""A reference trajectory: what its calls give, what later ones are fed, and texts that stand in
texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from runner.benchmarks.agentbench.queries import GIVEN, DeadEnd, Query, ReferenceCall
from runner.records import load_json

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\.?\d)")
"""Not a part of `100.64.77.140` or `1.2.3`."""
TELLING_DIGITS = 3
"""A number of fewer digits is found in nearly every text by chance."""


class NotGiven(Exception):  # noqa: N818 - it says what is wrong with a trajectory
    """What a call needs was not given, or not found in a result. Its text says which."""


# --- what is executed -----------------------------------------------------------------------

Step = tuple[str, ReferenceCall | DeadEnd]
"""A key of the query, such as `calls[2]`, and what is called there."""


def steps_of(query: Query) -> list[Step]:
    """The trajectory, and each dead end in it as soon as what it is fed by is given.

    An agent that knows no better goes there first; the calls behind show that it can turn back.
    """
    steps: list[tuple[tuple[int, int], str, ReferenceCall | DeadEnd]] = []
    for index, call in enumerate(query.calls):
        steps.append(((index, 1), f"calls[{index}]", call))
    for index, end in enumerate(query.dead_ends):
        steps.append(((_calls_before(end, query.calls), 0), f"dead_ends[{index}]", end))
    return [(key, call) for _, key, call in sorted(steps, key=itemgetter(0))]


def _calls_before(end: DeadEnd, calls: Sequence[ReferenceCall]) -> int:
    names = fed_names(end)
    return max(
        (index for index, call in enumerate(calls, 1) if names & call.gives.keys()), default=0
    )


# --- feeding --------------------------------------------------------------------------------


def given_by(call: ReferenceCall, result: str) -> dict[str, str]:
    """Name -> what the call's patterns find in the result. Raises NotGiven if one finds nothing."""
    given = {}
    for name, pattern in call.gives.items():
        found = re.search(pattern, result, re.MULTILINE)
        if found is None or found[1] is None:
            raise NotGiven(f"gives.{name}: {pattern!r} is not found in the result")
        given[name] = found[1]
    return given


def fed_names(call: ReferenceCall | DeadEnd) -> set[str]:
    """The names that its arguments are fed by."""
    return {name for text in leaves(call.arguments) for name, _ in GIVEN.findall(str(text))}


def fill_feeds(value: Any, given: Mapping[str, str]) -> Any:
    """An argument with every `{{name}}` replaced. Raises NotGiven for a name that nothing gave."""
    if isinstance(value, str):
        whole = GIVEN.fullmatch(value)
        if whole is not None:
            return _as_value(_given(whole[1], given), whole[2])
        return GIVEN.sub(lambda found: _given(found[1], given), value)
    if isinstance(value, Mapping):
        return {key: fill_feeds(item, given) for key, item in value.items()}
    if isinstance(value, list):
        return [fill_feeds(item, given) for item in value]
    return value


def _given(name: str, given: Mapping[str, str]) -> str:
    if name not in given:
        raise NotGiven(f"no earlier call gives {{{{{name}}}}}")
    return given[name]


def _as_value(text: str, form: str | None) -> Any:
    """A number if it reads as one and nothing else was asked for."""
    if form == "text":
        return text
    try:
        value = load_json(text)
    except ValueError as error:
        if form == "json":
            raise NotGiven(f"{text!r} is no JSON value") from error
        return text
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number or form == "json" else text


def leaves(value: Any) -> Iterator[Any]:
    """Every text, number, truth value and null inside."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from leaves(item)
    else:
        yield value


# --- texts in texts -------------------------------------------------------------------------


def stands(wanted: str, text: str) -> bool:
    """Does it stand there as a whole: `12.3` not in `12.34` or `-12.3`, `car` not in `scar`?

    Case and the width of spaces do not count.
    """
    wanted = wanted.strip()
    words = r"\s+".join(map(re.escape, wanted.split()))
    before = r"(?<!\w)" if re.match(r"\w", wanted) else ""
    after = r"(?!\w)" if re.search(r"\w$", wanted) else ""
    if re.match(r"\d", wanted):
        before += r"(?<!\d\.)(?<!\W-)(?<!^-)"
    if re.search(r"\d$", wanted):
        after += r"(?!\.\d)"
    # A comma belongs to a number of three digits or fewer; else it divides fields: `29,07:52,Graz`.
    if re.match(r"\d{1,3}(?![\d:/-])", wanted):
        before += r"(?<!\d,)"
    if re.search(r"(?<![\d:/-])\d+$", wanted):
        after += r"(?!,\d)"
    return bool(words) and re.search(before + words + after, text, re.IGNORECASE) is not None


def numbers(text: str) -> list[float]:
    """Every number in a text: `1,234.5`, `-3`, `6.02e23`, `12` of `12kg`."""
    return [float(found.replace(",", "")) for found in NUMBER.findall(text)]


def one_number(text: str) -> float | None:
    """The number of `12.34 kg`; None if the text holds none, or several."""
    found = numbers(text)
    return found[0] if len(found) == 1 else None


def stands_in(text: str, wanted: str) -> bool:
    """Does it stand there, or its number, if that is long enough not to stand there by chance?"""
    if stands(wanted, text):
        return True
    number = one_number(wanted)
    return number is not None and has_telling_number(wanted) and number in numbers(text)


def has_telling_number(text: str) -> bool:
    """Has its number enough digits not to be in a text by chance?"""
    mantissa = "".join(NUMBER.findall(text)[:1]).lower().partition("e")[0]
    return len(re.sub(r"\D", "", mantissa).strip("0")) >= TELLING_DIGITS


def as_text(arguments: Mapping[str, Any]) -> str:
    """Arguments as a text to look into."""
    return json.dumps(arguments, ensure_ascii=False)
