"""A language model that reads answers, as a server on this machine: by a rule that a test gives."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runner.agents.models.model_settings import Endpoint, ModelSettings
from runner.agents.spending import JudgeBudget
from runner.catalog.commit_lines import CommitLines
from runner.records import Judging, Price, Verdict
from runner.scoring.judges.judge_settings import JudgeSettings
from runner.scoring.judges.model import ModelJudge
from tests.models.doubles import Quiet, answered_by
from tests.scoring.material import RUBRIC, SCENARIO, TREE, answer

KEY = "sk-very-secret-0123456789"
INPUT_TOKENS, OUTPUT_TOKENS = 1000, 100
PRICE = Price(input=3.0, cache_write=3.75, cache_read=0.3, output=15.0)
"""Dollars for a million: a reply of the double costs $0.0045."""
MUST_FIND = [step.must_cite for step in SCENARIO.steps]
SOURCE = CommitLines(lambda: TREE)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A request, as the server got it."""

    body: dict[str, Any]
    system: str
    text: str

    @property
    def facts(self) -> dict[str, dict[str, Any]]:
        """Id -> the fact and its source."""
        listed = json.loads(block(self.text, "FACTS"))
        return {item["id"]: item for item in listed}

    @property
    def question(self) -> str:
        return block(self.text, "QUESTION")

    @property
    def answer(self) -> str:
        return block(self.text, "ANSWER")


def block(text: str, name: str) -> str:
    """What stands between the lines that begin and end a block, as the prompt has it."""
    found = re.search(rf"^===== {name} (\w+) begins =====\n", text, re.MULTILINE)
    assert found, text
    end = text.index(f"\n===== {name} {found[1]} ends =====", found.end() - 1)
    return text[found.end() : end]


@dataclass(frozen=True, kw_only=True)
class Late:
    """What a rule gives whose reply comes later than others."""

    said: Any
    sec: float


Rule = Callable[[Seen], Any]
"""The arguments of the forced call; a text is sent as it is, as prose."""


@dataclass(kw_only=True)
class Reader:
    rule: Rule
    url: str = ""
    seen: list[Seen] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def judge(
        self,
        api: str = "anthropic",
        model: str = "reader",
        *,
        replies: Path | None = None,
        left_usd: float | None = None,
        reply_sec: float = 600.0,
        **judging: Any,
    ) -> ModelJudge:
        endpoint = Endpoint(key=KEY, url=self.url + ("/v1" if api == "openai" else ""))
        models: dict[str, Any] = {"first_wait_sec": 0.01, api: endpoint}
        name = f"{api}:{model}"
        settings = JudgeSettings(
            judging=Judging(**{"judges": (f"model:{name}",), "duplicates": 1, **judging}),
            models=ModelSettings(**models),
            replies=replies,
            reply_sec=reply_sec,
            purse=JudgeBudget(priced={name: PRICE}, left_usd=left_usd),
        )
        return ModelJudge(name, settings)

    def is_asked_by_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whoever opens a model of Anthropic's in this process reaches this reader."""
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", self.url)

    def take(self, path: str, body: dict[str, Any]) -> bytes:
        if path.endswith("/messages"):
            seen = Seen(
                body=body,
                system=body["system"][0]["text"],
                text=body["messages"][-1]["content"][0]["text"],
            )
            stream: Callable[[Any], Iterator[bytes]] = anthropic_stream
        else:
            system, user = body["messages"]
            seen = Seen(body=body, system=system["content"], text=user["content"])
            stream = openai_stream
        with self.lock:
            self.seen.append(seen)
            said = self.rule(seen)
        if isinstance(said, Late):
            time.sleep(said.sec)
            said = said.said
        return b"".join(stream(said))


@contextmanager
def reading(rule: Rule) -> Iterator[Reader]:
    reader = Reader(rule=rule)

    def take(request: Quiet) -> None:
        request.answer(200, "text/event-stream", reader.take(request.path, request.body()))

    with answered_by(take) as url:
        reader.url = url
        yield reader


def anthropic_stream(said: Any, *, tool: str = "report_reading") -> Iterator[bytes]:
    usage = {"input_tokens": INPUT_TOKENS, "output_tokens": 1}
    start: dict[str, Any] = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "reader",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    if isinstance(said, str):
        opened: dict[str, Any] = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": said}
    else:
        opened = {"type": "tool_use", "id": "t", "name": tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(said)}
    ended = {"stop_reason": "end_turn" if isinstance(said, str) else "tool_use"}
    for event in (
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": opened},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": OUTPUT_TOKENS}},
        {"type": "message_stop"},
    ):
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def openai_stream(said: Any) -> Iterator[bytes]:
    if isinstance(said, str):
        delta: dict[str, Any] = {"content": said}
        reason = "stop"
    else:
        function = {"name": "report_reading", "arguments": json.dumps(said)}
        delta = {"tool_calls": [{"index": 0, "id": "t", "type": "function", "function": function}]}
        reason = "tool_calls"
    usage = {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "reader"}
    for more in (
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
        {"choices": [], "usage": {**usage, "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS}},
    ):
        yield f"data: {json.dumps({**chunk, **more})}\n\n".encode()
    yield b"data: [DONE]\n\n"


# --- rules --------------------------------------------------------------------------------------

SAID = {
    "deliver keeps a message it cannot store": (
        "appends it to the `failed` list when that does not work",
        "appends the message to the `failed` list when the store does not take it",
        "keeps the message in its `failed` list",
    ),
    "retry_failed delivers what was kept": (
        "delivers everything that was kept once more",
        "`retry_failed` delivers it again later",
    ),
    "the base store raises": ("raises until a subclass implements it",),
    "only OSError is caught": ("Only `OSError` is caught",),
    "the list is emptied before the retry, so that a second failure is kept once": (
        "The list is emptied before the retry starts",
        "the list is emptied before the retry starts",
    ),
    "another error is not caught and leaves deliver": (
        "any other error escapes from `deliver`",
        "Any other error than `OSError` escapes from `deliver`",
        "Another error would propagate out of `deliver`",
    ),
}
"""Fact -> how the answers of the material say it."""


def read_honestly(seen: Seen) -> dict[str, Any]:
    """As a careful reader would: what the answer says, where it says it."""
    facts = {}
    for name, fact in seen.facts.items():
        found = [quote for quote in SAID[fact["fact"]] if quote in seen.answer]
        facts[name] = said(found[0]) if found else said("", "absent")
    return {"facts": facts, "false_claims": []}


def said(quote: str, verdict: str = "stated") -> dict[str, str]:
    return {"quote": quote, "verdict": verdict}


def all_facts(quote: str, verdict: str = "stated") -> Rule:
    """The same of every fact, whatever the answer says."""

    def rule(seen: Seen) -> dict[str, Any]:
        facts = {name: said(quote, verdict) for name in seen.facts}
        return {"facts": facts, "false_claims": []}

    return rule


def verdict_of(judge: ModelJudge, texts: Sequence[str]) -> Verdict:
    return judge.judge(RUBRIC, answer(*texts).steps, MUST_FIND, SOURCE)
