"""Transcripts of Claude Code, read into our records.

`--output-format stream-json`: JSON Lines, or a JSON array of the same events. The answer is the
assistant's prose, per user prompt. A subagent's prose (a sidechain) is talk between machines and
is left out, as are thinking, tool input and tool output. What is written otherwise than Claude Code
writes it is passed over, and a note at the end says how often.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import filterfalse
from pathlib import Path
from typing import Any, Literal

from runner.errors import FairtrialError
from runner.records import (
    Event,
    Note,
    Prompt,
    Prose,
    StepEnd,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)

_TOO_MANY = 10**15
"""Tokens: more than any conversation had; NaN and infinity are no fewer."""
Line = Mapping[str, Any]
"""One event as Claude Code writes it."""

_TYPES = frozenset(
    ("system assistant user result summary stream_event rate_limit_event queue-operation").split()
)
_MARKS = frozenset({"message", "session_id", "sessionId", "subtype", "summary"})
"""Keys of which every event has one: `{"type": "assistant"}` alone is somebody's JSON."""
_STOPS: dict[str, Literal["end", "max_tokens", "refusal"]] = {
    "end_turn": "end",
    "max_tokens": "max_tokens",
    "refusal": "refusal",
}


def read_transcript(path: Path) -> tuple[Event, ...]:
    """A Claude Code transcript as our events. Raises FairtrialError if it is none."""
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise FairtrialError(message, where=str(path), hint="give a transcript's path") from error
    lines = list(json_objects(text))
    if not text.lstrip().startswith(("{", "[")) or not lines or not is_claude_code(lines[0]):
        hint = "record one with --output-format stream-json --verbose"
        raise FairtrialError("not a transcript of Claude Code", where=str(path), hint=hint)
    return tuple(events_in(lines))


def is_claude_code(line: Line) -> bool:
    """Is this an event of Claude Code?"""
    return _text(line.get("type")) in _TYPES and not _MARKS.isdisjoint(line)


def json_objects(text: str) -> Iterator[Line]:
    """The JSON objects of an array or of JSON Lines.

    A line cut by a kill, or one that is no object, is passed over.
    """
    if text.lstrip().startswith("["):
        return _objects(_parse(text) or ())
    return _objects(map(_parse, text.split("\n")))


def _objects(items: Iterable[Any]) -> Iterator[Line]:
    for item in items:
        if isinstance(item, dict):
            yield item


def _parse(text: str) -> Any:
    """None if it is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def roots_of(lines: Iterable[Line]) -> tuple[str, ...]:
    """The folders the agent worked in, without repeats."""
    roots: dict[str, None] = {}
    for line in lines:
        folder = line.get("cwd")
        if isinstance(folder, str) and folder.strip("/"):
            roots[folder] = None
    return tuple(roots)


def events_in(lines: Iterable[Line]) -> Iterator[Event]:
    """The main agent's events, as ours."""
    reader = _Reader()
    for line in filterfalse(_is_of_subagent, lines):
        yield from reader.read(line)
    if reader.passed_over:
        yield Note(text=f"{reader.passed_over} parts that no transcript has were passed over")


def _is_of_subagent(line: Line) -> bool:
    return bool(line.get("isSidechain") or line.get("parent_tool_use_id"))


# --- one line after the other ---------------------------------------------------------------


class _Reader:
    """The place in the transcript. A step ends with a `result`, or if the user speaks again."""

    def __init__(self) -> None:
        self.step = 0
        self.counted: set[str] = set()
        """Messages whose usage was counted."""
        self.passed_over = 0
        """Parts that are not as Claude Code writes them."""
        self._begin_step()

    def _begin_step(self) -> None:
        self.turn = -1
        self.has_ended = False
        self.message = ""
        """Id of the assistant's latest message."""
        self.prose: list[str] = []

    def _go_on(self) -> None:
        """What comes after a step's end belongs to the next one."""
        if self.has_ended:
            self.step += 1
            self._begin_step()

    def read(self, line: Line) -> Iterator[Event]:
        match line.get("type"):
            case "assistant":
                yield from self._assistant(self._message(line))
            case "user":
                yield from self._user(line)
            case "result":
                yield from self._result(line)

    def _message(self, line: Line) -> Line:
        """A message that is a text or a list alone is its content."""
        message = line.get("message")
        if isinstance(message, dict):
            return message
        return {"content": message}

    def _blocks(self, message: Line) -> list[Line]:
        """A message's content; a plain text is a block, as the whole of it or as an item."""
        content = message.get("content")
        if not isinstance(content, list):
            content = [content]
        blocks: list[Line] = []
        for item in content:
            if isinstance(item, dict):
                blocks.append(item)
            elif isinstance(item, str):
                blocks.append({"type": "text", "text": item})
            elif item is not None:
                self.passed_over += 1
        return blocks

    # what the assistant says and does

    def _assistant(self, message: Line) -> Iterator[Event]:
        self._go_on()
        # One message comes in several lines, a block each, and every line repeats its usage.
        name = _text(message.get("id"))
        if name != self.message or self.turn < 0:
            self.message = name
            self.turn += 1
        for block in self._blocks(message):
            yield from self._block(block)
        usage = message.get("usage")
        if isinstance(usage, dict) and usage and self.message not in self.counted:
            self.counted.add(self.message)
            yield self._usage(usage)
        elif usage and not isinstance(usage, dict):
            self.passed_over += 1

    def _block(self, block: Line) -> Iterator[Event]:
        kind = block.get("type")
        said = block.get("text") or block.get("thinking") or ""
        text = _text(said)
        if kind == "text" and text:
            self.prose.append(text)
            yield Prose(step=self.step, turn=self.turn, text=text)
        elif kind == "thinking" and text:
            yield Thinking(step=self.step, turn=self.turn, text=text)
        elif kind == "tool_use":
            yield self._tool_call(block)
        elif not isinstance(said, str):
            self.passed_over += 1

    def _tool_call(self, block: Line) -> ToolCall:
        tool = _text(block.get("name"))
        arguments = block.get("input")
        return ToolCall(
            step=self.step,
            turn=self.turn,
            call_id=_text(block.get("id")),
            origin="server" if tool.startswith("mcp__") else "shell",
            tool=tool,
            arguments=arguments if isinstance(arguments, dict) else {},
        )

    def _usage(self, usage: Line) -> Usage:
        return Usage(
            step=self.step,
            turn=self.turn,
            input_tokens=_count(usage, "input_tokens"),
            output_tokens=_count(usage, "output_tokens"),
            cache_read_tokens=_count(usage, "cache_read_input_tokens"),
            cache_write_tokens=_count(usage, "cache_creation_input_tokens"),
            wall_sec=0.0,
        )

    # what the user and the tools say

    def _user(self, line: Line) -> Iterator[Event]:
        blocks = self._blocks(self._message(line))
        results = [block for block in blocks if block.get("type") == "tool_result"]
        for block in results:
            yield self._tool_result(block)
        spoken = _spoken(blocks)
        if not spoken or results or _is_reminder(line):
            return
        if self.turn >= 0 and not self.has_ended:
            yield StepEnd(step=self.step, stop="end")
            self.has_ended = True
        self._go_on()
        yield Prompt(step=self.step, text=spoken)

    def _tool_result(self, block: Line) -> ToolResult:
        text = _result_text(block.get("content"))
        return ToolResult(
            step=self.step,
            turn=max(0, self.turn),
            call_id=_text(block.get("tool_use_id")),
            text=text,
            is_error=bool(block.get("is_error")),
            size_chars=len(text),
            digest=hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
            truncated=False,
            wall_sec=0.0,
        )

    # how it ends

    def _result(self, line: Line) -> Iterator[Event]:
        final = _text(line.get("result"))
        if final.strip() and not self._repeats(final):
            self._go_on()
            yield Prose(step=self.step, turn=max(0, self.turn), text=final)
        stop: Literal["end", "max_tokens", "refusal", "cut"]
        stop = _STOPS.get(_text(line.get("stop_reason")), "end")
        if line.get("is_error"):
            yield Note(text=f"Claude Code ended with {_text(line.get('subtype'))}")
            stop = "cut"
        if not self.has_ended:
            yield StepEnd(step=self.step, stop=stop)
        self.has_ended = True

    def _repeats(self, final: str) -> bool:
        """Is the result the last message's prose again? In some transcripts it is all there is."""
        return any(final.strip() in text or text.strip() in final for text in self.prose)


def _is_reminder(line: Line) -> bool:
    """Text that the harness slips in as the user's: no prompt begins with it."""
    return bool(line.get("isMeta") or line.get("isSynthetic"))


def _spoken(blocks: Iterable[Line]) -> str:
    texts = []
    for block in blocks:
        text = _text(block.get("text"))
        if block.get("type") == "text" and text:
            texts.append(text)
    return "\n".join(texts)


def _result_text(content: object) -> str:
    """What a tool's result holds as text; images and other parts are empty lines."""
    if isinstance(content, list):
        return "\n".join(_text(part.get("text")) for part in _objects(content))
    return _text(content)


def _text(value: object) -> str:
    """Empty for anything but a text."""
    if not isinstance(value, str):
        return ""
    # Half a surrogate pair (`"\ud83d"`) is JSON, and is no text that UTF-8 could hold.
    return value.encode("utf-8", "replace").decode("utf-8")


def _count(usage: Line, key: str) -> int:
    """0 for anything but a number of tokens."""
    value = usage.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _TOO_MANY:
        return 0
    return int(value)
