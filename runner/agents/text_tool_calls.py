"""Agents whose calls are written in text, for models whose native tool calls fail.

Each is a model around the model: it shows the conversation as text, and reads the reply as a turn
with calls. The conversation, its limits and its record are `tool_calling`'s own.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from runner.protocols import Call, Message, Model, Stop, ToolSpec, Turn
from runner.records import canonical_json
from runner.support.errors import ProviderRefused


@runtime_checkable
class ConstrainedModel(Protocol):
    """A model whose reply can be held to a JSON schema."""

    async def constrained_turn(
        self,
        system: str,
        conversation: Sequence[Message],
        schema: dict[str, Any],
        *,
        timeout_sec: float,
    ) -> Turn:
        """Raises ProviderError if the provider fails, TimeoutError past the deadline."""


@runtime_checkable
class RecordedModel(Protocol):
    """A model whose turns have been read, by the agent that it was recorded with."""

    recorded_system: str
    """What that agent was told, without a server's instructions."""


@dataclass(frozen=True, kw_only=True)
class ParsedReply:
    """What a reply says, once it has been read."""

    thinking: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    """(tool, arguments)."""
    answer: str = ""
    problem: str = ""
    """What is wrong with its form, as the model is told; empty if nothing is."""


class TextToolCalls(ABC):
    """protocols.Model, around another one."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.name = model.name
        self.identity = model.identity
        self.language_model = model.language_model
        self._ids = 0

    async def turn(
        self,
        system: str,
        conversation: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        timeout_sec: float,
    ) -> Turn:
        """The model's reply as a turn with calls; `malformed` if it can be read as none.

        Raises ProviderError if the provider fails, TimeoutError past the deadline.
        """
        reply = await self.ask(system, conversation, tools, timeout_sec)
        if reply.stop not in ("end", "tool_use", "max_tokens"):
            return reply
        return self._as_turn(reply, self.read(reply.text))

    def _as_turn(self, reply: Turn, reading: ParsedReply) -> Turn:
        thinking = "\n".join(filter(None, [reply.thinking, reading.thinking]))
        if reading.problem:
            problem = reading.problem
            if reply.stop == "max_tokens":
                problem = f"it was cut off by the limit of output tokens; {problem}"
            return replace(reply, stop="malformed", calls=(), problem=problem)
        calls = tuple(self._call(tool, arguments) for tool, arguments in reading.calls)
        stop: Stop = "tool_use" if calls else "end"
        return replace(reply, text=reading.answer, thinking=thinking, calls=calls, stop=stop)

    def _call(self, tool: str, arguments: dict[str, Any]) -> Call:
        self._ids += 1
        return Call(id=f"call_{self._ids}", tool=tool, arguments=arguments)

    def write_artifacts(self, folder: Path) -> None:
        self.model.write_artifacts(folder)

    async def close(self) -> None:
        await self.model.close()

    @abstractmethod
    async def ask(
        self,
        system: str,
        conversation: Sequence[Message],
        tools: Sequence[ToolSpec],
        timeout_sec: float,
    ) -> Turn:
        """The model's reply, as it wrote it."""

    @abstractmethod
    def read(self, text: str) -> ParsedReply:
        """What a reply says."""


def listed(tools: Sequence[ToolSpec]) -> str:
    """The tools as a prompt shows them: a line of JSON each."""
    lines = []
    for tool in tools:
        shown = {
            "name": tool.name,
            "description": tool.description,
            "arguments": tool.input_schema,
        }
        lines.append(canonical_json(shown))
    return "\n".join(lines)


def unfenced(text: str) -> str:
    """Models put JSON into a code block out of habit: ```json […] ```"""
    found = re.fullmatch(r"```\w*\n(.*?)\n?```", text.strip(), re.S)
    return found.group(1) if found else text


def constrained(model: Model) -> ConstrainedModel:
    """Raises ProviderRefused for a model that cannot be held to a schema."""
    if isinstance(model, ConstrainedModel):
        return model
    raise ProviderRefused(
        f"{model.name} cannot be held to a schema, which json_actions needs",
        hint="choose another --agent, or a language model",
    )
