"""`openai:<id>`: chat completions by the official SDK, streamed, for any server that has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import openai

from runner.agents.models.model_settings import ModelSettings
from runner.agents.models.provider import PassingFault, Provider, certificates, timeouts
from runner.agents.models.remote import STREAM_ERRORS, RemoteModel
from runner.agents.models.wire import FittedTools, call_of, without_surrogates, written_arguments
from runner.agents.token_breakdown import apportion
from runner.protocols import Call, Message, Stop, Turn, UserMessage
from runner.records import canonical_json
from runner.support.errors import ProviderError
from runner.support.token_estimate import estimated_tokens

URL = "https://api.openai.com/v1"
STOPS: dict[str, Stop] = {
    "stop": "end",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}
_THOUGHTS = ("reasoning_content", "reasoning")
"""What servers call the thinking that this API has no field for."""


class Chat(RemoteModel):
    """protocols.Model, but for who provides it."""

    errors = (openai.APIError, *STREAM_ERRORS)
    name_chars = 64
    most_tools = 128

    def request(
        self, system: str, conversation: Sequence[Message], tools: FittedTools
    ) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": without_surrogates(system)},
                *_messages(conversation),
            ],
            self._limit_name(): self.settings.output_tokens + self.settings.thinking_tokens,
            "stream_options": {"include_usage": True},
        }
        # An empty list is refused.
        if tools.tools:
            request["tools"] = list(_tools(tools))
        return request

    def constraint(self, schema: dict[str, Any]) -> dict[str, Any]:
        named = {"name": "action", "schema": schema, "strict": False}
        return {"response_format": {"type": "json_schema", "json_schema": named}}

    def force(self, request: dict[str, Any]) -> dict[str, Any]:
        (tool,) = request["tools"]
        function = {**tool["function"], "strict": True}
        choice = {"type": "function", "function": {"name": function["name"]}}
        return {"tools": [{"type": "function", "function": function}], "tool_choice": choice}

    def open_client(self, key: str, url: str) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(
            api_key=key,
            base_url=url or URL,
            max_retries=0,
            timeout=timeouts(self.settings.stall_sec),
            http_client=openai.DefaultAsyncHttpxClient(verify=certificates()),
        )

    async def create(self, request: dict[str, Any]) -> Any:
        return await self.client.chat.completions.create(**request, stream=True)

    def begin_reply(self, request: dict[str, Any]) -> _ChatReply:
        return _ChatReply(self.provider.title, request)

    def _limit_name(self) -> str:
        # OpenAI's newer models refuse the old name, and most other servers know no other.
        return "max_tokens" if self.provider.endpoint.url else "max_completion_tokens"


class ChatCompletions(Chat):
    """protocols.Model."""

    def __init__(self, model: str, settings: ModelSettings) -> None:
        """Raises FairtrialError if there is no key."""
        provider = Provider(
            title="OpenAI",
            key_variable="OPENAI_API_KEY",
            url_variable="OPENAI_BASE_URL",
            endpoint=settings.openai,
        )
        super().__init__(f"openai:{model}", provider, settings)


# --- the request ----------------------------------------------------------------------------


def _tools(tools: FittedTools) -> Iterator[dict[str, Any]]:
    for tool in tools.tools:
        function = {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.input_schema,
        }
        yield {"type": "function", "function": function}


def _messages(conversation: Sequence[Message]) -> Iterator[dict[str, Any]]:
    for message in conversation:
        if isinstance(message, UserMessage):
            yield {"role": "user", "content": without_surrogates(message.text)}
        elif isinstance(message, Turn):
            # A turn in which the model said nothing: the API refuses a message without content.
            if message.raw:
                yield message.raw
        else:
            for result in message.results:
                text = without_surrogates(result.text)
                # The API has no place for the flag, and a model that misses it reads on.
                content = f"[error] {text}" if result.is_error else text
                yield {"role": "tool", "tool_call_id": result.call_id, "content": content}


# --- the reply ------------------------------------------------------------------------------


@dataclass
class _WrittenCall:
    """A call, as its chunks add up."""

    id: str = ""
    name: str = ""
    arguments: str = ""

    def take(self, delta: Any) -> None:
        self.id = delta.id or self.id
        function = delta.function
        if function is not None:
            self.name = function.name or self.name
            self.arguments += function.arguments or ""


class _ChatReply:
    """A reply, as the chunks of its stream add up."""

    def __init__(self, title: str, request: dict[str, Any]) -> None:
        self._title = title
        self._request = request
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._refusals: list[str] = []
        self._calls: dict[Any, _WrittenCall] = {}
        self._usage: Any = None
        self._stop: str | None = None
        self._served_by = ""

    def take(self, chunk: Any) -> None:
        self._served_by = chunk.model or self._served_by
        self._usage = chunk.usage or self._usage
        for choice in chunk.choices or ():
            self._stop = choice.finish_reason or self._stop
            if choice.delta is not None:
                self._extend(choice.delta)

    def _extend(self, delta: Any) -> None:
        self._texts.append(delta.content or "")
        self._refusals.append(delta.refusal or "")
        for name in _THOUGHTS:
            self._thoughts.append(getattr(delta, name, None) or "")
        for call in delta.tool_calls or ():
            # Some servers number none of their calls, and send each whole under its id.
            place = call.index if call.index is not None else call.id
            self._calls.setdefault(place, _WrittenCall()).take(call)

    def turn(self, tools: FittedTools) -> Turn:
        """Raises PassingFault for a reply that is not whole, ProviderError for an unknown stop."""
        if self._stop is None:
            raise PassingFault(f"{self._title}: the stream ended without a finish reason")
        if self._stop not in STOPS:
            raise ProviderError(f"{self._title}: unknown finish reason {self._stop!r}")
        text = "".join(self._texts)
        refusal = "".join(self._refusals)
        calls = tuple(self._made(tools))
        return Turn(
            text=text or refusal,
            thinking="".join(self._thoughts),
            calls=calls,
            stop="refusal" if refusal else STOPS[self._stop],
            served_by=self._served_by,
            raw=self._given_back(text or refusal, calls),
            **self._counts(len(text or refusal) + sum(map(_chars, calls))),
        )

    def _made(self, tools: FittedTools) -> Iterator[Call]:
        last = len(self._calls) - 1
        for number, written in enumerate(self._calls.values()):
            written.id = written.id or f"call_{number}"
            name = tools.ours.get(written.name, written.name)
            cut = number == last and self._stop == "length"
            yield call_of(written.id, name, written.arguments, cut=cut)

    def _given_back(self, text: str, calls: Sequence[Call]) -> dict[str, Any] | None:
        """The reply as the next request holds it; broken arguments as none, or servers choke."""
        if not text and not calls:
            return None
        given: dict[str, Any] = {"role": "assistant", "content": without_surrogates(text) or None}
        sent = []
        for written, call in zip(self._calls.values(), calls, strict=True):
            function = {"name": written.name, "arguments": written_arguments(call)}
            sent.append({"id": call.id, "type": "function", "function": function})
        if sent:
            given["tool_calls"] = sent
        return given

    def _counts(self, written_chars: int) -> dict[str, Any]:
        if self._usage is None:
            return {
                "input_tokens": estimated_tokens(len(canonical_json(self._request))),
                "output_tokens": estimated_tokens(written_chars),
                "estimated": True,
            }
        read = _detail(self._usage, "prompt_tokens_details", "cached_tokens") or 0
        thinking = _detail(self._usage, "completion_tokens_details", "reasoning_tokens")
        return {
            "input_tokens": max(0, (self._usage.prompt_tokens or 0) - read),
            "output_tokens": self._usage.completion_tokens or 0,
            "cache_read_tokens": read,
            "thinking_tokens": thinking,
            "dropped_tokens": thinking or self._thinking_tokens(written_chars),
        }

    def _thinking_tokens(self, written_chars: int) -> int | None:
        """The thinking's share of the output, where the server counts none: this API has no place
        to give it back. None if none was shown."""
        shown = {"kept": written_chars, "thinking": sum(map(len, self._thoughts))}
        if not shown["thinking"]:
            return None
        return apportion(self._usage.completion_tokens or 0, shown)["thinking"]


def _chars(call: Call) -> int:
    return len(call.tool) + len(written_arguments(call))


def _detail(usage: Any, group: str, name: str) -> int | None:
    figure = getattr(getattr(usage, group, None), name, None)
    return figure if isinstance(figure, int) else None
