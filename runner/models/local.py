"""`local:<path.gguf>`: chat completions of a server of ours, over weights on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
import openai

from runner.errors import FairtrialError, ProviderRefused
from runner.models import weights
from runner.models.chat import Chat
from runner.models.provider import Provider
from runner.models.settings import Endpoint, ModelSettings
from runner.models.wire import FittedTools
from runner.protocols import Message

GONE = "the server of the weights has ended"


class Local(Chat):
    """protocols.Model."""

    def __init__(self, name: str, settings: ModelSettings) -> None:
        """`name`: of the file, as settings know it.

        Raises FairtrialError without the package that serves it.
        """
        local = settings.local
        if name not in local.files:
            raise FairtrialError(f"no weights are called {name}", hint=weights.HINT)
        provider = LocalProvider(
            title="Local weights",
            endpoint=local.served.get(name, Endpoint()),
            answering=weights.identity(local.files[name], local),
        )
        super().__init__(weights.PREFIX + name, provider, settings)
        self._begun = False

    def request(
        self, system: str, conversation: Sequence[Message], tools: FittedTools
    ) -> dict[str, Any]:
        # What the cell before has left there would make this one's first prompt look shorter; and
        # beside other cells, who comes between would.
        reuse = self._begun and self.settings.local.one_at_a_time
        self._begun = True
        request = super().request(system, conversation, tools)
        return {**request, "extra_body": {"cache_prompt": reuse}}

    def open_client(self, key: str, url: str) -> openai.AsyncOpenAI:
        if not url:
            # Without an address the SDK would ask its maker's servers.
            raise ProviderRefused("the weights are not served", hint=_HINT)
        return super().open_client(key, url)


_HINT = "the same command goes on; its last lines say why it ended"


@dataclass(frozen=True, kw_only=True)
class LocalProvider(Provider):
    """A server of ours: no key of the user's, and nobody else answers in its place."""

    key_variable: str = ""
    url_variable: str = ""
    answering: str
    """Digest of what answers."""

    @property
    def place(self) -> str:
        return self.answering

    def require_key(self) -> None:
        """It makes its own."""

    def meaning_of(self, error: Exception) -> Exception:
        if isinstance(error.__cause__, httpx2.ConnectError):
            return ProviderRefused(GONE, hint=_HINT)
        return super().meaning_of(error)
