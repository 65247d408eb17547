"""JSON that anybody may have written -> values that every later step can hold, compare and write.

Python's reader takes NaN, infinities, half characters and numbers of any length, none of which can
be written again; and fails at deep nesting with an error of its own. Here each of these becomes
something harmless, and is remarked on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

DEEPEST = 100
"""Levels of nesting. What writes results takes 255 in all."""
TWICE_DEEPEST = 2 * DEEPEST
MOST_DIGITS = 300
"""Of a whole number."""
_LONE_HALF = re.compile(
    r"(?<!\\)((?:\\\\){0,8}+)(?:"
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)
"""Half of a character: JSON takes it, and no file in UTF-8 can be written with it."""

Remark = Callable[[str], None]


class UnreadableError(ValueError):
    """It is no JSON, or nothing that could be kept."""


def _nobody(_: str) -> None:
    pass


def parse_lenient_json(text: str, remark: Remark = _nobody) -> Any:
    """The value of a JSON text. Raises UnreadableError."""
    text = without_lone_halves(text).removeprefix("\ufeff")
    try:
        value = _decoded(text, remark)
    except RecursionError as error:
        raise _too_deep(remark) from error
    except ValueError as error:
        raise UnreadableError(str(error)) from error
    if may_be_deep(text) and is_too_deep(value):
        raise _too_deep(remark)
    return value


def read_of_any_depth(text: str, remark: Remark = _nobody) -> Any:
    """As `parse_lenient_json`, for a file of many values of which one may be nested too deeply.

    That one is still nested more than DEEPEST levels, so that whoever reads it by itself refuses
    it alone; what lies deeper than TWICE_DEEPEST is null. Raises UnreadableError.
    """
    text = without_lone_halves(text).removeprefix("\ufeff")
    try:
        try:
            return _decoded(text, remark)
        except RecursionError:
            return _decoded("".join(_shallow_parts(text)), remark)
    except ValueError as error:
        raise UnreadableError(str(error)) from error


def read_part(text: str, begin: int) -> tuple[Any, int]:
    """The value that begins there, and where it ends.

    Raises UnreadableError also for one that there is something to remark on, which
    `parse_lenient_json` has to read.
    """
    try:
        value, end = _PLAIN.raw_decode(text, begin)
    except (_OddError, ValueError, RecursionError) as error:
        raise UnreadableError(str(error)) from error
    if may_be_deep(text[begin:end]) and is_too_deep(value):
        raise UnreadableError("it is nested too deeply")
    return value, end


def _decoded(text: str, remark: Remark) -> Any:
    try:
        return _PLAIN.decode(text)
    except _OddError:
        return decoder(remark).decode(text)


def _too_deep(remark: Remark) -> UnreadableError:
    message = f"JSON nested more than {DEEPEST} levels deep is not read"
    remark(message)
    return UnreadableError(message)


def as_read(value: Any, remark: Remark = _nobody) -> Any:
    """A value that another reader made, as this one would have. Raises UnreadableError."""
    try:
        text = json.dumps(value)
    except RecursionError as error:
        raise _too_deep(remark) from error
    except (ValueError, TypeError) as error:
        raise UnreadableError(str(error)) from error
    return parse_lenient_json(text, remark)


def decoder(remark: Remark = _nobody) -> json.JSONDecoder:
    """Reads what Python's own does, into values that can be written again."""

    def constant(name: str) -> str:
        remark(f"{name} is no JSON: taken as a text")
        return name

    def integer(digits: str) -> int | str:
        if len(digits) <= MOST_DIGITS:
            return int(digits)
        remark(f"a number of more than {MOST_DIGITS} digits: taken as a text")
        return digits

    def real(digits: str) -> float | str:
        value = float(digits)
        if value - value == 0.0:
            return value
        remark("a number too large to be held: taken as a text")
        return digits

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            remark("a key stands twice in one object: the last counts")
        return found

    return json.JSONDecoder(
        strict=False,  # a line break in a text
        parse_constant=constant,
        parse_int=integer,
        parse_float=real,
        object_pairs_hook=made,
    )


class _OddError(Exception):
    """There is something to remark on."""


def _refuse(_: str) -> Any:
    raise _OddError


_PLAIN = decoder(_refuse)
"""Knows nobody to tell, and can be kept: to make a decoder takes as long as to read an answer."""


def without_lone_halves(text: str) -> str:
    """With U+FFFD for each half character, written out or escaped."""
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if "\\u" in text:
        text = _LONE_HALF.sub(r"\1\\ufffd", text)
    return text


# --- depth --------------------------------------------------------------------------------------


def may_be_deep(text: str) -> bool:
    """False where a text has too few brackets to be: then nothing need be walked."""
    return text.count("[") + text.count("{") > DEEPEST


_NESTS = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\Z)|[\[\]{}]', re.S)
"""A text, in which brackets mean nothing, or a bracket."""


_CLOSED_BY = {"[": "]", "{": "}"}


def _shallow_parts(text: str) -> Iterator[str]:
    """The text with null for each list and object deeper than TWICE_DEEPEST."""
    depth = begin = 0
    for found in _NESTS.finditer(text):
        if found[0] in ("[", "{"):
            depth += 1
            if depth == TWICE_DEEPEST + 1:
                yield text[begin : found.start()] + "null"
        elif found[0] in ("]", "}"):
            if depth == TWICE_DEEPEST + 1:
                begin = found.end()
            depth = max(0, depth - 1)
    if depth <= TWICE_DEEPEST:
        yield text[begin:]


def closed_anew(text: str) -> str:
    """With the closing brackets that were forgotten before another one, or at the end."""
    opened: list[str] = []
    parts: list[str] = []
    begin = 0
    for found in _NESTS.finditer(text):
        if found[0] in _CLOSED_BY:
            opened.append(_CLOSED_BY[found[0]])
        elif found[0] in opened:
            parts.append(text[begin : found.start()])
            begin = found.start()
            while (forgotten := opened.pop()) != found[0]:
                parts.append(forgotten)
    return "".join([*parts, text[begin:], *reversed(opened)])


def is_too_deep(value: Any) -> bool:
    """Level by level: a function that calls itself would meet Python's own limit first."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = list(_children(level))
        if not level:
            return False
    return True


def _children(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, Mapping):
            yield from value.values()
        elif isinstance(value, list):
            yield from value
