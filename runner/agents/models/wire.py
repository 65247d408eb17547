"""Tools and calls as an API takes and sends them: names, schemas, arguments."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runner.protocols import Call, Stop, ToolSpec
from runner.records import canonical_json

DEEPEST = 100
"""Levels of JSON in arguments. A thousand more break the parser, the transcript or the server."""
EXCERPT_CHARS = 200
SEED = 20_261_121
"""Of the draw that leaves tools out, where an API takes fewer than there are."""
ANTHROPIC_STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "pause_turn": "pause",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_full",
}
_COMBINATORS = ("oneOf", "anyOf", "allOf", "not", "enum")
"""What APIs reject at the top of a tool's schema."""


def without_surrogates(value: Any) -> Any:
    """The same without lone surrogates, which UTF-8 and so no request can hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_surrogates(item) for item in value]
    return value


# --- tools ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class FittedTools:
    """The tools of an arm, and what had to be changed about them."""

    tools: tuple[ToolSpec, ...]
    """As the API takes them."""
    ours: dict[str, str]
    """The API's name of a tool -> ours."""
    notes: tuple[str, ...]


def fit(tools: Sequence[ToolSpec], *, name_chars: int, most: int | None = None) -> FittedTools:
    """What the API takes of the tools: short names, objects as schemas, no more than `most`."""
    kept, notes = _within(tools, most)
    fitted, ours = [], {}
    for tool in kept:
        name = _short(tool.name, name_chars)
        ours[name] = tool.name
        schema, description, change = _object_schema(tool)
        fitted.append(replace(tool, name=name, description=description, input_schema=schema))
        if change:
            notes.append(f"the schema of {tool.name} was changed for the API: {change}")
    return FittedTools(tools=tuple(fitted), ours=ours, notes=tuple(notes))


def _within(tools: Sequence[ToolSpec], most: int | None) -> tuple[list[ToolSpec], list[str]]:
    """The shell and as many others as fit, drawn by a seed: the first ones may be all of a kind."""
    if most is None or len(tools) <= most:
        return list(tools), []
    shell = [tool for tool in tools if tool.origin == "shell"]
    others = [tool for tool in tools if tool.origin != "shell"]
    drawn = random.Random(SEED).sample(range(len(others)), most - len(shell))  # noqa: S311 - a draw to be repeated
    left_out = [tool.name for place, tool in enumerate(others) if place not in drawn]
    kept = shell + [others[place] for place in sorted(drawn)]
    listed = ", ".join(left_out)
    note = f"the API takes {most} of {len(tools)} tools; left out by seed {SEED}: {listed}"
    return kept, [note]


def _short(name: str, limit_chars: int) -> str:
    """A name the API takes. The digest keeps two that begin alike apart."""
    cleaned = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    if cleaned == name and len(name) <= limit_chars:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{cleaned[: limit_chars - 9]}_{digest}"


def _object_schema(tool: ToolSpec) -> tuple[dict[str, Any], str, str]:
    """A schema that APIs take, the description, and what was changed (empty: nothing)."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {},
        **without_surrogates(tool.input_schema),
    }
    description = without_surrogates(tool.description)
    changes = []
    if schema["type"] != "object":
        changes.append(f"type {schema['type']!r} became 'object'")
        schema["type"] = "object"
    moved = {word: schema.pop(word) for word in _COMBINATORS if word in schema}
    if moved:
        changes.append(f"{', '.join(moved)} moved into the description")
        description += f"\nThe arguments must also satisfy this JSON schema: {json.dumps(moved)}"
    return schema, description, "; ".join(changes)


# --- calls ----------------------------------------------------------------------------------


def call_of(call_id: str, tool: str, arguments: str, *, cut: bool = False) -> Call:
    """A call the model wrote; one that cannot be made says why.

    `cut`: the limit of output tokens ended the reply in it.
    """
    parsed, problem = parse_arguments(arguments)
    if cut and not arguments.strip():
        # Nothing is what a call without arguments looks like, too.
        problem = "the call was cut off by the limit of output tokens"
    return Call(id=call_id, tool=tool, arguments=parsed, problem=problem)


def parse_arguments(text: str) -> tuple[dict[str, Any], str]:
    """The arguments, or none and what is wrong with them. No arguments are written as nothing."""
    if not text.strip():
        return {}, ""
    try:
        value = load_json(text)
    except ValueError as error:
        return {}, f"the arguments cannot be read: {error}: {text[:EXCERPT_CHARS]}"
    if not isinstance(value, dict):
        return {}, f"the arguments are no JSON object: {text[:EXCERPT_CHARS]}"
    return value, ""


def load_json(text: str) -> Any:
    """Raises ValueError for what is not JSON, or nested deeper than anything here could hold."""
    depth = max(_depths(text), default=0)
    if depth > DEEPEST:
        raise ValueError(f"nested {depth} levels deep, and {DEEPEST} are taken")
    return json.loads(text, parse_constant=_no_number)


def _depths(text: str) -> Iterator[int]:
    depth = 0
    # Brackets inside strings open nothing.
    for bracket in re.findall(r"[\[\]{}]", re.sub(r'"(?:[^"\\]|\\.)*"', "", text)):
        depth += 1 if bracket in "[{" else -1
        yield depth


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def written_arguments(call: Call) -> str:
    return canonical_json(without_surrogates(call.arguments))
