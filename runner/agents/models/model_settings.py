"""What a model is opened with: where its provider is, and how much it may think and write.

Plain values in memory. The command line reads the keys; nothing writes them, no `repr` shows them.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from runner.agents.models.spelt_keys import HIDDEN, without_key
from runner.records import digest_of


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where a provider answers, and what lets us in."""

    key: str = field(default="", repr=False)
    url: str = field(default="", repr=False)
    """Empty for the provider's own."""

    @property
    def digest(self) -> str:
        """Of the place alone: the same name elsewhere may be another model.

        A key and a password in the address change nothing that answers.
        """
        place = urlsplit(self.url)
        return digest_of([place.scheme, place.netloc.rpartition("@")[2], place.path.rstrip("/")])

    def hide(self, text: str) -> str:
        """The text without the key and the address, which a provider's message may quote."""
        place = urlsplit(self.url)
        address = (self.url.rstrip("/"), place.netloc, place.netloc.rpartition("@")[2])
        for secret in (*address, place.hostname):
            if secret:
                text = text.replace(secret, HIDDEN)
        for secret in self._secrets:
            text = without_key(text, secret, in_part=True)
        # `Incorrect API key provided: sk-ab*****yz`: a masked key still shows its two ends.
        return re.sub(r"\bsk-[\w*-]{4,}", HIDDEN, text)

    def hide_key(self, text: str) -> str:
        """The text without the key and without pieces of it, however they are spelt.

        For what a model writes: there the name of a host, or how keys begin, may be the answer.
        """
        for secret in self._secrets:
            text = without_key(text, secret)
        return text

    @property
    def _secrets(self) -> list[str]:
        return [secret for secret in (self.key, urlsplit(self.url).password) if secret]


@dataclass(frozen=True)
class ApiSlots:
    """How many requests may be under way at one provider, over all cells of this process."""

    limit: int | None = None
    """None: as many as there are cells at work."""
    _of: dict[str, asyncio.Semaphore] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    _answered: set[str] = field(default_factory=set, init=False, compare=False, repr=False)

    def of(self, provider: str) -> AbstractAsyncContextManager[object]:
        """A place among the provider's requests, waited for in turn."""
        if self.limit is None:
            return nullcontext()
        return self._of.setdefault(provider, asyncio.Semaphore(self.limit))

    def note_answer(self, provider: str) -> None:
        self._answered.add(provider)

    def has_answered(self, provider: str) -> bool:
        """In this process: what did cannot have a wrong address."""
        return provider in self._answered

    def __reduce__(self) -> tuple[type[ApiSlots], tuple[int | None]]:
        # Its semaphores belong to this process's event loop.
        return ApiSlots, (self.limit,)


@dataclass(frozen=True, kw_only=True)
class WeightsFile:
    """A file of weights."""

    path: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class LocalSettings:
    """How weights on this machine are served. Files go by their names, without folders."""

    files: Mapping[str, WeightsFile] = field(default_factory=dict, repr=False)
    served: Mapping[str, Endpoint] = field(default_factory=dict, repr=False)
    """Where each answers, while a run needs it."""
    threads: int = 1
    context_tokens: int = 16_384
    jobs: int = 1
    """Cells that run beside one another. Several have no cache, and wait for each other's turns."""


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """How a language model is reached and what one of its turns may take."""

    anthropic: Endpoint = field(default_factory=Endpoint)
    openai: Endpoint = field(default_factory=Endpoint)
    local: LocalSettings = field(default_factory=LocalSettings)
    thinking_tokens: int = 8192
    """Of one turn; 0 for none."""
    output_tokens: int = 8192
    """Of one turn, thinking apart."""
    stall_sec: float = 300.0
    """Silence after which a provider counts as stuck. Weights on a laptop read a prompt slowly."""
    first_wait_sec: float = 2.0
    """Before the first retry; each further one waits up to twice as long."""
    slots: ApiSlots = field(default_factory=ApiSlots)
