"""The tool calls in what a model answered: native ones, JSON in any shape, or patterns in text.

Nothing that a model can write raises. How the calls were found is recorded, and so is what could
not be read as one. In text, in this order:

1. the whole text is JSON;
2. JSON stands in it: the last list of calls, for a model that drafts repeats itself; else every
   single call, in order;
3. patterns of calls to tools that the task offers (calls_in_prose.py).

Before the second stands XML that models were taught (call_markup.py). What is thought aloud, denied
or repeated of a result is no call.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

import yaml

from runner.benchmarks.toolbench.brackets import FENCE, JSON, ScanBudget, bracketed
from runner.benchmarks.toolbench.call_markup import (
    TextCall,
    is_offered,
    marked_calls,
    python_value,
    schemas_of,
    without_asides,
)
from runner.benchmarks.toolbench.calls_in_prose import written_calls
from runner.benchmarks.toolbench.explained_calls import is_explained, is_taken_back
from runner.benchmarks.toolbench.lenient_json import (
    Remark,
    UnreadableError,
    as_read,
    closed_anew,
    parse_lenient_json,
    read_part,
    without_lone_halves,
)
from runner.benchmarks.toolbench.made_calls import (
    calls_made,
    is_alone,
    is_mentioned,
    is_told_of,
    own_text,
)

CallFormat = Literal["native", "json", "json in text", "text", "none"]

LONGEST_TEXT = 16_000_000
"""Characters that are read; a longer answer is no list of calls."""
MOST_CALLS = 1_000
"""Of one answer. No task expects more than a few, and one call too many already fails it."""
DEEPEST_LIST = 10
"""Lists within lists in which calls are looked for."""
MOST_RESTARTS = 32
"""Brackets that nothing closes, behind each of which the text is read anew."""
MOST_WHOLE = 100
"""JSON values in a text that are read before its brackets are counted."""
MOST_PYTHON = 20_000
"""Characters of a value as Python writes it."""
_NAME_KEYS = ("name", "tool", "tool_name", "function_name", "function", "action")
_ARGUMENT_KEYS = tuple(
    "parameters arguments input args params kwargs tool_input action_input".split()
)
_WRAPPERS = ("function", "functionCall", "function_call", "tool_use", "toolUse", "tool_call")
"""Keys of OpenAI, Gemini, Anthropic and Bedrock, under which the call itself lies."""
_BESIDE = frozenset({*_NAME_KEYS, "id", "call_id", "type", "index"})
"""Of a call, and none of its arguments."""
_COMMANDS = ("command", "tool")
"""AutoGPT's; other objects have such keys too, and no arguments in them."""
_RECIPIENT = "recipient_name"
"""OpenAI's, of calls that are made at once; alone, it is an argument of many tools."""
_LIST_KEYS = ("tool_calls", "toolCalls", "calls", "function_calls", "actions", "tool_uses")
_REPLY_KEYS = ("choices", "candidates", "message", "output", "content", "parts")
"""Of a whole reply of an API, outermost first."""
_OUTER_KEYS = (*_LIST_KEYS, *_REPLY_KEYS)
_INNER_KEYS = (*_WRAPPERS, *_COMMANDS)
_ANY_OUTER, _ANY_INNER = frozenset(_OUTER_KEYS), frozenset(_INNER_KEYS)
"""Most objects have none: that is seen at once, where a text holds a hundred thousand."""
_RESULT_KEYS = frozenset({"content", "result", "output", "response"})
_ASIDE_TYPES = frozenset(
    {"tool_result", "function_call_output", "thinking", "reasoning", "mcp_tool_result"}
)
_REDRAFTED = re.compile(
    r"\b(?:final|ignore|draft|actually|correct|instead|better|revis|wait|no)", re.I
)
MOST_BETWEEN = 2_000
"""Characters between two lists that belong together."""
_MISCOUNTED = re.compile(rf"[\[{{].{{0,{MOST_PYTHON}}}[\]}}](?=\s{{0,40}}(?:</|```|\Z))", re.S)
_YAML = re.compile(r"```ya?ml[^\S\n]{0,8}\n")
MOST_LEAD = 240
"""Characters in front of arguments in which their tool is named."""
_WORD = re.compile(r"[\w.-]*\w")
_OPENS = re.compile(r"(?<!\\)(?:\\\\)*+([\[{])")
_BEGINS = frozenset('[{"-0123456789tfnNI')
"""Of a JSON value, NaN and Infinity included."""
_SCHEMA_KEYS = frozenset({"input_schema", "inputSchema", "outputSchema"})
_ANSWERS = frozenset({"final answer", "final_answer"})
"""What agents that act in JSON write where they call nothing any more."""


@dataclass(frozen=True, slots=True)
class ExtractedCall:
    """A call as the model asked for it."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """What was read of one answer."""

    way: CallFormat
    calls: tuple[ExtractedCall, ...] = ()
    remarks: tuple[str, ...] = field(default=())
    """What is odd about it, in words; each once."""


NO_CALLS = Extraction(way="none")


def calls_of(answer: Any, tools: Collection[str] = ()) -> Extraction:
    """The calls of an answer: a text, or JSON that has been read already. Never raises.

    `tools`: names that the task offers; text patterns are looked for with these alone. With the
    schemas of their arguments (name -> argument -> schema) those without names are read as well.
    """
    reader = _CallFinder(tools)
    if isinstance(answer, str):
        return _calls_of_text(answer, reader)
    try:
        value = as_read(answer, reader.remark)
    except UnreadableError as error:
        reader.remark(f"it cannot be read: {error}")
        return _extraction("none", [], reader)
    return _extraction("json", reader.calls(value), reader)


def native_calls(calls: Iterable[tuple[str, Any]]) -> Extraction:
    """The name and the arguments of each, as a provider's API gave them. Never raises."""
    reader = _CallFinder(())
    found = [ExtractedCall(name, reader.arguments(arguments)) for name, arguments in calls]
    return _extraction("native", found, reader)


def _extraction(way: CallFormat, calls: list[ExtractedCall], reader: _CallFinder) -> Extraction:
    return Extraction(
        way=way if calls else "none", calls=tuple(calls), remarks=tuple(reader.remarks)
    )


def _calls_of_text(text: str, reader: _CallFinder) -> Extraction:
    if len(text) > LONGEST_TEXT:
        reader.remark(f"longer than {LONGEST_TEXT:,} characters: not read")
        return _extraction("none", [], reader)
    text = without_lone_halves(text)
    if text.lstrip("\ufeff \t\r\n")[:1] not in _BEGINS:
        # Most prose ends here: an error made for it takes longer than the look.
        return _calls_in_text(text, reader)
    try:
        value = parse_lenient_json(text, reader.remark)
    except UnreadableError:
        return _calls_in_text(text, reader)
    return _extraction("json", reader.calls(value), reader)


def _calls_in_text(text: str, reader: _CallFinder) -> Extraction:
    text = without_asides(own_text(text))
    marked = calls_made(text, list(marked_calls(text, reader.tools)))
    if marked:
        return _extraction("text", list(map(reader.of_written, marked)), reader)
    calls = _calls_of_parts(text, reader)
    if calls:
        return _extraction("json in text", calls, reader)
    found = calls_made(text, written_calls(text, reader.tools, reader.remark))
    found = found or calls_made(text, list(_unnamed(text, reader.tools)))
    return _extraction("text", list(map(reader.of_written, found)), reader)


def _unnamed(text: str, tools: Collection[str]) -> Iterator[TextCall]:
    """Objects with nothing but arguments of the tool that is named last in front of them."""
    if not isinstance(tools, Mapping) or len(text) > MOST_PYTHON:
        return
    for begin, end, value in _json_values(text, lambda _: None):
        lead = text[max(0, begin - MOST_LEAD) : begin]
        named = [word for word in _WORD.findall(lead) if word in tools]
        if named and isinstance(value, dict) and value and value.keys() <= tools[named[-1]].keys():
            yield TextCall(named[-1], value, begin, end)


def _calls_of_parts(text: str, reader: _CallFinder) -> list[ExtractedCall]:
    single: list[TextCall] = []
    listed: list[ExtractedCall] = []
    list_end = 0
    for begin, end, value in [*_json_values(text, reader.remark), *_yaml_values(text)]:
        calls = reader.calls(value, quiet=True)
        if not calls or not (reader.offers_any(calls) or is_alone(text, begin, end)):
            continue  # `The customers are [{"name": "Mia", "input": …}]`
        if isinstance(value, list) or any(key in value for key in _LIST_KEYS):
            if is_mentioned(text, begin) or is_told_of(text, begin, end):
                continue
            is_further = _is_further(text[list_end:begin], listed, calls)
            listed = [*listed, *calls] if is_further else calls
            list_end = end
        elif len(single) < MOST_CALLS:
            single = _kept(single, calls, text, begin)
            single += [TextCall(call.name, call.arguments, begin, end) for call in calls]
    if listed and not is_taken_back(text, list_end):
        return listed[: MOST_CALLS + 1]
    made = calls_made(text, single) or (single if is_explained(text, single) else [])
    return [ExtractedCall(call.name, call.arguments) for call in made]


def _kept(
    before: list[TextCall], calls: Sequence[ExtractedCall], text: str, begin: int
) -> list[TextCall]:
    """Less a draft that is taken back, and written again."""
    if not before or not calls or before[-1].name != calls[0].name:
        return before
    between = text[before[-1].end : begin]
    taken_back = len(between) < MOST_BETWEEN and _REDRAFTED.search(between)
    return before[:-1] if taken_back else before


def _is_further(
    between: str, before: Sequence[ExtractedCall], calls: Sequence[ExtractedCall]
) -> bool:
    """A list in a fence of its own, of other tools, behind one that is not taken back."""
    if len(between) > MOST_BETWEEN or between.count("```") < 2 or _REDRAFTED.search(between):
        return False
    return not {call.name for call in before} & {call.name for call in calls}


def _json_values(text: str, remark: Remark) -> Iterator[tuple[int, int, Any]]:
    """(begin, end, value) of the lists and objects of a text that stand in no other, in order.

    Linear, whatever it is.
    """
    end = 0
    with suppress(UnreadableError):
        # Most texts hold JSON and prose without brackets: that is read without counting any.
        for _ in range(MOST_WHOLE):
            opened = _OPENS.search(text, end)
            if opened is None:
                return
            value, end = read_part(text, opened.start(1))
            yield opened.start(1), end, value
    read = False
    for first, last in _json_parts(text, end):
        with suppress(UnreadableError):
            yield first, last, _json_or_python(text[first:last], remark)
            read = True
    opened = None if read else _OPENS.search(text, end)
    miscounted = opened and _MISCOUNTED.match(text, opened.start(1))
    if miscounted:
        with suppress(UnreadableError):
            value = parse_lenient_json(closed_anew(miscounted[0]), remark)
            yield miscounted.start(), miscounted.end(), value


def _yaml_values(text: str) -> Iterator[tuple[int, int, Any]]:
    """(begin, end, value) of each fence that says that it holds YAML."""
    for opened in islice(_YAML.finditer(text), MOST_WHOLE):
        begin = opened.end()
        end = text.find(FENCE, begin, begin + MOST_PYTHON)
        # An alias may stand for as much as it likes.
        if end > 0 and "*" not in text[begin:end]:
            with suppress(yaml.YAMLError, ValueError, RecursionError):
                yield begin, end, yaml.safe_load(text[begin:end])


def _json_or_python(text: str, remark: Remark) -> Any:
    """Raises UnreadableError."""
    try:
        return parse_lenient_json(text, remark)
    except UnreadableError:
        value = python_value(text) if len(text) < MOST_PYTHON else text
        if value is text:
            raise
        return as_read(value, remark)


def _json_parts(text: str, begin: int) -> Iterator[tuple[int, int]]:
    budget = ScanBudget()
    for _ in range(MOST_RESTARTS):
        opened = -1
        for first, end in bracketed(text, JSON, begin, budget):
            if end is None:
                opened = first
            else:
                yield first, end
        if opened < 0:
            return
        begin = opened + 1  # "see [the list {…}": nothing closes it, and it hides what follows


# --- values -------------------------------------------------------------------------------------


class _CallFinder:
    """Finds calls in JSON values, and remembers what was odd."""

    def __init__(self, tools: Collection[str]) -> None:
        self.tools = tools
        self.remarks: dict[str, None] = {}

    def remark(self, text: str) -> None:
        self.remarks[text] = None

    def calls(self, value: Any, *, quiet: bool = False) -> list[ExtractedCall]:
        """`quiet` leaves out remarks on what is no call: prose quotes other JSON too."""
        found = list(islice(self._found(value, 0, quiet), MOST_CALLS + 1))
        if len(found) > MOST_CALLS:
            self.remark(f"more than {MOST_CALLS:,} calls: the rest was not read")
        return found[:MOST_CALLS]

    def _found(self, value: Any, depth: int, quiet: bool) -> Iterator[ExtractedCall]:
        if depth > DEEPEST_LIST:
            return
        if isinstance(value, list):
            for item in value:
                yield from self._found(item, depth + 1, quiet)
        elif isinstance(value, dict):
            yield from self._found_in_object(value, depth, quiet)
        elif isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
            # JSON that was put into a text once more.
            try:
                inner = parse_lenient_json(value, self.remark)
            except UnreadableError:
                self.remark("a text stands where a call is expected")
            else:
                yield from self._found(inner, depth + 1, quiet)
        elif not quiet:
            self.remark(f"{_kind(value)} stands where a call is expected")

    def _found_in_object(
        self, value: Mapping[str, Any], depth: int, quiet: bool
    ) -> Iterator[ExtractedCall]:
        if self._is_aside(value):
            return
        if value.get("method") == "tools/call" and isinstance(value.get("params"), dict):
            value = value["params"]
        if not _ANY_OUTER.isdisjoint(value) and not isinstance(value.get("name"), str):
            for key in _OUTER_KEYS:
                if isinstance(value.get(key), list | dict) or (key in _LIST_KEYS and key in value):
                    yield from self._found(value[key], depth + 1, quiet or key in _REPLY_KEYS)
                    return
        calls = self._calls_of_object(value, quiet=quiet)
        if not calls and not quiet:
            self.remark("an object that calls no tool stands where a call is expected")
        yield from calls

    def _calls_of_object(self, value: Mapping[str, Any], *, quiet: bool) -> list[ExtractedCall]:
        call_itself = _unwrapped(value)
        name = _name_of(call_itself) or self._name_beside(call_itself)
        if name is None:
            return self._keyed_calls(value)
        is_answer = name.lower() in _ANSWERS and name.lower() not in self.tools
        if _is_definition(call_itself) or is_answer:
            return []
        # Prose quotes objects with a name that are no calls: {"name": "Ada", "age": 36}.
        if (quiet or self.tools) and not self._may_be_call(name, call_itself):
            return []
        return [ExtractedCall(name, self._arguments_in(name, call_itself))]

    def _is_aside(self, value: Mapping[str, Any]) -> bool:
        """A tool's result, repeated, or a thought: it may name a tool, and calls none."""
        if value.get("role") in ("tool", "function") or value.get("type") in _ASIDE_TYPES:
            return True
        name = value.get("name")
        if not isinstance(name, str) or _has_arguments(value):
            return False
        return bool(_RESULT_KEYS & value.keys() - schemas_of(name, self.tools).keys())

    def _name_beside(self, value: Mapping[str, Any]) -> str | None:
        """`{"request": "search", "query": "x"}`: a tool, and under other keys its arguments."""
        for key, name in value.items():
            if isinstance(name, str) and name in self.tools:
                rest = value.keys() - {key}
                return name if rest and rest <= schemas_of(name, self.tools).keys() else None
        return None

    def _may_be_call(self, name: str, value: Mapping[str, Any]) -> bool:
        if _has_arguments(value):
            return True
        beside = value.keys() - _BESIDE
        known = schemas_of(name, self.tools).keys()
        return is_offered(name, self.tools) and not (beside and known and beside.isdisjoint(known))

    def _keyed_calls(self, value: Mapping[str, Any]) -> list[ExtractedCall]:
        """`{"get_price": {"symbol": "X"}}`: the keys are tools of the task."""
        if not all(name in self.tools for name in value):
            return []
        return [ExtractedCall(name, self.arguments(given)) for name, given in value.items()]

    def _arguments_in(self, name: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
        for key in _ARGUMENT_KEYS:
            if key in value:
                only = list(schemas_of(name, self.tools))
                if len(only) == 1 and _is_plain(value[key]):
                    return {only[0]: value[key]}
                return self._as_object(value[key])
        # Beside the name, as some models flatten it.
        return {key: value[key] for key in schemas_of(name, self.tools) if key in value}

    def of_written(self, written: TextCall) -> ExtractedCall:
        return ExtractedCall(written.name, self.arguments(written.arguments))

    def offers_any(self, calls: Iterable[ExtractedCall]) -> bool:
        """True as well where nobody said what is offered."""
        return not self.tools or any(is_offered(call.name, self.tools) for call in calls)

    def arguments(self, given: Any) -> Mapping[str, Any]:
        """What another reader made of a call's arguments, as this one would have."""
        try:
            return self._as_object(as_read(given, self.remark))
        except UnreadableError:
            self.remark("a call's arguments cannot be read: taken as none")
            return {}

    def _as_object(self, given: Any) -> Mapping[str, Any]:
        if isinstance(given, dict):
            return given
        if isinstance(given, str):
            return self._of_text(given)
        self.remark(f"a call's arguments are {_kind(given)}: taken as none")
        return {}

    def _of_text(self, text: str) -> Mapping[str, Any]:
        """OpenAI's form: the arguments are JSON in a text."""
        if not text.strip():
            return {}
        with suppress(UnreadableError):
            value = _json_or_python(text, self.remark)
            if isinstance(value, dict):
                return value
        self.remark("a call's arguments are a text that is no JSON object: taken as none")
        return {}


def _is_plain(given: Any) -> bool:
    """A text in the place of an object: of a tool with one argument it can only be that."""
    return isinstance(given, str) and bool(given.strip()) and given.lstrip()[:1] not in "{["


def _unwrapped(value: Mapping[str, Any]) -> Mapping[str, Any]:
    if _ANY_INNER.isdisjoint(value):
        return value
    for key in _INNER_KEYS:
        inner = value.get(key)
        if isinstance(inner, dict) and (key in _WRAPPERS or _has_arguments(inner)):
            return inner
    return value


def _has_arguments(value: Mapping[str, Any]) -> bool:
    return any(key in value for key in _ARGUMENT_KEYS)


def _name_of(value: Mapping[str, Any]) -> str | None:
    for key in (*_NAME_KEYS, _RECIPIENT) if _has_arguments(value) else _NAME_KEYS:
        name = value.get(key)
        if isinstance(name, str) and name.strip():
            return name.strip()
    return None


def _is_definition(value: Mapping[str, Any]) -> bool:
    """A tool as it was offered, repeated by the model: it names a tool and calls none."""
    if not _SCHEMA_KEYS.isdisjoint(value):
        return True
    schema = value.get("parameters")
    if not isinstance(schema, dict):
        return False
    return "description" in value and isinstance(schema.get("properties"), dict)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {str: "a text", bool: "a boolean", int: "a number", float: "a number", list: "a list"}
    return names.get(type(value), "something")
