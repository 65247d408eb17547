"""Between an agent's program in the cell and its provider: the key, the caps, and what is counted.

A request is passed on as it came but for its key and address, and its answer back byte for byte.
Only the model's own paths pass, and only the model that was asked for.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import httpx2

from runner.agents.models.model_settings import ModelSettings
from runner.agents.models.provider import ContextOverflow, Provider, certificates, timeouts
from runner.agents.packaged.cell_end import AgentClock, CellEnd
from runner.agents.packaged.cell_ledger import CellLedger, Conversing
from runner.agents.packaged.packaged_agent import PackagedAgent
from runner.agents.packaged.treatment import Treatment
from runner.agents.packaged.wire_reading import (
    EventStream,
    Json,
    ReplyReader,
    body_of,
)
from runner.records import Budget
from runner.sandbox.relay import RelayedReply, RelayedRequest
from runner.support.errors import ProviderError, ProviderRefused

MOST_FAILURES = 10
"""In a row; then the provider counts as gone."""
BODY_LIMIT_BYTES = 1_000_000
"""Of an error's text."""
_OURS = frozenset(
    {
        *("host", "content-length", "connection", "transfer-encoding", "accept-encoding"),
        *("authorization", "x-api-key", "api-key", "cookie", "proxy-authorization"),
    }
)
"""Headers of a request that are not passed on: the place of most is taken by ours."""
_THEIRS = frozenset(
    {"content-type", "retry-after", "retry-after-ms", "x-should-retry", "request-id"}
)
"""Headers of an answer that are passed on: others name the account."""


@dataclass(frozen=True, kw_only=True)
class Upstream:
    """The provider, as the model's own SDK would reach it."""

    provider: Provider
    url: str
    """Its base address."""
    settings: ModelSettings
    model: str
    """Its id of the model that was asked for."""


@dataclass(kw_only=True)
class _Passing:
    """One request on its way."""

    asked: RelayedRequest
    conversing: Conversing
    reader: ReplyReader
    began: float = field(default_factory=time.monotonic)
    waited_sec: float = 0.0
    """For the provider, before its answer began."""
    retries: int = 0


@dataclass(kw_only=True)
class ProviderBridge:
    """One cell's. `answer` is called for each request, several at a time."""

    agent: PackagedAgent
    upstream: Upstream
    ledger: CellLedger
    treatment: Treatment
    budget: Budget
    end: CellEnd
    clock: AgentClock
    fault: ProviderError | ContextOverflow | None = field(default=None, init=False)
    """Of the last request, if the provider failed at it."""
    _failures: int = field(default=0, init=False)
    _refused: set[str] = field(default_factory=set, init=False)

    @cached_property
    def _client(self) -> httpx2.AsyncClient:
        waits = timeouts(self.upstream.settings.stall_sec)
        return httpx2.AsyncClient(timeout=waits, verify=certificates())

    async def close(self) -> None:
        await self._client.aclose()

    # --- what passes ----------------------------------------------------------------------------

    async def answer(self, asked: RelayedRequest, reply: RelayedReply) -> None:
        """relay.Answering."""
        path, dialect = urlsplit(asked.path).path, self.agent.dialect
        if asked.method != "POST" or path not in (dialect.path, *dialect.free_paths):
            self._note_refused(f"{asked.method} {path}")
            await _refuse(reply, 404, "no such path here")
            return
        try:
            body = body_of(asked.body)
            model = body["model"]
        except (ValueError, KeyError, RecursionError):
            self._note_refused(f"a request to {path} that is no JSON, or names no model")
            await _refuse(reply, 400, "no JSON that names a model")
            return
        if model != self.upstream.model:
            self._note_refused(f"a request to the model {model!r}")
            await _refuse(reply, 404, f"there is no model {model!r} here")
        elif not self._may_go_on():
            await _refuse(reply, 403, "the cell has ended")
        elif path in dialect.free_paths:
            await self._pass(asked, reply, None)
        else:
            await self._ask(asked, body, reply)

    def _note_refused(self, what: str) -> None:
        # Once each: an agent that asks in a loop would fill the transcript.
        if what not in self._refused and len(self._refused) < 50:
            self._refused.add(what)
            self.ledger.note(f"refused: {what[:200]}")

    def _may_go_on(self) -> bool:
        """Ends the cell if a cap is reached. Raises SpendingCap if it is the run's."""
        if self.end.is_reached:
            return False
        totals = self.ledger.totals
        totals.agent_sec = self.clock.agent_sec
        over = totals.over(self.budget)
        if over is not None:
            self.end.reach(over)
        return over is None

    # --- a turn ---------------------------------------------------------------------------------

    async def _ask(self, asked: RelayedRequest, body: Json, reply: RelayedReply) -> None:
        try:
            request = self.agent.dialect.read_request(body)
        except (KeyError, TypeError, AttributeError):
            self._note_refused("a request that has another form than its API's")
            await _refuse(reply, 400, "not a request of this API")
            return
        self.treatment.require(request, asked.body)
        where = self.agent.conversation(asked.headers, request)
        conversing = self.ledger.asked(where, request, len(asked.body))
        reader = self.agent.dialect.begin_reply()
        attempt = _Passing(asked=asked, conversing=conversing, reader=reader)
        with self.ledger.totals.account.turn():
            await self._pass(asked, reply, attempt)

    async def _pass(
        self, asked: RelayedRequest, reply: RelayedReply, attempt: _Passing | None
    ) -> None:
        upstream = self.upstream
        queued = time.monotonic()
        async with upstream.settings.slots.of(upstream.provider.title):
            waited_sec = time.monotonic() - queued
            self.clock.queued(waited_sec)
            if attempt is not None:
                attempt.began, attempt.waited_sec = time.monotonic(), waited_sec
            try:
                async with self._client.stream(
                    asked.method,
                    self._address(asked.path),
                    content=asked.body,
                    headers=self._headers(asked.headers),
                ) as answer:
                    await self._passed_back(answer, reply, attempt)
            except httpx2.TransportError as error:
                await self._broke(error, reply, attempt)

    def _address(self, path: str) -> str:
        base = self.upstream.url.rstrip("/")
        # A base address has the version in it, or has not: as each SDK has it.
        if base.endswith("/v1"):
            return base + path.removeprefix("/v1")
        return base + path

    def _headers(self, given: Mapping[str, str]) -> dict[str, str]:
        headers = {name: text for name, text in given.items() if name not in _OURS}
        key = self.upstream.provider.endpoint.key
        # As it comes: what is packed could not be read on the way.
        plain = {"accept-encoding": "identity"}
        return headers | plain | self.agent.dialect.key_headers(key or "none")

    async def _passed_back(
        self, answer: httpx2.Response, reply: RelayedReply, attempt: _Passing | None
    ) -> None:
        headers = {name: text for name, text in answer.headers.items() if name in _THEIRS}
        if answer.status_code >= 400:
            await self._passed_fault(answer, headers, reply, attempt)
            return
        self.upstream.settings.slots.note_answer(self.upstream.provider.title)
        self._recover(attempt)
        await reply.head(answer.status_code, headers)
        if attempt is None:
            async for chunk in answer.aiter_raw():
                await reply.body(chunk)
        else:
            await self._streamed(answer, reply, attempt)
        await reply.end()

    def _recover(self, attempt: _Passing | None) -> None:
        waited_sec = self.clock.recovered()
        if attempt is not None and self._failures:
            attempt.waited_sec, attempt.retries = waited_sec, self._failures
        if attempt is not None:
            self._failures, self.fault = 0, None

    async def _streamed(
        self, answer: httpx2.Response, reply: RelayedReply, attempt: _Passing
    ) -> None:
        """The chunks as they come. What is known of a stream that is cut is counted all the same:
        it has been paid for."""
        reader, events = attempt.reader, EventStream()
        is_stream = "event-stream" in answer.headers.get("content-type", "")
        whole = b""
        try:
            async for chunk in answer.aiter_raw():
                await reply.body(chunk)
                if is_stream:
                    _take(reader, events.feed(chunk))
                else:
                    whole += chunk
            if is_stream:
                _take(reader, events.feed(b"\n"))
            else:
                reader.take_whole(body_of(whole))
        finally:
            self._count(attempt)

    def _count(self, attempt: _Passing) -> None:
        read = attempt.reader.reply()
        self.ledger.answered(
            attempt.conversing,
            read,
            backoff_sec=attempt.waited_sec,
            retries=attempt.retries,
        )
        if not read.whole:
            what = read.fault or "the stream broke off"
            title = self.upstream.provider.title
            self._fail(attempt, ProviderError(f"{title}: {self._hidden(what)}"))

    # --- what fails -----------------------------------------------------------------------------

    async def _passed_fault(
        self,
        answer: httpx2.Response,
        headers: Mapping[str, str],
        reply: RelayedReply,
        attempt: _Passing | None,
    ) -> None:
        """An error of the provider's, passed on; one that every cell would meet ends the run."""
        text = await _start_of(answer.aiter_bytes())
        meaning = self.upstream.provider.meaning_of(_Refusal(answer, text))
        if isinstance(meaning, ProviderRefused):
            self.end.fail(meaning)
        elif isinstance(meaning, (ContextOverflow, ProviderError)):
            self._fail(attempt, meaning)
        else:
            self._fail(attempt, ProviderError(str(meaning)))
        await reply.head(answer.status_code, dict(headers))
        await reply.body(self._hidden(text).encode())
        await reply.end()

    async def _broke(self, error: Exception, reply: RelayedReply, attempt: _Passing | None) -> None:
        provider = self.upstream.provider
        wrong = provider.wrong_address(error)
        if wrong is not None and not self.upstream.settings.slots.has_answered(provider.title):
            self.end.fail(wrong)
        self._fail(attempt, ProviderError(str(provider.meaning_of(error))))
        if reply.begun:
            await reply.cut()
        else:
            await _refuse(reply, 502, "the provider was not reached")

    def _fail(self, attempt: _Passing | None, fault: ProviderError | ContextOverflow) -> None:
        if attempt is None:
            return
        self._failures += 1
        self.fault = fault
        self.clock.failed(attempt.began)
        if self._failures >= MOST_FAILURES and isinstance(fault, ProviderError):
            # Some agents try again for ever.
            self.end.fail(fault)

    def _hidden(self, text: str) -> str:
        return self.upstream.provider.endpoint.hide(text)


class _Refusal(Exception):  # noqa: N818 - shaped as an SDK's error, for `meaning_of`
    def __init__(self, response: httpx2.Response, text: str) -> None:
        super().__init__(f"status {response.status_code}")
        self.response = response
        self.body: Any = None
        with suppress(ValueError, RecursionError):
            self.body = body_of(text.encode())


def _take(reader: ReplyReader, events: Iterator[Json]) -> None:
    for event in events:
        try:
            reader.take(event)
        except (KeyError, TypeError, AttributeError):
            # Of another form than this API's: the program makes of it what it can.
            continue


async def _start_of(chunks: AsyncIterator[bytes]) -> str:
    text = b""
    async for chunk in chunks:
        text += chunk[: BODY_LIMIT_BYTES - len(text)]
    return text.decode(errors="replace")


async def _refuse(reply: RelayedReply, status: int, message: str) -> None:
    """In the form that all three APIs have for errors."""
    error = {"type": "invalid_request_error", "message": f"fairtrial: {message}"}
    await reply.whole(status, json.dumps({"type": "error", "error": error}).encode())
