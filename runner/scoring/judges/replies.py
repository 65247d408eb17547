"""What models said when they judged, kept by a digest of all that they were asked.

A reply that is kept is not paid for again. What it earns is counted anew each time, and its quotes
are looked for in the answer again: a file that somebody edits can claim less than its verdict can.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from runner.records import Record, Sha256, Usage
from runner.records.run_store import write_whole

REPLIES = "locks/replies"
"""Of the anchors, by judge."""


def file_stem(judge: str) -> str:
    """`model:claude-x` -> `model-claude-x`: a colon is no part of a file's name everywhere."""
    return re.sub(r"[^\w.-]+", "-", judge)


class KeptReply(Record):
    """judged/<key>.json"""

    key: Sha256
    """Of the judge's model and parameters, the prompt, the request and the duplicate's number."""
    model: str
    """As it was asked for: prices go by it."""
    asked: tuple[Usage, ...]
    """What each attempt took, broken ones included: they were paid for."""
    usd: float | None
    """At the prices of that day; None if the model had none."""
    arguments: dict[str, Any] | None
    """The reply; None if none had the form that was asked for."""
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Replies:
    """A folder of them."""

    folder: Path

    def get(self, key: str) -> KeptReply | None:
        """None if there is none, or its file is spoilt."""
        with suppress(OSError, ValidationError):
            kept = KeptReply.model_validate_json(self._path(key).read_bytes())
            return kept if kept.key == key else None
        return None

    def put(self, reply: KeptReply) -> None:
        """Raises FairtrialError if the disk does not take it: it would be paid for twice."""
        write_whole(self._path(reply.key), reply.model_dump_json(indent=1) + "\n")

    def all(self) -> Iterator[KeptReply]:
        for path in sorted(self.folder.glob("*.json")):
            if kept := self.get(path.stem):
                yield kept

    def spent_usd(self) -> float:
        """What all of them have cost, as far as it is known."""
        return math.fsum(reply.usd or 0.0 for reply in self.all())

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"
