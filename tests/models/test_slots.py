"""How many requests are under way at one provider, whatever number of cells is at work."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import pytest
from llmock.pytest_plugin import LLMock

from runner.agents.models import open_model
from runner.agents.models.model_settings import ApiSlots, ModelSettings
from runner.agents.models.provider import PassingFault, answered
from runner.agents.usage import UsageTotals
from runner.cli import running
from runner.cli.main import main
from runner.cli.verbs import run as run_verb
from runner.protocols import Turn
from tests.helpers import PATIENCE_SEC, says
from tests.models.test_remote import settings_for, turn_of


class Busy:
    """A provider that answers when as many as expected are asking, and counts them."""

    def __init__(self, together: int) -> None:
        self.together = together
        self.now = 0
        self.most = 0
        self._full = asyncio.Event()

    async def turn(self) -> Turn:
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now == self.together:
            self._full.set()
        # Fewer at once than may be would wait here for ever.
        async with asyncio.timeout(PATIENCE_SEC):
            await self._full.wait()
        # More at once than may be get their chance to come.
        for _ in range(10):
            await asyncio.sleep(0)
        self.now -= 1
        return says("Hello.")


def settings(limit: int | None) -> ModelSettings:
    return ModelSettings(first_wait_sec=0.001, slots=ApiSlots(limit))


def ask_together(
    ask: Callable[[], Awaitable[Turn]], given: ModelSettings, *providers: str
) -> list[Turn]:
    async def main() -> list[Turn]:
        return list(await asyncio.gather(*(answered(ask, given, name) for name in providers)))

    return asyncio.run(main())


def test_no_more_requests_than_asked_are_under_way_at_one_provider() -> None:
    busy = Busy(together=2)
    turns = ask_together(busy.turn, settings(2), *["Anthropic"] * 6)
    assert busy.most == 2
    assert sum(turn.queued_sec > 0 for turn in turns) >= 4


def test_without_a_limit_nobody_waits_for_another() -> None:
    busy = Busy(together=6)
    ask_together(busy.turn, settings(None), *["Anthropic"] * 6)
    assert busy.most == 6


def test_each_provider_has_places_of_its_own() -> None:
    busy = Busy(together=2)
    ask_together(busy.turn, settings(1), "Anthropic", "OpenAI", "Anthropic", "OpenAI")
    assert busy.most == 2


def test_one_that_backs_off_keeps_no_place() -> None:
    asked: list[str] = []

    async def main() -> None:
        given = settings(1)
        other = asyncio.Event()

        async def fails_once() -> Turn:
            asked.append("first")
            if asked.count("first") == 1:
                raise PassingFault("429", retry_after_sec=0)
            # It is answered once the other has been, which it would keep waiting for ever.
            async with asyncio.timeout(PATIENCE_SEC):
                await other.wait()
            return says("At last.")

        async def answers() -> Turn:
            asked.append("other")
            other.set()
            return says("Hello.")

        await asyncio.gather(
            answered(fails_once, given, "Anthropic"), answered(answers, given, "Anthropic")
        )

    asyncio.run(main())
    assert asked == ["first", "other", "first"]


def test_a_request_that_is_cancelled_leaves_its_place_to_the_next() -> None:
    async def main() -> Turn:
        given = settings(1)
        begun = asyncio.Event()

        async def hangs() -> Turn:
            begun.set()
            await asyncio.sleep(PATIENCE_SEC)
            raise AssertionError

        async def answers() -> Turn:
            return says("Hello.")

        first = asyncio.create_task(answered(hangs, given, "Anthropic"))
        await begun.wait()
        waiting = asyncio.create_task(answered(answers, given, "Anthropic"))
        await asyncio.sleep(0)
        first.cancel()
        async with asyncio.timeout(PATIENCE_SEC):
            return await waiting

    assert asyncio.run(main()).text == "Hello."


def test_waiting_for_a_place_is_recorded_and_is_none_of_the_agent_s_seconds() -> None:
    totals = UsageTotals()
    totals.add_turn(replace(says("Hello."), backoff_sec=50.0, queued_sec=50.0), wall_sec=51.0)
    assert (totals.agent_sec, totals.backoff_sec) == (1.0, 50.0)


class Noted(ApiSlots):
    """Places that note who asked for one."""

    def of(self, provider: str) -> AbstractAsyncContextManager[object]:
        ASKED.append(provider)
        return super().of(provider)


ASKED: list[str] = []


@pytest.mark.parametrize(("api", "name"), [("anthropic", "Anthropic"), ("openai", "OpenAI")])
def test_a_model_of_each_sdk_asks_for_its_place_with_every_attempt(
    llmock: LLMock, api: str, name: str
) -> None:
    ASKED.clear()
    llmock.fail(529).reply("One.")
    given = replace(settings_for(api, llmock.base_url(api)), slots=Noted(1))
    assert turn_of(open_model(f"{api}:test-model", given)).text == "One."
    assert [name, name] == ASKED


def test_the_command_s_limit_reaches_the_models(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[run_verb.Verb] = []
    monkeypatch.setattr(run_verb, "run", asked.append)
    for words in (["run", "--api-jobs", "2"], ["run"]):
        with pytest.raises(SystemExit):
            main(words)
    limits = [running.open_models(request)[1].slots.limit for request in asked]
    assert limits == [2, None]


def test_settings_go_to_another_machine_with_the_limit_and_without_who_waits() -> None:
    given = settings(3)
    given.slots.of("Anthropic")
    assert pickle.loads(pickle.dumps(given)) == given
    assert "Semaphore" not in repr(given)
