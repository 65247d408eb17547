"""How the offline navigator uses a server's tools: by their names, descriptions and schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runner.grounding.files import SANDBOX_ROOT
from runner.models.findings import Finding
from runner.models.lookups import Lookup
from runner.protocols import ToolSpec
from runner.tool_arguments import Target, arguments_for, takes_name

ROLES = {
    "definition": frozenset({"definition", "symbol", "symbols", "declaration", "body", "node"}),
    "references": frozenset(
        {"references", "referencing", "usage", "usages", "callers", "incoming", "find_usage"}
    ),
    "search": frozenset(
        {"search", "grep", "find", "query", "text", "explore", "locate", "pattern"}
    ),
}
"""Words by which a tool's name or description says what it is for."""
_READERS = frozenset("read view open show cat get contents content".split())
_AVOID = frozenset(
    (
        "delete rename replace insert write edit memory clear configure create refresh set "
        "register restart remove onboarding safe watcher temp rebuild build index settings "
        "diagnose diagnostics metadata move initial"
    ).split()
)
_DESCRIPTION_CHARS = 300
_MOST_WAYS = 4
"""To fill one tool's arguments, of which each costs a call to find out."""
_MIN_SCORE = 2
"""A word of a tool's name is enough, one of its description alone is not."""


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What earlier calls have shown."""

    ways: Mapping[str, int] = field(default_factory=dict)
    """Tool -> the set of arguments to take: those before it were answered with errors."""
    language: str = ""
    """Of the code seen so far."""


def server_lookup(
    tools: Sequence[ToolSpec],
    role: str,
    name: str,
    place: Finding | None,
    learned: Learned | None = None,
) -> Lookup | None:
    """A call of the best tool for a role whose arguments are known."""
    learned = learned or Learned()
    for tool in choose(tools, role):
        known = fills(tool, name, place, learned.language)
        way = learned.ways.get(tool.name, 0)
        if way < len(known):
            return Lookup(tool=tool.name, arguments=known[way], name=name, way=way)
    return None


def server_read(tools: Sequence[ToolSpec], name: str, place: Finding) -> Lookup | None:
    """A call that reads a file, of a server none of whose tools finds names."""
    if any(server_lookup(tools, role, name, place) for role in ROLES):
        return None
    target = Target(name=name, path=place.path, line=place.line)
    for tool in sorted(tools, key=lambda tool: (len(tool.name), tool.name)):
        if not _may_be_asked(tool) or not _words_of_name(tool) & _READERS:
            continue
        for arguments in arguments_for(tool.input_schema, target, described=tool.description):
            if place.path in json.dumps(arguments, ensure_ascii=False):
                return Lookup(tool=tool.name, arguments=arguments, name=name, reads=True)
    return None


def choose(tools: Sequence[ToolSpec], role: str) -> list[ToolSpec]:
    """A server's tools for a role, best first, by name and description; none that would write.

    For a search, where no tool's words say what it is for: those that take a name.
    """
    fit = [tool for tool in tools if _score(tool, role) >= _MIN_SCORE]
    if not fit and role == "search" and not any(_has_role(tool) for tool in tools):
        fit = [tool for tool in tools if _may_be_asked(tool) and takes_name(tool.input_schema)]
    return sorted(fit, key=lambda tool: (-_score(tool, role), len(tool.name), tool.name))


def _has_role(tool: ToolSpec) -> bool:
    return any(_score(tool, role) >= _MIN_SCORE for role in ROLES)


def _may_be_asked(tool: ToolSpec) -> bool:
    # `search_index` says that it only reads: its name alone would keep it out.
    return tool.origin == "server" and (tool.read_only or not _words_of_name(tool) & _AVOID)


def _score(tool: ToolSpec, role: str) -> int:
    if not _may_be_asked(tool):
        return 0
    described = set(re.findall(r"[a-z]+", tool.description.lower()[:_DESCRIPTION_CHARS]))
    in_name = len(_words_of_name(tool) & ROLES[role])
    in_description = len(described & ROLES[role])
    return 3 * in_name + in_description


def _words_of_name(tool: ToolSpec) -> set[str]:
    """`mcp__x__find_symbol` is called find and symbol."""
    return set(re.split(r"[^a-z]+", tool.name.split("__")[-1].lower()))


# --- arguments ------------------------------------------------------------------------------

_NAME_KEYS = (
    "pattern",
    "query",
    "symbol_name",
    "symbol",
    "name_path_pattern",
    "name_path",
    "text",
    "search",
    "identifier",
    "name",
    "regex",
)
"""Keys that take the name looked for, the most usual first."""
_PATH_WORDS = ("path", "file", "dir", "uri")
_UNKNOWN_WORDS = ("kind", "language", "glob")
_HANDLE = re.compile(r"(^|_)(id|uuid|handle|cursor)$")
_MAX_RESULTS = 20


def fills(
    tool: ToolSpec, name: str, place: Finding | None, language: str = ""
) -> list[dict[str, Any]]:
    """Sets of arguments that ask for the name, the likeliest first."""
    first = fill(tool, name, place)
    known = [] if first is None else [first]
    target = Target(name=name, language=language)
    if place is not None:
        target = Target(name=name, path=place.path, line=place.line)
    if not takes_name(tool.input_schema):
        return known
    for other in arguments_for(tool.input_schema, target, described=tool.description):
        if other not in known and name in json.dumps(other, ensure_ascii=False):
            known.append(other)
    return known[:_MOST_WAYS]


def fill(tool: ToolSpec, name: str, place: Finding | None) -> dict[str, Any] | None:
    """Arguments from a tool's input schema: the name to look for, and a place already seen.

    None if the tool takes no name, or something it requires is unknown.
    """
    properties: dict[str, Any] = tool.input_schema.get("properties") or {}
    required: set[str] = set(tool.input_schema.get("required") or ())
    name_key = _name_key(properties)
    if name_key is None:
        return None
    arguments: dict[str, Any] = {name_key: name}
    for key in sorted(required - {name_key}):
        schema = _as_mapping(properties.get(key))
        described = f"{tool.description} {schema.get('description', '')}".lower()
        arguments[key] = _argument(_snake(key), schema, _Target(name, place, described))
    return None if None in arguments.values() else arguments


def _name_key(properties: dict[str, Any]) -> str | None:
    """The key that takes the name; of two that are as usual, the schema's first."""
    keys: dict[str, str] = {}
    for key, schema in properties.items():
        if _takes_text(schema):
            keys.setdefault(_snake(key), key)
    for name_key in _NAME_KEYS:
        if name_key in keys:
            return keys[name_key]
    return None


def _takes_text(schema: Any) -> bool:
    return bool(_as_mapping(schema).get("type", "string") == "string")


def _as_mapping(schema: Any) -> dict[str, Any]:
    # `true` is a schema too: it takes anything, and says nothing.
    return schema if isinstance(schema, dict) else {}


def _snake(key: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", key).lower()


@dataclass(frozen=True)
class _Target:
    """What an argument may be about."""

    name: str
    place: Finding | None
    described: str
    """The tool's and the argument's descriptions, in lower case."""

    @property
    def is_absolute(self) -> bool:
        """Are its paths?"""
        return "absolute" in self.described


def _argument(key: str, schema: dict[str, Any], target: _Target) -> Any:
    """The value of one required argument; None if nothing is known of it."""
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    if kind in ("boolean", "array", "object"):
        return {"boolean": False, "array": [], "object": {}}[kind]
    if kind in ("integer", "number"):
        return _number_argument(key, target.place)
    return _text_argument(key, target)


def _text_argument(key: str, target: _Target) -> str | None:
    if "project" in key:
        return "workspace"
    if any(word in key for word in _UNKNOWN_WORDS) or _HANDLE.search(key):
        return None
    if any(word in key for word in _PATH_WORDS):
        return _path_argument(key, target)
    return target.name


def _number_argument(key: str, place: Finding | None) -> int:
    if place and "line" in key:
        return place.line
    if "char" in key or "col" in key:
        return 1
    return _MAX_RESULTS


def _path_argument(key: str, target: _Target) -> str | None:
    if "file" in key and "dir" not in target.described:
        return _file_argument(target)
    if target.is_absolute or "dir" in key:
        return SANDBOX_ROOT
    return "."


def _file_argument(target: _Target) -> str | None:
    if target.place is None:
        return None
    if target.is_absolute:
        return f"{SANDBOX_ROOT}/{target.place.path}"
    return target.place.path
