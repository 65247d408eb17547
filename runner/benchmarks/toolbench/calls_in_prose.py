"""Calls written in prose or code, as a last resort: `tool(a=1)`, `Action: tool`, `tool {"a": 1}`.

Only the task's own tools count: any other word before a bracket is prose, or other code. Linear,
whatever the text: each try is bounded, and so is their number.
"""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from typing import Any

from runner.benchmarks.toolbench.brackets import PYTHON, Fences, closed_at
from runner.benchmarks.toolbench.call_markup import (
    TextCall,
    is_offered,
    python_value,
    schemas_of,
    typed,
)
from runner.benchmarks.toolbench.lenient_json import Remark, UnreadableError, parse_lenient_json

LONGEST_ARGUMENTS = 20_000
"""Characters between a written call's brackets."""
MOST_TRIES = 2_000
"""Places of one text that are looked at."""
MOST_UNCLOSED = 32
"""Brackets that nothing closes: each costs a look at LONGEST_ARGUMENTS characters."""
_CALLED = re.compile(
    r"(?<![\w.-])(?P<name>[A-Za-z_][\w.-]{0,127}+)"
    r"(?P<gap>\s?(?=\()"
    r"|[`*]{0,2}\s\|\s`?(?=\{)"  # of a table
    r"|(?::\d{1,4})?:?\s{0,4}(?:(?:commentary|analysis)\s{1,4})?"
    r"(?:(?:json|code)\s{1,4}|```\w{0,10}\s{1,4})?(?=\{))"
)
_NOT_PYTHON = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')|\b(?P<key>"""
    + "|".join(keyword.kwlist)
    + r""")(?=\s{0,4}=(?!=))|\b(?P<json>true|false|null)\b(?!\s{0,4}=(?!=))""",
    re.S,
)
"""A text, a word of Python's own where an argument's name stands, or a value as JSON writes it."""
_JSON_NAMES = {"true": "True", "false": "False", "null": "None"}
_BARE_KEY = re.compile(
    r"""("(?:[^"\\]|\\.)*+")|(?<=[{,\s])([A-Za-z_]\w{0,127})(?=\s{0,4}:)""", re.S
)
_LAST_COMMA = re.compile(r",\s{0,40}([}\]])")
MOST_TOLD = 2_000
"""Characters of a line behind a tool's name."""
_WORD = re.compile(r"(?<![\w.-])[A-Za-z_]\w{0,127}+")
_TOLD = re.compile(
    r"(?:(?P<flag>--)|(?<![\w\"'-]))(?P<key>[A-Za-z_]\w{0,127}+)[`*]{0,2}\s{0,2}(?:[:=]|set to)?"
    r"\s{0,2}[`*]{0,2}(?:[\"“«](?P<quoted>[^\"”»\n]{0,1000})[\"”»]"
    r"|(?P<bare>-?\d[\d.]*(?=\W|$)(?<!\.)|true\b|false\b|(?(flag)[^\s\"]{1,200}|(?!))))",
)
"""A name, and what is quoted, a number or a yes or no behind it; behind `--`, any word."""
_BLOCK = re.compile(
    r"^(?P<indent>[ \t]{0,20})(?:[-*]|\d{1,3}[.)])?[ \t]{0,4}[*_`]{0,3}"
    r"(?:(?i:name|tool|tool[_ ]name|tool call|function|action|call)[*_]{0,2}:[*_]{0,2}[ \t]{1,4})?"
    r"[*_`\"']{0,3}"
    r"(?P<name>[A-Za-z_][\w.-]{0,127}+)[*_`\"':]{0,4}[ \t]{0,4}$"
)
_LINE = re.compile(
    r"^[ \t]{0,40}(?:[-*•][ \t]{1,4})?[*_`\"']{0,3}(?P<key>[A-Za-z_]\w{0,127})[*_`\"']{0,3}"
    r"[ \t]{0,2}[:=][*_]{0,2}(?:[ \t]{1,8}(?P<value>.{1,2000}))?$"
)
_BETWEEN = frozenset({"parameters", "arguments", "input", "args", "params", "action_input"})
_DEFINED = re.compile(
    r"\b(?:def|function|fn|func|class)[^\S\n]{1,4}(?P<name>[A-Za-z_]\w{0,127}+)\s?\("
)
_ACTION = re.compile(
    r"""
    \b(?:action|tool|function)(?:[ _]?(?:name|call))?[ ]?\d{0,3}
    [*_`]{0,3}\s?[:=][*_]{0,3}\s{0,8}[*_`"']{0,3}
    (?P<name>[A-Za-z_][\w.-]{0,127}+)
    (?:
       \[(?P<asked>[^\[\]\n]{0,2000})\]
    |
       \((?P<given>[^()="'{}\n]{1,2000})\)[^\S\n]{0,8}$
    |
       [^\S\n]{0,8}[*`"',;]{0,4}[^\S\n]{0,8}
       (?:
          \s{0,8}[*_]{0,3}
          (?:action[ _]?input|input|arguments|parameters|params|args)[ ]?\d{0,3}[*_`]{0,3}\s?[:=]
          [*_]{0,3}\s{0,8}(?:[*_`]{1,3}\w{0,10}\s?)?(?:(?P<brace>\{)|(?P<plain>\S[^\n]{0,2000}))?
       |
          $
       )
    )
    """,
    re.I | re.X | re.M,
)


@dataclass(slots=True)
class _ProseScan:
    text: str
    remark: Remark
    unclosed: int = 0
    fences: Fences = field(init=False)

    def __post_init__(self) -> None:
        self.fences = Fences(self.text)

    def is_code(self, at: int) -> bool:
        """There a word without quotes is a variable. `at`: no less than before."""
        line = self.text[max(0, at - MOST_TOLD) : at].rpartition("\n")[2]
        return self.fences.hold(at) or line.count("`") % 2 == 1

    def inside(self, at: int) -> str | None:
        """What stands between the bracket at `at` and the one that closes it."""
        if self.unclosed >= MOST_UNCLOSED:
            return None
        part = self.text[at : at + LONGEST_ARGUMENTS]
        end = closed_at(part, PYTHON)
        if end is None:
            self.unclosed += 1
            return None
        return part[1 : end - 1]


def written_calls(text: str, tools: Collection[str], remark: Remark) -> list[TextCall]:
    """Every call to one of the tools, in order: named as actions, else with brackets."""
    if not tools:
        return []
    seen = _ProseScan(text, remark)
    return (
        list(_blocks(text, tools))
        or list(_actions(seen, tools))
        or list(_bracketed(seen, tools))
        or list(_sentences(text, tools))
    )


def _sentences(text: str, tools: Collection[str]) -> Iterator[TextCall]:
    """A tool with its arguments by name, as a sentence or a command has them: `x --days 3`."""
    offered = (word for word in _WORD.finditer(text) if is_offered(word[0], tools))
    for word in islice(offered, MOST_TRIES):
        line_end = text.find("\n", word.end())
        end = min(len(text) if line_end < 0 else line_end, word.end() + MOST_TOLD)
        schemas = schemas_of(word[0], tools)
        values = [v for v in _TOLD.finditer(text, word.end(), end) if v["key"] in schemas]
        if values:
            given = {value["key"]: _told(value, schemas) for value in values}
            yield TextCall(word[0], given, word.start(), values[-1].end())


def _told(value: re.Match[str], schemas: Mapping[str, Any]) -> Any:
    text = value["bare"] if value["quoted"] is None else value["quoted"]
    return typed(text.strip(), schemas[value["key"]])


def _blocks(text: str, tools: Collection[str]) -> Iterator[TextCall]:
    """A tool's name on a line, in a numbered list or YAML, with its arguments on those below."""
    lines = text.splitlines(keepends=True)[:MOST_TRIES]
    ends = list(accumulate(map(len, lines)))
    for place, line in enumerate(lines):
        name = _name_on(line.rstrip(), tools)
        if name:
            found = list(_values_below(lines[place + 1 :], name, tools))
        if name and any(found):
            begin, end = ends[place] - len(line), ends[place + len(found)]
            yield TextCall(name, dict(filter(None, found)), begin, end)


def _name_on(line: str, tools: Collection[str]) -> str:
    head = _BLOCK.match(line)
    return head["name"] if head and is_offered(head["name"], tools) else ""


def _values_below(
    lines: Sequence[str], name: str, tools: Collection[str]
) -> Iterator[tuple[str, Any] | None]:
    """Of each line; None for one that only says that arguments follow."""
    schemas = schemas_of(name, tools)
    for line in map(str.rstrip, lines):
        written = _LINE.match(line)
        if written is None or _name_on(line, tools):
            return
        holds, value = written["key"].lower() in _BETWEEN, written["value"]
        if holds == bool(value):
            return
        yield (
            None
            if holds
            else (written["key"], _unquoted(value.strip(), schemas.get(written["key"])))
        )


def _unquoted(value: str, schema: Any) -> Any:
    value = value.strip("`")
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return typed(value, schema)


def _actions(seen: _ProseScan, tools: Collection[str]) -> Iterator[TextCall]:
    for tries, action in enumerate(_ACTION.finditer(seen.text)):
        if tries == MOST_TRIES:
            return
        name = action["name"].rstrip(".")
        if is_offered(name, tools):
            given, end = _action_input(seen, action, schemas_of(name, tools))
            yield TextCall(name, given, action.start(), end)


def _action_input(
    seen: _ProseScan, action: re.Match[str], schemas: Mapping[str, Any]
) -> tuple[Any, int]:
    """The arguments, and where they end."""
    plain = action["plain"] or action["asked"] or action["given"]
    if plain and len(schemas) == 1:
        # What is no object is the tool's one argument.
        (key,) = schemas
        return {key: _unquoted(plain.strip(), schemas[key])}, action.end()
    if not action["brace"]:
        return {}, action.end()
    inside = seen.inside(action.start("brace"))
    if inside is None:
        seen.remark("a written call's arguments are never closed: taken as none")
        return {}, action.end()
    return "{" + inside + "}", action.end() + len(inside) + 1


def _bracketed(seen: _ProseScan, tools: Collection[str]) -> Iterator[TextCall]:
    end = tries = 0
    # A script that makes a function of that name calls its own.
    own = {made["name"] for made in islice(_DEFINED.finditer(seen.text), MOST_TRIES)}
    for written in _CALLED.finditer(seen.text):
        if written.start() < end or not is_offered(written["name"], tools):
            continue
        if written["name"] in own:
            continue
        tries += 1
        inside = seen.inside(written.end()) if tries <= MOST_TRIES else None
        if inside is None:
            continue
        end = written.end() + len(inside) + 2
        yield from _call(seen, written, inside, tools)


def _call(
    seen: _ProseScan, written: re.Match[str], inside: str, tools: Collection[str]
) -> Iterator[TextCall]:
    end = written.end() + len(inside) + 2
    inside = inside.strip()
    if seen.text[written.end()] == "{":
        arguments = _object("{" + inside + "}")
        if arguments is None:
            arguments = _bare_values(inside, schemas_of(written["name"], tools))
    elif inside.startswith("{"):
        arguments = _object(inside)
    elif written["gap"]:
        return  # "search (again)": prose has a space there
    else:
        schemas = schemas_of(written["name"], tools)
        arguments = _keywords(inside, seen.remark, tuple(schemas))
        if arguments is None and not seen.is_code(written.start()):
            arguments = _bare_values(inside, schemas)
    if arguments is not None:
        yield TextCall(written["name"], arguments, written.start(), end)


def _object(text: str) -> Any:
    quoted = _BARE_KEY.sub(lambda key: key[1] or f'"{key[2]}"', text)
    for written in (text, quoted, _LAST_COMMA.sub(r"\1", quoted)):
        try:
            value = parse_lenient_json(written)
        except UnreadableError:
            continue
        return value if isinstance(value, dict) else None
    value = python_value(text)
    return value if isinstance(value, dict) else None


def _bare_values(inside: str, schemas: Mapping[str, Any]) -> dict[str, Any] | None:
    """`query:cats, days:3`: a text up to where the next argument's name stands."""
    keys = "|".join(map(re.escape, schemas))
    parts = re.split(rf"(?:^|,)\s{{0,40}}({keys})\s{{0,4}}[:=]", inside) if keys else [inside]
    if len(parts) == 1 or parts[0].strip():
        return None
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    return {key: typed(value.strip(), schemas[key]) for key, value in pairs}


_RENAMED = "_keyword_"


def _as_python(word: re.Match[str]) -> str:
    if word["json"]:
        return _JSON_NAMES[word["json"]]
    return word["text"] or f"{_RENAMED}{word['key']}"


def _keywords(inside: str, remark: Remark, names: tuple[str, ...]) -> dict[str, Any] | None:
    """`symbol="X", n=5` as Python writes it; None for what is no call.

    `names`: of the tool's arguments, for those that are given without one.
    """
    inside = _NOT_PYTHON.sub(_as_python, inside)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's remarks on a model's backslashes
            call = ast.parse(f"f({inside}\n)", mode="eval").body
        return _arguments(call, remark, names)
    except (SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
        return None


def _arguments(call: ast.expr, remark: Remark, names: tuple[str, ...]) -> dict[str, Any] | None:
    """Raises ValueError for what is no value."""
    if not isinstance(call, ast.Call):
        return None
    # `search(it)` is prose
    placed = [ast.literal_eval(argument) for argument in call.args]
    if len(placed) > len(names):
        remark("a written call has arguments without names: these are left out")
        placed = []
    found = dict(zip(names, placed, strict=False))
    for word in call.keywords:
        if word.arg:
            found[word.arg.removeprefix(_RENAMED)] = ast.literal_eval(word.value)
    if ... in found.values():
        raise ValueError("`search(query=...)` is a sketch of a call")
    return found
