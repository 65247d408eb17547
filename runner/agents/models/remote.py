"""A model behind an API: what the SDKs have in common, from a conversation to a turn of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import httpx2

from runner.agents.models.model_settings import Endpoint, ModelSettings
from runner.agents.models.provider import (
    UNREADABLE,
    ContextOverflow,
    Provider,
    answered,
    before,
    time_limit,
)
from runner.agents.models.wire import FittedTools, fit
from runner.protocols import Message, ToolSpec, Turn
from runner.records import digest_of
from runner.support.errors import ProviderError

STREAM_ERRORS = (httpx2.TransportError, httpx2.DecodingError, *UNREADABLE)
"""What SDKs let through of a broken stream without making it their own error."""
NO_KEY = "none"
"""For a server of the user's own that asks for no key."""


class Reply(Protocol):
    """A reply, as the events of its stream add up."""

    def take(self, event: Any, /) -> None: ...

    def turn(self, tools: FittedTools) -> Turn:
        """Raises PassingFault for a reply that is not whole, ProviderError for an unknown stop."""


class RemoteModel(ABC):
    """protocols.Model. One instance serves one cell; its client is opened with its first turn."""

    language_model = True
    version = 1
    """Raise it if the same conversation would be sent in another way."""
    name_chars = 128
    """Of a tool's name."""
    most_tools: int | None = None
    errors: tuple[type[Exception], ...]
    """What a failed attempt raises: the SDK's own errors, and STREAM_ERRORS."""

    def __init__(self, name: str, provider: Provider, settings: ModelSettings) -> None:
        """Raises FairtrialError for a key or an address that is none."""
        provider.require_usable()
        self.name = name
        self.model = name.partition(":")[2]
        self.provider = provider
        self.settings = settings
        self.identity = digest_of(
            {
                "model": name,
                "version": self.version,
                "endpoint": provider.place,
                "thinking_tokens": settings.thinking_tokens,
                "output_tokens": settings.output_tokens,
            }
        )
        self._opened: Any = None
        self._notes: dict[str, bool] = {}
        """Note -> has it been handed out with a turn?"""

    async def turn(
        self,
        system: str,
        conversation: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        timeout_sec: float,
    ) -> Turn:
        """Raises ProviderError if the provider fails, TimeoutError past the deadline."""
        fitted = fit(tools, name_chars=self.name_chars, most=self.most_tools)
        self.note(*fitted.notes)
        request = self.request(system, conversation, fitted)
        return await self._answered(request, fitted, timeout_sec)

    async def constrained_turn(
        self,
        system: str,
        conversation: Sequence[Message],
        schema: dict[str, Any],
        *,
        timeout_sec: float,
    ) -> Turn:
        """A turn whose text is JSON of a schema."""
        fitted = fit((), name_chars=self.name_chars)
        request = self.request(system, conversation, fitted) | self.constraint(schema)
        return await self._answered(request, fitted, timeout_sec)

    async def forced_turn(
        self,
        system: str,
        conversation: Sequence[Message],
        tool: ToolSpec,
        *,
        timeout_sec: float,
    ) -> Turn:
        """A turn that is one call of the tool, its arguments held to the tool's schema."""
        fitted = fit((tool,), name_chars=self.name_chars)
        request = self.request(system, conversation, fitted)
        return await self._answered(request | self.force(request), fitted, timeout_sec)

    def write_artifacts(self, folder: Path) -> None:  # noqa: B027 - all is in the transcript
        """It keeps nothing beside the transcript."""

    # --- what an SDK gives ----------------------------------------------------------------------

    @abstractmethod
    def request(
        self, system: str, conversation: Sequence[Message], tools: FittedTools
    ) -> dict[str, Any]:
        """The request's body."""

    @abstractmethod
    def constraint(self, schema: dict[str, Any]) -> dict[str, Any]:
        """What a request says besides, to get JSON of a schema."""

    @abstractmethod
    def force(self, request: dict[str, Any]) -> dict[str, Any]:
        """What a request with one tool says instead, so that the reply is a strict call of it."""

    @abstractmethod
    def open_client(self, key: str, url: str) -> Any:
        """The SDK's client, at its provider's own address if `url` is empty.

        Without the SDK's retries, which wait as long as a provider asks, and nobody learns of them.
        """

    @abstractmethod
    async def create(self, request: dict[str, Any]) -> Any:
        """Send it with `client`; returns the SDK's stream. Raises the SDK's errors."""

    @abstractmethod
    def begin_reply(self, request: dict[str, Any]) -> Reply:
        """What adds up the stream that answers the request."""

    def meaning_of(self, error: Exception) -> Exception:
        """What to raise for one of the SDK's errors."""
        return self.provider.meaning_of(error)

    # --- asking ---------------------------------------------------------------------------------

    @property
    def client(self) -> Any:
        if self._opened is None:
            endpoint = self.provider.endpoint
            # A key in any case: the SDKs look for what is missing in the environment.
            self._opened = self.open_client(endpoint.key or NO_KEY, endpoint.url)
        return self._opened

    async def close(self) -> None:
        """Let go of connections."""
        if self._opened is not None:
            await self._opened.close()
            self._opened = None

    async def _stream(
        self, request: dict[str, Any], tools: FittedTools, timeout_sec: float
    ) -> Turn:
        """One attempt. Raises the SDK's errors."""
        reply = self.begin_reply(request)
        async with (
            time_limit(timeout_sec, self.settings.stall_sec) as deadline,
            await self.create(request) as stream,
        ):
            self.provider.require_stream(stream.response)
            async for event in before(deadline, stream):
                with self.provider.reading():
                    reply.take(event)
        with self.provider.reading():
            turn = reply.turn(tools)
            _require_form(turn)
        return turn

    async def _answered(
        self, request: dict[str, Any], tools: FittedTools, timeout_sec: float
    ) -> Turn:
        return await self.asked(lambda: self._stream(request, tools, timeout_sec))

    async def asked(self, attempt: Callable[[], Awaitable[Turn]]) -> Turn:
        """The turn of an attempt, made again while the provider's failures pass."""

        async def ask() -> Turn:
            try:
                turn = await attempt()
            except self.errors as error:
                raise self._wrong_address(error) or self.meaning_of(error) from error
            self.settings.slots.note_answer(self.provider.title)
            return turn

        try:
            turn = await answered(ask, self.settings, self.provider.title)
        except ContextOverflow as overflow:
            self.note(self.provider.endpoint.hide(str(overflow)))
            turn = Turn(text="", calls=(), stop="context_full", input_tokens=0, output_tokens=0)
        except ProviderError as error:
            # Whatever part of it a provider wrote: a type, a stop reason, a field's name.
            raise self.provider.without_secrets(error) from error
        return self._with_notes(_without_key(turn, self.provider.endpoint))

    def _wrong_address(self, error: Exception) -> Exception | None:
        # One that has answered before is away for a moment: that passes, or ends this cell alone.
        if self.settings.slots.has_answered(self.provider.title):
            return None
        return self.provider.wrong_address(error)

    def note(self, *notes: str) -> None:
        """For the record, each once in a cell."""
        for note in notes:
            self._notes.setdefault(note, False)

    def _with_notes(self, turn: Turn) -> Turn:
        fresh = tuple(note for note, told in self._notes.items() if not told)
        self._notes = dict.fromkeys(self._notes, True)
        return replace(turn, notes=fresh)


def _without_key(turn: Turn, endpoint: Endpoint) -> Turn:
    """As it is written and acted upon. Not `raw`: a provider wants its own blocks unchanged.

    Raises ProviderError where the key is in a call's id, by which its result is given back.
    """
    hide = endpoint.hide_key
    calls = []
    for call in turn.calls:
        if hide(call.id) != call.id:
            raise ProviderError("a call's id holds the key of the provider")
        arguments = _hidden_in(call.arguments, hide)
        tool, problem = hide(call.tool), hide(call.problem)
        calls.append(replace(call, tool=tool, arguments=arguments, problem=problem))
    text, thinking, served_by = hide(turn.text), hide(turn.thinking), hide(turn.served_by)
    return replace(turn, text=text, thinking=thinking, served_by=served_by, calls=tuple(calls))


def _hidden_in(value: Any, hide: Callable[[str], str]) -> Any:
    """The same JSON with every text of it, keys too, passed through `hide`."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        return {hide(key): _hidden_in(item, hide) for key, item in value.items()}
    if isinstance(value, list):
        return [_hidden_in(item, hide) for item in value]
    return value


def _require_form(turn: Turn) -> None:
    """Raises TypeError for a text that is none, or a count: no record would take it."""
    texts = [turn.text, turn.thinking, turn.served_by]
    for call in turn.calls:
        texts += [call.id, call.tool]
    counts = [
        turn.input_tokens,
        turn.output_tokens,
        turn.cache_read_tokens,
        turn.cache_write_tokens,
    ]
    if turn.dropped_tokens is not None:
        counts.append(turn.dropped_tokens)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a name or a text is none")
    if not all(isinstance(count, int) and count >= 0 for count in counts):
        raise TypeError("a count of tokens is none")
