"""`offline`, where the task is to choose tools: by the words that a request and a tool share.

It is no language model and ranks nobody: it shows that a run goes from end to end, and gives a
confusion table a chooser that can be followed by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.protocols import Call, Message, ToolMessage, ToolSpec, Turn, UserMessage
from runner.records import digest_of
from runner.support.token_estimate import estimated_tokens

VERSION = 1
_WORD = re.compile(r"[a-z0-9]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_QUOTED = re.compile(r"[\"'`“‘]([^\"'`“”‘’\n]{1,200})[\"'`”’]")
_LINK = re.compile(r"https?://[^\s\"'<>)]{1,500}")
_NUMBER = re.compile(r"(?<![\w.])\d{1,15}(?:\.\d{1,10})?(?!\w)")
_NEXT = re.compile(r"(?:,\s{0,4}|\.\s{1,4}|\s{1,4})(?:and\s{1,4})?then\s{1,4}", re.I)
_STOP = frozenset(
    "a an and are as at be by can do does for from get give has have how i in is it its me my of "
    "on or please show that the their them this to use what which with you your".split()
)


class Picker:
    """protocols.Model. Holds nothing between turns."""

    name = "offline"
    language_model = False
    identity = digest_of({"model": "offline", "picker": VERSION})

    async def turn(
        self,
        system: str,
        conversation: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        timeout_sec: float,  # noqa: ARG002 - it never waits
    ) -> Turn:
        """Calls natively where tools are given, else in JSON; its tokens are estimated."""
        prompt = _prompt_of(conversation)
        shown_chars = len(system) + len(prompt) + sum(len(tool.description) for tool in tools)
        if isinstance(conversation[-1], ToolMessage):
            return _turn("Done.", (), shown_chars)
        if tools:
            offered = {tool.name: _Offer(tool.description, tool.input_schema) for tool in tools}
            return _turn("", tuple(_calls(prompt, offered)), shown_chars)
        calls = _calls(_query_in(prompt), dict(_offers_in(prompt)))
        listed = [{"name": call.tool, "parameters": call.arguments} for call in calls]
        return _turn(json.dumps(listed), (), shown_chars)

    def write_artifacts(self, folder: Path) -> None:
        """It keeps nothing of a cell."""

    async def close(self) -> None:
        """It holds nothing open."""


class _Offer:
    def __init__(self, description: str, schema: Mapping[str, Any]) -> None:
        self.description = description
        properties = schema.get("properties")
        self.properties = properties if isinstance(properties, Mapping) else {}
        required = schema.get("required")
        self.required = required if isinstance(required, list) else []


def _turn(text: str, calls: tuple[Call, ...], shown_chars: int) -> Turn:
    written = len(text) + sum(len(json.dumps(call.arguments)) for call in calls)
    return programs_turn(text, calls, shown_chars, written)


def programs_turn(text: str, calls: tuple[Call, ...], shown_chars: int, written_chars: int) -> Turn:
    """A turn that no language model wrote: its tokens are estimated from characters."""
    return Turn(
        text=text,
        calls=calls,
        stop="tool_use" if calls else "end",
        input_tokens=estimated_tokens(shown_chars),
        output_tokens=estimated_tokens(written_chars),
        estimated=True,
    )


def _prompt_of(conversation: Sequence[Message]) -> str:
    texts = [message.text for message in conversation if isinstance(message, UserMessage)]
    return texts[0] if texts else ""


def _query_in(prompt: str) -> str:
    """What stands below `Task:`, where a prompt has that."""
    _, found, query = prompt.rpartition("\nTask:\n")
    return query.partition("\n\n")[0] if found else prompt


def _offers_in(prompt: str) -> Iterator[tuple[str, _Offer]]:
    for line in prompt.splitlines():
        if not line.startswith("{"):
            continue
        try:
            tool = json.loads(line)
        except ValueError:
            continue
        if isinstance(tool.get("name"), str) and isinstance(tool.get("input_schema"), dict):
            yield tool["name"], _Offer(str(tool.get("description", "")), tool["input_schema"])


def _calls(query: str, offered: Mapping[str, _Offer]) -> Iterator[Call]:
    """One for each part of the query that "then" divides."""
    for place, part in enumerate(_NEXT.split(query)):
        name = _nearest(part, offered)
        if name is not None:
            arguments = dict(_arguments(part, offered[name]))
            yield Call(id=f"call_{place + 1}", tool=name, arguments=arguments)


def _nearest(query: str, offered: Mapping[str, _Offer]) -> str | None:
    """The tool that shares most words with the query, those of its name counted twice."""
    asked = _words(query)
    best: tuple[float, str] | None = None
    for name, offer in offered.items():
        named, described = _words(name), _words(offer.description)
        shared = 2 * len(asked & named) + len(asked & described)
        # Without it, the longest description would be every query's nearest.
        worth = shared / (4 + len(named | described)) ** 0.5
        if best is None or worth > best[0]:
            best = worth, name
    return None if best is None else best[1]


def _words(text: str) -> set[str]:
    words = _WORD.findall(_CAMEL.sub(" ", text).lower())
    return {word.removesuffix("s") for word in words if word not in _STOP}


def _arguments(query: str, offer: _Offer) -> Iterator[tuple[str, Any]]:
    for key in offer.required:
        schema = offer.properties.get(key)
        if isinstance(key, str):
            yield key, _value(query, schema if isinstance(schema, Mapping) else {})


def _value(query: str, schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type")
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return _choice(query, schema["enum"])
    if kind in ("integer", "number"):
        return _number(query, whole=kind == "integer")
    if kind == "boolean":
        return True
    if kind == "array":
        items = schema.get("items")
        return [_value(query, items if isinstance(items, Mapping) else {})]
    if kind == "object":
        return {}
    return _text(query)


def _choice(query: str, choices: Sequence[Any]) -> Any:
    asked = _words(query)
    return next((one for one in choices if _words(str(one)) & asked), choices[0])


def _number(query: str, *, whole: bool) -> float | int:
    found = _NUMBER.search(query)
    if found is None:
        return 1
    return int(float(found[0])) if whole else float(found[0])


def _text(query: str) -> str:
    """A link, what is quoted, the last word written large, or all of it."""
    for pattern in (_LINK, _QUOTED):
        found = pattern.search(query)
        if found:
            return found[found.lastindex or 0]
    names = re.findall(r"(?<!^)(?<![.?!] )\b[A-Z][\w.-]{0,40}", query)
    return names[-1] if names else query
