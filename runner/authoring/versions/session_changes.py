"""A session replayed twice on the base and once on the head: which answers are others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from runner.authoring.versions.answer_changes import (
    WORSE,
    AnswerChange,
    ReplayedAnswer,
    answer_change,
)
from runner.records import McpCall, canonical_json
from runner.records.versions import VersionChange, Weight

LOST = 0.1
"""Share of a call's lines from which on fewer of them are a regression."""
_ARGUMENTS_SHOWN = 80
_TEXT_SHOWN = 400


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
    return VersionChange(
        check="session",
        name=f"session:{what}:{call.tool}",
        weight=weight,
        says=f"call {at + 1}, {call.tool} {arguments}, {change.says}",
    )


def _given_up(made: Sequence[ReplayedAnswer], calls: int) -> VersionChange:
    ended = any(it.died for it in made[-1:])
    why = "its server ended again and again" if ended else "it takes many times as long"
    return VersionChange(
        check="session",
        name="session:ends" if ended else "session:slow",
        weight="regression",
        says=f"{why}: {calls - len(made)} of {calls} calls were not made",
    )


def under_new_names(calls: Sequence[McpCall], renamed: Mapping[str, str]) -> list[McpCall]:
    """For the head: what is only called otherwise is said once, and asked all the same."""
    return [call.model_copy(update={"tool": renamed.get(call.tool, call.tool)}) for call in calls]
