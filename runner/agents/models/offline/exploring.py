"""What the offline navigator tries on a server none of whose tools finds names.

As somebody would who sees its tools for the first time: what opens or packs the repository, what
lists it, what tells its state. Which of them is worth a call is guessed from names, schemas and
annotations.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace

from runner.agents.models.offline.lookups import Lookup
from runner.agents.models.offline.tool_use import MOST_WAYS, READS_SURELY, Learned, lookup_of
from runner.agents.models.offline.uses import LISTERS, ToolOperation, askable
from runner.servers.example_arguments import (
    PROJECT_LISTS,
    ROOT_ARGUMENTS,
    Target,
    arguments_for,
    key_words,
    unknown_keys,
)

_NOBODY = "no-name-at-all"
"""Stands where a name would: what is explored takes none."""
_OPENS = frozenset("pack open load parse attach start begin scan analyze ingest import".split())


def explorations(
    uses: Sequence[ToolOperation], learned: Learned, tried: Collection[str]
) -> list[Lookup]:
    """A call of each use that has not been tried and whose arguments are all known, best first."""
    needed = _handles_needed(askable(uses), learned)
    ranked = []
    # What opens the repository may write: without it nothing that needs its answer can be asked.
    for use in askable(uses, also=_OPENS if needed else ()):
        if use.key in tried:
            continue
        lookup = exploration(use, learned)
        if lookup is not None:
            ranked.append((_rank(use, lookup, learned, needed), len(use.key), use.key, lookup))
    ranked.sort(key=lambda item: item[:3])
    # One opens it: what a second would open, nobody has asked for.
    second = [item for item in ranked if item[0] == _OPENING][1:]
    return [item[3] for item in ranked if item[0] < _LAST and item not in second]


def project_lists(uses: Sequence[ToolOperation], learned: Learned) -> list[Lookup]:
    """Calls of the tools that list the projects, which take nothing."""
    listing = (use for use in askable(uses) if use.words & LISTERS and use.words & PROJECT_LISTS)
    return list(filter(None, (exploration(use, learned) for use in listing)))


def exploration(use: ToolOperation, learned: Learned) -> Lookup | None:
    """Of the repository as a whole, in the way whose turn it is."""
    sets = arguments_for(use.schema, _target(learned), described=use.description)
    known = [one for one in sets if _NOBODY not in json.dumps(one)]
    return lookup_of(use, known[:MOST_WAYS], learned)


def _handles_needed(uses: Sequence[ToolOperation], learned: Learned) -> set[str]:
    """What tools require that only another call can give."""
    # A file is no handle: one will be seen.
    target = replace(_target(learned), path="a.py", line=1)
    return {key for use in uses for key in unknown_keys(use.schema, target)}


def _target(learned: Learned) -> Target:
    return learned.target(_NOBODY, None)


_OPENING = 1
_LAST = 4


def _rank(use: ToolOperation, lookup: Lookup, learned: Learned, needed: Collection[str]) -> int:
    """0 for what continues an earlier call, `_LAST` for what is not about the repository."""
    given = json.dumps(list(lookup.arguments.values()), ensure_ascii=False)
    if any(json.dumps(handle) in given for handle in learned.handles.values()):
        return 0
    target = _target(learned)
    has_place = any(f'"{place}"' in given for place in (target.root, ".", target.label))
    if needed and has_place and use.words & _OPENS:
        return _OPENING
    if use.words & LISTERS:
        return 2 if has_place else 3
    if use.words & READS_SURELY and not _reads_whole(lookup, target):
        # It reads a file, and none is known yet: a folder would be an error.
        return _LAST
    return 3 if has_place else _LAST


def _reads_whole(lookup: Lookup, target: Target) -> bool:
    """It takes the folder by a name that no file has: `read_context(project_root)`."""
    given = lookup.arguments.items()
    return any(
        value == target.root and ROOT_ARGUMENTS.intersection(key_words(key)) for key, value in given
    )
