"""What of the offline program's answers may be owed to a server's tools: its own search goes on.

With a server it still searches by words where the tools name no place. Where both arms cite the
same, equal figures say nothing of the tools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runner.agents.models.offline.findings import findings_in
from runner.records import Event, Prose, ToolCall, ToolResult
from runner.records.run_store import RunStore
from runner.records.transcript_files import iter_transcript

_CITED = re.compile(r"`([^`\s]+:\d+)` has `([^`]+)`")


@dataclass(frozen=True, kw_only=True)
class ToolsShare:
    """Over the questions that both arms answered."""

    questions: int = 0
    same: int = 0
    """Of them those for which both cited the same places."""
    cited: int = 0
    """Places, by the server's arm."""
    read: int = 0
    """Of them those that the program had read in an answer of the tools."""


@dataclass(frozen=True, kw_only=True)
class CellPair:
    """One question's events, without the server and with it."""

    question: str
    alone: Sequence[Event]
    with_server: Sequence[Event]


def tools_share(store: RunStore) -> ToolsShare:
    return share_of(list(_pairs(store)))


def share_of(pairs: Sequence[CellPair]) -> ToolsShare:
    asked = {pair.question for pair in pairs}
    differ = {
        it.question for it in pairs if _cited(it.alone).keys() != _cited(it.with_server).keys()
    }
    return ToolsShare(
        questions=len(asked),
        same=len(asked - differ),
        cited=sum(len(_cited(pair.with_server)) for pair in pairs),
        read=sum(len(_read(pair.with_server)) for pair in pairs),
    )


def _pairs(store: RunStore) -> Iterator[CellPair]:
    cells = store.plan().cells
    shells = {(it.scenario, it.model, it.trial): it for it in cells if it.server == "shell"}
    for cell in cells:
        alone = shells.get((cell.scenario, cell.model, cell.trial))
        if alone is None or cell.server == "shell":
            continue
        ended = [store.counted_attempt(it.id) for it in (alone, cell)]
        events = [list(iter_transcript(it.path / "transcript.jsonl")) for it in ended if it]
        if len(events) == len(ended):
            yield CellPair(question=cell.scenario, alone=events[0], with_server=events[1])


def _cited(events: Sequence[Event]) -> dict[str, str]:
    """Place -> the code that the answer shows of it."""
    texts = (it.text for it in events if isinstance(it, Prose))
    return {place: code for text in texts for place, code in _CITED.findall(text)}


def _read(events: Sequence[Event]) -> set[str]:
    """Cited places that an answer of the tools shows as the program reads it.

    It numbers the lines of a file that was asked for by its path, where the answer does not.
    """
    cited, found = _cited(events), set[str]()
    made = {it.call_id: it for it in events if isinstance(it, ToolCall) and it.origin == "server"}
    for answer in events:
        # An error that quotes a line has found nothing.
        if not isinstance(answer, ToolResult) or answer.is_error or answer.call_id not in made:
            continue
        asked = json.dumps(made[answer.call_id].arguments, ensure_ascii=False)
        found |= {f"{row.path}:{row.line}" for row in findings_in(answer.text)}
        found |= {
            place
            for place, code in cited.items()
            if place.rpartition(":")[0] in asked and code in answer.text
        }
    return found & cited.keys()
