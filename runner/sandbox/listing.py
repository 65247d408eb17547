"""What a server says of itself and its tools: read for the fingerprint, and checked for use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from runner.records import ToolListing, canonical_json, digest_of

if TYPE_CHECKING:
    import mcp_types

NAME_LIMIT_CHARS = 256
SCHEMA_DEPTH = 64
SHOWN_CHARS = 300
"""Of what a server says, in a record or an error of ours: it may say megabytes."""
TYPES = frozenset(("string", "number", "integer", "boolean", "object", "array", "null"))


def listing_of(
    introduction: mcp_types.InitializeResult, tools: Sequence[mcp_types.Tool]
) -> ToolListing:
    """What `tools/list` and `initialize` gave, for the fingerprint.

    Raises ValueError for a number that JSON cannot hold.
    """
    shown = [_as_shown(tool) for tool in tools]
    about = introduction.server_info
    return ToolListing(
        names=tuple(tool.name for tool in tools),
        digest=digest_of(shown),
        schema_chars=sum(len(canonical_json(tool)) for tool in shown),
        instructions_chars=len(introduction.instructions or ""),
        server_info=f"{about.name} {about.version}"[:SHOWN_CHARS],
        protocol=str(introduction.protocol_version),
    )


def _as_shown(tool: mcp_types.Tool) -> dict[str, Any]:
    """The part of a tool's definition that the model gets."""
    return {
        "name": tool.name,
        "description": tool.description or "",
        "inputSchema": tool.input_schema,
    }


# --- what is wrong with it ------------------------------------------------------------------


def listing_fault(tools: Sequence[mcp_types.Tool]) -> str:
    """Why these tools cannot be offered to a model; empty if they can."""
    names: set[str] = set()
    for tool in tools:
        name = tool.name
        if not 0 < len(name) <= NAME_LIMIT_CHARS:
            return f"a tool's name has {len(name):,} characters"
        # Which of the two a call means, nobody could say.
        if name in names:
            return f"tools/list has two tools {name!r}"
        names.add(name)
        if fault := schema_fault(tool.input_schema):
            return f"the input schema of {name!r} is invalid: {fault}"
    return ""


def schema_fault(schema: Any, depth: int = 0) -> str:
    """What is wrong with a JSON Schema, in the keywords that models and their APIs read."""
    if isinstance(schema, bool):
        return ""
    if not isinstance(schema, dict):
        return f"{_word(schema)} stands where a schema is due"
    if depth > SCHEMA_DEPTH:
        return f"it is nested deeper than {SCHEMA_DEPTH}"
    if fault := _keyword_fault(schema):
        return fault
    for inner in _inner_schemas(schema):
        if fault := schema_fault(inner, depth + 1):
            return fault
    return ""


def _keyword_fault(schema: dict[str, Any]) -> str:
    for kind in _listed(schema.get("type", [])):
        if not isinstance(kind, str) or kind not in TYPES:
            return f"there is no type {_word(kind)}"
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        return "`required` is no list of names"
    if not isinstance(schema.get("enum", []), list):
        return "`enum` is no list"
    return ""


def _inner_schemas(schema: dict[str, Any]) -> Iterator[Any]:
    for key in ("properties", "patternProperties", "$defs", "definitions"):
        named = schema.get(key, {})
        # Anything but a mapping is given on as it is, to be found out as no schema.
        yield from named.values() if isinstance(named, dict) else [named]
    for key in ("items", "anyOf", "oneOf", "allOf", "additionalProperties", "not"):
        # `items` is a schema, or in older drafts one for each place of an array.
        yield from _listed(schema.get(key, []))


def _listed(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    return [value]


def _word(value: Any) -> str:
    return repr(value)[:50]
