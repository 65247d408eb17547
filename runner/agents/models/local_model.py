"""`local:<path.gguf>`: chat completions of a server of ours, over weights on this machine."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
import openai

from runner.agents.models import weights_server
from runner.agents.models.chat import Chat
from runner.agents.models.model_settings import Endpoint, ModelSettings
from runner.agents.models.provider import Provider
from runner.agents.models.wire import FittedTools
from runner.protocols import Message, Turn
from runner.support.errors import FairtrialError, ProviderRefused

TOP_TOKENS = 20
SERVER_ENDED = "the server of the weights has ended"


class LocalModel(Chat):
    """protocols.Model."""

    def __init__(self, name: str, settings: ModelSettings) -> None:
        """`name`: of the file, as settings know it.

        Raises FairtrialError without the package that serves it.
        """
        local = settings.local
        if name not in local.files:
            raise FairtrialError(f"no weights are called {name}", hint=weights_server.HINT)
        provider = LocalProvider(
            title="Local weights",
            endpoint=local.served.get(name, Endpoint()),
            answering=weights_server.identity(local.files[name], local),
        )
        super().__init__(weights_server.PREFIX + name, provider, settings)
        self._begun = False

    def request(
        self, system: str, conversation: Sequence[Message], tools: FittedTools
    ) -> dict[str, Any]:
        # What the cell before has left there would make this one's first prompt look shorter; and
        # beside other cells, who comes between would.
        reuse = self._begun and self.settings.local.jobs == 1
        self._begun = True
        request = super().request(system, conversation, tools)
        return {**request, "extra_body": {"cache_prompt": reuse}}

    async def next_tokens(self, system: str, text: str, begun: str, *, timeout_sec: float) -> Turn:
        """How probable each token is behind `begun`, with which the model's own reply begins.

        The turn's text is JSON: {token: probability} of the likeliest, empty if the server tells
        none. Raises ProviderError if the server fails, TimeoutError past the deadline.
        """
        roles = {"system": system, "user": text, "assistant": begun}
        request = {
            "model": self.model,
            "messages": [{"role": role, "content": said} for role, said in roles.items()],
            "max_tokens": 1,
            "logprobs": True,
            "top_logprobs": TOP_TOKENS,
            # What is computed behind another prompt has other digits.
            "extra_body": {"cache_prompt": False},
        }

        async def attempt() -> Turn:
            async with asyncio.timeout(timeout_sec):
                reply = await self.client.chat.completions.create(**request)
            with self.provider.reading():
                return _tokens(reply)

        return await self.asked(attempt)

    def open_client(self, key: str, url: str) -> openai.AsyncOpenAI:
        if not url:
            # Without an address the SDK would ask its maker's servers.
            raise ProviderRefused("the weights are not served", hint=_HINT)
        return super().open_client(key, url)


def _tokens(reply: Any) -> Turn:
    told = reply.choices[0].logprobs
    probabilities = {}
    for likely in told.content[0].top_logprobs if told and told.content else ():
        probabilities[likely.token] = math.exp(likely.logprob)
    return Turn(
        text=json.dumps(probabilities),
        calls=(),
        stop="end",
        input_tokens=reply.usage.prompt_tokens,
        output_tokens=reply.usage.completion_tokens,
    )


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

    def require_usable(self) -> None:
        """It makes its own."""

    def wrong_address(self, error: Exception) -> None:
        """Its address is ours; see `meaning_of`."""

    def meaning_of(self, error: Exception) -> Exception:
        if isinstance(error.__cause__, httpx2.ConnectError):
            return ProviderRefused(SERVER_ENDED, hint=_HINT)
        return super().meaning_of(error)
