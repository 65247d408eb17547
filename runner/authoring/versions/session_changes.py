"""A session replayed twice on the base and once on the head: which answers are others."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from runner.authoring.versions.named_change import named_change
from runner.records import McpCall, canonical_json
from runner.records.versions import VersionChange, Weight
from runner.servers.tool_answers import finds_nothing, is_refusal, says_no

LOST = 0.1
"""Share of a call's lines from which on fewer of them are a regression."""
_ARGUMENTS_SHOWN = 80
_TEXT_SHOWN = 400
AnswerKind = Literal["same", "error", "empty", "shifted", "less", "more", "mended", "differs"]
"""`shifted`: the same but for numbers, which are all so many higher or lower. `less`: a part of the
base's, and nothing else. `mended`: the base answered with an error, or found nothing."""
WORSE: frozenset[AnswerKind] = frozenset(("error", "empty", "shifted", "less"))
MOST_SHIFTED = 3
"""Lines; where numbers differ by more, something was counted, not moved."""
LEAST_SHIFTED = 2
"""Numbers that moved by the same; one alone may be a count of anything."""
_NUMBER = re.compile(r"(?<![\w.])\d{1,7}(?![\w.]*\.\d)(?!\w)")
_PASSING = re.compile(
    r"\b\d+(?:\.\d+)?\s?(?:ms|µs|us|s|sec|seconds?|milliseconds?)\b"  # took 12.3 ms
    r"|\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?"  # 2026-11-25T12:00:00Z
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
)
"""What is another in each session, and is no part of an answer."""


@dataclass(frozen=True, kw_only=True)
class ReplayedAnswer:
    """What one call of a session gave."""

    text: str
    is_error: bool
    died: str = ""
    """How the server ended while it answered; empty if it did not."""
    wall_sec: float = 0.0

    @property
    def failed(self) -> bool:
        """Marked as an error, or one that is not."""
        return self.is_error or bool(self.died) or is_refusal(self.text) or says_no(self.text)


@dataclass(frozen=True, kw_only=True)
class AnswerChange:
    kind: AnswerKind
    says: str = ""
    lost: float = 0.0
    """Share of the base's parts that the head's answer has not."""


SAME = AnswerChange(kind="same")


def answer_change(base: ReplayedAnswer, head: ReplayedAnswer) -> AnswerChange:
    """The worst that can be said of it. Order alone and what passes with time are no change."""
    if base.failed or head.failed:
        return _of_failures(base, head)
    before, after = _plain(base.text), _plain(head.text)
    if before == after:
        return SAME
    if finds_nothing(base.text) != finds_nothing(head.text):
        if finds_nothing(head.text):
            return AnswerChange(kind="empty", says="finds nothing where the base does", lost=1.0)
        return AnswerChange(kind="mended", says="finds something where the base does not")
    if shift := shifted_by(before, after):
        says = f"every number that differs is {shift:+d}: are its lines off by {abs(shift)}?"
        return AnswerChange(kind="shifted", says=says)
    return _of_parts(Counter(_parts(before)), Counter(_parts(after)))


def _of_failures(base: ReplayedAnswer, head: ReplayedAnswer) -> AnswerChange:
    if base.failed and head.failed:
        return SAME
    if base.failed:
        return AnswerChange(kind="mended", says="answers what was an error")
    if head.died:
        return AnswerChange(kind="error", says=f"ends its server: {head.died}", lost=1.0)
    first = " ".join(head.text.split())[:120]
    return AnswerChange(kind="error", says=f"is answered with an error: {first}", lost=1.0)


def _plain(text: str) -> str:
    return _PASSING.sub("…", text).strip()


def shifted_by(before: str, after: str) -> int:
    """By how much numbers moved, if nothing else differs and all moved alike; else 0."""
    if _NUMBER.sub("#", before) != _NUMBER.sub("#", after):
        return 0
    pairs = zip(_NUMBER.findall(before), _NUMBER.findall(after), strict=True)
    moved = [int(two) - int(one) for one, two in pairs if one != two]
    alike = len(set(moved)) == 1 and abs(moved[0]) <= MOST_SHIFTED
    return moved[0] if alike and len(moved) >= LEAST_SHIFTED else 0


def _of_parts(before: Counter[str], after: Counter[str]) -> AnswerChange:
    if before == after:
        return SAME
    lost, won = (before - after).total(), (after - before).total()
    share = lost / before.total() if before.total() else 0.0
    if not won:
        says = f"gives {before.total() - lost} of {before.total()} lines, and no other"
        return AnswerChange(kind="less", says=says, lost=share)
    if not lost:
        return AnswerChange(kind="more", says=f"gives {won} lines more")
    says = f"{lost} of {before.total()} lines are not there, {won} are new"
    return AnswerChange(kind="differs", says=says, lost=share)


def _parts(text: str) -> Iterator[str]:
    """Lines; of JSON each value with its keys, whatever its place in a list."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        yield from (line.strip() for line in text.splitlines() if line.strip())
        return
    yield from _leaves(value, "")


def _leaves(value: object, where: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{where}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, f"{where}[]")
    elif isinstance(value, str) and "\n" in value:
        yield from (f"{where}={line.strip()}" for line in value.splitlines() if line.strip())
    else:
        yield f"{where}={value}"


# --- the session ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ReplayedSession:
    """The calls, and what each start of a server gave."""

    calls: Sequence[McpCall]
    base: Sequence[ReplayedAnswer]
    again: Sequence[ReplayedAnswer]
    """The base once more: what differs there is no doing of the head's."""
    head: Sequence[ReplayedAnswer]

    @property
    def unstable(self) -> list[int]:
        pairs = zip(self.base, self.again, strict=False)
        return [at for at, (one, two) in enumerate(pairs) if answer_change(one, two).kind != "same"]

    def changes(self, lost: float = LOST) -> Iterator[VersionChange]:
        """Each call whose answer is another; of calls alike the first alone."""
        unstable, told = {*self.unstable}, set[str]()
        for at, (base, head) in enumerate(zip(self.base, self.head, strict=False)):
            change = answer_change(base, head)
            if change.kind == "same" or at in unstable:
                continue
            found = _change(at, self.calls[at], change, lost)
            if found.name not in told:
                told.add(found.name)
                yield found.model_copy(
                    update={"base": base.text[:_TEXT_SHOWN], "head": head.text[:_TEXT_SHOWN]}
                )
        if len(self.head) < len(self.base):
            yield _given_up(self.head, len(self.calls))


def _change(at: int, call: McpCall, change: AnswerChange, lost: float) -> VersionChange:
    worse = change.kind in WORSE and (change.kind != "less" or change.lost > lost)
    weight: Weight = "regression" if worse else "note"
    arguments = canonical_json(call.arguments)[:_ARGUMENTS_SHOWN]
    what = "died" if change.says.startswith("ends its server") else change.kind
    says = f"call {at + 1}, {call.tool} {arguments}, {change.says}"
    return named_change("session", f"{what}:{call.tool}", weight, says)


def _given_up(made: Sequence[ReplayedAnswer], calls: int) -> VersionChange:
    ended = any(it.died for it in made[-1:])
    why = "its server ended again and again" if ended else "it takes many times as long"
    says = f"{why}: {calls - len(made)} of {calls} calls were not made"
    return named_change("session", "ends" if ended else "slow", "regression", says)


def under_new_names(calls: Sequence[McpCall], renamed: Mapping[str, str]) -> list[McpCall]:
    """For the head: what is only called otherwise is said once, and asked all the same."""
    return [call.model_copy(update={"tool": renamed.get(call.tool, call.tool)}) for call in calls]
