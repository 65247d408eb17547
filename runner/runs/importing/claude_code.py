"""Transcripts of Claude Code, read into our records.

`--output-format stream-json`: JSON Lines, or a JSON array of the same events. The answer is the
assistant's prose, per user prompt. A subagent's prose (a sidechain) is talk between machines and
is left out, as are thinking, tool input and tool output. Its calls and tokens count: an arm could
hide both there. What is written otherwise than Claude Code writes it is passed over, and notes at
the end say what, and how often.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

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

MAX_DEPTH = 50
"""Levels of a call's arguments: what is nested deeper could not be read back."""
_TOO_MANY = 10**15
"""Tokens: more than any conversation had; NaN and infinity are no fewer."""
TranscriptLine = Mapping[str, Any]
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


def is_claude_code(line: TranscriptLine) -> bool:
    """Is this an event of Claude Code?"""
    return _text(line.get("type")) in _TYPES and not _MARKS.isdisjoint(line)


def json_objects(text: str) -> Iterator[TranscriptLine]:
    """The JSON objects of an array or of JSON Lines.

    A line cut by a kill, or one that is no object, is passed over.
    """
    if text.lstrip().startswith("["):
        return _objects(_parse(text) or ())
    return _objects(map(_parse, text.split("\n")))


def _objects(items: Iterable[Any]) -> Iterator[TranscriptLine]:
    for item in items:
        if isinstance(item, dict):
            yield item


def _parse(text: str) -> Any:
    """None if it is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def roots_of(lines: Iterable[TranscriptLine]) -> tuple[str, ...]:
    """The folders the agent worked in, without repeats."""
    roots: dict[str, None] = {}
    for line in lines:
        folder = line.get("cwd")
        if isinstance(folder, str) and folder.strip("/"):
            roots[folder] = None
    return tuple(roots)


def events_in(lines: Iterable[TranscriptLine]) -> Iterator[Event]:
    """The main agent's events, and its subagents' calls and tokens, as ours."""
    reader = ClaudeCodeReader()
    for line in lines:
        yield from reader.read(line)
    yield from reader.close()
    for text in reader.remarks():
        yield Note(text=text)


def _is_of_subagent(line: TranscriptLine) -> bool:
    return bool(line.get("isSidechain") or line.get("parent_tool_use_id"))


def _subagent_of(line: TranscriptLine) -> str:
    """Versions differ in how they tell subagents apart; some do not."""
    return _text(line.get("parent_tool_use_id")) or _text(line.get("agentId")) or "subagent"


# --- one line after the other ---------------------------------------------------------------


PASSED_OVER = "parts that no transcript has were passed over"
_IMAGES = "images were left out"
_REPEATED = "repeated lines were read once"
_NO_CALL = "results of calls that the transcript does not hold were left out"
_UNHELD = "calls' arguments were left out: too deep, or no JSON"
_SUBAGENTS = "turns were subagents': their calls and tokens count, their prose is no answer"
_UNEVEN = "results count other tokens than their messages; the larger figures were taken"


class ClaudeCodeReader:
    """The place in the transcript. A step ends with a `result`, or if the user speaks again."""

    def __init__(self) -> None:
        self.step = 0
        self.counted: set[str] = set()
        """Messages whose usage was counted."""
        self.counts: Counter[str] = Counter()
        """What was not carried over as it stands -> how often."""
        self._seen: set[str] = set()
        """Ids of lines."""
        self._open: set[str] = set()
        """Ids of calls that have no result yet."""
        self._pending: Usage | None = None
        """Of the latest turn: what a result corrects comes before it, so that it stays the last."""
        self._tokens = _Ledgers()
        self._stop = ""
        """Why the latest turn ended, if its message says so."""
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

    def read(self, line: TranscriptLine) -> Iterator[Event]:
        if self._is_repeated(line):
            return
        of_subagent = _is_of_subagent(line)
        match line.get("type"):
            case "assistant" if of_subagent:
                yield from self._subagent(self._message(line), _subagent_of(line))
            case "user" if of_subagent:
                yield from self._tool_results(self._blocks(self._message(line)))
            case "assistant":
                yield from self._assistant(self._message(line))
            case "user":
                yield from self._user(line)
            case "result" if not of_subagent:
                yield from self._result(line)

    def close(self) -> Iterator[Event]:
        """What is left when the file ends; a log of a session has no `result`."""
        yield from self._flush()
        if self._stop == "end_turn" and not self.has_ended:
            yield StepEnd(step=self.step, stop="end")
            self.has_ended = True

    def remarks(self) -> Iterator[str]:
        """`3 images were left out`."""
        for what, count in self.counts.items():
            yield f"{count} {what}"

    def _is_repeated(self, line: TranscriptLine) -> bool:
        name = _text(line.get("uuid"))
        if name and name in self._seen:
            self.counts[_REPEATED] += 1
            return True
        self._seen.add(name)
        return False

    def _message(self, line: TranscriptLine) -> TranscriptLine:
        """A message that is a text or a list alone is its content."""
        message = line.get("message")
        if isinstance(message, dict):
            return message
        return {"content": message}

    def _blocks(self, message: TranscriptLine) -> list[TranscriptLine]:
        """A message's content; a plain text is a block, as the whole of it or as an item."""
        content = message.get("content")
        if not isinstance(content, list):
            content = [content]
        blocks: list[TranscriptLine] = []
        for item in content:
            if isinstance(item, dict):
                blocks.append(item)
            elif isinstance(item, str):
                blocks.append({"type": "text", "text": item})
            elif item is not None:
                self.counts[PASSED_OVER] += 1
        return blocks

    # what the assistant says and does

    def _assistant(self, message: TranscriptLine) -> Iterator[Event]:
        self._go_on()
        # One message comes in several lines, a block each, and every line repeats its usage.
        name = _text(message.get("id"))
        if name != self.message or self.turn < 0:
            self.message = name
            self.turn += 1
        for block in self._blocks(message):
            yield from self._block(block)
        self._stop = _text(message.get("stop_reason"))
        usage = self._new_usage(message)
        if usage is not None:
            yield from self._flush()
            self._tokens.add(usage, of_subagent=False)
            self._pending = usage

    def _subagent(self, message: TranscriptLine, name: str) -> Iterator[Event]:
        for block in self._blocks(message):
            if block.get("type") == "tool_use":
                yield self._tool_call(block)
        usage = self._new_usage(message)
        if usage is not None:
            self.counts[_SUBAGENTS] += 1
            self._tokens.add(usage, of_subagent=True)
            yield usage.model_copy(update={"subagent": name})

    def _new_usage(self, message: TranscriptLine) -> Usage | None:
        """A message's, at its first line."""
        name, usage = _text(message.get("id")), message.get("usage")
        if usage and not isinstance(usage, dict):
            self.counts[PASSED_OVER] += 1
        if not isinstance(usage, dict) or not usage or name in self.counted:
            return None
        self.counted.add(name)
        return self._usage(usage)

    def _flush(self) -> Iterator[Usage]:
        if self._pending is not None:
            yield self._pending
        self._pending = None

    def _block(self, block: TranscriptLine) -> Iterator[Event]:
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
        elif kind == "image":
            self.counts[_IMAGES] += 1
        elif not isinstance(said, str):
            self.counts[PASSED_OVER] += 1

    def _tool_call(self, block: TranscriptLine) -> ToolCall:
        tool = _text(block.get("name"))
        name = _text(block.get("id"))
        self._open.add(name)
        return ToolCall(
            step=self.step,
            turn=max(0, self.turn),
            call_id=name,
            origin="server" if tool.startswith("mcp__") else "shell",
            tool=tool,
            arguments=self._arguments(block.get("input")),
        )

    def _arguments(self, value: object) -> dict[str, Any]:
        if isinstance(value, dict) and _can_be_held(value):
            return value
        if value is not None:
            self.counts[_UNHELD] += 1
        return {}

    def _usage(self, usage: TranscriptLine) -> Usage:
        written_tokens = _count(usage, "cache_creation_input_tokens")
        return Usage(
            step=self.step,
            turn=max(0, self.turn),
            input_tokens=_count(usage, "input_tokens") + written_tokens,
            output_tokens=_count(usage, "output_tokens"),
            cache_read_tokens=_count(usage, "cache_read_input_tokens"),
            cache_write_tokens=written_tokens,
            wall_sec=None,
        )

    # what the user and the tools say

    def _user(self, line: TranscriptLine) -> Iterator[Event]:
        blocks = self._blocks(self._message(line))
        results = [block for block in blocks if block.get("type") == "tool_result"]
        yield from self._tool_results(results)
        self._count_images(blocks)
        spoken = _spoken(blocks)
        if not spoken or results or _is_reminder(line):
            return
        if self.turn >= 0 and not self.has_ended:
            yield StepEnd(step=self.step, stop="end")
            self.has_ended = True
        self._go_on()
        yield Prompt(step=self.step, text=spoken)

    def _tool_results(self, blocks: Iterable[TranscriptLine]) -> Iterator[ToolResult]:
        for block in blocks:
            if block.get("type") != "tool_result":
                continue
            name = _text(block.get("tool_use_id"))
            if name in self._open:
                self._open.remove(name)
                yield self._tool_result(block)
            else:
                # Of a session gone on with elsewhere: a result of nothing could not be scored.
                self.counts[_NO_CALL] += 1

    def _tool_result(self, block: TranscriptLine) -> ToolResult:
        content = block.get("content")
        if isinstance(content, list):
            self._count_images(_objects(content))
        text = _result_text(content)
        return ToolResult(
            step=self.step,
            turn=max(0, self.turn),
            call_id=_text(block.get("tool_use_id")),
            text=text,
            is_error=bool(block.get("is_error")),
            size_chars=len(text),
            digest=hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
            truncated=False,
            wall_sec=None,
        )

    def _count_images(self, parts: Iterable[TranscriptLine]) -> None:
        for part in parts:
            if part.get("type") == "image":
                self.counts[_IMAGES] += 1

    # how it ends

    def _result(self, line: TranscriptLine) -> Iterator[Event]:
        final = _text(line.get("result"))
        if final.strip() and not self._repeats(final):
            self._go_on()
            yield Prose(step=self.step, turn=max(0, self.turn), text=final)
        stop: Literal["end", "max_tokens", "refusal", "cut"]
        stop = _STOPS.get(_text(line.get("stop_reason")), "end")
        if line.get("is_error"):
            yield Note(text=f"Claude Code ended with {_text(line.get('subtype'))}")
            stop = "cut"
        yield from self._corrected(line.get("usage"))
        yield from self._flush()
        if not self.has_ended:
            yield StepEnd(step=self.step, stop=stop, elapsed_sec=_seconds(line))
        self.has_ended = True

    def _corrected(self, usage: object) -> Iterator[Usage]:
        """What a result counts and its messages do not: they tell how a turn's output began."""
        if isinstance(usage, dict) and usage:
            missing, even = self._tokens.missing(self._usage(usage))
            if not even:
                self.counts[_UNEVEN] += 1
            self._tokens.settle(missing)
            if any(missing.values()):
                place = {"step": self.step, "turn": max(0, self.turn)}
                yield Usage.model_validate({**place, **missing, "wall_sec": None})

    def _repeats(self, final: str) -> bool:
        """Is the result the last message's prose again? In some transcripts it is all there is."""
        return any(final.strip() in text or text.strip() in final for text in self.prose)


_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


class _Ledgers:
    """Tokens as messages count them, four ways: versions differ in what their results sum up."""

    def __init__(self) -> None:
        self._totals = (Counter[str](), Counter[str]())
        self._since = (Counter[str](), Counter[str]())
        """Since the latest result."""

    def add(self, usage: Usage, *, of_subagent: bool) -> None:
        spent = {name: getattr(usage, name) for name in _COUNTS}
        for alone, everybody in (self._since, self._totals):
            everybody.update(spent)
            if not of_subagent:
                alone.update(spent)

    def missing(self, said: Usage) -> tuple[dict[str, int], bool]:
        """What a result has beyond its messages; and whether their input is the same as its own."""
        found = next((ledger for ledger in self._ledgers() if _same_input(ledger, said)), None)
        counted = self._since[1] if found is None else found
        missing = {name: max(0, getattr(said, name) - counted[name]) for name in _COUNTS}
        return missing, found is not None or not counted

    def settle(self, missing: Mapping[str, int]) -> None:
        """A result has been corrected for; a later one may count all of it again."""
        for ledger in self._totals:
            ledger.update(missing)
        self._since = (Counter[str](), Counter[str]())

    def _ledgers(self) -> Iterator[Counter[str]]:
        yield from self._since
        yield from self._totals


def _same_input(counted: Counter[str], said: Usage) -> bool:
    given = (counted["input_tokens"], counted["cache_read_tokens"])
    return given == (said.input_tokens, said.cache_read_tokens)


def _seconds(line: TranscriptLine) -> float | None:
    """A result's own duration: model, tools and waits together."""
    duration_ms = _count(line, "duration_ms")
    if not duration_ms:
        return None
    return duration_ms / 1000


def _can_be_held(value: object) -> bool:
    """JSON that can be written, and read back."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            break
    if level:
        return False
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, list):
        return value
    return ()


def _is_reminder(line: TranscriptLine) -> bool:
    """Text that the harness slips in as the user's: no prompt begins with it."""
    return bool(line.get("isMeta") or line.get("isSynthetic"))


def _spoken(blocks: Iterable[TranscriptLine]) -> str:
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


def _count(usage: TranscriptLine, key: str) -> int:
    """0 for anything but a number of tokens."""
    value = usage.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _TOO_MANY:
        return 0
    return int(value)
