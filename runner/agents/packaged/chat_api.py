"""Chat Completions, as OpenCode speaks it."""

from __future__ import annotations

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

STOPS: dict[str, Stop] = {
    "stop": "end",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}


class ChatApi:
    """wire_reading.Dialect."""

    path = "/v1/chat/completions"
    free_paths: tuple[str, ...] = ()

    def key_headers(self, key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"}

    def read_request(self, body: Json) -> ModelRequest:
        messages = body["messages"]
        told = [texts_of(it["content"]) for it in messages if it["role"] in _TELLING]
        return ModelRequest(
            model=body["model"],
            system="\n".join(told),
            tools=tuple(_tools(body.get("tools") or ())),
            results=tuple(_results(messages)),
            last=last_text(messages),
        )

    def begin_reply(self) -> _CompletionsReply:
        return _CompletionsReply()


_TELLING = ("system", "developer")


def _tools(tools: Iterable[Json]) -> Iterator[ToolOffer]:
    for tool in tools:
        yield ToolOffer(name=tool["function"]["name"], definition=tool["function"])


def _results(messages: list[Json]) -> Iterator[GivenResult]:
    for message in messages:
        if message["role"] == "tool":
            text = texts_of(message.get("content"))
            yield GivenResult(call_id=str(message["tool_call_id"]), text=text)


class _CompletionsReply:
    def __init__(self) -> None:
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: dict[int, Json] = {}
        self._finish = ""
        self._usage: Json | None = None
        self._served_by = ""
        self._fault = ""

    def take(self, event: Json) -> None:
        if error := event.get("error"):
            self._fault = str(error.get("message") if isinstance(error, dict) else error)
        self._served_by = event.get("model") or self._served_by
        self._usage = event.get("usage") or self._usage
        for choice in (event.get("choices") or ())[:1]:
            self._finish = choice.get("finish_reason") or self._finish
            self._add(choice.get("delta") or choice.get("message") or {})

    def take_whole(self, body: Json) -> None:
        self.take(body)

    def _add(self, delta: Json) -> None:
        self._text.append(delta.get("content") or "")
        self._thinking.append(delta.get("reasoning_content") or delta.get("reasoning") or "")
        for number, part in enumerate(delta.get("tool_calls") or ()):
            function = part.get("function") or {}
            held = self._calls.setdefault(
                part.get("index", number), {"id": "", "name": "", "arguments": ""}
            )
            held["id"] = part.get("id") or held["id"]
            held["name"] = function.get("name") or held["name"]
            held["arguments"] += function.get("arguments") or ""

    def reply(self) -> ReadReply:
        given = count(self._usage, "prompt_tokens")
        cached = min(given, count(self._usage, "prompt_tokens_details", "cached_tokens"))
        turn = Turn(
            text="".join(self._text),
            thinking="".join(self._thinking),
            calls=tuple(self._made()),
            stop="tool_use" if self._calls else STOPS.get(self._finish, "end"),
            input_tokens=given - cached,
            output_tokens=count(self._usage, "completion_tokens"),
            cache_read_tokens=cached,
            thinking_tokens=count(self._usage, "completion_tokens_details", "reasoning_tokens"),
            served_by=self._served_by,
            estimated=not self._usage,
        )
        return ReadReply(turn=turn, whole=bool(self._finish), fault=self._fault)

    def _made(self) -> Iterator[Call]:
        for held in self._calls.values():
            yield call_of(held["id"], held["name"], held["arguments"])
