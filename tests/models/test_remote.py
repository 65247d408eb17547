"""Language models behind an API, each through its official SDK and real HTTP on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Reply, ToolCall

from runner.agents.tool_calling import Conversation
from runner.agents.tools import Toolbox
from runner.errors import FairtrialError, ProviderError, ProviderRefused
from runner.models import open_model
from runner.models.settings import Endpoint, ModelSettings
from runner.protocols import Model, Turn, UserMessage
from runner.records import Event, Limits, Outcome, Prose, StepEnd, Usage
from runner.records import ToolCall as CallEvent
from runner.records import ToolResult as ResultEvent
from tests.helpers import LocalSandbox, scenario

KEY = "sk-very-secret-0123456789"


@dataclass(frozen=True, kw_only=True)
class Provided:
    """A provider that answers on this machine, and the models behind it."""

    double: LLMock
    api: str
    settings: ModelSettings = field(default_factory=ModelSettings)

    def open(self, **changes: Any) -> Model:
        return open_model(f"{self.api}:test-model", replace(self.settings, **changes))


def settings_for(api: str, url: str, key: str = KEY) -> ModelSettings:
    endpoint = Endpoint(key=key, url=url)
    quick: dict[str, Any] = {"first_wait_sec": 0.01, api: endpoint}
    return ModelSettings(**quick)


@pytest.fixture(params=["anthropic"])
def provided(llmock: LLMock, request: pytest.FixtureRequest) -> Provided:
    api = str(request.param)
    return Provided(double=llmock, api=api, settings=settings_for(api, llmock.base_url(api)))


def turn_of(model: Model, text: str = "Hello?", timeout_sec: float = 600) -> Turn:
    async def ask() -> Turn:
        try:
            return await model.turn(
                "Be brief.", [UserMessage(text=text)], (), timeout_sec=timeout_sec
            )
        finally:
            await model.close()

    return asyncio.run(ask())


@dataclass(frozen=True, kw_only=True)
class Held:
    """A conversation that has ended."""

    outcome: Outcome
    events: list[Event]

    def only(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


Hold = Callable[..., Held]


@pytest.fixture
def hold(tmp_path: Path) -> Hold:
    """Holds a conversation whose shell is this machine's own, in the test's folder."""

    def converse(model: Model, *prompts: str, **budget: int) -> Held:
        events: list[Event] = []
        asked = scenario(*(prompts or ("What is here?",)), **{"tokens": 10**6, **budget})
        conversation = Conversation(
            model=model,
            scenario=asked,
            toolbox=Toolbox(LocalSandbox(tmp_path), Limits()),
            record=events.append,
        )

        async def run() -> Outcome:
            try:
                return await conversation.run()
            finally:
                await model.close()

        return Held(outcome=asyncio.run(run()), events=events)

    return converse


def shell(command: str) -> ToolCall:
    return ToolCall("shell", {"command": command})


# --- a conversation -----------------------------------------------------------------------------


def test_a_model_looks_something_up_and_answers(provided: Provided, hold: Hold) -> None:
    provided.double.add(Reply(tool_calls=(shell("echo one"), shell("echo two >&2; exit 3"))))
    provided.double.reply("It says one.")
    held = hold(provided.open())
    assert held.outcome.kind == "answered"
    assert [call.arguments["command"] for call in held.only(CallEvent)] == [
        "echo one",
        "echo two >&2; exit 3",
    ]
    assert [result.is_error for result in held.only(ResultEvent)] == [False, True]
    assert [prose.text for prose in held.only(Prose)] == ["It says one."]
    assert all(usage.input_tokens and usage.output_tokens for usage in held.only(Usage))
    assert {usage.served_by for usage in held.only(Usage)} == {"test-model"}
    (last,) = held.only(StepEnd)
    assert last.stop == "end"


def test_results_go_back_in_the_order_of_the_calls_with_their_errors(
    provided: Provided, hold: Hold
) -> None:
    provided.double.add(Reply(tool_calls=(shell("echo one"), shell("exit 3"))))
    provided.double.reply("Done.")
    hold(provided.open())
    blocks = provided.double.last_request.body["messages"][-1]["content"]
    assert [block["is_error"] for block in blocks] == [False, True]
    assert blocks[0]["content"] == "one\n"
