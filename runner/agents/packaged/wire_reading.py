"""What the bridge reads of a model's API on the way: shapes that all three APIs share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from runner.agents.models.wire import load_json
from runner.protocols import Turn

Json = dict[str, Any]
EVENT_LIMIT_BYTES = 64_000_000


@dataclass(frozen=True, kw_only=True)
class ToolOffer:
    """A tool that a request offers to the model."""

    name: str
    """With its namespace, as the model asks for it."""
    definition: Json


@dataclass(frozen=True, kw_only=True)
class GivenResult:
    """A tool's result, as the model is given it."""

    call_id: str
    text: str
    is_error: bool = False
    """False too where the API has no word for it."""


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """One request to the model."""

    model: str
    system: str
    tools: tuple[ToolOffer, ...]
    results: tuple[GivenResult, ...]
    """All that the conversation holds."""
    last: str = ""
    """The last text of a user's in it."""


@dataclass(frozen=True, kw_only=True)
class ReadReply:
    """A reply, as far as it came."""

    turn: Turn
    whole: bool
    """False for a stream that broke off: its calls are not made."""
    fault: str = ""
    """What the provider said went wrong, in the stream."""


class ReplyReader(Protocol):
    """Adds up one reply's events."""

    def take(self, event: Json) -> None:
        """An event of the stream."""

    def take_whole(self, body: Json) -> None:
        """A reply that is not streamed."""

    def reply(self) -> ReadReply: ...


class Dialect(Protocol):
    """One API: its paths, its key, what stands where in its bodies."""

    path: str
    """Of what asks the model."""
    free_paths: tuple[str, ...]
    """Of what is passed on too, and answers nothing: counting tokens."""

    def key_headers(self, key: str) -> dict[str, str]: ...

    def read_request(self, body: Json) -> ModelRequest:
        """Raises KeyError, TypeError or AttributeError for a body of another API."""

    def begin_reply(self) -> ReplyReader: ...


# --- server-sent events -------------------------------------------------------------------------


class EventStream:
    """The JSON of each `data:` of a stream, however its bytes are cut."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> Iterator[Json]:
        """Events that are whole now. What is no JSON object is left out."""
        *lines, self._held = (self._held + data).split(b"\n")
        # A stream without a line end would fill our memory, and nobody reads it.
        self._held = self._held[-EVENT_LIMIT_BYTES:]
        for line in lines:
            event = _event(line.strip())
            if event is not None:
                yield event


def _event(line: bytes) -> Json | None:
    if not line.startswith(b"data:") or not line.endswith(b"}"):
        return None
    try:
        event = json.loads(line[5:])
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


# --- small parts --------------------------------------------------------------------------------


def texts_of(content: Any) -> str:
    """Of a content that is a text, or a list of parts that may have one."""
    if isinstance(content, str):
        return content
    parts = []
    for part in content or ():
        if isinstance(part, Mapping):
            text = part.get("text")
            parts.append(text if isinstance(text, str) else f"[{part.get('type')}]")
    return "\n".join(parts)


def last_text(messages: Iterable[Json]) -> str:
    """The last text that a user's message holds, of all that have one."""
    last = ""
    for message in messages:
        content = message.get("content") if message.get("role") == "user" else None
        for part in [{"text": content}] if isinstance(content, str) else content or ():
            last = part.get("text") or last
    return last


def body_of(data: bytes) -> Json:
    """Raises ValueError for what is no JSON object."""
    body = load_json(data.decode())
    if not isinstance(body, dict):
        raise ValueError("no JSON object")  # noqa: TRY004 - as any other bad body
    return body


def count(usage: Mapping[str, Any] | None, *path: str) -> int:
    """A figure of a usage; 0 if it is not there."""
    value: Any = usage
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, int) and value > 0 else 0
