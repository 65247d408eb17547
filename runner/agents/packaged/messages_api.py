"""Anthropic's Messages API, as Claude Code speaks it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator

from runner.agents.models.wire import ANTHROPIC_STOPS, call_of
from runner.agents.packaged.wire_reading import (
    GivenResult,
    Json,
    ModelRequest,
    ReadReply,
    ToolOffer,
    count,
    last_text,
    texts_of,
)
from runner.protocols import Call, Turn

BILLING = "x-anthropic-billing-header"
"""How a block of the system prompt begins that is no prompt."""


class MessagesApi:
    """wire_reading.Dialect."""

    path = "/v1/messages"
    free_paths: tuple[str, ...] = ("/v1/messages/count_tokens",)

    def key_headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key}

    def read_request(self, body: Json) -> ModelRequest:
        tools = body.get("tools") or ()
        return ModelRequest(
            model=body["model"],
            system=_system(body.get("system") or ""),
            tools=tuple(ToolOffer(name=tool["name"], definition=tool) for tool in tools),
            results=tuple(_results(body["messages"])),
            last=last_text(body["messages"]),
        )

    def begin_reply(self) -> _MessagesReply:
        return _MessagesReply()


def _system(system: str | list[Json]) -> str:
    if isinstance(system, str):
        return system
    return texts_of([block for block in system if not block["text"].startswith(BILLING)])


def _results(messages: list[Json]) -> Iterator[GivenResult]:
    for message in messages:
        content = message["content"]
        for block in content if isinstance(content, list) else ():
            if block["type"] == "tool_result":
                yield GivenResult(
                    call_id=block["tool_use_id"],
                    text=texts_of(block.get("content")),
                    is_error=block.get("is_error") is True,
                )


class _MessagesReply:
    def __init__(self) -> None:
        self._blocks: dict[int, Json] = {}
        self._written: dict[int, str] = defaultdict(str)
        self._usage: Json = {}
        self._stop = ""
        self._served_by = ""
        self._ended = False
        self._fault = ""

    def take(self, event: Json) -> None:
        match event.get("type"):
            case "message_start":
                self._served_by = event["message"].get("model") or ""
                self._usage |= event["message"].get("usage") or {}
            case "content_block_start":
                self._blocks[event["index"]] = event["content_block"]
            case "content_block_delta":
                delta = event["delta"]
                parts = (delta.get(name) for name in ("text", "thinking", "partial_json"))
                self._written[event["index"]] += "".join(part for part in parts if part)
            case "message_delta":
                self._stop = event["delta"].get("stop_reason") or self._stop
                # Later figures are totals, and leave out what has not changed.
                told = event.get("usage") or {}
                self._usage |= {name: it for name, it in told.items() if it is not None}
            case "message_stop":
                self._ended = True
            case "error":
                self._fault = str((event.get("error") or {}).get("message"))

    def take_whole(self, body: Json) -> None:
        self.take({"type": "message_start", "message": body})
        for index, block in enumerate(body.get("content") or ()):
            self._blocks[index] = block
        self._stop = body.get("stop_reason") or ""
        self._ended = True

    def reply(self) -> ReadReply:
        written = count(self._usage, "cache_creation_input_tokens")
        turn = Turn(
            text=self._texts("text"),
            thinking=self._texts("thinking"),
            calls=tuple(self._calls()),
            stop=ANTHROPIC_STOPS.get(self._stop, "end"),
            input_tokens=count(self._usage, "input_tokens") + written,
            output_tokens=count(self._usage, "output_tokens"),
            cache_read_tokens=count(self._usage, "cache_read_input_tokens"),
            cache_write_tokens=written,
            thinking_tokens=count(self._usage, "output_tokens_details", "thinking_tokens") or None,
            served_by=self._served_by,
            estimated=not self._usage,
        )
        return ReadReply(turn=turn, whole=self._ended and bool(self._stop), fault=self._fault)

    def _texts(self, kind: str) -> str:
        texts = []
        for index, block in self._blocks.items():
            if block.get("type") == kind:
                texts.append((block.get(kind) or "") + self._written[index])
        return "\n".join(text for text in texts if text)

    def _calls(self) -> Iterator[Call]:
        for index, block in self._blocks.items():
            if block.get("type") == "tool_use":
                arguments = self._written[index] or json.dumps(block.get("input") or {})
                yield call_of(block["id"], block["name"], arguments)
