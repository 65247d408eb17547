"""`json_actions`: each reply is one JSON object of a schema, a call or an answer.

For small models, whose native calls fail where a constrained reply is always well formed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from runner.agents.models.wire import load_json
from runner.agents.text_tool_calls import ParsedReply, TextToolCalls, constrained, listed, unfenced
from runner.protocols import Message, Result, ToolMessage, ToolSpec, Turn, UserMessage
from runner.records import canonical_json

FORM = """\
Every reply is one JSON object with these keys, in this order:

- "thought": what you know, what is missing, and what you do about it.
- "tool": the name of a tool to call, or "answer" to end the step.
- "arguments": the tool's arguments as an object; {} for "answer".
- "answer": the whole answer if the tool is "answer", else "". Only this text reaches the reader.
"""
ANSWER = "answer"
_KEYS = ("thought", "tool", "arguments", "answer")


def schema(tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """Of a reply. It holds no more than APIs take: the arguments' own schemas are in the prompt."""
    names = [tool.name for tool in tools]
    return {
        "type": "object",
        "properties": {
            "thought": {"type": "string"},
            "tool": {"type": "string", "enum": [*names, ANSWER]},
            "arguments": _object(_all_properties(tools)),
            "answer": {"type": "string"},
        },
        "required": list(_KEYS),
        "additionalProperties": False,
    }


def _all_properties(tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """Every argument that some tool has; of two with one name, the first."""
    properties: dict[str, Any] = {}
    for tool in tools:
        for name, definition in (tool.input_schema.get("properties") or {}).items():
            properties.setdefault(name, definition)
    return properties


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    plain = {name: _plain(definition) for name, definition in properties.items()}
    return {"type": "object", "properties": plain, "additionalProperties": False}


def _plain(definition: Any) -> dict[str, Any]:
    """A definition without what some API's grammar lacks (patterns, bounds, references).

    {"type": ["integer", "null"], "minimum": 1} -> {"type": "integer"}
    """
    if not isinstance(definition, dict):
        return {"type": "string"}
    for alternative in definition.get("anyOf") or definition.get("oneOf") or ():
        if isinstance(alternative, dict) and alternative.get("type") != "null":
            return _plain(alternative)
    if isinstance(definition.get("enum"), list):
        return {"enum": definition["enum"]}
    kinds = definition.get("type", "string")
    named = [kinds] if isinstance(kinds, str) else [kind for kind in kinds if kind != "null"]
    kind = named[0] if named else "string"
    if kind == "object":
        return _object(definition.get("properties") or {})
    if kind == "array":
        return {"type": "array", "items": _plain(definition.get("items"))}
    return {"type": kind}


class JsonActions(TextToolCalls):
    """protocols.Model, around one that can be held to a schema."""

    async def ask(
        self,
        system: str,
        conversation: Sequence[Message],
        tools: Sequence[ToolSpec],
        timeout_sec: float,
    ) -> Turn:
        prompt = f"{system}\n\nTools, one a line:\n{listed(tools)}"
        asked = list(_shown(conversation))
        model = constrained(self.model)
        return await model.constrained_turn(prompt, asked, schema(tools), timeout_sec=timeout_sec)

    def read(self, text: str) -> ParsedReply:
        try:
            # Where a server ignores the schema, as llama.cpp does behind the Messages API.
            action = load_json(unfenced(text))
        except ValueError as error:
            return ParsedReply(problem=f"it is not JSON: {error}")
        if not isinstance(action, dict):
            return ParsedReply(problem="it is no JSON object")
        tool, arguments = action.get("tool"), action.get("arguments", {})
        if not isinstance(tool, str) or not isinstance(arguments, dict):
            return ParsedReply(problem='"tool" is no text, or "arguments" no object')
        thought = str(action.get("thought", ""))
        if tool != ANSWER:
            return ParsedReply(thinking=thought, calls=((tool, arguments),))
        answer = str(action.get("answer", "")).strip()
        if not answer:
            return ParsedReply(problem='the tool is "answer" and the answer is empty')
        return ParsedReply(thinking=thought, answer=answer)


def _shown(conversation: Sequence[Message]) -> Iterator[Message]:
    """The conversation in plain messages: the model's own replies as it wrote them."""
    for message in conversation:
        if isinstance(message, ToolMessage):
            yield UserMessage(text="\n\n".join(map(_result, message.results)))
        else:
            yield message


def _result(result: Result) -> str:
    kind = "error" if result.is_error else "result"
    return canonical_json({kind: result.text})
