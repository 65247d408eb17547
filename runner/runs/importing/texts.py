"""What `fairtrial ground` verifies: the answers of any file that holds some."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from runner.records import Event, Prompt, Prose, StepEnd
from runner.records.transcript_files import iter_transcript
from runner.runs.importing.claude_code import events_in, is_claude_code, json_objects, roots_of
from runner.support.errors import FairtrialError

AnswerFileKind = Literal["text", "transcript", "claude_code"]

_OUR_EVENTS = frozenset(
    ("system prompt prose thinking tool_call tool_result usage step_end note").split()
)
_NOT_OURS = frozenset({"message", "session_id", "sessionId", "subtype"})
"""Keys that Claude Code's events have and ours have not."""


@dataclass(frozen=True, kw_only=True)
class AnswerFile:
    """The answers of one file."""

    kind: AnswerFileKind
    texts: tuple[str, ...]
    """One per step; a plain text is one."""
    roots: tuple[str, ...] = ()
    """Absolute paths at which the transcript's agent saw the repository."""


def read_answer_file(path: Path) -> AnswerFile:
    """Plain text or Markdown, our own transcript, or one of Claude Code.

    What the file holds tells them apart, not its name. Raises FairtrialError if the file cannot be
    read, is no UTF-8 text, or is a damaged transcript of ours.
    """
    data = _read_bytes(path)
    kind = _kind_of(data)
    if kind == "transcript":
        return AnswerFile(kind=kind, texts=_prose_by_step(iter_transcript(path)))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        hint = "convert it first, for example with iconv"
        raise FairtrialError("not UTF-8 text", where=str(path), hint=hint) from error
    if kind == "claude_code":
        lines = list(json_objects(text))
        return AnswerFile(kind=kind, texts=_prose_by_step(events_in(lines)), roots=roots_of(lines))
    return AnswerFile(kind=kind, texts=(text.replace("\r\n", "\n"),))


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        what = f"cannot be read: {error.strerror or error}"
        hint = "give the path of a text or transcript"
        raise FairtrialError(what, where=str(path), hint=hint) from error


def _kind_of(data: bytes) -> AnswerFileKind:
    """By the first JSON object: an answer may be JSON too, and is a plain text then."""
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"["):
        return "text"
    first = next(json_objects(data.decode("utf-8", "replace")), None)
    if first is None:
        return "text"
    kind = first.get("type")
    if isinstance(kind, str) and kind in _OUR_EVENTS and _NOT_OURS.isdisjoint(first):
        return "transcript"
    if is_claude_code(first):
        return "claude_code"
    return "text"


def _prose_by_step(events: Iterable[Event]) -> tuple[str, ...]:
    steps: dict[int, list[str]] = {}
    for event in events:
        # A step without prose is an empty answer: left out, the next one would take its place.
        if isinstance(event, Prompt | StepEnd):
            steps.setdefault(event.step, [])
        elif isinstance(event, Prose):
            steps.setdefault(event.step, []).append(event.text)
    return tuple("\n\n".join(steps[step]) for step in sorted(steps))
