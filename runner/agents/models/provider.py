"""What all providers have in common: which failures pass, how often and how long we wait."""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from functools import cache
from json import JSONDecodeError
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)

from runner.agents.models.model_settings import Endpoint, ModelSettings
from runner.protocols import Turn
from runner.support.errors import FairtrialError, ProviderError, ProviderRefused

E = TypeVar("E")
RETRIES = 3
LONGEST_WAIT_SEC = 120.0
"""A provider may ask for an hour; a cell that waits that long holds its container for nothing."""
CONNECT_SEC = 30.0
SHOWN_CHARS = 300


class PassingFault(Exception):  # noqa: N818 - it is no error until it has come four times
    """A failure that may be gone the next time."""

    def __init__(self, what: str, *, retry_after_sec: float | None = None) -> None:
        super().__init__(what)
        self.retry_after_sec = retry_after_sec


class ContextOverflow(Exception):  # noqa: N818 - it is an outcome of the cell
    """The conversation is longer than the model takes."""


# --- asking again ---------------------------------------------------------------------------


async def answered(
    ask: Callable[[], Awaitable[Turn]], settings: ModelSettings, provider: str
) -> Turn:
    """The turn, asked for again while the provider's failures pass.

    All time before the attempt that succeeded is its back-off: waits and failed attempts alike.
    Raises ProviderError when the failure does not pass.
    """
    started = began = time.monotonic()
    queued_sec = 0.0
    turn = None
    attempts = AsyncRetrying(
        stop=stop_after_attempt(1 + RETRIES),
        wait=_Wait(settings.first_wait_sec),
        retry=retry_if_exception_type(PassingFault),
        sleep=asyncio.sleep,
        reraise=True,
    )
    try:
        async for attempt in attempts:
            with attempt:
                asked = time.monotonic()
                # Held for one attempt alone: a cell that backs off would keep the others waiting.
                async with settings.slots.of(provider):
                    began = time.monotonic()
                    queued_sec += began - asked
                    turn = await ask()
    except PassingFault as fault:
        raise ProviderError(f"{fault} ({1 + RETRIES} attempts)") from fault
    assert turn is not None  # noqa: S101 - the last attempt returns or raises
    retries = int(attempts.statistics["attempt_number"]) - 1
    return replace(turn, backoff_sec=began - started, queued_sec=queued_sec, retries=retries)


class _Wait:
    """As long as the provider asks for, else longer each time; never past the longest wait."""

    def __init__(self, first_wait_sec: float) -> None:
        growing = wait_exponential(multiplier=first_wait_sec, max=LONGEST_WAIT_SEC)
        self._growing = growing + wait_random(0, first_wait_sec)

    def __call__(self, state: RetryCallState) -> float:
        fault = state.outcome.exception() if state.outcome else None
        wait_sec = self._growing(state)
        if isinstance(fault, PassingFault) and fault.retry_after_sec is not None:
            # The jitter stays: cells that were turned away together would come back together.
            wait_sec = fault.retry_after_sec + wait_sec / 10
        return min(wait_sec, LONGEST_WAIT_SEC)


def retry_after_sec(headers: Mapping[str, str]) -> float | None:
    """`retry-after-ms: 500`, `retry-after: 2` and `retry-after: Fri, 21 Nov 2026 …`."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        return max(0.0, float(headers["retry-after"]))
    except KeyError:
        return None
    except ValueError:
        return _seconds_until(headers["retry-after"])


def _seconds_until(date: str) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - time.time())
    except ValueError:
        return None


# --- how long one attempt may take ----------------------------------------------------------


def timeouts(stall_sec: float) -> httpx2.Timeout:
    return httpx2.Timeout(stall_sec, connect=min(CONNECT_SEC, stall_sec))


@cache
def certificates() -> ssl.SSLContext:
    """Those that this machine trusts. To read them takes 50 ms, which each cell would pay anew."""
    return httpx2.create_ssl_context()


@asynccontextmanager
async def time_limit(timeout_sec: float, stall_sec: float) -> AsyncIterator[float]:
    """Gives the moment at which a reply that still comes is cut; see `before`.

    Silence is the provider's fault, and its own time-out finds it. This outer limit is for a
    provider that only keeps the line open.
    """
    async with asyncio.timeout(timeout_sec + stall_sec):
        yield time.monotonic() + timeout_sec


async def before(deadline: float, events: AsyncIterator[E]) -> AsyncIterator[E]:
    """The events as they come. Raises TimeoutError at the first one past the deadline."""
    async for event in events:
        if time.monotonic() > deadline:
            raise TimeoutError
        yield event


# --- what a failure means -------------------------------------------------------------------

UNREADABLE = (JSONDecodeError, UnicodeDecodeError, RecursionError)
"""What an SDK lets through of a chunk: no JSON, no UTF-8, thousands of levels."""

_UNREACHED = (httpx2.ConnectError, httpx2.ConnectTimeout)
_PASSING_STATUS = frozenset({408, 409, 425, 429})
_PASSING_TYPES = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})
_OVERFLOW = re.compile(
    r"prompt is too long|context[ _](length|window|size)|maximum context|too many tokens", re.I
)
_NO_MONEY = re.compile(
    r"credit balance|insufficient[_ ](quota|balance|credits|funds)|billing_(error|hard_limit)", re.I
)
_LIMIT = re.compile(r"max_(completion_)?tokens")
_NO_TOOLS = re.compile(
    r"""
    (not|n't|no\ endpoints\ found\ that)\ support.{0,20}\b(tool|function\ call)  # Ollama
    | (tool|function)[ _`]*(calling|use)?`?\ is\ not\ (supported|enabled)  # Groq, Gemini
    | enable-auto-tool-choice  # vLLM, started without it
    | tools\ param\ requires\ --jinja  # llama.cpp, started without it
    """,
    re.I | re.X,
)


@dataclass(frozen=True, kw_only=True)
class Provider:
    """Whom a failure is told of, and which variables a user mends it with."""

    title: str
    key_variable: str
    url_variable: str
    endpoint: Endpoint

    @property
    def place(self) -> str:
        """Digest of where it answers, for the identity of what does."""
        return self.endpoint.digest

    def require_usable(self) -> None:
        """Raises FairtrialError for a key or an address that no request can be made with.

        No key at all will do for a server of the user's own.
        """
        key, url = self.endpoint.key, self.endpoint.url
        if not (key.isascii() and key.isprintable()) or key != key.strip():
            raise FairtrialError(
                f"{self.key_variable} holds a line break, a space at an end, or a letter that "
                "no API key has",
                hint="set it again, to the API key alone",
            )
        if url and not _is_address(url):
            hint = f"set {self.url_variable} to http:// or https://, a host, and perhaps a path"
            raise FairtrialError(f"{self.url_variable} is no address", hint=hint)
        if not self.endpoint.key and not self.endpoint.url:
            raise FairtrialError(
                f"{self.title} needs an API key, and {self.key_variable} is not set",
                hint=f"export {self.key_variable}; it is read when a run starts and kept nowhere",
            )

    def meaning_of(self, error: Exception) -> Exception:
        """What to raise for an SDK's error.

        PassingFault, ContextOverflow, ProviderRefused (the next cell would fail alike) or
        ProviderError.
        """
        response: httpx2.Response | None = getattr(error, "response", None)
        if response is None:
            return self._without_status(error)
        status = response.status_code
        kind, message = _details(error)
        about = f"{kind} {message}"
        if status in (401, 403):
            # Its message is not quoted: some show part of the key.
            return self._refused(f"the API key is not accepted ({status})", self._key_hint())
        if status == 402 or _NO_MONEY.search(about):
            return self._refused(f"the account is out of money or quota ({status})", "top it up")
        if status in _PASSING_STATUS or status >= 500 or kind in _PASSING_TYPES:
            wait_sec = retry_after_sec(response.headers)
            return PassingFault(self._said(status, kind, message), retry_after_sec=wait_sec)
        if status == 413 or _OVERFLOW.search(about):
            return ContextOverflow(self._said(status, kind, message))
        return self._wrong_request(response, kind, message)

    def wrong_address(self, error: Exception) -> ProviderRefused | None:
        """What to raise where nothing listens at an address of the user's own; else None."""
        cause = error.__cause__ or error
        if not self.endpoint.url or not isinstance(cause, _UNREACHED):
            return None
        what = f"nothing answers at the address ({type(cause).__name__})"
        return self._refused(what, f"check {self.url_variable}")

    def _without_status(self, error: Exception) -> Exception:
        """Errors between two chunks of a stream, and those that never reached a server."""
        kind, message = _details(error)
        if _OVERFLOW.search(f"{kind} {message}"):
            return ContextOverflow(self._said("in the stream", kind, message))
        if isinstance(error, UNREADABLE):
            return PassingFault(f"{self.title}: the stream holds a chunk that is no JSON")
        cause = error.__cause__ or error
        text = f"{self.title}: the connection failed ({type(cause).__name__})"
        return PassingFault(f"{text}{_colon(self._shown(message))}")

    def _wrong_request(self, response: httpx2.Response, kind: str, message: str) -> ProviderError:
        status = response.status_code
        said_nothing = not kind and not message
        if "html" in response.headers.get("content-type", "") or (status == 404 and said_nothing):
            return self._no_api(status)
        said = self._said(status, kind, message)
        if _NO_TOOLS.search(message):
            return self._refused(said, "this model takes no tools: try --agent json_actions")
        if _LIMIT.search(message):
            hint = "ask for fewer with --output-tokens and --thinking-tokens"
            return self._refused(said, hint)
        if status != 404:
            return ProviderError(said)
        return self._refused(said, "is the model's name right, and is it one your API key may use?")

    def without_secrets(self, error: ProviderError) -> ProviderError:
        """The same failure, told without the key and the address."""
        return type(error)(self.endpoint.hide(error.what), where=error.where, hint=error.hint)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Raises PassingFault where what is read has another form than this API's."""
        try:
            yield
        except (AttributeError, TypeError) as error:
            raise PassingFault(f"{self.title}: the stream is not of this API: {error}") from error

    def require_stream(self, response: httpx2.Response) -> None:
        """Raises ProviderRefused if what answered is a web page, say."""
        if "event-stream" not in response.headers.get("content-type", ""):
            raise self._no_api(response.status_code)

    def _no_api(self, status: int) -> ProviderRefused:
        what = f"what answers there is not the {self.title} API ({status})"
        return self._refused(what, f"check {self.url_variable}")

    def _refused(self, what: str, hint: str) -> ProviderRefused:
        if not what.startswith(self.title):
            what = f"{self.title}: {what}"
        return ProviderRefused(what, hint=hint)

    def _key_hint(self) -> str:
        return f"check {self.key_variable}"

    def _said(self, status: int | str, kind: str, message: str) -> str:
        # Some servers send the status as the error's code, too.
        name = f"{status} {kind}".strip() if kind != str(status) else kind
        return f"{self.title}: {name}{_colon(self._shown(message))}"

    def _shown(self, message: str) -> str:
        return self.endpoint.hide(message)[:SHOWN_CHARS]


def _is_address(url: str) -> bool:
    try:
        place = urlsplit(url)
        place.port  # noqa: B018 - raises for what is no number
    except ValueError:
        return False
    if not url.isprintable() or " " in url:
        return False
    return place.scheme in ("http", "https") and bool(place.hostname)


def _colon(text: str) -> str:
    return f": {text}" if text else ""


def _details(error: Exception) -> tuple[str, str]:
    """Type and message of `{"error": {"type": …, "message": …}}`, with and without the wrapping.

    Empty for a body that is no such thing, such as a web page.
    """
    body: Any = getattr(error, "body", None)
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        body = body["error"]
    if not isinstance(body, dict):
        return "", ""
    kind = body.get("code") or body.get("type") or ""
    return str(kind), str(body.get("message") or "")
