"""Transcripts of Claude Code (`--output-format stream-json`, JSON Lines, or a JSON array of the same events) read into our records.

The answer is the assistant's prose, per user prompt. A subagent's prose (a sidechain) is talk between machines and is left out, as are
thinking, tool input and tool output (seed 002, pitfall 1).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

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
from runner.transcript import iter_transcript

_TYPES = frozenset(
    {
        "system",
        "assistant",
        "user",
        "result",
        "summary",
        "stream_event",
        "rate_limit_event",
        "queue-operation",
    }
)
_OURS = frozenset(
    {
        "system",
        "prompt",
        "prose",
        "thinking",
        "tool_call",
        "tool_result",
        "usage",
        "step_end",
        "note",
    }
)
_STOPS: dict[str, Literal["end", "max_tokens", "refusal"]] = {
    "end_turn": "end",
    "max_tokens": "max_tokens",
    "refusal": "refusal",
}


class Text(NamedTuple):
    """What `fairtrial ground` verifies."""

    kind: Literal["text", "transcript", "claude_code"]
    texts: tuple[str, ...]
    """One per step; a plain text is one."""
    roots: tuple[str, ...]
    """Absolute paths at which the transcript's agent saw the repository."""


def read_text(path: Path) -> Text:
    """Plain text or Markdown, our own transcript, or one of Claude Code: told apart by what the file holds, not by its name.

    Raises FairtrialError where the file cannot be read, is no UTF-8 text, or is a damaged transcript of ours.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        hint = "give the path of a text or transcript"
        raise FairtrialError(
            f"cannot be read: {error.strerror or error}", where=str(path), hint=hint
        ) from error
    kind = _kind_of(data)
    if kind == "transcript":
        return Text(kind, _prose_by_step(iter_transcript(path)), ())
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FairtrialError(
            "not UTF-8 text", where=str(path), hint="convert it first, for example with iconv"
        ) from error
    if kind == "claude_code":
        lines = list(_lines(text))
        return Text(kind, _prose_by_step(_events(lines)), _roots(lines))
    return Text("text", (text.replace("\r\n", "\n"),), ())


def read_transcript(path: Path) -> tuple[Event, ...]:
    """A Claude Code transcript as our events. Raises FairtrialError where it is none."""
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    if _kind_of(text.encode()) != "claude_code":
        hint = "record one with --output-format stream-json --verbose"
        raise FairtrialError("not a transcript of Claude Code", where=str(path), hint=hint)
    return tuple(_events(list(_lines(text))))


def _kind_of(data: bytes) -> Literal["text", "transcript", "claude_code"]:
    head = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if head not in (b"{", b"["):
        return "text"
    for line in _lines(data.decode("utf-8", "replace")):
        kind = line.get("type")
        if kind in _OURS and not {"message", "session_id", "sessionId", "subtype"} & line.keys():
            return "transcript"
        return (
            "claude_code"
            if kind in _TYPES
            and {"message", "session_id", "sessionId", "subtype", "summary"} & line.keys()
            else "text"
        )
    return "text"


def _lines(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file; a line cut by a kill, or one that is no object, is passed over."""
    if text.lstrip().startswith("["):
        try:
            yield from (item for item in json.loads(text) if isinstance(item, dict))
        except (ValueError, RecursionError):
            return
        return
    for line in text.split("\n"):
        try:
            item = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError):
            continue
        if isinstance(item, dict):
            yield item


def _roots(lines: list[dict[str, Any]]) -> tuple[str, ...]:
    found = (line.get("cwd") for line in lines)
    return tuple(dict.fromkeys(cwd for cwd in found if isinstance(cwd, str) and cwd.strip("/")))


def _prose_by_step(events: Iterator[Event]) -> tuple[str, ...]:
    steps: dict[int, list[str]] = {}
    for event in events:
        if isinstance(event, Prompt | StepEnd):
            steps.setdefault(event.step, [])
        elif isinstance(event, Prose):
            steps.setdefault(event.step, []).append(event.text)
    return tuple("\n\n".join(parts) for _, parts in sorted(steps.items()))


def _events(lines: list[dict[str, Any]]) -> Iterator[Event]:
    reader = _Reader()
    for line in lines:
        if not line.get("isSidechain") and not line.get("parent_tool_use_id"):
            yield from reader.take(line)


class _Reader:
    """Where in the transcript we are. A step ends with a `result`, or where the user speaks again."""

    def __init__(self) -> None:
        self.step, self.turn, self.ended = 0, -1, False
        self.message = ""
        self.said: list[str] = []
        self.counted: set[str] = set()

    def take(self, line: dict[str, Any]) -> Iterator[Event]:
        kind = line.get("type")
        if kind == "assistant":
            yield from self._assistant(line.get("message") or {})
        elif kind == "user":
            yield from self._user(line)
        elif kind == "result":
            yield from self._result(line)

    def _begin(self) -> None:
        if self.ended:
            self.step, self.turn, self.ended, self.message, self.said = (
                self.step + 1,
                -1,
                False,
                "",
                [],
            )

    def _assistant(self, message: dict[str, Any]) -> Iterator[Event]:
        self._begin()
        if message.get("id") != self.message or self.turn < 0:
            # One message comes in several lines, a block each, and every line repeats its usage.
            self.message, self.turn = str(message.get("id")), self.turn + 1
        content = message.get("content")
        for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            yield from self._block(block)
        if message.get("usage") and self.message not in self.counted:
            self.counted.add(self.message)
            yield self._usage(message["usage"])

    def _block(self, block: dict[str, Any]) -> Iterator[Event]:
        kind, text = block.get("type"), block.get("text") or block.get("thinking") or ""
        if kind == "text" and isinstance(text, str) and text:
            self.said.append(text)
            yield Prose(step=self.step, turn=self.turn, text=text)
        elif kind == "thinking" and text:
            yield Thinking(step=self.step, turn=self.turn, text=text)
        elif kind == "tool_use":
            name, given = str(block.get("name")), block.get("input")
            yield ToolCall(
                step=self.step,
                turn=self.turn,
                call_id=str(block.get("id")),
                origin="server" if name.startswith("mcp__") else "shell",
                tool=name,
                arguments=given if isinstance(given, dict) else {},
            )

    def _usage(self, usage: dict[str, Any]) -> Usage:
        def count(key: str) -> int:
            return max(0, int(usage.get(key) or 0))

        return Usage(
            step=self.step,
            turn=self.turn,
            input_tokens=count("input_tokens"),
            output_tokens=count("output_tokens"),
            cache_read_tokens=count("cache_read_input_tokens"),
            cache_write_tokens=count("cache_creation_input_tokens"),
            wall_sec=0.0,
        )

    def _user(self, line: dict[str, Any]) -> Iterator[Event]:
        content = (line.get("message") or {}).get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        results = [
            block
            for block in blocks
            if isinstance(block, dict) and block.get("type") == "tool_result"
        ]
        for block in results:
            yield self._tool_result(block)
        spoken = "\n".join(
            str(b.get("text"))
            for b in blocks
            if isinstance(b, dict) and b.get("type") == "text" and b.get("text")
        )
        if not spoken or results or line.get("isMeta") or line.get("isSynthetic"):
            return
        if self.turn >= 0 and not self.ended:
            yield StepEnd(step=self.step, stop="end")
            self.ended = True
        self._begin()
        yield Prompt(step=self.step, text=spoken)

    def _tool_result(self, block: dict[str, Any]) -> ToolResult:
        content = block.get("content")
        if isinstance(content, list):
            content = "\n".join(
                str(part.get("text", "")) for part in content if isinstance(part, dict)
            )
        text = content if isinstance(content, str) else ""
        return ToolResult(
            step=self.step,
            turn=max(0, self.turn),
            call_id=str(block.get("tool_use_id")),
            text=text,
            is_error=bool(block.get("is_error")),
            size_chars=len(text),
            digest=hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
            truncated=False,
            wall_sec=0.0,
        )

    def _result(self, line: dict[str, Any]) -> Iterator[Event]:
        final = line.get("result")
        if isinstance(final, str) and final.strip() and not self._already(final):
            self._begin()
            yield Prose(step=self.step, turn=max(0, self.turn), text=final)
        if line.get("is_error"):
            yield Note(text=f"Claude Code ended with {line.get('subtype')}")
        if not self.ended:
            yield StepEnd(
                step=self.step,
                stop="cut"
                if line.get("is_error")
                else _STOPS.get(str(line.get("stop_reason")), "end"),
            )
        self.ended = True

    def _already(self, final: str) -> bool:
        """The result repeats the last message's prose; a transcript that holds the result alone has said nothing yet."""
        return any(final.strip() in text or text.strip() in final for text in self.said)
