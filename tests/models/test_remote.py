"""Language models behind an API, each through its official SDK and real HTTP on this machine."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Reply, ToolCall
from tenacity import AsyncRetrying, RetryCallState

from runner.agents import models
from runner.agents.models import open_model, provider
from runner.agents.models.model_settings import Endpoint, ModelSettings
from runner.agents.react import React
from runner.agents.tools import SHELL_SPEC
from runner.protocols import Model, Turn, UserMessage
from runner.records import NewTokens, Prose, StepEnd, Thinking, Usage
from runner.records import ToolCall as CallEvent
from runner.records import ToolResult as ResultEvent
from runner.support.errors import FairtrialError, ProviderError, ProviderRefused
from tests.helpers import PATIENCE_SEC, Held, converse_here, scenario
from tests.models.doubles import Events, streaming, web_page

KEY = "sk-very-secret-0123456789"
SOON_SEC = 0.02
"""After which the double asks to be asked again; unasked it says a second."""


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


@pytest.fixture(params=["anthropic", "openai"])
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


Hold = Callable[..., Held]


@pytest.fixture
def hold(tmp_path: Path) -> Hold:
    """Holds a conversation whose shell is this machine's own, in the test's folder."""

    def converse(model: Model, *prompts: str, **budget: int) -> Held:
        asked = scenario(*(prompts or ("What is here?",)), **{"tokens": 10**6, **budget})
        return converse_here("tool_calling", model, asked, tmp_path)

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
    assert list(results_in(provided.double.last_request.body)) == [
        ("one\n", False),
        ("[exit code 3]", True),
    ]


def results_in(body: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """The tool results of a request of either API: text, and is it an error?"""
    for message in body["messages"]:
        if message["role"] == "tool":
            text = message["content"]
            yield text.removeprefix("[error] "), text.startswith("[error] ")
        elif message["role"] == "user" and isinstance(message["content"], list):
            for block in message["content"]:
                if block["type"] == "tool_result":
                    yield block["content"], block["is_error"]


def test_tools_that_were_left_out_are_noted_where_the_model_was_asked(llmock: LLMock) -> None:
    tools = [replace(SHELL_SPEC, name=f"t{number}", origin="server") for number in range(200)]
    model = open_model("openai:m", settings_for("openai", llmock.base_url("openai")))
    llmock.reply("Fine.")

    async def ask() -> Turn:
        asked = [UserMessage(text="Hello?")]
        turn = await model.turn("", asked, [SHELL_SPEC, *tools], timeout_sec=600)
        await model.close()
        return turn

    (note,) = asyncio.run(ask()).notes
    assert "the API takes 128 of 201 tools; left out by seed 20261121: t" in note
    offered = [tool["function"]["name"] for tool in llmock.last_request.body["tools"]]
    assert (len(offered), offered[0]) == (128, "shell")


# --- failures that pass -------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
def test_a_failure_that_passes_is_asked_again_and_is_no_work_of_the_agents(
    provided: Provided, status: int
) -> None:
    provided.double.fail(status, times=3, retry_after=SOON_SEC).reply("At last.")
    turn = turn_of(provided.open())
    assert (turn.text, turn.retries, len(provided.double.requests)) == ("At last.", 3, 4)
    assert turn.backoff_sec > 3 * SOON_SEC


@pytest.mark.parametrize(
    "message", ["exceeded your current quota per minute", "add a payment method under /billing"]
)
def test_a_rate_limit_that_speaks_of_money_is_a_rate_limit(
    provided: Provided, message: str
) -> None:
    provided.double.fail(429, message=message, retry_after=SOON_SEC).reply("Thank you.")
    assert turn_of(provided.open()).text == "Thank you."


@pytest.mark.parametrize("status", [429, 529])
def test_a_failure_that_stays_is_the_providers(provided: Provided, status: int) -> None:
    provided.double.fail(status, times=None, retry_after=SOON_SEC)
    with pytest.raises(ProviderError, match=f"{status}.*4 attempts") as raised:
        turn_of(provided.open())
    assert not isinstance(raised.value, ProviderRefused), "the next cell may have more luck"
    assert len(provided.double.requests) == 4


def test_the_wait_that_a_provider_asks_for_is_kept(provided: Provided) -> None:
    provided.double.rate_limit(retry_after=1).reply("Thank you.")
    turn = turn_of(provided.open())
    first, second = provided.double.requests
    assert second.started_at - first.ended_at >= 1
    assert turn.backoff_sec >= 1


def test_no_provider_makes_a_cell_wait_for_an_hour() -> None:
    wait = provider._Wait(0.01)
    state = RetryCallState(AsyncRetrying(), None, (), {})
    fault = provider.PassingFault("429", retry_after_sec=3600)
    state.set_exception((provider.PassingFault, fault, None))
    assert wait(state) == provider.LONGEST_WAIT_SEC


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Fri, 21 Nov 2025 10:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
    ],
)
def test_every_form_of_retry_after_is_read(headers: dict[str, str], expected: float | None) -> None:
    assert provider.retry_after_sec(headers) == expected


@pytest.mark.parametrize("fault", ["disconnect", "truncate", "corrupt"])
def test_a_stream_that_breaks_is_no_answer_and_is_asked_again(
    provided: Provided, fault: str
) -> None:
    getattr(provided.double, fault)(after_chunks=3, times=2)
    provided.double.reply("One two three four five six seven.", times=None)
    turn = turn_of(provided.open())
    assert (turn.text, turn.retries) == ("One two three four five six seven.", 2)


@pytest.mark.parametrize("fault", ["disconnect", "truncate", "corrupt"])
def test_a_stream_that_always_breaks_is_the_providers_failure(
    provided: Provided, fault: str
) -> None:
    getattr(provided.double, fault)(after_chunks=3, times=None)
    with pytest.raises(ProviderError, match="4 attempts"):
        turn_of(provided.open())


def test_a_stream_that_stalls_is_left_and_asked_again(provided: Provided) -> None:
    provided.double.stall(after_chunks=2, seconds=PATIENCE_SEC).reply("Here.", times=None)
    turn = turn_of(provided.open(stall_sec=3))
    assert (turn.text, turn.retries) == ("Here.", 1)
    assert turn.backoff_sec >= 3, "the silence was the provider's, not the agent's"


def test_a_reply_past_the_deadline_is_the_agents_time_and_not_asked_again(
    provided: Provided,
) -> None:
    provided.double.pace(200).reply("word " * 2000, times=None)
    with pytest.raises(TimeoutError):
        turn_of(provided.open(), timeout_sec=1)
    assert len(provided.double.requests) == 1


def test_a_slow_stream_that_goes_on_is_waited_for(provided: Provided) -> None:
    provided.double.pace(100).reply("It takes its time, word by word, and comes to an end.")
    turn = turn_of(provided.open(stall_sec=5))
    assert (turn.text[-10:], turn.retries) == ("to an end.", 0)


@pytest.mark.parametrize("host", ["", "nowhere.invalid"])
def test_an_address_where_nobody_listens_ends_the_run_at_once_and_names_its_variable(
    provided: Provided, host: str
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://{host or '127.0.0.1'}:{unused.getsockname()[1]}"
        settings = replace(settings_for(provided.api, url), first_wait_sec=PATIENCE_SEC)
        with pytest.raises(ProviderRefused, match="nothing answers at the address") as raised:
            turn_of(open_model(f"{provided.api}:m", settings))
    assert f"check {provided.api.upper()}_BASE_URL" in raised.value.hint
    assert url not in str(raised.value)


def test_nobody_listening_where_somebody_answered_before_is_one_cells_failure(
    provided: Provided,
) -> None:
    provided.double.reply("Hello.")
    assert turn_of(provided.open()).text == "Hello."
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        gone = replace(settings_for(provided.api, url), slots=provided.settings.slots)
        with pytest.raises(ProviderError, match=r"the connection failed.*4 attempts") as raised:
            turn_of(open_model(f"{provided.api}:m", gone))
    assert not isinstance(raised.value, ProviderRefused)
    assert url not in str(raised.value)


# --- failures that every cell would meet --------------------------------------------------------


EVERY_CELL = [
    (401, None, f"Incorrect key: {KEY}", "the API key is not accepted (401)", "_API_KEY"),
    (403, None, "no", "the API key is not accepted (403)", "_API_KEY"),
    (404, None, "model: no-such", "no-such", "is the model's name right"),
    (402, None, "pay", "out of money", "top it up"),
    (400, None, "Your credit balance is too low", "out of money", "top it up"),
    (429, "insufficient_quota", "quota", "out of money", "top it up"),
    (400, None, "this model does not support tools", "tools", "--agent json_actions"),
    (400, None, "max_tokens: 16384 > 4096", "16384 > 4096", "--output-tokens"),
]


@pytest.mark.parametrize("case", EVERY_CELL)
def test_what_every_cell_would_meet_is_said_once_with_a_hint_and_no_key(
    provided: Provided, case: tuple[int, str | None, str, str, str]
) -> None:
    status, code, message, says, hint = case
    provided.double.fail(status, times=None, message=message, code=code)
    with pytest.raises(ProviderRefused) as raised:
        turn_of(provided.open())
    assert says in raised.value.what
    assert hint in raised.value.hint
    assert KEY not in str(raised.value)
    assert len(provided.double.requests) == 1


NO_TOOLS = [
    "registry.example/library/gemma:2b does not support tools",
    "No endpoints found that support tool use. Try disabling tools.",
    "`tool calling` is not supported with this model",
    "Function calling is not enabled for this model",
    "this model does not support Function Calling",
    '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    "tools param requires --jinja flag",
]


@pytest.mark.parametrize("message", NO_TOOLS)
def test_every_way_to_say_that_a_model_takes_no_tools_leads_to_an_agent_that_needs_none(
    llmock: LLMock, message: str
) -> None:
    llmock.fail(400, times=None, message=message)
    with pytest.raises(ProviderRefused) as raised:
        turn_of(open_model("openai:m", settings_for("openai", llmock.base_url("openai"))))
    assert "--agent json_actions" in raised.value.hint


def test_a_request_that_the_api_rejects_is_one_cells_failure(provided: Provided) -> None:
    message = f"tools.3.custom.input_schema: invalid, says {provided.double.url} of {KEY}"
    provided.double.fail(400, times=None, message=message)
    with pytest.raises(ProviderError, match=r"tools\.3\.custom\.input_schema: invalid") as raised:
        turn_of(provided.open())
    assert not isinstance(raised.value, ProviderRefused)
    assert len(provided.double.requests) == 1
    address = provided.double.url.partition("//")[2]
    assert KEY not in str(raised.value)
    assert address not in str(raised.value)


@pytest.mark.parametrize("status", [400, 404, 500])
def test_a_key_that_is_echoed_as_an_errors_type_is_hidden(provided: Provided, status: int) -> None:
    provided.double.fail(status, times=None, code=KEY, message="no", retry_after=SOON_SEC)
    with pytest.raises(ProviderError) as raised:
        turn_of(provided.open())
    assert KEY not in str(raised.value)
    assert str(status) in str(raised.value)


def test_a_key_that_is_echoed_as_a_finish_reason_is_hidden(llmock: LLMock) -> None:
    llmock.add(Reply(text="Hm.", finish_reason=KEY))
    with pytest.raises(ProviderError, match="unknown finish reason") as raised:
        turn_of(open_model("openai:m", settings_for("openai", llmock.base_url("openai"))))
    assert KEY not in str(raised.value)


def test_a_key_in_a_models_own_text_and_calls_is_hidden_before_anything_is_written(
    provided: Provided, hold: Hold
) -> None:
    provided.double.add(Reply(text=f"I am {KEY}.", tool_calls=(shell(f"echo {KEY}"),)))
    provided.double.reply(f"It is {KEY.upper()}, and sk-learn is a library.")
    held = hold(provided.open())
    assert held.outcome.kind == "answered"
    assert KEY not in repr(held.events) and KEY.upper() not in repr(held.events)
    (call,) = held.only(CallEvent)
    assert call.arguments == {"command": "echo [hidden]"}
    assert held.only(Prose)[-1].text == "It is [hidden], and sk-learn is a library."


@pytest.mark.parametrize("api", ["anthropic", "openai"])
@pytest.mark.parametrize("status", [200, 301, 400, 404, 405])
def test_an_address_that_is_no_api_is_said_to_be_none(api: str, status: int) -> None:
    refused = pytest.raises(ProviderRefused, match=r"is not the .* API")
    with web_page(status) as url, refused as raised:
        turn_of(open_model(f"{api}:m", settings_for(api, url)))
    assert "_BASE_URL" in raised.value.hint
    assert url not in str(raised.value)


@pytest.mark.parametrize(("api", "name"), [("anthropic", "claude-x"), ("openai", "openai:gpt-5")])
def test_without_a_key_no_model_is_opened(api: str, name: str) -> None:
    with pytest.raises(FairtrialError, match=f"{api.upper()}_API_KEY is not set"):
        open_model(name)


def test_a_server_of_ones_own_needs_no_key(provided: Provided) -> None:
    url = provided.double.base_url(provided.api)
    provided.double.reply("Hello.")
    settings = settings_for(provided.api, url, key="")
    assert turn_of(open_model(f"{provided.api}:m", settings)).text == "Hello."


def test_without_the_extra_the_hint_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "find_spec", lambda _: None)
    with pytest.raises(FairtrialError) as raised:
        open_model("openai:gpt-5")
    assert raised.value.hint == "install it with `pip install 'fairtrial[openai]'`"


# --- how a turn ends ----------------------------------------------------------------------------


def test_an_answer_cut_by_its_limit_is_kept_and_the_step_is_not_done(
    provided: Provided, hold: Hold
) -> None:
    provided.double.add(Reply(text="It begins", finish_reason="length"))
    provided.double.reply("Second answer.")
    held = hold(provided.open(), "One?", "Two?")
    assert held.outcome.kind == "answered"
    assert [end.stop for end in held.only(StepEnd)] == ["max_tokens", "end"]
    assert [prose.text for prose in held.only(Prose)] == ["It begins", "Second answer."]


def test_a_refusal_is_the_arms_result(provided: Provided, hold: Hold) -> None:
    provided.double.add(Reply(text="I will not.", finish_reason="content_filter"))
    held = hold(provided.open())
    assert (held.outcome.kind, held.outcome.is_measurement) == ("refused", True)


def test_a_conversation_too_long_for_the_model_is_the_arms_result(
    provided: Provided, hold: Hold
) -> None:
    message = "prompt is too long: 200001 tokens > 200000 maximum"
    provided.double.fail(400, code="context_length_exceeded", message=message)
    held = hold(provided.open())
    assert (held.outcome.kind, held.outcome.is_measurement) == ("out_of_context", True)


def test_a_call_whose_arguments_are_broken_is_told_so_and_can_be_made_again(
    provided: Provided, hold: Hold
) -> None:
    provided.double.add(Reply(tool_calls=(shell("echo never"),)))
    provided.double.break_tool_call()
    provided.double.add(Reply(tool_calls=(shell("echo now"),)))
    provided.double.reply("It says now.")
    held = hold(provided.open())
    assert [result.is_error for result in held.only(ResultEvent)] == [True, False]
    assert "the arguments cannot be read" in held.only(ResultEvent)[0].text
    assert held.outcome.kind == "answered"


def test_a_tool_that_was_never_offered_is_answered_with_an_error(
    provided: Provided, hold: Hold
) -> None:
    provided.double.break_tool_call("unknown_tool")
    provided.double.reply("Sorry.")
    held = hold(provided.open())
    assert [result.is_error for result in held.only(ResultEvent)] == [True]
    assert held.outcome.kind == "answered"


def test_text_that_utf8_cannot_hold_is_sent_all_the_same(provided: Provided) -> None:
    provided.double.reply("Yes.")
    assert turn_of(provided.open(), "half a pair: \ud83d").text == "Yes."
    assert "half a pair: ?" in str(provided.double.last_request.body)


# --- what only one of the APIs has, event by event ----------------------------------------------


def claude_at(url: str, **changes: Any) -> Model:
    return open_model("claude-test", replace(settings_for("anthropic", url), **changes))


def message(*blocks: list[dict[str, Any]], stop: str | None, **usage: Any) -> list[dict[str, Any]]:
    """The events of a reply. Each block is its start, and then its deltas."""
    counted = {"input_tokens": 7, "output_tokens": 1}
    start = {"id": "m", "role": "assistant", "type": "message", "model": "claude-test-2026"}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**start, "content": [], "usage": counted}}
    ]
    for index, (first, *deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": first})
        for delta in deltas:
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": stop, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ended, "usage": {"output_tokens": 9, **usage}})
    return [*events, {"type": "message_stop"}]


def text(*parts: str) -> list[dict[str, Any]]:
    deltas = [{"type": "text_delta", "text": part} for part in parts]
    return [{"type": "text", "text": ""}, *deltas]


def thought(said: str, signature: str) -> list[dict[str, Any]]:
    return [
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": said},
        {"type": "signature_delta", "signature": signature},
    ]


def use(command: str) -> list[dict[str, Any]]:
    written = json.dumps({"command": command})
    return [
        {"type": "tool_use", "id": "t1", "name": "shell", "input": {}},
        {"type": "input_json_delta", "partial_json": written[:9]},
        {"type": "input_json_delta", "partial_json": written[9:]},
    ]


def test_thinking_goes_back_with_its_signature_before_the_results(hold: Hold) -> None:
    events = Events(
        message(thought("Look first.", "sig"), use("echo hi"), stop="tool_use"),
        message(text("It says ", "hi."), stop="end_turn"),
    )
    with streaming(events) as url:
        held = hold(claude_at(url))
    asked, told = events.requests[1]["messages"][-2:]
    assert asked["role"] == "assistant"
    assert asked["content"] == [
        {"type": "thinking", "thinking": "Look first.", "signature": "sig"},
        {"type": "tool_use", "id": "t1", "name": "shell", "input": {"command": "echo hi"}},
    ]
    assert told["content"][0]["tool_use_id"] == "t1"
    assert [event.text for event in held.only(Thinking)] == ["Look first."]
    assert [event.text for event in held.only(Prose)] == ["It says hi."]
    assert {event.served_by for event in held.only(Usage)} == {"claude-test-2026"}


def test_a_paused_turn_goes_on_where_it_paused(hold: Hold) -> None:
    events = Events(
        message(text("First half,"), stop="pause_turn"),
        message(text("second half."), stop="end_turn"),
    )
    with streaming(events) as url:
        held = hold(claude_at(url))
    last = events.requests[1]["messages"][-1]
    assert last == {"role": "assistant", "content": [{"type": "text", "text": "First half,"}]}
    assert [event.text for event in held.only(Prose)] == ["First half,", "second half."]
    assert [event.stop for event in held.only(StepEnd)] == ["end"]


def test_a_full_context_window_ends_the_cell_with_what_was_said(hold: Hold) -> None:
    full = message(text("As far as"), stop="model_context_window_exceeded")
    with streaming(Events(full)) as url:
        held = hold(claude_at(url))
    assert held.outcome.kind == "out_of_context"
    assert [event.text for event in held.only(Prose)] == ["As far as"]


def test_a_stop_reason_nobody_knows_is_not_taken_for_an_end(hold: Hold) -> None:
    unknown = message(text("So"), stop="compaction_of_a_later_version")
    with streaming(Events(unknown)) as url, pytest.raises(ProviderError, match="compaction_of"):
        hold(claude_at(url))


def test_calls_cut_by_the_limit_are_not_made(hold: Hold) -> None:
    cut = use("rm -rf everything")[:2]
    events = Events(
        message(cut, stop="max_tokens"),
        message(use("")[:1], stop="max_tokens"),
        message(text("Done."), stop="end_turn"),
    )
    with streaming(events) as url:
        held = hold(claude_at(url))
    first, second = held.only(ResultEvent)
    assert "cannot be read" in first.text
    assert "cut off by the limit" in second.text
    assert (first.is_error, second.is_error) == (True, True)


def test_thousands_of_levels_in_the_arguments_are_refused_not_parsed(hold: Hold) -> None:
    deep = '{"command": ' + "[" * 3000 + "]" * 3000 + "}"
    start = {"type": "tool_use", "id": "t1", "name": "shell", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": deep}
    events = Events(
        message([start, delta], stop="tool_use"), message(text("Well."), stop="end_turn")
    )
    with streaming(events) as url:
        held = hold(claude_at(url))
    (result,) = held.only(ResultEvent)
    assert "nested 3001 levels deep, and 100 are taken" in result.text
    assert held.outcome.kind == "answered"


def test_arguments_that_come_whole_are_held_to_the_same_depth(hold: Hold) -> None:
    deep: Any = "x"
    for _ in range(600):
        deep = [deep]
    whole = {"type": "tool_use", "id": "t1", "name": "shell", "input": {"command": deep}}
    events = Events(message([whole], stop="tool_use"), message(text("Well."), stop="end_turn"))
    with streaming(events) as url:
        held = hold(claude_at(url))
    (result,) = held.only(ResultEvent)
    assert "nested 601 levels deep, and 100 are taken" in result.text
    assert held.outcome.kind == "answered"


def sse(value: str) -> bytes:
    """A chunk as it goes over the wire, under a name that both SDKs read on at."""
    return f"event: message_delta\ndata: {value}\n\n".encode()


def delta(value: str) -> bytes:
    return sse('{"choices": [{"index": 0, "delta": ' + value + "}]}")


ODD_CHUNKS = {
    "3,000 levels": sse("[" * 3000 + "]" * 3000),
    "no UTF-8": b"event: message_delta\ndata: \xff\xfe\n\n",
    "a number": sse("5"),
    "nothing": sse("null"),
    "a list": sse("[]"),
    "no choices but a number": sse('{"type": "message_delta", "choices": 5}'),
    "no choice": sse('{"type": "message_delta", "choices": [null]}'),
    "an event without its parts": sse('{"type": "message_start"}'),
    "a delta that is text": delta('"x"'),
    "a call that is a number": delta('{"tool_calls": [5]}'),
    "arguments that are no text": delta(
        '{"tool_calls": [{"index": 0, "function": {"arguments": {"a": 1}}}]}'
    ),
    "a reason that is a list": sse(
        '{"type": "message_delta", "delta": {"stop_reason": []}, "choices":'
        ' [{"index": 0, "delta": {}, "finish_reason": ["stop"]}]}'
    ),
}


@pytest.mark.parametrize("api", ["anthropic", "openai"])
@pytest.mark.parametrize("odd", ODD_CHUNKS.values(), ids=ODD_CHUNKS)
def test_a_stream_of_another_form_is_the_providers_failure_and_no_bug_of_ours(
    api: str, odd: bytes
) -> None:
    failing = pytest.raises(ProviderError, match="4 attempts")
    with streaming(Events(*[[odd]] * 4)) as url, failing as raised:
        turn_of(open_model(f"{api}:m", settings_for(api, url)))
    assert len(str(raised.value)) < 400


def test_a_call_without_a_name_is_no_call() -> None:
    nameless = message([{"type": "tool_use"}], stop="tool_use")
    with streaming(Events(nameless, message(text("Whole."), stop="end_turn"))) as url:
        turn = turn_of(claude_at(url))
    assert (turn.text, turn.retries) == ("Whole.", 1)


def test_a_model_that_takes_another_kind_of_thinking_is_asked_for_that() -> None:
    rejected = {"type": "invalid_request_error", "message": "thinking.type.enabled: unsupported"}
    events = Events(
        [{"status": 400, "error": rejected}],
        [{"status": 400, "error": rejected}],
        message(text("Without."), stop="end_turn"),
    )
    with streaming(events) as url:
        turn = turn_of(claude_at(url))
    wishes = [request.get("thinking") for request in events.requests]
    assert wishes == [{"type": "enabled", "budget_tokens": 8192}, {"type": "adaptive"}, None]
    assert turn.notes == (
        "thinking 'adaptive': the model does not take 'enabled'",
        "thinking 'none': the model does not take 'adaptive'",
    )


def test_without_thinking_none_is_asked_for() -> None:
    events = Events(message(text("Hi."), stop="end_turn"))
    with streaming(events) as url:
        turn_of(claude_at(url, thinking_tokens=0, output_tokens=100))
    (request,) = events.requests
    assert "thinking" not in request
    assert request["max_tokens"] == 100


def test_an_error_inside_a_stream_is_told_by_its_type_not_by_its_status() -> None:
    whole = message(text("Whole."), stop="end_turn")
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    events = Events([*whole[:3], error], whole)
    with streaming(events) as url:
        turn = turn_of(claude_at(url))
    assert (turn.text, turn.retries) == ("Whole.", 1)


def test_the_stable_beginning_is_marked_for_the_cache_and_the_counts_are_kept_apart(
    hold: Hold,
) -> None:
    cached = {"cache_read_input_tokens": 500, "cache_creation_input_tokens": 40}
    events = Events(
        message(use("echo 1"), stop="tool_use"),
        message(use("echo 2"), stop="tool_use"),
        message(text("Both."), stop="end_turn", **cached),
    )
    with streaming(events) as url:
        held = hold(claude_at(url))
    marks = str(events.requests[-1]).count("cache_control")
    assert marks == 3, "the API takes four"
    assert "cache_control" in events.requests[-1]["system"][-1]
    assert "cache_control" in events.requests[-1]["messages"][-1]["content"][-1]
    assert "cache_control" in events.requests[-1]["messages"][-3]["content"][-1]
    last = held.only(Usage)[-1]
    assert (last.input_tokens, last.cache_read_tokens, last.cache_write_tokens) == (47, 500, 40)
    assert events.requests[0]["system"] == events.requests[-1]["system"]
    assert events.requests[0]["tools"] == events.requests[-1]["tools"]


def test_a_stream_with_a_part_missing_is_asked_again() -> None:
    whole = message(text("Whole."), stop="end_turn")
    without_start = [event for event in whole if event["type"] != "content_block_start"]
    with streaming(Events(without_start, whole)) as url:
        turn = turn_of(claude_at(url))
    assert (turn.text, turn.retries) == ("Whole.", 1)


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice], **more}


def chat_at(url: str) -> Model:
    return open_model("openai:test", settings_for("openai", url))


def test_reasoning_and_cached_tokens_of_a_chat_are_kept_apart() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 30,
        "total_tokens": 130,
        "prompt_tokens_details": {"cached_tokens": 80},
        "completion_tokens_details": {"reasoning_tokens": 20},
    }
    events = Events(
        [
            chunk({"reasoning_content": "Hm."}),
            chunk({"content": "Yes."}),
            chunk({}, "stop"),
            {**chunk({}), "choices": [], "usage": usage},
        ]
    )
    with streaming(events) as url:
        turn = turn_of(chat_at(url))
    assert (turn.text, turn.thinking) == ("Yes.", "Hm.")
    assert (turn.input_tokens, turn.cache_read_tokens) == (20, 80)
    assert (turn.output_tokens, turn.thinking_tokens, turn.estimated) == (30, 20, False)


def test_a_server_that_counts_no_tokens_is_estimated_and_says_so() -> None:
    with streaming(Events([chunk({"content": "Yes, of course."}, "stop")])) as url:
        turn = turn_of(chat_at(url), "A question of some length, so that it counts.")
    assert turn.estimated
    assert turn.input_tokens > 10
    assert turn.output_tokens == 3


def test_calls_without_numbers_are_told_apart_by_their_ids(hold: Hold) -> None:
    def call(call_id: str, command: str) -> dict[str, Any]:
        function = {"name": "shell", "arguments": json.dumps({"command": command})}
        return {"id": call_id, "type": "function", "function": function}

    events = Events(
        [chunk({"tool_calls": [call("a", "echo 1"), call("b", "echo 2")]}, "stop")],
        [chunk({"content": "Both."}, "stop")],
    )
    with streaming(events) as url:
        held = hold(chat_at(url))
    assert [event.text for event in held.only(ResultEvent)] == ["1\n", "2\n"]


def test_a_refusal_of_a_chat_is_a_refusal(hold: Hold) -> None:
    with streaming(Events([chunk({"refusal": "I cannot."}, "stop")])) as url:
        held = hold(chat_at(url))
    assert held.outcome.kind == "refused"
    assert [event.text for event in held.only(Prose)] == ["I cannot."]


# --- new tokens: one conversation, as each API counts it ------------------------------------------

GIVEN, WROTE, THOUGHT = (5_000, 9_000, 12_000), 400, 300
"""What three turns were given; what each wrote, and its thinking, which a chat is not given again.
"""
NEW = 5_000 + (9_000 - 5_000 - 100) + (12_000 - 9_000 - 100) + 3 * WROTE


def claude_turns(served: tuple[int, ...]) -> list[list[dict[str, Any]]]:
    """As the Messages API counts: what was read and written stands beside the input. Thinking is
    given back, so that each request is longer by it."""
    streams = []
    for place, (given, read) in enumerate(zip(GIVEN, served, strict=True)):
        whole = given + THOUGHT * place
        usage = {
            "input_tokens": 6,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": whole - read - 6,
            "output_tokens": WROTE,
        }
        streams.append(message(text("Well."), stop="end_turn", **usage))
    return streams


def chat_turns(served: tuple[int, ...], *, counts_thinking: bool) -> list[list[dict[str, Any]]]:
    """As chat completions count: what was read is part of the prompt."""
    streams = []
    for given, read in zip(GIVEN, served, strict=True):
        usage: dict[str, Any] = {
            "prompt_tokens": given,
            "completion_tokens": WROTE,
            "total_tokens": given + WROTE,
            "prompt_tokens_details": {"cached_tokens": read},
        }
        if counts_thinking:
            usage["completion_tokens_details"] = {"reasoning_tokens": THOUGHT}
        # llama.cpp says it twice.
        timings = {"cache_n": read, "prompt_n": given - read, "predicted_n": WROTE}
        streams.append(
            [
                chunk({"reasoning_content": "h" * THOUGHT}),
                chunk({"content": "w" * (WROTE - THOUGHT)}, "stop"),
                {**chunk({}), "choices": [], "usage": usage, "timings": timings},
            ]
        )
    return streams


def counted(open_at: Callable[[str], Model], streams: list[list[dict[str, Any]]]) -> int:
    events, tokens = Events(*streams), NewTokens()
    with streaming(events) as url:
        for _ in GIVEN:
            tokens.add(turn_of(open_at(url)))
    return tokens.total


@pytest.mark.parametrize("served", [(0, 0, 0), (0, 4_990, 8_990), (0, 2_000, 2_000), (0, 4_990, 0)])
def test_a_conversation_is_one_count_of_new_tokens_by_every_apis_usage(
    served: tuple[int, ...],
) -> None:
    assert counted(claude_at, claude_turns(served)) == NEW
    assert counted(chat_at, chat_turns(served, counts_thinking=True)) == NEW
    assert counted(chat_at, chat_turns(served, counts_thinking=False)) == NEW


def test_the_react_agents_history_holds_the_thinking_so_that_nothing_is_dropped() -> None:
    with streaming(Events(chat_turns((0, 0, 0), counts_thinking=True)[0])) as url:
        turn = turn_of(React(chat_at(url)))
    assert (turn.thinking_tokens, turn.dropped_tokens) == (THOUGHT, None)
