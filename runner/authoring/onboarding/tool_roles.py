"""A server's tools, sorted by what they are for: by their annotations, else by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence

import mcp_types

from runner.agents.models.offline.uses import (
    DESCRIPTION_CHARS,
    READING,
    makes_a_view,
    says_it_changes,
)
from runner.authoring.onboarding.telling import for_setup, setup_round, words_of
from runner.servers.example_arguments import said_of_itself, takes_command

_WRITES = frozenset(
    "write create edit delete remove move rename insert replace update append save commit push "
    "patch apply clear reset kill stop execute exec run shell install uninstall checkout merge "
    "rebase stash add mkdir copy upload send post put set fix format refactor undo restore "
    "restart shutdown drop record store generate modify rewrite overwrite cancel abort".split()
)
_READS_SURELY = READING | frozenset("explore summarize inspect outline tree".split())
_LOOKS = (
    frozenset("definition definitions symbol symbols declaration node references callers".split()),
    frozenset("search grep find query locate explore lookup ripgrep".split()),
    frozenset("outline structure summary overview map skeleton read show view get cat".split()),
    frozenset("list tree files directory ls glob".split()),
)
"""What shows code, the most exact first."""
_FINDING = (0, 1, len(_LOOKS), len(_LOOKS) + 1)
"""By name or by description: the first two of those."""


def writes(tool: mcp_types.Tool) -> bool:
    """By what it says of itself; by its name if it says nothing."""
    said = tool.annotations
    if said is not None and said.read_only_hint is not None:
        return not said.read_only_hint
    if said is not None and said.destructive_hint is True:
        return True
    if says_it_changes(tool.description or "") and not _is_shell(tool):
        return True
    words = words_of(tool)
    if makes_a_view(words) or words & READING or setup_round(tool) is not None:
        return False
    return bool(words & _WRITES)


def writers(tools: Sequence[mcp_types.Tool]) -> list[str]:
    """Names of those that write; where all are said to, those that are so named."""
    if said_of_all(tools):
        return [tool.name for tool in tools if not _is_named_to_read(tool)]
    return [tool.name for tool in tools if writes(tool)]


def said_of_all(tools: Sequence[mcp_types.Tool]) -> bool:
    """Are all said to write, some of them against their names?

    A framework may set it for every tool, whose author said nothing.
    """
    said = [tool for tool in tools if tool.annotations is not None and writes(tool)]
    return len(said) == len(tools) and any(map(_is_named_to_read, tools))


def _is_named_to_read(tool: mcp_types.Tool) -> bool:
    words = words_of(tool)
    return makes_a_view(words) or bool(words & _READS_SURELY and not words & _WRITES)


def finds(tool: mcp_types.Tool) -> bool:
    """Does it look for something, where others read or list what is named to them?"""
    return _exactness(tool) in _FINDING


def for_looking(tools: Sequence[mcp_types.Tool]) -> list[mcp_types.Tool]:
    """Those that only read, the most exact first; then those that write and destroy nothing.

    A shell is one of them: it is told to look.
    """
    writing = writers(tools)
    told = {tool.name for tool in for_setup(tools)}
    asked = [tool for tool in tools if tool.name not in told]
    kept = [tool for tool in asked if tool.name not in writing or _is_harmless(tool)]

    def rank(tool: mcp_types.Tool) -> tuple[bool, int, int, str]:
        return (tool.name in writing, _exactness(tool), len(tool.name), tool.name)

    return sorted(kept, key=rank)


def _is_harmless(tool: mcp_types.Tool) -> bool:
    """As it says itself: it packs or copies, for instance, into a folder of its own."""
    if _is_shell(tool):
        return True
    return tool.annotations is not None and tool.annotations.destructive_hint is False


def _is_shell(tool: mcp_types.Tool) -> bool:
    return takes_command(tool.input_schema, said_of_itself(tool.name, tool.description))


def _exactness(tool: mcp_types.Tool) -> int:
    words = words_of(tool)
    for place, known in enumerate(_LOOKS):
        if words & known:
            return place
    described = set(re.findall(r"[a-z]+", (tool.description or "").lower()[:DESCRIPTION_CHARS]))
    for place, known in enumerate(_LOOKS):
        if described & known:
            return place + len(_LOOKS)
    return 2 * len(_LOOKS)
