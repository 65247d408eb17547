"""Conversations of tasks and queries with a provider's double, and what they left behind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Reply, ToolCall


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def claude(llmock: LLMock, no_keys: None, monkeypatch: pytest.MonkeyPatch) -> LLMock:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-very-secret-0123456789")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", llmock.base_url("anthropic"))
    return llmock


def asks(double: LLMock, *calls: tuple[str, dict[str, Any]]) -> None:
    double.add(Reply(tool_calls=tuple(ToolCall(name, arguments) for name, arguments in calls)))


def of(kind: type[Any], events: Iterable[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]
