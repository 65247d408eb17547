"""The offline navigator at work on tools that a test makes up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from runner.agents.models.offline.navigator import Offline
from runner.protocols import Call, Message, Result, ToolMessage, ToolSpec, UserMessage

TEXT: dict[str, Any] = {"type": "string"}


def tool(
    name: str, description: str, required: tuple[str, ...] = (), **properties: dict[str, Any]
) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec(name=name, description=description, input_schema=schema, origin="server")


Respond = Callable[[Call], Result]


@dataclass(frozen=True, kw_only=True)
class Looked:
    """A step of the navigator: what it called, and what it answered."""

    calls: tuple[Call, ...]
    answer: str

    def commands(self, word: str = "") -> list[str]:
        """Of the shell, those with a word in them."""
        commands = [call.arguments.get("command", "") for call in self.calls]
        return [command for command in commands if command and word in command]

    def of(self, name: str) -> list[dict[str, Any]]:
        """Arguments of the calls of one tool."""
        return [call.arguments for call in self.calls if call.tool == name]

    @property
    def on_server(self) -> list[str]:
        """The server's tools that were called."""
        return [call.tool for call in self.calls if call.tool != "shell"]


def look(prompt: str, tools: tuple[ToolSpec, ...], server: Respond) -> Looked:
    """One step over a repository whose shell finds `App` and `dispatch`."""
    (looked,) = look_on([prompt], tools, server)
    return looked


def look_on(prompts: list[str], tools: tuple[ToolSpec, ...], server: Respond) -> list[Looked]:
    """The steps of one conversation."""

    async def steps() -> list[Looked]:
        model = Offline()
        return [await step(model, prompt) for prompt in prompts]

    async def step(model: Offline, prompt: str) -> Looked:
        conversation: list[Message] = [UserMessage(text=prompt)]
        made: list[Call] = []
        while True:
            turn = await model.turn("", conversation, tools, timeout_sec=1)
            if not turn.calls:
                return Looked(calls=tuple(made), answer=turn.text)
            made += turn.calls
            results = [found(call) if call.tool == "shell" else server(call) for call in turn.calls]
            conversation += [turn, ToolMessage(results=tuple(results))]

    return asyncio.run(steps())


def says(call: Call, text: str, *, is_error: bool = False) -> Result:
    return Result(call_id=call.id, text=text, is_error=is_error)


def found(call: Call) -> Result:
    return says(call, "app.py:1:class App:\napp.py:2:    def dispatch(self):")


def fails(call: Call) -> Result:
    return says(call, "bad.py:9: def dispatch(): no index", is_error=True)


def finds_nothing(call: Call) -> Result:
    return says(call, "[]")
