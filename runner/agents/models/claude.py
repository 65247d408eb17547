"""`anthropic:<id>`: the Messages API, by the official SDK, streamed.

The stream's raw events are added up here: the SDK's own helper completes arguments that were cut
off, and then nobody can tell.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import anthropic

from runner.agents.models.model_settings import ModelSettings
from runner.agents.models.provider import PassingFault, Provider, certificates, timeouts
from runner.agents.models.remote import STREAM_ERRORS, RemoteModel
from runner.agents.models.wire import (
    ANTHROPIC_STOPS,
    FittedTools,
    call_of,
    without_surrogates,
)
from runner.protocols import Call, Message, ToolMessage, Turn, UserMessage
from runner.support.errors import ProviderError

URL = "https://api.anthropic.com"
WAYS_TO_THINK = ("enabled", "adaptive", "none")
"""Tried in this order, as models differ in what they take. `enabled` alone has a limit of its own;
max_tokens holds for all."""


class Claude(RemoteModel):
    """protocols.Model."""

    errors = (anthropic.APIError, *STREAM_ERRORS)

    def __init__(self, model: str, settings: ModelSettings) -> None:
        """Raises FairtrialError if there is no key."""
        provider = Provider(
            title="Anthropic",
            key_variable="ANTHROPIC_API_KEY",
            url_variable="ANTHROPIC_BASE_URL",
            endpoint=settings.anthropic,
        )
        super().__init__(f"anthropic:{model}", provider, settings)
        self._ways_to_think = list(WAYS_TO_THINK) if settings.thinking_tokens else ["none"]

    def request(
        self, system: str, conversation: Sequence[Message], tools: FittedTools
    ) -> dict[str, Any]:
        messages = list(_messages(conversation))
        _mark_cached(messages)
        system_block = {"type": "text", "text": without_surrogates(system), **CACHED}
        return {
            "model": self.model,
            "max_tokens": self.settings.output_tokens + self.settings.thinking_tokens,
            # Tools stand before the system prompt: its mark holds for both.
            "system": [system_block],
            "messages": messages,
            "tools": list(_tools(tools)),
        }

    def constraint(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}

    def force(self, request: dict[str, Any]) -> dict[str, Any]:
        (tool,) = request["tools"]
        choice = {"type": "tool", "name": tool["name"], "disable_parallel_tool_use": True}
        return {"tools": [{**tool, "strict": True}], "tool_choice": choice}

    def open_client(self, key: str, url: str) -> anthropic.AsyncAnthropic:
        return anthropic.AsyncAnthropic(
            api_key=key,
            base_url=url or URL,
            max_retries=0,
            timeout=timeouts(self.settings.stall_sec),
            http_client=anthropic.DefaultAsyncHttpxClient(verify=certificates()),
        )

    async def create(self, request: dict[str, Any]) -> Any:
        return await self.client.messages.create(**request, **self._thinking(), stream=True)

    def begin_reply(self, request: dict[str, Any]) -> _ClaudeReply:  # noqa: ARG002 - it counts tokens
        return _ClaudeReply()

    def meaning_of(self, error: Exception) -> Exception:
        message = str(getattr(error, "body", ""))
        is_about_thinking = isinstance(error, anthropic.BadRequestError) and "thinking" in message
        if is_about_thinking and len(self._ways_to_think) > 1:
            refused = self._ways_to_think.pop(0)
            note = f"thinking {self._ways_to_think[0]!r}: the model does not take {refused!r}"
            self.note(note)
            return PassingFault(note, retry_after_sec=0)
        return super().meaning_of(error)

    def _thinking(self) -> dict[str, Any]:
        way = self._ways_to_think[0]
        if way == "none":
            return {}
        wish: dict[str, Any] = {"type": way}
        if way == "enabled":
            wish["budget_tokens"] = self.settings.thinking_tokens
        return {"thinking": wish}


# --- the request ----------------------------------------------------------------------------

CACHED: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
CACHED_MESSAGES = 2
"""The newest user's messages that carry a mark: the API takes four marks, and looks for what it
holds only some blocks back from one."""


def _tools(tools: FittedTools) -> Iterator[dict[str, Any]]:
    for tool in tools.tools:
        schema = tool.input_schema
        yield {"name": tool.name, "description": tool.description, "input_schema": schema}


def _messages(conversation: Sequence[Message]) -> Iterator[dict[str, Any]]:
    for message in conversation:
        if isinstance(message, Turn):
            blocks = message.raw or []
            role = "assistant"
        else:
            blocks = list(_user_blocks(message))
            role = "user"
        # A turn in which the model said nothing: the API refuses a message without content.
        if blocks:
            yield {"role": role, "content": blocks}


def _user_blocks(message: UserMessage | ToolMessage) -> Iterator[dict[str, Any]]:
    if isinstance(message, UserMessage):
        yield {"type": "text", "text": without_surrogates(message.text)}
        return
    for result in message.results:
        yield {
            "type": "tool_result",
            "tool_use_id": result.call_id,
            "content": without_surrogates(result.text),
            "is_error": result.is_error,
        }


def _mark_cached(messages: list[dict[str, Any]]) -> None:
    """Mark where the part ends that the next turn sends again."""
    users = [message for message in messages if message["role"] == "user"]
    for message in users[-CACHED_MESSAGES:]:
        message["content"][-1] |= CACHED


# --- the reply ------------------------------------------------------------------------------

_COUNTED = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "output_tokens_details",
)


class _ClaudeReply:
    """A reply, as the events of its stream add up."""

    def __init__(self) -> None:
        self._blocks: dict[int, Any] = {}
        self._arguments: dict[int, str] = defaultdict(str)
        self._usage: dict[str, Any] = {}
        self._stop: str | None = None
        self._served_by = ""

    def take(self, event: Any) -> None:
        match event.type:
            case "message_start":
                self._served_by = event.message.model or ""
                self._count(event.message.usage)
            case "content_block_start":
                self._blocks[event.index] = event.content_block
            case "content_block_delta":
                self._extend(event.index, event.delta)
            case "message_delta":
                self._stop = event.delta.stop_reason
                self._count(event.usage)

    def _extend(self, index: int, delta: Any) -> None:
        block = self._blocks.get(index)
        if block is None:
            raise PassingFault("Anthropic: a part of the stream is missing")
        match delta.type:
            case "text_delta":
                block.text += delta.text
            case "thinking_delta":
                block.thinking += delta.thinking
            case "signature_delta":
                block.signature = delta.signature
            case "input_json_delta":
                self._arguments[index] += delta.partial_json

    def _count(self, usage: Any) -> None:
        # Later figures are totals, and leave out what has not changed.
        for name in _COUNTED:
            figure = getattr(usage, name, None)
            if figure is not None:
                self._usage[name] = figure

    def turn(self, tools: FittedTools) -> Turn:
        """Raises PassingFault for a reply that is not whole, ProviderError for an unknown stop."""
        if self._stop is None:
            raise PassingFault("Anthropic: the stream ended without a stop reason")
        if self._stop not in ANTHROPIC_STOPS:
            raise ProviderError(f"Anthropic: unknown stop reason {self._stop!r}")
        calls = dict(self._calls(tools))
        written = self._usage.get("cache_creation_input_tokens", 0)
        details = self._usage.get("output_tokens_details")
        return Turn(
            text=self._text("text"),
            thinking=self._text("thinking"),
            calls=tuple(calls.values()),
            stop=ANTHROPIC_STOPS[self._stop],
            input_tokens=self._usage.get("input_tokens", 0) + written,
            output_tokens=self._usage.get("output_tokens", 0),
            cache_read_tokens=self._usage.get("cache_read_input_tokens", 0),
            cache_write_tokens=written,
            thinking_tokens=getattr(details, "thinking_tokens", None),
            served_by=self._served_by,
            raw=[self._given_back(index, calls) for index in self._blocks],
        )

    def _text(self, kind: str) -> str:
        texts = [getattr(block, kind) for block in self._blocks.values() if block.type == kind]
        return "\n".join(texts)

    def _calls(self, tools: FittedTools) -> Iterator[tuple[int, Call]]:
        for index, block in self._blocks.items():
            if block.type == "tool_use":
                name = tools.ours.get(block.name, block.name)
                yield index, self._call(index, block, name)

    def _call(self, index: int, block: Any, name: str) -> Call:
        written = self._arguments[index]
        if block.input and not written:
            # Some servers send the arguments whole.
            written = json.dumps(block.input)
        cut = self._stop == "max_tokens" and index == max(self._blocks)
        return call_of(block.id, name, written, cut=cut)

    def _given_back(self, index: int, calls: dict[int, Call]) -> dict[str, Any]:
        """A block as the next request holds it: unchanged, or thinking is refused there."""
        block = self._blocks[index]
        match block.type:
            case "text":
                return {"type": "text", "text": block.text}
            case "thinking":
                given = {"type": "thinking", "thinking": block.thinking}
                return {**given, "signature": block.signature}
            case "tool_use":
                given = {"type": "tool_use", "id": block.id, "name": block.name}
                return {**given, "input": without_surrogates(calls[index].arguments)}
            case _:
                return dict(block.to_dict())
