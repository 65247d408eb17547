"""What a server's tools do, as far as their names, schemas and annotations say."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runner.protocols import ToolSpec
from runner.servers.example_arguments import choices_said, key_words, said_of_itself, takes_command

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
        "stop cancel abort save apply patch update append install mkdir copy upload send post put "
        "format refactor undo restore bulk modify rewrite overwrite"
    ).split()
)
_WHICH = (
    r"(?:(?:an?|the|one|or|more|all|any|each|your|its|existing|multiple|several|text|source|local"
    r"|specific|matching|exact|body|contents?|occurrences?|of|in)\s+){0,6}"
)
_SAYS_IT_CHANGES = re.compile(
    rf"""
    (?:
        \A\W*(?:modify|edit|rewrite|overwrite|replace)   # Edit the file: as an order, it begins so
        | (?:\A|[.!:;\n])\W*(?:modifies|edits|rewrites|overwrites|replaces)
        | \b(?:it|tool)\s+(?:(?:can|may|will|\w+ly)\s+)*
          (?:modif(?:y|ies)|edits?|rewrites?|overwrites?|replaces?)
    )
    \s+{_WHICH}
    (?:files?|code|lines?|symbols?|functions?|class(?:es)?|methods?|strings?|expression|disk)\b
    | (?:\A|[.!:;\n]|\b(?:it|tool)\s)\W*appl(?:y|ies)\s+{_WHICH}
      (?:patch(?:es)?|diffs?|edits?|changes?|fix(?:es)?|refactorings?|codemods?)\b
    | \A\W*(?:search|find)(?:\s+and\s+|-and-|\ &\ )(?:replace|rewrite)\b
    """,
    re.I | re.X,
)
_MAKES = frozenset("generate create build run make".split())
_VIEWS = frozenset(
    "map digest context outline summary overview tree diagram skeleton structure prompt".split()
)
_TEXTS = frozenset("text markdown".split())
_CHECKS = frozenset(
    (
        "analysis analyzer audit bandit biome check checks complexity eslint flake8 jscpd knip "
        "lint linter madge metrics mypy pylint pyright radon report ruff semgrep stylelint tsc "
        "typecheck vulture"
    ).split()
)
READING = frozenset(
    "get list read search find query show view grep count describe check lint analyze".split()
)
_LOOKS = READING | frozenset(
    (
        "return retrieve locate look trace explain explore inspect detect compute calculate "
        "display summarize lookup cat"
    ).split()
)
_SEEKS = frozenset("query pattern regex question keyword keywords".split())
"""Words of an argument that takes what is looked for."""
_DOES = re.compile(
    r"""
    \A\W*[a-z]+\s+
    (?:(?:an?|the|this|that|these|all|any|every|each|its|your|one|some)\b   # Store a note
    | (?<=[a-rt-z]s\s)(?!(?:of|in|to|for|from|by|with|on|at|that|which|and)\b))   # Saves context
    """,
    re.I | re.X,
)
"""What a description begins with if that is something done: no noun stands so."""
_SENTENCE = re.compile(r"(?:\A|[.!:\n])\W*([a-z]+)")
"""What a sentence begins with."""
_DOES_MORE = re.compile(r"\band\s+(?:then\s+)?(?P<verb>[a-z]+)\s+(?:it|them)\b", re.I)
"""Finds occurrences and fixes them"""
_AWAY = frozenset("remote url web github gitlab fetch clone download online http".split())
"""A cell has no network."""
_OF_FILES = frozenset("file files filename filenames path paths glob".split())
_FINDS_FILES = re.compile(
    r"""
    \bglob
    | \b(?:find|search|locate|look)\w*\ (?:for\ )?(?:all\ )?files   # Search for files
    | \bfiles?\ ?(?:names?\b|by\ |matching\b|whose\b)   # file names; files by pattern
    | \bpaths\b
    """,
    re.I | re.X,
)
_IN_FILES = re.compile(
    r"contents?\b|\b(?:text|code|lines?|rg)\b|grep|occurrence|\b(?:in|inside|within)\ files",
    re.I,
)
DESCRIPTION_CHARS = 300
"""Of what a tool says of itself: the rest tells of its arguments."""


@dataclass(frozen=True, kw_only=True)
class ToolOperation:
    """One thing that a server's tool does; a tool that is told what to do by a mode has several."""

    tool: str
    mode: str = ""
    """What it is told to do; empty if it does one thing."""
    description: str
    schema: Mapping[str, Any]
    """Of its arguments; the mode's is fixed."""
    read_only: bool = False
    destructive: bool = False
    """It says so itself, and not every tool of its server does."""

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
        return set(re.findall(r"[a-z]+", self.description.lower()[:DESCRIPTION_CHARS]))

    @property
    def finds_files(self) -> bool:
        """It looks at files' names alone: what stands in them is not found so."""
        said = self.description[:DESCRIPTION_CHARS]
        is_of_files = bool(self.words & _OF_FILES) and _FINDS_FILES.search(said) is not None
        return is_of_files and _IN_FILES.search(said) is None

    @property
    def may_be_asked(self) -> bool:
        # `search_index` says that it only reads: its name alone would keep it out.
        if self.read_only or makes_a_view(self.words):
            return True
        return not (self.destructive or self.words & AVOID or self._changes)

    @property
    def says_it_reads(self) -> bool:
        """By its name's verb, or by what it says first; what does something else does not.

        Without it each verb of writing would have to be known, and there is always one more.
        """
        if self.read_only or makes_a_view(self.words):
            return True
        verb = key_words(self.mode or self.tool.split("__")[-1])[0]
        if self.mode:
            return _is_looking(verb) or bool(self.words & _SAYS_WHAT)
        said = self.description[:DESCRIPTION_CHARS].lower()
        if any(not _is_looking(more["verb"]) for more in _DOES_MORE.finditer(said)):
            return False
        first, *others = _SENTENCE.findall(said) or [""]
        if _is_looking(verb) or _is_looking(first) or takes_command(self.schema, said):
            return True
        if self.does_something:
            return False
        asks = any(_SEEKS & set(key_words(key)) for key in self.schema.get("properties") or ())
        tells = not self.words.isdisjoint(_SAYS_WHAT)
        return asks or tells or any(map(_is_looking, (*self.words, *others)))

    @property
    def does_something(self) -> bool:
        """Its description begins with a verb; a mode's is its tool's."""
        return not self.mode and _DOES.match(self.description) is not None

    @property
    def _changes(self) -> bool:
        """`generate_skill` writes one; a shell that is told to look changes nothing."""
        # What is said of a tool that has modes is said of one of them.
        says_so = not self.mode and says_it_changes(self.description)
        is_one = says_so or bool(self.words & _CHANGES)
        return is_one and not takes_command(self.schema, self.description)


def says_it_changes(description: str) -> bool:
    """`This tool modifies files when auto_apply=true`: whatever it is called, it writes.

    What speaks of others' edits does not: `use it before you edit a file`.
    """
    return _SAYS_IT_CHANGES.search(description) is not None


def makes_a_view(words: Collection[str]) -> bool:
    """`generate_repo_map`, `run_pylint` and `convert_to_text` write nothing but their answer."""
    is_checked = "run" in words and not _CHECKS.isdisjoint(words)
    is_text = "to" in words and not _TEXTS.isdisjoint(words)
    is_one = is_checked or is_text or not (_MAKES.isdisjoint(words) or _VIEWS.isdisjoint(words))
    return is_one and ((AVOID | _CHANGES) - _MAKES).isdisjoint(words)


def askable(uses: Sequence[ToolOperation], also: Collection[str] = ()) -> list[ToolOperation]:
    """Those that say that they only read; where none does, those whose words say that they read.

    Of a server none of whose tools says so: those that do not say what else they do. `also`: words
    of the names of those that may be asked besides.
    """
    near = [use for use in uses if use.may_be_asked and not use.words & _AWAY]
    if any(use.read_only for use in uses):
        return [use for use in near if use.read_only]
    reading = [use for use in near if use.says_it_reads or not use.words.isdisjoint(also)]
    return reading or [use for use in near if not use.does_something]


def _is_looking(word: str) -> bool:
    """`find`, `finds`, `searches`, `queries`."""
    stems = (word.removesuffix("s"), word.removesuffix("es"), f"{word.removesuffix('ies')}y")
    return not _LOOKS.isdisjoint((word, *stems))


# --- of each tool --------------------------------------------------------------------------------

_MODE_KEYS = frozenset("action operation op command method function subcommand verb".split())
_REQUIRED_MODE_KEYS = _MODE_KEYS | frozenset("mode type kind".split())


def uses_of(tools: Sequence[ToolSpec]) -> list[ToolOperation]:
    """What a server's tools do; the shell is none."""
    of_server = [tool for tool in tools if tool.origin == "server"]
    # A framework may say it of every tool, whose author said nothing.
    if all(tool.destructive for tool in of_server):
        of_server = [replace(tool, destructive=False) for tool in of_server]
    return [use for tool in of_server for use in _uses(tool)]


def _uses(tool: ToolSpec) -> Iterator[ToolOperation]:
    whole = ToolOperation(
        tool=tool.name,
        description=said_of_itself(tool.name.split("__")[-1], tool.description),
        schema=tool.input_schema,
        read_only=tool.read_only,
        destructive=tool.destructive,
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
        modes = _choices(about) if words & set(key_words(key)) else []
        if len(modes) > 1 and any(set(key_words(mode)) & _SAYS_WHAT for mode in modes):
            return key, modes
    return "", []


def _choices(about: Any) -> list[str]:
    """What a text argument may be, by its schema or by what is said of it."""
    if not isinstance(about, Mapping):
        return []
    known = about.get("enum")
    if isinstance(known, list):
        return [one for one in known if isinstance(one, str) and one]
    return choices_said(str(about.get("description", "")))


def _fixed(schema: Mapping[str, Any], key: str, mode: str) -> dict[str, Any]:
    properties = {**schema["properties"], key: {"const": mode}}
    required = list(dict.fromkeys([*(schema.get("required") or ()), key]))
    return {**schema, "properties": properties, "required": required}
