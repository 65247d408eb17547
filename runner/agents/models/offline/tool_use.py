"""How the offline navigator uses a server's tools: which, and with what arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from runner.agents.models.offline.findings import Finding
from runner.agents.models.offline.lookups import Lookup
from runner.agents.models.offline.uses import LISTERS, READERS, ROLES, ToolOperation, askable
from runner.servers.example_arguments import (
    Target,
    arguments_for,
    key_words,
    language_of_path,
    takes_name,
)
from runner.servers.tool_answers import ToolAnswers

MOST_WAYS = 4
"""To fill one tool's arguments, of which each costs a call to find out."""
_MIN_SCORE = 2
"""A word of a tool's name is enough, one of its description alone is not."""
READS_SURELY = frozenset("read view cat open".split())


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What earlier calls have shown."""

    ways: Mapping[str, int] = field(default_factory=dict)
    """ToolOperation -> the set of arguments to take: those before it were answered with errors."""
    language: str = ""
    """Of the code seen so far."""
    handles: ToolAnswers = field(default_factory=dict)
    """Key -> what an earlier call answered under it, for later ones to ask with."""

    roots: Mapping[str, str] = field(default_factory=dict)
    """Key -> what calls that worked call the repository."""
    worked: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Use that has answered -> those it was asked with: it is asked as it was."""

    def roots_of(self, use: str) -> Mapping[str, str]:
        return self.worked.get(use, self.roots)

    def target(self, name: str, place: Finding | None, use: str = "") -> Target:
        """What a call about a name may hold, with the place where it was seen."""
        known: ToolAnswers = {**self.roots_of(use), **self.handles}
        if place is None:
            return Target(name=name, language=self.language, handles=known)
        language = language_of_path(place.path) or self.language
        return Target(name=name, path=place.path, line=place.line, language=language, handles=known)


# --- the choice -----------------------------------------------------------------------------------


def server_lookup(
    uses: Sequence[ToolOperation],
    role: str,
    name: str,
    place: Finding | None,
    learned: Learned | None = None,
) -> Lookup | None:
    """A call of the best tool for a role whose arguments are known."""
    learned = learned or Learned()
    for use in choose_operations(uses, role):
        lookup = lookup_of(use, fills(use, learned.target(name, place, use.key)), learned)
        if lookup is not None:
            return replace(lookup, kind="find", name=name)
    return None


def server_read(
    uses: Sequence[ToolOperation], name: str, place: Finding, learned: Learned | None = None
) -> Lookup | None:
    """A call that reads a file; of several tools, one that says so, with the shortest name."""
    learned = learned or Learned()
    for use in sorted(askable(uses), key=_readiness):
        known = _reading(use, learned.target(name, place, use.key))
        lookup = lookup_of(use, known, learned)
        if lookup is not None:
            return replace(lookup, kind="read", name=name, path=place.path)
    return None


def _readiness(use: ToolOperation) -> tuple[bool, bool, bool, int, str]:
    reads, of_files = use.words & READS_SURELY, use.words & {"file", "content", "contents"}
    return (not reads, not of_files, not use.words & READERS, len(use.tool), use.key)


def _reading(use: ToolOperation, target: Target) -> list[dict[str, Any]]:
    """Sets of arguments that name the file."""
    sets = list(arguments_for(use.schema, target, described=use.description))
    # What takes a folder before all else would answer a file with an error.
    is_of_files = bool(sets) and _holds(sets[0], target.path) and not use.words & LISTERS
    if not is_of_files and not use.words & READS_SURELY:
        return []
    return [one for one in sets if _holds(one, target.path)][:MOST_WAYS]


def lookup_of(
    use: ToolOperation, known: Sequence[dict[str, Any]], learned: Learned
) -> Lookup | None:
    """With the set of arguments whose turn it is; None if all of them were errors."""
    way = learned.ways.get(use.key, 0)
    if way >= len(known):
        return None
    roots = learned.roots_of(use.key)
    return Lookup(
        tool=use.tool, arguments=known[way], kind="explore", use=use.key, way=way, roots=roots
    )


def choose_operations(uses: Sequence[ToolOperation], role: str) -> list[ToolOperation]:
    """A server's uses for a role, best first, by name and description; none that would write.

    For a search, where no tool's words say what it is for: those that take a name.
    """
    asked = askable(uses)
    fit = [use for use in asked if _score(use, role) >= _MIN_SCORE]
    if not fit and role == "search" and not any(_has_role(use) for use in asked):
        fit = [use for use in asked if _may_find(use)]
    return sorted(fit, key=lambda use: (-_score(use, role), len(use.key), use.key))


def _may_find(use: ToolOperation) -> bool:
    return takes_name(use.schema, use.description) and not use.finds_files


def _has_role(use: ToolOperation) -> bool:
    return any(_score(use, role) >= _MIN_SCORE for role in ROLES)


def _score(use: ToolOperation, role: str) -> int:
    if role == "search" and use.finds_files:
        return 0
    return 3 * len(use.words & ROLES[role]) + len(use.described & ROLES[role])


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


def fills(use: ToolOperation, target: Target) -> list[dict[str, Any]]:
    """Sets of arguments that ask for the name, the likeliest first."""
    if not takes_name(use.schema, use.description):
        return []
    sets = arguments_for(_asking(use.schema), target, described=use.description)
    asking = (one | _in_contents(use.schema) for one in sets if _holds(one, target.name))
    return list(asking)[:MOST_WAYS]


_CONTENTS = ("content", "contents", "text", "code")
_NAMES = {"file", "files", "filename", "filenames", "name", "names", "path", "paths"}


def _in_contents(schema: Mapping[str, Any]) -> dict[str, str]:
    """`searchType: content`, where a tool that is not told so looks at files' names."""
    for key, about in (schema.get("properties") or {}).items():
        choices = about.get("enum") if isinstance(about, Mapping) else None
        if isinstance(choices, list) and not _NAMES.isdisjoint(map(str, choices)):
            wanted = [one for one in _CONTENTS if one in choices]
            return {key: wanted[0]} if wanted else {}
    return {}


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


def lacking_keys(schema: Mapping[str, Any], given: Collection[str], error: str) -> list[str]:
    """The arguments that an error names and that were not given; of alternatives the first."""
    required = schema.get("required") or ()
    absent = [key for key in schema.get("properties") or {} if key not in {*required, *given}]
    found = {key: re.search(rf"(?<!\w){re.escape(key)}(?!\w)", error) for key in absent}
    named = sorted((match.start(), key) for key, match in found.items() if match)
    is_choice = re.search(r"\bor\b", error) is not None
    return [key for _, key in named][: 1 if is_choice else len(named)]
