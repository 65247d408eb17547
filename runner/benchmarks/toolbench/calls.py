"""The tool calls in what a model answered: native ones, JSON in any shape, or patterns in text.

Nothing that a model can write raises. How the calls were found is recorded, and so is what could
not be read as one. In text, in this order:

1. the whole text is JSON;
2. JSON stands in it: the last list of calls, for a model that drafts repeats itself; else every
   single call, in order;
3. patterns of calls to tools that the task offers: `tool(a=1, b="x")`, `Action: tool` with an
   `Action Input:` below it, `tool {"a": 1}`.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from runner.benchmarks.toolbench.brackets import JSON, PYTHON, bracketed, closed_at

Way = Literal["native", "json", "json in text", "text", "none"]

LONGEST_TEXT = 16_000_000
"""Characters that are read; a longer answer is no list of calls."""
MOST_CALLS = 100_000
DEEPEST = 6
"""Lists within lists in which calls are looked for."""
MOST_RESTARTS = 32
"""Brackets that nothing closes, behind each of which the text is read anew."""
_NAME_KEYS = ("name", "tool", "tool_name", "function_name", "function", "action")
_ARGUMENT_KEYS = (
    "parameters",
    "arguments",
    "input",
    "args",
    "params",
    "kwargs",
    "tool_input",
    "action_input",
)
_WRAPPERS = ("function", "functionCall", "function_call", "tool_use")
"""Keys of OpenAI, Gemini and Bedrock, under which the call itself lies."""
_LIST_KEYS = ("tool_calls", "toolCalls", "calls", "function_calls", "actions")
_LONE_HALF = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
"""Half of a character: JSON takes it, and no file in UTF-8 can be written with it."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call as the model asked for it."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """What was read of one answer."""

    way: Way
    calls: tuple[Call, ...] = ()
    remarks: tuple[str, ...] = field(default=())
    """What is odd about it, in words; each once."""


NOTHING = Extraction(way="none")


def calls_of(answer: Any, tools: Collection[str] = ()) -> Extraction:
    """The calls of an answer: a text, or JSON that has been read already.

    `tools`: names that the task offers; text patterns are looked for with these alone.
    """
    if isinstance(answer, str):
        return _calls_of_text(answer, tools)
    reader = _Reader(tools)
    calls = reader.calls(answer)
    return _extraction("json", calls, reader)


def native_calls(calls: Iterable[tuple[str, Mapping[str, Any]]]) -> Extraction:
    """Of a transcript: the name and the arguments of each, as the provider's API gave them."""
    found = tuple(Call(name, arguments) for name, arguments in calls)
    return Extraction(way="native" if found else "none", calls=found)


def _extraction(way: Way, calls: list[Call], reader: _Reader) -> Extraction:
    return Extraction(
        way=way if calls else "none", calls=tuple(calls), remarks=tuple(reader.remarks)
    )


def _calls_of_text(text: str, tools: Collection[str]) -> Extraction:
    if len(text) > LONGEST_TEXT:
        remark = f"longer than {LONGEST_TEXT:,} characters: not read"
        return Extraction(way="none", remarks=(remark,))
    text = text.removeprefix("\ufeff")
    reader = _Reader(tools)
    value = reader.parsed(text)
    if value is not _UNREADABLE:
        return _extraction("json", reader.calls(value), reader)
    calls = _calls_of_parts(text, reader)
    if calls:
        return _extraction("json in text", calls, reader)
    return _extraction("text", list(_written_calls(text, reader)), reader)


def _calls_of_parts(text: str, reader: _Reader) -> list[Call]:
    single: list[Call] = []
    listed: list[Call] = []
    for part in _json_parts(text):
        value = reader.parsed(part)
        calls = reader.calls(value, quiet=True)
        if calls and _is_list_of_calls(value):
            listed = calls
        else:
            single += calls
    return listed or single


def _is_list_of_calls(value: Any) -> bool:
    return isinstance(value, list) or any(key in value for key in _LIST_KEYS)


# --- JSON ---------------------------------------------------------------------------------------

_UNREADABLE: Any = object()


class _Reader:
    """Finds calls in JSON values, and remembers what was odd."""

    def __init__(self, tools: Collection[str]) -> None:
        self.tools = tools
        self.remarks: dict[str, None] = {}

    def remark(self, text: str) -> None:
        self.remarks[text] = None

    def parsed(self, text: str) -> Any:
        """The value of a JSON text; _UNREADABLE if it is none."""
        if "\\u" in text:
            text = _LONE_HALF.sub(r"\\ufffd", text)
        try:
            return json.loads(text, parse_constant=self._constant, object_pairs_hook=self._object)
        except RecursionError:
            self.remark("JSON nested too deeply to be read")
        except ValueError:
            pass
        return _UNREADABLE

    def _constant(self, name: str) -> str:
        # As a number it would make the result's own file no JSON.
        self.remark(f"{name} is no JSON: taken as a text")
        return name

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            self.remark("a key stands twice in one object: the last counts")
        return made

    def calls(self, value: Any, *, quiet: bool = False) -> list[Call]:
        """`quiet` leaves out remarks on what is no call: prose quotes other JSON too."""
        found: list[Call] = []
        self._collect(value, found, depth=0, quiet=quiet)
        if len(found) > MOST_CALLS:
            self.remark(f"more than {MOST_CALLS:,} calls: the rest was not read")
            del found[MOST_CALLS:]
        return found

    def _collect(self, value: Any, found: list[Call], *, depth: int, quiet: bool) -> None:
        if isinstance(value, Mapping):
            self._collect_object(value, found, depth=depth, quiet=quiet)
        elif isinstance(value, list) and depth < DEEPEST:
            for item in value:
                self._collect(item, found, depth=depth + 1, quiet=quiet)
        elif not quiet:
            self.remark(f"{_kind(value)} stands where a call is expected")

    def _collect_object(
        self, value: Mapping[str, Any], found: list[Call], *, depth: int, quiet: bool
    ) -> None:
        for key in _LIST_KEYS:
            if key in value and not isinstance(value.get("name"), str):
                self._collect(value[key], found, depth=depth + 1, quiet=quiet)
                return
        call = self._call(value)
        if call is not None:
            # Prose quotes objects with a name that are no calls: {"name": "Ada", "age": 36}.
            if not quiet or self._may_be_call(call, value):
                found.append(call)
        elif not quiet:
            self.remark("an object without a tool's name stands where a call is expected")

    def _may_be_call(self, call: Call, value: Mapping[str, Any]) -> bool:
        if any(key in value for key in (*_ARGUMENT_KEYS, *_WRAPPERS)):
            return True
        return _is_offered(call.name, self.tools)

    def _call(self, value: Mapping[str, Any]) -> Call | None:
        for key in _WRAPPERS:
            inner = value.get(key)
            if isinstance(inner, Mapping):
                return self._call(inner) if key not in inner else None
        for key in _NAME_KEYS:
            name = value.get(key)
            if isinstance(name, str) and name.strip():
                return Call(name.strip(), self._arguments(value))
        return self._keyed_call(value)

    def _keyed_call(self, value: Mapping[str, Any]) -> Call | None:
        """`{"get_price": {"symbol": "X"}}`: the key is one of the task's tools."""
        if len(value) != 1:
            return None
        name, arguments = next(iter(value.items()))
        if name not in self.tools or not isinstance(arguments, Mapping):
            return None
        return Call(name, arguments)

    def _arguments(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        for key in _ARGUMENT_KEYS:
            if key in value:
                return self._as_arguments(value[key])
        return {}

    def _as_arguments(self, arguments: Any) -> Mapping[str, Any]:
        if isinstance(arguments, Mapping):
            return arguments
        if arguments is None:
            self.remark("a call's arguments are null: taken as none")
            return {}
        if isinstance(arguments, str):
            return self.arguments_of_text(arguments)
        self.remark(f"a call's arguments are {_kind(arguments)}: taken as none")
        return {}

    def arguments_of_text(self, text: str) -> Mapping[str, Any]:
        if not text.strip():
            return {}
        value = self.parsed(text)
        if isinstance(value, Mapping):
            return value
        self.remark("a call's arguments are a text that is no JSON object: taken as none")
        return {}


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {str: "a text", bool: "a boolean", int: "a number", float: "a number", list: "a list"}
    return names.get(type(value), "something")


# --- JSON in a text -----------------------------------------------------------------------------


def _json_parts(text: str) -> Iterator[str]:
    """The outermost bracketed parts of a text, in order. Linear, whatever the text."""
    begin = 0
    for _ in range(MOST_RESTARTS):
        opened = -1
        for first, end in bracketed(text, JSON, begin):
            if end is None:
                opened = first
            else:
                yield text[first:end]
        if opened < 0:
            return
        begin = opened + 1  # "see [the list {…}": nothing closes it, and it hides what follows


# --- patterns in a text -------------------------------------------------------------------------

_CALLED = re.compile(r"(?<![\w.])(?P<name>[A-Za-z_][\w.-]{0,127})\s?(?=[({])")
_ACTION = re.compile(
    r"""
    \b(?:action|tool|function)(?:[ _]?name)?[*_`]{0,3}\s?[:=]\s?[*_`"']{0,3}
    (?P<name>[A-Za-z_][\w.-]{0,127})
    (?:[^\S\n]{0,8}[*_`"',]{0,4}[^\S\n]{0,8}\n?[^\S\n]{0,8}
       [*_]{0,3}(?:action[ _]input|input|arguments|parameters|params|args)[*_`]{0,3}\s?[:=]\s{0,4}
       (?:```\w{0,10}\s)?(?P<brace>\{)?
    )?
    """,
    re.I | re.X,
)
_LONGEST_ARGUMENTS = 20_000
"""Characters between a written call's brackets."""


def _written_calls(text: str, reader: _Reader) -> Iterator[Call]:
    actions = list(_actions(text, reader))
    if actions:
        yield from actions
        return
    end = 0
    for written in _CALLED.finditer(text):
        if written.start() < end or not _is_offered(written["name"], reader.tools):
            continue
        inside = _inside_brackets(text, written.end())
        if inside is None:
            continue
        end = written.end() + len(inside) + 2
        arguments = _written_arguments(inside, text[written.end()], reader)
        if arguments is not None:
            yield Call(written["name"], arguments)


def _actions(text: str, reader: _Reader) -> Iterator[Call]:
    for action in _ACTION.finditer(text):
        name = action["name"].rstrip(".")
        if not _is_offered(name, reader.tools):
            continue
        arguments: Mapping[str, Any] = {}
        if action["brace"]:
            inside = _inside_brackets(text, action.start("brace"))
            arguments = reader.arguments_of_text("{" + (inside or "") + "}")
        yield Call(name, arguments)


def _is_offered(name: str, tools: Collection[str]) -> bool:
    """Only the task's own tools: any other word before a bracket is prose, or code."""
    if name in tools:
        return True
    tail = re.split(r"__|\.", name)[-1]
    return tail in tools


def _inside_brackets(text: str, at: int) -> str | None:
    """What stands between the bracket at `at` and the one that closes it."""
    part = text[at : at + _LONGEST_ARGUMENTS]
    end = closed_at(part, PYTHON)
    if end is None:
        return None
    return part[1 : end - 1]


def _written_arguments(inside: str, bracket: str, reader: _Reader) -> Mapping[str, Any] | None:
    """`symbol="X", n=5` as Python writes it, or a JSON object; None for anything else."""
    inside = inside.strip()
    if not inside:
        return {}
    if bracket == "{" or inside.startswith("{"):
        value = reader.parsed(inside if inside.startswith("{") else "{" + inside + "}")
        return value if isinstance(value, Mapping) else None
    try:
        return dict(_keywords(inside))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _keywords(inside: str) -> Iterator[tuple[str, Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's remarks on a model's backslashes are no news
        call = ast.parse(f"f({inside})", mode="eval").body
    if isinstance(call, ast.Call):
        for word in call.keywords:
            if word.arg:
                yield word.arg, _literal(word.value)


_JSON_NAMES = {"true": True, "false": False, "null": None}


def _literal(node: ast.expr) -> Any:
    """A value as Python or as JSON writes it. Raises ValueError for anything else."""
    if isinstance(node, ast.Name) and node.id in _JSON_NAMES:
        return _JSON_NAMES[node.id]
    return ast.literal_eval(node)
