"""`react`: reasoning, calls and answer in tagged text, the history as one growing string.

Source: MCP-AgentBench, appendix C.1. The prompt is our own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from runner.agents.models.wire import load_json
from runner.agents.text_tool_calls import ParsedReply, TextToolCalls, listed, unfenced
from runner.protocols import Message, ToolMessage, ToolSpec, Turn, UserMessage
from runner.records import canonical_json

FORM = """\
Write every reply in three parts, in this order and with these tags:

<reasoning>
What you know, what is missing, and what you do about it.
</reasoning>
<tool_calls>
[{"name": "a tool's name", "arguments": {"its": "arguments"}}]
</tool_calls>
<answer>
</answer>

- To look something up, list one or several calls and leave the answer empty. Each comes back as an\
 Observation.
- To end the step, write [] for the calls and the whole answer between the answer's tags. Only that\
 part reaches the reader.
"""
_PARTS = ("reasoning", "tool_calls", "answer")


class React(TextToolCalls):
    """protocols.Model, around one that need not know of tools."""

    async def ask(
        self,
        system: str,
        conversation: Sequence[Message],
        tools: Sequence[ToolSpec],
        timeout_sec: float,
    ) -> Turn:
        history = "\n\n".join(_entries(conversation))
        # Tools and rules before the history: what does not change can be cached.
        prompt = f"{system}\n\nTools, one a line:\n{listed(tools)}"
        asked = [UserMessage(text=history)]
        turn = await self.model.turn(prompt, asked, (), timeout_sec=timeout_sec)
        # The history holds the thinking, too.
        return replace(turn, dropped_tokens=None)

    def read(self, text: str) -> ParsedReply:
        """`<reasoning>a</reasoning><tool_calls>[]</tool_calls><answer>b</answer>` -> a, none, b."""
        parts = {name: _between(text, name) for name in _PARTS}
        if parts["tool_calls"] is None and parts["answer"] is None:
            return ParsedReply(problem="it has neither <tool_calls> nor <answer>")
        calls: list[tuple[str, dict[str, Any]]] = []
        try:
            calls = list(_calls(parts["tool_calls"] or "[]"))
        except ValueError as error:
            return ParsedReply(problem=f"<tool_calls> cannot be read: {error}")
        answer = parts["answer"] or ""
        if not calls and not answer:
            return ParsedReply(problem="it has no calls and an empty <answer>")
        # An answer beside calls was written before their results: it is no answer yet.
        said = parts["reasoning"] or ""
        return ParsedReply(thinking=said, calls=tuple(calls), answer="" if calls else answer)


def _between(text: str, tag: str) -> str | None:
    """The text between the tags; to the end if the last one was left open."""
    found = re.search(rf"<{tag}>(.*?)(?:</{tag}>|\Z)", text, re.S)
    return found.group(1).strip() if found else None


def _calls(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Raises ValueError with what is wrong."""
    calls = load_json(unfenced(text))
    if not isinstance(calls, list):
        raise ValueError("it is no list")  # noqa: TRY004 - as any malformed list
    for number, call in enumerate(calls, start=1):
        if not isinstance(call, dict) or not isinstance(call.get("name"), str):
            raise ValueError(f"call {number} has no name")  # noqa: TRY004 - as above
        arguments = call.get("arguments", {})
        if not isinstance(arguments, dict):
            raise ValueError(f"the arguments of call {number} are no object")  # noqa: TRY004 - as above
        yield call["name"], arguments


# --- the history ----------------------------------------------------------------------------


def _entries(conversation: Sequence[Message]) -> Iterator[str]:
    """Question, Thought, Action, Observation, Final Answer: one entry each."""
    for message in conversation:
        match message:
            case UserMessage():
                kind = "Notice" if message.notice else "Question"
                yield f"{kind}: {message.text}"
            case ToolMessage():
                for result in message.results:
                    status = " (error)" if result.is_error else ""
                    yield f"Observation{status}:\n{result.text}"
            case Turn():
                yield from _own_entries(message)


def _own_entries(turn: Turn) -> Iterator[str]:
    if turn.thinking:
        yield f"Thought: {turn.thinking}"
    for call in turn.calls:
        yield f"Action: {canonical_json({'name': call.tool, 'arguments': call.arguments})}"
    if turn.stop == "malformed":
        yield f"Reply that could not be read: {turn.text}"
    elif turn.text:
        yield f"Final Answer: {turn.text}"
