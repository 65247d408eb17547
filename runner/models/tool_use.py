"""How the offline navigator uses a server's tools: by their names, descriptions and schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runner.models.findings import Finding
from runner.models.lookups import Lookup
from runner.protocols import ToolSpec
from runner.tool_arguments import Target, arguments_for, key_words, language_of_path, takes_name

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
READERS = frozenset("read view open show cat get contents content".split())
AVOID = frozenset(
    (
        "delete rename replace insert write edit memory clear configure create refresh set "
        "register restart remove onboarding safe watcher temp rebuild build index settings "
        "diagnose diagnostics metadata move initial"
    ).split()
)
_DESCRIPTION_CHARS = 300
MOST_WAYS = 4
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

    def target(self, name: str, place: Finding | None) -> Target:
        """What a call about a name may hold, with the place where it was seen."""
        if place is None:
            return Target(name=name, language=self.language)
        language = language_of_path(place.path) or self.language
        return Target(name=name, path=place.path, line=place.line, language=language)


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
        known = fills(tool, learned.target(name, place))
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
        if not may_be_asked(tool) or not words_of_name(tool) & READERS:
            continue
        for arguments in _sets(tool, target):
            if _holds(arguments, place.path):
                return Lookup(tool=tool.name, arguments=arguments, name=name, reads=True)
    return None


def choose(tools: Sequence[ToolSpec], role: str) -> list[ToolSpec]:
    """A server's tools for a role, best first, by name and description; none that would write.

    For a search, where no tool's words say what it is for: those that take a name.
    """
    fit = [tool for tool in tools if _score(tool, role) >= _MIN_SCORE]
    if not fit and role == "search" and not any(_has_role(tool) for tool in tools):
        fit = [tool for tool in tools if may_be_asked(tool) and takes_name(tool.input_schema)]
    return sorted(fit, key=lambda tool: (-_score(tool, role), len(tool.name), tool.name))


def _has_role(tool: ToolSpec) -> bool:
    return any(_score(tool, role) >= _MIN_SCORE for role in ROLES)


def may_be_asked(tool: ToolSpec) -> bool:
    # `search_index` says that it only reads: its name alone would keep it out.
    return tool.origin == "server" and (tool.read_only or not words_of_name(tool) & AVOID)


def _score(tool: ToolSpec, role: str) -> int:
    if not may_be_asked(tool):
        return 0
    described = set(re.findall(r"[a-z]+", tool.description.lower()[:_DESCRIPTION_CHARS]))
    in_name = len(words_of_name(tool) & ROLES[role])
    in_description = len(described & ROLES[role])
    return 3 * in_name + in_description


def words_of_name(tool: ToolSpec) -> set[str]:
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


def fills(tool: ToolSpec, target: Target) -> list[dict[str, Any]]:
    """Sets of arguments that ask for the name, the likeliest first."""
    if not takes_name(tool.input_schema):
        return []
    known = [one for one in _sets(tool, target) if _holds(one, target.name)]
    return known[:MOST_WAYS]


def _sets(tool: ToolSpec, target: Target) -> Iterator[dict[str, Any]]:
    schema = _asking(tool.input_schema)
    return arguments_for(schema, target, described=tool.description)


def _asking(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same with its usual key for a name required: without it nothing is asked for."""
    keys = {"_".join(key_words(key)): key for key in reversed(schema.get("properties") or {})}
    required = list(schema.get("required") or ())
    for usual in _NAME_KEYS:
        if usual in keys:
            return {**schema, "required": list(dict.fromkeys([*required, keys[usual]]))}
    return schema


def _holds(arguments: Mapping[str, Any], text: str) -> bool:
    return text in json.dumps(arguments, ensure_ascii=False)
