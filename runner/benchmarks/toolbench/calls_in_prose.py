"""Calls written in prose or code, as a last resort: `tool(a=1)`, `Action: tool`, `tool {"a": 1}`.

Only the task's own tools count: any other word before a bracket is prose, or other code. Linear,
whatever the text: each try is bounded, and so is their number.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from runner.benchmarks.toolbench.brackets import PYTHON, closed_at
from runner.benchmarks.toolbench.lenient_json import Remark, UnreadableError, parse_lenient_json

LONGEST_ARGUMENTS = 20_000
"""Characters between a written call's brackets."""
MOST_TRIES = 2_000
"""Places of one text that are looked at."""
MOST_UNCLOSED = 32
"""Brackets that nothing closes: each costs a look at LONGEST_ARGUMENTS characters."""
_CALLED = re.compile(r"(?<![\w.-])(?P<name>[A-Za-z_][\w.-]{0,127}+)(?P<gap>\s?)(?=[({])")
_DEFINED = re.compile(r"(?:\bdef|\bfunction|\bfn|\bfunc|\bclass)\s{1,4}$")
_ACTION = re.compile(
    r"""
    \b(?:action|tool|function)(?:[ _]?(?:name|call))?[*_`]{0,3}\s?[:=][*_]{0,3}\s?[*_`"']{0,3}
    (?P<name>[A-Za-z_][\w.-]{0,127}+)
    [^\S\n]{0,8}[*`"',;]{0,4}[^\S\n]{0,8}
    (?:
       \n?[^\S\n]{0,8}[*_]{0,3}
       (?:action[ _]input|input|arguments|parameters|params|args)[*_`]{0,3}\s?[:=][*_]{0,3}\s{0,4}
       (?:[*_`]{1,3}\w{0,10}\s?)?(?P<brace>\{)?
    |
       $
    )
    """,
    re.I | re.X | re.M,
)


@dataclass(frozen=True, slots=True)
class ProseCall:
    """A call as it is written; its arguments are what Python or JSON makes of them."""

    name: str
    arguments: Any


@dataclass(slots=True)
class _ProseScan:
    text: str
    remark: Remark
    unclosed: int = 0

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


def written_calls(text: str, tools: Collection[str], remark: Remark) -> list[ProseCall]:
    """Every call to one of the tools, in order: named as actions, else with brackets."""
    if not tools:
        return []
    seen = _ProseScan(text, remark)
    return list(_actions(seen, tools)) or list(_bracketed(seen, tools))


def is_offered(name: str, tools: Collection[str]) -> bool:
    """By its whole name, or by what stands behind a server's."""
    if name in tools:
        return True
    return name.rpartition("__")[2] in tools or name.rpartition(".")[2] in tools


def _actions(seen: _ProseScan, tools: Collection[str]) -> Iterator[ProseCall]:
    for tries, action in enumerate(_ACTION.finditer(seen.text)):
        if tries == MOST_TRIES:
            return
        name = action["name"].rstrip(".")
        if is_offered(name, tools):
            yield ProseCall(name, _action_input(seen, action))


def _action_input(seen: _ProseScan, action: re.Match[str]) -> Any:
    if not action["brace"]:
        return {}
    inside = seen.inside(action.start("brace"))
    if inside is None:
        seen.remark("a written call's arguments are never closed: taken as none")
        return {}
    return "{" + inside + "}"


def _bracketed(seen: _ProseScan, tools: Collection[str]) -> Iterator[ProseCall]:
    end = tries = 0
    for written in _CALLED.finditer(seen.text):
        if written.start() < end or not is_offered(written["name"], tools):
            continue
        tries += 1
        if tries > MOST_TRIES or _is_defined(seen.text, written.start()):
            continue
        inside = seen.inside(written.end())
        if inside is None:
            continue
        end = written.end() + len(inside) + 2
        yield from _call(seen, written, inside)


def _is_defined(text: str, at: int) -> bool:
    """`def search(query):` makes a function, and calls none."""
    return _DEFINED.search(text[max(0, at - 16) : at]) is not None


def _call(seen: _ProseScan, written: re.Match[str], inside: str) -> Iterator[ProseCall]:
    inside = inside.strip()
    if seen.text[written.end()] == "{":
        arguments = _object("{" + inside + "}")
    elif inside.startswith("{"):
        arguments = _object(inside)
    elif written["gap"]:
        return  # "search (again)": prose has a space there
    else:
        arguments = _keywords(inside, seen.remark)
    if arguments is not None:
        yield ProseCall(written["name"], arguments)


def _object(text: str) -> Any:
    try:
        value = parse_lenient_json(text)
    except UnreadableError:
        return None
    return value if isinstance(value, dict) else None


def _keywords(inside: str, remark: Remark) -> dict[str, Any] | None:
    """`symbol="X", n=5` as Python writes it; None for what is no call."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's remarks on a model's backslashes
            call = ast.parse(f"f({inside}\n)", mode="eval").body
        return _arguments(call, remark)
    except (SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
        return None


def _arguments(call: ast.expr, remark: Remark) -> dict[str, Any] | None:
    """Raises ValueError for what is no value."""
    if not isinstance(call, ast.Call):
        return None
    if call.args:
        for argument in call.args:
            _literal(argument)  # `search(it)` is prose
        remark("a written call has arguments without names: these are left out")
    return {word.arg: _literal(word.value) for word in call.keywords if word.arg}


_JSON_NAMES = {"true": True, "false": False, "null": None}


def _literal(node: ast.expr) -> Any:
    """A value as Python or as JSON writes it. Raises ValueError for anything else."""
    if isinstance(node, ast.Name) and node.id in _JSON_NAMES:
        return _JSON_NAMES[node.id]
    return ast.literal_eval(node)
