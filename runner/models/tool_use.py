"""How the offline navigator uses a server's tools: by their names, descriptions and schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from runner.answers import Answers
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
_READS_SURELY = frozenset("read view cat open".split())
LISTERS = frozenset(
    (
        "list tree outline overview structure summary status log logs toc map skeleton directory "
        "folder folders ls files branches branch history stats"
    ).split()
)
_SAYS_WHAT = frozenset().union(*ROLES.values(), READERS, LISTERS)
AVOID = frozenset(
    (
        "delete rename replace insert write edit memory clear configure create refresh set "
        "register restart remove onboarding safe watcher temp rebuild build index settings "
        "diagnose diagnostics metadata move initial"
    ).split()
)
_CHANGES = frozenset(
    (
        "commit add reset checkout push pull merge rebase stash generate run exec execute kill "
        "stop save apply patch update append install mkdir copy upload send post put format "
        "refactor undo restore bulk"
    ).split()
)
_AWAY = frozenset("remote url web github gitlab fetch clone download online http".split())
"""A cell has no network."""
_DESCRIPTION_CHARS = 300
MOST_WAYS = 4
"""To fill one tool's arguments, of which each costs a call to find out."""
_MIN_SCORE = 2
"""A word of a tool's name is enough, one of its description alone is not."""


@dataclass(frozen=True, kw_only=True)
class Use:
    """One thing that a server's tool does; a tool that is told what to do by a mode has several."""

    tool: str
    mode: str = ""
    """What it is told to do; empty if it does one thing."""
    description: str
    schema: Mapping[str, Any]
    """Of its arguments; the mode's is fixed."""
    read_only: bool = False

    @property
    def key(self) -> str:
        return f"{self.tool} {self.mode}".strip()

    @property
    def words(self) -> set[str]:
        """Of its name: `mcp__x__find_symbol` is called find and symbol."""
        # A mode's words alone: each mode of `search_or_delete` would search otherwise.
        return set(key_words(self.mode or self.tool.split("__")[-1]))

    @property
    def described(self) -> set[str]:
        """Words of what it says of itself; a mode's are those of its tool, which say too much."""
        if self.mode:
            return set()
        return set(re.findall(r"[a-z]+", self.description.lower()[:_DESCRIPTION_CHARS]))

    @property
    def may_be_asked(self) -> bool:
        # `search_index` says that it only reads: its name alone would keep it out.
        return self.read_only or not self.words & AVOID


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What earlier calls have shown."""

    ways: Mapping[str, int] = field(default_factory=dict)
    """Use -> the set of arguments to take: those before it were answered with errors."""
    language: str = ""
    """Of the code seen so far."""
    handles: Answers = field(default_factory=dict)
    """Key -> what an earlier call answered under it, for later ones to ask with."""

    def target(self, name: str, place: Finding | None) -> Target:
        """What a call about a name may hold, with the place where it was seen."""
        if place is None:
            return Target(name=name, language=self.language, handles=self.handles)
        language = language_of_path(place.path) or self.language
        return Target(
            name=name, path=place.path, line=place.line, language=language, handles=self.handles
        )


# --- what a server's tools do ---------------------------------------------------------------------

_MODE_KEYS = frozenset("action operation op command method function subcommand verb".split())
_REQUIRED_MODE_KEYS = _MODE_KEYS | frozenset("mode type kind".split())


def uses_of(tools: Sequence[ToolSpec]) -> list[Use]:
    """What a server's tools do; the shell is none."""
    return [use for tool in tools if tool.origin == "server" for use in _uses(tool)]


def _uses(tool: ToolSpec) -> Iterator[Use]:
    whole = Use(
        tool=tool.name,
        description=tool.description,
        schema=tool.input_schema,
        read_only=tool.read_only,
    )
    key, modes = _modes(tool.input_schema)
    for mode in modes:
        yield replace(whole, mode=mode, schema=_fixed(tool.input_schema, key, mode))
    if not modes:
        yield whole


def _modes(schema: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The argument that says what to do, and what it may say; none if there is no such one."""
    required = schema.get("required") or ()
    for key, about in (schema.get("properties") or {}).items():
        words = _REQUIRED_MODE_KEYS if key in required else _MODE_KEYS
        known = about.get("enum") if isinstance(about, Mapping) else None
        if not isinstance(known, list) or not words & set(key_words(key)):
            continue
        modes = [mode for mode in known if isinstance(mode, str) and mode]
        if len(modes) > 1 and any(set(key_words(mode)) & _SAYS_WHAT for mode in modes):
            return key, modes
    return "", []


def _fixed(schema: Mapping[str, Any], key: str, mode: str) -> dict[str, Any]:
    properties = {**schema["properties"], key: {"const": mode}}
    required = list(dict.fromkeys([*(schema.get("required") or ()), key]))
    return {**schema, "properties": properties, "required": required}


# --- the choice -----------------------------------------------------------------------------------


def server_lookup(
    uses: Sequence[Use],
    role: str,
    name: str,
    place: Finding | None,
    learned: Learned | None = None,
) -> Lookup | None:
    """A call of the best tool for a role whose arguments are known."""
    learned = learned or Learned()
    for use in choose(uses, role):
        lookup = lookup_of(use, fills(use, learned.target(name, place)), learned)
        if lookup is not None:
            return replace(lookup, kind="find", name=name)
    return None


def server_read(
    uses: Sequence[Use], name: str, place: Finding, learned: Learned | None = None
) -> Lookup | None:
    """A call that reads a file; of several tools, one that says so, with the shortest name."""
    learned = learned or Learned()
    target = learned.target(name, place)
    known = sorted(askable(uses), key=_readiness)
    for use in known:
        lookup = lookup_of(use, _reading(use, target), learned)
        if lookup is not None:
            return replace(lookup, kind="read", name=name, path=place.path)
    return None


def _readiness(use: Use) -> tuple[bool, int, str]:
    return (not use.words & READERS, len(use.tool), use.key)


def _reading(use: Use, target: Target) -> list[dict[str, Any]]:
    """Sets of arguments that name the file."""
    sets = list(arguments_for(use.schema, target, described=use.description))
    # What takes a folder before all else would answer a file with an error.
    is_of_files = bool(sets) and _holds(sets[0], target.path) and not use.words & LISTERS
    if not is_of_files and not use.words & _READS_SURELY:
        return []
    return [one for one in sets if _holds(one, target.path)][:MOST_WAYS]


def askable(uses: Sequence[Use]) -> Iterator[Use]:
    """None that changes something; where some say that they only read, those alone."""
    annotated = any(use.read_only for use in uses)
    for use in uses:
        is_safe = use.read_only or not (annotated or use.words & _CHANGES)
        if use.may_be_asked and is_safe and not use.words & _AWAY:
            yield use


def lookup_of(use: Use, known: Sequence[dict[str, Any]], learned: Learned) -> Lookup | None:
    """With the set of arguments whose turn it is; None if all of them were errors."""
    way = learned.ways.get(use.key, 0)
    if way >= len(known):
        return None
    return Lookup(tool=use.tool, arguments=known[way], kind="explore", use=use.key, way=way)


def choose(uses: Sequence[Use], role: str) -> list[Use]:
    """A server's uses for a role, best first, by name and description; none that would write.

    For a search, where no tool's words say what it is for: those that take a name.
    """
    fit = [use for use in uses if _score(use, role) >= _MIN_SCORE]
    if not fit and role == "search" and not any(_has_role(use) for use in uses):
        fit = [use for use in uses if use.may_be_asked and takes_name(use.schema)]
    return sorted(fit, key=lambda use: (-_score(use, role), len(use.key), use.key))


def _has_role(use: Use) -> bool:
    return any(_score(use, role) >= _MIN_SCORE for role in ROLES)


def _score(use: Use, role: str) -> int:
    if not use.may_be_asked:
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


def fills(use: Use, target: Target) -> list[dict[str, Any]]:
    """Sets of arguments that ask for the name, the likeliest first."""
    if not takes_name(use.schema):
        return []
    sets = arguments_for(_asking(use.schema), target, described=use.description)
    return [one for one in sets if _holds(one, target.name)][:MOST_WAYS]


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
