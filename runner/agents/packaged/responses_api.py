"""OpenAI's Responses API, as Codex speaks it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from runner.agents.models.wire import call_of
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
from runner.protocols import Call, Stop, Turn

ENDS = {"response.completed", "response.incomplete", "response.done"}
FAILS = {"response.failed", "error"}


class ResponsesApi:
    """wire_reading.Dialect."""

    path = "/v1/responses"
    free_paths: tuple[str, ...] = ()

    def key_headers(self, key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"}

    def read_request(self, body: Json) -> ModelRequest:
        items = body["input"] if isinstance(body["input"], list) else []
        told = [body.get("instructions") or ""]
        told += [texts_of(it.get("content")) for it in items if it.get("role") in _TELLING]
        tools = [*(body.get("tools") or ())]
        # Newer models are told of their tools in the conversation.
        for item in items:
            tools += item["tools"] if item.get("type") == "additional_tools" else ()
        return ModelRequest(
            model=body["model"],
            system="\n".join(told),
            tools=tuple(_tools(tools)),
            results=tuple(_results(items)),
            last=last_text(items),
        )

    def begin_reply(self) -> _ResponsesReply:
        return _ResponsesReply()


_TELLING = ("developer", "system")


def _tools(tools: Iterable[Json], namespace: str = "") -> Iterator[ToolOffer]:
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from _tools(tool["tools"], f"{tool['name']}__")
        else:
            # OpenAI's own tools have a type and no name: web_search.
            yield ToolOffer(name=namespace + (tool.get("name") or tool["type"]), definition=tool)


def _results(items: list[Json]) -> Iterator[GivenResult]:
    for item in items:
        if str(item.get("type")).endswith("call_output"):
            yield GivenResult(call_id=str(item["call_id"]), text=texts_of(item.get("output")))
        elif item.get("type") == "tool_search_output":
            yield GivenResult(call_id=str(item["call_id"]), text=json.dumps(item.get("tools")))


class _ResponsesReply:
    def __init__(self) -> None:
        self._items: list[Json] = []
        self._response: Json = {}
        self._ended = False
        self._fault = ""

    def take(self, event: Json) -> None:
        kind = event.get("type")
        if kind == "response.output_item.done":
            self._items.append(event.get("item") or {})
        elif kind in ENDS | FAILS:
            self._response = event.get("response") or {}
            self._ended = kind in ENDS
            error = self._response.get("error") or event.get("error") or event
            if kind in FAILS:
                self._fault = str(error.get("message") or error.get("code") or "failed")
        elif kind == "response.created":
            self._response = event.get("response") or {}

    def take_whole(self, body: Json) -> None:
        self._items = list(body.get("output") or ())
        self.take({"type": "response.completed", "response": body})

    def reply(self) -> ReadReply:
        usage = self._response.get("usage")
        given = count(usage, "input_tokens")
        cached = min(given, count(usage, "input_tokens_details", "cached_tokens"))
        calls = tuple(self._calls())
        turn = Turn(
            text=self._texts("message", "content"),
            thinking=self._texts("reasoning", "summary"),
            calls=calls,
            stop=self._stop(calls),
            input_tokens=given - cached,
            output_tokens=count(usage, "output_tokens"),
            cache_read_tokens=cached,
            thinking_tokens=count(usage, "output_tokens_details", "reasoning_tokens"),
            served_by=str(self._response.get("model") or ""),
            estimated=not usage,
        )
        return ReadReply(turn=turn, whole=self._ended, fault=self._fault)

    def _texts(self, kind: str, field: str) -> str:
        texts = [texts_of(it.get(field)) for it in self._items if it.get("type") == kind]
        return "\n".join(text for text in texts if text)

    def _stop(self, calls: tuple[Call, ...]) -> Stop:
        reason = (self._response.get("incomplete_details") or {}).get("reason")
        if reason:
            return "refusal" if reason == "content_filter" else "max_tokens"
        contents = [part for it in self._items for part in it.get("content") or ()]
        if any(part.get("type") == "refusal" for part in contents):
            return "refusal"
        return "tool_use" if calls else "end"

    def _calls(self) -> Iterator[Call]:
        for item in self._items:
            kind = str(item.get("type"))
            if not kind.endswith("_call") or "call_id" not in item:
                continue
            namespace = f"{item['namespace']}__" if item.get("namespace") else ""
            name = namespace + str(item.get("name") or kind)
            if isinstance(item.get("arguments"), str):
                yield call_of(item["call_id"], name, item["arguments"])
            else:
                # Of a tool that takes a text, or one of OpenAI's own.
                given = ("input", "action", "arguments")
                arguments: Json = {key: item[key] for key in given if key in item}
                yield Call(id=item["call_id"], tool=name, arguments=arguments)
