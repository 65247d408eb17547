"""Tools that are told something before a server shows its best: which, in which order, and what.

By their names, by what they say of themselves, and by what other tools' answers say to call.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from typing import Any

import mcp_types

from runner.agents.models.offline.uses import DESCRIPTION_CHARS, READING
from runner.sandbox.cell_layout import WORKSPACE
from runner.servers.example_arguments import key_words

_SETS_UP = (
    frozenset("set activate switch change register connect open initialize init use load".split()),
    frozenset("onboard onboarding".split()),
    frozenset("index reindex build scan ingest sync import".split()),
)
"""Rounds: a project has to be chosen before it is indexed."""
_INDEXING = 2
"""The round that builds an index."""
_ADDS = frozenset("add attach create".split())
_WHOLE = frozenset("project workspace repo repository codebase".split())
"""What is added to a server as a whole: `create_directory` makes a folder."""
_CLONES = frozenset("clone repo repository".split())
"""To git, a folder is a URL."""
_CLONING = frozenset("clone git repo repository project".split())
"""The words of a tool that brings a repository in, and no image or site."""
_CALL = re.compile(r"(?<![\w.])(?P<tool>[A-Za-z]\w*)\(\w+=[^()\n]{1,300}\)")
_SOME_PLACE = re.compile(r"[~/<$%]|[A-Za-z]:[\\/]|(?:path|your)\b")
_BEGINS = frozenset("open start begin create new init initialize".split())
"""A session that other tools ask for."""
_STARTS = frozenset("start begin launch submit".split())
"""A job, where other tools ask for its id."""
_INDEXES = re.compile(
    # A maintainability index is a figure.
    r"(?<!maintainability )\b(?:re-?)?index(?:es|ing)?\b|\bingests?\b|\bone-time scan\b"
    r"|\badds? .{0,30}to the graph"
)
_SETS_NOTHING = frozenset(
    "delete remove clear status list stop reset cancel abort pause disable package watch "
    "unwatch help remote clone docker npm pip uv".split()
)
_ANALYZES = frozenset("analyze analyse parse process".split())
_COMES_FIRST = re.compile(
    r"\bmust be (?:called|run|used|executed) (?:first|before)\b|\brequired before\b"
    r"|\bbefore (?:using|calling|running) (?:any )?(?:of the )?others?\b"
)
"""Of itself: what looks with `analyze` may be what the others need."""
_CHOSEN = frozenset(
    "project workspace repo repository root directory dir cwd folder path codebase".split()
)


def words_of(tool: mcp_types.Tool) -> set[str]:
    """`findSymbol` is find and symbol."""
    return set(key_words(tool.name))


def setup_round(tool: mcp_types.Tool) -> int | None:
    """In which round it is called if nothing is found without it; None if it sets nothing up."""
    if not _wants_only_a_place(tool):
        return None
    if _COMES_FIRST.search((tool.description or "").lower()):
        return 0
    return _round_by_name(tool)


def _round_by_name(tool: mcp_types.Tool) -> int | None:
    words = words_of(tool)
    if "clone" in words and words <= _CLONING:
        return 0
    if words & _ANALYZES and _says_it_writes(tool):
        # What writes as it looks writes an index.
        return _INDEXING
    if words & (_SETS_NOTHING | READING):
        return None
    if _chooses(words) or (words & _BEGINS and "session" in words):
        return 0
    if words & _SETS_UP[1]:
        return 1
    # `git_sync` pulls and pushes.
    builds = words & _SETS_UP[2] and "git" not in words
    return _INDEXING if builds or _says_it_indexes(tool) else None


def _chooses(words: set[str]) -> bool:
    allows = {"update", "allowed"} <= words
    is_chosen = (words & _SETS_UP[0] or allows) and words & _CHOSEN
    return bool(is_chosen or (words & _ADDS and words & _WHOLE))


def _says_it_writes(tool: mcp_types.Tool) -> bool:
    said = tool.annotations
    return said is not None and said.read_only_hint is False


def builds_index(tool: mcp_types.Tool) -> bool:
    """Of those that set something up: `scan` and `import` may be of anything."""
    named = words_of(tool) & frozenset("index reindex ingest sync".split())
    return setup_round(tool) == _INDEXING and (bool(named) or _says_it_indexes(tool))


def _says_it_indexes(tool: mcp_types.Tool) -> bool:
    """In the first words of its description, and it does not say that it only reads."""
    said = tool.annotations
    if words_of(tool) & READING or (said is not None and said.read_only_hint):
        return False
    return bool(_INDEXES.search((tool.description or "").lower()[:DESCRIPTION_CHARS]))


def _wants_handle(tool: mcp_types.Tool) -> bool:
    required = tool.input_schema.get("required") or ()
    return any(key_words(key)[-1] in ("id", "handle") for key in required)


def _wants_only_a_place(tool: mcp_types.Tool) -> bool:
    """What it requires says where a project is, or what it or an earlier call is called."""
    required = tool.input_schema.get("required") or ()
    known = _CHOSEN | {"name", "session", "handle", "id"}
    if words_of(tool) & _CLONES:
        known |= {"url", "source"}
    return all(set(key_words(key)) & known for key in required)


def for_setup(tools: Sequence[mcp_types.Tool]) -> list[mcp_types.Tool]:
    """In the order in which they are told."""
    wants_handle = any(map(_wants_handle, tools))

    def place_of(tool: mcp_types.Tool) -> int | None:
        # What begins a job answers with the id that others ask for.
        begins = wants_handle and words_of(tool) & _STARTS and _wants_only_a_place(tool)
        return 0 if begins else setup_round(tool)

    rounds = [(place_of(tool), tool.name, tool) for tool in tools]
    found = [(place, name, tool) for place, name, tool in rounds if place is not None]
    return [tool for _, _, tool in sorted(found, key=lambda item: item[:2])]


# --- named by answers ---------------------------------------------------------------------------


def named_by(
    answers: Sequence[tuple[str, str]], tools: Sequence[mcp_types.Tool]
) -> list[mcp_types.Tool]:
    """Tools that are asked about a place alone, and that others' answers say to call.

    `answers`: of each the tool, and the text.
    """

    def is_named(tool: mcp_types.Tool) -> bool:
        name = rf"(?<![\w-]){re.escape(tool.name)}(?![\w-])"
        said = rf"\b(?:call|run|use|invoke|try)\b[^.\n]{{0,40}}{name}"
        others = (text for asked, text in answers if asked != tool.name)
        return any(re.search(said, text, re.IGNORECASE) for text in others)

    fit = (one for one in tools if _wants_only_a_place(one) and not words_of(one) & _SETS_NOTHING)
    return list(filter(is_named, fit))


def calls_spelled(
    answers: Sequence[tuple[str, str]], tools: Sequence[mcp_types.Tool]
) -> list[tuple[str, dict[str, Any]]]:
    """Whole calls that answers say to make: `approve(directory="/workspace", remember=True)`.

    Of tools of the same server that undo nothing, each once: the tool, and its arguments.
    """
    known = {tool.name: tool for tool in tools if not words_of(tool) & _SETS_NOTHING}
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for _, text in answers:
        # An answer that is JSON has its quotes escaped.
        for spelled in _CALL.finditer(text.replace('\\"', '"')):
            tool = known.get(spelled["tool"])
            arguments = _literals(spelled[0])
            known_keys = set(tool.input_schema.get("properties") or {}) if tool else set()
            if tool is not None and arguments and set(arguments) <= known_keys:
                found.setdefault(spelled[0], (tool.name, arguments))
    return list(found.values())


def _here(value: Any) -> Any:
    """The workspace, where an answer has a place that stands for the reader's own."""
    is_place = isinstance(value, str) and _SOME_PLACE.match(value)
    return WORKSPACE if is_place and not value.startswith(WORKSPACE) else value


def _literals(call: str) -> dict[str, Any]:
    """Of its arguments by name; none if one of them is no literal, or nothing that JSON has."""
    try:
        parsed = ast.parse(call, mode="eval").body
        keywords = parsed.keywords if isinstance(parsed, ast.Call) else []
        found = {str(one.arg): _here(ast.literal_eval(one.value)) for one in keywords}
        json.dumps(found)
    except (SyntaxError, ValueError, TypeError):
        return {}
    return found
