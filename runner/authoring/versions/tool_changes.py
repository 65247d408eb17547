"""Tools of two listings held against each other: gone, new, renamed, and taken otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from runner.authoring.versions.named_change import named_change
from runner.authoring.versions.schema_changes import Kind, SchemaChange, schema_changes
from runner.records import canonical_json
from runner.records.versions import VersionChange, Weight

if TYPE_CHECKING:
    import mcp_types

ALIKE = 0.8
"""Of what two tools say of themselves, from which on one is the other by a new name."""
_COMPARED_CHARS = 4_000
_WEIGHTS: Mapping[Kind, Weight] = {"breaking": "regression", "default": "regression"}


def tool_changes(
    base: Sequence[mcp_types.Tool], head: Sequence[mcp_types.Tool]
) -> Iterator[VersionChange]:
    before, after = _by_name(base), _by_name(head)
    renamed = _renamed(before, after)
    for name in before.keys() - after.keys() - renamed.keys():
        yield gone(name)
    for name, now in renamed.items():
        says = f"the tool {name} is called {now} now: who calls it by its name gets an error"
        yield named_change("tools", f"renamed:{name}", "regression", says, base=name, head=now)
        yield from _taken_otherwise(now, before[name], after[now])
    for name in after.keys() - before.keys() - {*renamed.values()}:
        yield new(name)
    for name in before:
        if name in after:
            yield from _taken_otherwise(name, before[name], after[name])


def renamed_tools(base: Sequence[mcp_types.Tool], head: Sequence[mcp_types.Tool]) -> dict[str, str]:
    """Old name -> new one."""
    return _renamed(_by_name(base), _by_name(head))


def _by_name(tools: Sequence[mcp_types.Tool]) -> dict[str, mcp_types.Tool]:
    return {tool.name: tool for tool in tools}


def gone(name: str) -> VersionChange:
    says = f"the tool {name} is gone"
    return named_change("tools", f"gone:{name}", "regression", says, base=name)


def new(name: str) -> VersionChange:
    return named_change("tools", f"new:{name}", "note", f"the tool {name} is new", head=name)


# --- another name -------------------------------------------------------------------------------


def _renamed(
    before: Mapping[str, mcp_types.Tool], after: Mapping[str, mcp_types.Tool]
) -> dict[str, str]:
    """Old name -> new one, the likest first; each new tool is one old one at most."""
    lost, won = before.keys() - after.keys(), after.keys() - before.keys()
    pairs = [(_likeness(before[one], after[two]), one, two) for one in lost for two in won]
    found: dict[str, str] = {}
    for likeness, one, two in sorted(pairs, key=lambda it: (-it[0], it[1], it[2])):
        if likeness >= ALIKE and one not in found and two not in found.values():
            found[one] = two
    return found


def _likeness(one: mcp_types.Tool, other: mcp_types.Tool) -> float:
    """Of all that they say but their names, from 0 to 1."""
    first, second = _said_by(one), _said_by(other)
    return SequenceMatcher(a=first, b=second, autojunk=False).ratio()


def _said_by(tool: mcp_types.Tool) -> str:
    described = (tool.description or "").replace(tool.name, "")
    return f"{described} {canonical_json(tool.input_schema)}"[:_COMPARED_CHARS]


# --- what it takes ------------------------------------------------------------------------------


def _taken_otherwise(
    name: str, before: mcp_types.Tool, after: mcp_types.Tool
) -> Iterator[VersionChange]:
    worded = (before.description or "") != (after.description or "")
    for change in schema_changes(before.input_schema, after.input_schema):
        # Reworded parameters are one thing to read, not twenty.
        worded |= change.kind == "words" and change.what == "description"
        if change.what != "description":
            yield _parameter(name, change)
    if worded:
        says = f"{name} is described otherwise"
        yield named_change("schema", f"description:{name}", "note", says)
    if _hints(before) != _hints(after):
        says = f"{name} gives other hints: whether it writes, destroys, or looks outside"
        both = {"base": _hints(before), "head": _hints(after)}
        yield named_change("schema", f"annotations:{name}", "note", says, **both)
    if before.output_schema != after.output_schema:
        says = f"{name} has another schema of its results"
        yield named_change("schema", f"output:{name}", "note", says)


def _parameter(tool: str, change: SchemaChange) -> VersionChange:
    subject = f"{change.key} of {tool}" if change.key else tool
    sides = f": {change.base or '–'} → {change.head or '–'}" if change.base or change.head else ""
    what = f"{change.what}:{tool}{f'.{change.key}' if change.key else ''}"
    weight = _WEIGHTS.get(change.kind, "note")
    says = f"{subject} {change.says}{sides}"
    return named_change("schema", what, weight, says, base=change.base, head=change.head)


def _hints(tool: mcp_types.Tool) -> str:
    said: Any = tool.annotations
    return "" if said is None else canonical_json(said.model_dump(mode="json", exclude_none=True))
