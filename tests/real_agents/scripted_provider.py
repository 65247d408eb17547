"""A provider that answers as a test wrote down, over the three APIs that real agents speak.

Its streams have the events of the real ones: Responses, Chat Completions and Messages, over SSE.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.models.doubles import serving

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Of one reply: all input, what of it a cache held, what it wrote."""

    input_tokens: int = 100
    cached_tokens: int = 0
    output_tokens: int = 10


@dataclass(frozen=True, kw_only=True)
class ToolUse:
    """A call that the model asks for; `namespace` as Responses has it for servers' tools."""

    name: str
    arguments: Json
    namespace: str = ""
    kind: str = "function_call"
    """Of its item, as Responses has it; another's fields are its `arguments`."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One reply of the model, or a fault in its place."""

    text: str = ""
    thinking: str = ""
    calls: tuple[ToolUse, ...] = ()
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    """That answered; empty for the one that was asked for."""
    status: int = 200
    error: str = "scripted"
    """What a refusal says."""
    headers: tuple[tuple[str, str], ...] = ()
    cut: bool = False
    """The connection is closed before the stream's last event."""
    wait_sec: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request as it came."""

    path: str
    headers: Json
    raw: bytes

    @property
    def body(self) -> Json:
        body: Json = json.loads(self.raw)
        return body

    @property
    def text(self) -> str:
        return self.raw.decode()

    @property
    def tools(self) -> list[tuple[str, str]]:
        """Namespace and name of each tool that is offered."""
        found = []
        for tool in self.body.get("tools") or ():
            if tool.get("type") == "tool_search":
                found.append(("", "tool_search"))
            elif tool.get("type") == "namespace":
                found += [(tool["name"], inner["name"]) for inner in tool["tools"]]
            else:
                found.append(("", tool.get("name") or (tool.get("function") or tool)["name"]))
        return found

    @property
    def results(self) -> int:
        """Results of tools that the conversation holds since the last prompt."""
        count = 0
        for item in self.body.get("input") or self.body["messages"]:
            if _is_result(item):
                count += 1
            elif item.get("role") == "user":
                count = 0
        return count


def _is_result(item: Json) -> bool:
    if (
        str(item.get("type", "")).endswith(("call_output", "search_output"))
        or item.get("role") == "tool"
    ):
        return True
    content = item.get("content")
    return isinstance(content, list) and any(it.get("type") == "tool_result" for it in content)


Policy = Callable[[Asked], Reply]


class Provider:
    """Answers by a policy, and remembers what it was asked."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.asked: list[Asked] = []
        self.url = ""
        self.at_once = self.most_at_once = 0
        self._lock = threading.Lock()

    def answer(self, asked: Asked) -> Reply:
        with self._lock:
            self.asked.append(asked)
            return self.policy(asked)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            yield
        finally:
            with self._lock:
                self.at_once -= 1


@contextmanager
def providing(policy: Policy) -> Iterator[Provider]:
    """The provider, at work on loopback."""
    provider = Provider(policy)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Nothing: its requests are no part of a test's output."""

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): text for name, text in self.headers.items()}
            asked = Asked(path=self.path, headers=headers, raw=raw)
            with provider.at_work():
                reply = provider.answer(asked)
                time.sleep(reply.wait_sec)
            if reply.status != 200:
                self._refuse(reply)
            else:
                self._stream(asked, reply)

        def do_GET(self) -> None:
            self.send_error(404)

        def _refuse(self, reply: Reply) -> None:
            kind = "overloaded_error" if reply.status > 400 else "invalid_request_error"
            error = {"type": kind, "message": reply.error}
            body = json.dumps({"type": "error", "error": error}).encode()
            self.send_response(reply.status)
            for name, text in reply.headers:
                self.send_header(name, text)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _stream(self, asked: Asked, reply: Reply) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.close_connection = True
            self.end_headers()
            events = [*events_of(asked, reply)]
            for event in events[: len(events) // 2] if reply.cut else events:
                self.wfile.write(event)
                self.wfile.flush()

    with serving(Handler) as url:
        provider.url = url
        yield provider


def events_of(asked: Asked, reply: Reply) -> Iterator[bytes]:
    model = reply.model or asked.body["model"]
    if asked.path.endswith("/responses"):
        yield from map(_named, _responses(reply, model))
    elif asked.path.endswith("/chat/completions"):
        yield from (f"data: {json.dumps(chunk)}\n\n".encode() for chunk in _chat(reply, model))
        yield b"data: [DONE]\n\n"
    else:
        yield from map(_named, _messages(reply, model))


def _named(event: Json) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


# --- Responses ----------------------------------------------------------------------------------


def _responses(reply: Reply, model: str) -> Iterator[Json]:
    whole: Json = {"id": "resp_1", "object": "response", "model": model, "status": "in_progress"}
    yield {"type": "response.created", "response": {**whole, "output": []}}
    output = []
    for number, item in enumerate(_items(reply)):
        output.append(item)
        yield {"type": "response.output_item.added", "output_index": number, "item": item}
        if item["type"] == "message":
            yield {
                "type": "response.output_text.delta",
                "output_index": number,
                "item_id": item["id"],
                "content_index": 0,
                "delta": reply.text,
            }
        yield {"type": "response.output_item.done", "output_index": number, "item": item}
    used = reply.usage
    usage = {
        "input_tokens": used.input_tokens,
        "input_tokens_details": {"cached_tokens": used.cached_tokens},
        "output_tokens": used.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": used.input_tokens + used.output_tokens,
    }
    done = {**whole, "status": "completed", "output": output, "usage": usage}
    yield {"type": "response.completed", "response": done}


def _items(reply: Reply) -> Iterator[Json]:
    if reply.thinking:
        summary = [{"type": "summary_text", "text": reply.thinking}]
        yield {"type": "reasoning", "id": "rs_1", "summary": summary}
    if reply.text:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        yield {
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": content,
        }  # fmt: skip
    for number, call in enumerate(reply.calls):
        if call.kind != "function_call":
            yield {
                "type": call.kind,
                "id": f"c_{number}",
                "call_id": f"call_{time.monotonic_ns()}_{number}",
                "status": "completed",
                **({"name": call.name} if call.name else {}),
                **call.arguments,
            }
            continue
        named = {"namespace": call.namespace} if call.namespace else {}
        yield {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{time.monotonic_ns()}_{number}",
            "name": call.name,
            "arguments": json.dumps(call.arguments),
            "status": "completed",
            **named,
        }


# --- Chat Completions ---------------------------------------------------------------------------


def _chat(reply: Reply, model: str) -> Iterator[Json]:
    whole = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}

    def chunk(delta: Json, finish: str | None = None) -> Json:
        return {**whole, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    if reply.text:
        yield chunk({"content": reply.text})
    for number, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": json.dumps(call.arguments)}
        made = {
            "index": number,
            "id": f"call_{time.monotonic_ns()}_{number}",
            "type": "function",
            "function": function,
        }
        yield chunk({"tool_calls": [made]})
    yield chunk({}, "tool_calls" if reply.calls else "stop")
    used = reply.usage
    usage = {
        "prompt_tokens": used.input_tokens,
        "completion_tokens": used.output_tokens,
        "total_tokens": used.input_tokens + used.output_tokens,
        "prompt_tokens_details": {"cached_tokens": used.cached_tokens},
    }
    yield {**whole, "choices": [], "usage": usage}


# --- Messages -----------------------------------------------------------------------------------


def _messages(reply: Reply, model: str) -> Iterator[Json]:
    used = reply.usage
    usage = {
        "input_tokens": used.input_tokens - used.cached_tokens,
        "cache_read_input_tokens": used.cached_tokens,
        "cache_creation_input_tokens": 0,
        "output_tokens": 1,
    }
    message: Json = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    yield {"type": "message_start", "message": message}
    for index, (block, deltas) in enumerate(_blocks(reply)):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": "tool_use" if reply.calls else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": used.output_tokens}}
    yield {"type": "message_stop"}


def _blocks(reply: Reply) -> Iterator[tuple[Json, Sequence[Json]]]:
    if reply.text:
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": reply.text}]
    for number, call in enumerate(reply.calls):
        made = {"type": "tool_use", "id": f"toolu_{time.monotonic_ns()}_{number}", "input": {}}
        written = json.dumps(call.arguments)
        yield (
            {**made, "name": call.name},
            [{"type": "input_json_delta", "partial_json": written}],
        )
